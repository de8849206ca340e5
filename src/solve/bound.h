/* Admissible lower bounds: what no plan of a partial strategy can beat. */
#ifndef NEST_SOLVE_BOUND_H
#define NEST_SOLVE_BOUND_H

#include "solve/enumerate.h"

/* The least that the layers of a family can cost, per microbatch and stage width. */
struct nest_bound {
    nest_ps total;   /* all layers */
    nest_ps largest; /* the slowest layer */
};

/* The layers' own compute without any communication, by the cheapest of the allowed modes. */
void nest_bound_family(const struct nest_space *space, const struct nest_family *family,
                       struct nest_bound *out);

/* (M - 1) * max(total / pp, largest) + total, for M microbatches: the step formula with an even
 * split and no tail; with v chunks the fill is divided by v. */
nest_ps nest_bound_grid(const struct nest_space *space, const struct nest_family *family,
                        const struct nest_bound *bound, const struct nest_grid *grid);

#endif
