#include "plan/rules.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/strbuf.h"

/* One check: the problem, the choice, and where faults go (NULL: only the verdict is wanted). */
struct check {
    const struct nest_problem *problem;
    const struct nest_strategy *s;
    int64_t pp;
    struct nest_errors *errors;
    bool legal;
};

static struct nest_mark pin_mark(const struct check *c, enum nest_pin_key key)
{
    return c->problem->pins.pin[key].mark;
}

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* "1, 2, 4, 8": the divisors of n, at most the dozen nearest to value. */
static void list_divisors(int64_t n, int64_t value, char *out, size_t size)
{
    enum { SHOWN = 12 };
    int64_t near[SHOWN];
    int count = 0;
    for (int64_t d = 1; d <= n && d <= (int64_t)1 << 20; d++) {
        if (n % d != 0) {
            continue;
        }
        if (count == SHOWN) {
            if (d - value >= value - near[0]) {
                break;
            }
            for (int i = 1; i < SHOWN; i++) {
                near[i - 1] = near[i];
            }
            count--;
        }
        near[count++] = d;
    }
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < count && used + 24 < size; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s%" PRId64, i ? ", " : "", near[i]);
    }
}

/* dividend mod value must be 0; both are named. */
static void must_divide(struct check *c, enum nest_pin_key key, const char *name, int64_t value,
                        const char *dividend_name, int64_t dividend)
{
    if (value > 0 && dividend % value == 0) {
        return;
    }
    c->legal = false;
    if (!c->errors) {
        return;
    }
    char divisors[200];
    char hint[240];
    list_divisors(dividend, value, divisors, sizeof divisors);
    (void)snprintf(hint, sizeof hint, "legal values of %s: %s", name, divisors);
    nest_errors_add(c->errors, pin_mark(c, key), name, hint,
                    "%s %" PRId64 " does not divide %s %" PRId64 " (%" PRId64 " mod %" PRId64
                    " = %" PRId64 ")",
                    name, value, dividend_name, dividend, dividend, value,
                    value > 0 ? dividend % value : dividend);
}

static void check_heads(struct check *c)
{
    const struct nest_model_spec *model = c->problem->model->spec;
    const int64_t tp = c->s->tp;
    if (model->heads <= 0) {
        return;
    }
    must_divide(c, NEST_PIN_TP, "tp", tp, "heads", model->heads);
    const int64_t kv = model->kv_heads;
    if (model->attention != NEST_ATTENTION_MLA && kv > 0 && kv % tp != 0 && tp % kv != 0) {
        c->legal = false;
        if (c->errors) {
            nest_errors_add(c->errors, pin_mark(c, NEST_PIN_TP), "tp",
                            "one must divide the other; heads are replicated where tp is larger",
                            "tp %" PRId64 " and kv_heads %" PRId64 " do not divide each other", tp,
                            kv);
        }
    }
    if (model->ffn > 0) {
        must_divide(c, NEST_PIN_TP, "tp", tp, "ffn", model->ffn);
    }
}

static void check_experts(struct check *c)
{
    const struct nest_model_spec *model = c->problem->model->spec;
    const struct nest_strategy *s = c->s;
    if (model->experts <= 1) {
        if (s->ep != 1 || s->etp != 1) {
            c->legal = false;
            if (c->errors) {
                nest_errors_add(c->errors, pin_mark(c, NEST_PIN_EP), "ep", "use ep 1 and etp 1",
                                "ep %" PRId64 ", etp %" PRId64 ": the model has no experts", s->ep,
                                s->etp);
            }
        }
        return;
    }
    must_divide(c, NEST_PIN_EP, "ep", s->ep, "experts", model->experts);
    if (model->moe_ffn > 0) {
        must_divide(c, NEST_PIN_ETP, "etp", s->etp, "moe_ffn", model->moe_ffn);
    }
    const int64_t used = s->tp * s->cp * nest_strategy_dp(s) * c->pp;
    const int64_t product = s->etp * s->ep * c->pp;
    if (used % product != 0) {
        c->legal = false;
        if (c->errors) {
            char divisors[200];
            char hint[240];
            list_divisors(used / c->pp, s->etp * s->ep, divisors, sizeof divisors);
            (void)snprintf(hint, sizeof hint, "etp x ep may be one of %s", divisors);
            nest_errors_add(c->errors, pin_mark(c, NEST_PIN_EP), "ep", hint,
                            "etp %" PRId64 " x ep %" PRId64 " x pp %" PRId64 " = %" PRId64
                            " does not divide the %" PRId64 " devices in use",
                            s->etp, s->ep, c->pp, product, used);
        }
    }
}

static void check_sequence(struct check *c)
{
    const struct nest_strategy *s = c->s;
    const int64_t seq = c->problem->model->spec->seq;
    const int64_t tp = s->sp ? s->tp : 1;
    const int64_t half = s->cp > 1 ? 2 : 1; /* causal ring attention gives each rank two chunks */
    const int64_t unit = s->cp * (half * tp / greatest_common_divisor(half, tp));
    if (seq % unit == 0) {
        return;
    }
    c->legal = false;
    if (c->errors) {
        char hint[120];
        (void)snprintf(hint, sizeof hint, "nearest legal seq: %" PRId64 " or %" PRId64,
                       seq / unit * unit, (seq / unit + 1) * unit);
        nest_errors_add(c->errors, pin_mark(c, NEST_PIN_CP), "cp", hint,
                        "seq %" PRId64 " is not a multiple of %" PRId64 " = cp x lcm(%" PRId64
                        ", %s%" PRId64 ") (%" PRId64 " mod %" PRId64 " = %" PRId64 ")",
                        seq, unit, half, s->sp ? "tp " : "", tp, seq, unit, seq % unit);
    }
}

static void check_devices(struct check *c)
{
    const struct nest_strategy *s = c->s;
    const int64_t dp = nest_strategy_dp(s);
    const int64_t product = s->tp * s->cp * c->pp * dp;
    const int64_t devices = c->problem->cluster->devices;
    if (product <= devices) {
        return;
    }
    c->legal = false;
    if (c->errors) {
        char hint[120];
        const int64_t most = devices / (s->tp * s->cp * c->pp);
        if (most > 0) {
            (void)snprintf(hint, sizeof hint, "dp may be at most %" PRId64, most);
        } else {
            (void)snprintf(hint, sizeof hint, "tp x cp x pp alone is %" PRId64,
                           s->tp * s->cp * c->pp);
        }
        nest_errors_add(c->errors, pin_mark(c, NEST_PIN_DP), "dp", hint,
                        "tp %" PRId64 " x cp %" PRId64 " x pp %" PRId64 " x dp %" PRId64
                        " = %" PRId64 " is more than the %" PRId64 " devices",
                        s->tp, s->cp, c->pp, dp, product, devices);
    }
}

static void check_batch(struct check *c)
{
    const int64_t batch = c->problem->train.global_batch;
    const int64_t dp = nest_strategy_dp(c->s);
    const int64_t slice = c->s->micro_batch * dp;
    if (slice > 0 && batch % slice == 0) {
        return;
    }
    if (c->problem->allow_ragged_batch && slice > 0 && slice <= batch) {
        return;
    }
    c->legal = false;
    if (c->errors && slice > 0) {
        char hint[160];
        const int64_t below = batch / slice * slice;
        (void)snprintf(hint, sizeof hint, "nearest legal global_batch: %" PRId64 "%s%" PRId64,
                       below > 0 ? below : slice, below > 0 ? " or " : "; twice that is ",
                       below > 0 ? below + slice : 2 * slice);
        nest_errors_add(c->errors, pin_mark(c, NEST_PIN_MICRO_BATCH), "micro_batch", hint,
                        "global_batch %" PRId64 " is not a multiple of micro_batch %" PRId64
                        " x dp %" PRId64 " = %" PRId64 " (%" PRId64 " mod %" PRId64 " = %" PRId64
                        ")",
                        batch, c->s->micro_batch, dp, slice, batch, slice, batch % slice);
    }
}

static void check_pipeline(struct check *c)
{
    const int64_t layers = c->problem->model->layers;
    if (c->pp >= 1 && c->pp <= layers) {
        return;
    }
    c->legal = false;
    if (c->errors) {
        char hint[80];
        (void)snprintf(hint, sizeof hint, "pp may be 1 to %" PRId64, layers);
        nest_errors_add(c->errors, pin_mark(c, NEST_PIN_PP), "pp", hint,
                        "pp %" PRId64 " is more than the %" PRId64
                        " layers (embedding and head included)",
                        c->pp, layers);
    }
}

static void fault_interleaving(struct check *c, const char *hint, const char *what)
{
    c->legal = false;
    if (c->errors) {
        nest_errors_add(c->errors, pin_mark(c, NEST_PIN_VIRTUAL_STAGES), "virtual_stages", hint,
                        "%s", what);
    }
}

/* M >= pp and M mod pp is 0 or >= pp (Megatron-LM, framework rules P5, P6; group size pp). */
static void check_interleaving(struct check *c)
{
    const struct nest_strategy *s = c->s;
    const int64_t v = s->virtual_stages;
    if (v <= 1) {
        return;
    }
    char what[200];
    if (c->problem->model->spec->graph) {
        fault_interleaving(c, "use virtual_stages 1",
                           "interleaving needs a chain of equal blocks, and this model is a graph");
        return;
    }
    if (c->pp == 1) {
        fault_interleaving(c, "use virtual_stages 1, or pp of at least 2",
                           "interleaving needs a pipeline, and pp is 1");
        return;
    }
    const int64_t slice = s->micro_batch * nest_strategy_dp(s);
    const int64_t m =
        slice > 0 ? nest_problem_microbatches(c->problem, s->micro_batch, nest_strategy_dp(s)) : 0;
    if (m < c->pp || m % c->pp != 0) {
        char hint[160];
        (void)snprintf(hint, sizeof hint,
                       "make M a multiple of %" PRId64 " (global_batch %" PRId64
                       "), or use virtual_stages 1",
                       c->pp, (m / c->pp + 1) * c->pp * slice);
        (void)snprintf(what, sizeof what,
                       "interleaving needs M >= pp and M mod pp = 0, and M is %" PRId64
                       " microbatches for pp %" PRId64,
                       m, c->pp);
        fault_interleaving(c, hint, what);
    }
    const int64_t blocks = c->problem->model->spec->layers;
    if (blocks < v * c->pp && blocks + 2 < v * c->pp) {
        (void)snprintf(what, sizeof what,
                       "pp %" PRId64 " x virtual_stages %" PRId64 " = %" PRId64
                       " chunks is more than the %" PRId64 " blocks",
                       c->pp, v, v * c->pp, blocks);
        fault_interleaving(c, "use fewer virtual_stages or fewer stages", what);
    }
}

static void check_shard(struct check *c)
{
    const struct nest_strategy *s = c->s;
    if (s->zero > 0) {
        must_divide(c, NEST_PIN_SHARD, "shard", s->shard, "dp x cp", nest_strategy_dp(s) * s->cp);
    }
}

static void check_profile(struct check *c)
{
    const struct nest_model_spec *model = c->problem->model->spec;
    for (int i = 0; i < model->profile_layers; i++) {
        bool measured = false;
        for (int e = 0; e < model->profile[i].entries; e++) {
            measured = measured || model->profile[i].entry[e].tp == c->s->tp;
        }
        if (!measured) {
            c->legal = false;
            if (c->errors) {
                nest_errors_add(
                    c->errors, pin_mark(c, NEST_PIN_TP), "tp", "use a width that was measured",
                    "layer '%s' has no profile for tp %" PRId64, model->profile[i].name, c->s->tp);
            }
            return;
        }
    }
}

bool nest_rules_check(const struct nest_problem *problem, const struct nest_strategy *strategy,
                      int64_t pp, struct nest_errors *errors)
{
    static void (*const rule[])(struct check *) = {
        check_devices, check_pipeline,     check_heads, check_sequence, check_experts,
        check_batch,   check_interleaving, check_shard, check_profile,
    };
    struct check c = {problem, strategy, pp, errors, true};
    for (size_t i = 0; i < sizeof rule / sizeof rule[0]; i++) {
        rule[i](&c);
        if (!c.legal && !errors) {
            return false;
        }
    }
    return c.legal;
}

bool nest_rules_apply(const struct nest_problem *problem, const struct nest_plan *plan)
{
    const struct nest_strategy *s = &plan->strategy;
    return plan->stages > 0 && nest_plan_covers(problem->model, plan) &&
           s->selection <= problem->cluster->selections &&
           s->span * s->dp_out <= nest_cluster_selected(problem->cluster, s->selection)->devices &&
           nest_rules_check(problem, s, plan->stages, NULL);
}
