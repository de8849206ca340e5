/* One errand at a time on a thread of its own, so that nothing that a script does can hold up the
 * owner of the screen. Private to the session room. */
#ifndef NEST_SESSION_RUNNER_H
#define NEST_SESSION_RUNNER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "session/session.h"

struct nest_runner;

/* Wakes the session's descriptor whenever there is something to collect. NEST_NO_MEMORY when there
 * can be no thread. */
enum nest_status nest_runner_open(struct nest_session *session, struct nest_runner **out);

/* Asks the running errand to stop, waits for it, and drops its outcome (done is not called). */
void nest_runner_close(struct nest_runner *runner);

/* Runs run(context) on the thread; done(context) is called by nest_runner_collect once it is over.
 * False when another errand is under way. */
bool nest_runner_start(struct nest_runner *runner, void (*run)(void *context),
                       void (*done)(void *context), void *context);

/* Whether an errand is under way or waits to be collected. */
bool nest_runner_busy(struct nest_runner *runner);

/* Calls done of a finished errand; true if there was one. */
bool nest_runner_collect(struct nest_runner *runner);

/* Raises the flag that the errand polls; it falls when the errand is collected. */
void nest_runner_cancel(struct nest_runner *runner);
const atomic_bool *nest_runner_flag(const struct nest_runner *runner);

/* Waits until no errand runs; it may still have to be collected. */
void nest_runner_wait(struct nest_runner *runner);

#endif
