/* What the stages of a pipeline have room for: lower bounds of the step time of a partial strategy
 * that see time and memory together.
 *
 * A step takes M*b + (f - b)/v + max(0, e) (plan/step.h). The bounds use
 *
 *   f    is at least the sum of all layers' least times and of the links between stages;
 *   b    a stage holds no more bulk layers than fit within b and within its memory, by one
 *        recompute mode; all stages together must hold the bulk;
 *   e    is at least the first stage's sync, and that stage holds what the others have no room for:
 *        traffic is concave in the parameters, so n of N layers cause n/N of the bulk's at least,
 *        of which overlap * bw hides, and bw <= b - (forward of those layers). And the largest of
 *        all stages' tails is at least what it is when all are equal.
 *
 * More b makes room and hides more: the pipeline grows with b, and the tail falls. Between two
 * values of b a step is at least the pipeline of the smaller one and the tail of the larger. */
#ifndef NEST_SOLVE_ROOM_H
#define NEST_SOLVE_ROOM_H

#include "solve/bound.h"

/* What is known of a strategy and of where its groups lie. */
enum nest_knowledge {
    NEST_KNOWS_DP,       /* dp and the least state that any ZeRO stage keeps: no traffic counts */
    NEST_KNOWS_SHARDING, /* zero and shard group, not the order */
    NEST_KNOWS_ORDER     /* everything but the span */
};

/* What is measured of a room: the memory of the bulk, the memory of the layers at the ends, times.
 * Times that are not are the family's least; memory that is not is none. */
enum nest_measure {
    NEST_MEASURE_MEMORY = 1,
    NEST_MEASURE_ENDS = 2,
    NEST_MEASURE_TIME = 4,
    NEST_MEASURE_ALL = 7
};

/* Once dp and the sharding are chosen. */
struct nest_room {
    const struct nest_bound *bound;
    struct nest_strategy strategy; /* as far as it is known */
    enum nest_knowledge knowledge;
    int pp;            /* with NEST_KNOWS_ORDER */
    unsigned measured; /* of enum nest_measure */
    int modes;
    int64_t microbatches;
    nest_ps total, largest, front, back;    /* as in nest_bound */
    nest_ps first, last;                    /* of the layers at the ends, outside the bulk */
    nest_ps bulk_total, bulk_largest;       /* of the bulk's layers, each by its cheapest mode */
    struct nest_mean time[NEST_RECOMPUTES]; /* of these */
    struct nest_mean forward;               /* of these: the forward passes */
    nest_ps link[NEST_MAX_LEVELS];          /* transfers between neighbours: nest_bounds_links */
    struct nest_mean state;                 /* bytes of these, whatever the microbatches */
    struct nest_mean activations[NEST_RECOMPUTES]; /* bytes per microbatch in flight */
    int64_t memory[NEST_RECOMPUTES];               /* bytes for both on one device */
    int64_t first_state, last_state; /* bytes of the layers at the ends, outside the bulk */
    int64_t last_peak;               /* bytes live while the last one runs */
    int64_t limit;                   /* bytes of a device that are not reserved */
    nest_ps traffic;                 /* once per step, of all the bulk's parameters */
    double
        unsent; /* layers by which the parameters of some in a row may fall short of their share */
    /* Of a mixed cluster once the selection is known: so many stages at most lie on its fastest
     * kind of device alone; a bulk layer of any other takes at least `slow`. */
    bool mixed;
    int64_t fast_stages;
    nest_ps slow[NEST_RECOMPUTES];
};

/* A room of which nothing is measured. strategy: dp_in * dp_out is dp; zero and shard are those
 * whose state is to be kept. pp is used for NEST_KNOWS_ORDER alone. */
void nest_room_begin(const struct nest_bounds *bounds, const struct nest_family *family,
                     const struct nest_bound *bound, const struct nest_strategy *strategy,
                     enum nest_knowledge knowledge, int pp, struct nest_room *out);

/* Measures what of it is not yet, where it can be: of several widths nothing is. */
void nest_room_measure(const struct nest_bounds *bounds, unsigned parts, struct nest_room *room);

/* The least communicators of the room's strategy, and its times with them: what measuring the time
 * consists of. */
void nest_room_place(const struct nest_bounds *bounds, const struct nest_room *room,
                     struct nest_placement *out);
void nest_room_measure_time(const struct nest_bounds *bounds,
                            const struct nest_placement *placement, struct nest_room *room);

/* The times of `like`, whose strategy differs in the order alone and whose least communicators are
 * the same. */
void nest_room_retime(const struct nest_bounds *bounds, const struct nest_room *like,
                      struct nest_room *room);

/* The same with communicators placed as they will be; the least of several places. Real costs. */
void nest_room_measure_placed(const struct nest_bounds *bounds, const struct nest_family *family,
                              const struct nest_bound *bound, const struct nest_strategy *strategy,
                              int places, const struct nest_placement *placement,
                              struct nest_room *out);

/* False if no plan can hold the bulk where a device may fill so many bytes more than its limit. */
bool nest_room_holds(const struct nest_room *room, const struct nest_grid *grid, int64_t more);

/* Least step time of pp stages of v chunks. Even: with an even split. Sharp: b is found to a
 * thousandth, and the tail counts. Both are NEST_PS_MAX where memory does not suffice at all; a
 * value beyond limit may be any such value. */
nest_ps nest_room_even(const struct nest_bounds *bounds, const struct nest_room *room,
                       const struct nest_grid *grid, nest_ps limit);
nest_ps nest_room_sharp(const struct nest_bounds *bounds, const struct nest_room *room,
                        const struct nest_grid *grid, nest_ps limit);

#endif
