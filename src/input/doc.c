#include "input/doc.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#include "input/doc_fault.h"

/* ---- Files ---- */

static enum nest_status refuse(struct nest_errors *errors, const char *path, const char *hint,
                               const char *message)
{
    const struct nest_mark mark = {path, 0, 0};
    nest_errors_add(errors, mark, NULL, hint, "%s", message);
    return NEST_BAD_INPUT;
}

static enum nest_status read_stream(FILE *stream, const char *name, struct nest_arena *arena,
                                    const char **text, size_t *length, struct nest_errors *errors)
{
    struct nest_strbuf buffer = NEST_STRBUF_INIT(NEST_DOC_BYTES);
    char chunk[16384];
    size_t got = 0;
    while (!buffer.failed && (got = fread(chunk, 1, sizeof chunk, stream)) > 0) {
        nest_strbuf_add_bytes(&buffer, chunk, got);
    }
    enum nest_status status = NEST_OK;
    if (ferror(stream)) {
        status = refuse(errors, name, NULL, strerror(errno));
    } else if (buffer.failed) {
        status = refuse(errors, name, "expected at most 16 MiB", "the file is too large");
    } else {
        *length = buffer.length;
        *text = nest_arena_strndup(arena, nest_strbuf_text(&buffer), buffer.length);
        status = *text ? NEST_OK : NEST_NO_MEMORY;
    }
    nest_strbuf_free(&buffer);
    return status;
}

enum nest_status nest_file_read(const char *path, struct nest_arena *arena, const char **text,
                                size_t *length, struct nest_errors *errors)
{
    if (strcmp(path, "-") == 0) {
        return read_stream(stdin, NEST_DOC_STDIN, arena, text, length, errors);
    }
    struct stat info;
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return refuse(errors, path, NULL, strerror(errno));
    }
    enum nest_status status = NEST_OK;
    if (fstat(fileno(stream), &info) == 0 && S_ISDIR(info.st_mode)) {
        status = refuse(errors, path, "expected a file", "this is a directory");
    } else {
        status = read_stream(stream, path, arena, text, length, errors);
    }
    (void)fclose(stream);
    return status;
}

/* ---- The event stream ---- */

struct reader {
    yaml_parser_t parser;
    const char *file;
    const char *text;
    size_t length;
    struct nest_arena *arena;
    struct nest_errors *errors;
    struct nest_node *open[NEST_DOC_DEPTH]; /* collections being filled */
    struct nest_node *last[NEST_DOC_DEPTH]; /* newest child of each */
    const char *key[NEST_DOC_DEPTH];        /* a mapping's key that waits for its value */
    struct nest_mark key_mark[NEST_DOC_DEPTH];
    int depth;
    int nodes;
    struct nest_node *root;
    bool ended; /* the first document is over */
};

static struct nest_mark mark_of(const struct reader *reader, yaml_mark_t mark)
{
    return (struct nest_mark){reader->file, (int)mark.line + 1, (int)mark.column + 1};
}

static enum nest_status fault(struct reader *reader, yaml_mark_t mark, const char *hint,
                              const char *message)
{
    nest_errors_add(reader->errors, mark_of(reader, mark), NULL, hint, "%s", message);
    return NEST_BAD_INPUT;
}

struct keyed {
    const struct nest_node *node;
};

static int compare_keys(const void *a, const void *b)
{
    const struct nest_node *x = ((const struct keyed *)a)->node;
    const struct nest_node *y = ((const struct keyed *)b)->node;
    const int order = strcmp(x->key, y->key);
    return order != 0 ? order : x->index - y->index;
}

static void report_duplicate(struct reader *reader, const struct nest_node *first,
                             const struct nest_node *again)
{
    char hint[64];
    (void)snprintf(hint, sizeof hint, "it is set in line %d already", first->key_mark.line);
    nest_errors_add(reader->errors, again->key_mark, nest_node_path(again->parent, reader->arena),
                    hint, "duplicate key '%s'", again->key);
}

/* Sorted neighbours find duplicates in n log n, so that a huge mapping cannot stall the reader. */
static enum nest_status check_duplicates(struct reader *reader, const struct nest_node *mapping)
{
    if (mapping->count < 2) {
        return NEST_OK;
    }
    struct keyed *sorted = malloc((size_t)mapping->count * sizeof *sorted);
    if (!sorted) {
        return NEST_NO_MEMORY;
    }
    size_t count = 0;
    for (const struct nest_node *child = mapping->first; child; child = child->next) {
        sorted[count++].node = child;
    }
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1].node->key, sorted[i].node->key) == 0) {
            report_duplicate(reader, sorted[i - 1].node, sorted[i].node);
        }
    }
    free(sorted);
    return NEST_OK;
}

static struct nest_node *add_node(struct reader *reader, enum nest_node_kind kind, yaml_mark_t mark)
{
    struct nest_node *node = NEST_NEW(reader->arena, struct nest_node, 1);
    if (!node) {
        return NULL;
    }
    node->kind = kind;
    node->mark = mark_of(reader, mark);
    node->key_mark = node->mark;
    node->text = "";
    if (reader->depth == 0) {
        reader->root = node;
        return node;
    }
    const int top = reader->depth - 1;
    struct nest_node *parent = reader->open[top];
    node->parent = parent;
    node->index = parent->count++;
    if (parent->kind == NEST_NODE_MAPPING) {
        node->key = reader->key[top];
        node->key_mark = reader->key_mark[top];
        reader->key[top] = NULL;
    }
    if (reader->last[top]) {
        reader->last[top]->next = node;
    } else {
        parent->first = node;
    }
    reader->last[top] = node;
    return node;
}

/* Whether the next node is a key of the innermost open mapping. */
static bool key_expected(const struct reader *reader)
{
    return reader->depth > 0 && reader->open[reader->depth - 1]->kind == NEST_NODE_MAPPING &&
           !reader->key[reader->depth - 1];
}

static enum nest_status on_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *bytes = (const char *)event->data.scalar.value;
    const size_t length = event->data.scalar.length;
    if (memchr(bytes, '\0', length)) {
        return fault(reader, event->start_mark, NULL, "text contains a zero byte");
    }
    const char *text = nest_arena_strndup(reader->arena, bytes, length);
    if (!text) {
        return NEST_NO_MEMORY;
    }
    if (key_expected(reader)) {
        reader->key[reader->depth - 1] = text;
        reader->key_mark[reader->depth - 1] = mark_of(reader, event->start_mark);
        return NEST_OK;
    }
    struct nest_node *node = add_node(reader, NEST_NODE_SCALAR, event->start_mark);
    if (!node) {
        return NEST_NO_MEMORY;
    }
    node->text = text;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return NEST_OK;
}

static enum nest_status on_open(struct reader *reader, const yaml_event_t *event)
{
    const bool mapping = event->type == YAML_MAPPING_START_EVENT;
    if (key_expected(reader)) {
        return fault(reader, event->start_mark, "expected a word and ':'",
                     "a key must be plain text");
    }
    if (reader->depth == NEST_DOC_DEPTH) {
        return fault(reader, event->start_mark, "expected at most 64 levels of nesting",
                     "nested too deeply");
    }
    struct nest_node *node =
        add_node(reader, mapping ? NEST_NODE_MAPPING : NEST_NODE_SEQUENCE, event->start_mark);
    if (!node) {
        return NEST_NO_MEMORY;
    }
    reader->open[reader->depth] = node;
    reader->last[reader->depth] = NULL;
    reader->key[reader->depth] = NULL;
    reader->depth++;
    return NEST_OK;
}

/* Anchors and tags are faults, but the value behind them is still read, so that the rest of the
 * file is checked in the same run. */
static void refuse_decorations(struct reader *reader, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL;
    const yaml_char_t *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor) {
        (void)fault(reader, event->start_mark, "write the value where it is used",
                    "anchors (&name) are not supported");
    }
    if (tag) {
        (void)fault(reader, event->start_mark, "types follow from the key",
                    "tags (!name) are not supported");
    }
}

/* An alias becomes a broken node that no reader complains about again. */
static enum nest_status on_alias(struct reader *reader, const yaml_event_t *event)
{
    const enum nest_status status =
        fault(reader, event->start_mark, "write the value where it is used",
              "aliases (*name) are not supported");
    if (key_expected(reader)) {
        return status;
    }
    struct nest_node *node = add_node(reader, NEST_NODE_SCALAR, event->start_mark);
    if (node) {
        node->broken = true;
    }
    return node ? NEST_OK : NEST_NO_MEMORY;
}

static enum nest_status on_event(struct reader *reader, const yaml_event_t *event)
{
    refuse_decorations(reader, event);
    if (++reader->nodes > NEST_DOC_NODES) {
        return fault(reader, event->start_mark, "expected at most 400,000 values",
                     "the file has too many values");
    }
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return reader->ended ? fault(reader, event->start_mark, "expected one document a file",
                                     "a second document begins here")
                             : NEST_OK;
    case YAML_DOCUMENT_END_EVENT:
        reader->ended = true;
        return NEST_OK;
    case YAML_ALIAS_EVENT:
        return on_alias(reader, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return on_open(reader, event);
    case YAML_SEQUENCE_END_EVENT:
        reader->depth--;
        return NEST_OK;
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        return check_duplicates(reader, reader->open[reader->depth]);
    default:
        return NEST_OK;
    }
}

static enum nest_status read_events(struct reader *reader)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event)) {
            nest_doc_syntax_fault(&reader->parser, reader->file, reader->text, reader->length,
                                  reader->errors);
            return NEST_BAD_INPUT;
        }
        const bool end = event.type == YAML_STREAM_END_EVENT;
        const enum nest_status status = on_event(reader, &event);
        yaml_event_delete(&event);
        if (end || status != NEST_OK) {
            return status;
        }
    }
}

enum nest_status nest_doc_parse(const char *file, const char *text, size_t length,
                                struct nest_arena *arena, const struct nest_node **out,
                                struct nest_errors *errors)
{
    /* libyaml counts a byte-order mark as a column, and then finds the next line outdented. */
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    struct reader reader = {
        .file = nest_arena_strdup(arena, file),
        .text = text,
        .length = length,
        .arena = arena,
        .errors = errors,
    };
    if (!yaml_parser_initialize(&reader.parser)) {
        return NEST_NO_MEMORY;
    }
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    enum nest_status status = read_events(&reader);
    yaml_parser_delete(&reader.parser);
    if (status == NEST_OK && (!reader.root || nest_node_is_null(reader.root))) {
        status = refuse(errors, file, "expected keys and values", "the file is empty");
    }
    if (status == NEST_OK) {
        nest_doc_check_marks(file, text, length, errors);
    }
    *out = status == NEST_OK ? reader.root : NULL;
    return status;
}

/* ---- Nodes ---- */

const struct nest_node *nest_node_get(const struct nest_node *mapping, const char *key)
{
    if (!mapping || mapping->kind != NEST_NODE_MAPPING) {
        return NULL;
    }
    for (const struct nest_node *child = mapping->first; child; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            return child;
        }
    }
    return NULL;
}

bool nest_node_is_null(const struct nest_node *node)
{
    return node->kind == NEST_NODE_SCALAR && !node->quoted &&
           (!node->text[0] || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

const char *nest_node_path(const struct nest_node *node, struct nest_arena *arena)
{
    const struct nest_node *chain[NEST_DOC_DEPTH + 1];
    int count = 0;
    for (; node && node->parent && count <= NEST_DOC_DEPTH; node = node->parent) {
        chain[count++] = node;
    }
    if (count == 0) {
        return NULL;
    }
    struct nest_strbuf path = NEST_STRBUF_INIT(4096);
    while (count-- > 0) {
        if (chain[count]->key) {
            nest_strbuf_printf(&path, "%s%.60s", path.length > 0 ? "." : "", chain[count]->key);
        } else {
            nest_strbuf_printf(&path, "[%d]", chain[count]->index);
        }
    }
    const char *result = nest_arena_strdup(arena, nest_strbuf_text(&path));
    nest_strbuf_free(&path);
    return result;
}

/* Bytes of a value that a message repeats; never half a character. */
enum { SHOWN_MAX = 40 };

const char *nest_node_describe(const struct nest_node *node, struct nest_arena *arena)
{
    if (node->kind == NEST_NODE_MAPPING) {
        return node->count ? "a mapping" : "an empty mapping";
    }
    if (node->kind == NEST_NODE_SEQUENCE) {
        return node->count ? "a list" : "an empty list";
    }
    if (nest_node_is_null(node)) {
        return "nothing";
    }
    int shown = (int)strnlen(node->text, SHOWN_MAX + 1);
    const bool cut = shown > SHOWN_MAX;
    shown = cut ? SHOWN_MAX : shown;
    while (cut && shown > 0 && ((unsigned char)node->text[shown] & 0xC0U) == 0x80U) {
        shown--;
    }
    const char *text = nest_arena_printf(arena, "'%.*s%s'", shown, node->text, cut ? "..." : "");
    return text ? text : "text";
}

enum nest_status nest_doc_load(const char *path, struct nest_arena *arena,
                               const struct nest_node **out, struct nest_errors *errors)
{
    const char *text = NULL;
    size_t length = 0;
    const size_t before = errors->count;
    enum nest_status status = nest_file_read(path, arena, &text, &length, errors);
    if (status == NEST_OK) {
        status = nest_doc_parse(strcmp(path, "-") == 0 ? NEST_DOC_STDIN : path, text, length, arena,
                                out, errors);
    }
    return status == NEST_OK && errors->count > before ? NEST_BAD_INPUT : status;
}
