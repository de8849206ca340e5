#include "plan/problem.h"

enum nest_status nest_problem_build(const struct nest_scenario_spec *scenario,
                                    struct nest_arena *arena, struct nest_problem *out,
                                    struct nest_errors *errors)
{
    struct nest_model *model = NEST_NEW(arena, struct nest_model, 1);
    struct nest_cluster *cluster = NEST_NEW(arena, struct nest_cluster, 1);
    if (model == NULL || cluster == NULL) {
        return NEST_NO_MEMORY;
    }
    const enum nest_status expanded = nest_model_expand(&scenario->model, arena, model, errors);
    if (expanded != NEST_OK) {
        return expanded;
    }
    const enum nest_status built =
        nest_cluster_build(&scenario->cluster, scenario->limits.devices, arena, cluster, errors);
    if (built != NEST_OK) {
        return built;
    }
    nest_problem_init(out, scenario, model, cluster);
    return NEST_OK;
}
