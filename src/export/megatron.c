/* Megatron-LM: a shell script that starts pretrain_gpt.py with the plan's arguments. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "export/megatron_model.h"

/* Arguments are collected in lines of at most this many columns. */
enum { LINE = 96, ARGUMENT_MAX = 4096 };

struct script {
    const struct nest_problem *problem;
    const struct nest_plan *plan;
    struct nest_strbuf *out;
    size_t column;
};

/* Appends one argument with its value, on a new line where the current one is full. */
static void argument(struct script *script, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void argument(struct script *script, const char *format, ...)
{
    char text[ARGUMENT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const size_t length = strlen(text) + 1;
    if (script->column + length > LINE) {
        nest_strbuf_add(script->out, " \\\n ");
        script->column = 1;
    }
    nest_strbuf_printf(script->out, " %s", text);
    script->column += length;
}

/* Ends the line so that what follows starts its own. */
static void break_line(struct script *script)
{
    script->column = LINE;
}

static void add_pipeline(struct script *script)
{
    const struct nest_plan *plan = script->plan;
    const int64_t v = plan->strategy.virtual_stages;
    argument(script, "--pipeline-model-parallel-size %d", plan->stages);
    if (plan->stages == 1) {
        return;
    }
    if (nest_plan_even(script->problem, plan)) {
        if (v > 1) {
            argument(script, "--num-layers-per-virtual-pipeline-stage %" PRId64,
                     nest_range_blocks(script->problem, &plan->stage[0].layers[0]));
        }
        return;
    }
    struct nest_strbuf layout = NEST_STRBUF_INIT(ARGUMENT_MAX - 64);
    nest_megatron_layout(script->problem, plan, &layout);
    argument(script, "--pipeline-model-parallel-layout '%s'", nest_strbuf_text(&layout));
    nest_strbuf_free(&layout);
}

static void add_parallelism(struct script *script)
{
    const struct nest_strategy *s = &script->plan->strategy;
    argument(script, "--tensor-model-parallel-size %" PRId64, s->tp);
    if (s->sp && s->tp > 1) {
        argument(script, "--sequence-parallel");
    }
    add_pipeline(script);
    argument(script, "--context-parallel-size %" PRId64, s->cp);
    if (script->problem->model->spec->experts > 1) {
        argument(script, "--expert-model-parallel-size %" PRId64, s->ep);
        argument(script, "--expert-tensor-parallel-size %" PRId64, s->etp);
    }
    if (s->dp_in == 1 && s->dp_out > 1 && script->plan->stages > 1) {
        argument(script, "--use-tp-pp-dp-mapping");
    }
    break_line(script);
}

static void add_zero(struct script *script)
{
    const struct nest_strategy *s = &script->plan->strategy;
    const int64_t replicas = nest_strategy_dp(s) * s->cp;
    static const char *const strategy[] = {"no_shard", "optim", "optim_grads",
                                           "optim_grads_params"};
    if (s->zero == 0) {
        return;
    }
    if (s->zero == 1) {
        argument(script, "--use-distributed-optimizer");
    } else {
        argument(script, "--use-megatron-fsdp --data-parallel-sharding-strategy %s",
                 strategy[s->zero]);
        argument(script, "--ckpt-format fsdp_dtensor");
    }
    if (s->shard > 0 && s->shard < replicas) {
        argument(script, "--num-distributed-optimizer-instances %" PRId64, replicas / s->shard);
    }
    if (script->problem->overlap.dp > 0) {
        argument(script, "--overlap-grad-reduce");
        argument(script, "--overlap-param-gather");
    }
}

static void add_recompute(struct script *script)
{
    switch (script->plan->stage[0].recompute) {
    case NEST_RECOMPUTE_SELECTIVE:
        argument(script, "--recompute-granularity selective");
        break;
    case NEST_RECOMPUTE_FULL:
        argument(script, "--recompute-granularity full --recompute-method uniform "
                         "--recompute-num-layers 1");
        break;
    case NEST_RECOMPUTE_NONE:
    case NEST_RECOMPUTES:
        break;
    }
}

static void add_training(struct script *script)
{
    const struct nest_train_spec *train = &script->problem->train;
    const struct nest_model_spec *model = script->problem->model->spec;
    argument(script, "--micro-batch-size %" PRId64, script->plan->strategy.micro_batch);
    argument(script, "--global-batch-size %" PRId64, train->global_batch);
    argument(script, "--seq-length %" PRId64, model->seq);
    argument(script, "--max-position-embeddings %" PRId64, model->seq);
    static const char *const precision[NEST_PRECISIONS] = {
        [NEST_BF16] = "--bf16", [NEST_FP16] = "--fp16", [NEST_FP8] = "--bf16 --fp8-format hybrid"};
    if (precision[train->precision] != NULL) {
        argument(script, "%s", precision[train->precision]);
    }
    if (train->grad_bytes == 2) {
        argument(script, "--grad-reduce-in-bf16");
    }
    if (train->optimizer == NEST_SGD) {
        argument(script, "--optimizer sgd");
    }
    add_zero(script);
    add_recompute(script);
    break_line(script);
}

static void add_attention(struct script *script)
{
    const struct nest_model_spec *m = script->problem->model->spec;
    argument(script, "--num-attention-heads %" PRId64, m->heads);
    if (m->attention == NEST_ATTENTION_MLA) {
        argument(script, "--multi-latent-attention");
        if (m->q_lora_rank > 0) {
            argument(script, "--q-lora-rank %" PRId64, m->q_lora_rank);
        }
        argument(script, "--kv-lora-rank %" PRId64, m->kv_lora_rank);
        argument(script, "--qk-head-dim %" PRId64, m->qk_nope_dim);
        argument(script, "--qk-pos-emb-head-dim %" PRId64, m->qk_rope_dim);
        argument(script, "--v-head-dim %" PRId64, m->v_head_dim);
        return;
    }
    if (m->kv_heads < m->heads) {
        argument(script, "--group-query-attention");
        argument(script, "--num-query-groups %" PRId64, m->kv_heads);
    }
    if (m->head_dim * m->heads != m->hidden) {
        argument(script, "--kv-channels %" PRId64, m->head_dim);
    }
}

static void add_experts(struct script *script)
{
    const struct nest_model_spec *m = script->problem->model->spec;
    if (m->experts <= 1) {
        return;
    }
    argument(script, "--num-experts %" PRId64, m->experts);
    argument(script, "--moe-router-topk %" PRId64, m->top_k);
    argument(script, "--moe-ffn-hidden-size %" PRId64, m->moe_ffn > 0 ? m->moe_ffn : m->ffn);
    if (nest_model_shared_width(m) > 0) {
        argument(script, "--moe-shared-expert-intermediate-size %" PRId64,
                 nest_model_shared_width(m));
    }
    if (m->dense_layers > 0 || m->moe_every > 1) {
        struct nest_strbuf layers = NEST_STRBUF_INIT(ARGUMENT_MAX - 64);
        nest_megatron_moe_layers(script->problem->model, &layers);
        argument(script, "--moe-layer-freq '%s'", nest_strbuf_text(&layers));
        nest_strbuf_free(&layers);
    }
    if (m->capacity > 0) {
        argument(script, "--moe-expert-capacity-factor %g", m->capacity);
    }
    argument(script, "--moe-grouped-gemm --moe-token-dispatcher-type alltoall");
}

static void add_model(struct script *script)
{
    const struct nest_model_spec *m = script->problem->model->spec;
    argument(script, "--num-layers %" PRId64, m->layers);
    argument(script, "--hidden-size %" PRId64, m->hidden);
    argument(script, "--ffn-hidden-size %" PRId64, m->ffn);
    add_attention(script);
    if (m->mlp == NEST_MLP_SWIGLU) {
        argument(script, "--swiglu");
    }
    if (m->norm == NEST_NORM_RMS) {
        argument(script, "--normalization RMSNorm");
    }
    if (!m->bias) {
        argument(script, "--disable-bias-linear");
    }
    if (m->qkv_bias && !m->bias) {
        argument(script, "--add-qkv-bias");
    }
    static const char *const position[] = {[NEST_POSITION_ROPE] = "rope",
                                           [NEST_POSITION_LEARNED] = "learned_absolute",
                                           [NEST_POSITION_ALIBI] = "none"};
    argument(script, "--position-embedding-type %s", position[m->position]);
    if (!m->tied) {
        argument(script, "--untie-embeddings-and-output-weights");
    }
    argument(script, "--vocab-size %" PRId64, m->vocab);
    argument(script, "--make-vocab-size-divisible-by %" PRId64,
             script->problem->train.vocab_multiple);
    add_experts(script);
}

static void note_model(const struct nest_problem *problem, struct nest_notes *notes)
{
    const struct nest_model_spec *m = problem->model->spec;
    if (m->mlp == NEST_MLP_GEGLU || m->mlp == NEST_MLP_RELU) {
        nest_note(notes, "the %s activation has no argument of its own: set it in the model's code",
                  m->mlp == NEST_MLP_GEGLU ? "GeGLU" : "ReLU");
    }
    if (m->position == NEST_POSITION_ALIBI) {
        nest_note(notes, "ALiBi positions have no argument: exported without position embeddings");
    }
    if (m->attention == NEST_ATTENTION_WINDOW) {
        nest_note(notes, "the attention window of %" PRId64 " tokens is set in the model's code",
                  m->window);
    }
    if (!m->causal) {
        nest_note(notes, "the model is not causal: started with pretrain_bert.py");
    }
}

/* One connection per device lets TP and CP transfers run in order with the kernels, on Hopper and
 * older; sharded data parallelism must not have it. */
static void add_launch(const struct nest_export *in, const struct nest_plan *plan,
                       struct nest_strbuf *out)
{
    const struct nest_strategy *s = &plan->strategy;
    const int64_t node = nest_ranks_per_node(in->problem, plan);
    if (s->zero >= 2) {
        nest_strbuf_add(out, "unset CUDA_DEVICE_MAX_CONNECTIONS\n");
    } else if (s->tp > 1 || s->cp > 1) {
        nest_strbuf_add(out,
                        "export CUDA_DEVICE_MAX_CONNECTIONS=1  # not needed from Blackwell on\n");
    }
    nest_strbuf_printf(out, "torchrun --nproc-per-node %" PRId64 " --nnodes %" PRId64 " %s", node,
                       (plan->devices_used + node - 1) / node,
                       in->problem->model->spec->causal ? "pretrain_gpt.py" : "pretrain_bert.py");
}

enum nest_status nest_export_megatron(const struct nest_export *in, struct nest_strbuf *out,
                                      struct nest_notes *notes, struct nest_errors *errors)
{
    struct nest_plan plan = {0};
    struct nest_prediction prediction;
    const enum nest_status status =
        nest_lower(in, &nest_dialect_megatron, &plan, &prediction, notes, errors);
    if (status != NEST_OK) {
        return status;
    }
    if (in->problem->train.precision == NEST_FP32 && plan.stages > 1) {
        nest_errors_add(errors, (struct nest_mark){NULL, 0, 0}, "precision", "bf16, fp16 or fp8",
                        "Megatron-LM has no pipeline in fp32");
        return NEST_NO;
    }
    nest_megatron_notes(in->problem, &plan, notes);
    note_model(in->problem, notes);
    nest_strbuf_add(out, "#!/bin/sh\n");
    nest_export_preamble(in, &plan, &prediction, notes, "# ", out);
    nest_strbuf_add(out,
                    "# Add the data, tokenizer, optimizer schedule and checkpoint arguments.\n");
    add_launch(in, &plan, out);
    struct script script = {in->problem, &plan, out, LINE};
    add_parallelism(&script);
    add_training(&script);
    add_model(&script);
    nest_strbuf_add(out, " \\\n  \"$@\"\n");
    return out->failed ? NEST_NO_MEMORY : NEST_OK;
}
