/* The best plans found so far, in the total order of plans. */
#ifndef NEST_SOLVE_BEST_H
#define NEST_SOLVE_BEST_H

#include "plan/plan.h"

struct nest_best_plan {
    struct nest_plan plan; /* in arena */
    nest_ps step;
    struct nest_arena arena;
};

struct nest_best {
    int top;       /* most plans that are kept */
    bool by_shape; /* one plan per (tp, pp, dp, cp, ep, zero) */
    int found;
    struct nest_best_plan *plan; /* [top], best first */
};

/* False when memory is out. */
bool nest_best_init(struct nest_best *best, int top, bool by_shape);
void nest_best_free(struct nest_best *best);

/* Copies the plan into the list if it belongs there. False when memory is out. */
bool nest_best_keep(struct nest_best *best, const struct nest_plan *plan, nest_ps step);

/* The step time that a plan must not exceed to enter: the worst of a full list, else limit. */
nest_ps nest_best_limit(const struct nest_best *best, nest_ps limit);

#endif
