/* Cost overrides: a scenario's Lua functions in place of parts of the cost model. */
#ifndef NEST_SCRIPT_OVERRIDE_H
#define NEST_SCRIPT_OVERRIDE_H

#include <pthread.h>

#include "cost/problem.h"
#include "script/home.h"
#include "script/memo.h"

/* Tables of functions, each under a key of its state's registry. Where several have the same hook,
 * the default of a later one is what those before it say. */
enum { NEST_OVERRIDE_SOURCES = NEST_MEMO_SOURCES };
struct nest_override_source {
    struct nest_home *home; /* entered for a call; NULL: L is the thread's that prices */
    lua_State *L;
    const void *key;
};

/* A collective that was asked for, all zeroes at first. */
enum { NEST_RECENT = 512, NEST_RECENT_FIELDS = NEST_ASKED_SECONDS + 1 - NEST_ASKED_KIND };
struct nest_recent {
    int64_t field[NEST_RECENT_FIELDS];
    double seconds;
};

/* Answers for one problem. */
struct nest_override_run {
    struct nest_overrides record;
    const struct nest_problem *problem;
    struct nest_override_source source[NEST_OVERRIDE_SOURCES];
    int sources;
    struct nest_arena *arena;
    struct nest_errors errors;
    enum nest_status status;   /* of the first fault; the defaults hold from then on */
    const atomic_bool *cancel; /* polled by the calls; may be NULL */
    pthread_mutex_t lock;      /* of all that follows and of the status */
    struct nest_memo memo;
    struct nest_recent recent[NEST_RECENT]; /* each where its hash falls; the newest stays */
    struct nest_hook_answer latest;
};

/* Empty. arena is the caller's, outlives it, and is used by it alone from then on, or by the thread
 * that prices; problem is asked for the names of levels. */
void nest_override_init(struct nest_override_run *run, const struct nest_problem *problem,
                        struct nest_arena *arena);

/* Adds a table of functions of a state that this thread is in, and its hooks to the record. home:
 * of the state, outlives the run; NULL where this thread alone prices, inside the state. False when
 * there are too many. */
bool nest_override_add(struct nest_override_run *run, struct nest_home *home, lua_State *L,
                       const void *key);

/* The same with what a console's chunk put on a scenario; waits for nobody. */
bool nest_override_add_functions(struct nest_override_run *run,
                                 const struct nest_functions *functions);

/* Which hooks the table at index has, as bits. Raises as a metamethod of it might. */
unsigned nest_override_hooks(lua_State *L, int index);

/* Raises unless the value at index is a table that holds only functions under the hooks' names. */
void nest_override_check(lua_State *L, int index);

/* The same as a function of Lua's. */
int nest_override_check_call(lua_State *L);

#endif
