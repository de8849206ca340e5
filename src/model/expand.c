#include "model/model.h"

#include <string.h>

#include "model/branches.h"
#include "model/measured.h"
#include "model/operators.h"

/* What stands in attention's place in a block. */
enum mixer { MIX_ATTENTION, MIX_WINDOW, MIX_ENCODER, MIX_DECODER, MIX_MAMBA, MIXERS };

enum { TOWER_KINDS = 3, TRANSFORMER_KINDS = 2 + 2 * MIXERS + TOWER_KINDS };

static bool is_expert(const struct nest_op *op)
{
    return op->split == NEST_SPLIT_EXPERT_N || op->split == NEST_SPLIT_EXPERT_K;
}

static double op_flops(const struct nest_op *op)
{
    if (op->kind == NEST_OP_GEMM) {
        return 2.0 * (double)op->n * (double)op->k * op->rows;
    }
    if (op->kind == NEST_OP_ATTENTION) {
        return 2.0 * (double)op->context * (double)op->n * (double)(op->k + op->v_dim) * op->rows;
    }
    return 0.0;
}

static void count_kind(const struct nest_model_spec *spec, struct nest_layer_kind *kind)
{
    for (int i = 0; i < kind->ops; i++) {
        const struct nest_op *op = &kind->op[i];
        if (is_expert(op)) {
            kind->expert_params += op->weights;
            kind->active_params += op->weights / spec->experts * spec->top_k;
        } else {
            kind->dense_params += op->weights;
            kind->active_params += op->weights;
        }
        kind->flops_per_token += op_flops(op);
    }
}

static enum nest_status store_kind(const struct nest_op_list *list, struct nest_arena *arena,
                                   struct nest_layer_kind *kind)
{
    struct nest_op *op = NEST_NEW(arena, struct nest_op, list->count);
    if (op == NULL) {
        return NEST_NO_MEMORY;
    }
    memcpy(op, list->op, (size_t)list->count * sizeof *op);
    kind->ops = list->count;
    kind->op = op;
    kind->rows = kind->rows > 0.0 ? kind->rows : 1.0;
    kind->width = kind->width > 0 ? kind->width : list->spec->hidden;
    count_kind(list->spec, kind);
    return NEST_OK;
}

static void add_mixer(struct nest_op_list *list, enum mixer mixer)
{
    if (mixer == MIX_MAMBA) {
        nest_ops_mamba(list);
        return;
    }
    const bool narrow = mixer == MIX_WINDOW || list->spec->full_every == 0;
    nest_ops_attention(list, mixer == MIX_ENCODER, narrow ? list->spec->window : 0);
    if (mixer == MIX_DECODER) {
        nest_ops_cross_attention(list);
    }
}

static const char *block_name(enum mixer mixer, bool moe)
{
    static const char *const name[MIXERS][2] = {{"block", "MoE block"},
                                                {"window block", "MoE window block"},
                                                {"encoder block", "MoE encoder block"},
                                                {"decoder block", "MoE decoder block"},
                                                {"Mamba block", "Mamba MoE block"}};
    return name[mixer][moe];
}

static enum nest_status add_block(const struct nest_model_spec *spec, enum mixer mixer, bool moe,
                                  struct nest_arena *arena, struct nest_layer_kind *kind)
{
    struct nest_op_list list = {.spec = spec};
    const bool attends = mixer != MIX_MAMBA;
    const int64_t heads = spec->attention == NEST_ATTENTION_MLA ? spec->heads : spec->kv_heads;
    add_mixer(&list, mixer);
    if (moe) {
        nest_ops_experts(&list);
    } else {
        nest_ops_mlp(&list);
    }
    *kind = (struct nest_layer_kind){
        .role = NEST_LAYER_BLOCK,
        .name = block_name(mixer, moe),
        .moe = moe,
        .gated = nest_gated(spec),
        .experts = moe ? spec->experts : 0,
        .top_k = moe ? spec->top_k : 0,
        .kv_columns = attends ? nest_kv_columns(spec) : 0,
        .kv_heads = attends ? heads : 1,
        .has_shared_expert = moe && nest_model_shared_width(spec) > 0,
        .dropout = nest_has_dropout(spec),
    };
    return store_kind(&list, arena, kind);
}

static enum nest_status add_end(const struct nest_model_spec *spec, bool head,
                                struct nest_arena *arena, struct nest_layer_kind *kind)
{
    struct nest_op_list list = {.spec = spec};
    if (head) {
        nest_ops_head(&list);
    } else {
        nest_ops_embedding(&list);
    }
    *kind = (struct nest_layer_kind){
        .role = head ? NEST_LAYER_HEAD : NEST_LAYER_EMBEDDING,
        .name = head ? "head" : "embedding",
        .tied_params = head && spec->tied ? spec->vocab * nest_embed_columns(spec) : 0,
    };
    return store_kind(&list, arena, kind);
}

static bool block_is_moe(const struct nest_model_spec *spec, int64_t block)
{
    const int64_t every = spec->moe_every > 0 ? spec->moe_every : 1;
    return spec->experts > 0 && block >= spec->dense_layers && (block + 1) % every == 0;
}

static enum mixer mixer_at(const struct nest_model_spec *spec, int64_t block)
{
    const struct nest_mamba_spec *mamba = &spec->mamba;
    if (spec->encoder_layers > 0) {
        return block < spec->encoder_layers ? MIX_ENCODER : MIX_DECODER;
    }
    if (spec->full_every > 0 && block % spec->full_every != spec->full_first) {
        return MIX_WINDOW;
    }
    const int64_t every = mamba->attention_every > 0 ? mamba->attention_every : INT64_MAX;
    return mamba->state > 0 && block % every != mamba->attention_first ? MIX_MAMBA : MIX_ATTENTION;
}

/* Stores kind_of and its runs. */
static enum nest_status set_runs(struct nest_model *out, struct nest_arena *arena,
                                 const int *kind_of)
{
    out->run = NEST_NEW(arena, struct nest_run, out->layers);
    if (out->run == NULL) {
        return NEST_NO_MEMORY;
    }
    for (int i = 0; i < out->layers; i++) {
        if (i == 0 || kind_of[i] != kind_of[i - 1]) {
            out->run[out->runs++] = (struct nest_run){.kind = kind_of[i], .first = i};
        }
        out->run[out->runs - 1].count++;
    }
    out->kind_of = kind_of;
    return NEST_OK;
}

/* So many that the bytes of their optimizer states are far from leaving int64. */
static const double PARAMS_MOST = 1e15;

static enum nest_status sum_model(struct nest_model *out, struct nest_errors *errors)
{
    double flops = 0.0;
    double params = 0.0;
    for (int r = 0; r < out->runs; r++) {
        const struct nest_layer_kind *kind = &out->kind[out->run[r].kind];
        params +=
            (double)out->run[r].count * ((double)kind->dense_params + (double)kind->expert_params);
    }
    if (params > PARAMS_MOST) {
        nest_errors_add(errors, (struct nest_mark){0}, "model", "expected at most 1e15 parameters",
                        "the model has %.3g parameters", params);
        return NEST_BAD_INPUT;
    }
    for (int r = 0; r < out->runs; r++) {
        const struct nest_layer_kind *kind = &out->kind[out->run[r].kind];
        const int64_t count = out->run[r].count;
        out->params += count * (kind->dense_params + kind->expert_params);
        out->active_params += count * kind->active_params;
        flops += (double)count * kind->flops_per_token;
    }
    out->flops_per_sequence = 3.0 * flops * (double)out->spec->seq;
    return NEST_OK;
}

/* An image tower: patches, blocks, projection. */
static enum nest_status add_tower(const struct nest_model_spec *spec, struct nest_arena *arena,
                                  struct nest_model *out, int *kind_of)
{
    static const char *const name[TOWER_KINDS] = {"image patches", "image block",
                                                  "image projection"};
    static void (*const fill[TOWER_KINDS])(struct nest_op_list *) = {
        nest_ops_patches, nest_ops_image_block, nest_ops_image_projection};
    const struct nest_vision_spec *v = &spec->vision;
    const int last = 1 + (int)v->layers + 1;
    for (int i = 0; i < TOWER_KINDS; i++) {
        struct nest_op_list list = {.spec = spec};
        struct nest_layer_kind kind = {
            .role = i == 1 ? NEST_LAYER_BLOCK : NEST_LAYER_TOWER,
            .name = name[i],
            .rows = i == 2 ? nest_merged_rows(spec) : nest_image_rows(spec),
            .width = i == 2 ? spec->hidden : v->hidden,
            .gated = v->gated,
            .kv_columns = i == 1 ? 2 * v->hidden : 0,
            .kv_heads = v->heads,
        };
        fill[i](&list);
        if (store_kind(&list, arena, &kind) != NEST_OK) {
            return NEST_NO_MEMORY;
        }
        out->kind[out->kinds++] = kind;
    }
    for (int i = 1; i <= last; i++) {
        kind_of[i] = i == 1 ? out->kinds - 3 : i == last ? out->kinds - 1 : out->kinds - 2;
    }
    return NEST_OK;
}

static enum nest_status add_blocks(const struct nest_model_spec *spec, struct nest_arena *arena,
                                   struct nest_model *out, int *kind_of)
{
    int index[MIXERS][2] = {{0}};
    for (int64_t block = 0; block < spec->layers; block++) {
        const enum mixer mixer = mixer_at(spec, block);
        const bool moe = block_is_moe(spec, block);
        if (index[mixer][moe] == 0) {
            index[mixer][moe] = out->kinds;
            if (add_block(spec, mixer, moe, arena, &out->kind[out->kinds++]) != NEST_OK) {
                return NEST_NO_MEMORY;
            }
        }
        kind_of[out->lead + block] = index[mixer][moe];
    }
    return NEST_OK;
}

/* Kinds are made as they first occur: the embedding 0, a tower's, then blocks, the head last. */
static enum nest_status expand_transformer(const struct nest_model_spec *spec,
                                           struct nest_arena *arena, struct nest_model *out,
                                           struct nest_errors *errors)
{
    const bool tower = spec->vision.layers > 0;
    out->lead = tower ? 1 + (int)spec->vision.layers + 2 : 1;
    out->trail = 1;
    out->layers = out->lead + (int)spec->layers + out->trail;
    out->kind = NEST_NEW(arena, struct nest_layer_kind, TRANSFORMER_KINDS);
    int *kind_of = NEST_NEW(arena, int, out->layers);
    if (out->kind == NULL || kind_of == NULL ||
        add_end(spec, false, arena, &out->kind[out->kinds++]) != NEST_OK ||
        (tower && add_tower(spec, arena, out, kind_of) != NEST_OK) ||
        add_blocks(spec, arena, out, kind_of) != NEST_OK) {
        return NEST_NO_MEMORY;
    }
    kind_of[out->layers - 1] = out->kinds;
    if (add_end(spec, true, arena, &out->kind[out->kinds++]) != NEST_OK) {
        return NEST_NO_MEMORY;
    }
    out->tied = spec->tied;
    enum nest_status status = nest_measured_attach(out, kind_of, arena);
    if (status == NEST_OK) {
        status = set_runs(out, arena, kind_of);
    }
    return status == NEST_OK && (tower || spec->encoder_layers > 0)
               ? nest_model_branch_towers(out, arena, errors)
               : status;
}

static struct nest_layer_kind measured_kind(const struct nest_profile_layer *layer)
{
    const double bytes = layer->entry[0].weight_bytes * (double)layer->entry[0].tp;
    const int64_t params = (int64_t)(bytes / 2.0 + 0.5);
    return (struct nest_layer_kind){
        .role = NEST_LAYER_PROFILED,
        .name = layer->name,
        .dense_params = params,
        .active_params = params,
        .flops_per_token = 2.0 * (double)params,
        .profile = layer,
    };
}

/* The kinds of measured layers in the order of the file. */
static int *list_measured(const struct nest_model_spec *spec, struct nest_arena *arena,
                          struct nest_model *out)
{
    out->kinds = spec->profile_layers;
    out->kind = NEST_NEW(arena, struct nest_layer_kind, spec->profile_layers);
    for (int i = 0; out->kind != NULL && i < spec->profile_layers; i++) {
        out->kind[i] = measured_kind(&spec->profile[i]);
        out->layers += (int)spec->profile[i].times;
    }
    int *kind_of = out->kind != NULL ? NEST_NEW(arena, int, out->layers) : NULL;
    int layer = 0;
    for (int i = 0; kind_of != NULL && i < spec->profile_layers; i++) {
        for (int64_t j = 0; j < spec->profile[i].times; j++) {
            kind_of[layer++] = i;
        }
    }
    return kind_of;
}

static enum nest_status expand_profile(const struct nest_model_spec *spec, struct nest_arena *arena,
                                       struct nest_model *out)
{
    const int *kind_of = list_measured(spec, arena, out);
    return kind_of != NULL ? set_runs(out, arena, kind_of) : NEST_NO_MEMORY;
}

static enum nest_status expand_graph(const struct nest_model_spec *spec, struct nest_arena *arena,
                                     struct nest_model *out, struct nest_errors *errors)
{
    const struct nest_edge_spec *edge = NULL;
    int edges = 0;
    const int *listed = list_measured(spec, arena, out);
    const int *order = listed != NULL ? nest_graph_order(spec, arena, &edge, &edges) : NULL;
    int *kind_of = NEST_NEW(arena, int, out->layers);
    if (order == NULL || kind_of == NULL) {
        return NEST_NO_MEMORY;
    }
    for (int i = 0; i < out->layers; i++) {
        kind_of[i] = listed[order[i]];
    }
    const enum nest_status status = set_runs(out, arena, kind_of);
    return status == NEST_OK ? nest_model_branch(out, edge, edges, spec->graph_mark, arena, errors)
                             : status;
}

enum nest_status nest_model_expand(const struct nest_model_spec *spec, struct nest_arena *arena,
                                   struct nest_model *out, struct nest_errors *errors)
{
    *out = (struct nest_model){.spec = spec};
    const enum nest_status status = spec->graph ? expand_graph(spec, arena, out, errors)
                                    : spec->profile_layers > 0
                                        ? expand_profile(spec, arena, out)
                                        : expand_transformer(spec, arena, out, errors);
    return status == NEST_OK ? sum_model(out, errors) : status;
}
