/* Lines of text, the oldest of which go when there are many. */
#ifndef NEST_SESSION_LOG_H
#define NEST_SESSION_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum nest_line_kind {
    NEST_LINE_INPUT,  /* what was run: its first line */
    NEST_LINE_MORE,   /* and those below */
    NEST_LINE_OUTPUT, /* what it printed */
    NEST_LINE_ERROR,  /* file:line: message */
    NEST_LINE_TRACE,  /* one frame of a traceback */
    NEST_LINE_NOTE    /* what happened besides */
};

struct nest_line {
    enum nest_line_kind kind;
    char *text; /* without a newline; owned by the log */
};

enum { NEST_LOG_MAX = 5000, NEST_LOG_LINE_MAX = 1024 };

/* An empty log is all zeroes. */
struct nest_log {
    struct nest_line *line;
    int count, room;
};

/* Adds text line by line. Out of memory, lines are left out. */
void nest_log_add(struct nest_log *log, enum nest_line_kind kind, const char *text);

/* Moves all lines of from behind those of log. */
void nest_log_take(struct nest_log *log, struct nest_log *from);

void nest_log_free(struct nest_log *log);

#endif
