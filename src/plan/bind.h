/* What holds a plan's step time up, found by pricing the same plan on a changed cluster. */
#ifndef NEST_PLAN_BIND_H
#define NEST_PLAN_BIND_H

#include "plan/plan.h"

struct nest_binding {
    int levels;
    nest_ps level_gain[NEST_MAX_LEVELS]; /* step time saved if that level's bandwidth doubled */
    int best_level;                      /* the one with the largest gain; -1: none gains */
    nest_ps compute_gain; /* step time saved if every kernel took half its time; launches stay */
    int tightest;         /* stage with the least memory left */
    int64_t slack;        /* bytes left there; negative when over the limit */
};

/* Prices the plan again for each level. False only when memory is out; scratch lives in arena. */
bool nest_plan_bind(const struct nest_problem *problem, const struct nest_plan *plan,
                    const struct nest_prediction *prediction, struct nest_arena *arena,
                    struct nest_binding *out);

#endif
