#include "cost/problem.h"

void nest_problem_init(struct nest_problem *out, const struct nest_scenario_spec *scenario,
                       const struct nest_model *model, const struct nest_cluster *cluster)
{
    const double limit = scenario->limits.memory;
    *out = (struct nest_problem){
        .model = model,
        .cluster = cluster,
        .train = scenario->train,
        .overlap = scenario->overlap,
        .pins = scenario->pins,
        .memory_limit = (int64_t)(limit > 0 ? limit : cluster->device->memory),
        .allow_stage_zero = scenario->allow_stage_zero,
        .allow_stage_tp = scenario->allow_stage_tp,
        .span = scenario->limits.span,
        .packed = scenario->limits.packed,
        .allow_ragged_batch = scenario->allow_ragged_batch,
    };
}

enum nest_status nest_problem_fault(const struct nest_problem *problem, struct nest_errors *errors)
{
    const struct nest_overrides *overrides = problem->overrides;
    return overrides != NULL && overrides->fault != NULL
               ? overrides->fault(overrides->context, errors)
               : NEST_OK;
}

nest_ps nest_problem_collective(const struct nest_problem *problem, enum nest_collective kind,
                                const struct nest_comm *comm, double bytes)
{
    const struct nest_overrides *overrides = problem->overrides;
    const nest_ps time = nest_collective_time(problem->cluster, kind, comm, bytes);
    if (overrides == NULL || overrides->collective == NULL) {
        return time;
    }
    const double seconds = nest_to_seconds(time);
    double least = overrides->collective(overrides->context, kind, comm, bytes, seconds);
    struct nest_comm further = *comm;
    for (further.top++; comm->top > 0 && further.top < overrides->relaxed; further.top++) {
        const double there =
            overrides->collective(overrides->context, kind, &further, bytes, seconds);
        least = there < least ? there : least;
    }
    return nest_to_ps(least);
}

nest_ps nest_problem_transfer(const struct nest_problem *problem,
                              const struct nest_message *message)
{
    const struct nest_overrides *overrides = problem->overrides;
    const nest_ps time =
        nest_transfer_time(problem->cluster, message->level, message->block, message->bytes);
    if (overrides == NULL || overrides->transfer == NULL) {
        return time;
    }
    return nest_to_ps(overrides->transfer(overrides->context, message, nest_to_seconds(time)));
}

struct nest_load_rule nest_problem_load(const struct nest_problem *problem,
                                        const struct nest_strategy *strategy,
                                        enum nest_recompute recompute, bool first, bool last)
{
    struct nest_load_rule rule = {.rows = 0};
    if (problem->overrides != NULL && problem->overrides->load != NULL) {
        problem->overrides->load(problem->overrides->context, strategy, recompute, first, last,
                                 &rule);
    }
    return rule;
}

struct nest_step_rule nest_problem_step(const struct nest_problem *problem,
                                        const struct nest_strategy *strategy, int stages,
                                        int64_t microbatches)
{
    struct nest_step_rule rule = {.given = false};
    if (problem->overrides != NULL && problem->overrides->step != NULL) {
        problem->overrides->step(problem->overrides->context, strategy, stages, microbatches,
                                 &rule);
    }
    return rule;
}
