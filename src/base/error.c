#include "base/error.h"

#include <stdarg.h>
#include <string.h>

void nest_errors_init(struct nest_errors *errors, struct nest_arena *arena)
{
    memset(errors, 0, sizeof *errors);
    errors->arena = arena;
}

static const char *copy(struct nest_arena *arena, const char *text)
{
    return text ? nest_arena_strdup(arena, text) : NULL;
}

void nest_errors_add(struct nest_errors *errors, struct nest_mark mark, const char *path,
                     const char *hint, const char *format, ...)
{
    if (errors->count == NEST_ERRORS_MAX) {
        errors->dropped++;
        return;
    }
    va_list args;
    va_start(args, format);
    const char *message = nest_arena_vprintf(errors->arena, format, args);
    va_end(args);
    errors->item[errors->count++] = (struct nest_error){
        .mark = {copy(errors->arena, mark.file), mark.line, mark.column},
        .path = copy(errors->arena, path),
        .message = message ? message : "out of memory",
        .hint = copy(errors->arena, hint),
    };
}

static int compare_text(const char *a, const char *b)
{
    if (!a || !b) {
        return (a != NULL) - (b != NULL);
    }
    return strcmp(a, b);
}

static int compare(const struct nest_error *a, const struct nest_error *b)
{
    const int file = compare_text(a->mark.file, b->mark.file);
    if (file != 0) {
        return file;
    }
    if (a->mark.line != b->mark.line) {
        return a->mark.line < b->mark.line ? -1 : 1;
    }
    return (a->mark.column > b->mark.column) - (a->mark.column < b->mark.column);
}

void nest_errors_trace(struct nest_errors *errors, const char *trace)
{
    if (errors->count > 0 && errors->dropped == 0 && *trace) {
        errors->item[errors->count - 1].trace = nest_arena_strdup(errors->arena, trace);
    }
}

/* Insertion sort: at most NEST_ERRORS_MAX entries, and it is stable. */
void nest_errors_sort(struct nest_errors *errors)
{
    for (size_t i = 1; i < errors->count; i++) {
        const struct nest_error key = errors->item[i];
        size_t j = i;
        while (j > 0 && compare(&errors->item[j - 1], &key) > 0) {
            errors->item[j] = errors->item[j - 1];
            j--;
        }
        errors->item[j] = key;
    }
}

void nest_error_format(const struct nest_error *error, struct nest_strbuf *out)
{
    if (error->mark.file) {
        nest_strbuf_add(out, error->mark.file);
        if (error->mark.line > 0) {
            nest_strbuf_printf(out, ":%d", error->mark.line);
            if (error->mark.column > 0) {
                nest_strbuf_printf(out, ":%d", error->mark.column);
            }
        }
        nest_strbuf_add(out, ": ");
    }
    if (error->path) {
        nest_strbuf_printf(out, "%s: ", error->path);
    }
    nest_strbuf_add(out, error->message);
    if (error->hint) {
        nest_strbuf_printf(out, "; %s", error->hint);
    }
    nest_strbuf_add(out, "\n");
}
