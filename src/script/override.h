/* Cost overrides: a scenario's Lua functions in place of parts of the cost model. */
#ifndef NEST_SCRIPT_OVERRIDE_H
#define NEST_SCRIPT_OVERRIDE_H

#include <lua.h>
#include <pthread.h>

#include "cost/problem.h"

struct nest_answered; /* cached answers by argument */

struct nest_override_run {
    struct nest_overrides record;
    lua_State *L;
    int hooks; /* stack index of the table of functions */
    const struct nest_problem *problem;
    struct nest_arena *arena;
    struct nest_errors errors;
    enum nest_status status; /* of the first fault; the defaults hold from then on */
    pthread_mutex_t lock;    /* the state belongs to one thread at a time */
    struct nest_answered *answered;
    size_t count, room;
};

/* Puts the functions of the table at index hooks in place of the problem's costs, until
 * nest_override_end. The sandbox must be paused (nest_sandbox_pause) while the problem is priced.
 */
void nest_override_begin(lua_State *L, int hooks, struct nest_problem *problem,
                         struct nest_arena *arena, struct nest_override_run *run);

/* Takes them away; raises the first fault of a hook. */
void nest_override_end(lua_State *L, struct nest_problem *problem, struct nest_override_run *run);

/* Raises unless the table at index holds only functions under known names. */
void nest_override_check(lua_State *L, int index);

/* nest.curve{{x, y}, …}: a function that interpolates between measured points. */
int nest_override_curve(lua_State *L);

#endif
