#include "session/lookout.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#include <sys/vfs.h>
#endif

enum { LOOK_AGAIN = 700, SETTLE = 150, LINKS_MAX = 40, EVENTS_MAX = 4096 };

struct nest_lookout {
    int descriptor; /* of inotify, or -1 */
    bool blind;     /* some file's changes are not told by the system */
    int64_t due;    /* when to look at a file that is being written, milliseconds; 0: none is */
};

static int64_t now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

#ifdef __linux__

/* The folder tells of files that take another one's place, the file of those that are linked from
 * elsewhere; IN_MODIFY is of files that are not closed after they were written. */
enum {
    OF_FOLDER = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
                IN_DELETE_SELF | IN_MOVE_SELF,
    OF_ABOVE = IN_DELETE_SELF | IN_MOVE_SELF | IN_MASK_ADD,
    OF_FILE = IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB
};

/* Disks that others write to without a word to this system. */
static bool is_remote(const char *folder)
{
    static const long kinds[] = {
        0x6969,     /* NFS */
        0x517B,     /* SMB */
        0xFE534D42, /* SMB 2 */
        0xFF534D42, /* CIFS */
        0x65735546, /* FUSE */
        0x01021997, /* 9P */
        0x00C36400, /* Ceph */
        0x0BD00BD0  /* Lustre */
    };
    struct statfs info;
    if (statfs(folder, &info) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if ((long)info.f_type == kinds[i]) {
            return true;
        }
    }
    return false;
}

/* Watches the folder that ends at `end`, of a path. */
static bool watch_folder(const struct nest_lookout *lookout, const char *path, size_t end,
                         uint32_t events)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%.*s", end > 0 ? (int)end : 1, end > 0 ? path : "/");
    return inotify_add_watch(lookout->descriptor, folder, events | IN_ONLYDIR) >= 0;
}

/* Replaces the part of path up to `end`, a link, by what it leads to; false if it is none. */
static bool follow_link(char path[PATH_MAX], size_t end)
{
    char head[PATH_MAX];
    char target[PATH_MAX];
    char whole[2 * PATH_MAX + 2];
    (void)snprintf(head, sizeof head, "%.*s", (int)end, path);
    const ssize_t length = readlink(head, target, sizeof target - 1);
    if (length <= 0) {
        return false;
    }
    target[length] = '\0';
    const char *slash = strrchr(head, '/');
    const int above = slash && target[0] != '/' ? (int)(slash - head + 1) : 0;
    (void)snprintf(whole, sizeof whole, "%.*s%s%s", above, head, target, path + end);
    if (strlen(whole) >= PATH_MAX) {
        return false;
    }
    memcpy(path, whole, strlen(whole) + 1);
    return true;
}

/* Watches every folder on the way to a file, above all those that hold a link, and its own. */
static void watch_way(struct nest_lookout *lookout, char path[PATH_MAX])
{
    int links = 0;
    size_t end = 0;
    for (;;) {
        const size_t above = end;
        end += strspn(path + end, "/");
        end += strcspn(path + end, "/");
        const bool last = path[end + strspn(path + end, "/")] == '\0';
        if (links < LINKS_MAX && follow_link(path, end)) {
            (void)watch_folder(lookout, path, above, OF_FOLDER | IN_MASK_ADD);
            links++;
            end = 0;
            continue;
        }
        if (last) {
            lookout->blind |= !watch_folder(lookout, path, above, OF_FOLDER | IN_MASK_ADD);
            (void)inotify_add_watch(lookout->descriptor, path, OF_FILE);
            path[above] = '\0';
            lookout->blind |= is_remote(above > 0 ? path : "/");
            return;
        }
        (void)watch_folder(lookout, path, above, OF_ABOVE);
    }
}

static bool absolute(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    const bool rooted = path[0] == '/';
    if (!rooted && !getcwd(folder, sizeof folder)) {
        return false;
    }
    return snprintf(out, PATH_MAX, "%s%s%s", rooted ? "" : folder, rooted ? "" : "/", path) <
           PATH_MAX;
}

void nest_lookout_add(struct nest_lookout *lookout, const char *path)
{
    char way[PATH_MAX];
    if (lookout->descriptor < 0 || !absolute(path, way)) {
        lookout->blind = true;
        return;
    }
    watch_way(lookout, way);
}

/* Everything that has happened since, as one set of events. */
static uint32_t drain(const struct nest_lookout *lookout)
{
    _Alignas(struct inotify_event) char events[EVENTS_MAX];
    uint32_t all = 0;
    ssize_t length = 0;
    while (lookout->descriptor >= 0 &&
           (length = read(lookout->descriptor, events, sizeof events)) > 0) {
        for (ssize_t at = 0; at < length;) {
            struct inotify_event event;
            memcpy(&event, events + at, sizeof event);
            all |= event.mask;
            at += (ssize_t)sizeof event + (ssize_t)event.len;
        }
    }
    return all;
}

bool nest_lookout_ready(struct nest_lookout *lookout)
{
    const uint32_t events = drain(lookout);
    if (events != 0 && (events & ~(uint32_t)(IN_MODIFY | IN_IGNORED)) == 0 && lookout->due == 0) {
        lookout->due = now() + SETTLE;
    }
    const bool waits = lookout->due > now() && (events & ~(uint32_t)(IN_MODIFY | IN_IGNORED)) == 0;
    lookout->due = waits ? lookout->due : 0;
    return !waits;
}

static int open_descriptor(void)
{
    return inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

#else

void nest_lookout_add(struct nest_lookout *lookout, const char *path)
{
    (void)path;
    lookout->blind = true;
}

bool nest_lookout_ready(struct nest_lookout *lookout)
{
    lookout->due = 0;
    return true;
}

static int open_descriptor(void)
{
    return -1;
}

#endif

void nest_lookout_begin(struct nest_lookout *lookout)
{
    lookout->blind = false;
}

int nest_lookout_descriptor(const struct nest_lookout *lookout)
{
    return lookout->descriptor;
}

int nest_lookout_timeout(const struct nest_lookout *lookout)
{
    if (lookout->due > 0) {
        const int64_t left = lookout->due - now();
        return left > 0 ? (int)left : 0;
    }
    return lookout->blind ? LOOK_AGAIN : -1;
}

struct nest_lookout *nest_lookout_open(void)
{
    struct nest_lookout *lookout = calloc(1, sizeof *lookout);
    if (lookout) {
        lookout->descriptor = open_descriptor();
    }
    return lookout;
}

void nest_lookout_close(struct nest_lookout *lookout)
{
    if (lookout && lookout->descriptor >= 0) {
        (void)close(lookout->descriptor);
    }
    free(lookout);
}
