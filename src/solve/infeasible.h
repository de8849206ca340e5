/* Why no plan is feasible, by how much, and the nearest change that helps. */
#ifndef NEST_SOLVE_INFEASIBLE_H
#define NEST_SOLVE_INFEASIBLE_H

#include "solve/bound.h"
#include "solve/solve.h"

/* Adds one fault for the space of bounds, in which no plan was found: the broken rule where no
 * strategy is legal, else the memory that is missing, on which stage of which plan. Its hint lists
 * each pin whose freeing alone makes some plan feasible, and the value that the plan then takes.
 * Solves a few relaxed problems for that; gives up on what options->cancel interrupts. */
void nest_explain_infeasible(const struct nest_bounds *bounds,
                             const struct nest_solve_options *options, struct nest_errors *errors);

#endif
