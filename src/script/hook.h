/* One question to one hook of a script: its arguments as a table, its answer as numbers. */
#ifndef NEST_SCRIPT_HOOK_H
#define NEST_SCRIPT_HOOK_H

#include <lua.h>

#include "cost/problem.h"

/* compute: forward, backward. collective, transfer: seconds. memory, reserve, step: the fields of
 * their structs in order; step ends with first_tail and refused. load: rows of five weights. */
enum { NEST_HOOK_VALUES = NEST_LOAD_ROWS * 5, NEST_STEP_FIRST_TAIL = 7, NEST_STEP_REFUSED = 8 };

struct nest_hook_answer {
    int64_t count;
    double value[NEST_HOOK_VALUES];
};

/* The arguments of a hook, compared as bytes up to the last value that is given: zeroed before they
 * are filled. */
struct nest_question {
    int32_t hook, source;
    int32_t tp, cp, ep, etp, sp, micro_batch;
    int32_t zero, recompute, first, last, virtual_stages, stages;
    int32_t collective, level, backward, unused;
    const struct nest_layer_kind *kind, *after;
    int64_t shard, dp, microbatches, members, block;
    double bytes;
    struct nest_hook_answer given; /* what default() says */
};

/* Calls the function on top of the stack with the question and pops it; the answer is checked.
 * Raises with the function's place in front. */
void nest_hook_call(lua_State *L, const struct nest_problem *problem,
                    const struct nest_question *question, struct nest_hook_answer *answer);

#endif
