#include "solve/bound.h"

#include <string.h>

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

/* Lists the kinds of the bulk. False if there are too many. */
static bool list_kinds(const struct nest_model *model, struct nest_bounds *bounds)
{
    bounds->bulk_kinds = 0;
    bounds->bulk_layers = 0;
    for (int i = bounds->bulk; i < bounds->bulk + bounds->bulk_runs; i++) {
        int k = 0;
        while (k < bounds->bulk_kinds && bounds->bulk_kind[k] != model->run[i].kind) {
            k++;
        }
        if (k == NEST_BULK_KINDS) {
            return false;
        }
        if (k == bounds->bulk_kinds) {
            bounds->bulk_kind[bounds->bulk_kinds++] = model->run[i].kind;
            bounds->bulk_count[k] = 0;
        }
        bounds->bulk_count[k] += model->run[i].count;
        bounds->bulk_layers += model->run[i].count;
    }
    return true;
}

static void choose_bulk(const struct nest_model *model, struct nest_bounds *bounds)
{
    const int longest = longest_run(model);
    const int first = model->run[0].count == 1;
    const int last = model->run[model->runs - 1].count == 1;
    bounds->bulk = first;
    bounds->bulk_runs = model->runs - first - last;
    const bool dominates = 2 * model->run[longest].count >= model->layers;
    if (model->cuts || dominates || bounds->bulk_runs < 1 || !list_kinds(model, bounds)) {
        bounds->bulk = longest;
        bounds->bulk_runs = 1;
        (void)list_kinds(model, bounds);
    }
}

/* Any number would do for `each`; of rows that fall short of it the worst begins and ends with
 * runs, for within a run layers are alike. */
struct nest_mean nest_bounds_mean(const struct nest_bounds *bounds,
                                  const int64_t figure[NEST_BULK_KINDS])
{
    const struct nest_model *model = bounds->problem.model;
    struct nest_mean mean = {figure[0], 0};
    if (bounds->bulk_kinds == 1) {
        return mean;
    }
    const int64_t most = INT64_MAX / 4 / model->layers; /* less is a bound, too */
    int64_t by_kind[NEST_BULK_KINDS] = {0};
    int64_t sum = 0;
    for (int k = 0; k < bounds->bulk_kinds; k++) {
        by_kind[k] = figure[k] < most ? figure[k] : most;
        sum += bounds->bulk_count[k] * by_kind[k];
    }
    mean.each = sum / bounds->bulk_layers;
    int64_t row = 0;
    for (int i = bounds->bulk; i < bounds->bulk + bounds->bulk_runs; i++) {
        int k = 0;
        while (bounds->bulk_kind[k] != model->run[i].kind) {
            k++;
        }
        row += model->run[i].count * (mean.each - by_kind[k]);
        row = row > 0 ? row : 0;
        mean.slack = row > mean.slack ? row : mean.slack;
    }
    return mean;
}

bool nest_bounds_init(struct nest_bounds *bounds, const struct nest_space *space,
                      struct nest_arena *arena)
{
    const struct nest_model *model = space->problem->model;
    *bounds =
        (struct nest_bounds){.space = space,
                             .arena = arena,
                             .problem = *space->problem,
                             .kind = NEST_NEW(arena, struct nest_kind_bound, model->kinds),
                             .family = NEST_NEW(arena, struct nest_bound, space->families + 1)};
    choose_bulk(model, bounds);
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
    return bounds->kind && bounds->family;
}

/* With equal innermost groups every position is a multiple of tp (of a, for CP) if that divides
 * those, because block widths, spans and group boundaries are. */
static void place_tensors(const struct nest_bounds *bounds, const struct nest_strategy *s,
                          const struct nest_where *where, struct nest_placement *out)
{
    const struct nest_reach *reach = &bounds->reach;
    const int64_t inner = reach->cluster.level[0].capacity;
    if (reach->tiled && inner % s->tp == 0) {
        nest_reach_inside(s->tp, &out->tp);
    } else {
        nest_reach_ring(reach, where, 1, s->tp, &out->tp);
    }
    if (reach->tiled && inner % nest_strategy_width(s) == 0) {
        nest_reach_inside(s->cp, &out->cp);
    } else {
        nest_reach_ring(reach, where, s->tp, s->cp, &out->cp);
    }
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
        nest_reach_inside(s->ep, &out->ep);
        nest_reach_inside(s->etp, &out->etp);
    } else {
        nest_reach_pairs(reach, where, s->etp, s->ep, &out->ep);
        nest_reach_ring(reach, where, 1, s->etp, &out->etp);
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
    nest_reach_ring(reach, &where, s->tp, members, &out->dense);
    nest_reach_ring(reach, &where, s->tp, shard, &out->shard);
    nest_reach_ring(reach, &where, s->tp * shard, members / shard, &out->replicate);
    if (bounds->problem.model->spec->experts > 1) {
        place_experts(bounds, s, &where, out);
        nest_reach_ring(reach, &where, s->ep * s->etp, nest_expert_copies(s), &out->expert);
    }
}

nest_ps nest_bounds_time(const struct nest_bound *bound, enum nest_recompute mode,
                         const struct nest_layer_cost *cost)
{
    return cost->endless ? NEST_PS_MAX
           : bound->load ? nest_load_least(bound->load[mode], cost->fw, cost->bw, cost->recompute)
                         : cost->fw + cost->bw;
}

/* Asks once for a family how its loads are composed. */
static bool ask_rules(const struct nest_bounds *bounds, const struct nest_strategy *strategy,
                      struct nest_bound *out)
{
    struct nest_load_rule(*load)[2][2] =
        nest_arena_alloc(bounds->arena, NEST_RECOMPUTES, sizeof *load);
    bool composed = false;
    for (int r = 0; load && r < NEST_RECOMPUTES; r++) {
        for (int ends = 0; ends < 4; ends++) {
            struct nest_load_rule *rule = &load[r][ends & 1][ends >> 1];
            *rule = nest_problem_load(&bounds->problem, strategy, (enum nest_recompute)r, ends & 1,
                                      ends >> 1);
            composed = composed || rule->rows > 0;
        }
    }
    out->load = composed ? (const struct nest_load_rule(*)[2][2])load : NULL;
    return load;
}

void nest_bounds_links(const struct nest_bounds *bounds, int64_t block, int64_t bytes,
                       nest_ps link[NEST_MAX_LEVELS])
{
    const struct nest_problem *problem = bounds->space->problem;
    nest_ps least = NEST_PS_MAX;
    memset(link, 0, NEST_MAX_LEVELS * sizeof *link);
    if (nest_override_has(problem->overrides, NEST_HOOK_TRANSFER)) {
        return;
    }
    for (int l = problem->cluster->levels - 1; l >= 0; l--) {
        if (problem->cluster->level[l].capacity >= 2 * block) {
            const struct nest_message message = {
                .level = l, .block = block, .bytes = (double)bytes};
            least = nest_ps_min(least, nest_problem_transfer(problem, &message));
        }
        link[l] = least < NEST_PS_MAX ? least : 0;
    }
}

nest_ps nest_bounds_sum(nest_ps sum, int64_t count, nest_ps time)
{
    const nest_ps part = time > NEST_PS_MAX / count ? NEST_PS_MAX : count * time;
    return sum + part < NEST_PS_MAX ? sum + part : NEST_PS_MAX;
}

/* Communicators of a family with stages of one width: dp is not known. apart: nor is where experts
 * are. */
static void place_family(const struct nest_bounds *bounds, const struct nest_strategy *s,
                         int widths, bool apart, struct nest_placement *out)
{
    const struct nest_where stage = {.devices = nest_strategy_width(s)};
    const struct nest_where group = {.devices = s->ep * s->etp};
    *out = nest_bounds_alone;
    place_tensors(bounds, s, &stage, out);
    if (!apart) {
        place_experts(bounds, s, &group, out);
    }
    if (widths > 1) {
        /* Positions are multiples of no one width: groups may lie anywhere. */
        nest_reach_ring(&bounds->reach, &stage, 1, s->tp, &out->tp);
        nest_reach_ring(&bounds->reach, &stage, s->tp, s->cp, &out->cp);
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

/* False when memory is out. */
static bool price_kind(const struct nest_bounds *bounds, const struct nest_bound *bound,
                       const struct nest_strategy *s, const struct nest_placement *placement, int k)
{
    const struct nest_layer_kind *kind = &bounds->problem.model->kind[k];
    struct nest_kind_bound *out = &bounds->kind[k];
    if (!is_priced(bounds, kind, out, s)) {
        struct nest_layer_cost cost[NEST_RECOMPUTES];
        struct nest_layer_work *work = NEST_NEW(bounds->arena, struct nest_layer_work, 1);
        if (!work) {
            return false;
        }
        out->strategy = *s;
        out->work = work;
        nest_layer_work(&bounds->timing, kind, s, work);
        nest_layer_price_modes(&bounds->timing, work, s, placement, cost);
        for (int m = 0; m < bounds->space->modes; m++) {
            const enum nest_recompute mode = bounds->space->mode[m];
            out->time[m] = nest_bounds_time(bound, mode, &cost[mode]);
        }
        out->boundary = nest_boundary_bytes(&bounds->problem, kind, s);
    }
    for (int m = 0; m < bounds->space->modes; m++) {
        out->least = nest_ps_min(out->least, out->time[m]);
    }
    return true;
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

/* Lowers the least time of each kind of layer, and of the bulk by mode, to that of one width. False
 * when memory is out. */
static bool price_width(const struct nest_bounds *bounds, const struct nest_strategy *strategy,
                        int widths, struct nest_bound *out)
{
    const struct nest_model *model = bounds->problem.model;
    const int last = model->runs - 1;
    struct nest_placement placement;
    if (nest_override_has(bounds->problem.overrides, NEST_HOOK_LOAD) &&
        !ask_rules(bounds, strategy, out)) {
        return false;
    }
    place_family(bounds, strategy, widths, false, &placement);
    for (int k = 0; k < model->kinds; k++) {
        if (!price_kind(bounds, out, strategy, &placement, k)) {
            return false;
        }
        const int64_t boundary = bounds->kind[k].boundary;
        out->boundary = boundary < out->boundary ? boundary : out->boundary;
    }
    for (int m = 0; m < bounds->space->modes; m++) {
        nest_ps time[NEST_BULK_KINDS];
        for (int k = 0; k < bounds->bulk_kinds; k++) {
            time[k] = bounds->kind[bounds->bulk_kind[k]].time[m];
        }
        out->bulk_time[m] = nest_bounds_mean(bounds, time);
    }
    for (int k = 0; k < bounds->bulk_kinds; k++) {
        out->work[k] = bounds->kind[bounds->bulk_kind[k]].work;
    }
    out->first = bounds->kind[model->run[0].kind].work;
    out->last = bounds->kind[model->run[last].kind].work;
    return true;
}

/* Every layer on a stage of the width that suits it best: with several widths, the least of each
 * layer and not of their sums. */
bool nest_bound_family(const struct nest_bounds *bounds, const struct nest_family *family,
                       struct nest_bound *out)
{
    const struct nest_model *model = bounds->problem.model;
    const int end = bounds->bulk + bounds->bulk_runs;
    *out = (struct nest_bound){.bulk = bounds->bulk_layers,
                               .has_first = bounds->bulk > 0 && starts_alone(model),
                               .has_last = end < model->runs && ends_alone(model),
                               .boundary = INT64_MAX};
    for (int k = 0; k < model->kinds; k++) {
        bounds->kind[k].least = NEST_PS_MAX;
    }
    for (int w = 0; w < family->widths; w++) {
        struct nest_strategy strategy = family->strategy;
        strategy.tp = family->tp[w];
        if (!price_width(bounds, &strategy, family->widths, out)) {
            return false;
        }
    }
    /* Whether every cut of a graph is crossed by a tensor is not known. */
    const bool linked = family->widths == 1 && !model->cuts && !model->crossing;
    if (linked && !out->load) {
        nest_bounds_links(bounds, nest_strategy_width(&family->strategy), out->boundary, out->link);
    }
    for (int i = 0; i < model->runs; i++) {
        const nest_ps least = bounds->kind[model->run[i].kind].least;
        const int count = model->run[i].count;
        out->total = nest_bounds_sum(out->total, count, least);
        if (i >= bounds->bulk && i < end) {
            out->bulk_total = nest_bounds_sum(out->bulk_total, count, least);
        } else if (!model->cuts) {
            nest_ps *side = i < end ? &out->front : &out->back;
            *side = nest_bounds_sum(*side, count, least);
        }
        out->largest = least > out->largest ? least : out->largest;
    }
    out->first_time = bounds->kind[model->run[0].kind].least;
    out->last_time = bounds->kind[model->run[model->runs - 1].kind].least;
    return true;
}

/* The least of one kind of layer with experts over the ways to divide those. With more of them
 * apart, a device reads fewer weights for the same tokens. */
static bool price_experts(const struct nest_bounds *bounds, const struct nest_group *group,
                          const struct nest_placement *placement, int k)
{
    const struct nest_bound plain = {0};
    struct nest_strategy s = group->whole.strategy;
    for (int i = group->first; i < group->first + group->count; i++) {
        const int64_t etp = bounds->space->family[i].strategy.etp;
        bool seen = false;
        for (int j = group->first; j < i && !seen; j++) {
            seen = bounds->space->family[j].strategy.etp == etp;
        }
        s.etp = etp;
        if (!seen && !price_kind(bounds, &plain, &s, placement, k)) {
            return false;
        }
    }
    return true;
}

/* An override has a say in what the time of a layer, or a step of such times, comes to. */
static bool weighs_times(const struct nest_overrides *overrides)
{
    return nest_override_has(overrides, NEST_HOOK_COMPUTE) ||
           nest_override_has(overrides, NEST_HOOK_COLLECTIVE) ||
           nest_override_has(overrides, NEST_HOOK_LOAD) ||
           nest_override_has(overrides, NEST_HOOK_STEP);
}

bool nest_bound_group(const struct nest_bounds *bounds, const struct nest_group *group,
                      nest_ps *least)
{
    /* Of a layer: its parts are rounded one by one. */
    enum { ROUNDING = 8 };
    const struct nest_model *model = bounds->problem.model;
    const struct nest_family *whole = &group->whole;
    struct nest_bound bound = {0};
    struct nest_placement placement;
    *least = 0;
    if (weighs_times(bounds->problem.overrides) || whole->widths > 1) {
        return true;
    }
    place_family(bounds, &whole->strategy, 1, true, &placement);
    for (int k = 0; k < model->kinds; k++) {
        bounds->kind[k].least = NEST_PS_MAX;
        if (model->kind[k].moe ? !price_experts(bounds, group, &placement, k)
                               : !price_kind(bounds, &bound, &whole->strategy, &placement, k)) {
            return false;
        }
    }
    for (int i = 0; i < model->runs; i++) {
        const nest_ps exact = bounds->kind[model->run[i].kind].least;
        const nest_ps time = exact > ROUNDING ? exact - ROUNDING : 0;
        bound.total = nest_bounds_sum(bound.total, model->run[i].count, time);
        bound.largest = time > bound.largest ? time : bound.largest;
    }
    *least = nest_bound_least(bounds, whole, &bound);
    return true;
}

const struct nest_bound *nest_bounds_of(const struct nest_bounds *bounds, int family)
{
    struct nest_bound *bound = &bounds->family[family];
    const bool known = bound->bulk > 0;
    return known || nest_bound_family(bounds, &bounds->space->family[family], bound) ? bound : NULL;
}

bool nest_bounds_fill(const struct nest_bounds *bounds)
{
    bool filled = true;
    for (int i = 0; i < bounds->space->families && filled; i++) {
        filled = nest_bounds_of(bounds, i) != NULL;
    }
    return filled;
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
        least = nest_ps_min(least,
                            busy > NEST_PS_MAX / microbatches ? NEST_PS_MAX : microbatches * busy);
    }
    return least;
}
