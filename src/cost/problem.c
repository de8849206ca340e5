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
        .memory_limit = (int64_t)(limit > 0 ? limit : scenario->device.memory),
        .allow_stage_zero = scenario->allow_stage_zero,
        .allow_stage_tp = scenario->allow_stage_tp,
    };
}

nest_ps nest_problem_collective(const struct nest_problem *problem, enum nest_collective kind,
                                const struct nest_comm *comm, double bytes)
{
    const struct nest_overrides *overrides = problem->overrides;
    const nest_ps time = nest_collective_time(problem->cluster, kind, comm, bytes);
    if (overrides == NULL || overrides->collective == NULL) {
        return time;
    }
    return nest_to_ps(
        overrides->collective(overrides->context, kind, comm, bytes, nest_to_seconds(time)));
}

nest_ps nest_problem_transfer(const struct nest_problem *problem, int level, int64_t block,
                              double bytes)
{
    const struct nest_overrides *overrides = problem->overrides;
    const nest_ps time = nest_transfer_time(problem->cluster, level, block, bytes);
    if (overrides == NULL || overrides->transfer == NULL) {
        return time;
    }
    return nest_to_ps(
        overrides->transfer(overrides->context, level, block, bytes, nest_to_seconds(time)));
}
