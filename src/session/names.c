/* What may be typed: names, files and paths for completion. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input/set.h"
#include "session/internal.h"

enum { FILES_MOST = 4096 };

const char **nest_session_names(const struct nest_session *session, const char *kind,
                                struct nest_arena *arena)
{
    return nest_library_list(&session->library, kind, arena);
}

/* ---- Files ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

const char **nest_session_files(const char *start, struct nest_arena *arena)
{
    const char *slash = strrchr(start, '/');
    const char *stem = slash ? slash + 1 : start;
    const char *folder = nest_arena_strndup(arena, start, (size_t)(stem - start));
    const char **paths = NEST_NEW(arena, const char *, FILES_MOST + 1);
    DIR *directory = folder ? opendir(*folder ? folder : ".") : NULL;
    const struct dirent *entry = NULL;
    size_t count = 0;
    while (paths && directory && count < FILES_MOST && (entry = readdir(directory))) {
        const char *name = entry->d_name;
        if (strncmp(name, stem, strlen(stem)) == 0 && (name[0] != '.' || stem[0] == '.')) {
            const char *path = nest_arena_printf(arena, "%s%s", folder, name);
            paths[count] = path && is_folder(path) ? nest_arena_printf(arena, "%s/", path) : path;
            count += paths[count] != NULL;
        }
    }
    if (directory) {
        (void)closedir(directory);
    }
    if (paths) {
        qsort(paths, count, sizeof *paths, compare_names);
    }
    return paths;
}

/* ---- Paths ---- */

/* What nest_set takes for it where nothing else is called so: "spine.bandwidth", "global_batch". */
static const char *short_form(const char *path)
{
    const char *dot = strchr(path, '.');
    return dot ? dot + 1 : path;
}

static bool is_unique(const char *const *path, int count, const char *word)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        found += strcmp(short_form(path[i]), word) == 0;
    }
    return found == 1;
}

const char **nest_session_paths(const struct nest_snapshot *snapshot, struct nest_arena *arena)
{
    const char **full = nest_paths(snapshot->scenario, arena);
    int count = 0;
    while (full && full[count]) {
        count++;
    }
    const char **paths = NEST_NEW(arena, const char *, 2 * count + 1);
    int length = 0;
    for (int i = 0; i < count && paths; i++) {
        paths[length++] = full[i];
        /* `memory` alone is the limit, see input/set.c. */
        if (is_unique((const char *const *)full, count, short_form(full[i])) ||
            strcmp(full[i], "limits.memory") == 0) {
            paths[length++] = short_form(full[i]);
        }
    }
    return paths;
}
