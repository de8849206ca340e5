#include "solve/best.h"

#include <stdlib.h>
#include <string.h>

bool nest_best_init(struct nest_best *best, int top, bool by_shape)
{
    *best = (struct nest_best){.top = top, .by_shape = by_shape};
    best->plan = calloc((size_t)top, sizeof *best->plan);
    return best->plan;
}

void nest_best_free(struct nest_best *best)
{
    for (int i = 0; best->plan && i < best->top; i++) {
        nest_arena_free(&best->plan[i].arena);
    }
    free(best->plan);
}

nest_ps nest_best_limit(const struct nest_best *best, nest_ps limit)
{
    return best->found == best->top ? best->plan[best->found - 1].step : limit;
}

/* The same degrees and ZeRO stage; only how they are carried out differs. */
static bool same_shape(const struct nest_plan *a, const struct nest_plan *b)
{
    const struct nest_strategy *x = &a->strategy;
    const struct nest_strategy *y = &b->strategy;
    return a->stages == b->stages && x->tp == y->tp && x->cp == y->cp && x->ep == y->ep &&
           x->zero == y->zero && nest_strategy_dp(x) == nest_strategy_dp(y);
}

/* Takes the plan of the same shape off the list when the new one beats it. False: it does not. */
static bool displace(struct nest_best *best, const struct nest_plan *plan, nest_ps step)
{
    for (int i = 0; i < best->found; i++) {
        if (!same_shape(plan, &best->plan[i].plan)) {
            continue;
        }
        if (nest_plan_compare(plan, step, &best->plan[i].plan, best->plan[i].step) >= 0) {
            return false;
        }
        const struct nest_best_plan slot = best->plan[i];
        memmove(&best->plan[i], &best->plan[i + 1],
                (size_t)(best->found - 1 - i) * sizeof *best->plan);
        best->plan[--best->found] = slot;
        return true;
    }
    return true;
}

bool nest_best_keep(struct nest_best *best, const struct nest_plan *plan, nest_ps step)
{
    const int top = best->top;
    if (best->by_shape && !displace(best, plan, step)) {
        return true;
    }
    int at = best->found;
    while (at > 0 &&
           nest_plan_compare(plan, step, &best->plan[at - 1].plan, best->plan[at - 1].step) < 0) {
        at--;
    }
    if (at == top) {
        return true;
    }
    struct nest_best_plan slot = best->plan[best->found < top ? best->found : top - 1];
    const int last = best->found < top ? best->found++ : top - 1;
    memmove(&best->plan[at + 1], &best->plan[at], (size_t)(last - at) * sizeof *best->plan);
    nest_arena_reset(&slot.arena);
    slot.step = step;
    const bool copied = nest_plan_copy(plan, &slot.arena, &slot.plan);
    best->plan[at] = slot;
    return copied;
}
