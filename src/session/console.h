/* The console: Lua chunks over the live scenario, run in the background.
 *
 * One thread submits chunks and collects what came of them; the chunks run one after the other on a
 * thread of the console's. The live scenario is the global s. What a chunk changes there becomes
 * one step of the session's history once it has ended well; a chunk that fails or is stopped
 * changes nothing. */
#ifndef NEST_SESSION_CONSOLE_H
#define NEST_SESSION_CONSOLE_H

#include "session/log.h"
#include "session/past.h"
#include "session/session.h"

struct nest_console;

/* Closed before its session. */
enum nest_status nest_console_open(struct nest_session *session, struct nest_console **out);
void nest_console_close(struct nest_console *console);

/* Whether more has to be typed before text can run. */
bool nest_console_is_incomplete(const char *text);

/* Runs text after the chunks that were submitted before; tables are printed in width columns. */
void nest_console_submit(struct nest_console *console, const char *text, int width);

/* Takes in what has happened since: output, changes of the scenario; starts the next chunk. True if
 * there was anything. To be called when the session's descriptor is readable. */
bool nest_console_collect(struct nest_console *console);

/* Stops the running chunk and forgets those behind it; true if there was one. */
bool nest_console_cancel(struct nest_console *console);

/* Whether a chunk runs or waits. */
bool nest_console_busy(const struct nest_console *console);

/* Runs and collects until nothing runs or waits. */
void nest_console_wait(struct nest_console *console);

/* What was run and printed, as far as it was collected; valid until the next call. */
const struct nest_log *nest_console_log(const struct nest_console *console);

/* Adds faults to the log, each with the frames of its script. */
void nest_console_report(struct nest_console *console, const struct nest_errors *errors);
void nest_console_note(struct nest_console *console, const char *text);

/* What was typed before, in earlier runs too. */
struct nest_past *nest_console_past(struct nest_console *console);

/* As nest_repl_complete; inside of quotes the paths and pins of the scenario. NULL while a chunk
 * runs. */
const char *const *nest_console_complete(struct nest_console *console, const char *line,
                                         struct nest_arena *arena, size_t *start);

#endif
