#include "solve/peers/peer.h"

enum { CANDIDATES = 256 };

/* One switch over all devices at the bandwidth between nodes, which is what a placement that does
 * not look at the network has to expect. */
static struct nest_cluster flatten(const struct nest_cluster *cluster)
{
    struct nest_cluster flat = *cluster;
    const struct nest_level *between = &cluster->level[cluster->levels > 1 ? 1 : 0];
    flat.levels = 1;
    flat.uniform = true;
    flat.selections = 0;
    flat.level[0] = (struct nest_level){
        .name = "flat",
        .kind = NEST_LEVEL_SWITCH,
        .fanout = cluster->devices,
        .capacity = cluster->devices,
        .bandwidth = between->bandwidth,
        .latency = between->latency,
        .oversubscription = 1.0,
        .groups = 1,
    };
    return flat;
}

static void pin_if_free(struct nest_pins_spec *pins, enum nest_pin_key key, int64_t value)
{
    struct nest_pin *pin = &pins->pin[key];
    if (pin->count == 0) {
        pin->count = 1;
        pin->range[0] = (struct nest_range){value, value};
    }
}

/* Phaze plans tensor, pipeline and data parallelism with recomputation; the rest is not in its
 * space. */
static struct nest_problem narrow(const struct nest_problem *problem,
                                  const struct nest_cluster *flat)
{
    struct nest_problem narrowed = *problem;
    narrowed.cluster = flat;
    narrowed.memory_limit = INT64_MAX / 4;
    narrowed.allow_stage_zero = false;
    narrowed.allow_stage_tp = false;
    pin_if_free(&narrowed.pins, NEST_PIN_CP, 1);
    pin_if_free(&narrowed.pins, NEST_PIN_ETP, 1);
    pin_if_free(&narrowed.pins, NEST_PIN_VIRTUAL_STAGES, 1);
    pin_if_free(&narrowed.pins, NEST_PIN_ZERO, 0);
    if (narrowed.pins.order.kind == NEST_ORDER_FREE) {
        narrowed.pins.order.kind = NEST_ORDER_NEST;
    }
    return narrowed;
}

/* On the real cluster: packed where the flat one put it, levels and cost as they are. */
static bool fits(const struct nest_problem *problem, struct nest_plan *plan,
                 struct nest_arena *arena)
{
    struct nest_prediction prediction;
    nest_plan_settle(problem, plan);
    return nest_plan_evaluate(problem, plan, arena, &prediction) && prediction.feasible;
}

enum nest_status nest_peer_phaze(const struct nest_problem *problem, const atomic_bool *cancel,
                                 struct nest_arena *arena, struct nest_plan *out,
                                 struct nest_errors *errors)
{
    const struct nest_cluster flat = flatten(problem->cluster);
    struct nest_problem narrowed = narrow(problem, &flat);
    const struct nest_solve_options options = {.top = CANDIDATES, .threads = 1, .cancel = cancel};
    /* Without a limit recomputation is never chosen; memory forces it, afterwards, on all stages.
     */
    for (int mode = 0; mode < NEST_RECOMPUTES; mode++) {
        struct nest_result result;
        pin_if_free(&narrowed.pins, NEST_PIN_RECOMPUTE, mode);
        const enum nest_status status = nest_solve(&narrowed, &options, arena, &result);
        if (status != NEST_OK && status != NEST_NO) {
            return status;
        }
        for (int i = 0; i < result.count; i++) {
            if (fits(problem, &result.solution[i].plan, arena)) {
                *out = result.solution[i].plan;
                return NEST_OK;
            }
        }
        narrowed.pins.pin[NEST_PIN_RECOMPUTE] = problem->pins.pin[NEST_PIN_RECOMPUTE];
    }
    nest_errors_add(errors, (struct nest_mark){0}, NULL,
                    "it plans without ZeRO and looks at memory only afterwards",
                    "none of its %d best plans fits in memory", CANDIDATES);
    return NEST_NO;
}
