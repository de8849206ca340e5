#include "plan/bind.h"

static bool price(const struct nest_problem *problem, const struct nest_plan *plan,
                  struct nest_arena *arena, nest_ps *step)
{
    struct nest_prediction changed;
    if (!nest_plan_evaluate(problem, plan, arena, &changed)) {
        return false;
    }
    *step = changed.step;
    return true;
}

static void find_tightest(const struct nest_prediction *prediction, struct nest_binding *out)
{
    out->tightest = 0;
    for (int i = 1; i < prediction->stages; i++) {
        if (prediction->stage[i].memory.total > prediction->stage[out->tightest].memory.total) {
            out->tightest = i;
        }
    }
    out->slack = prediction->memory_limit - prediction->stage[out->tightest].memory.total;
}

bool nest_plan_bind(const struct nest_problem *problem, const struct nest_plan *plan,
                    const struct nest_prediction *prediction, struct nest_arena *arena,
                    struct nest_binding *out)
{
    *out = (struct nest_binding){.levels = problem->cluster->levels, .best_level = -1};
    find_tightest(prediction, out);
    struct nest_problem changed = *problem;
    struct nest_cluster cluster = *problem->cluster;
    changed.cluster = &cluster;
    nest_ps step = 0;
    for (int l = 0; l < out->levels; l++) {
        cluster.level[l].bandwidth *= 2;
        if (!price(&changed, plan, arena, &step)) {
            return false;
        }
        cluster.level[l].bandwidth = problem->cluster->level[l].bandwidth;
        out->level_gain[l] = prediction->step - step;
        const nest_ps best = out->best_level < 0 ? 0 : out->level_gain[out->best_level];
        if (out->level_gain[l] > best) {
            out->best_level = l;
        }
    }
    struct nest_device_spec device = *problem->cluster->device;
    for (int p = 0; p < NEST_PRECISIONS; p++) {
        device.peak[p] *= 2;
    }
    device.memory_bandwidth *= 2;
    cluster.device = &device;
    if (!price(&changed, plan, arena, &step)) {
        return false;
    }
    out->compute_gain = prediction->step - step;
    return true;
}
