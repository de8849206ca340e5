#include "export/lower.h"

#include <inttypes.h>

#include "input/set.h"
#include "plan/rules.h"
#include "plan/words.h"

static const double GIB = 1024.0 * 1024.0 * 1024.0;

struct lowering {
    const struct nest_export *in;
    const struct nest_dialect *dialect;
    struct nest_plan *plan;
    struct nest_notes *notes;
    struct nest_errors *errors;
    bool changed;
};

int64_t nest_range_blocks(const struct nest_problem *problem, const struct nest_range *range)
{
    const int64_t head = problem->model->layers - 1;
    const int64_t first = range->low == 0 ? 1 : range->low;
    const int64_t last = range->high == head ? head - 1 : range->high;
    return last >= first ? last - first + 1 : 0;
}

bool nest_plan_even(const struct nest_problem *problem, const struct nest_plan *plan)
{
    const int64_t blocks = nest_range_blocks(problem, &plan->stage[0].layers[0]);
    for (int i = 0; i < plan->stages; i++) {
        for (int r = 0; r < plan->stage[i].ranges; r++) {
            if (nest_range_blocks(problem, &plan->stage[i].layers[r]) != blocks) {
                return false;
            }
        }
    }
    return true;
}

static enum nest_status refuse(struct lowering *l, const char *path, const char *hint,
                               const char *message)
{
    nest_errors_add(l->errors, (struct nest_mark){NULL, 0, 0}, path, hint, "%s %s",
                    l->dialect->name, message);
    return NEST_NO;
}

static void lower_recompute(struct lowering *l)
{
    const enum nest_recompute heaviest = nest_plan_heaviest(l->plan);
    int lighter = 0;
    for (int i = 0; i < l->plan->stages; i++) {
        lighter += l->plan->stage[i].recompute != heaviest;
        l->plan->stage[i].recompute = heaviest;
    }
    if (lighter > 0) {
        l->changed = true;
        nest_note(l->notes,
                  "recompute: %d of %d stages use a lighter mode, and %s has one setting for all: "
                  "every stage now recomputes '%s'",
                  lighter, l->plan->stages, l->dialect->name, nest_recompute_word(heaviest));
    }
}

static void set_zero(struct lowering *l, int zero, const char *why)
{
    struct nest_strategy *s = &l->plan->strategy;
    nest_note(l->notes, "zero: %d becomes %d, because %s %s", s->zero, zero, l->dialect->name, why);
    s->zero = zero;
    for (int i = 0; i < l->plan->stages; i++) {
        l->plan->stage[i].zero = zero;
    }
    l->changed = true;
}

static bool price(struct lowering *l, const struct nest_plan *plan,
                  struct nest_prediction *prediction)
{
    return nest_plan_evaluate(l->in->problem, plan, l->in->arena, prediction);
}

/* What ZeRO 1 becomes where there is none: 0 if that fits and is faster, else 2. */
static bool replace_zero1(struct lowering *l, int *zero)
{
    const int choice[] = {0, 2};
    struct nest_prediction prediction[2];
    for (int c = 0; c < 2; c++) {
        struct nest_plan plan;
        if (!nest_plan_copy(l->plan, l->in->arena, &plan)) {
            return false;
        }
        plan.strategy.zero = choice[c];
        for (int i = 0; i < plan.stages; i++) {
            plan.stage[i].zero = choice[c];
        }
        if (!price(l, &plan, &prediction[c])) {
            return false;
        }
    }
    const bool unsharded = prediction[0].feasible &&
                           (prediction[0].step <= prediction[1].step || !prediction[1].feasible);
    *zero = unsharded ? 0 : 2;
    return true;
}

static bool lower_zero(struct lowering *l)
{
    struct nest_strategy *s = &l->plan->strategy;
    const int64_t replicas = nest_strategy_dp(s) * s->cp;
    int most = 0, differ = 0;
    for (int i = 0; i < l->plan->stages; i++) {
        most = l->plan->stage[i].zero > most ? l->plan->stage[i].zero : most;
        differ += l->plan->stage[i].zero != l->plan->stage[0].zero;
    }
    if (differ > 0) {
        s->zero = most;
        set_zero(l, most, "has one ZeRO stage for all pipeline stages");
    }
    if (l->plan->stages > 1 && s->zero > l->dialect->zero_with_pipeline) {
        set_zero(l, l->dialect->zero_with_pipeline,
                 "does not combine a higher one with a pipeline");
    }
    if (s->zero == 1 && !l->dialect->zero1) {
        int zero = 2;
        if (!replace_zero1(l, &zero)) {
            return false;
        }
        set_zero(l, zero, "has no ZeRO 1");
    }
    if (s->zero > 0 && s->shard != replicas && s->zero < l->dialect->shard_groups_from) {
        nest_note(l->notes,
                  "shard: %" PRId64 " becomes %" PRId64
                  ", because %s divides ZeRO %d state over all replicas",
                  s->shard, replicas, l->dialect->name, s->zero);
        s->shard = replicas;
        l->changed = true;
    }
    return true;
}

static void lower_sp(struct lowering *l)
{
    struct nest_strategy *s = &l->plan->strategy;
    const bool moe = l->in->problem->model->spec->experts > 1;
    const bool needed = l->dialect->sp_follows_tp || (l->dialect->moe_needs_sp && moe);
    if (s->tp > 1 && !s->sp && needed) {
        s->sp = true;
        l->changed = true;
        nest_note(l->notes, "sp: switched on, because %s needs it %s", l->dialect->name,
                  l->dialect->sp_follows_tp ? "with tensor parallelism"
                                            : "for experts with tensor parallelism");
    }
}

/* One range per stage: the blocks spread evenly, the rest to the stages before the last. */
static bool uninterleave(struct lowering *l)
{
    struct nest_plan *plan = l->plan;
    const int64_t blocks = l->in->problem->model->layers - 2;
    const int64_t each = blocks / plan->stages;
    int64_t rest = blocks % plan->stages;
    struct nest_range *range = NEST_NEW(l->in->arena, struct nest_range, plan->stages);
    if (range == NULL) {
        return false;
    }
    int64_t next = 1;
    for (int i = 0; i < plan->stages; i++) {
        const bool last = i + 1 == plan->stages;
        const bool extra = !last && i + 1 + rest >= plan->stages && rest > 0;
        const int64_t count = each + (extra ? 1 : 0);
        rest -= extra ? 1 : 0;
        range[i] = (struct nest_range){i == 0 ? 0 : next, next + count - 1 + (last ? 1 : 0)};
        next += count;
        plan->stage[i].ranges = 1;
        plan->stage[i].layers = &range[i];
    }
    plan->strategy.virtual_stages = 1;
    l->changed = true;
    return true;
}

static bool lower_interleaving(struct lowering *l)
{
    const int64_t v = l->plan->strategy.virtual_stages;
    if (v == 1) {
        return true;
    }
    const int64_t m = l->plan->microbatches;
    const int p = l->plan->stages;
    if (!l->dialect->interleaving) {
        nest_note(l->notes, "virtual_stages: %" PRId64 " becomes 1, because %s has no interleaving",
                  v, l->dialect->name);
        return uninterleave(l);
    }
    if (m % p != 0) {
        nest_note(l->notes,
                  "virtual_stages: %" PRId64
                  " becomes 1, because %s interleaves only if the %" PRId64
                  " microbatches are a multiple of the %d stages",
                  v, l->dialect->name, m, p);
        return uninterleave(l);
    }
    return true;
}

static void lower_etp(struct lowering *l)
{
    struct nest_strategy *s = &l->plan->strategy;
    if (s->etp > 1 && !l->dialect->etp) {
        nest_note(l->notes,
                  "etp: %" PRId64 " becomes 1, because %s has no expert tensor parallelism", s->etp,
                  l->dialect->name);
        s->etp = 1;
        l->changed = true;
    }
}

/* Whether tp-cp-pp-dp may be asked for: the pipeline groups of dense and expert ranks must be the
 * same, that is expert dp = dp (framework_rules: rank order of Megatron). */
static bool nest_order_legal(const struct lowering *l)
{
    const struct nest_strategy *s = &l->plan->strategy;
    const bool moe = l->in->problem->model->spec->experts > 1;
    const int64_t expert_width = moe ? s->etp * s->ep : s->tp;
    return l->dialect->order_nest && s->tp * s->cp == expert_width;
}

/* Puts dp replicas side by side (out = 1) or one behind the other (out = dp), and packs. */
static void reorder(struct lowering *l, struct nest_plan *plan, bool megatron)
{
    const int64_t dp = nest_strategy_dp(&plan->strategy);
    plan->strategy.dp_in = megatron ? dp : 1;
    plan->strategy.dp_out = megatron ? 1 : dp;
    nest_plan_pack(plan);
    nest_plan_settle(l->in->problem, plan);
}

static bool lower_order(struct lowering *l)
{
    const struct nest_strategy before = l->plan->strategy;
    const int64_t dp = nest_strategy_dp(&before);
    const bool megatron = before.dp_out == 1 || l->plan->stages == 1;
    const bool nest = before.dp_in == 1 && nest_order_legal(l);
    if (megatron || nest || dp == 1) {
        return true;
    }
    struct nest_prediction first, second;
    struct nest_plan other;
    reorder(l, l->plan, true);
    if (!price(l, l->plan, &first)) {
        return false;
    }
    if (nest_order_legal(l)) {
        if (!nest_plan_copy(l->plan, l->in->arena, &other)) {
            return false;
        }
        reorder(l, &other, false);
        if (!price(l, &other, &second)) {
            return false;
        }
        if (second.feasible && second.step < first.step) {
            *l->plan = other;
        }
    }
    char from[64], to[64];
    nest_note(l->notes, "order: %s becomes %s, because %s %s",
              nest_order_format(&before, from, sizeof from),
              nest_order_format(&l->plan->strategy, to, sizeof to), l->dialect->name,
              before.dp_in == 1 && l->dialect->order_nest
                  ? "has that rank order only where expert dp equals dp"
                  : "has no such rank order");
    l->changed = true;
    return true;
}

static enum nest_status check_refusals(struct lowering *l)
{
    const struct nest_plan *plan = l->plan;
    for (int i = 0; i < plan->stages; i++) {
        if (plan->stage[i].tp != plan->strategy.tp) {
            return refuse(l, "tp", "solve again without 'allow: [stage_tp]'",
                          "has one tensor-parallel width for all stages");
        }
    }
    const struct nest_model *model = l->in->problem->model;
    if (model->spec->profile_layers > 0) {
        return refuse(l, "model", "give the model by its shape",
                      "needs the model's shape, and this one has measured layers only");
    }
    if (model->edges > 0 && (plan->stages > 1 || !l->dialect->any_model)) {
        return refuse(l, "model", "take the stages from --to json, the devices from --to rankmap",
                      model->cuts
                          ? "has no flags for a model that branches"
                          : "has no flags for a model whose stages hand on several tensors");
    }
    if (l->dialect->microbatches_cover && plan->microbatches < plan->stages) {
        return refuse(l, "pp",
                      "pin pp to the number of microbatches or less, or a smaller micro_batch",
                      "stops with fewer microbatches than stages");
    }
    return NEST_OK;
}

static int64_t most_memory(const struct nest_prediction *prediction)
{
    int64_t most = 0;
    for (int i = 0; i < prediction->stages; i++) {
        most = prediction->stage[i].memory.total > most ? prediction->stage[i].memory.total : most;
    }
    return most;
}

/* Prices the lowered plan, tells the difference and refuses what does not fit. */
static enum nest_status judge(struct lowering *l, struct nest_prediction *prediction)
{
    nest_plan_settle(l->in->problem, l->plan);
    if (!nest_rules_check(l->in->problem, &l->plan->strategy, l->plan->stages, l->errors)) {
        return NEST_NO;
    }
    if (!price(l, l->plan, prediction)) {
        return NEST_NO_MEMORY;
    }
    nest_note(l->notes,
              "as exported: step %.4g s (planned %.4g s), most memory %.2f GiB (planned %.2f)",
              nest_to_seconds(prediction->step), nest_to_seconds(l->in->prediction->step),
              (double)most_memory(prediction) / GIB, (double)most_memory(l->in->prediction) / GIB);
    if (!prediction->feasible) {
        nest_errors_add(l->errors, (struct nest_mark){NULL, 0, 0}, "plan",
                        "pin what was lowered and solve again",
                        "the nearest plan that %s can express needs %.2f GiB of %.2f GiB",
                        l->dialect->name, (double)most_memory(prediction) / GIB,
                        (double)prediction->memory_limit / GIB);
        return NEST_NO;
    }
    return NEST_OK;
}

enum nest_status nest_lower(const struct nest_export *in, const struct nest_dialect *dialect,
                            struct nest_plan *plan, struct nest_prediction *prediction,
                            struct nest_notes *notes, struct nest_errors *errors)
{
    struct lowering l = {in, dialect, plan, notes, errors, false};
    if (!nest_plan_copy(in->plan, in->arena, plan)) {
        return NEST_NO_MEMORY;
    }
    const enum nest_status refused = check_refusals(&l);
    if (refused != NEST_OK) {
        return refused;
    }
    lower_recompute(&l);
    lower_sp(&l);
    lower_etp(&l);
    if (!lower_zero(&l) || !lower_interleaving(&l) || !lower_order(&l)) {
        return NEST_NO_MEMORY;
    }
    const int64_t idle = in->problem->cluster->devices - plan->devices_used;
    if (idle > 0) {
        nest_note(notes,
                  "%" PRId64 " devices stay idle: start %" PRId64
                  " ranks, on the devices that `nest export --to rankmap` lists",
                  idle, plan->devices_used);
    }
    if (!l.changed) {
        *prediction = *in->prediction;
        return NEST_OK;
    }
    return judge(&l, prediction);
}
