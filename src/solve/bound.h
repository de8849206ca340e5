/* Admissible lower bounds: what no plan of a partial strategy can beat.
 *
 * Layers fall into the bulk and those in front of and behind it; in a graph that branches nothing
 * is known to lie in front or behind. The bulk is the longest run of equal layers. Where that is
 * not most of a chain (sliding windows, experts in every second layer), it is everything between a
 * first and a last layer of their own kinds, if those are few. Of unlike layers n in a row come to
 * at least n times their mean less some slack, which is the most that a row falls short of it. A
 * bound assumes that everything else is free: no transfer, no tail but that of a single stage, and
 * of the collectives only
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

/* One kind of layer under one strategy, and under all widths of a family. */
struct nest_kind_bound {
    struct nest_strategy strategy;      /* tp, cp, sp and micro batch of the last call */
    const struct nest_layer_work *work; /* in the arena, for the bounds of families to keep */
    nest_ps time[NEST_RECOMPUTES];      /* by index of nest_space.mode */
    int64_t boundary;                   /* bytes of the tensor behind it */
    nest_ps least;                      /* over modes and widths */
};

struct nest_bound;

/* Kinds of layer in a bulk, at most: each is priced wherever the bulk is. */
enum { NEST_BULK_KINDS = 6 };

/* What n layers of the bulk in a row come to: at least n * each - slack. */
struct nest_mean {
    int64_t each, slack;
};

/* A space seen through its least costs. */
struct nest_bounds {
    const struct nest_space *space;
    struct nest_arena *arena;
    struct nest_reach reach;
    struct nest_problem problem; /* on the relaxed cluster of reach */
    struct nest_overrides overrides;
    bool asks_memory;           /* an override has a say in memory */
    struct nest_problem timing; /* problem without that; for its times only */
    struct nest_overrides timing_overrides;
    int bulk, bulk_runs; /* the first run of the bulk, and how many it has */
    int bulk_kinds;      /* kinds among them … */
    int bulk_kind[NEST_BULK_KINDS];
    int64_t bulk_count[NEST_BULK_KINDS]; /* … layers of each … */
    int64_t bulk_layers;                 /* … and of all */
    struct nest_kind_bound *kind;        /* [kinds] scratch */
    struct nest_bound *family;           /* [families] those that nest_bounds_of was asked for */
};

/* In place: not to be copied. Borrows space and arena, where bounds of families live. False: memory
 * is out. */
bool nest_bounds_init(struct nest_bounds *bounds, const struct nest_space *space,
                      struct nest_arena *arena);

/* Every communicator has one member: nothing is ever sent. */
extern const struct nest_placement nest_bounds_alone;

/* The least communicators of a strategy: price them on bounds->problem. pp > 0: its order is known,
 * and pp stages lie between two copies; 0: only dp and the sharding. */
void nest_bounds_place(const struct nest_bounds *bounds, const struct nest_strategy *strategy,
                       int pp, struct nest_placement *out);

/* The least that transfers between two stages take whose copies are at least `block` devices wide:
 * link[l] of those across level l or any outer one. Both lie in one group of that level, which so
 * holds two blocks. Nothing where an override may say so. */
void nest_bounds_links(const struct nest_bounds *bounds, int64_t block, int64_t bytes,
                       nest_ps link[NEST_MAX_LEVELS]);

/* The least that a family can cost, per microbatch, on stages of its width. */
struct nest_bound {
    nest_ps total;       /* all layers, each by its cheapest recompute mode */
    nest_ps largest;     /* the slowest layer */
    nest_ps front, back; /* layers in front of and behind the bulk */
    int64_t bulk;        /* layers of the bulk */
    nest_ps bulk_total;  /* all of them, each by its cheapest mode */
    struct nest_mean bulk_time[NEST_RECOMPUTES]; /* by index of nest_space.mode; of one width */
    const struct nest_layer_work
        *work[NEST_BULK_KINDS]; /* of each kind of the bulk; unused with several widths */
    bool has_first, has_last;   /* the model starts, ends with a layer outside the bulk */
    const struct nest_layer_work *first, *last; /* that layer */
    nest_ps first_time, last_time;              /* of it, by its cheapest recompute mode */
    int64_t boundary;              /* bytes of the smallest tensor between two layers */
    nest_ps link[NEST_MAX_LEVELS]; /* its least transfers; 0 with several widths */
    /* NULL unless an override weighs the parts of loads; as in nest_cost_table, of one width. */
    const struct nest_load_rule (*load)[2][2];
};

/* sum + count * time; a time that saturates makes the sum saturate. */
nest_ps nest_bounds_sum(nest_ps sum, int64_t count, nest_ps time);

/* The mean of a figure, given for each kind of the bulk; none is negative. */
struct nest_mean nest_bounds_mean(const struct nest_bounds *bounds,
                                  const int64_t figure[NEST_BULK_KINDS]);

/* The least that a layer adds to the load of a stage, by a mode. */
nest_ps nest_bounds_time(const struct nest_bound *bound, enum nest_recompute mode,
                         const struct nest_layer_cost *cost);

/* False when memory is out. */
bool nest_bound_family(const struct nest_bounds *bounds, const struct nest_family *family,
                       struct nest_bound *out);

/* The same of a family of the space, worked out once. NULL when memory is out. */
const struct nest_bound *nest_bounds_of(const struct nest_bounds *bounds, int family);

/* Works out all of them. False when memory is out. */
bool nest_bounds_fill(const struct nest_bounds *bounds);

/* Least step time of any plan of the group's families: every layer with experts divided as suits it
 * best, and no traffic between them. 0 of several widths, or with overrides of times. False when
 * memory is out. */
bool nest_bound_group(const struct nest_bounds *bounds, const struct nest_group *group,
                      nest_ps *least);

/* Least step time of any plan of the family: M * max(total / most stages, largest) over its dp. */
nest_ps nest_bound_least(const struct nest_bounds *bounds, const struct nest_family *family,
                         const struct nest_bound *bound);

#endif
