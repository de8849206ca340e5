/* Commands of the session that may have to run a script, made without waiting for it.
 *
 * A knob of a cluster in Lua, another cluster and another scenario are changes that run a file for
 * as long as its budget lasts. What runs one is made in the background, one change after the other,
 * and becomes a step of the history when it is in order; all else happens at once, as by the
 * session's own functions. A faulty or stopped change leaves everything as it was. */
#ifndef NEST_SESSION_MAKER_H
#define NEST_SESSION_MAKER_H

#include "session/console.h"
#include "session/notice.h"

struct nest_maker;

/* Faults of what was made in the background are reported to console (may be NULL). Closed before
 * both. */
enum nest_status nest_maker_open(struct nest_session *session, struct nest_console *console,
                                 struct nest_maker **out);
void nest_maker_close(struct nest_maker *maker);

/* As nest_session_set, _nudge, _cluster and _load. NEST_OK also when it is under way: what came of
 * it is told by nest_maker_collect. */
enum nest_status nest_maker_set(struct nest_maker *maker, const char *path, const char *value,
                                struct nest_errors *errors);
enum nest_status nest_maker_nudge(struct nest_maker *maker, const char *path, int direction,
                                  bool big, struct nest_errors *errors);
enum nest_status nest_maker_cluster(struct nest_maker *maker, const char *name,
                                    struct nest_errors *errors);
enum nest_status nest_maker_load(struct nest_maker *maker, const char *path,
                                 struct nest_errors *errors);

/* As nest_session_command. out stays empty while it is under way; nest_maker_line tells it then. */
enum nest_status nest_maker_command(struct nest_maker *maker, struct nest_strbuf *out,
                                    struct nest_errors *errors);

/* The command line that was worked out last, once; NULL: none. Valid until the next call. */
const char *nest_maker_line(struct nest_maker *maker);

/* Stops the change that is under way and forgets those behind it; true if there was one. */
bool nest_maker_cancel(struct nest_maker *maker);

/* What is under way, "seed of failures.lua"; NULL: nothing. Valid until the next call. */
const char *nest_maker_doing(const struct nest_maker *maker);

/* Takes in what was made and starts the next; true if there was anything. To be called when the
 * session's descriptor is readable. notice: as nest_watch_collect. */
bool nest_maker_collect(struct nest_maker *maker, struct nest_notice *notice);

/* Collects until nothing is under way; the last thing said stays in notice. */
void nest_maker_wait(struct nest_maker *maker, struct nest_notice *notice);

#endif
