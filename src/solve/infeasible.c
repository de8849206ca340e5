#include "solve/infeasible.h"

#include <inttypes.h>

#include "base/units.h"
#include "input/set.h"
#include "plan/rules.h"
#include "plan/words.h"
#include "solve/least.h"
#include "solve/search.h"

enum { HINT_MAX = 600 };

struct explanation {
    const struct nest_problem *problem;
    const struct nest_bounds *bounds;
    struct nest_solve_options options;
    struct nest_errors *errors;
    struct nest_arena scratch; /* of one relaxed search */
};

/* Solves a relaxed problem. out: the best plan, until the next call. */
static bool solve_relaxed(struct explanation *e, const struct nest_problem *relaxed,
                          struct nest_plan *out)
{
    struct nest_space space;
    struct nest_bounds bounds;
    struct nest_result result = {0};
    nest_arena_reset(&e->scratch);
    if (nest_space_build(relaxed, &e->scratch, &space) != NEST_OK ||
        !nest_bounds_init(&bounds, &space, &e->scratch) ||
        nest_search(&bounds, &e->options, NEST_PS_MAX, &e->scratch, &result) != NEST_OK) {
        return false;
    }
    *out = result.solution->plan;
    return true;
}

static void write_value(const struct nest_plan *plan, enum nest_pin_key key,
                        struct nest_strbuf *out)
{
    const int64_t value = nest_plan_value(plan, key);
    if (key == NEST_PIN_RECOMPUTE) {
        nest_strbuf_add(out, nest_recompute_word((enum nest_recompute)value));
    } else {
        nest_strbuf_printf(out, "%s %" PRId64, nest_pin_name(key), value);
    }
}

/* "free zero (zero 1 is feasible)" for every pin that stands in the way alone. */
static void suggest_pins(struct explanation *e, struct nest_strbuf *hint)
{
    struct nest_problem relaxed = *e->problem;
    struct nest_plan plan;
    for (int key = 0; key < NEST_PINS; key++) {
        struct nest_pin *pin = &relaxed.pins.pin[key];
        if (pin->count > 0) {
            pin->count = 0;
            if (solve_relaxed(e, &relaxed, &plan)) {
                nest_strbuf_printf(hint, "%sfree %s (", hint->length ? ", or " : "",
                                   nest_pin_name((enum nest_pin_key)key));
                write_value(&plan, (enum nest_pin_key)key, hint);
                nest_strbuf_add(hint, " is feasible)");
            }
            *pin = e->problem->pins.pin[key];
        }
    }
    if (relaxed.pins.order.kind != NEST_ORDER_FREE) {
        relaxed.pins.order.kind = NEST_ORDER_FREE;
        if (solve_relaxed(e, &relaxed, &plan)) {
            char order[64];
            nest_strbuf_printf(hint, "%sfree order (%s is feasible)", hint->length ? ", or " : "",
                               nest_order_format(&plan.strategy, order, sizeof order));
        }
    }
}

/* The pinned strategy, every free choice at its least. */
static struct nest_strategy pinned_strategy(const struct nest_problem *problem, int64_t *pp)
{
    int64_t value[NEST_PINS];
    for (int key = 0; key < NEST_PINS; key++) {
        const struct nest_pin *pin = &problem->pins.pin[key];
        value[key] = pin->count > 0 && pin->range[0].low > 0 ? pin->range[0].low : 1;
    }
    struct nest_strategy s = {
        .tp = value[NEST_PIN_TP],
        .cp = value[NEST_PIN_CP],
        .ep = value[NEST_PIN_EP],
        .etp = value[NEST_PIN_ETP],
        .sp = value[NEST_PIN_TP] > 1 && !nest_pin_allows(&problem->pins.pin[NEST_PIN_SP], 0),
        .micro_batch = value[NEST_PIN_MICRO_BATCH],
        .virtual_stages = value[NEST_PIN_VIRTUAL_STAGES],
        .dp_in = value[NEST_PIN_DP],
        .dp_out = 1,
    };
    s.shard = problem->pins.pin[NEST_PIN_SHARD].count > 0 ? value[NEST_PIN_SHARD]
                                                          : nest_strategy_dp(&s) * s.cp;
    s.zero = problem->pins.pin[NEST_PIN_SHARD].count > 0;
    *pp = value[NEST_PIN_PP];
    return s;
}

/* No strategy is legal: names the rule, if the pins break one by themselves. */
static void explain_illegal(struct explanation *e)
{
    int64_t pp;
    const struct nest_strategy s = pinned_strategy(e->problem, &pp);
    const size_t before = e->errors->count;
    if (!nest_rules_check(e->problem, &s, pp, e->errors) && e->errors->count > before) {
        return;
    }
    struct nest_strbuf hint = NEST_STRBUF_INIT(HINT_MAX);
    suggest_pins(e, &hint);
    nest_errors_add(e->errors, (struct nest_mark){0}, NULL,
                    hint.length ? nest_strbuf_text(&hint) : NULL,
                    "no strategy within the pins is legal for %" PRId64
                    " devices and a global batch of %" PRId64,
                    e->problem->cluster->devices, e->problem->train.global_batch);
    nest_strbuf_free(&hint);
}

/* The readable limit that allows so many bytes: rounded up, for it is to be typed in. */
static char *format_limit(int64_t bytes, char *out, size_t size)
{
    char scratch[128];
    const char *hint;
    double typed = 0.0;
    for (double value = (double)bytes; typed < (double)bytes; value *= 1.0005) {
        (void)nest_unit_format(value, NEST_UNIT_BYTES, out, size);
        if (nest_unit_parse(out, NEST_UNIT_BYTES, &typed, &hint, scratch, sizeof scratch)) {
            break;
        }
    }
    return out;
}

/* Whether every plan takes longer than a step can be said to. */
static bool is_endless(const struct nest_bounds *bounds)
{
    const struct nest_space *space = bounds->space;
    for (int i = 0; i < space->families; i++) {
        if (nest_bound_least(bounds, &space->family[i], &bounds->family[i]) < NEST_PS_MAX) {
            return false;
        }
    }
    return true;
}

static void explain_memory(struct explanation *e)
{
    struct nest_least least;
    struct nest_strbuf hint = NEST_STRBUF_INIT(HINT_MAX);
    struct nest_arena arena = NEST_ARENA_INIT;
    suggest_pins(e, &hint);
    if (nest_least_memory(e->bounds, &e->options, &arena, &least) != NEST_OK) {
        const char *hints = hint.length ? nest_strbuf_text(&hint) : NULL;
        if (nest_bounds_fill(e->bounds) && is_endless(e->bounds)) {
            nest_errors_add(e->errors, (struct nest_mark){0}, NULL, hints,
                            "every plan takes longer than %.0f days per step",
                            nest_to_seconds(NEST_PS_MAX) / 86400.0);
        } else {
            nest_errors_add(e->errors, (struct nest_mark){0}, "limits.memory", hints,
                            "no plan fits, whatever the memory limit");
        }
    } else {
        const struct nest_plan *plan = &least.solution.plan;
        const struct nest_strategy *s = &plan->strategy;
        const double missing = (double)(least.limit - e->problem->memory_limit);
        char limit[32];
        char need[32];
        char more[32];
        char enough[32];
        (void)nest_unit_format((double)e->problem->memory_limit, NEST_UNIT_BYTES, limit,
                               sizeof limit);
        (void)nest_unit_format((double)least.limit, NEST_UNIT_BYTES, need, sizeof need);
        (void)nest_unit_format(missing, NEST_UNIT_BYTES, more, sizeof more);
        nest_strbuf_printf(&hint, "%sallow a memory limit of %s", hint.length ? ", or " : "",
                           format_limit(least.limit, enough, sizeof enough));
        nest_errors_add(
            e->errors, (struct nest_mark){0}, "limits.memory", nest_strbuf_text(&hint),
            "no plan fits in %s per device: the least that was found needs %s, %s more, on "
            "stage %d (tp %" PRId64 ", cp %" PRId64 ", pp %d, dp %" PRId64 ", zero %d)",
            limit, need, more, least.stage, s->tp, s->cp, plan->stages, nest_strategy_dp(s),
            s->zero);
    }
    nest_strbuf_free(&hint);
    nest_arena_free(&arena);
}

void nest_explain_infeasible(const struct nest_bounds *bounds,
                             const struct nest_solve_options *options, struct nest_errors *errors)
{
    const struct nest_space *space = bounds->space;
    struct explanation e = {.problem = space->problem, .bounds = bounds, .errors = errors};
    e.options = (struct nest_solve_options){
        .top = 1, .threads = options->threads, .cancel = options->cancel};
    if (space->strategies == 0) {
        explain_illegal(&e);
    } else {
        explain_memory(&e);
    }
    nest_arena_free(&e.scratch);
}
