#include "plan/plan.h"

#include <string.h>

static int sign(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_strategy(const struct nest_strategy *a, const struct nest_strategy *b)
{
    const int64_t pair[][2] = {
        {a->tp, b->tp},
        {a->cp, b->cp},
        {a->ep, b->ep},
        {a->etp, b->etp},
        {a->sp, b->sp},
        {a->micro_batch, b->micro_batch},
        {a->virtual_stages, b->virtual_stages},
        {a->zero, b->zero},
        {a->shard, b->shard},
        {a->dp_out, b->dp_out},
        {a->dp_in, b->dp_in},
        {a->span, b->span},
        {a->selection, b->selection},
    };
    for (size_t i = 0; i < sizeof pair / sizeof pair[0]; i++) {
        const int order = sign(pair[i][0], pair[i][1]);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

static int64_t count_layers(const struct nest_plan_stage *stage)
{
    int64_t count = 0;
    for (int i = 0; i < stage->ranges; i++) {
        count += stage->layers[i].high - stage->layers[i].low + 1;
    }
    return count;
}

/* Sets of layers in the order of cuts (model/cuts.h): fewer layers first, then the one with the
 * first layer that the other lacks. After equal stages that is: where they end. */
static int compare_sets(const struct nest_plan_stage *a, const struct nest_plan_stage *b)
{
    int order = sign(count_layers(a), count_layers(b));
    for (int i = 0; order == 0 && i < a->ranges && i < b->ranges; i++) {
        order = sign(a->layers[i].low, b->layers[i].low);
        order = order ? order : sign(b->layers[i].high, a->layers[i].high);
    }
    return order;
}

static int compare_chunks(const struct nest_plan_stage *a, const struct nest_plan_stage *b)
{
    int order = 0;
    for (int i = 0; order == 0 && i < a->ranges; i++) {
        order = sign(a->layers[i].high, b->layers[i].high);
    }
    return order;
}

/* chunked: every stage has the same number of ranges, its chunks. */
static int compare_stage(const struct nest_plan_stage *a, const struct nest_plan_stage *b,
                         bool chunked)
{
    int order = chunked ? compare_chunks(a, b) : compare_sets(a, b);
    const int64_t pair[][2] = {
        {(int64_t)a->recompute, (int64_t)b->recompute},
        {a->zero, b->zero},
        {a->tp, b->tp},
        {a->first_device, b->first_device},
    };
    for (size_t i = 0; order == 0 && i < sizeof pair / sizeof pair[0]; i++) {
        order = sign(pair[i][0], pair[i][1]);
    }
    return order;
}

int nest_plan_compare(const struct nest_plan *a, nest_ps step_a, const struct nest_plan *b,
                      nest_ps step_b)
{
    int order = sign(step_a, step_b);
    order = order ? order : sign(a->devices_used, b->devices_used);
    order = order ? order : sign(a->stages, b->stages);
    order = order ? order : compare_strategy(&a->strategy, &b->strategy);
    for (int i = 0; order == 0 && i < a->stages; i++) {
        order = compare_stage(&a->stage[i], &b->stage[i], a->strategy.virtual_stages > 1);
    }
    return order;
}

bool nest_plan_copy(const struct nest_plan *plan, struct nest_arena *arena, struct nest_plan *out)
{
    *out = *plan;
    out->stage = NEST_NEW(arena, struct nest_plan_stage, plan->stages);
    if (!out->stage) {
        return false;
    }
    for (int i = 0; i < plan->stages; i++) {
        const struct nest_plan_stage *from = &plan->stage[i];
        struct nest_plan_stage *to = &out->stage[i];
        *to = *from;
        to->layers = NEST_NEW(arena, struct nest_range, from->ranges);
        if (!to->layers) {
            return false;
        }
        memcpy(to->layers, from->layers, (size_t)from->ranges * sizeof *to->layers);
    }
    return true;
}
