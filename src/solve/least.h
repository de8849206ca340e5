/* The plan that needs least memory on its fullest device, whatever it costs. */
#ifndef NEST_SOLVE_LEAST_H
#define NEST_SOLVE_LEAST_H

#include "solve/bound.h"
#include "solve/solve.h"

struct nest_least {
    struct nest_solution solution;
    int64_t limit; /* the least memory limit under which the plan is feasible */
    int stage;     /* that needs it */
};

/* The strategies whose least memory is smallest by the bounds of room.h are placed under tighter
 * and tighter limits, until no other one can need less by a thousandth, or some hundred were tried.
 * Where those bounds say nothing of memory (a width or a ZeRO stage per stage, an override of
 * memory, a graph that branches) whole searches are bisected instead. bounds are those of a space
 * in which nothing is feasible; filled where needed. out lives in arena. NEST_OK, NEST_NO when
 * there is no plan at any limit, NEST_CANCELLED, NEST_NO_MEMORY. */
enum nest_status nest_least_memory(const struct nest_bounds *bounds,
                                   const struct nest_solve_options *options,
                                   struct nest_arena *arena, struct nest_least *out);

/* The same of a plan that is given. */
int64_t nest_least_limit(const struct nest_problem *problem, const struct nest_plan *plan,
                         const struct nest_prediction *prediction, int *stage);

#endif
