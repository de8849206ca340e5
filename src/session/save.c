#include "session/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum nest_status fault(struct nest_errors *errors, const char *path, const char *what)
{
    const struct nest_mark mark = {path, 0, 0};
    nest_errors_add(errors, mark, NULL, NULL, "cannot %s: %s", what, strerror(errno));
    return NEST_BAD_INPUT;
}

static bool write_all(int descriptor, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(descriptor, text, length);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return true;
}

/* A new file's mode: what open(2) would give it. */
static mode_t usual_mode(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool fill(int descriptor, const struct stat *old, const char *text, size_t length)
{
    const mode_t mode = old ? old->st_mode & 07777 : usual_mode();
    return fchmod(descriptor, mode) == 0 && write_all(descriptor, text, length) &&
           fsync(descriptor) == 0;
}

static void sync_folder(const char *path)
{
    char *folder = strdup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash) {
        slash[slash == folder ? 1 : 0] = '\0';
    }
    const int descriptor = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)fsync(descriptor);
        close(descriptor);
    }
    free(folder);
}

static enum nest_status replace(const char *path, const struct stat *old, const char *text,
                                size_t length, struct nest_errors *errors)
{
    const size_t size = strlen(path) + sizeof ".XXXXXX";
    char *temporary = malloc(size);
    if (!temporary) {
        return NEST_NO_MEMORY;
    }
    (void)snprintf(temporary, size, "%s.XXXXXX", path);
    const int descriptor = mkstemp(temporary);
    if (descriptor < 0) {
        free(temporary);
        return fault(errors, path, "create a file beside it");
    }
    const bool filled = fill(descriptor, old, text, length);
    const int why = errno;
    const bool closed = close(descriptor) == 0;
    const bool done = filled && closed && rename(temporary, path) == 0;
    enum nest_status status = NEST_OK;
    if (!done) {
        errno = filled ? errno : why;
        status = fault(errors, path, "save");
        unlink(temporary);
    } else {
        sync_folder(path);
    }
    free(temporary);
    return status;
}

enum nest_status nest_save_atomic(const char *path, const char *text, size_t length,
                                  struct nest_errors *errors)
{
    struct stat old;
    char *target = realpath(path, NULL);
    if (!target && errno != ENOENT) {
        return fault(errors, path, "save");
    }
    const bool exists = target && stat(target, &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
        free(target);
        errno = EINVAL;
        return fault(errors, path, "save where something else than a file is");
    }
    const enum nest_status status =
        replace(target ? target : path, exists ? &old : NULL, text, length, errors);
    free(target);
    return status;
}
