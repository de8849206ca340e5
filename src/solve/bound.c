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

static bool is_switched(const struct nest_cluster *cluster)
{
    bool switched = cluster->levels > 1;
    for (int l = 1; l < cluster->levels; l++) {
        const enum nest_level_kind kind = cluster->level[l].kind;
        switched = switched && (kind == NEST_LEVEL_SWITCH || kind == NEST_LEVEL_RAIL);
    }
    return switched;
}

/* Whether every innermost group is as large as the largest. */
static bool has_equal_innermost(const struct nest_cluster *cluster)
{
    const struct nest_level *inner = &cluster->level[0];
    return cluster->uniform || inner->groups * inner->capacity == cluster->devices;
}

void nest_bounds_init(struct nest_bounds *bounds, const struct nest_space *space)
{
    *bounds = (struct nest_bounds){.space = space, .problem = *space->problem};
    struct nest_cluster *cluster = &bounds->cluster;
    *cluster = *space->problem->cluster;
    bounds->problem.cluster = cluster;
    bounds->tiled = has_equal_innermost(cluster);
    bounds->switched = is_switched(cluster);
    struct nest_level *outer = &cluster->level[1];
    for (int l = 1; l < cluster->levels; l++) {
        const struct nest_level *level = &cluster->level[l];
        outer->bandwidth =
            level->bandwidth > outer->bandwidth ? level->bandwidth : outer->bandwidth;
        outer->latency = level->latency < outer->latency ? level->latency : outer->latency;
        outer->oversubscription = 1.0;
    }
}

static struct nest_comm single_members(void)
{
    struct nest_comm comm = {.size = 1, .top = 0};
    for (int k = 0; k < NEST_MAX_LEVELS; k++) {
        comm.m[k] = comm.q[k] = comm.p[k] = comm.g[k] = 1;
    }
    return comm;
}

/* A group inside one innermost group. */
static struct nest_comm inside(int64_t size)
{
    struct nest_comm comm = single_members();
    comm.size = comm.m[0] = size;
    return comm;
}

/* How tightly devices of one group may lie. */
struct spacing {
    int64_t stride; /* least distance of two members within a block */
    int64_t block;  /* devices of a block, 0 while the order is unknown */
    int64_t pitch;  /* least distance of two blocks */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Most members that one innermost group can hold. */
static int64_t most_inside(const struct nest_bounds *bounds, const struct spacing *spacing)
{
    const int64_t inner = bounds->cluster.level[0].capacity;
    const int64_t anywhere = (inner + spacing->stride - 1) / spacing->stride;
    if (spacing->block == 0) {
        return anywhere;
    }
    const int64_t blocks = (inner + spacing->block - 2) / spacing->pitch + 1;
    const int64_t of_block =
        (smaller(spacing->block, inner) + spacing->stride - 1) / spacing->stride;
    return smaller(anywhere, blocks * of_block);
}

/* The least that a group can cost: nothing, unless it is too large for one innermost group. Then
 * some of it crosses, at best between two groups that are as full as can be; what happens inside
 * them is left out. */
static struct nest_comm crossing(const struct nest_bounds *bounds, int64_t size,
                                 const struct spacing *spacing)
{
    const int64_t full = most_inside(bounds, spacing);
    struct nest_comm comm = single_members();
    if (bounds->switched && size > full) {
        comm.size = comm.m[1] = 2;
        comm.top = 1;
        comm.q[1] = comm.p[1] = full;
    }
    return comm;
}

/* Communicators of a family. In a uniform cluster every position is a multiple of tp (of a, for CP)
 * if that divides the innermost groups, because block widths, spans and group boundaries are. */
static void place_family(const struct nest_bounds *bounds, const struct nest_strategy *s,
                         struct nest_placement *out)
{
    const int64_t inner = bounds->cluster.level[0].capacity;
    const struct spacing ranks = {.stride = 1};
    const struct spacing rings = {.stride = s->tp};
    *out = alone;
    if (s->tp > 1) {
        out->tp =
            bounds->tiled && inner % s->tp == 0 ? inside(s->tp) : crossing(bounds, s->tp, &ranks);
    }
    if (s->cp > 1) {
        out->cp = bounds->tiled && inner % nest_strategy_width(s) == 0
                      ? inside(s->cp)
                      : crossing(bounds, s->cp, &rings);
    }
}

/* Communicators once dp and the sharding are known; pp > 0: the order too. */
static void place_sharding(const struct nest_bounds *bounds, const struct nest_strategy *s, int pp,
                           struct nest_placement *out)
{
    const int64_t members = nest_strategy_dp(s) * s->cp;
    const int64_t shard = nest_dense_shard(s);
    const int64_t block = pp > 0 ? nest_strategy_width(s) * s->dp_in : 0;
    const struct spacing near = {s->tp, block, pp * block};
    const struct spacing far = {s->tp * shard, block, pp * block};
    const struct spacing expert = {s->ep * s->etp, block, pp * block};
    place_family(bounds, s, out);
    out->dense = crossing(bounds, members, &near);
    out->shard = crossing(bounds, shard, &near);
    out->replicate = crossing(bounds, members / shard, &far);
    if (bounds->problem.model->spec->experts > 1) {
        out->expert = crossing(bounds, nest_expert_copies(s), &expert);
    }
}

/* Expert groups once the order is known: etp * ep devices in a row of those that hold the stage,
 * inside an innermost group if they tile both it and the block, else across two at the least. */
static void place_experts(const struct nest_bounds *bounds, const struct nest_strategy *s, int pp,
                          struct nest_placement *out)
{
    const int64_t inner = bounds->cluster.level[0].capacity;
    const int64_t group = s->etp * s->ep;
    const int64_t block = nest_strategy_width(s) * s->dp_in;
    if (group == 1) {
        return;
    }
    if (bounds->tiled && inner % group == 0 && block % group == 0) {
        out->ep = s->ep > 1 ? inside(s->ep) : out->ep;
        out->etp = s->etp > 1 ? inside(s->etp) : out->etp;
        return;
    }
    const int64_t extent = group > block ? (group / block - 1) * pp * block + block : group;
    if (bounds->switched && extent > inner && s->ep > 1 && s->etp == 1) {
        /* All-to-all: at least half of what two of the members exchange crosses. */
        out->ep = single_members();
        out->ep.size = out->ep.m[1] = 2;
        out->ep.top = 1;
    }
}

static void price(const struct nest_bounds *bounds, const struct nest_layer_work *work,
                  const struct nest_strategy *strategy, const struct nest_placement *placement,
                  int mode, struct nest_layer_cost *out)
{
    nest_layer_price(&bounds->problem, work, strategy, placement, bounds->space->mode[mode], out);
}

static int longest_run(const struct nest_model *model)
{
    int longest = 0;
    for (int i = 1; i < model->runs; i++) {
        longest = model->run[i].count > model->run[longest].count ? i : longest;
    }
    return longest;
}

/* sum + count * time; a time that saturates makes the sum saturate. */
static nest_ps sum_of(nest_ps sum, int count, nest_ps time)
{
    const nest_ps part = time > NEST_PS_MAX / count ? NEST_PS_MAX : count * time;
    return sum + part < NEST_PS_MAX ? sum + part : NEST_PS_MAX;
}

static void bound_width(const struct nest_bounds *bounds, const struct nest_strategy *strategy,
                        struct nest_bound *out)
{
    const struct nest_model *model = bounds->problem.model;
    const int bulk = longest_run(model);
    struct nest_placement placement;
    *out = (struct nest_bound){.bulk = model->run[bulk].count};
    place_family(bounds, strategy, &placement);
    for (int i = 0; i < model->runs; i++) {
        const struct nest_run *run = &model->run[i];
        struct nest_layer_work work;
        nest_layer_work(&bounds->problem, &model->kind[run->kind], strategy, &work);
        if (i == 0 && i != bulk) {
            out->has_first = true;
            out->first = work;
        } else if (i == model->runs - 1 && i != bulk) {
            out->has_last = true;
            out->last = work;
        }
        nest_ps least = NEST_PS_MAX;
        for (int m = 0; m < bounds->space->modes; m++) {
            struct nest_layer_cost cost;
            price(bounds, &work, strategy, &placement, m, &cost);
            const nest_ps time = cost.fw + cost.bw;
            least = time < least ? time : least;
            if (i == bulk) {
                out->bulk_time[m] = time;
                out->work = work;
            }
        }
        out->total = sum_of(out->total, run->count, least);
        out->front = i < bulk ? sum_of(out->front, run->count, least) : out->front;
        out->back = i > bulk ? sum_of(out->back, run->count, least) : out->back;
        out->largest = least > out->largest ? least : out->largest;
    }
}

static nest_ps lesser(nest_ps a, nest_ps b)
{
    return a < b ? a : b;
}

void nest_bound_family(const struct nest_bounds *bounds, const struct nest_family *family,
                       struct nest_bound *out)
{
    for (int w = 0; w < family->widths; w++) {
        struct nest_strategy strategy = family->strategy;
        struct nest_bound one;
        strategy.tp = family->tp[w];
        bound_width(bounds, &strategy, &one);
        if (w == 0) {
            *out = one;
        }
        out->total = lesser(out->total, one.total);
        out->largest = lesser(out->largest, one.largest);
        out->front = lesser(out->front, one.front);
        out->back = lesser(out->back, one.back);
        for (int m = 0; m < bounds->space->modes; m++) {
            out->bulk_time[m] = lesser(out->bulk_time[m], one.bulk_time[m]);
        }
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
    for (int m = 0; m < space->modes; m++) {
        struct nest_layer_cost cost;
        nest_layer_price(problem, &bound->work, strategy, placement, space->mode[m], &cost);
        out->state = state_of(&cost);
        out->activations[m] = cost.activations;
        out->memory[m] = out->limit - cost.working - cost.gathered;
        out->time[m] = cost.fw + cost.bw;
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
    if (knowledge == NEST_KNOWS_ORDER) {
        place_experts(bounds, strategy, pp, &placement);
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
