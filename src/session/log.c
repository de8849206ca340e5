#include "session/log.h"

#include <stdlib.h>
#include <string.h>

static void drop_oldest(struct nest_log *log)
{
    enum { DROPPED = NEST_LOG_MAX / 5 };
    for (int i = 0; i < DROPPED; i++) {
        free(log->line[i].text);
    }
    log->count -= DROPPED;
    memmove(log->line, log->line + DROPPED, (size_t)log->count * sizeof *log->line);
}

/* Takes over text; false when memory is out. */
static bool append(struct nest_log *log, enum nest_line_kind kind, char *text)
{
    if (log->count == NEST_LOG_MAX) {
        drop_oldest(log);
    }
    if (log->count == log->room) {
        const int room = log->room ? log->room * 2 : 64;
        struct nest_line *larger = realloc(log->line, (size_t)room * sizeof *larger);
        if (!larger) {
            return false;
        }
        log->line = larger;
        log->room = room;
    }
    struct nest_line *line = &log->line[log->count++];
    line->kind = kind;
    line->text = text;
    return true;
}

/* Bytes of the first line, cut between characters where it is very long. */
static size_t line_length(const char *text)
{
    size_t length = strcspn(text, "\n");
    if (length > NEST_LOG_LINE_MAX) {
        length = NEST_LOG_LINE_MAX;
        while (length > 1 && ((unsigned char)text[length] & 0xc0) == 0x80) {
            length--;
        }
    }
    return length;
}

void nest_log_add(struct nest_log *log, enum nest_line_kind kind, const char *text)
{
    do {
        const size_t length = line_length(text);
        char *copy = strndup(text, length);
        if (!copy || !append(log, kind, copy)) {
            free(copy);
            return;
        }
        text += length + (text[length] == '\n');
        kind = kind == NEST_LINE_INPUT ? NEST_LINE_MORE : kind;
    } while (*text);
}

void nest_log_take(struct nest_log *log, struct nest_log *from)
{
    for (int i = 0; i < from->count; i++) {
        if (!append(log, from->line[i].kind, from->line[i].text)) {
            free(from->line[i].text);
        }
    }
    from->count = 0;
}

void nest_log_free(struct nest_log *log)
{
    for (int i = 0; i < log->count; i++) {
        free(log->line[i].text);
    }
    free(log->line);
    *log = (struct nest_log){0};
}
