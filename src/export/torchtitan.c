/* torchtitan: a Python function that returns Trainer.Config (current), or the TOML of 0.2.2. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "export/megatron_model.h"

static const struct nest_dialect torchtitan = {
    .name = "torchtitan",
    .interleaving = true,
    .sp_follows_tp = true,
    .shard_groups_from = 2,
    .zero_with_pipeline = 3,
    .microbatches_cover = true,
};

struct titan {
    const struct nest_export *in;
    struct nest_plan plan;
    struct nest_prediction prediction;
    int64_t replicate, shard; /* data_parallel_replicate_degree and …_shard_degree */
};

/* DDP replicates; FSDP shards over dp_shard * cp. */
static void set_degrees(struct titan *t)
{
    const struct nest_strategy *s = &t->plan.strategy;
    const int64_t dp = nest_strategy_dp(s);
    t->shard = s->zero == 0 ? 1 : s->shard % s->cp == 0 ? s->shard / s->cp : dp;
    t->replicate = dp / t->shard;
}

/* The split torchtitan makes by itself: (blocks + 2) / stages, the first stages one more, then the
 * first and the last stage give one block for embedding and head. */
static bool is_automatic(const struct titan *t)
{
    const struct nest_problem *problem = t->in->problem;
    const int64_t weights = problem->model->layers;
    const int64_t chunks = t->plan.stages * t->plan.strategy.virtual_stages;
    for (int64_t c = 0; c < chunks; c++) {
        const struct nest_plan_stage *stage = &t->plan.stage[c % t->plan.stages];
        const struct nest_range *range = &stage->layers[c / t->plan.stages];
        int64_t expected = weights / chunks + (c < weights % chunks ? 1 : 0);
        expected -= (c == 0 ? 1 : 0) + (c == chunks - 1 ? 1 : 0);
        if (nest_range_blocks(problem, range) != expected) {
            return false;
        }
    }
    return true;
}

/* [["tok_embeddings", "layers.0", …], …, ["layers.79", "norm", "lm_head"]], chunks in order. */
static void add_modules(const struct titan *t, const char *head, const char *indent,
                        struct nest_strbuf *out)
{
    const int64_t last = t->in->problem->model->layers - 1;
    const int64_t chunks = t->plan.stages * t->plan.strategy.virtual_stages;
    nest_strbuf_add(out, "[\n");
    for (int64_t c = 0; c < chunks; c++) {
        const struct nest_range *range =
            &t->plan.stage[c % t->plan.stages].layers[c / t->plan.stages];
        nest_strbuf_printf(out, "%s    [", indent);
        for (int64_t layer = range->low; layer <= range->high; layer++) {
            nest_strbuf_add(out, layer > range->low ? ", " : "");
            if (layer == 0) {
                nest_strbuf_add(out, "\"tok_embeddings\"");
            } else if (layer == last) {
                nest_strbuf_printf(out, "\"norm\", \"%s\"", head);
            } else {
                nest_strbuf_printf(out, "\"layers.%" PRId64 "\"", layer - 1);
            }
        }
        nest_strbuf_add(out, "],\n");
    }
    nest_strbuf_printf(out, "%s]\n", indent);
}

/* Rules of torchtitan alone (framework_rules: T2, T5). */
static enum nest_status check(const struct titan *t, struct nest_errors *errors)
{
    const struct nest_strategy *s = &t->plan.strategy;
    const int64_t seq = t->in->problem->model->spec->seq;
    const int64_t unit = s->tp * (s->cp > 1 ? 2 * s->cp : 1);
    if (seq % unit != 0) {
        char hint[96];
        (void)snprintf(hint, sizeof hint, "seq %" PRId64 " or %" PRId64, seq - seq % unit,
                       seq - seq % unit + unit);
        nest_errors_add(errors, (struct nest_mark){NULL, 0, 0}, "seq", hint,
                        "torchtitan needs a sequence divisible by tp x 2 cp = %" PRId64
                        ", and %" PRId64 " mod %" PRId64 " = %" PRId64,
                        unit, seq, unit, seq % unit);
        return NEST_NO;
    }
    if (s->ep > 1 && (t->shard * s->cp * s->tp) % s->ep != 0) {
        nest_errors_add(errors, (struct nest_mark){NULL, 0, 0}, "ep", "pin ep lower",
                        "torchtitan needs dp_shard x cp x tp = %" PRId64
                        " to be a multiple of ep %" PRId64,
                        t->shard * s->cp * s->tp, s->ep);
        return NEST_NO;
    }
    return NEST_OK;
}

static enum nest_status prepare(const struct nest_export *in, struct titan *t,
                                struct nest_notes *notes, struct nest_errors *errors)
{
    t->in = in;
    const enum nest_status status =
        nest_lower(in, &torchtitan, &t->plan, &t->prediction, notes, errors);
    if (status != NEST_OK) {
        return status;
    }
    set_degrees(t);
    if (t->plan.stages > 1 && t->plan.strategy.zero == 3) {
        nest_note(notes, "zero 3 with a pipeline gathers the weights again for every microbatch");
    }
    return check(t, errors);
}

static const char *schedule(const struct titan *t)
{
    return t->plan.strategy.virtual_stages > 1 ? "Interleaved1F1B" : "1F1B";
}

/* A model's id as the name of its configuration: letters, digits and underscores. */
static void add_identifier(const char *id, struct nest_strbuf *out)
{
    for (; *id != '\0'; id++) {
        const char c[] = {isalnum((unsigned char)*id) ? *id : '_', '\0'};
        nest_strbuf_add(out, c);
    }
}

static void add_parallelism(const struct titan *t, struct nest_strbuf *out)
{
    const struct nest_strategy *s = &t->plan.strategy;
    const struct {
        const char *name;
        int64_t value;
    } degree[] = {
        {"data_parallel_replicate_degree", t->replicate},
        {"data_parallel_shard_degree", t->shard},
        {"tensor_parallel_degree", s->tp},
        {"pipeline_parallel_degree", t->plan.stages},
        {"context_parallel_degree", s->cp},
        {"expert_parallel_degree", s->ep},
    };
    for (size_t i = 0; i < sizeof degree / sizeof degree[0]; i++) {
        nest_strbuf_printf(out, "    config.parallelism.%s = %" PRId64 "\n", degree[i].name,
                           degree[i].value);
    }
    if (s->zero >= 2) {
        nest_strbuf_printf(out, "    config.parallelism.fsdp_reshard_after_forward = \"%s\"\n",
                           s->zero == 3 ? "always" : "never");
    }
    if (t->plan.stages > 1) {
        nest_strbuf_printf(out,
                           "    config.parallelism.pipeline_parallel_schedule = \"%s\"\n"
                           "    config.parallelism.num_pp_microbatches = %" PRId64 "\n",
                           schedule(t), t->plan.microbatches);
        if (!is_automatic(t)) {
            nest_strbuf_add(out, "    config.parallelism.module_fqns_per_model_part = ");
            add_modules(t, "lm_head", "    ", out);
        }
    }
}

enum nest_status nest_export_torchtitan(const struct nest_export *in, struct nest_strbuf *out,
                                        struct nest_notes *notes, struct nest_errors *errors)
{
    struct titan t = {0};
    const enum nest_status status = prepare(in, &t, notes, errors);
    if (status != NEST_OK) {
        return status;
    }
    static const char *const recompute[NEST_RECOMPUTES] = {"None", "SelectiveAC.Config()",
                                                           "FullAC.Config()"};
    const int64_t seq = in->problem->model->spec->seq;
    nest_export_preamble(in, &t.plan, &t.prediction, notes, "# ", out);
    nest_strbuf_add(out, "def ");
    add_identifier(in->scenario->model.id, out);
    nest_strbuf_printf(out,
                       "_%" PRId64 "gpu() -> Trainer.Config:\n    config = ", t.plan.devices_used);
    add_identifier(in->scenario->model.id, out);
    nest_strbuf_printf(
        out,
        "()\n"
        "    config.training.num_tokens_per_microbatch_per_dp_rank = %" PRId64 " * %" PRId64 "\n"
        "    config.training.max_context_length = %" PRId64 "\n"
        "    config.training.num_tokens_per_train_step = %" PRId64 " * %" PRId64 "\n",
        t.plan.strategy.micro_batch, seq, seq, in->problem->train.global_batch, seq);
    if (t.plan.stages > 1 || t.plan.strategy.ep > 1) {
        nest_strbuf_add(out, "    config.training.disable_cuda_graphs = True\n");
    }
    add_parallelism(&t, out);
    nest_strbuf_printf(out, "    config.activation_checkpoint = %s\n    return config\n",
                       recompute[t.plan.stage[0].recompute]);
    return out->failed ? NEST_NO_MEMORY : NEST_OK;
}

/* 0.2.2 counts in sequences: one step takes local_batch_size per rank, cut into microbatches; what
 * is left of the global batch is gradient accumulation. */
static void add_toml_training(const struct titan *t, struct nest_strbuf *out)
{
    const struct nest_strategy *s = &t->plan.strategy;
    const bool pipelined = t->plan.stages > 1;
    nest_strbuf_printf(out,
                       "[training]\nlocal_batch_size = %" PRId64 "\nglobal_batch_size = %" PRId64
                       "\nseq_len = %" PRId64 "\n",
                       s->micro_batch * (pipelined ? t->plan.microbatches : 1),
                       t->in->problem->train.global_batch, t->in->problem->model->spec->seq);
}

static void add_toml_parallelism(const struct titan *t, struct nest_strbuf *out)
{
    const struct nest_strategy *s = &t->plan.strategy;
    nest_strbuf_printf(out,
                       "[parallelism]\ndata_parallel_replicate_degree = %" PRId64
                       "\ndata_parallel_shard_degree = %" PRId64 "\n",
                       t->replicate, t->shard);
    if (s->zero >= 2) {
        nest_strbuf_printf(out, "fsdp_reshard_after_forward = \"%s\"\n",
                           s->zero == 3 ? "always" : "never");
    }
    nest_strbuf_printf(out, "tensor_parallel_degree = %" PRId64 "\npipeline_parallel_degree = %d\n",
                       s->tp, t->plan.stages);
    if (t->plan.stages > 1) {
        nest_strbuf_printf(out,
                           "pipeline_parallel_schedule = \"%s\"\n"
                           "pipeline_parallel_microbatch_size = %" PRId64 "\n",
                           schedule(t), s->micro_batch);
    }
    nest_strbuf_printf(out, "context_parallel_degree = %" PRId64 "\n", s->cp);
    if (s->ep > 1) {
        nest_strbuf_printf(out, "expert_parallel_degree = %" PRId64 "\n", s->ep);
    }
    if (t->plan.stages > 1 && !is_automatic(t)) {
        nest_strbuf_add(out, "module_fqns_per_model_part = ");
        add_modules(t, "output", "", out);
    }
}

enum nest_status nest_export_torchtitan_toml(const struct nest_export *in, struct nest_strbuf *out,
                                             struct nest_notes *notes, struct nest_errors *errors)
{
    struct titan t = {0};
    const enum nest_status status = prepare(in, &t, notes, errors);
    if (status != NEST_OK) {
        return status;
    }
    static const char *const recompute[NEST_RECOMPUTES] = {"none", "selective", "full"};
    nest_note(notes, "the TOML is read by torchtitan 0.2.2 and older only");
    nest_export_preamble(in, &t.plan, &t.prediction, notes, "# ", out);
    nest_strbuf_printf(out, "[model]\nname = \"%s\"  # set name and flavor to torchtitan's own\n",
                       in->scenario->model.id);
    add_toml_training(&t, out);
    add_toml_parallelism(&t, out);
    nest_strbuf_printf(out, "[activation_checkpoint]\nmode = \"%s\"\n",
                       recompute[t.plan.stage[0].recompute]);
    return out->failed ? NEST_NO_MEMORY : NEST_OK;
}
