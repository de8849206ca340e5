#include "tests/support/idle.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 128, LINE = 1024 };

/* The session of a process, from the sixth field of its line; the second is in parentheses and may
 * hold anything. */
static long session_of(const char *process)
{
    char path[PATH];
    char line[LINE];
    (void)snprintf(path, sizeof path, "/proc/%.32s/stat", process);
    FILE *file = fopen(path, "r");
    if (!file) {
        return -1;
    }
    const char *end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    (void)fclose(file);
    const char *word = end ? end + 1 : NULL;
    for (int i = 0; i < 3 && word; i++) {
        word = strchr(word + 1, ' ');
    }
    return word ? strtol(word, NULL, 10) : -1;
}

static bool thread_is_asleep(const char *process, const char *thread, uint64_t *scheduled)
{
    char path[PATH];
    char line[LINE];
    bool asleep = false;
    (void)snprintf(path, sizeof path, "/proc/%.32s/task/%.32s/status", process, thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "State:", 6) == 0) {
            const char state = line[6 + strspn(line + 6, " \t")];
            asleep = state == 'S' || state == 'T' || state == 'Z';
        }
        const char *value = strstr(line, "voluntary_ctxt_switches:");
        if (value) {
            *scheduled += strtoull(strchr(value, ':') + 1, NULL, 10);
        }
    }
    if (file) {
        (void)fclose(file);
    }
    return asleep;
}

static bool is_number(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0';
}

static bool process_is_asleep(const char *process, uint64_t *scheduled)
{
    char path[PATH];
    (void)snprintf(path, sizeof path, "/proc/%.32s/task", process);
    DIR *threads = opendir(path);
    bool asleep = threads != NULL;
    const struct dirent *entry = NULL;
    while (threads && (entry = readdir(threads))) {
        asleep &= !is_number(entry->d_name) || thread_is_asleep(process, entry->d_name, scheduled);
    }
    if (threads) {
        (void)closedir(threads);
    }
    return asleep;
}

bool test_is_asleep(pid_t session, uint64_t *scheduled)
{
    DIR *processes = opendir("/proc");
    bool asleep = processes != NULL;
    bool any = false;
    const struct dirent *entry = NULL;
    *scheduled = 0;
    while (processes && (entry = readdir(processes))) {
        if (is_number(entry->d_name) && session_of(entry->d_name) == (long)session) {
            any = true;
            asleep &= process_is_asleep(entry->d_name, scheduled);
        }
    }
    if (processes) {
        (void)closedir(processes);
    }
    return any && asleep;
}
