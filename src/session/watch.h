/* The files that the scenario was read from, and what happens when one of them is saved.
 *
 * Clusters, models, devices and scripts are read again in the background with all edits and pins
 * kept; a change that is in order becomes one step of the session's history, a faulty one is
 * reported and the last good state stays. The scenario's own file is read again only while there
 * are no unsaved changes. Files are compared by content: however an editor writes them, and whoever
 * else does. */
#ifndef NEST_SESSION_WATCH_H
#define NEST_SESSION_WATCH_H

#include "session/console.h"
#include "session/notice.h"

struct nest_watch;

/* Faults are reported to console (may be NULL). Closed before both. */
enum nest_status nest_watch_open(struct nest_session *session, struct nest_console *console,
                                 struct nest_watch **out);
void nest_watch_close(struct nest_watch *watch);

/* Polls readable when files may have changed; -1 where the system cannot tell. */
int nest_watch_descriptor(const struct nest_watch *watch);

/* Milliseconds after which to look again in any case; -1: not needed. */
int nest_watch_timeout(const struct nest_watch *watch);

/* The file that is being read again, NULL: none. Stops that, with everything left as it was; true
 * if there was something to stop. */
const char *nest_watch_doing(const struct nest_watch *watch);
bool nest_watch_cancel(struct nest_watch *watch);

/* Looks at the files, and begins to read again if one of them has changed. */
void nest_watch_look(struct nest_watch *watch, struct nest_notice *notice);

/* Takes in what was read, and follows the scenario to other files; true if something was read. To
 * be called when the session's descriptor is readable, and after commands. */
bool nest_watch_collect(struct nest_watch *watch, struct nest_notice *notice);

/* Collects until nothing is being read. */
void nest_watch_wait(struct nest_watch *watch, struct nest_notice *notice);

#endif
