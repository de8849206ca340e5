/* DeepSpeed: its JSON configuration. Degrees that are not JSON keys are notes. */
#include <inttypes.h>

#include "base/json.h"
#include "export/lower.h"

static const struct nest_dialect deepspeed = {
    .name = "DeepSpeed",
    .zero1 = true,
    .shard_groups_from = 3,
    .zero_with_pipeline = 1,
    .any_model = true,
};

static void add_zero(struct nest_json *json, const struct nest_problem *problem,
                     const struct nest_strategy *s)
{
    const bool overlap = problem->overlap.dp > 0 || problem->overlap.zero > 0;
    nest_json_object(json, "zero_optimization");
    nest_json_integer(json, "stage", s->zero);
    if (s->zero > 0) {
        nest_json_bool(json, "overlap_comm", overlap);
        nest_json_bool(json, "contiguous_gradients", true);
        nest_json_integer(json, "reduce_bucket_size", 500000000);
    }
    if (s->zero == 1 || s->zero == 2) {
        nest_json_integer(json, "allgather_bucket_size", 500000000);
    }
    if (s->zero == 3) {
        nest_json_integer(json, "stage3_prefetch_bucket_size", 50000000);
        nest_json_integer(json, "stage3_param_persistence_threshold", 100000);
        nest_json_integer(json, "stage3_max_live_parameters", 1000000000);
        nest_json_integer(json, "stage3_max_reuse_distance", 1000000000);
        if (s->shard < nest_strategy_dp(s) * s->cp) {
            nest_json_integer(json, "mics_shard_size", s->shard);
        }
    }
    nest_json_end(json);
}

static void add_degrees(struct nest_json *json, const struct nest_problem *problem,
                        const struct nest_plan *plan)
{
    const struct nest_strategy *s = &plan->strategy;
    if (s->cp > 1) {
        nest_json_integer(json, "sequence_parallel_size", s->cp);
    }
    if (s->tp > 1 && plan->stages == 1) {
        nest_json_object(json, "tensor_parallel");
        nest_json_integer(json, "autotp_size", s->tp);
        nest_json_end(json);
    }
    if (problem->model->spec->experts > 1) {
        nest_json_object(json, "expert_parallel");
        nest_json_bool(json, "enabled", s->ep > 1);
        nest_json_integer(json, "autoep_size", s->ep);
        nest_json_end(json);
    }
}

static void note_degrees(const struct nest_problem *problem, const struct nest_plan *plan,
                         struct nest_notes *notes)
{
    const struct nest_strategy *s = &plan->strategy;
    if (plan->stages > 1) {
        nest_note(notes,
                  "pipeline of %d and tensor width %" PRId64
                  " are no JSON keys: give them to PipelineModule and its topology in Python",
                  plan->stages, s->tp);
        nest_note(notes, "DeepSpeed keeps at least 2 microbatches in flight on every stage");
    }
    if (plan->stages > 1 && !nest_plan_even(problem, plan)) {
        nest_note(notes, "uneven layers per stage: write your own partition in Python");
    }
    if (s->cp > 1) {
        nest_note(notes,
                  "cp %" PRId64
                  " becomes Ulysses sequence parallelism, which exchanges heads instead of a ring",
                  s->cp);
    }
    if (plan->stage[0].recompute != NEST_RECOMPUTE_NONE) {
        nest_note(notes, "recompute: the model itself must call DeepSpeed's checkpoint function");
    }
}

/* Rules of DeepSpeed alone (framework_rules: D7, D14). */
static enum nest_status check(const struct nest_problem *problem, const struct nest_plan *plan,
                              struct nest_errors *errors)
{
    const struct nest_strategy *s = &plan->strategy;
    if (problem->model->spec->experts > 1 && s->ep > 1 && s->tp > 1) {
        nest_errors_add(errors, (struct nest_mark){NULL, 0, 0}, "ep", "pin tp=1 or ep=1",
                        "DeepSpeed does not combine automatic expert and tensor parallelism");
        return NEST_NO;
    }
    return NEST_OK;
}

enum nest_status nest_export_deepspeed(const struct nest_export *in, struct nest_strbuf *out,
                                       struct nest_notes *notes, struct nest_errors *errors)
{
    struct nest_plan plan = {0};
    struct nest_prediction prediction;
    enum nest_status status = nest_lower(in, &deepspeed, &plan, &prediction, notes, errors);
    if (status == NEST_OK) {
        status = check(in->problem, &plan, errors);
    }
    if (status != NEST_OK) {
        return status;
    }
    note_degrees(in->problem, &plan, notes);
    const struct nest_train_spec *train = &in->problem->train;
    struct nest_json json;
    nest_json_start(&json, out);
    nest_json_object(&json, NULL);
    nest_json_integer(&json, "train_batch_size", train->global_batch);
    nest_json_integer(&json, "train_micro_batch_size_per_gpu", plan.strategy.micro_batch);
    nest_json_integer(&json, "gradient_accumulation_steps", plan.microbatches);
    if (train->precision != NEST_FP32) {
        nest_json_object(&json, train->precision == NEST_FP16 ? "fp16" : "bf16");
        nest_json_bool(&json, "enabled", true);
        nest_json_end(&json);
    }
    add_zero(&json, in->problem, &plan.strategy);
    add_degrees(&json, in->problem, &plan);
    if (plan.stage[0].recompute != NEST_RECOMPUTE_NONE) {
        nest_json_object(&json, "activation_checkpointing");
        nest_json_bool(&json, "partition_activations", plan.strategy.tp > 1);
        nest_json_bool(&json, "cpu_checkpointing", false);
        nest_json_end(&json);
    }
    nest_json_end(&json);
    return out->failed ? NEST_NO_MEMORY : NEST_OK;
}
