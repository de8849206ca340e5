/* One layer under one strategy at one place: seconds and bytes, per microbatch and device. */
#ifndef NEST_COST_LAYER_H
#define NEST_COST_LAYER_H

#include "cost/problem.h"
#include "cost/strategy.h"

/* All communication times are exposed times, after overlap. fw + bw is the layer's load. */
struct nest_layer_cost {
    nest_ps fw, bw;      /* bw contains the recomputed forward */
    nest_ps compute;     /* of fw + bw: the layer's own operators, launches included */
    nest_ps recompute;   /* of bw: forward done again */
    nest_ps tp, cp, ep;  /* of fw + bw */
    nest_ps zero;        /* of fw + bw: per-microbatch gathers and reductions of ZeRO 2 and 3 */
    int64_t weights;     /* bytes kept all the time */
    int64_t gradients;   /* bytes */
    int64_t optimizer;   /* bytes: master copy and moments */
    int64_t activations; /* bytes per microbatch in flight */
    int64_t working;     /* bytes live while this layer runs; a stage needs its largest */
    int64_t
        gathered;   /* bytes of gathered weights or unsharded gradients while it runs (ZeRO 2, 3) */
    int64_t logits; /* bytes of logits and loss; only the head */
    int64_t dense_sync;  /* dense parameters per device before ZeRO sharding (count) */
    int64_t expert_sync; /* expert parameters per device before ZeRO sharding (count) */
    int64_t optimized;   /* parameters updated on this device after ZeRO sharding (count) */
};

/* Cost of one layer of the kind. Pure. strategy->zero is honoured; recompute is the layer's mode.
 * The embedding and the head know nothing of tying: see nest_cost_table. */
void nest_layer_cost(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                     const struct nest_strategy *strategy, const struct nest_placement *placement,
                     enum nest_recompute recompute, struct nest_layer_cost *out);

/* Bytes of one boundary tensor per rank, one direction: 2*b*(S/cp)*h, divided by tp with sp.
 * layer: the one that sends (differs for profiles). */
int64_t nest_boundary_bytes(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                            const struct nest_strategy *strategy);

#endif
