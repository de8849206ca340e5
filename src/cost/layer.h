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
    int64_t resident, waiting, entering; /* bytes of a memory override: struct nest_layer_memory */
    int64_t working; /* bytes live while this layer runs; a stage needs its largest */
    int64_t
        gathered;   /* bytes of gathered weights or unsharded gradients while it runs (ZeRO 2, 3) */
    int64_t logits; /* bytes of logits and loss; only the head */
    int64_t dense_sync;  /* dense parameters per device before ZeRO sharding (count) */
    int64_t expert_sync; /* expert parameters per device before ZeRO sharding (count) */
    int64_t optimized;   /* parameters updated on this device after ZeRO sharding (count) */
    bool endless;        /* fw + bw are longer than can be added up: what they say is less */
};

/* No layer of a model may take longer, in ps, or need more bytes of one kind, so that no sum over
 * all of them leaves int64: NEST_PS_MAX / 2 and NEST_BYTES_MAX over the number of layers. */
#define NEST_BYTES_MAX ((int64_t)1 << 60)
nest_ps nest_layer_longest(const struct nest_model *model);

/* Whole bytes of one layer; saturates as said above. */
int64_t nest_layer_bytes(const struct nest_model *model, double bytes);

/* What so many microbatches keep; saturates at NEST_BYTES_MAX. */
static inline int64_t nest_bytes_times(int64_t count, int64_t each)
{
    int64_t bytes;
    return __builtin_mul_overflow(count, each, &bytes) || bytes > NEST_BYTES_MAX ? NEST_BYTES_MAX
                                                                                 : bytes;
}

/* What a layer does on one device, before any network: depends on the model, the device, the train
 * settings and the strategy's tp, cp, ep, etp, sp and micro_batch alone, so that a search can keep
 * it while zero, dp and the placement vary. Seconds and bytes per microbatch. */
struct nest_layer_work {
    const struct nest_layer_kind *kind;
    double fw, bw;                  /* the layer's own operators; bw without recompute */
    double attention_fw;            /* of fw: core attention, under which the ring may hide */
    double attention_bw;            /* of bw */
    double gemm_fw, gemm_bw;        /* of fw and bw: GEMMs divided by tp */
    double shared_fw, shared_bw;    /* of fw and bw: the shared expert */
    double redone[NEST_RECOMPUTES]; /* forward done again in the backward pass */
    double kept[NEST_RECOMPUTES];   /* activation bytes from forward to backward */
    double live[NEST_RECOMPUTES];   /* bytes that exist only while the layer runs */
    double logits;                  /* bytes of logits and loss */
    int64_t dense, expert;          /* parameters on this device, vocabulary padded */
    double tokens;                  /* of one microbatch and cp rank */
    double tp_bytes;                /* one activation [tokens, hidden], 2 bytes an element */
    int gathers_fw, gathers_bw;     /* all-gathers over tp of tp_bytes (with sp only) */
    int hidden_gathers;             /* more of them in bw, under GEMMs: inputs gathered again */
    int reduces_fw, reduces_bw;     /* reduce-scatters over tp with sp, else all-reduces */
    int moe_gathers;                /* tp without sp: all-gathers that rebuild an MoE output */
    double loss_bytes;              /* vocabulary-parallel loss: two all-reduces, forward */
    double ring_bytes;              /* keys and values of one cp rank */
    double dispatch_bytes;          /* one member's send buffer of the expert all-to-all */
    bool attention_redone;          /* in selective mode: the ring turns again */
};

/* The entry of the widest measured tp that is not larger than tp; the first if all are. */
const struct nest_profile_entry *nest_profile_entry_at(const struct nest_profile_layer *layer,
                                                       int64_t tp);

/* Pure. Profiled layers take the entry of the nearest measured tp width that is not larger. */
void nest_layer_work(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                     const struct nest_strategy *strategy, struct nest_layer_work *out);

/* What so many parameters on a device need under the strategy's ZeRO stage: sets the weights,
 * gradients, optimizer, gathered and once-per-step fields of out alone. Pure. */
void nest_layer_state(const struct nest_problem *problem, int64_t dense_params,
                      int64_t expert_params, const struct nest_strategy *strategy,
                      struct nest_layer_cost *out);

/* The bytes that the work keeps, wherever it is: what nest_layer_price says of memory, and of times
 * nothing. Pure. */
void nest_layer_memory(const struct nest_problem *problem, const struct nest_layer_work *work,
                       const struct nest_strategy *strategy, enum nest_recompute recompute,
                       struct nest_layer_cost *out);

/* Prices the work at a place: adds every communication, the ZeRO stage and the recompute mode.
 * Pure. */
void nest_layer_price(const struct nest_problem *problem, const struct nest_layer_work *work,
                      const struct nest_strategy *strategy, const struct nest_placement *placement,
                      enum nest_recompute recompute, struct nest_layer_cost *out);

/* The same by every recompute mode, sooner than one after the other. Pure. */
void nest_layer_price_modes(const struct nest_problem *problem, const struct nest_layer_work *work,
                            const struct nest_strategy *strategy,
                            const struct nest_placement *placement,
                            struct nest_layer_cost out[NEST_RECOMPUTES]);

/* Work and price in one. The embedding and the head know nothing of tying: see nest_cost_table. */
void nest_layer_cost(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                     const struct nest_strategy *strategy, const struct nest_placement *placement,
                     enum nest_recompute recompute, struct nest_layer_cost *out);

/* What a device keeps outside its layers. */
void nest_reserve_of(const struct nest_problem *problem, const struct nest_strategy *strategy,
                     struct nest_reserve *out);

/* Bytes per parameter that the training setting keeps, before sharding. */
struct nest_state_bytes {
    int64_t weight;   /* stored */
    int64_t gathered; /* sent by an all-gather, and live while gathered */
    int64_t gradient;
    int64_t optimizer; /* master copy and moments */
};
struct nest_state_bytes nest_state_bytes(const struct nest_train_spec *train);

/* Bytes an update moves per parameter: gradient read, master and moments read and written, weight
 * written; the norm of the gradient reads it once more. */
double nest_update_bytes(const struct nest_train_spec *train);

/* Devices over which the state of dense (or expert) parameters is divided under ZeRO. */
int64_t nest_dense_shard(const struct nest_strategy *strategy);
int64_t nest_expert_shard(const struct nest_strategy *strategy);

/* Members of the expert data-parallel group: tp*cp*dp / (ep*etp). */
int64_t nest_expert_copies(const struct nest_strategy *strategy);

/* Bytes of one boundary tensor per rank, one direction: 2*b*(S/cp)*h, divided by tp with sp.
 * kind: of the layer that sends (an image tower's tensors have a size of their own). */
int64_t nest_boundary_bytes(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                            const struct nest_strategy *strategy);

#endif
