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

/* Of a flow mapping. */
static void put_inside(struct nest_hf *hf, const char *key, int64_t value)
{
    if (value > 0) {
        nest_strbuf_printf(hf->job->out, ", %s: %lld", key, (long long)value);
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
        put_some(hf, "full_every", s->full_every);
        put_some(hf, "full_first", s->full_first);
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
    put_some(hf, "shared_ffn", s->shared_ffn);
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
                           "tokens: %lld, patch: %lld, projection: %lld",
                           (long long)s->vision.layers, (long long)s->vision.hidden,
                           (long long)s->vision.ffn, (long long)s->vision.heads,
                           (long long)s->vision.tokens, (long long)s->vision.patch,
                           (long long)s->vision.projection);
        put_inside(hf, "projection_hidden", s->vision.projection_hidden);
        put_inside(hf, "projectors", s->vision.projectors);
        put_inside(hf, "resampler", s->vision.resampler);
        put_inside(hf, "merge", s->vision.merge);
        nest_strbuf_add(out, s->vision.gated ? ", gated: true}\n" : "}\n");
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
    put_some(hf, "embed_dim", s->embed_dim);
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
