/* Cost overrides: a scenario's Lua functions in place of parts of the cost model. */
#ifndef NEST_SCRIPT_OVERRIDE_H
#define NEST_SCRIPT_OVERRIDE_H

#include <pthread.h>

#include "cost/problem.h"
#include "script/memo.h"

/* Tables of functions, each under a key of its state's registry. Where several have the same hook,
 * the default of a later one is what those before it say. */
enum { NEST_OVERRIDE_SOURCES = NEST_MEMO_SOURCES };
struct nest_override_source {
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
    pthread_mutex_t *lock;     /* the states belong to one thread at a time */
    pthread_mutex_t own;       /* taken where the caller has none */
    struct nest_memo memo;
    struct nest_recent recent[NEST_RECENT]; /* each where its hash falls; the newest stays */
    struct nest_hook_answer latest;
};

/* Empty. lock (NULL: one of its own) and arena are the caller's and outlive it; problem is asked
 * for the names of levels. */
void nest_override_init(struct nest_override_run *run, const struct nest_problem *problem,
                        pthread_mutex_t *lock, struct nest_arena *arena);

/* Adds a table of functions, and its hooks to the record. False when there are too many. */
bool nest_override_add(struct nest_override_run *run, lua_State *L, const void *key);

/* Raises unless the value at index is a table that holds only functions under the hooks' names. */
void nest_override_check(lua_State *L, int index);

/* The same as a function of Lua's. */
int nest_override_check_call(lua_State *L);

#endif
