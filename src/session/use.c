#include "session/use.h"

#include <string.h>

#include "cost/strategy.h"

enum { KINDS = 5 };

struct share {
    const char *name;
    nest_ps time;
    int level;
};

static void give(struct nest_level_use *use, const struct share *share, nest_ps step,
                 struct nest_arena *arena)
{
    if (share->time <= 0 || share->level < 0) {
        return;
    }
    struct nest_level_use *at = &use[share->level];
    at->waits += share->time;
    at->share = step > 0 ? (double)at->waits / (double)step : 0;
    const char *kinds =
        at->kinds[0] ? nest_arena_printf(arena, "%s %s", at->kinds, share->name) : share->name;
    if (kinds && !strstr(at->kinds, share->name)) {
        at->kinds = kinds;
    }
}

const struct nest_level_use *nest_level_uses(const struct nest_problem *problem,
                                             const struct nest_solution *solution,
                                             struct nest_arena *arena)
{
    const struct nest_prediction *prediction = &solution->prediction;
    const struct nest_plan_stage *stage = &solution->plan.stage[prediction->bottleneck];
    const struct nest_stage_cost *cost = &prediction->stage[prediction->bottleneck];
    struct nest_level_use *use = NEST_NEW(arena, struct nest_level_use, problem->cluster->levels);
    if (!use) {
        return NULL;
    }
    for (int l = 0; l < problem->cluster->levels; l++) {
        use[l].kinds = "";
    }
    struct nest_strategy strategy = solution->plan.strategy;
    strategy.tp = stage->tp;
    struct nest_placement placement;
    nest_placement_at(problem->cluster, &strategy, stage->first_device, &placement);
    const struct nest_breakdown *parts = &prediction->breakdown;
    const nest_ps links = cost->in + cost->out;
    const nest_ps inward =
        links > 0 ? (nest_ps)((double)parts->pp * ((double)cost->in / (double)links)) : 0;
    const int expert = placement.expert.size > 1 ? placement.expert.top : 0;
    const int dense = placement.dense.size > 1 ? placement.dense.top : 0;
    const struct share shares[KINDS + 1] = {
        {"tp", parts->tp, placement.tp.top},
        {"cp", parts->cp, placement.cp.top},
        {"ep", parts->ep, placement.ep.top},
        {"pp", inward, stage->in_level},
        {"pp", parts->pp - inward, stage->out_level},
        {"dp", parts->dp, dense > expert ? dense : expert},
    };
    for (int i = 0; i < KINDS + 1; i++) {
        give(use, &shares[i], prediction->step, arena);
    }
    return use;
}
