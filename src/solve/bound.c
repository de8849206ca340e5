#include "solve/bound.h"

/* Every communicator has one member: nothing is ever sent. */
const struct nest_placement nest_bounds_alone = {
    .tp = {.size = 1},
    .cp = {.size = 1},
    .dense = {.size = 1},
    .shard = {.size = 1},
    .replicate = {.size = 1},
    .ep = {.size = 1},
    .etp = {.size = 1},
    .expert = {.size = 1},
};

static nest_ps lesser(nest_ps a, nest_ps b)
{
    return a < b ? a : b;
}

/* The longest run of equal layers; not one of an image tower, which chunks do not divide. */
static int longest_run(const struct nest_model *model)
{
    int longest = 0;
    for (int i = 1; i < model->runs; i++) {
        const bool tower = model->cuts && model->run[longest].first < model->lead;
        longest = tower || model->run[i].count > model->run[longest].count ? i : longest;
    }
    return longest;
}

bool nest_bounds_init(struct nest_bounds *bounds, const struct nest_space *space,
                      struct nest_arena *arena)
{
    const struct nest_model *model = space->problem->model;
    *bounds = (struct nest_bounds){.space = space,
                                   .problem = *space->problem,
                                   .bulk = longest_run(model),
                                   .kind = NEST_NEW(arena, struct nest_kind_bound, model->kinds),
                                   .arena = arena};
    nest_reach_init(space->problem->cluster, &bounds->reach);
    bounds->problem.cluster = &bounds->reach.cluster;
    if (space->problem->overrides) {
        bounds->overrides = *space->problem->overrides;
        bounds->overrides.relaxed = bounds->reach.cluster.levels;
        bounds->problem.overrides = &bounds->overrides;
    }
    bounds->timing = bounds->problem;
    bounds->asks_memory = nest_override_has(bounds->problem.overrides, NEST_HOOK_MEMORY) ||
                          nest_override_has(bounds->problem.overrides, NEST_HOOK_RESERVE);
    if (bounds->asks_memory) {
        bounds->timing_overrides = bounds->overrides;
        nest_override_drop(&bounds->timing_overrides, NEST_HOOK_MEMORY);
        nest_override_drop(&bounds->timing_overrides, NEST_HOOK_RESERVE);
        bounds->timing.overrides = &bounds->timing_overrides;
    }
    const bool weighs = nest_override_has(bounds->problem.overrides, NEST_HOOK_LOAD);
    if (weighs) {
        bounds->load = nest_arena_alloc(arena, (size_t)space->families, sizeof *bounds->load);
    }
    return bounds->kind && (bounds->load || !weighs);
}

/* With equal innermost groups every position is a multiple of tp (of a, for CP) if that divides
 * those, because block widths, spans and group boundaries are. */
static void place_tensors(const struct nest_bounds *bounds, const struct nest_strategy *s,
                          const struct nest_where *where, struct nest_placement *out)
{
    const struct nest_reach *reach = &bounds->reach;
    const int64_t inner = reach->cluster.level[0].capacity;
    out->tp = reach->tiled && inner % s->tp == 0 ? nest_reach_inside(s->tp)
                                                 : nest_reach_ring(reach, where, 1, s->tp);
    out->cp = reach->tiled && inner % nest_strategy_width(s) == 0
                  ? nest_reach_inside(s->cp)
                  : nest_reach_ring(reach, where, s->tp, s->cp);
}

/* Expert groups are etp * ep devices in a row of those that hold the stage: inside an innermost
 * group if they tile both it and the block. */
static void place_experts(const struct nest_bounds *bounds, const struct nest_strategy *s,
                          const struct nest_where *where, struct nest_placement *out)
{
    const struct nest_reach *reach = &bounds->reach;
    const int64_t group = s->etp * s->ep;
    if (where->block > 0 && where->block % group == 0 && reach->tiled &&
        reach->cluster.level[0].capacity % group == 0) {
        out->ep = nest_reach_inside(s->ep);
        out->etp = nest_reach_inside(s->etp);
    } else {
        out->ep = nest_reach_pairs(reach, where, s->etp, s->ep);
        out->etp = nest_reach_ring(reach, where, 1, s->etp);
    }
}

void nest_bounds_place(const struct nest_bounds *bounds, const struct nest_strategy *s, int pp,
                       struct nest_placement *out)
{
    const struct nest_reach *reach = &bounds->reach;
    const int64_t members = nest_strategy_dp(s) * s->cp;
    const int64_t shard = nest_dense_shard(s);
    const int64_t block = nest_strategy_width(s) * s->dp_in;
    const struct nest_where where = {
        .devices = s->tp * members, .block = pp > 0 ? block : 0, .pitch = pp * block};
    *out = nest_bounds_alone;
    place_tensors(bounds, s, &where, out);
    out->dense = nest_reach_ring(reach, &where, s->tp, members);
    out->shard = nest_reach_ring(reach, &where, s->tp, shard);
    out->replicate = nest_reach_ring(reach, &where, s->tp * shard, members / shard);
    if (bounds->problem.model->spec->experts > 1) {
        place_experts(bounds, s, &where, out);
        out->expert = nest_reach_ring(reach, &where, s->ep * s->etp, nest_expert_copies(s));
    }
}

nest_ps nest_bounds_time(const struct nest_bound *bound, enum nest_recompute mode,
                         const struct nest_layer_cost *cost)
{
    return bound->composed ? nest_load_least((const struct nest_load_rule(*)[2])bound->load[mode],
                                             cost->fw, cost->bw, cost->recompute)
                           : cost->fw + cost->bw;
}

/* Asks once for a family how its loads are composed. */
static void ask_rules(const struct nest_bounds *bounds, const struct nest_strategy *strategy,
                      struct nest_bound *out)
{
    out->composed = false;
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        for (int ends = 0; ends < 4; ends++) {
            struct nest_load_rule *rule = &out->load[r][ends & 1][ends >> 1];
            *rule = nest_problem_load(&bounds->problem, strategy, (enum nest_recompute)r, ends & 1,
                                      ends >> 1);
            out->composed = out->composed || rule->rows > 0;
        }
    }
}

nest_ps nest_bounds_link(const struct nest_bounds *bounds, int64_t block, int64_t bytes)
{
    const struct nest_problem *problem = bounds->space->problem;
    nest_ps least = NEST_PS_MAX;
    if (nest_override_has(problem->overrides, NEST_HOOK_TRANSFER)) {
        return 0;
    }
    for (int l = 0; l < problem->cluster->levels; l++) {
        if (problem->cluster->level[l].capacity >= 2 * block) {
            const struct nest_message message = {
                .level = l, .block = block, .bytes = (double)bytes};
            least = lesser(least, nest_problem_transfer(problem, &message));
        }
    }
    return least < NEST_PS_MAX ? least : 0;
}

/* sum + count * time; a time that saturates makes the sum saturate. */
static nest_ps sum_of(nest_ps sum, int count, nest_ps time)
{
    const nest_ps part = time > NEST_PS_MAX / count ? NEST_PS_MAX : count * time;
    return sum + part < NEST_PS_MAX ? sum + part : NEST_PS_MAX;
}

/* Communicators of a family with stages of one width: dp is not known. */
static void place_family(const struct nest_bounds *bounds, const struct nest_strategy *s,
                         int widths, struct nest_placement *out)
{
    const struct nest_where stage = {.devices = nest_strategy_width(s)};
    const struct nest_where group = {.devices = s->ep * s->etp};
    *out = nest_bounds_alone;
    place_tensors(bounds, s, &stage, out);
    place_experts(bounds, s, &group, out);
    if (widths > 1) {
        /* Positions are multiples of no one width: groups may lie anywhere. */
        out->tp = nest_reach_ring(&bounds->reach, &stage, 1, s->tp);
        out->cp = nest_reach_ring(&bounds->reach, &stage, s->tp, s->cp);
    }
}

/* Without experts a layer costs the same whatever ep and etp are, unless an override that is told
 * them says else. */
static bool is_priced(const struct nest_bounds *bounds, const struct nest_layer_kind *kind,
                      const struct nest_kind_bound *known, const struct nest_strategy *s)
{
    const struct nest_overrides *overrides = bounds->timing.overrides;
    return !kind->moe && !nest_override_has(overrides, NEST_HOOK_COMPUTE) &&
           !nest_override_has(overrides, NEST_HOOK_LOAD) && known->strategy.tp == s->tp &&
           known->strategy.cp == s->cp && known->strategy.sp == s->sp &&
           known->strategy.micro_batch == s->micro_batch;
}

static void price_kind(const struct nest_bounds *bounds, const struct nest_bound *bound,
                       const struct nest_strategy *s, const struct nest_placement *placement, int k)
{
    const struct nest_layer_kind *kind = &bounds->problem.model->kind[k];
    struct nest_kind_bound *out = &bounds->kind[k];
    if (!is_priced(bounds, kind, out, s)) {
        struct nest_layer_cost cost[NEST_RECOMPUTES];
        out->strategy = *s;
        nest_layer_work(&bounds->timing, kind, s, &out->work);
        nest_layer_price_modes(&bounds->timing, &out->work, s, placement, cost);
        for (int m = 0; m < bounds->space->modes; m++) {
            const enum nest_recompute mode = bounds->space->mode[m];
            out->time[m] = nest_bounds_time(bound, mode, &cost[mode]);
        }
        out->boundary = nest_boundary_bytes(&bounds->problem, kind, s);
    }
    for (int m = 0; m < bounds->space->modes; m++) {
        out->least = lesser(out->least, out->time[m]);
    }
}

/* Whether the first layer is in the first stage of every plan, the last one in the last stage. */
static bool starts_alone(const struct nest_model *model)
{
    return !model->cuts || model->cuts->first[2] - model->cuts->first[1] == 1;
}

static bool ends_alone(const struct nest_model *model)
{
    const int n = model->layers;
    return !model->cuts || model->cuts->first[n] - model->cuts->first[n - 1] == 1;
}

/* Lowers the least time of each kind of layer, and of the bulk by mode, to that of one width. */
static void price_width(const struct nest_bounds *bounds, const struct nest_strategy *strategy,
                        int widths, struct nest_bound *out)
{
    const struct nest_model *model = bounds->problem.model;
    const struct nest_kind_bound *bulk = &bounds->kind[model->run[bounds->bulk].kind];
    const int last = model->runs - 1;
    struct nest_placement placement;
    if (nest_override_has(bounds->problem.overrides, NEST_HOOK_LOAD)) {
        ask_rules(bounds, strategy, out);
    }
    place_family(bounds, strategy, widths, &placement);
    for (int k = 0; k < model->kinds; k++) {
        price_kind(bounds, out, strategy, &placement, k);
        const int64_t boundary = bounds->kind[k].boundary;
        out->boundary = boundary < out->boundary ? boundary : out->boundary;
    }
    for (int m = 0; m < bounds->space->modes; m++) {
        out->bulk_time[m] = lesser(out->bulk_time[m], bulk->time[m]);
    }
    out->work = bulk->work;
    out->first = bounds->kind[model->run[0].kind].work;
    out->last = bounds->kind[model->run[last].kind].work;
}

/* Every layer on a stage of the width that suits it best: with several widths, the least of each
 * layer and not of their sums. */
void nest_bound_family(const struct nest_bounds *bounds, const struct nest_family *family,
                       struct nest_bound *out)
{
    const struct nest_model *model = bounds->problem.model;
    *out = (struct nest_bound){.bulk = model->run[bounds->bulk].count,
                               .has_first = bounds->bulk > 0 && starts_alone(model),
                               .has_last = bounds->bulk < model->runs - 1 && ends_alone(model),
                               .boundary = INT64_MAX};
    if (bounds->load) {
        out->load = bounds->load[family - bounds->space->family];
    }
    for (int k = 0; k < model->kinds; k++) {
        bounds->kind[k].least = NEST_PS_MAX;
    }
    for (int m = 0; m < NEST_RECOMPUTES; m++) {
        out->bulk_time[m] = NEST_PS_MAX;
    }
    for (int w = 0; w < family->widths; w++) {
        struct nest_strategy strategy = family->strategy;
        strategy.tp = family->tp[w];
        price_width(bounds, &strategy, family->widths, out);
    }
    /* Whether every cut of a graph is crossed by a tensor is not known. */
    const bool linked = family->widths == 1 && !model->cuts && !model->crossing;
    out->link =
        !linked || out->composed
            ? 0
            : nest_bounds_link(bounds, nest_strategy_width(&family->strategy), out->boundary);
    for (int i = 0; i < model->runs; i++) {
        const nest_ps least = bounds->kind[model->run[i].kind].least;
        const int count = model->run[i].count;
        out->total = sum_of(out->total, count, least);
        out->front =
            i < bounds->bulk && !model->cuts ? sum_of(out->front, count, least) : out->front;
        out->back = i > bounds->bulk && !model->cuts ? sum_of(out->back, count, least) : out->back;
        out->largest = least > out->largest ? least : out->largest;
    }
}

bool nest_bounds_fill(struct nest_bounds *bounds)
{
    const struct nest_space *space = bounds->space;
    if (bounds->family) {
        return true;
    }
    bounds->family = NEST_NEW(bounds->arena, struct nest_bound, space->families);
    for (int i = 0; bounds->family && i < space->families; i++) {
        nest_bound_family(bounds, &space->family[i], &bounds->family[i]);
    }
    return bounds->family;
}

nest_ps nest_bound_least(const struct nest_bounds *bounds, const struct nest_family *family,
                         const struct nest_bound *bound)
{
    const struct nest_problem *problem = &bounds->problem;
    nest_ps least = NEST_PS_MAX;
    if (nest_override_has(problem->overrides, NEST_HOOK_STEP)) {
        return 0;
    }
    for (int d = 0; d < family->dps; d++) {
        const int64_t dp = family->dp[d];
        const int64_t room = problem->cluster->devices / (family->tp[0] * family->strategy.cp * dp);
        const int64_t pp = room < problem->model->layers ? room : problem->model->layers;
        const int64_t microbatches =
            nest_problem_microbatches(problem, family->strategy.micro_batch, dp);
        const nest_ps even = (bound->total + pp - 1) / pp;
        const nest_ps busy = even > bound->largest ? even : bound->largest;
        least =
            lesser(least, busy > NEST_PS_MAX / microbatches ? NEST_PS_MAX : microbatches * busy);
    }
    return least;
}
