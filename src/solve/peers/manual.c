#include "solve/peers/peer.h"

#include "plan/rules.h"

/* One configuration of the recipe. */
struct recipe {
    int64_t tp, pp, micro_batch;
    enum nest_recompute recompute;
};

/* The expert keeps what the scenario pins, and chooses only what is free. */
static bool pinned_out(const struct nest_problem *problem, enum nest_pin_key key, int64_t value)
{
    const struct nest_pin *pin = &problem->pins.pin[key];
    for (int i = 0; i < pin->count; i++) {
        if (value >= pin->range[i].low && value <= pin->range[i].high) {
            return false;
        }
    }
    return pin->count > 0;
}

static void pin_one(struct nest_pins_spec *pins, enum nest_pin_key key, int64_t value)
{
    struct nest_pin *pin = &pins->pin[key];
    pin->count = 1;
    pin->range[0] = (struct nest_range){value, value};
}

/* The first allowed value of a choice that the recipe leaves alone. */
static int64_t settled(const struct nest_problem *problem, enum nest_pin_key key, int64_t otherwise)
{
    const struct nest_pin *pin = &problem->pins.pin[key];
    return pin->count > 0 && pinned_out(problem, key, otherwise) ? pin->range[0].low : otherwise;
}

/* The largest dp that the devices hold and the batch divides by. */
static int64_t most_replicas(const struct nest_problem *problem, const struct recipe *r, int64_t cp)
{
    const int64_t fit = problem->cluster->devices / (r->tp * r->pp * cp);
    for (int64_t dp = fit; dp > 0; dp--) {
        if (problem->train.global_batch % (dp * r->micro_batch) == 0 &&
            !pinned_out(problem, NEST_PIN_DP, dp)) {
            return dp;
        }
    }
    return 0;
}

/* Experts spread over the replicas of a stage as far as they divide. */
static int64_t expert_width(const struct nest_problem *problem, const struct recipe *r, int64_t dp)
{
    const int64_t experts = problem->model->spec->experts;
    for (int64_t ep = experts; ep > 1; ep--) {
        if (experts % ep == 0 && (r->tp * dp) % ep == 0) {
            return settled(problem, NEST_PIN_EP, ep);
        }
    }
    return settled(problem, NEST_PIN_EP, 1);
}

/* Builds and prices one configuration; false where it is illegal or does not fit. */
static bool try_recipe(const struct nest_problem *problem, const struct recipe *r,
                       struct nest_arena *arena, struct nest_solution *out)
{
    struct nest_problem fixed = *problem;
    struct nest_pins_spec *pins = &fixed.pins;
    const int64_t cp = settled(problem, NEST_PIN_CP, 1);
    const int64_t dp = most_replicas(problem, r, cp);
    if (dp == 0) {
        return false;
    }
    pin_one(pins, NEST_PIN_TP, r->tp);
    pin_one(pins, NEST_PIN_PP, r->pp);
    pin_one(pins, NEST_PIN_CP, cp);
    pin_one(pins, NEST_PIN_DP, dp);
    pin_one(pins, NEST_PIN_EP, expert_width(problem, r, dp));
    pin_one(pins, NEST_PIN_ETP, settled(problem, NEST_PIN_ETP, 1));
    pin_one(pins, NEST_PIN_SP, settled(problem, NEST_PIN_SP, r->tp > 1));
    pin_one(pins, NEST_PIN_ZERO, settled(problem, NEST_PIN_ZERO, dp > 1));
    pin_one(pins, NEST_PIN_MICRO_BATCH, r->micro_batch);
    pin_one(pins, NEST_PIN_VIRTUAL_STAGES, settled(problem, NEST_PIN_VIRTUAL_STAGES, 1));
    pin_one(pins, NEST_PIN_RECOMPUTE, (int64_t)r->recompute);
    struct nest_errors ignored;
    nest_errors_init(&ignored, arena);
    const char **assumed;
    return nest_plan_from_pins(&fixed, arena, &out->plan, &assumed, &ignored) == NEST_OK &&
           nest_plan_evaluate(problem, &out->plan, arena, &out->prediction) &&
           out->prediction.feasible;
}

/* The lightest recomputation that fits for this model-parallel size, and the best micro batch. */
static bool best_of_size(const struct nest_problem *problem, struct recipe r,
                         struct nest_arena *arena, struct nest_solution *best)
{
    bool found = false;
    for (int mode = 0; mode < NEST_RECOMPUTES && !found; mode++) {
        r.recompute = (enum nest_recompute)mode;
        if (pinned_out(problem, NEST_PIN_RECOMPUTE, mode)) {
            continue;
        }
        for (r.micro_batch = 1; r.micro_batch <= 16; r.micro_batch *= 2) {
            struct nest_solution candidate;
            if (!pinned_out(problem, NEST_PIN_MICRO_BATCH, r.micro_batch) &&
                try_recipe(problem, &r, arena, &candidate) &&
                (!found || nest_plan_compare(&candidate.plan, candidate.prediction.step,
                                             &best->plan, best->prediction.step) < 0)) {
                *best = candidate;
                found = true;
            }
        }
    }
    return found;
}

/* Tensor parallelism as wide as the model-parallel size and the node allow. */
static int64_t widest_tensor(const struct nest_problem *problem, int64_t size)
{
    const int64_t node = problem->cluster->level[0].capacity;
    int64_t tp = 1;
    while (tp * 2 <= node && size % (tp * 2) == 0) {
        tp *= 2;
    }
    return tp;
}

enum nest_status nest_peer_manual(const struct nest_problem *problem, const atomic_bool *cancel,
                                  struct nest_arena *arena, struct nest_plan *out,
                                  struct nest_errors *errors)
{
    const int64_t most = problem->cluster->devices;
    for (int64_t size = 1; size <= most; size++) {
        if (cancel && atomic_load(cancel)) {
            return NEST_CANCELLED;
        }
        for (int64_t tp = widest_tensor(problem, size); tp >= 1; tp /= 2) {
            const struct recipe r = {.tp = tp, .pp = size / tp};
            struct nest_solution best;
            if (r.pp <= problem->model->layers && problem->model->spec->layers % r.pp == 0 &&
                !pinned_out(problem, NEST_PIN_TP, r.tp) &&
                !pinned_out(problem, NEST_PIN_PP, r.pp) && best_of_size(problem, r, arena, &best)) {
                *out = best.plan;
                return NEST_OK;
            }
        }
    }
    nest_errors_add(errors, (struct nest_mark){0}, NULL, NULL,
                    "the recipe finds no model-parallel size that fits in memory");
    return NEST_NO;
}
