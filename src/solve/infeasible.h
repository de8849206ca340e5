/* Why no plan is feasible, by how much, and the nearest change that helps. */
#ifndef NEST_SOLVE_INFEASIBLE_H
#define NEST_SOLVE_INFEASIBLE_H

#include "solve/enumerate.h"
#include "solve/solve.h"

/* Adds one fault for a space in which no plan was found: the broken rule where no strategy is
 * legal, else the memory that is missing, on which stage of which plan. Its hint lists each pin
 * whose freeing alone makes some plan feasible, and the value that the plan then takes. Solves a
 * few relaxed problems for that; gives up on what options->cancel interrupts. */
void nest_explain_infeasible(const struct nest_space *space,
                             const struct nest_solve_options *options, struct nest_arena *arena,
                             struct nest_errors *errors);

#endif
