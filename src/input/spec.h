/* The typed records that files become: device, cluster, model, scenario and plan specifications.
 *
 * Plain data in SI units (bytes, bytes/s, seconds, FLOP/s), filled by the loaders of this room
 * (load.h) and by Lua, read by every room below. All texts and arrays live in the arena given to
 * the loader. Nothing here knows a formula. The files' keys are listed in the README. */
#ifndef NEST_INPUT_SPEC_H
#define NEST_INPUT_SPEC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"

/* ---- Devices ---------------------------------------------------------------------------- */

enum nest_precision { NEST_BF16, NEST_FP16, NEST_FP8, NEST_FP32, NEST_PRECISIONS };

enum { NEST_CURVE_MAX = 24 };

/* y by x, x ascending; interpolated in log x by its readers, constant beyond the ends. */
struct nest_curve {
    int count;
    double x[NEST_CURVE_MAX];
    double y[NEST_CURVE_MAX];
};

struct nest_device_spec {
    const char *id;  /* file name without .yaml */
    const char *ref; /* shipped name or path; NULL for an inline mapping */
    const char *name;
    const char *source;
    double memory;                /* bytes, as the driver reports it */
    double memory_bandwidth;      /* bytes/s */
    double peak[NEST_PRECISIONS]; /* FLOP/s, dense; 0 = the device has no such mode */
    struct nest_curve gemm;       /* FLOP of one GEMM on one device → fraction of peak */
    struct nest_curve gemm_fp8;   /* the same in fp8; without points: as gemm, by duration */
    double attention;             /* fraction of peak that flash attention reaches */
    double memory_efficiency;     /* fraction of memory_bandwidth of memory-bound kernels */
    double network_efficiency;    /* fraction of a link's bandwidth a large transfer reaches */
    double scale_up_efficiency;   /* the same on the device's own links; 0 = as the network */
    double launch;                /* seconds per kernel */
    double collective_launch;     /* seconds before a collective sends its first byte */
    double reserve_base;          /* bytes outside the allocator: context, libraries, fragments */
    double reserve_per_group;     /* bytes for each kind of communicator group in use */
    double scale_up;              /* bytes/s per direction to devices of the node; 0 = not stated */
    double scale_out;             /* bytes/s per direction beyond it, as usually built */
    double scale_up_latency;      /* seconds per hop inside the node; 0 = not stated */
    bool scale_up_reduction;      /* the scale-up switch adds all-reduce operands itself */
};

/* ---- Clusters --------------------------------------------------------------------------- */

enum { NEST_MAX_LEVELS = 12 };

enum nest_level_kind {
    NEST_LEVEL_SWITCH,
    NEST_LEVEL_RING,
    NEST_LEVEL_TORUS, /* in a file only: becomes one ring level per dimension */
    NEST_LEVEL_MESH,
    NEST_LEVEL_FULLY_CONNECTED,
    NEST_LEVEL_RAIL
};

/* A run of `times` groups with `fanout` children each, in device order. What a group says holds for
 * all below it, unless a group further inside says otherwise. */
struct nest_group_run {
    int64_t fanout;
    int64_t times;
    const struct nest_device_spec *device; /* NULL: as around it */
    double bandwidth; /* bytes/s per device across this level; 0: as the level's */
    double uplink;    /* at most so much across every level further out; 0: no limit */
};

struct nest_level_spec {
    const char *name;
    struct nest_mark mark;
    int64_t fanout; /* children per group; 0 where groups are given */
    int groups;
    const struct nest_group_run *group; /* irregular level: runs in device order */
    double bandwidth;        /* bytes/s per device and direction, before oversubscription */
    double latency;          /* seconds across this level, whole */
    double oversubscription; /* >= 1, cumulative from the device */
    enum nest_level_kind kind;
};

/* A knob that a cluster's script declares: settable like a key, as PATH cluster.NAME. */
struct nest_param_spec {
    const char *name;
    enum nest_unit unit;
    bool whole; /* a count */
    double value, low, high;
};

struct nest_cluster_spec;

/* What a cluster's script is run for. */
struct nest_build_request {
    const char *path;
    int params; /* values that replace the script's defaults, by name */
    const struct nest_param_spec *param;
    const atomic_bool *cancel; /* polled while it runs; may be NULL */
};

/* Builds a cluster from a Lua file. The room that knows Lua provides it, main installs it. Adds
 * faults, one that says so when it was cancelled; the result lives in arena, except that its knobs'
 * script stays where it is. */
typedef enum nest_status nest_cluster_builder(void *context,
                                              const struct nest_build_request *request,
                                              struct nest_arena *arena,
                                              struct nest_cluster_spec *out,
                                              struct nest_errors *errors);

enum { NEST_CLUSTER_NOTES = 32 };

struct nest_cluster_spec {
    const char *id;  /* file name without extension, or the name for an inline mapping */
    const char *ref; /* what names it in a scenario: shipped name or path; NULL for a mapping */
    const char *name;
    const char *source;
    const struct nest_device_spec *device;
    int levels;
    struct nest_level_spec level[NEST_MAX_LEVELS]; /* innermost first; tori already expanded */
    int params;
    struct nest_param_spec *param; /* of a cluster in Lua, in the order of their declaration */
    const char *down; /* what is out of order, "node 13, device 4..7" (down.h); NULL or "none" */
    nest_cluster_builder *build; /* builds it again when a knob is set; NULL: not built */
    void *build_context;
    const char *build_path;
    const atomic_bool *cancel; /* of building it again; whoever edits lends it, may be NULL */
    int notes;
    const char *note[NEST_CLUSTER_NOTES]; /* what levels made from a graph cannot say */
};

/* ---- Models ----------------------------------------------------------------------------- */

enum nest_mlp { NEST_MLP_SWIGLU, NEST_MLP_GEGLU, NEST_MLP_GELU, NEST_MLP_RELU };
enum nest_norm { NEST_NORM_RMS, NEST_NORM_LAYER };
enum nest_position { NEST_POSITION_ROPE, NEST_POSITION_LEARNED, NEST_POSITION_ALIBI };
enum nest_attention { NEST_ATTENTION_FULL, NEST_ATTENTION_MLA, NEST_ATTENTION_WINDOW };

/* Measured times of one layer at one tp width. */
struct nest_profile_entry {
    int64_t tp;
    double fw, bw;           /* seconds per microbatch of the profile's micro batch */
    double weight_bytes;     /* per device, 2 bytes a parameter */
    double activation_bytes; /* per device and microbatch */
    double boundary_bytes;   /* to the next layer, per device and microbatch */
};

/* A run of `times` layers that were measured alike. */
struct nest_profile_layer {
    const char *name;
    int64_t times;
    int entries;
    const struct nest_profile_entry *entry; /* one per tp width, ascending */
};

/* An activation that flows between two layers, by their numbers as they are listed (an entry with
 * `times: N` is N layers in a row, whose inner edges are not stated). */
struct nest_edge_spec {
    int from, to;
};

/* An image tower beside the text trunk: patches through layers of their own, then a projection to
 * the trunk's width. layers = 0: none. */
struct nest_vision_spec {
    int64_t layers, hidden, ffn, heads;
    int64_t tokens;     /* per sequence */
    int64_t patch;      /* side of a patch, in pixels of three values */
    int64_t projection; /* matrices between tower and trunk: 1, or 2 with a width between them */
    int64_t projection_hidden; /* … this one; 0 = the trunk's */
    int64_t projectors;        /* such projections, of several layers' outputs; 0 = 1 */
    int64_t resampler;         /* weights of attention between tower and projection; 0 = none */
    int64_t merge;             /* neighbouring tokens that are projected as one; 0 = 1 */
    bool gated;                /* MLP with a gate */
};

/* State-space layers (Mamba) in place of attention in most blocks. state = 0: none. */
struct nest_mamba_spec {
    int64_t state, conv, inner, rank; /* N, convolution width, expanded width, rank of the step */
    int64_t attention_every;          /* one block in so many keeps attention … */
    int64_t attention_first;          /* … the first of them is this one, from 0 */
};

/* Measured times of layers of a transformer at one tp width, which stand for the computed ones. */
enum nest_measured_part { NEST_MEASURED_EMBEDDING, NEST_MEASURED_BLOCKS, NEST_MEASURED_HEAD };

struct nest_measured_time {
    int64_t tp;
    int64_t micro_batch; /* sequences of the microbatch that was measured */
    double fw, bw;       /* seconds of the layer's own operators on one device, no collectives */
};

struct nest_measured {
    enum nest_measured_part part;
    int64_t first, last; /* blocks from 1, inclusive; both 0 = every block not listed by number */
    int64_t seq;         /* tokens of a sequence */
    struct nest_measured_time time;
    int line; /* of the file */
};

/* What a model's layers are made of; measured times hold only while it stays the same. */
struct nest_measured_shape {
    int64_t size[16];
};

struct nest_model_spec {
    const char *id;  /* file name without .yaml, or the name of an inline mapping */
    const char *ref; /* what names it in a scenario: shipped name or path; NULL for a mapping */
    const char *name;
    const char *source;
    int64_t layers, hidden, ffn, heads, kv_heads, head_dim, vocab, seq;
    enum nest_mlp mlp;
    enum nest_norm norm;
    enum nest_position position;
    enum nest_attention attention;
    /* Whether the file says so; else kv_heads = heads, head_dim = hidden / heads, moe_ffn = ffn
     * follow whatever is edited. */
    bool kv_heads_given, head_dim_given, moe_ffn_given;
    bool bias;     /* of the linear layers */
    bool qkv_bias; /* of the query, key and value projections alone */
    bool qk_norm;  /* a norm on every query and key head, with weights of head_dim */
    bool tied;
    bool causal;
    int64_t window;
    /* Where a window holds in some layers only: one block in full_every sees the whole sequence,
     * the first of them is full_first, from 0. full_every = 0: the window holds in all. */
    int64_t full_every, full_first;
    int64_t embed_dim; /* width of the vocabulary's table, projected to hidden; 0 = hidden */
    int64_t q_lora_rank, kv_lora_rank, qk_nope_dim, qk_rope_dim, v_head_dim; /* MLA */
    int64_t experts, top_k, moe_ffn, shared_experts, dense_layers, moe_every;
    int64_t shared_ffn; /* width of all shared experts; 0 = shared_experts * moe_ffn */
    bool router_bias;   /* a bias per routed expert that balances load without a loss */
    double capacity;    /* expert capacity factor; 0 = dropless */
    /* The first of the layers are an encoder, which sees every token; the others attend to its
     * output too. 0 = no encoder. */
    int64_t encoder_layers;
    struct nest_vision_spec vision;
    struct nest_mamba_spec mamba;
    double params_published, params_active_published; /* 0 = not stated */
    int profile_layers; /* measured layers instead of a transformer's shape; 0 = none */
    const struct nest_profile_layer *profile;
    bool graph; /* the measured layers are a graph of these edges; else a chain */
    struct nest_mark graph_mark;
    int edges;
    const struct nest_edge_spec *edge; /* as stated */
    bool profile_collectives_included; /* fw/bw already contain TP and EP collectives */
    const char *measured_ref; /* file of measured times of a transformer's layers, or NULL */
    bool measured_own;        /* the model's file names it, not the scenario */
    int measurements;
    const struct nest_measured *measured;
    struct nest_measured_shape measured_shape; /* the model's when they were read */
};

/* ---- Scenarios -------------------------------------------------------------------------- */

enum nest_framework { NEST_MEGATRON, NEST_DEEPSPEED, NEST_TORCHTITAN };
enum nest_optimizer { NEST_ADAM, NEST_SGD, NEST_ADAM8BIT };

struct nest_train_spec {
    int64_t global_batch; /* sequences per optimizer step */
    enum nest_precision precision;
    enum nest_optimizer optimizer;
    int64_t grad_bytes;     /* per parameter; accumulated and reduced in this width */
    int64_t weight_bytes;   /* per parameter, as stored and gathered; 0 = as the precision has it */
    bool flash;             /* flash attention: scores are never stored */
    bool fused_loss;        /* cross entropy in place: no fp32 copies beside the softmax */
    int64_t vocab_multiple; /* the vocabulary is padded to a multiple of this times tp */
    double imbalance;       /* most loaded expert's tokens / mean, >= 1 */
    enum nest_framework framework;
};

/* Fractions 0…1 of a communication that may hide; DESIGN: exposed = t - knob * min(t, hide). */
struct nest_overlap_spec {
    double dp, zero, tp, cp, ep;
    double pp; /* for virtual_stages > 1 only; 0 otherwise */
};

/* A restriction of one choice to some ranges; count 0 = free. */
enum { NEST_PIN_MAX = 16 };
struct nest_range {
    int64_t low, high; /* inclusive */
};
struct nest_pin {
    int count;
    struct nest_range range[NEST_PIN_MAX];
    struct nest_mark mark;
};

enum nest_recompute {
    NEST_RECOMPUTE_NONE,
    NEST_RECOMPUTE_SELECTIVE,
    NEST_RECOMPUTE_FULL,
    NEST_RECOMPUTES
};

/* Numeric pins share one array so that a view or a parser can walk them. SP is 0/1, RECOMPUTE an
 * enum nest_recompute, DP_IN and DP_OUT come from "order". */
enum nest_pin_key {
    NEST_PIN_TP,
    NEST_PIN_PP,
    NEST_PIN_DP,
    NEST_PIN_CP,
    NEST_PIN_EP,
    NEST_PIN_ETP,
    NEST_PIN_SP,
    NEST_PIN_ZERO,
    NEST_PIN_SHARD,
    NEST_PIN_MICRO_BATCH,
    NEST_PIN_VIRTUAL_STAGES,
    NEST_PIN_RECOMPUTE,
    NEST_PINS
};

/* "order": fastest axis first. MEGATRON is tp-cp-dp-pp (dp_out = 1), NEST tp-cp-pp-dp (dp_in = 1).
 */
enum nest_order_kind { NEST_ORDER_FREE, NEST_ORDER_MEGATRON, NEST_ORDER_NEST, NEST_ORDER_SPLIT };
struct nest_order_pin {
    enum nest_order_kind kind;
    int64_t dp_in, dp_out; /* NEST_ORDER_SPLIT */
    struct nest_mark mark;
};

struct nest_pins_spec {
    struct nest_pin pin[NEST_PINS];
    struct nest_order_pin order;
};

struct nest_limits_spec {
    double memory;   /* bytes per device; 0 = the device's capacity */
    int64_t devices; /* use at most so many; 0 = all */
    int64_t span;    /* devices from one copy of the pipeline to the next; 0 = any */
    bool packed;     /* no idle devices between the stages of a copy */
};

/* PATH = VALUE as the user wrote it; applied in order by input/set.h. */
struct nest_edit_spec {
    const char *path;
    const char *value;
    struct nest_mark mark;
};

/* A Lua file with cost overrides. */
struct nest_script_spec {
    const char
        *path; /* found beside the scenario, in the working folder or among what is shipped */
    struct nest_mark mark;
};

struct nest_scenario_spec {
    const char *name;
    struct nest_model_spec model;
    struct nest_cluster_spec cluster;
    struct nest_device_spec
        device; /* a copy, so that edits touch no shipped record; cluster.device points here */
    struct nest_train_spec train;
    bool precision_given; /* else fp16 on a device without bf16 */
    struct nest_limits_spec limits;
    struct nest_overlap_spec overlap;
    bool overlap_given[6]; /* dp, zero, tp, cp, ep, pp: set by hand, else the framework's default */
    struct nest_pins_spec pins;
    bool allow_stage_zero, allow_stage_tp, allow_ragged_batch;
    int edits;
    const struct nest_edit_spec *edit;
    int scripts;
    const struct nest_script_spec *script;
};

/* ---- Plans (input of nest eval --plan) -------------------------------------------------- */

struct nest_plan_stage_spec {
    int ranges;
    const struct nest_range *layers; /* inclusive, embedding 0, blocks 1…L, head L+1 */
    enum nest_recompute recompute;
    int zero;             /* -1 = the plan's */
    int64_t tp;           /* 0 = the plan's */
    int64_t first_device; /* within span 0 (o = 0, r = 0, q = 0); -1 = packed */
    struct nest_mark mark;
};

struct nest_plan_spec {
    int64_t tp, pp, dp, cp, ep, etp, micro_batch, virtual_stages, shard, span; /* 0 = default */
    int64_t microbatches; /* as written, 0 = not; it follows from the global batch */
    struct nest_mark microbatches_mark;
    bool sp;
    int zero;
    struct nest_order_pin order;
    int kinds;
    const char *const *kind; /* of a mixed cluster: the devices it uses; none = all */
    struct nest_mark kinds_mark;
    int stages;
    const struct nest_plan_stage_spec *stage;
};

#endif
