#include "input/import/job.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "input/import/json.h"

void nest_job_note(struct nest_job *job, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = nest_arena_vprintf(job->arena, format, args);
    va_end(args);
    if (!text) {
        return;
    }
    /* A name taken from the file must not end the comment. */
    nest_strbuf_add(&job->notes, "# ");
    for (const char *p = text; *p; p++) {
        nest_strbuf_add_bytes(&job->notes, (unsigned char)*p < ' ' || *p == 0x7f ? " " : p, 1);
    }
    nest_strbuf_add(&job->notes, "\n");
}

enum nest_status nest_job_fault(struct nest_job *job, int line, int column, const char *hint,
                                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = nest_arena_vprintf(job->arena, format, args);
    va_end(args);
    nest_errors_add(job->errors, (struct nest_mark){job->file[0].name, line, column}, NULL, hint,
                    "%s", text ? text : "out of memory");
    return NEST_BAD_INPUT;
}

enum nest_status nest_job_fault_at(struct nest_job *job, const struct nest_node *node,
                                   const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = nest_arena_vprintf(job->arena, format, args);
    va_end(args);
    nest_errors_add(job->errors, node->mark, nest_node_path(node, job->arena), hint, "%s",
                    text ? text : "out of memory");
    return NEST_BAD_INPUT;
}

enum nest_status nest_job_no_memory(struct nest_job *job)
{
    nest_job_fault(job, 0, 0, NULL, "out of memory");
    return NEST_NO_MEMORY;
}

enum nest_status nest_job_document(struct nest_job *job, const struct nest_node **root)
{
    const struct nest_import_file *file = &job->file[0];
    size_t at = 0;
    while (at < file->length && isspace((unsigned char)file->text[at])) {
        at++;
    }
    if (at < file->length && (file->text[at] == '{' || file->text[at] == '[')) {
        return nest_json_parse(file, job->arena, root, job->errors);
    }
    return nest_doc_parse(file->name, file->text, file->length, job->arena, root, job->errors);
}

/* ---- Lines ------------------------------------------------------------------------------ */

void nest_lines_begin(struct nest_lines *lines, const struct nest_import_file *file)
{
    const bool bom = file->length >= 3 && memcmp(file->text, "\xef\xbb\xbf", 3) == 0;
    lines->at = file->text + (bom ? 3 : 0);
    lines->end = file->text + file->length;
    lines->number = 0;
}

bool nest_lines_next(struct nest_lines *lines, struct nest_piece *line)
{
    if (lines->at == lines->end) {
        return false;
    }
    const char *p = lines->at;
    while (p < lines->end && *p != '\n' && *p != '\r') {
        p++;
    }
    *line = (struct nest_piece){lines->at, (size_t)(p - lines->at), 1};
    if (p < lines->end) {
        p += *p == '\r' && p + 1 < lines->end && p[1] == '\n' ? 2 : 1;
    }
    lines->at = p;
    lines->number++;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void drop(struct nest_piece *piece, size_t count)
{
    piece->text += count;
    piece->length -= count;
    piece->column += (int)count;
}

struct nest_piece nest_piece_trim(struct nest_piece piece)
{
    while (piece.length > 0 && is_blank(piece.text[0])) {
        drop(&piece, 1);
    }
    while (piece.length > 0 && is_blank(piece.text[piece.length - 1])) {
        piece.length--;
    }
    return piece;
}

bool nest_piece_word(struct nest_piece *rest, struct nest_piece *word)
{
    while (rest->length > 0 && is_blank(rest->text[0])) {
        drop(rest, 1);
    }
    size_t n = 0;
    while (n < rest->length && !is_blank(rest->text[n])) {
        n++;
    }
    *word = (struct nest_piece){rest->text, n, rest->column};
    drop(rest, n);
    return n > 0;
}

bool nest_piece_field(struct nest_piece *rest, char separator, struct nest_piece *field)
{
    if (!rest->text) {
        return false;
    }
    size_t n = 0;
    while (n < rest->length && rest->text[n] != separator) {
        n++;
    }
    *field = nest_piece_trim((struct nest_piece){rest->text, n, rest->column});
    if (n < rest->length) {
        drop(rest, n + 1);
    } else {
        rest->text = NULL;
    }
    return true;
}

bool nest_piece_is(struct nest_piece piece, const char *text)
{
    return piece.length == strlen(text) && strncasecmp(piece.text, text, piece.length) == 0;
}

bool nest_piece_begins(struct nest_piece piece, const char *prefix)
{
    const size_t n = strlen(prefix);
    return piece.length >= n && strncasecmp(piece.text, prefix, n) == 0;
}

const char *nest_piece_find(struct nest_piece piece, const char *text)
{
    return piece.length == 0 ? NULL : memmem(piece.text, piece.length, text, strlen(text));
}

char *nest_piece_copy(struct nest_piece piece, struct nest_arena *arena)
{
    return nest_arena_strndup(arena, piece.text ? piece.text : "", piece.length);
}

bool nest_piece_int(struct nest_piece piece, int64_t *out)
{
    int64_t value = 0;
    for (size_t i = 0; i < piece.length; i++) {
        const char c = piece.text[i];
        if (c < '0' || c > '9' || value > (INT64_MAX - (c - '0')) / 10) {
            return false;
        }
        value = value * 10 + (c - '0');
    }
    *out = value;
    return piece.length > 0;
}

bool nest_piece_number(struct nest_piece piece, double *out)
{
    char text[64];
    if (piece.length == 0 || piece.length >= sizeof text) {
        return false;
    }
    memcpy(text, piece.text, piece.length);
    text[piece.length] = 0;
    if (strspn(text, "0123456789+-.eE") != piece.length) {
        return false;
    }
    double value;
    const char *hint;
    char scratch[160];
    if (nest_unit_parse(text, NEST_UNIT_NONE, &value, &hint, scratch, sizeof scratch)) {
        return false;
    }
    *out = value;
    return true;
}

bool nest_text_int(const char *text, int64_t *out)
{
    return nest_piece_int((struct nest_piece){text, strlen(text), 1}, out);
}

bool nest_text_number(const char *text, double *out)
{
    return nest_piece_number((struct nest_piece){text, strlen(text), 1}, out);
}
