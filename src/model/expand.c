#include "model/model.h"

#include <string.h>

#include "model/operators.h"

enum { KIND_EMBEDDING, KIND_DENSE, KIND_MOE, KIND_HEAD, TRANSFORMER_KINDS };

static bool is_expert(const struct nest_op *op)
{
    return op->split == NEST_SPLIT_EXPERT_N || op->split == NEST_SPLIT_EXPERT_K;
}

static double op_flops(const struct nest_op *op)
{
    if (op->kind == NEST_OP_GEMM) {
        return 2.0 * (double)op->n * (double)op->k * (double)op->rows;
    }
    if (op->kind == NEST_OP_ATTENTION) {
        return 2.0 * (double)op->context * (double)op->n * (double)(op->k + op->v_dim);
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
    count_kind(list->spec, kind);
    return NEST_OK;
}

static enum nest_status add_block(const struct nest_model_spec *spec, bool moe,
                                  struct nest_arena *arena, struct nest_layer_kind *kind)
{
    struct nest_op_list list = {.spec = spec};
    nest_ops_attention(&list);
    if (moe) {
        nest_ops_experts(&list);
    } else {
        nest_ops_mlp(&list);
    }
    *kind = (struct nest_layer_kind){
        .role = NEST_LAYER_BLOCK,
        .name = moe ? "MoE block" : "block",
        .moe = moe,
        .gated = nest_gated(spec),
        .experts = moe ? spec->experts : 0,
        .top_k = moe ? spec->top_k : 0,
        .kv_columns = nest_kv_columns(spec),
        .kv_heads = spec->attention == NEST_ATTENTION_MLA ? spec->heads : spec->kv_heads,
        .has_shared_expert = moe && spec->shared_experts > 0,
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
        .tied_params = head && spec->tied ? spec->vocab * spec->hidden : 0,
    };
    return store_kind(&list, arena, kind);
}

static bool block_is_moe(const struct nest_model_spec *spec, int64_t block)
{
    const int64_t every = spec->moe_every > 0 ? spec->moe_every : 1;
    return spec->experts > 0 && block >= spec->dense_layers && (block + 1) % every == 0;
}

static int kind_at(const struct nest_model_spec *spec, int layer)
{
    if (layer == 0) {
        return KIND_EMBEDDING;
    }
    if (layer == spec->layers + 1) {
        return KIND_HEAD;
    }
    return block_is_moe(spec, layer - 1) ? KIND_MOE : KIND_DENSE;
}

/* Fills kind_of and runs from out->layers and a function of the layer's number. */
static enum nest_status find_runs(struct nest_model *out, struct nest_arena *arena,
                                  int (*kind)(const struct nest_model_spec *, int))
{
    int *kind_of = NEST_NEW(arena, int, out->layers);
    out->run = NEST_NEW(arena, struct nest_run, out->layers);
    if (kind_of == NULL || out->run == NULL) {
        return NEST_NO_MEMORY;
    }
    for (int i = 0; i < out->layers; i++) {
        kind_of[i] = kind(out->spec, i);
        if (i == 0 || kind_of[i] != kind_of[i - 1]) {
            out->run[out->runs++] = (struct nest_run){.kind = kind_of[i], .first = i};
        }
        out->run[out->runs - 1].count++;
    }
    out->kind_of = kind_of;
    return NEST_OK;
}

static void sum_model(struct nest_model *out)
{
    double flops = 0.0;
    for (int r = 0; r < out->runs; r++) {
        const struct nest_layer_kind *kind = &out->kind[out->run[r].kind];
        const int64_t count = out->run[r].count;
        out->params += count * (kind->dense_params + kind->expert_params);
        out->active_params += count * kind->active_params;
        flops += (double)count * kind->flops_per_token;
    }
    out->flops_per_sequence = 3.0 * flops * (double)out->spec->seq;
}

static enum nest_status expand_transformer(const struct nest_model_spec *spec,
                                           struct nest_arena *arena, struct nest_model *out)
{
    out->layers = (int)spec->layers + 2;
    out->kinds = TRANSFORMER_KINDS;
    out->kind = NEST_NEW(arena, struct nest_layer_kind, TRANSFORMER_KINDS);
    if (out->kind == NULL || add_end(spec, false, arena, &out->kind[KIND_EMBEDDING]) != NEST_OK ||
        add_block(spec, false, arena, &out->kind[KIND_DENSE]) != NEST_OK ||
        add_end(spec, true, arena, &out->kind[KIND_HEAD]) != NEST_OK) {
        return NEST_NO_MEMORY;
    }
    if (spec->experts > 0 && add_block(spec, true, arena, &out->kind[KIND_MOE]) != NEST_OK) {
        return NEST_NO_MEMORY;
    }
    out->tied = spec->tied;
    return find_runs(out, arena, kind_at);
}

static int measured_at(const struct nest_model_spec *spec, int layer)
{
    int64_t end = 0;
    for (int i = 0; i < spec->profile_layers; i++) {
        end += spec->profile[i].times;
        if (layer < end) {
            return i;
        }
    }
    return spec->profile_layers - 1;
}

static enum nest_status expand_profile(const struct nest_model_spec *spec, struct nest_arena *arena,
                                       struct nest_model *out)
{
    out->kinds = spec->profile_layers;
    out->kind = NEST_NEW(arena, struct nest_layer_kind, spec->profile_layers);
    if (out->kind == NULL) {
        return NEST_NO_MEMORY;
    }
    for (int i = 0; i < spec->profile_layers; i++) {
        const struct nest_profile_layer *layer = &spec->profile[i];
        const double bytes = layer->entry[0].weight_bytes * (double)layer->entry[0].tp;
        const int64_t params = (int64_t)(bytes / 2.0 + 0.5);
        out->kind[i] = (struct nest_layer_kind){
            .role = NEST_LAYER_PROFILED,
            .name = layer->name,
            .dense_params = params,
            .active_params = params,
            .flops_per_token = 2.0 * (double)params,
            .profile = layer,
        };
        out->layers += (int)layer->times;
    }
    return find_runs(out, arena, measured_at);
}

enum nest_status nest_model_expand(const struct nest_model_spec *spec, struct nest_arena *arena,
                                   struct nest_model *out, struct nest_errors *errors)
{
    (void)errors;
    *out = (struct nest_model){.spec = spec};
    const enum nest_status status = spec->profile_layers > 0 ? expand_profile(spec, arena, out)
                                                             : expand_transformer(spec, arena, out);
    if (status == NEST_OK) {
        sum_model(out);
    }
    return status;
}
