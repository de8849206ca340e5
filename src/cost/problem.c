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
