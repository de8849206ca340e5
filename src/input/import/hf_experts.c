#include "input/import/hf.h"

#include <string.h>

static void refuse(struct nest_hf *hf, const struct nest_node *node, const char *hint,
                   const char *message)
{
    nest_job_fault_at(hf->job, node, hint, "%s", message);
    hf->faults++;
}

/* Shared experts, in units of one routed expert's width. */
static void read_shared(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    static const char *const width_keys =
        "shared_expert_intermediate_size shared_intermediate_size";
    s->shared_experts = nest_hf_int(
        hf, c, "n_shared_experts num_shared_experts num_shared_expert moe_num_shared_experts",
        (hf->family->traits & NEST_HF_SHARED) ? 1 : 0);
    const int64_t width = nest_hf_int(hf, c, width_keys, 0);
    if (width == 0) {
        return;
    }
    if (width % s->moe_ffn == 0) {
        s->shared_experts = width / s->moe_ffn;
    } else {
        s->shared_experts = 0;
        s->shared_ffn = width;
    }
}

/* Arctic: a dense MLP as wide as the trunk beside the experts of every layer. */
static void read_residual_mlp(struct nest_hf *hf)
{
    if (strcmp(hf->type, "arctic") == 0 &&
        nest_hf_flag(hf, hf->config, "parallel_attn_mlp_res use_residual", true)) {
        hf->spec.shared_ffn = hf->spec.hidden;
        nest_job_note(hf->job, "the dense MLP beside the experts is taken as a shared expert");
    }
}

/* Layers listed one by one as dense: they must be the first ones. */
static void read_dense_list(struct nest_hf *hf, const struct nest_node *list)
{
    int64_t expected = 0;
    for (const struct nest_node *item = list->first; item; item = item->next) {
        int64_t layer;
        if (!nest_text_int(item->text, &layer) || layer != expected++) {
            refuse(hf, item, "only the first layers can be dense, or one in moe_every",
                   "dense layers in the middle cannot be described");
            return;
        }
    }
    hf->spec.dense_layers = list->count;
}

/* One flag per layer: zeros first, then ones. */
static void read_flags(struct nest_hf *hf, const struct nest_node *list)
{
    bool moe = false;
    for (const struct nest_node *item = list->first; item; item = item->next) {
        int64_t flag;
        if (!nest_text_int(item->text, &flag) || flag > 1 || (moe && flag == 0)) {
            refuse(hf, item, "only the first layers can be dense, or one in moe_every",
                   "this pattern of dense and expert layers cannot be described");
            return;
        }
        moe = moe || flag == 1;
        hf->spec.dense_layers += flag == 0;
    }
}

static void read_pattern(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    static const char *const every_keys = "decoder_sparse_step moe_layer_freq moe_layer_interval "
                                          "interleave_moe_layer_step expert_layer_period "
                                          "moe_layer_frequency";
    const struct nest_node *every = nest_hf_get(c, every_keys);
    const struct nest_node *dense = nest_hf_get(c, "mlp_only_layers");
    s->moe_every = 1;
    s->dense_layers = nest_hf_int(hf, c, "first_k_dense_replace moe_layer_start_index", 0);
    if (every && every->kind == NEST_NODE_SEQUENCE) {
        s->dense_layers = 0;
        read_flags(hf, every);
    } else if (every) {
        s->moe_every = nest_hf_int(hf, c, every_keys, 1);
    }
    if (dense && dense->kind == NEST_NODE_SEQUENCE && dense->count > 0) {
        read_dense_list(hf, dense);
    }
    if (s->moe_every < 1 || s->dense_layers > s->layers) {
        refuse(hf, every ? every : c, "1 or more, and no more dense layers than layers",
               "the pattern of expert layers does not fit");
    }
    const int64_t offset = nest_hf_int(hf, c, "expert_layer_offset", s->moe_every - 1);
    if (offset != s->moe_every - 1) {
        nest_job_note(
            hf->job, "expert layers begin with layer %lld of every %lld; ours are the last of each",
            (long long)offset, (long long)s->moe_every);
    }
}

void nest_hf_read_experts(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    static const char *const count_keys =
        "n_routed_experts num_local_experts num_experts moe_num_experts ffn_config.moe_num_experts "
        "num_moe_experts";
    const int64_t experts = nest_hf_int(hf, c, count_keys, 0);
    if (experts < 2) {
        return;
    }
    s->experts = experts;
    s->top_k = nest_hf_int(hf, c,
                           "num_experts_per_tok num_experts_per_token experts_per_token moe_top_k "
                           "moe_topk moe_k ffn_config.moe_top_k num_selected_experts",
                           0);
    if (s->top_k < 1 || s->top_k > experts) {
        const struct nest_node *place = nest_hf_get(c, count_keys);
        refuse(hf, place ? place : c, "num_experts_per_tok, from 1 to the number of experts",
               "a mixture of experts that does not say how many a token uses");
        return;
    }
    const bool llama4 = (hf->family->traits & NEST_HF_SHARED) != 0;
    s->moe_ffn = llama4 ? nest_hf_int(hf, c, "intermediate_size", 8192)
                        : nest_hf_int(hf, c,
                                      "moe_intermediate_size expert_intermediate_size "
                                      "ffn_config.ffn_hidden_size",
                                      s->ffn);
    if (s->moe_ffn < 1) {
        refuse(hf, c, "1 or more", "the experts have no width");
        return;
    }
    read_shared(hf);
    read_residual_mlp(hf);
    read_pattern(hf);
    s->router_bias =
        (hf->family->traits & NEST_HF_ROUTER_BIAS) != 0 ||
                nest_hf_flag(hf, c, "use_routing_bias", false) || nest_hf_get(c, "topk_method")
            ? !nest_hf_get(c, "topk_method") || nest_hf_text(c, "topk_method", "")[0] == 'n'
            : false;
}
