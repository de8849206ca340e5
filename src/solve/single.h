/* The best plan of one strategy with a given number of stages: every span, by the recurrence. */
#ifndef NEST_SOLVE_SINGLE_H
#define NEST_SOLVE_SINGLE_H

#include "plan/plan.h"
#include "solve/places.h"
#include "solve/recurrence.h"
#include "solve/room.h"

/* What one thread needs to solve strategies one after the other. */
struct nest_single {
    const struct nest_bounds *bounds;
    const struct nest_space *space;
    struct nest_recurrence *recurrence;
    struct nest_places *places;
    struct nest_arena arena;   /* of one strategy: layouts, tables, the plan */
    const atomic_bool *cancel; /* ends a solve that is under way; NULL until it is set */
    int64_t states;            /* cells visited so far */
};

enum nest_status nest_single_init(struct nest_single *single, const struct nest_bounds *bounds);
void nest_single_free(struct nest_single *single);

/* bound is that of the family, NULL where no bounds are wanted. The best plan of the strategy (its
 * span is chosen here) whose step time is at most limit; first in the order of nest_plan_compare
 * among equals. out lives until the next call. NEST_OK, NEST_NO when there is none, NEST_NO_MEMORY,
 * NEST_CANCELLED. */
enum nest_status nest_single_solve(struct nest_single *single, const struct nest_family *family,
                                   const struct nest_bound *bound,
                                   const struct nest_strategy *strategy, int stages, nest_ps limit,
                                   struct nest_plan *out, nest_ps *step);

#endif
