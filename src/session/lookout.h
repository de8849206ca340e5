/* Tells when files may have changed, whatever way they are saved: written in place, replaced by
 * another, behind symbolic links, in folders that are moved or made anew. Where the system cannot
 * tell (another machine's disk, no inotify, a folder that is gone), it asks to look now and then.
 * Private to the session room. */
#ifndef NEST_SESSION_LOOKOUT_H
#define NEST_SESSION_LOOKOUT_H

#include <stdbool.h>

struct nest_lookout;

/* NULL when memory is out. */
struct nest_lookout *nest_lookout_open(void);
void nest_lookout_close(struct nest_lookout *lookout);

/* Begins the list of files anew, then adds to it. A file need not be there. Links and folders are
 * followed as they are now, so both are to be done again after each change. */
void nest_lookout_begin(struct nest_lookout *lookout);
void nest_lookout_add(struct nest_lookout *lookout, const char *path);

/* Polls readable when something happened; -1 where the system cannot tell. */
int nest_lookout_descriptor(const struct nest_lookout *lookout);

/* Milliseconds after which to look in any case; -1: not needed. */
int nest_lookout_timeout(const struct nest_lookout *lookout);

/* Takes in what happened. False while a file is being written by somebody who may go on: the
 * timeout says when to ask again. */
bool nest_lookout_ready(struct nest_lookout *lookout);

#endif
