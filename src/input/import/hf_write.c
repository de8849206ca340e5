#include <string.h>

#include "input/import/hf.h"
#include "input/records.h"

static void check_size(struct nest_hf *hf, const struct nest_field *field)
{
    if (field->type != NEST_FIELD_COUNT) {
        return;
    }
    const int64_t value = *(const int64_t *)((const char *)&hf->spec + field->offset);
    if (value != 0 && ((double)value < field->low || (double)value > field->high)) {
        nest_job_fault_at(hf->job, hf->config,
                          nest_arena_printf(hf->job->arena, "%g to %g", field->low, field->high),
                          "%s would be %lld", field->key, (long long)value);
        hf->faults++;
    }
}

/* The image tower: what its patches, layers and projection weigh, in our keys. */
void nest_hf_read_vision(struct nest_hf *hf)
{
    struct nest_vision_spec *v = &hf->spec.vision;
    const struct nest_node *c = nest_hf_get(hf->root, "vision_config");
    if (!c || c->kind != NEST_NODE_MAPPING) {
        return;
    }
    const char *type = nest_hf_text(c, "model_type", "clip_vision_model");
    v->layers = nest_hf_int(hf, c, "num_hidden_layers depth num_layers", 12);
    const bool merged = nest_hf_get(c, "depth") != NULL; /* Qwen-VL names its own width embed_dim */
    v->hidden =
        nest_hf_int(hf, c, merged ? "embed_dim hidden_size" : "hidden_size width embed_dim", 768);
    v->heads = nest_hf_int(hf, c, "num_attention_heads num_heads", 12);
    v->ffn =
        nest_hf_int(hf, c, "intermediate_size", nest_hf_int(hf, c, "mlp_ratio", 4) * v->hidden);
    const int64_t image = nest_hf_int(hf, c, "image_size", 224);
    v->patch = nest_hf_int(hf, c, "patch_size", 32);
    if (v->layers < 1 || v->hidden < 1 || v->heads < 1 || v->ffn < 1 || v->patch < 1 ||
        v->patch > image) {
        nest_job_fault_at(hf->job, c, "layers, widths and a patch size up to the image size",
                          "the image tower has a size of nothing");
        hf->faults++;
        return;
    }
    v->tokens = image / v->patch * (image / v->patch) + 1;
    v->gated = strcmp(type, "pixtral") == 0 || strcmp(type, "qwen2_5_vl") == 0;
    v->projection = strcmp(nest_hf_text(hf->root, "model_type", ""), "llava") == 0 ? 2 : 1;
    nest_job_note(hf->job,
                  "the image tower (%s) is priced with the embedding, one image of %lld tokens per "
                  "sequence",
                  type, (long long)v->tokens);
}

/* Sizes that our own loader would refuse. */
void nest_hf_check_sizes(struct nest_hf *hf)
{
    for (const struct nest_field *field = nest_model_fields; field->key; field++) {
        if (field->type == NEST_FIELD_TABLE) {
            for (const struct nest_field *inner = field->table; inner->key; inner++) {
                check_size(hf, inner);
            }
        }
        check_size(hf, field);
    }
}

/* ---- Printing ------------------------------------------------------------------------------ */

static void put(struct nest_hf *hf, const char *key, int64_t value)
{
    nest_strbuf_printf(hf->job->out, "%s: %lld\n", key, (long long)value);
}

static void put_some(struct nest_hf *hf, const char *key, int64_t value)
{
    if (value > 0) {
        put(hf, key, value);
    }
}

static void put_flag(struct nest_hf *hf, const char *key, bool value)
{
    if (value) {
        nest_strbuf_printf(hf->job->out, "%s: true\n", key);
    }
}

static void put_attention(struct nest_hf *hf)
{
    const struct nest_model_spec *s = &hf->spec;
    put(hf, "heads", s->heads);
    if (s->attention == NEST_ATTENTION_MLA) {
        nest_strbuf_add(hf->job->out, "attention: mla\n");
        put_some(hf, "q_lora_rank", s->q_lora_rank);
        put(hf, "kv_lora_rank", s->kv_lora_rank);
        put(hf, "qk_nope_dim", s->qk_nope_dim);
        put(hf, "qk_rope_dim", s->qk_rope_dim);
        put(hf, "v_head_dim", s->v_head_dim);
        return;
    }
    if (s->kv_heads != s->heads) {
        put(hf, "kv_heads", s->kv_heads);
    }
    if (s->head_dim * s->heads != s->hidden) {
        put(hf, "head_dim", s->head_dim);
    }
    if (s->attention == NEST_ATTENTION_WINDOW) {
        nest_strbuf_add(hf->job->out, "attention: window\n");
        put(hf, "window", s->window);
    }
}

static void put_experts(struct nest_hf *hf)
{
    const struct nest_model_spec *s = &hf->spec;
    if (s->experts == 0) {
        return;
    }
    put(hf, "experts", s->experts);
    put(hf, "top_k", s->top_k);
    put(hf, "moe_ffn", s->moe_ffn);
    put_some(hf, "shared_experts", s->shared_experts);
    put_some(hf, "dense_layers", s->dense_layers);
    if (s->moe_every > 1) {
        put(hf, "moe_every", s->moe_every);
    }
    put_flag(hf, "router_bias", s->router_bias);
}

static void put_parts(struct nest_hf *hf)
{
    const struct nest_model_spec *s = &hf->spec;
    struct nest_strbuf *out = hf->job->out;
    put_some(hf, "encoder_layers", s->encoder_layers);
    if (s->mamba.state > 0) {
        nest_strbuf_printf(out,
                           "mamba: {state: %lld, conv: %lld, inner: %lld, rank: %lld, "
                           "attention_every: %lld, attention_first: %lld}\n",
                           (long long)s->mamba.state, (long long)s->mamba.conv,
                           (long long)s->mamba.inner, (long long)s->mamba.rank,
                           (long long)s->mamba.attention_every,
                           (long long)s->mamba.attention_first);
    }
    if (s->vision.layers > 0) {
        nest_strbuf_printf(out,
                           "vision: {layers: %lld, hidden: %lld, ffn: %lld, heads: %lld, "
                           "tokens: %lld, patch: %lld, projection: %lld%s}\n",
                           (long long)s->vision.layers, (long long)s->vision.hidden,
                           (long long)s->vision.ffn, (long long)s->vision.heads,
                           (long long)s->vision.tokens, (long long)s->vision.patch,
                           (long long)s->vision.projection, s->vision.gated ? ", gated: true" : "");
    }
}

void nest_hf_write(struct nest_hf *hf)
{
    static const char *const mlp[] = {"swiglu", "geglu", "gelu", "relu"};
    static const char *const position[] = {"rope", "learned", "alibi"};
    const struct nest_model_spec *s = &hf->spec;
    struct nest_strbuf *out = hf->job->out;
    nest_strbuf_add(out, nest_strbuf_text(&hf->job->notes));
    nest_strbuf_add(out, "name: ");
    nest_yaml_text(s->name, out);
    nest_strbuf_add(out, "\nsource: ");
    nest_yaml_text(s->source, out);
    nest_strbuf_add(out, "\n");
    put(hf, "layers", s->layers);
    put(hf, "hidden", s->hidden);
    put(hf, "ffn", s->ffn);
    put_attention(hf);
    put(hf, "vocab", s->vocab);
    put(hf, "seq", s->seq);
    nest_strbuf_printf(out, "mlp: %s\n", mlp[s->mlp]);
    nest_strbuf_printf(out, "norm: %s\n", s->norm == NEST_NORM_LAYER ? "layer" : "rms");
    nest_strbuf_printf(out, "position: %s\n", position[s->position]);
    put_flag(hf, "bias", s->bias);
    put_flag(hf, "qkv_bias", s->qkv_bias);
    put_flag(hf, "qk_norm", s->qk_norm);
    put_flag(hf, "tied", s->tied);
    if (!s->causal) {
        nest_strbuf_add(out, "causal: false\n");
    }
    put_experts(hf);
    put_parts(hf);
}
