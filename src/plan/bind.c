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

static int64_t left_in(const struct nest_prediction *prediction, int stage)
{
    return nest_stage_limit(prediction, stage) - prediction->stage[stage].memory.total;
}

static void find_tightest(const struct nest_prediction *prediction, struct nest_binding *out)
{
    out->tightest = 0;
    for (int i = 1; i < prediction->stages; i++) {
        if (left_in(prediction, i) < left_in(prediction, out->tightest)) {
            out->tightest = i;
        }
    }
    out->slack = left_in(prediction, out->tightest);
}

static const struct nest_device_spec *twice_as_fast(const struct nest_device_spec *device,
                                                    struct nest_arena *arena)
{
    struct nest_device_spec *faster = NEST_NEW(arena, struct nest_device_spec, 1);
    if (faster) {
        *faster = *device;
        faster->memory_bandwidth *= 2;
        for (int p = 0; p < NEST_PRECISIONS; p++) {
            faster->peak[p] *= 2;
        }
    }
    return faster;
}

/* Every kernel of every kind of device takes half its time. */
static bool speed_up(struct nest_cluster *cluster, struct nest_arena *arena)
{
    struct nest_kind *kind = NEST_NEW(arena, struct nest_kind, NEST_KINDS_MAX);
    bool done = kind != NULL;
    for (int k = 0; done && cluster->kind && k < cluster->kinds; k++) {
        kind[k] = cluster->kind[k];
        kind[k].device = twice_as_fast(cluster->kind[k].device, arena);
        done = kind[k].device != NULL;
    }
    cluster->kind = cluster->kind ? kind : NULL;
    cluster->device = twice_as_fast(cluster->device, arena);
    return done && cluster->device;
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
    if (!speed_up(&cluster, arena) || !price(&changed, plan, arena, &step)) {
        return false;
    }
    out->compute_gain = prediction->step - step;
    return true;
}
