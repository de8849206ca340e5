/* Best-first search over partial strategies.
 *
 * One heap holds groups of families, families, grids, shardings and whole strategies by lower
 * bound. The least is taken, or a deeper one that is little more (frontier.h): a partial one is
 * expanded into its children, a whole one is solved. What exceeds the k-th best plan found cannot
 * matter. Whole strategies whose bound ties with it are dropped too when they come later in the
 * order of plans. Any number of threads gives the same plans: what is dropped could not have
 * entered the list, in whatever order it is filled. */
#ifndef NEST_SOLVE_SEARCH_H
#define NEST_SOLVE_SEARCH_H

#include "solve/bound.h"
#include "solve/solve.h"

/* Fills solution, count and progress of out, which live in arena. Another search of the same space
 * finds in bounds what this one worked out. limit: plans slower than this are not wanted
 * (NEST_PS_MAX: all are). NEST_OK with at least one plan, NEST_NO, NEST_CANCELLED, NEST_NO_MEMORY.
 */
enum nest_status nest_search(const struct nest_bounds *bounds,
                             const struct nest_solve_options *options, nest_ps limit,
                             struct nest_arena *arena, struct nest_result *out);

#endif
