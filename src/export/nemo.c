/* Megatron Bridge, the successor of NeMo 2.0's language models: Python that sets a recipe's cfg. */
#include <inttypes.h>

#include "export/megatron_model.h"

static const char *word(bool value)
{
    return value ? "True" : "False";
}

static void add_pipeline(const struct nest_problem *problem, const struct nest_plan *plan,
                         struct nest_strbuf *out)
{
    nest_strbuf_printf(out, "cfg.model.pipeline_model_parallel_size = %d\n", plan->stages);
    if (plan->stages == 1) {
        return;
    }
    nest_strbuf_printf(out, "cfg.model.pipeline_dtype = torch.%s\n",
                       problem->train.precision == NEST_FP16 ? "float16" : "bfloat16");
    if (!nest_plan_even(problem, plan)) {
        struct nest_strbuf layout = NEST_STRBUF_INIT(1 << 16);
        nest_megatron_layout(problem, plan, &layout);
        nest_strbuf_printf(out, "cfg.model.pipeline_model_parallel_layout = \"%s\"\n",
                           nest_strbuf_text(&layout));
        nest_strbuf_free(&layout);
    }
    if (plan->strategy.virtual_stages > 1) {
        nest_strbuf_printf(out, "cfg.model.virtual_pipeline_model_parallel_size = %" PRId64 "\n",
                           plan->strategy.virtual_stages);
    }
}

static void add_model(const struct nest_problem *problem, const struct nest_plan *plan,
                      struct nest_strbuf *out)
{
    const struct nest_strategy *s = &plan->strategy;
    nest_strbuf_printf(out, "cfg.model.tensor_model_parallel_size = %" PRId64 "\n", s->tp);
    nest_strbuf_printf(out, "cfg.model.sequence_parallel = %s\n", word(s->sp));
    add_pipeline(problem, plan, out);
    nest_strbuf_printf(out, "cfg.model.context_parallel_size = %" PRId64 "\n", s->cp);
    if (problem->model->spec->experts > 1) {
        nest_strbuf_printf(out, "cfg.model.expert_model_parallel_size = %" PRId64 "\n", s->ep);
        nest_strbuf_printf(out, "cfg.model.expert_tensor_parallel_size = %" PRId64 "\n", s->etp);
    }
    switch (plan->stage[0].recompute) {
    case NEST_RECOMPUTE_SELECTIVE:
        nest_strbuf_add(out, "cfg.model.recompute_granularity = \"selective\"\n");
        break;
    case NEST_RECOMPUTE_FULL:
        nest_strbuf_add(out, "cfg.model.recompute_granularity = \"full\"\n"
                             "cfg.model.recompute_method = \"uniform\"\n"
                             "cfg.model.recompute_num_layers = 1\n");
        break;
    case NEST_RECOMPUTE_NONE:
    case NEST_RECOMPUTES:
        break;
    }
    nest_strbuf_printf(out, "cfg.model.seq_length = cfg.dataset.seq_length = %" PRId64 "\n",
                       problem->model->spec->seq);
}

static void add_training(const struct nest_problem *problem, const struct nest_plan *plan,
                         struct nest_strbuf *out)
{
    static const char *const sharding[] = {"no_shard", "optim", "optim_grads",
                                           "optim_grads_params"};
    const struct nest_strategy *s = &plan->strategy;
    const bool overlap = problem->overlap.dp > 0;
    nest_strbuf_printf(
        out, "cfg.train.global_batch_size, cfg.train.micro_batch_size = %" PRId64 ", %" PRId64 "\n",
        problem->train.global_batch, s->micro_batch);
    nest_strbuf_printf(out, "cfg.mixed_precision = \"%s\"\n",
                       problem->train.precision == NEST_FP16 ? "fp16_mixed" : "bf16_mixed");
    nest_strbuf_printf(out, "cfg.ddp.grad_reduce_in_fp32 = %s\n",
                       word(problem->train.grad_bytes == 4));
    if (s->zero == 1) {
        nest_strbuf_add(out, "cfg.ddp.use_distributed_optimizer = True\n");
    } else if (s->zero > 1) {
        nest_strbuf_printf(out,
                           "cfg.dist.use_megatron_fsdp = True\n"
                           "cfg.ddp.data_parallel_sharding_strategy = \"%s\"\n",
                           sharding[s->zero]);
    }
    if (s->zero > 0) {
        nest_strbuf_printf(out, "cfg.ddp.overlap_grad_reduce = cfg.ddp.overlap_param_gather = %s\n",
                           word(overlap));
    }
    if (s->dp_in == 1 && s->dp_out > 1 && plan->stages > 1) {
        nest_strbuf_add(out, "cfg.dist.use_tp_pp_dp_mapping = True\n");
    }
}

enum nest_status nest_export_nemo(const struct nest_export *in, struct nest_strbuf *out,
                                  struct nest_notes *notes, struct nest_errors *errors)
{
    struct nest_plan plan = {0};
    struct nest_prediction prediction;
    const enum nest_status status =
        nest_lower(in, &nest_dialect_megatron, &plan, &prediction, notes, errors);
    if (status != NEST_OK) {
        return status;
    }
    nest_megatron_notes(in->problem, &plan, notes);
    if (in->problem->train.precision == NEST_FP8) {
        nest_note(notes, "fp8: choose the recipe's own fp8 setting; exported as bf16_mixed");
    }
    const int64_t replicas = nest_strategy_dp(&plan.strategy) * plan.strategy.cp;
    if (plan.strategy.zero > 0 && plan.strategy.shard < replicas) {
        nest_note(notes,
                  "shard groups of %" PRId64 " devices: %" PRId64
                  " distributed optimizer instances, set in the optimizer's own config",
                  plan.strategy.shard, replicas / plan.strategy.shard);
    }
    nest_strbuf_add(out,
                    "# Megatron Bridge (the successor of NeMo 2.0): apply to a recipe's cfg.\n");
    nest_export_preamble(in, &plan, &prediction, notes, "# ", out);
    nest_strbuf_add(out, "import torch\n\n");
    add_model(in->problem, &plan, out);
    add_training(in->problem, &plan, out);
    return out->failed ? NEST_NO_MEMORY : NEST_OK;
}
