/* The layer graph: what is trained, before any choice of parallelism.
 *
 * A transformer's shape (input/spec.h) is expanded into a few layer KINDS (embedding, dense block,
 * MoE block, head…) and RUNS of equal layers. A kind is a short list of operators, written down
 * once here; the cost room turns operators into seconds and bytes for a strategy. Layers are
 * numbered embedding 0, blocks 1…L, head (with the final norm) L+1; the T layers of an image tower,
 * a branch beside the embedding, are 1…T and push the blocks back. Those of a stated graph in its
 * canonical order (input/layer_graph.h), so that every edge ascends. */
#ifndef NEST_MODEL_MODEL_H
#define NEST_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/spec.h"
#include "model/cuts.h"

enum nest_layer_role {
    NEST_LAYER_EMBEDDING,
    NEST_LAYER_BLOCK,
    NEST_LAYER_HEAD,
    NEST_LAYER_PROFILED,
    NEST_LAYER_TOWER /* ends of an image tower: its patches, its projection to the trunk */
};

/* What an operator is; decides which roofline prices it. */
enum nest_op_kind {
    NEST_OP_GEMM,        /* tokens x k times k x n */
    NEST_OP_ATTENTION,   /* scores, softmax and weighted sum over the sequence */
    NEST_OP_ELEMENTWISE, /* memory-bound: norms, activations, residuals, rotary, permutation, loss
                          */
    NEST_OP_LOOKUP       /* embedding rows */
};

/* How tensor and expert parallelism divide an operator's work, its weights and what it saves. */
enum nest_split {
    NEST_SPLIT_NONE,     /* every tp rank does all of it */
    NEST_SPLIT_SEQUENCE, /* rows divided by tp, only under sequence parallelism (norms, residuals)
                          */
    NEST_SPLIT_ROWS,     /* rows divided by tp always (router, token permutation) */
    NEST_SPLIT_TP_N,     /* column parallel: n / tp; kv_n of the columns by min(tp, kv_heads) */
    NEST_SPLIT_TP_HEADS, /* work by heads / tp; weights replicated */
    NEST_SPLIT_TP_K,     /* row parallel: k / tp */
    NEST_SPLIT_EXPERT_N, /* experts over ep, each column parallel over etp */
    NEST_SPLIT_EXPERT_K  /* experts over ep, each row parallel over etp */
};

/* One operator of a layer, forward. Sizes are per row of the whole (undivided) layer; a row is a
 * token, or one of the `rows` copies of a token that the router sends to experts.
 * The backward of a GEMM is two GEMMs of the same FLOP. */
struct nest_op {
    const char *name;
    enum nest_op_kind kind;
    enum nest_split split;
    int64_t n, k;    /* GEMM: columns out, columns in; ATTENTION: heads, head width (qk) */
    int64_t kv_n;    /* GEMM: of n, the key and value columns; never cut below one head */
    int64_t v_dim;   /* ATTENTION: head width of the values */
    int64_t context; /* ATTENTION: keys that one query sees at most (sequence or window) */
    double rows;     /* rows per token: 1, top_k for routed experts, less for an image's patches */
    bool whole;      /* ATTENTION: no causal mask, whatever the model's trunk has */
    int64_t weights; /* parameters, undivided, all experts; 0 where shared with another layer */
    double traffic;  /* ELEMENTWISE, LOOKUP: elements read and written per row, forward */
    double saved;    /* elements kept per row for the backward pass */
    double saved_bytes;   /* bytes per such element (2, or 1 for masks) */
    double saved_unfused; /* elements more where the framework runs the activation unfused */
    double saved_fp8;     /* bytes more per row where the next GEMM keeps its input in 8 bits */
    bool vocabulary;      /* n counts words: padded to a multiple of tp when priced */
    bool wide;            /* GEMM: stays in 16 bits where the others are in 8 */
    bool shared_expert;   /* part of the shared expert, under which the all-to-all may hide */
};

/* A kind of layer. It hands on a tensor of [rows * tokens, width]. */
struct nest_layer_kind {
    enum nest_layer_role role;
    const char *name;
    double rows;   /* per token of the trunk; 1 but for an image tower */
    int64_t width; /* hidden, but for an image tower */
    bool moe;
    bool gated;      /* MLP with a gate: its first GEMM has two columns per feature */
    int64_t experts; /* routed; 0 for a dense layer */
    int64_t top_k;
    int64_t kv_columns; /* key and value elements per token, undivided: what a ring passes on */
    int64_t kv_heads;   /* the number of heads they are cut into */
    bool has_shared_expert;
    bool dropout; /* GPT-style block with dropout masks (1 byte per element) */
    int ops;
    const struct nest_op *op;
    int64_t dense_params;   /* divided by tp or replicated; see nest_op.split for which */
    int64_t expert_params;  /* all routed experts */
    int64_t active_params;  /* used by one token */
    double flops_per_token; /* forward model FLOP, attention over the full square */
    int64_t tied_params;    /* head: weights that it shares with the embedding, unpadded */
    const struct nest_profile_layer *profile; /* NEST_LAYER_PROFILED: measured instead of ops */
    int times; /* measured in place of what the operators take; 0 = at no tp width */
    const struct nest_measured_time *time; /* [times] by tp, then micro_batch */
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
    const int *kind_of;           /* [layers] */
    const struct nest_cuts *cuts; /* of a graph that branches; NULL: cut i is the first i layers */
    int edges;                    /* 0: a chain */
    const struct nest_edge_spec *edge;    /* by `from`, then `to` */
    const struct nest_crossing *crossing; /* NULL: the tensor of the layer in front alone */
    int lead, trail;           /* layers in front of the blocks of the trunk, and behind them */
    bool tied;                 /* head shares the embedding's weights */
    int64_t params;            /* total, vocabulary not padded */
    int64_t active_params;     /* used by one token */
    double flops_per_sequence; /* model FLOP, forward + backward, no recompute, full square, head
                                  counted */
};

/* Columns of the MLP that every token of a MoE block passes beside its experts; 0 = none. */
int64_t nest_model_shared_width(const struct nest_model_spec *spec);

/* Expands spec. The result lives in arena and borrows spec. Adds errors located at the spec's
 * fields when shapes do not fit together (head_dim * heads and so on are checked by the loader
 * already). */
enum nest_status nest_model_expand(const struct nest_model_spec *spec, struct nest_arena *arena,
                                   struct nest_model *out, struct nest_errors *errors);

#endif
