/* What devices that are down cost: the best plan of the intact cluster beside that of what is left.
 */
#ifndef NEST_SOLVE_LOSS_H
#define NEST_SOLVE_LOSS_H

#include "base/strbuf.h"
#include "solve/solve.h"

struct nest_loss {
    int64_t down;   /* devices out of order; 0: none, and the rest is 0 too */
    int64_t idle;   /* devices in order that the plan has no work for */
    nest_ps step;   /* of the plan */
    nest_ps intact; /* of the best plan if nothing were down; 0: there is none */
};

/* Solves the intact cluster with the plan as the first bound. Pins, limits and options are the
 * problem's own. NEST_OK, NEST_CANCELLED or NEST_NO_MEMORY. */
enum nest_status nest_solve_loss(const struct nest_problem *problem,
                                 const struct nest_solve_options *options,
                                 const struct nest_solution *best, struct nest_arena *arena,
                                 struct nest_loss *out);

/* The part of the throughput that is lost, 0 … 1; 0 where nothing is known. */
double nest_loss_share(const struct nest_loss *loss);

/* "node 13 down, 8 devices: costs 4.1% of throughput (step 812 ms → 846 ms); 8 devices in order
 * idle". arrow stands between the times. Nothing where nothing is down. */
void nest_loss_write(const struct nest_problem *problem, const struct nest_loss *loss,
                     const char *arrow, struct nest_strbuf *out);

#endif
