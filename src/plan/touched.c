#include "plan/touched.h"

#include <string.h>

/* Overrides of the network that note where they differ from the default. */
struct spy {
    const struct nest_overrides *inner;
    unsigned *level;
};

static void note(const struct spy *spy, int level, enum nest_hook hook, bool changed)
{
    spy->level[level] |= changed ? 1u << hook : 0u;
}

static double spy_collective(void *context, enum nest_collective kind, const struct nest_comm *comm,
                             double bytes, double seconds)
{
    const struct spy *spy = context;
    const double answer = spy->inner->collective(spy->inner->context, kind, comm, bytes, seconds);
    note(spy, comm->top, NEST_HOOK_COLLECTIVE, answer < seconds || answer > seconds);
    return answer;
}

static double spy_transfer(void *context, const struct nest_message *message, double seconds)
{
    const struct spy *spy = context;
    const double answer = spy->inner->transfer(spy->inner->context, message, seconds);
    note(spy, message->level, NEST_HOOK_TRANSFER, answer < seconds || answer > seconds);
    return answer;
}

static bool find_levels(const struct nest_problem *problem, const struct nest_plan *plan,
                        struct nest_arena *arena, struct nest_touched *out)
{
    const struct nest_overrides *inner = problem->overrides;
    struct spy spy = {inner, out->level};
    const struct nest_overrides watching = {
        .context = &spy,
        .collective = inner->collective ? spy_collective : NULL,
        .transfer = inner->transfer ? spy_transfer : NULL,
    };
    struct nest_problem watched = *problem;
    struct nest_prediction ignored;
    watched.overrides = &watching;
    if (!nest_plan_evaluate(&watched, plan, arena, &ignored)) {
        return false;
    }
    /* Tables price transfers across every level; a plan has links across some. */
    unsigned linked = 0;
    for (int i = 0; i < plan->stages; i++) {
        const int level = nest_plan_link(problem, plan, i);
        linked |= level >= 0 ? 1u << level : 0u;
    }
    for (int l = 0; l < problem->cluster->levels; l++) {
        out->level[l] &= linked & (1u << l) ? ~0u : ~(1u << NEST_HOOK_TRANSFER);
    }
    return true;
}

static bool same_time(const struct nest_stage_cost *a, const struct nest_stage_cost *b)
{
    return a->fw == b->fw && a->bw == b->bw && a->in == b->in && a->out == b->out &&
           a->load == b->load && a->sync == b->sync && a->optimizer == b->optimizer;
}

/* Compares with the prediction by all hooks but one. */
static void compare(const struct nest_prediction *all, const struct nest_prediction *without,
                    enum nest_hook hook, struct nest_touched *out)
{
    const unsigned bit = 1u << hook;
    out->without[hook] = without->step;
    out->step |= all->step != without->step ? bit : 0u;
    for (int i = 0; i < all->stages; i++) {
        const struct nest_stage_cost *a = &all->stage[i];
        const struct nest_stage_cost *b = &without->stage[i];
        out->time[i] |= same_time(a, b) ? 0u : bit;
        out->memory[i] |= memcmp(&a->memory, &b->memory, sizeof a->memory) == 0 ? 0u : bit;
    }
}

bool nest_plan_touch(const struct nest_problem *problem, const struct nest_plan *plan,
                     const struct nest_prediction *prediction, struct nest_arena *arena,
                     struct nest_touched *out)
{
    struct nest_problem other = *problem;
    *out = (struct nest_touched){
        .time = NEST_NEW(arena, unsigned, plan->stages),
        .memory = NEST_NEW(arena, unsigned, plan->stages),
    };
    other.overrides = NULL;
    if (!out->time || !out->memory || !nest_plan_evaluate(&other, plan, arena, &out->plain)) {
        return false;
    }
    for (int i = 0; i < NEST_HOOKS && problem->overrides; i++) {
        const enum nest_hook hook = (enum nest_hook)i;
        struct nest_overrides rest = *problem->overrides;
        struct nest_prediction without;
        out->without[i] = prediction->step;
        if (!nest_override_has(problem->overrides, hook)) {
            continue;
        }
        out->hooks |= 1u << i;
        nest_override_drop(&rest, hook);
        other.overrides = &rest;
        if (!nest_plan_evaluate(&other, plan, arena, &without)) {
            return false;
        }
        compare(prediction, &without, hook, out);
    }
    return !problem->overrides || find_levels(problem, plan, arena, out);
}

void nest_hooks_format(unsigned hooks, struct nest_strbuf *out)
{
    int count = 0;
    for (int i = 0; i < NEST_HOOKS; i++) {
        if (hooks & (1u << i)) {
            nest_strbuf_printf(out, "%s%s", count++ ? ", " : "", nest_hook_name((enum nest_hook)i));
        }
    }
}
