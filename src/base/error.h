/* Errors are values: what is wrong, where, and what would be right.
 *
 * Functions that can fail return a status and add to a caller's list; they never print. The list
 * owns nothing: its texts live in the arena it was made with. One fault is one entry. */
#ifndef NEST_BASE_ERROR_H
#define NEST_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/strbuf.h"

enum nest_status {
    NEST_OK = 0,
    NEST_NO = 1,        /* a well-formed question whose answer is "no": illegal or infeasible */
    NEST_BAD_INPUT = 2, /* malformed input or usage */
    NEST_NO_MEMORY = 3,
    NEST_CANCELLED = 4
};

/* A place in a file, both 1-based; line 0 means "the file as a whole", file NULL "no file". For
 * command-line input, file is the option ("--set") and column counts into its value. */
struct nest_mark {
    const char *file;
    int line;
    int column;
};

struct nest_error {
    struct nest_mark mark;
    const char *path;    /* such as "levels[2].bandwidth", or NULL */
    const char *message; /* what is wrong; no newline, no final full stop */
    const char *hint;    /* what is expected or nearest, or NULL */
    const char *trace;   /* the frames of a script that led there, one a line, or NULL */
};

enum { NEST_ERRORS_MAX = 50 };

struct nest_errors {
    struct nest_arena *arena;
    struct nest_error item[NEST_ERRORS_MAX];
    size_t count;
    size_t dropped; /* faults beyond NEST_ERRORS_MAX, counted but not kept */
};

/* Starts an empty list whose texts go to arena. */
void nest_errors_init(struct nest_errors *errors, struct nest_arena *arena);

/* Adds one fault. path and hint may be NULL; all texts are copied. */
void nest_errors_add(struct nest_errors *errors, struct nest_mark mark, const char *path,
                     const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Gives the newest fault its trace, which is copied; nothing where there is no fault or no frame.
 */
void nest_errors_trace(struct nest_errors *errors, const char *trace);

/* Sorts by file, line and column, keeping the order of faults at one place. */
void nest_errors_sort(struct nest_errors *errors);

/* Appends one line "file:line:column: path: message; hint" with a newline. */
void nest_error_format(const struct nest_error *error, struct nest_strbuf *out);

#endif
