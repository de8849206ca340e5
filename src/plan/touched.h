/* Which figures of a prediction a cost override changed, and what they are without it. */
#ifndef NEST_PLAN_TOUCHED_H
#define NEST_PLAN_TOUCHED_H

#include "plan/plan.h"

/* Sets of hooks: bit 1 << enum nest_hook. */
struct nest_touched {
    unsigned hooks;                  /* that there are */
    unsigned step;                   /* that change the step time */
    unsigned *time;                  /* [stages] that change the load, the sync or the update */
    unsigned *memory;                /* [stages] that change a memory term */
    unsigned level[NEST_MAX_LEVELS]; /* that price something across the level otherwise */
    struct nest_prediction plain;    /* of the same plan without any override */
    nest_ps without[NEST_HOOKS];     /* its step time with the others only */
};

/* Prices the plan again without each hook. prediction: of the plan with all of them. False only
 * when memory is out; the arrays live in arena. */
bool nest_plan_touch(const struct nest_problem *problem, const struct nest_plan *plan,
                     const struct nest_prediction *prediction, struct nest_arena *arena,
                     struct nest_touched *out);

/* "compute, memory" of a set. */
void nest_hooks_format(unsigned hooks, struct nest_strbuf *out);

#endif
