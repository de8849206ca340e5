/* Writing a file so that a crash leaves the old or the new content, never half of it. Private to
 * the session room. */
#ifndef NEST_SESSION_SAVE_H
#define NEST_SESSION_SAVE_H

#include <stddef.h>

#include "base/error.h"

/* Replaces the content of path (or creates it): temporary file in the same folder, fsync, rename.
 * Keeps the mode of a file that is there; a symbolic link stays and its target is replaced. */
enum nest_status nest_save_atomic(const char *path, const char *text, size_t length,
                                  struct nest_errors *errors);

#endif
