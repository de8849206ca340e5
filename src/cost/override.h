/* What replaces parts of the cost model: functions asked when tables are built, never in the
 * recurrence.
 *
 * Each is told what the default says and answers what holds: finite and not negative, always the
 * same for the same arguments. They are called from any thread of a solve. NULL: the default.
 *
 * The last two answer with weights instead of a figure, so that a composition is a sum (or the
 * largest of sums) with weights that are not negative: it grows with each of its parts, which is
 * what the recurrence's dominance and the search's bounds rest on. */
#ifndef NEST_COST_OVERRIDE_H
#define NEST_COST_OVERRIDE_H

#include "base/error.h"
#include "cost/network.h"
#include "model/model.h"

struct nest_strategy;

/* One tensor between neighbouring stages, or the two copies of a tied embedding. */
struct nest_message {
    int level;
    int64_t block; /* devices that send at once, side by side */
    double bytes;
    bool backward; /* the gradient, towards the first stage; else the activation */
    const struct nest_layer_kind *before, *after; /* the layers at the cut; NULL: tied copies */
};

/* Bytes of one layer on one device, by what they add up to on its stage. The first seven are the
 * terms of struct nest_layer_cost; the others are 0 by default and count as activations. */
struct nest_layer_memory {
    int64_t weights, gradients, optimizer, logits;
    int64_t activations; /* for every microbatch in flight */
    int64_t working;     /* while the layer runs; a stage needs its largest */
    int64_t gathered;    /* as working */
    int64_t resident;    /* once, whatever the microbatches */
    int64_t waiting;     /* for every microbatch in flight but the one at work */
    int64_t entering;    /* as waiting, of a stage's first layer only */
};

/* Bytes of a device outside its layers. */
struct nest_reserve {
    int64_t base;     /* context, libraries, groups in use */
    int64_t pipeline; /* more where the stage has a neighbour */
    int64_t buffers;  /* communication buffers */
};

/* How a stage's load follows from its parts: the largest of some weighted sums. No rows: all parts
 * with weight 1, and with virtual stages the transfers that hide taken off. */
enum { NEST_LOAD_ROWS = 4 };
struct nest_load_row {
    double forward, backward; /* the backward without what recomputation repeats */
    double recompute;
    double in, out; /* the boundary tensors */
};
struct nest_load_rule {
    int rows;
    struct nest_load_row row[NEST_LOAD_ROWS];
};

/* How the step time follows from the parts of plan/step.h. Not given: the default formula. */
struct nest_step_rule {
    bool given;
    bool refused; /* this number of stages, replicas and microbatches is not to be */
    double bottleneck, fill, tail, tied; /* weights of b, f, max(0, e) and the tied embedding */
    double constant;                     /* seconds */
    double sync, update;                 /* weights of a stage's traffic and update in its tail */
    bool first_tail;                     /* only the first stage's tail counts */
};

/* The functions below, in their order. */
enum nest_hook {
    NEST_HOOK_COMPUTE,
    NEST_HOOK_COLLECTIVE,
    NEST_HOOK_TRANSFER,
    NEST_HOOK_MEMORY,
    NEST_HOOK_RESERVE,
    NEST_HOOK_LOAD,
    NEST_HOOK_STEP,
    NEST_HOOKS
};

/* "compute", "collective"… as scripts name them. */
const char *nest_hook_name(enum nest_hook hook);

struct nest_overrides {
    void *context;
    /* 0, or levels of a cluster relaxed for bounds: there a communicator may really meet at any
     * level from comm->top on, and by default really takes the time or longer. */
    int relaxed;
    /* NEST_OK, or what is wrong with a function that could not answer, from when on the defaults
     * hold; its fault is added to errors (may be NULL). */
    enum nest_status (*fault)(void *context, struct nest_errors *errors);
    /* Seconds of one layer's own operators, per microbatch. */
    void (*compute)(void *context, const struct nest_layer_kind *kind,
                    const struct nest_strategy *strategy, double *fw, double *bw);
    /* Seconds; for otherwise equal arguments not less where the default says more. */
    double (*collective)(void *context, enum nest_collective kind, const struct nest_comm *comm,
                         double bytes, double seconds);
    double (*transfer)(void *context, const struct nest_message *message, double seconds);
    void (*memory)(void *context, const struct nest_layer_kind *kind,
                   const struct nest_strategy *strategy, enum nest_recompute recompute,
                   struct nest_layer_memory *bytes);
    /* The strategy's order is not looked at. */
    void (*reserve)(void *context, const struct nest_strategy *strategy,
                    struct nest_reserve *bytes);
    /* Of the strategy only tp, cp, ep, etp, sp and the microbatch are looked at. */
    void (*load)(void *context, const struct nest_strategy *strategy, enum nest_recompute recompute,
                 bool first, bool last, struct nest_load_rule *rule);
    /* Of the strategy only dp and v are looked at. */
    void (*step)(void *context, const struct nest_strategy *strategy, int stages,
                 int64_t microbatches, struct nest_step_rule *rule);
};

/* True where the hook is there; overrides may be NULL. */
bool nest_override_has(const struct nest_overrides *overrides, enum nest_hook hook);

/* Takes the hook away. */
void nest_override_drop(struct nest_overrides *overrides, enum nest_hook hook);

#endif
