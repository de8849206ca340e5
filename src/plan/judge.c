#include "plan/judge.h"

#include "plan/rebuild.h"

static const double GIB = 1073741824.0;

const char *nest_quantity_name(enum nest_quantity quantity)
{
    static const char *const name[NEST_QUANTITIES] = {"step_time", "tokens", "tflops", "mfu",
                                                      "memory"};
    return name[quantity];
}

/* Hardware FLOP per model FLOP: full recompute repeats the forward pass of the blocks, a third of
 * what they take, and not the head's (Narayanan et al. 2021, appendix). */
static double recompute_factor(const struct nest_problem *problem, enum nest_recompute mode)
{
    if (mode != NEST_RECOMPUTE_FULL) {
        return 1.0;
    }
    const struct nest_model *model = problem->model;
    double blocks = 0.0;
    double all = 0.0;
    for (int r = 0; r < model->runs; r++) {
        const struct nest_layer_kind *kind = &model->kind[model->run[r].kind];
        const double flops = kind->flops_per_token * (double)model->run[r].count;
        blocks += kind->role == NEST_LAYER_BLOCK ? flops : 0.0;
        all += flops;
    }
    return 1.0 + blocks / all / 3.0;
}

static void add(struct nest_judged *out, enum nest_quantity quantity, double predicted,
                double measured)
{
    out->verdict[out->verdicts++] =
        (struct nest_verdict){quantity, predicted, measured, predicted / measured - 1.0};
}

/* Step time where it is given, else tokens, else FLOP rates in the source's convention. */
static void judge_speed(const struct nest_measurement *run, const struct nest_problem *problem,
                        struct nest_judged *out)
{
    const struct nest_prediction *p = &out->prediction;
    const double hardware = recompute_factor(problem, nest_rebuild_recompute(run));
    if (run->step_time > 0.0) {
        add(out, NEST_QUANTITY_STEP_TIME, nest_to_seconds(p->step), run->step_time);
    } else if (run->tokens > 0.0) {
        add(out, NEST_QUANTITY_TOKENS, p->tokens_per_s / (double)run->devices, run->tokens);
    } else if (run->tflops > 0.0) {
        add(out, NEST_QUANTITY_TFLOPS,
            p->tflops_per_device * (nest_rebuild_counts_recompute(run) ? hardware : 1.0),
            run->tflops);
    } else if (run->hardware_tflops > 0.0) {
        add(out, NEST_QUANTITY_TFLOPS, p->tflops_per_device * hardware, run->hardware_tflops);
    } else if (run->mfu > 0.0) {
        add(out, NEST_QUANTITY_MFU, p->mfu, run->mfu);
    }
}

static void judge_memory(const struct nest_measurement *run, struct nest_judged *out)
{
    if (run->memory > 0.0) {
        const struct nest_stage_cost *worst = &out->prediction.stage[out->prediction.worst_stage];
        const int64_t outside = run->memory_allocated ? worst->memory.reserve : 0;
        add(out, NEST_QUANTITY_MEMORY, (double)(worst->memory.total - outside) / GIB,
            run->memory / GIB);
    }
}

/* Where the source does not state recomputation, or names modules that are more than attention, the
 * least of it that memory allows; none for a run that did not fit. */
static enum nest_status predict(const struct nest_measurement *run, struct nest_problem *problem,
                                struct nest_arena *arena, struct nest_judged *out,
                                struct nest_errors *errors)
{
    struct nest_pin *mode = &problem->pins.pin[NEST_PIN_RECOMPUTE];
    const bool open = run->recompute < 0 || nest_rebuild_names_modules(run);
    const bool given = !open || run->kind == NEST_RUN_OUT_OF_MEMORY;
    for (;;) {
        struct nest_plan plan;
        const char **assumed;
        const enum nest_status status =
            nest_plan_from_pins(problem, arena, &plan, &assumed, errors);
        if (status != NEST_OK) {
            return status;
        }
        if (!nest_plan_evaluate(problem, &plan, arena, &out->prediction)) {
            return NEST_NO_MEMORY;
        }
        if (given || out->prediction.feasible || mode->range[0].low == NEST_RECOMPUTE_FULL) {
            out->recompute = (enum nest_recompute)mode->range[0].low;
            return NEST_OK;
        }
        mode->range[0].low++;
        mode->range[0].high++;
    }
}

/* What a prediction cannot do without, and sizes beyond which sums would overflow. */
static bool is_complete(const struct nest_measurement *run, struct nest_errors *errors)
{
    const struct {
        const char *name;
        int64_t value, least, most;
    } needed[] = {
        {"model.layers", run->layers, 1, 10000},
        {"model.hidden", run->hidden, 1, 1000000},
        {"model.ffn", run->ffn, 1, 1000000},
        {"model.heads", run->heads, 1, 100000},
        {"model.vocab", run->vocab, 1, 100000000},
        {"model.seq", run->seq, 1, 100000000},
        {"model.kv_heads", run->kv_heads, 0, 100000},
        {"model.head_dim", run->head_dim, 0, 100000},
        {"model.experts", run->experts, 0, 100000},
        {"model.topk", run->top_k, 0, 100000},
        {"model.moe_ffn", run->moe_ffn, 0, 1000000},
        {"model.shared_experts", run->shared_experts, 0, 1000},
        {"gpus", run->devices, 1, 10000000},
        {"global_batch", run->global_batch, 1, 100000000},
        {"micro_batch", run->micro_batch, 1, 100000000},
        {"dp", run->dp, 1, 10000000},
        {"tp", run->tp, 1, 10000},
        {"pp", run->pp, 1, 10000},
        {"cp", run->cp, 1, 10000},
        {"ep", run->ep, 1, 100000},
        {"vpp", run->virtual_stages, 1, 10000},
    };
    bool complete = true;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (needed[i].value < needed[i].least || needed[i].value > needed[i].most) {
            nest_errors_add(errors, run->mark, needed[i].name, "a run is predicted from all of it",
                            needed[i].value == 0 ? "the record does not state it"
                                                 : "the record's value is impossible");
            complete = false;
        }
    }
    return complete;
}

enum nest_status nest_judge(const struct nest_measurement *run,
                            const struct nest_device_spec *device, struct nest_arena *arena,
                            struct nest_judged *out, struct nest_errors *errors)
{
    struct nest_model_spec model_spec;
    struct nest_cluster_spec cluster_spec;
    struct nest_model model;
    struct nest_cluster cluster;
    struct nest_problem problem = {
        .model = &model, .cluster = &cluster, .memory_limit = (int64_t)device->memory};
    *out = (struct nest_judged){0};
    const char *obstacle = nest_rebuild_obstacle(run);
    if (obstacle) {
        nest_errors_add(errors, run->mark, NULL, "runs that train all weights on their devices",
                        "%s", obstacle);
    }
    if (!is_complete(run, errors) || obstacle) {
        return NEST_NO;
    }
    nest_rebuild_model(run, &model_spec);
    nest_rebuild_cluster(run, device, &cluster_spec);
    nest_rebuild_settings(run, &problem);
    enum nest_status status = nest_model_expand(&model_spec, arena, &model, errors);
    if (status == NEST_OK) {
        status = nest_cluster_build(&cluster_spec, run->devices, arena, &cluster, errors);
    }
    if (status == NEST_OK) {
        status = predict(run, &problem, arena, out, errors);
    }
    if (status != NEST_OK) {
        return status;
    }
    out->built = true;
    out->feasible = out->prediction.feasible;
    judge_speed(run, &problem, out);
    judge_memory(run, out);
    return NEST_OK;
}
