/* Admissible lower bounds: what no plan of a partial strategy can beat.
 *
 * Layers fall into the bulk (the longest run of equal layers, which dominates) and those in front
 * of and behind it. A bound assumes that everything else is free: no transfer, no tail but that of
 * a single stage, and of the collectives only
 *
 *   - groups that lie inside one innermost group in every plan, and
 *   - groups with more members than a group of some level can hold, by the least that it costs to
 *     leave it (reach.h).
 */
#ifndef NEST_SOLVE_BOUND_H
#define NEST_SOLVE_BOUND_H

#include "cost/table.h"
#include "solve/enumerate.h"
#include "solve/reach.h"

/* A space seen through its least costs. */
struct nest_bounds {
    const struct nest_space *space;
    struct nest_reach reach;
    struct nest_problem problem; /* on the relaxed cluster of reach */
    int bulk;                    /* the longest run of equal layers */
    nest_ps *least;              /* [kinds] scratch */
};

/* In place: not to be copied. Borrows space, takes scratch from arena. False: memory is out. */
bool nest_bounds_init(struct nest_bounds *bounds, const struct nest_space *space,
                      struct nest_arena *arena);

/* The least that a family can cost, per microbatch, on stages of its width. */
struct nest_bound {
    nest_ps total;                      /* all layers, each by its cheapest recompute mode */
    nest_ps largest;                    /* the slowest layer */
    nest_ps front, back;                /* layers in front of and behind the bulk */
    int64_t bulk;                       /* layers of the bulk */
    nest_ps bulk_time[NEST_RECOMPUTES]; /* one of them, by index of nest_space.mode */
    struct nest_layer_work work;        /* of one of them; unused with several widths */
    bool has_first, has_last;           /* the model starts, ends with a layer outside the bulk */
    struct nest_layer_work first, last; /* that layer */
};

void nest_bound_family(const struct nest_bounds *bounds, const struct nest_family *family,
                       struct nest_bound *out);

/* Least step time of any plan of the family: M * max(total / most stages, largest) over its dp. */
nest_ps nest_bound_least(const struct nest_bounds *bounds, const struct nest_family *family,
                         const struct nest_bound *bound);

/* What the stages of a family have room for, once dp and the sharding are chosen. */
struct nest_room {
    const struct nest_bound *bound;
    int modes;
    int64_t microbatches;
    nest_ps total, largest;               /* as in nest_bound */
    nest_ps time[NEST_RECOMPUTES];        /* of one bulk layer */
    int64_t state;                        /* bytes per bulk layer, whatever the microbatches */
    int64_t activations[NEST_RECOMPUTES]; /* bytes per bulk layer and microbatch in flight */
    int64_t memory[NEST_RECOMPUTES];      /* bytes for both on one device */
    int64_t first_state, last_state;      /* bytes of the layers at the ends, outside the bulk */
    int64_t last_peak;                    /* bytes live while the last one runs */
    int64_t limit;                        /* bytes of a device that are not reserved */
    nest_ps traffic;                      /* once per step, of all the bulk's parameters */
};

/* What is known of where a strategy's groups lie. */
enum nest_knowledge {
    NEST_KNOWS_DP,       /* dp and the least state that any ZeRO stage keeps: no traffic counts */
    NEST_KNOWS_SHARDING, /* zero and shard group, not the order */
    NEST_KNOWS_ORDER     /* everything but the span */
};

/* strategy: dp_in * dp_out is dp; zero and shard are those whose state is to be kept. pp is used
 * for NEST_KNOWS_ORDER alone. */
void nest_room_measure(const struct nest_bounds *bounds, const struct nest_family *family,
                       const struct nest_bound *bound, const struct nest_strategy *strategy,
                       enum nest_knowledge knowledge, int pp, struct nest_room *out);

/* The same with communicators placed as they will be; the least of several places. Real costs. */
void nest_room_measure_placed(const struct nest_bounds *bounds, const struct nest_family *family,
                              const struct nest_bound *bound, const struct nest_strategy *strategy,
                              int places, const struct nest_placement *placement,
                              struct nest_room *out);

/* Least step time of pp stages of v chunks. Even: with an even split. Sharp: the bottleneck is (to
 * a thousandth) the least b for which the stages have room for the bulk within b and within memory,
 * by one recompute mode each. Both are NEST_PS_MAX where memory does not suffice at all; a value
 * beyond limit may be any such value. */
nest_ps nest_room_even(const struct nest_room *room, const struct nest_grid *grid, nest_ps limit);
nest_ps nest_room_sharp(const struct nest_bounds *bounds, const struct nest_room *room,
                        const struct nest_grid *grid, nest_ps limit);

#endif
