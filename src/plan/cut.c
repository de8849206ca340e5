#include <string.h>

#include "input/layer_graph.h"
#include "plan/plan.h"

enum { WORDS_MAX = NEST_LAYER_GRAPH_MAX / 64 + 1 };

/* Adds the stage's layers to the set. False if one is there already, or there is none. */
static bool add_stage(const struct nest_cuts *cuts, const struct nest_plan_stage *stage,
                      uint64_t *set)
{
    for (int r = 0; r < stage->ranges; r++) {
        const struct nest_range *range = &stage->layers[r];
        if (range->low < 0 || range->high >= cuts->layers || range->high < range->low) {
            return false;
        }
        for (int64_t i = range->low; i <= range->high; i++) {
            const uint64_t bit = UINT64_C(1) << (i % 64);
            if (set[i / 64] & bit) {
                return false;
            }
            set[i / 64] |= bit;
        }
    }
    return stage->ranges > 0;
}

int nest_plan_cuts(const struct nest_cuts *cuts, const struct nest_plan *plan, int *cut)
{
    uint64_t set[WORDS_MAX];
    int at = 0;
    memset(set, 0, sizeof set);
    for (int i = 0; i < plan->stages; i++) {
        at = add_stage(cuts, &plan->stage[i], set) ? nest_cut_find(cuts, set) : -1;
        if (at < 0) {
            return i;
        }
        if (cut) {
            cut[i] = at;
        }
    }
    return at == cuts->count - 1 ? -1 : plan->stages;
}

/* Every layer once, in pipeline order: chunk by chunk, stage by stage. */
static bool covers_chain(int layers, const struct nest_plan *plan)
{
    const int64_t chunks = plan->strategy.virtual_stages;
    int64_t next = 0;
    for (int64_t c = 0; c < chunks * plan->stages; c++) {
        const struct nest_plan_stage *stage = &plan->stage[c % plan->stages];
        if (stage->ranges != chunks || stage->layers[c / plan->stages].low != next) {
            return false;
        }
        next = stage->layers[c / plan->stages].high + 1;
    }
    return next == layers;
}

bool nest_plan_covers(const struct nest_model *model, const struct nest_plan *plan)
{
    return model->cuts && plan->strategy.virtual_stages == 1
               ? nest_plan_cuts(model->cuts, plan, NULL) < 0
               : covers_chain(model->layers, plan);
}
