/* The Lua files of a scenario: each returns a table of cost overrides (override.h).
 *
 * Loaded once, they serve any number of problems, one thread at a time (a lock sees to it). They
 * see nest.curve, format, parse, model, cluster and Lua's own libraries as the sandbox has them,
 * and run under the limits of NEST_SANDBOX_BUILDER per call. */
#ifndef NEST_SCRIPT_SCRIPTS_H
#define NEST_SCRIPT_SCRIPTS_H

#include <stdatomic.h>

#include "cost/problem.h"
#include "input/load.h"

struct nest_scripts;
struct nest_functions;

struct nest_scripts_options {
    const struct nest_library *library; /* outlives the scripts */
    const atomic_bool *cancel;          /* of loading them; may be NULL */
    void (*print)(void *context, const char *text, size_t length); /* may be NULL */
    void *context;
};

/* Loads the files of the list. None: *out is NULL, which everything below takes. NEST_OK;
 * NEST_BAD_INPUT with located faults, NEST_CANCELLED, NEST_NO_MEMORY. */
enum nest_status nest_scripts_open(const struct nest_scripts_options *options, int count,
                                   const struct nest_script_spec *script, struct nest_scripts **out,
                                   struct nest_errors *errors);
struct nest_scripts *nest_scripts_retain(struct nest_scripts *scripts);
void nest_scripts_release(struct nest_scripts *scripts);

/* Puts their hooks, and behind them those of a console (may be NULL), in place of the problem's
 * costs. The answers are kept in arena; both must be retained as long as the problem is priced, and
 * the problem stay where it is. cancel (may be
 * NULL) is polled by the hooks: a call that it stops leaves the default until the flag has fallen.
 * False when memory is out. */
bool nest_scripts_attach(struct nest_scripts *scripts, struct nest_functions *functions,
                         struct nest_problem *problem, const atomic_bool *cancel,
                         struct nest_arena *arena);

/* The same, for adding more; NULL when memory is out. */
struct nest_override_run;
struct nest_override_run *nest_scripts_run(struct nest_scripts *scripts,
                                           const struct nest_problem *problem,
                                           const atomic_bool *cancel, struct nest_arena *arena);

#endif
