#include "solve/bound.h"

#include "cost/interleave.h"
#include "plan/step.h"

/* Every communicator has one member: nothing is ever sent. */
static const struct nest_placement alone = {
    .tp = {.size = 1},
    .cp = {.size = 1},
    .dense = {.size = 1},
    .shard = {.size = 1},
    .replicate = {.size = 1},
    .ep = {.size = 1},
    .etp = {.size = 1},
    .expert = {.size = 1},
};

static int longest_run(const struct nest_model *model)
{
    int longest = 0;
    for (int i = 1; i < model->runs; i++) {
        longest = model->run[i].count > model->run[longest].count ? i : longest;
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
                                   .least = NEST_NEW(arena, nest_ps, model->kinds)};
    nest_reach_init(space->problem->cluster, &bounds->reach);
    bounds->problem.cluster = &bounds->reach.cluster;
    return bounds->least;
}

/* Communicators of a family. With equal innermost groups every position is a multiple of tp (of a,
 * for CP) if that divides those, because block widths, spans and group boundaries are. */
static void place_family(const struct nest_bounds *bounds, const struct nest_strategy *s,
                         const struct nest_where *where, struct nest_placement *out)
{
    const struct nest_reach *reach = &bounds->reach;
    const int64_t inner = reach->cluster.level[0].capacity;
    *out = alone;
    out->tp = reach->tiled && inner % s->tp == 0 ? nest_reach_inside(s->tp)
                                                 : nest_reach_ring(reach, where, 1, s->tp);
    out->cp = reach->tiled && inner % nest_strategy_width(s) == 0
                  ? nest_reach_inside(s->cp)
                  : nest_reach_ring(reach, where, s->tp, s->cp);
    out->ep = nest_reach_pairs(reach, where, s->etp, s->ep);
    out->etp = nest_reach_ring(reach, where, 1, s->etp);
}

/* Expert groups are etp * ep devices in a row of those that hold the stage: inside an innermost
 * group if they tile both it and the block. */
static void place_experts(const struct nest_bounds *bounds, const struct nest_strategy *s,
                          struct nest_placement *out)
{
    const int64_t group = s->etp * s->ep;
    if (bounds->reach.tiled && bounds->reach.cluster.level[0].capacity % group == 0 &&
        nest_strategy_width(s) * s->dp_in % group == 0) {
        out->ep = nest_reach_inside(s->ep);
        out->etp = nest_reach_inside(s->etp);
    }
}

/* Communicators once dp and the sharding are known; pp > 0: the order too. */
static void place_sharding(const struct nest_bounds *bounds, const struct nest_strategy *s, int pp,
                           struct nest_placement *out)
{
    const struct nest_reach *reach = &bounds->reach;
    const int64_t members = nest_strategy_dp(s) * s->cp;
    const int64_t shard = nest_dense_shard(s);
    const int64_t block = nest_strategy_width(s) * s->dp_in;
    const struct nest_where where = {
        .devices = s->tp * members, .block = pp > 0 ? block : 0, .pitch = pp * block};
    place_family(bounds, s, &where, out);
    out->dense = nest_reach_ring(reach, &where, s->tp, members);
    out->shard = nest_reach_ring(reach, &where, s->tp, shard);
    out->replicate = nest_reach_ring(reach, &where, s->tp * shard, members / shard);
    if (bounds->problem.model->spec->experts > 1) {
        out->expert = nest_reach_ring(reach, &where, s->ep * s->etp, nest_expert_copies(s));
    }
    if (pp > 0) {
        place_experts(bounds, s, out);
    }
}

/* sum + count * time; a time that saturates makes the sum saturate. */
static nest_ps sum_of(nest_ps sum, int count, nest_ps time)
{
    const nest_ps part = time > NEST_PS_MAX / count ? NEST_PS_MAX : count * time;
    return sum + part < NEST_PS_MAX ? sum + part : NEST_PS_MAX;
}

static nest_ps lesser(nest_ps a, nest_ps b)
{
    return a < b ? a : b;
}

/* Lowers the least time of each kind of layer, and of the bulk by mode, to that of one width. */
static void price_kinds(const struct nest_bounds *bounds, const struct nest_strategy *strategy,
                        int widths, struct nest_bound *out)
{
    const struct nest_model *model = bounds->problem.model;
    const struct nest_space *space = bounds->space;
    const int bulk = model->run[bounds->bulk].kind;
    const int64_t width = nest_strategy_width(strategy);
    const int64_t group = strategy->ep * strategy->etp;
    const struct nest_where where = {.devices = width > group ? width : group};
    struct nest_placement placement;
    place_family(bounds, strategy, &where, &placement);
    if (widths > 1) {
        /* Positions are multiples of no one width: groups may lie anywhere. */
        placement.tp = nest_reach_ring(&bounds->reach, &where, 1, strategy->tp);
        placement.cp = nest_reach_ring(&bounds->reach, &where, strategy->tp, strategy->cp);
    }
    for (int k = 0; k < model->kinds; k++) {
        struct nest_layer_cost cost[NEST_RECOMPUTES];
        struct nest_layer_work work;
        nest_layer_work(&bounds->problem, &model->kind[k], strategy, &work);
        nest_layer_price_modes(&bounds->problem, &work, strategy, &placement, cost);
        for (int m = 0; m < space->modes; m++) {
            const nest_ps time = cost[space->mode[m]].fw + cost[space->mode[m]].bw;
            bounds->least[k] = lesser(bounds->least[k], time);
            out->bulk_time[m] = k == bulk ? lesser(out->bulk_time[m], time) : out->bulk_time[m];
        }
        out->work = k == bulk ? work : out->work;
        out->first = k == model->run[0].kind ? work : out->first;
        out->last = k == model->run[model->runs - 1].kind ? work : out->last;
    }
}

/* Every layer on a stage of the width that suits it best: with several widths, the least of each
 * layer and not of their sums. */
void nest_bound_family(const struct nest_bounds *bounds, const struct nest_family *family,
                       struct nest_bound *out)
{
    const struct nest_model *model = bounds->problem.model;
    *out = (struct nest_bound){.bulk = model->run[bounds->bulk].count,
                               .has_first = bounds->bulk > 0,
                               .has_last = bounds->bulk < model->runs - 1};
    for (int k = 0; k < model->kinds; k++) {
        bounds->least[k] = NEST_PS_MAX;
    }
    for (int m = 0; m < NEST_RECOMPUTES; m++) {
        out->bulk_time[m] = NEST_PS_MAX;
    }
    for (int w = 0; w < family->widths; w++) {
        struct nest_strategy strategy = family->strategy;
        strategy.tp = family->tp[w];
        price_kinds(bounds, &strategy, family->widths, out);
    }
    for (int i = 0; i < model->runs; i++) {
        const nest_ps least = bounds->least[model->run[i].kind];
        const int count = model->run[i].count;
        out->total = sum_of(out->total, count, least);
        out->front = i < bounds->bulk ? sum_of(out->front, count, least) : out->front;
        out->back = i > bounds->bulk ? sum_of(out->back, count, least) : out->back;
        out->largest = least > out->largest ? least : out->largest;
    }
}

static int64_t microbatches(const struct nest_bounds *bounds, const struct nest_family *family,
                            int64_t dp)
{
    return bounds->problem.train.global_batch / (family->strategy.micro_batch * dp);
}

static nest_ps even_split(nest_ps total, nest_ps largest, int pp)
{
    const nest_ps even = (total + pp - 1) / pp;
    return even > largest ? even : largest;
}

nest_ps nest_bound_least(const struct nest_bounds *bounds, const struct nest_family *family,
                         const struct nest_bound *bound)
{
    const struct nest_problem *problem = &bounds->problem;
    nest_ps least = NEST_PS_MAX;
    for (int d = 0; d < family->dps; d++) {
        const int64_t room =
            problem->cluster->devices / (family->tp[0] * family->strategy.cp * family->dp[d]);
        const int64_t pp = room < problem->model->layers ? room : problem->model->layers;
        const nest_ps b = even_split(bound->total, bound->largest, (int)pp);
        least = lesser(least, microbatches(bounds, family, family->dp[d]) * b);
    }
    return least;
}

/* ---- Room ---- */

/* Once-per-step traffic of all the bulk's parameters, if one stage holds them. */
static nest_ps whole_traffic(const struct nest_cluster *cluster, const struct nest_problem *problem,
                             const struct nest_bound *bound, const struct nest_strategy *s,
                             const struct nest_placement *at)
{
    const struct nest_state_bytes bytes = nest_state_bytes(&problem->train);
    const double dense = (double)(bound->bulk * bound->work.dense);
    const double expert = (double)(bound->bulk * bound->work.expert);
    const double gradient = (double)bytes.gradient;
    const double weight = (double)bytes.gathered;
    nest_ps traffic = 0;
    if (s->zero == 0) {
        traffic += nest_collective_time(cluster, NEST_ALL_REDUCE, &at->dense, gradient * dense) +
                   nest_collective_time(cluster, NEST_ALL_REDUCE, &at->expert, gradient * expert);
    }
    if (s->zero == 1) {
        traffic +=
            nest_collective_time(cluster, NEST_REDUCE_SCATTER, &at->shard, gradient * dense) +
            nest_collective_time(cluster, NEST_REDUCE_SCATTER, &at->expert, gradient * expert);
    }
    if (s->zero == 1 || s->zero == 2) {
        traffic += nest_collective_time(cluster, NEST_ALL_GATHER, &at->shard, weight * dense) +
                   nest_collective_time(cluster, NEST_ALL_GATHER, &at->expert, weight * expert);
    }
    return traffic;
}

static int64_t state_of(const struct nest_layer_cost *cost)
{
    return cost->weights + cost->gradients + cost->optimizer;
}

/* What a device keeps besides the bulk; places do not matter. */
static void measure_ends(const struct nest_problem *problem, const struct nest_space *space,
                         const struct nest_bound *bound, const struct nest_strategy *strategy,
                         struct nest_room *out)
{
    const struct nest_device_spec *device = problem->cluster->device;
    struct nest_layer_cost cost;
    out->limit =
        problem->memory_limit -
        (int64_t)(device->reserve_base + nest_groups_in_use(strategy) * device->reserve_per_group);
    if (bound->has_first) {
        nest_layer_price(problem, &bound->first, strategy, &alone, space->mode[0], &cost);
        out->first_state = state_of(&cost);
    }
    if (bound->has_last) {
        nest_layer_price(problem, &bound->last, strategy, &alone, space->mode[0], &cost);
        out->last_state = state_of(&cost);
        out->last_peak = cost.logits;
    }
}

/* Prices one bulk layer on the problem's cluster at a place. */
static void measure_at(const struct nest_problem *problem, const struct nest_space *space,
                       const struct nest_bound *bound, const struct nest_strategy *strategy,
                       const struct nest_placement *placement, struct nest_room *out)
{
    struct nest_layer_cost cost[NEST_RECOMPUTES];
    nest_layer_price_modes(problem, &bound->work, strategy, placement, cost);
    for (int m = 0; m < space->modes; m++) {
        const struct nest_layer_cost *one = &cost[space->mode[m]];
        out->state = state_of(one);
        out->activations[m] = one->activations;
        out->memory[m] = out->limit - one->working - one->gathered;
        out->time[m] = one->fw + one->bw;
    }
    out->traffic = placement == &alone
                       ? 0
                       : whole_traffic(problem->cluster, problem, bound, strategy, placement);
}

/* Totals from the times of one layer. */
static void sum_up(const struct nest_bound *bound, struct nest_room *out)
{
    nest_ps now = NEST_PS_MAX;
    nest_ps before = NEST_PS_MAX;
    for (int m = 0; m < out->modes; m++) {
        now = lesser(now, out->time[m]);
        before = lesser(before, bound->bulk_time[m]);
    }
    const bool endless = bound->total >= NEST_PS_MAX || now >= NEST_PS_MAX;
    out->total = endless ? NEST_PS_MAX : bound->total + bound->bulk * (now - before);
    out->largest = bound->largest > now ? bound->largest : now;
}

void nest_room_measure(const struct nest_bounds *bounds, const struct nest_family *family,
                       const struct nest_bound *bound, const struct nest_strategy *strategy,
                       enum nest_knowledge knowledge, int pp, struct nest_room *out)
{
    const int64_t dp = nest_strategy_dp(strategy);
    struct nest_placement placement = alone;
    *out = (struct nest_room){.bound = bound, .modes = bounds->space->modes};
    out->microbatches = microbatches(bounds, family, dp);
    out->total = bound->total;
    out->largest = bound->largest;
    if (family->widths > 1) {
        return;
    }
    if (knowledge != NEST_KNOWS_DP) {
        place_sharding(bounds, strategy, knowledge == NEST_KNOWS_ORDER ? pp : 0, &placement);
    }
    measure_ends(&bounds->problem, bounds->space, bound, strategy, out);
    measure_at(&bounds->problem, bounds->space, bound, strategy,
               knowledge == NEST_KNOWS_DP ? &alone : &placement, out);
    if (knowledge == NEST_KNOWS_DP) {
        /* The stage that keeps least state may gather most. */
        for (int m = 0; m < out->modes; m++) {
            out->memory[m] = out->limit;
            out->time[m] = bound->bulk_time[m];
        }
    } else {
        sum_up(bound, out);
    }
}

void nest_room_measure_placed(const struct nest_bounds *bounds, const struct nest_family *family,
                              const struct nest_bound *bound, const struct nest_strategy *strategy,
                              int places, const struct nest_placement *placement,
                              struct nest_room *out)
{
    const struct nest_space *space = bounds->space;
    *out = (struct nest_room){.bound = bound, .modes = space->modes};
    out->microbatches = microbatches(bounds, family, nest_strategy_dp(strategy));
    measure_ends(space->problem, space, bound, strategy, out);
    for (int i = 0; i < places; i++) {
        struct nest_room one = *out;
        measure_at(space->problem, space, bound, strategy, &placement[i], i == 0 ? out : &one);
        for (int m = 0; i > 0 && m < space->modes; m++) {
            out->time[m] = lesser(out->time[m], one.time[m]);
            out->traffic = lesser(out->traffic, one.traffic);
        }
    }
    sum_up(bound, out);
}

/* With v chunks, the first and the last stage may lack one block of v times as many. */
static int spare_blocks(const struct nest_grid *grid, int stage)
{
    return grid->virtual_stages > 1 && (stage == 0 || stage == grid->pp - 1);
}

/* Layers per chunk that the memory of a stage holds by one mode. */
static int64_t held(const struct nest_room *room, const struct nest_grid *grid, int stage, int mode)
{
    const int64_t v = grid->virtual_stages;
    const int from_end = grid->pp - stage;
    const int64_t m = room->microbatches;
    const int64_t flights =
        v > 1 ? nest_chunks_in_flight(stage, grid->pp, v, m) : (from_end < m ? from_end : m);
    const int64_t kept = flights * room->activations[mode];
    const int64_t bytes = v * room->state + kept;
    int64_t memory = room->memory[mode];
    if (from_end == 1 && room->limit - room->last_peak < memory) {
        memory = room->limit - room->last_peak;
    }
    memory -= stage == 0 ? room->first_state : 0;
    memory -= from_end == 1 ? room->last_state : 0;
    memory += spare_blocks(grid, stage) * room->state; /* the largest chunk is never short */
    return memory < 0 ? 0 : bytes > 0 ? memory / bytes : INT32_MAX;
}

/* True if memory alone lets the stages hold the bulk. */
static bool holds_bulk(const struct nest_room *room, const struct nest_grid *grid)
{
    const int64_t v = grid->virtual_stages;
    int64_t left = (room->bound->bulk + v - 1) / v;
    for (int i = grid->pp - 1; i >= 0 && left > 0; i--) {
        int64_t most = 0;
        for (int m = room->modes - 1; m >= 0 && most < left; m--) {
            const int64_t layers = held(room, grid, i, m);
            most = layers > most ? layers : most;
        }
        left -= most;
    }
    return left <= 0;
}

/* Layers per chunk for a stage with so much time. */
static int64_t done(const struct nest_room *room, const struct nest_grid *grid, int stage, int mode,
                    nest_ps time)
{
    const nest_ps one = room->time[mode];
    const nest_ps each = grid->virtual_stages * one;
    return each > 0 ? (time + spare_blocks(grid, stage) * one) / each : INT32_MAX;
}

/* True if the stages have room for the bulk when none is busy longer than b. The layers in front
 * fill the first stages, those behind the last ones. */
static bool has_room(const struct nest_room *room, const struct nest_grid *grid, nest_ps b)
{
    const int pp = grid->pp;
    const int64_t v = grid->virtual_stages;
    int64_t left = (room->bound->bulk + v - 1) / v;
    for (int i = 0; i < pp && left > 0; i++) {
        const nest_ps in_front = room->bound->front - i * b;
        const nest_ps behind = room->bound->back - (pp - 1 - i) * b;
        const nest_ps time = b - (in_front > 0 ? in_front : 0) - (behind > 0 ? behind : 0);
        int64_t most = 0;
        for (int m = 0; m < room->modes && time > 0; m++) {
            int64_t layers = done(room, grid, i, m, time);
            if (layers > most) {
                const int64_t fit = held(room, grid, i, m);
                layers = layers < fit ? layers : fit;
                most = layers > most ? layers : most;
            }
        }
        left -= most;
    }
    return left <= 0;
}

static nest_ps step_with(const struct nest_room *room, const struct nest_grid *grid, nest_ps b,
                         nest_ps tail)
{
    const struct nest_step step = {b, b > room->total ? b : room->total, tail};
    return nest_step_time(step, room->microbatches, grid->virtual_stages, 0);
}

nest_ps nest_room_even(const struct nest_room *room, const struct nest_grid *grid, nest_ps limit)
{
    const nest_ps step = step_with(room, grid, even_split(room->total, room->largest, grid->pp), 0);
    const bool known = room->memory[0] != 0 || room->state != 0;
    return step > limit || !known || holds_bulk(room, grid) ? step : NEST_PS_MAX;
}

/* The largest b for which a step can be within the limit; 0 for none. */
static nest_ps most_busy(const struct nest_room *room, const struct nest_grid *grid, nest_ps limit)
{
    /* M*b + (total - b)/v <= limit, rounded generously */
    const int64_t v = grid->virtual_stages;
    const int64_t weight = v * room->microbatches - 1;
    const nest_ps left = limit - room->total / v + 2;
    return left < 0     ? 0
           : weight > 0 ? (nest_ps)((double)left / (double)weight * (double)v) + v
                        : limit;
}

/* What a single stage's update takes after the last microbatch, at the least. */
static nest_ps single_tail(const struct nest_bounds *bounds, const struct nest_room *room,
                           const struct nest_grid *grid, nest_ps b)
{
    const nest_ps hidden = (nest_ps)(bounds->problem.overlap.dp * (double)b) + 1;
    return grid->pp == 1 && room->traffic > hidden ? room->traffic - hidden : 0;
}

nest_ps nest_room_sharp(const struct nest_bounds *bounds, const struct nest_room *room,
                        const struct nest_grid *grid, nest_ps limit)
{
    nest_ps low = even_split(room->total, room->largest, grid->pp); /* no less will do */
    const nest_ps easy = step_with(room, grid, low, single_tail(bounds, room, grid, low));
    const bool known = room->memory[0] != 0 || room->state != 0;
    if (easy > limit || !known) {
        return easy;
    }
    if (!holds_bulk(room, grid)) {
        return NEST_PS_MAX;
    }
    if (limit < NEST_PS_MAX && !has_room(room, grid, most_busy(room, grid, limit))) {
        return limit + 1;
    }
    nest_ps high = low; /* so much will do */
    while (!has_room(room, grid, high)) {
        low = high + 1;
        high += high / 8 + 1;
    }
    while (high - low > low / 1024) {
        const nest_ps middle = low + (high - low) / 2;
        if (has_room(room, grid, middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return step_with(room, grid, low, single_tail(bounds, room, grid, low));
}
