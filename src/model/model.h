/* The layer graph: what is trained, before any choice of parallelism.
 *
 * A transformer's shape (input/spec.h) is expanded into a few layer KINDS (embedding, dense block,
 * MoE block, head…) and RUNS of equal layers. A kind is a short list of operators, written down
 * once here; the cost room turns operators into seconds and bytes for a strategy. Layers are
 * numbered embedding 0, blocks 1…L, head (with the final norm) L+1. */
#ifndef NEST_MODEL_MODEL_H
#define NEST_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/spec.h"

enum nest_layer_role {
    NEST_LAYER_EMBEDDING,
    NEST_LAYER_BLOCK,
    NEST_LAYER_HEAD,
    NEST_LAYER_PROFILED
};

/* What an operator is; decides which roofline prices it. */
enum nest_op_kind {
    NEST_OP_GEMM,        /* tokens x k times k x n */
    NEST_OP_ATTENTION,   /* scores, softmax and weighted sum over the sequence */
    NEST_OP_ELEMENTWISE, /* memory-bound: norms, activations, residuals, rotary, permutation, loss
                          */
    NEST_OP_LOOKUP       /* embedding rows */
};

/* How tensor parallelism divides an operator's work and its weights. */
enum nest_split {
    NEST_SPLIT_NONE,     /* every tp rank does all of it */
    NEST_SPLIT_SEQUENCE, /* divided by tp only under sequence parallelism (norms, residuals) */
    NEST_SPLIT_TP_N,     /* column parallel: n / tp */
    NEST_SPLIT_TP_K,     /* row parallel: k / tp */
    NEST_SPLIT_EXPERT_N, /* experts over ep, each column parallel over etp */
    NEST_SPLIT_EXPERT_K, /* experts over ep, each row parallel over etp */
    NEST_SPLIT_TP_KV     /* key/value heads: n / min(tp, kv_heads) */
};

/* One operator of a layer, forward. Sizes are per token of the whole (undivided) layer.
 * The backward of a GEMM is two GEMMs of the same FLOP. */
struct nest_op {
    const char *name;
    enum nest_op_kind kind;
    enum nest_split split;
    int64_t n, k;        /* GEMM: columns out, columns in; ATTENTION: heads, head width (qk) */
    int64_t v_dim;       /* ATTENTION: head width of the values */
    int64_t weights;     /* parameters, undivided, all experts */
    double traffic;      /* ELEMENTWISE: elements read and written per token, forward */
    double saved;        /* elements kept per token for the backward pass */
    double saved_bytes;  /* bytes per such element (2, or 1 for masks) */
    bool core_attention; /* redone, and its saved elements dropped, by selective recompute */
};

/* A kind of layer. The tensors between layers are [tokens, hidden]. */
struct nest_layer_kind {
    enum nest_layer_role role;
    const char *name;
    bool moe;
    int ops;
    const struct nest_op *op;
    int64_t dense_params;  /* divided by tp or replicated; see nest_op.split for which */
    int64_t expert_params; /* all routed experts */
    int64_t active_params; /* used by one token */
    const struct nest_profile_layer *profile; /* NEST_LAYER_PROFILED: measured instead of ops */
};

struct nest_run {
    int kind;  /* index into nest_model.kind */
    int first; /* number of its first layer */
    int count;
};

struct nest_model {
    const struct nest_model_spec *spec; /* borrowed */
    int layers;                         /* all of them: blocks + 2 for a transformer */
    int kinds;
    struct nest_layer_kind *kind;
    int runs;
    struct nest_run *run;
    const int *kind_of;        /* [layers] */
    bool tied;                 /* head shares the embedding's weights */
    int64_t params;            /* total, vocabulary not padded */
    int64_t active_params;     /* used by one token */
    double flops_per_sequence; /* model FLOP, forward + backward, no recompute, full square, head
                                  counted */
};

/* Expands spec. The result lives in arena and borrows spec. Adds errors located at the spec's
 * fields when shapes do not fit together (head_dim * heads and so on are checked by the loader
 * already). */
enum nest_status nest_model_expand(const struct nest_model_spec *spec, struct nest_arena *arena,
                                   struct nest_model *out, struct nest_errors *errors);

#endif
