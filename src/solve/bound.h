/* Admissible lower bounds: what no plan of a partial strategy can beat.
 *
 * Layers fall into the bulk (the longest run of equal layers, which dominates) and those in front
 * of and behind it. A bound assumes that everything else is free: no transfer, no tail but that of
 * a single stage, and of the collectives only
 *
 *   - TP and CP groups that lie inside one innermost group in every plan, and
 *   - groups with more members than an innermost group can hold: they leave it somewhere, and are
 *     priced as two groups' worth on the best level outside, without oversubscription.
 */
#ifndef NEST_SOLVE_BOUND_H
#define NEST_SOLVE_BOUND_H

#include "cost/layer.h"
#include "solve/enumerate.h"

/* A space seen through its least costs. */
struct nest_bounds {
    const struct nest_space *space;
    struct nest_cluster cluster; /* with the best rate and latency outside the innermost groups */
    struct nest_problem problem; /* on that cluster */
    bool tiled;                  /* innermost groups are equal: positions are multiples of tp */
    bool switched;               /* and everything outside them is switched */
};

void nest_bounds_init(struct nest_bounds *bounds, const struct nest_space *space);

/* The least that a family can cost, per microbatch, on stages of its width. */
struct nest_bound {
    nest_ps total;                      /* all layers, each by its cheapest recompute mode */
    nest_ps largest;                    /* the slowest layer */
    nest_ps front, back;                /* layers in front of and behind the bulk */
    int64_t bulk;                       /* layers of the bulk */
    nest_ps bulk_time[NEST_RECOMPUTES]; /* one of them, by index of nest_space.mode */
    struct nest_layer_work work;        /* of one of them; unused with several widths */
};

void nest_bound_family(const struct nest_bounds *bounds, const struct nest_family *family,
                       struct nest_bound *out);

/* Least step time of any plan of the family: M * max(total / most stages, largest) over its dp. */
nest_ps nest_bound_least(const struct nest_bounds *bounds, const struct nest_family *family,
                         const struct nest_bound *bound);

/* Least step time with this grid. strategy: the ZeRO stage and shard group to be kept in memory,
 * with dp_in * dp_out = dp; everything the grid fixes is filled in. NEST_PS_MAX where the stages
 * together have too little memory for the bulk, whatever they recompute. O(pp). */
nest_ps nest_bound_grid(const struct nest_bounds *bounds, const struct nest_family *family,
                        const struct nest_bound *bound, const struct nest_grid *grid,
                        const struct nest_strategy *strategy);

/* The same, but sharper: the bottleneck is (to a thousandth) the least b for which the stages have
 * room for the bulk within b and within memory, by one recompute mode each. ordered: dp_in and
 * dp_out are final, and tell more about the communicators. */
nest_ps nest_bound_sharding(const struct nest_bounds *bounds, const struct nest_family *family,
                            const struct nest_bound *bound, const struct nest_grid *grid,
                            const struct nest_strategy *strategy, bool ordered);

#endif
