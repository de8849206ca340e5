#include "plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/remarks.h"
#include "plan/rules.h"

enum { ASSUMED_MAX = 16, KIND_MAX = 160 };

/* Building a plan from pins: what was asked, what was assumed, where faults go. */
struct builder {
    const struct nest_problem *problem;
    struct nest_arena *arena;
    struct nest_errors *errors;
    const char **assumed;
    int count;
    bool failed;
};

static const char *const pin_name[NEST_PINS] = {
    [NEST_PIN_TP] = "tp",
    [NEST_PIN_PP] = "pp",
    [NEST_PIN_DP] = "dp",
    [NEST_PIN_CP] = "cp",
    [NEST_PIN_EP] = "ep",
    [NEST_PIN_ETP] = "etp",
    [NEST_PIN_SP] = "sp",
    [NEST_PIN_ZERO] = "zero",
    [NEST_PIN_SHARD] = "shard",
    [NEST_PIN_MICRO_BATCH] = "micro_batch",
    [NEST_PIN_VIRTUAL_STAGES] = "virtual_stages",
    [NEST_PIN_RECOMPUTE] = "recompute",
};

const char *nest_pin_name(enum nest_pin_key key)
{
    return pin_name[key];
}

static void assume(struct builder *b, const char *name)
{
    if (b->count < ASSUMED_MAX) {
        b->assumed[b->count++] = name;
    }
}

/* The pinned value, or the default when the choice is free. */
static int64_t choose(struct builder *b, enum nest_pin_key key, int64_t otherwise)
{
    const struct nest_pin *pin = &b->problem->pins.pin[key];
    if (pin->count == 0) {
        assume(b, pin_name[key]);
        return otherwise;
    }
    if (pin->count > 1 || pin->range[0].low != pin->range[0].high) {
        nest_errors_add(b->errors, pin->mark, pin_name[key], "give one value",
                        "eval predicts one configuration, and %s is pinned to several values",
                        pin_name[key]);
        b->failed = true;
    }
    return pin->range[0].low;
}

static void choose_order(struct builder *b, int64_t dp, struct nest_strategy *s)
{
    const struct nest_order_pin *order = &b->problem->pins.order;
    s->dp_in = dp;
    s->dp_out = 1;
    switch (order->kind) {
    case NEST_ORDER_FREE:
        assume(b, "order");
        break;
    case NEST_ORDER_MEGATRON:
        break;
    case NEST_ORDER_NEST:
        s->dp_in = 1;
        s->dp_out = dp;
        break;
    case NEST_ORDER_SPLIT:
        s->dp_in = order->dp_in;
        s->dp_out = order->dp_out;
        if (s->dp_in * s->dp_out != dp) {
            nest_errors_add(b->errors, order->mark, "order", "the two must multiply to dp",
                            "order splits dp into %" PRId64 " x %" PRId64 ", and dp is %" PRId64,
                            s->dp_in, s->dp_out, dp);
            b->failed = true;
        }
        break;
    }
}

/* Fills the strategy; pp is returned. Values below 1 are the loader's business. */
static int64_t choose_strategy(struct builder *b, struct nest_strategy *s)
{
    s->tp = choose(b, NEST_PIN_TP, 1);
    const int64_t pp = choose(b, NEST_PIN_PP, 1);
    s->cp = choose(b, NEST_PIN_CP, 1);
    const int64_t fit = b->problem->cluster->devices / (s->tp * s->cp * pp);
    const int64_t dp = choose(b, NEST_PIN_DP, fit > 0 ? fit : 1);
    s->ep = choose(b, NEST_PIN_EP, 1);
    s->etp = choose(b, NEST_PIN_ETP, 1);
    s->sp = choose(b, NEST_PIN_SP, s->tp > 1) != 0;
    s->zero = (int)choose(b, NEST_PIN_ZERO, dp * s->cp > 1);
    s->shard = choose(b, NEST_PIN_SHARD, dp * s->cp);
    s->micro_batch = choose(b, NEST_PIN_MICRO_BATCH, 1);
    s->virtual_stages = choose(b, NEST_PIN_VIRTUAL_STAGES, 1);
    choose_order(b, dp, s);
    if (s->sp && s->tp == 1) {
        s->sp = false;
        nest_errors_add(b->errors, b->problem->pins.pin[NEST_PIN_SP].mark, "sp",
                        "frameworks switch it off silently",
                        "sequence parallelism without tensor parallelism does nothing");
    }
    return pp;
}

/* n things over s places: evenly, the remainder one each to the places just before the last. */
static int64_t even_share(int64_t n, int64_t s, int64_t i)
{
    const int64_t rest = n % s;
    return n / s + (i >= s - 1 - rest && i < s - 1 ? 1 : 0);
}

/* Blocks in front of chunk c of a plan with even stages, and whether the split exists. */
struct split {
    int64_t blocks, lead, trail; /* lead, trail: layers in front of them and behind */
    int64_t stages, chunks;      /* per stage */
    int64_t short_first, short_last;
};

static bool plan_split(const struct nest_model *model, int64_t stages, int64_t chunks,
                       struct split *out)
{
    out->lead = model->lead;
    out->trail = model->trail;
    out->blocks = model->layers - out->lead - out->trail;
    out->stages = stages;
    out->chunks = chunks;
    for (int64_t missing = 0; missing <= 2; missing++) {
        out->short_last = missing >= 1;
        out->short_first = missing == 2;
        if ((out->blocks + missing) % chunks == 0) {
            return true;
        }
    }
    return false;
}

static int64_t chunk_blocks(const struct split *split, int64_t chunk)
{
    const int64_t last = split->stages * split->chunks - 1;
    const int64_t per_chunk =
        (split->blocks + split->short_first + split->short_last) / split->chunks;
    return even_share(per_chunk, split->stages, chunk % split->stages) -
           (chunk == 0 ? split->short_first : 0) - (chunk == last ? split->short_last : 0);
}

/* Fills the layers of every stage; false when some chunk would hold no layer. */
static bool fill_layers(const struct split *split, struct nest_plan *plan)
{
    int64_t next = 0;
    const int64_t last = split->stages * split->chunks - 1;
    for (int64_t c = 0; c <= last; c++) {
        const int64_t count =
            chunk_blocks(split, c) + (c == 0 ? split->lead : 0) + (c == last ? split->trail : 0);
        if (count < 1) {
            return false;
        }
        plan->stage[c % split->stages].layers[c / split->stages] =
            (struct nest_range){next, next + count - 1};
        next += count;
    }
    return true;
}

static bool allocate_stages(struct builder *b, int64_t pp, int64_t chunks, struct nest_plan *plan)
{
    plan->stages = (int)pp;
    plan->stage = NEST_NEW(b->arena, struct nest_plan_stage, pp);
    if (!plan->stage) {
        return false;
    }
    for (int64_t i = 0; i < pp; i++) {
        plan->stage[i].ranges = (int)chunks;
        plan->stage[i].layers = NEST_NEW(b->arena, struct nest_range, chunks);
        if (!plan->stage[i].layers) {
            return false;
        }
    }
    return true;
}

void nest_plan_settle(const struct nest_problem *problem, struct nest_plan *plan)
{
    const struct nest_strategy *s = &plan->strategy;
    const int64_t dp = nest_strategy_dp(s);
    plan->microbatches = nest_problem_microbatches(problem, s->micro_batch, dp);
    plan->devices_used = 0;
    for (int i = 0; i < plan->stages; i++) {
        plan->devices_used += plan->stage[i].tp * s->cp * dp;
    }
    for (int i = 0; i < plan->stages; i++) {
        const bool inner = i + 1 < plan->stages;
        plan->stage[i].out_level = inner ? nest_plan_link(problem, plan, i) : -1;
        plan->stage[i].in_level = i > 0 ? plan->stage[i - 1].out_level : -1;
    }
}

void nest_plan_pack(struct nest_plan *plan)
{
    int64_t x = 0;
    for (int i = 0; i < plan->stages; i++) {
        plan->stage[i].first_device = x;
        x += plan->stage[i].tp * plan->strategy.cp * plan->strategy.dp_in;
    }
    plan->strategy.span = x;
}

static void fault_split(struct builder *b, const struct split *split)
{
    char hint[160];
    size_t used = (size_t)snprintf(hint, sizeof hint, "virtual_stages may be 1");
    for (int64_t v = 2; v <= split->blocks && used + 8 < sizeof hint; v++) {
        if (split->blocks % (v * split->stages) == 0) {
            used += (size_t)snprintf(hint + used, sizeof hint - used, ", %" PRId64, v);
        }
    }
    nest_errors_add(b->errors, b->problem->pins.pin[NEST_PIN_VIRTUAL_STAGES].mark, "virtual_stages",
                    hint,
                    "%" PRId64 " blocks over pp %" PRId64 " x virtual_stages %" PRId64
                    " leave chunks that are empty or unequal within a stage",
                    split->blocks, split->stages, split->chunks);
}

enum nest_status nest_plan_from_pins(const struct nest_problem *problem, struct nest_arena *arena,
                                     struct nest_plan *out, const char ***assumed,
                                     struct nest_errors *errors)
{
    struct builder b = {.problem = problem, .arena = arena, .errors = errors};
    b.assumed = NEST_NEW(arena, const char *, ASSUMED_MAX + 1);
    if (!b.assumed) {
        return NEST_NO_MEMORY;
    }
    *out = (struct nest_plan){0};
    const int64_t pp = choose_strategy(&b, &out->strategy);
    const int64_t recompute = choose(&b, NEST_PIN_RECOMPUTE, NEST_RECOMPUTE_NONE);
    *assumed = b.assumed;
    if (b.failed || !nest_rules_check(problem, &out->strategy, pp, errors)) {
        return NEST_NO;
    }
    const int64_t chunks = out->strategy.virtual_stages;
    if (!allocate_stages(&b, pp, chunks, out)) {
        return NEST_NO_MEMORY;
    }
    struct split split;
    if (!plan_split(problem->model, pp, chunks, &split) || !fill_layers(&split, out)) {
        fault_split(&b, &split);
        return NEST_NO;
    }
    for (int i = 0; i < out->stages; i++) {
        out->stage[i].recompute = (enum nest_recompute)recompute;
        out->stage[i].zero = out->strategy.zero;
        out->stage[i].tp = out->strategy.tp;
    }
    nest_plan_pack(out);
    nest_plan_settle(problem, out);
    nest_remarks_add(problem, out, errors);
    return NEST_OK;
}

/* Copies the stages of a plan file; packed tells whether none stated its place. */
static bool copy_stages(struct builder *b, const struct nest_plan_spec *spec,
                        struct nest_plan *plan, bool *packed)
{
    *packed = true;
    plan->stages = spec->stages;
    plan->stage = NEST_NEW(b->arena, struct nest_plan_stage, spec->stages);
    if (!plan->stage) {
        return false;
    }
    for (int i = 0; i < spec->stages; i++) {
        const struct nest_plan_stage_spec *from = &spec->stage[i];
        struct nest_plan_stage *to = &plan->stage[i];
        to->ranges = from->ranges;
        to->layers = NEST_NEW(b->arena, struct nest_range, from->ranges);
        if (!to->layers) {
            return false;
        }
        for (int r = 0; r < from->ranges; r++) {
            to->layers[r] = from->layers[r];
        }
        to->recompute = from->recompute;
        to->zero = from->zero < 0 ? plan->strategy.zero : from->zero;
        to->tp = from->tp > 0 ? from->tp : plan->strategy.tp;
        to->first_device = from->first_device;
        *packed = *packed && from->first_device < 0;
    }
    return true;
}

/* In a graph: every layer once, and after the layers that feed it. */
static bool check_cuts(struct builder *b, const struct nest_plan_spec *spec,
                       const struct nest_plan *plan)
{
    const struct nest_cuts *cuts = b->problem->model->cuts;
    const int wrong = nest_plan_cuts(cuts, plan, NULL);
    if (wrong == plan->stages) {
        nest_errors_add(b->errors, (struct nest_mark){0}, NULL, NULL,
                        "the stages do not hold all of the model's %d layers", cuts->layers);
    } else if (wrong >= 0) {
        nest_errors_add(b->errors, spec->stage[wrong].mark, NULL,
                        "stages list every layer once, with what feeds it in the same stage or one "
                        "before; nest show prints the graph",
                        "stage %d holds a layer that an earlier stage holds, that the model does "
                        "not have, or whose inputs come later",
                        wrong);
    }
    return wrong < 0;
}

/* Every layer once, in pipeline order: chunk by chunk, stage by stage. */
static bool check_cover(struct builder *b, const struct nest_plan_spec *spec,
                        const struct nest_plan *plan)
{
    if (b->problem->model->cuts && plan->strategy.virtual_stages == 1) {
        return check_cuts(b, spec, plan);
    }
    const int64_t layers = b->problem->model->layers;
    const int64_t chunks = plan->strategy.virtual_stages;
    int64_t next = 0;
    for (int64_t c = 0; c < chunks * plan->stages; c++) {
        const int i = (int)(c % plan->stages);
        const struct nest_plan_stage *stage = &plan->stage[i];
        if (stage->ranges != chunks) {
            nest_errors_add(b->errors, spec->stage[i].mark, NULL,
                            "give one range of layers for each virtual stage",
                            "stage %d has %d ranges of layers, and virtual_stages is %" PRId64, i,
                            stage->ranges, chunks);
            return false;
        }
        const struct nest_range *range = &stage->layers[c / plan->stages];
        if (range->low != next || range->high < range->low || range->high >= layers) {
            nest_errors_add(b->errors, spec->stage[i].mark, NULL,
                            "stages list every layer once, in order, embedding 0 first",
                            "stage %d holds layers %" PRId64 " to %" PRId64 ", and layer %" PRId64
                            " of %" PRId64 " is next",
                            i, range->low, range->high, next, layers);
            return false;
        }
        next = range->high + 1;
    }
    if (next != layers) {
        nest_errors_add(b->errors, (struct nest_mark){0}, NULL, NULL,
                        "the stages end at layer %" PRId64 ", and the model has %" PRId64
                        " layers (embedding and head counted)",
                        next - 1, layers);
        return false;
    }
    return true;
}

/* Blocks must not overlap, lie in order and inside their span, and spans inside the cluster. */
static bool check_places(struct builder *b, const struct nest_plan_spec *spec,
                         const struct nest_plan *plan)
{
    const struct nest_strategy *s = &plan->strategy;
    int64_t free_from = 0;
    for (int i = 0; i < plan->stages; i++) {
        const struct nest_plan_stage *stage = &plan->stage[i];
        if (stage->first_device < free_from) {
            nest_errors_add(b->errors, spec->stage[i].mark, "first_device",
                            "stages follow each other along the span, without overlap",
                            "stage %d starts at device %" PRId64
                            ", and the stage before ends at %" PRId64,
                            i, stage->first_device, free_from);
            return false;
        }
        free_from = stage->first_device + stage->tp * s->cp * s->dp_in;
    }
    const int64_t devices = nest_cluster_selected(b->problem->cluster, s->selection)->devices;
    if (free_from > s->span || s->span * s->dp_out > devices) {
        nest_errors_add(b->errors, (struct nest_mark){0}, "span", NULL,
                        "the stages take %" PRId64 " devices of a span of %" PRId64 ", %" PRId64
                        " spans, %" PRId64 " devices",
                        free_from, s->span, s->dp_out, devices);
        return false;
    }
    return true;
}

/* The selection that keeps the kinds which the plan file names. */
static bool choose_selection(struct builder *b, const struct nest_plan_spec *spec,
                             struct nest_strategy *strategy)
{
    const struct nest_cluster *cluster = b->problem->cluster;
    unsigned kept = 0;
    for (int i = 0; i < spec->kinds; i++) {
        char name[KIND_MAX];
        int k = 0;
        while (k < cluster->kinds && cluster->kind &&
               strcmp(nest_kind_format(cluster, k, name, sizeof name), spec->kind[i]) != 0) {
            k++;
        }
        if (!cluster->kind || k == cluster->kinds) {
            nest_errors_add(b->errors, spec->kinds_mark, "kinds",
                            "nest show CLUSTER lists the kinds of a mixed cluster",
                            "the cluster has no devices of kind '%.80s'", spec->kind[i]);
            return false;
        }
        kept |= 1u << k;
    }
    strategy->selection = kept == cluster->kept ? 0 : (int)kept;
    return true;
}

/* The widest stage: without tensor parallelism anywhere there is no sequence parallelism. */
static int64_t widest_of(const struct nest_plan_spec *spec)
{
    int64_t widest = spec->tp;
    for (int i = 0; i < spec->stages; i++) {
        widest = spec->stage[i].tp > widest ? spec->stage[i].tp : widest;
    }
    return widest;
}

enum nest_status nest_plan_from_spec(const struct nest_problem *problem,
                                     const struct nest_plan_spec *spec, struct nest_arena *arena,
                                     struct nest_plan *out, struct nest_errors *errors)
{
    struct nest_problem pinned = *problem;
    pinned.pins.order = spec->order;
    struct builder b = {.problem = &pinned, .arena = arena, .errors = errors};
    const char *unused[ASSUMED_MAX + 1];
    b.assumed = unused;
    *out = (struct nest_plan){0};
    struct nest_strategy *s = &out->strategy;
    *s = (struct nest_strategy){
        .tp = spec->tp,
        .cp = spec->cp > 0 ? spec->cp : 1,
        .ep = spec->ep > 0 ? spec->ep : 1,
        .etp = spec->etp > 0 ? spec->etp : 1,
        .sp = spec->sp && widest_of(spec) > 1,
        .micro_batch = spec->micro_batch > 0 ? spec->micro_batch : 1,
        .virtual_stages = spec->virtual_stages > 0 ? spec->virtual_stages : 1,
        .zero = spec->zero,
    };
    choose_order(&b, spec->dp, s);
    b.failed = !choose_selection(&b, spec, s) || b.failed;
    s->shard = spec->shard > 0 ? spec->shard : spec->dp * s->cp;
    if (b.failed || !nest_rules_check(&pinned, s, spec->stages, errors)) {
        return NEST_NO;
    }
    bool packed;
    if (!copy_stages(&b, spec, out, &packed)) {
        return NEST_NO_MEMORY;
    }
    if (packed) {
        nest_plan_pack(out);
    }
    if (spec->span > 0) {
        s->span = spec->span;
    }
    if (!check_cover(&b, spec, out) || !check_places(&b, spec, out)) {
        return NEST_NO;
    }
    nest_plan_settle(problem, out);
    return NEST_OK;
}
