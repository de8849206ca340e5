#include "session/past.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"

enum { ENTRY_MAX = 1 << 16, PATH_SIZE = 4096 };

/* ---- Entries as lines --------------------------------------------------------------------- */

static char *unescape(char *line)
{
    char *to = line;
    for (const char *from = line; *from; from++) {
        if (from[0] == '\\' && (from[1] == 'n' || from[1] == '\\')) {
            from++;
            *to++ = *from == 'n' ? '\n' : '\\';
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return line;
}

static void escape(const char *text, struct nest_strbuf *out)
{
    for (; *text; text++) {
        if (*text == '\n') {
            nest_strbuf_add(out, "\\n");
        } else if (*text == '\\') {
            nest_strbuf_add(out, "\\\\");
        } else {
            nest_strbuf_add_bytes(out, text, 1);
        }
    }
    nest_strbuf_add(out, "\n");
}

/* ---- The list ----------------------------------------------------------------------------- */

static void remember(struct nest_past *past, const char *text)
{
    if (past->count > 0 && strcmp(past->entry[past->count - 1], text) == 0) {
        return;
    }
    char *copy = strdup(text);
    if (!copy) {
        return;
    }
    if (past->count == NEST_PAST_MAX) {
        free(past->entry[0]);
        past->count--;
        memmove(past->entry, past->entry + 1, (size_t)past->count * sizeof past->entry[0]);
    }
    past->entry[past->count++] = copy;
}

int nest_past_find(const struct nest_past *past, const char *text, int before)
{
    int i = (before < past->count ? before : past->count) - 1;
    while (i >= 0 && !strstr(past->entry[i], text)) {
        i--;
    }
    return i;
}

/* ---- The file ----------------------------------------------------------------------------- */

/* Creates the folders above the file; true if they are there then. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!there) {
            return false;
        }
    }
    return true;
}

static char *find_file(void)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char path[PATH_SIZE];
    if (state && *state == '/') {
        (void)snprintf(path, sizeof path, "%s/nest/lua_history", state);
    } else if (home && *home == '/') {
        (void)snprintf(path, sizeof path, "%s/.local/state/nest/lua_history", home);
    } else {
        return NULL;
    }
    return make_folders(path) ? strdup(path) : NULL;
}

void nest_past_open(struct nest_past *past)
{
    *past = (struct nest_past){.file = find_file()};
    FILE *file = past->file ? fopen(past->file, "r") : NULL;
    char *line = NULL;
    size_t room = 0;
    while (file) {
        const ssize_t length = getline(&line, &room, file);
        if (length <= 0) {
            break;
        }
        line[strcspn(line, "\n")] = '\0';
        remember(past, unescape(line));
    }
    free(line);
    if (file) {
        (void)fclose(file);
    }
}

/* One write, so that two programs do not mix their lines. */
static void append_to_file(const char *path, const char *text)
{
    struct nest_strbuf line = NEST_STRBUF_INIT(ENTRY_MAX);
    escape(text, &line);
    const int file = line.failed ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) {
        if (write(file, nest_strbuf_text(&line), line.length) < 0) {
            /* The history of this run does not need the file. */
        }
        (void)close(file);
    }
    nest_strbuf_free(&line);
}

void nest_past_add(struct nest_past *past, const char *text)
{
    const bool again = past->count > 0 && strcmp(past->entry[past->count - 1], text) == 0;
    if (!*text || again) {
        return;
    }
    remember(past, text);
    if (past->file) {
        append_to_file(past->file, text);
    }
}

void nest_past_close(struct nest_past *past)
{
    for (int i = 0; i < past->count; i++) {
        free(past->entry[i]);
    }
    free(past->file);
    *past = (struct nest_past){0};
}
