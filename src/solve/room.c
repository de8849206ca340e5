#include "solve/room.h"

#include <string.h>

#include "cost/framework.h"
#include "cost/pace.h"
#include "cost/roofline.h"

/* ---- Measuring ---- */

/* The stage prices its traffic by lines fitted to the network's forms (cost/table.c), which
 * rounding and the width of the fit may leave this much lower. */
static const double FITTED = 1.0 - 1.0 / 64.0;

/* One collective of the once-per-step traffic. */
struct part {
    const struct nest_problem *problem;
    double layer; /* parameters of the bulk layer with fewest */
    double whole; /* of all bulk layers */
};

/* What the bulk's parameters cause in proportion, at the least, where a script prices them: its
 * times are interpolated between sizes (cost/table.h), and for none of the sizes of some of the
 * layers are they fewer seconds per parameter. */
static nest_ps overridden_part(const struct part *part, enum nest_collective kind,
                               const struct nest_comm *comm, double bytes_each)
{
    double size = 1024.0;
    while (4.0 * size <= part->layer) {
        size *= 4.0;
    }
    double least = (double)NEST_PS_MAX;
    for (bool last = false; !last; size *= 4.0) {
        const nest_ps time = nest_problem_collective(part->problem, kind, comm, bytes_each * size);
        const double each = (double)time / size;
        least = each < least ? each : least;
        last = size >= part->whole;
    }
    return (nest_ps)(least * part->whole);
}

static nest_ps part_time(const struct part *part, enum nest_collective kind,
                         const struct nest_comm *comm, double bytes_each)
{
    if (comm->size <= 1 || part->whole <= 0.0) {
        return 0;
    }
    return nest_override_has(part->problem->overrides, NEST_HOOK_COLLECTIVE)
               ? overridden_part(part, kind, comm, bytes_each)
               : nest_problem_collective(part->problem, kind, comm, bytes_each * part->whole);
}

/* The parameters of the bulk that are dense, or those that are experts'. */
static struct part part_of(const struct nest_problem *problem, const struct nest_bounds *bounds,
                           const struct nest_bound *bound, bool expert)
{
    struct part part = {.problem = problem};
    for (int k = 0; k < bounds->bulk_kinds; k++) {
        const struct nest_layer_work *work = bound->work[k];
        const double one = (double)(expert ? work->expert : work->dense);
        part.layer = k == 0 || one < part.layer ? one : part.layer;
        part.whole += one * (double)bounds->bulk_count[k];
    }
    return part;
}

/* Once-per-step traffic of all the bulk's parameters, if one stage holds them. */
static nest_ps whole_traffic(const struct nest_problem *problem, const struct nest_bounds *bounds,
                             const struct nest_bound *bound, const struct nest_strategy *s,
                             const struct nest_placement *at)
{
    const struct nest_state_bytes bytes = nest_state_bytes(&problem->train);
    const struct part dense = part_of(problem, bounds, bound, false);
    const struct part expert = part_of(problem, bounds, bound, true);
    const double gradient = (double)bytes.gradient;
    const double weight = (double)bytes.gathered;
    nest_ps traffic = 0;
    if (bound->load) {
        return 0; /* the load need not hide it */
    }
    if (s->zero == 0) {
        traffic += part_time(&dense, NEST_ALL_REDUCE, &at->dense, gradient) +
                   part_time(&expert, NEST_ALL_REDUCE, &at->expert, gradient);
    }
    if (s->zero == 1) {
        traffic += part_time(&dense, NEST_REDUCE_SCATTER, &at->shard, gradient) +
                   part_time(&expert, NEST_REDUCE_SCATTER, &at->expert, gradient);
    }
    if (s->zero == 1 || s->zero == 2) {
        traffic += part_time(&dense, NEST_ALL_GATHER, &at->shard, weight) +
                   part_time(&expert, NEST_ALL_GATHER, &at->expert, weight);
    }
    if (s->zero > 0) {
        traffic += part_time(&dense, NEST_ALL_REDUCE, &at->replicate,
                             gradient / (double)nest_dense_shard(s));
    }
    return (nest_ps)(FITTED * (double)traffic);
}

static int64_t state_of(const struct nest_layer_cost *cost)
{
    return cost->weights + cost->gradients + cost->optimizer + cost->resident;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The bytes of one layer that do not depend on places; of its state, the least of all modes. */
struct footprint {
    int64_t state, logits, gathered;
    int64_t activations[NEST_RECOMPUTES], working[NEST_RECOMPUTES]; /* by index of mode */
};

static void override_footprint(const struct nest_problem *problem, const struct nest_space *space,
                               const struct nest_layer_work *work,
                               const struct nest_strategy *strategy, struct footprint *out)
{
    out->state = out->logits = out->gathered = INT64_MAX;
    for (int m = 0; m < space->modes; m++) {
        struct nest_layer_cost cost;
        nest_layer_memory(problem, work, strategy, space->mode[m], &cost);
        out->state = smaller(out->state, state_of(&cost));
        out->logits = smaller(out->logits, cost.logits);
        out->gathered = smaller(out->gathered, cost.gathered);
        out->activations[m] = cost.activations;
        out->working[m] = cost.working;
    }
}

static void measure_layer(const struct nest_problem *problem, const struct nest_space *space,
                          const struct nest_layer_work *work, const struct nest_strategy *strategy,
                          struct footprint *out)
{
    struct nest_layer_cost cost = {0};
    if (nest_override_has(problem->overrides, NEST_HOOK_MEMORY)) {
        override_footprint(problem, space, work, strategy, out);
        return;
    }
    nest_layer_state(problem, work->dense, work->expert, strategy, &cost);
    out->state = state_of(&cost);
    out->gathered = cost.gathered;
    out->logits = nest_layer_bytes(problem->model, work->logits);
    for (int m = 0; m < space->modes; m++) {
        out->activations[m] = nest_layer_bytes(problem->model, work->kept[space->mode[m]]);
        out->working[m] = nest_layer_bytes(problem->model, work->live[space->mode[m]]);
    }
}

/* What a device keeps of the layers outside the bulk. */
static void measure_ends(const struct nest_problem *problem, const struct nest_space *space,
                         struct nest_room *out)
{
    const struct nest_bound *bound = out->bound;
    const struct nest_strategy *strategy = &out->strategy;
    struct footprint end;
    if (bound->has_first) {
        measure_layer(problem, space, bound->first, strategy, &end);
        out->first_state = end.state;
    }
    if (bound->has_last) {
        measure_layer(problem, space, bound->last, strategy, &end);
        out->last_state = end.state;
        out->last_peak = end.logits;
    }
}

/* What bulk layers keep in memory, wherever they are. gathers: the strategy's ZeRO stage is the one
 * meant; else another one may gather less. */
static void measure_memory(const struct nest_problem *problem, const struct nest_bounds *bounds,
                           bool gathers, struct nest_room *out)
{
    const struct nest_space *space = bounds->space;
    int64_t state[NEST_BULK_KINDS] = {0};
    int64_t activations[NEST_RECOMPUTES][NEST_BULK_KINDS] = {{0}};
    struct nest_reserve reserve;
    nest_reserve_of(problem, &out->strategy, &reserve);
    out->limit = problem->memory_limit - reserve.base;
    for (int k = 0; k < bounds->bulk_kinds; k++) {
        struct footprint layer;
        measure_layer(problem, space, out->bound->work[k], &out->strategy, &layer);
        state[k] = layer.state;
        for (int m = 0; m < space->modes; m++) {
            const int64_t left = out->limit - layer.working[m] - (gathers ? layer.gathered : 0);
            activations[m][k] = layer.activations[m];
            out->memory[m] = k == 0 || left > out->memory[m] ? left : out->memory[m];
        }
    }
    out->state = nest_bounds_mean(bounds, state);
    for (int m = 0; m < space->modes; m++) {
        out->activations[m] = nest_bounds_mean(bounds, activations[m]);
    }
}

/* Whether a layer's computing may hide ZeRO's traffic and other traffic at the same time. */
static bool hides_twice(const struct nest_problem *problem, const struct nest_strategy *s)
{
    const struct nest_overlap_spec *knob = &problem->overlap;
    const bool tp = knob->tp > 0 || nest_framework_traits(problem->train.framework).async_tp;
    return s->zero >= 2 && ((s->cp > 1 && knob->cp > 0) || (s->tp > 1 && tp) ||
                            (problem->model->spec->experts > 1 && knob->ep > 0));
}

/* The strategy to take the times of. On a mixed cluster they are those of the best device: a slower
 * one computes longer and hides more, and where it hides two things at once both together may take
 * less there. Then ZeRO's traffic is left out. */
static struct nest_strategy timed(const struct nest_problem *problem, const struct nest_strategy *s)
{
    struct nest_strategy strategy = *s;
    if (problem->cluster->mixed && hides_twice(problem, s)) {
        strategy.zero = 1;
    }
    return strategy;
}

/* A layer at the end of the model, by its cheapest recompute mode: with ZeRO's traffic, which the
 * family does not know. A tied one may share parameters with the other end, and so their traffic.
 */
static nest_ps end_time(const struct nest_problem *problem, const struct nest_space *space,
                        const struct nest_placement *placement, const struct nest_layer_work *work,
                        nest_ps least, const struct nest_room *room)
{
    const struct nest_strategy strategy = timed(problem, &room->strategy);
    struct nest_layer_cost cost[NEST_RECOMPUTES];
    nest_ps time = NEST_PS_MAX;
    if (problem->model->spec->tied || strategy.zero < 2) {
        return least;
    }
    nest_layer_price_modes(problem, work, &strategy, placement, cost);
    for (int m = 0; m < space->modes; m++) {
        const enum nest_recompute mode = space->mode[m];
        time = nest_ps_min(time, nest_bounds_time(room->bound, mode, &cost[mode]));
    }
    return time > least ? time : least;
}

/* By how many layers some of the bulk in a row may fall short of their share of its parameters. */
static double shortfall(const struct nest_bounds *bounds, const struct nest_bound *bound)
{
    double most = 0.0;
    for (int expert = 0; expert < 2 && bounds->bulk_kinds > 1; expert++) {
        int64_t size[NEST_BULK_KINDS];
        for (int k = 0; k < bounds->bulk_kinds; k++) {
            size[k] = expert ? bound->work[k]->expert : bound->work[k]->dense;
        }
        const struct nest_mean mean = nest_bounds_mean(bounds, size);
        const double layers = (double)mean.slack / (double)(mean.each > 0 ? mean.each : 1);
        most = layers > most ? layers : most;
    }
    return most;
}

/* Prices the bulk's layers on the problem's cluster at a place. */
static void measure_bulk(const struct nest_problem *problem, const struct nest_bounds *bounds,
                         const struct nest_placement *placement, struct nest_room *out)
{
    const struct nest_space *space = bounds->space;
    const struct nest_strategy strategy = timed(problem, &out->strategy);
    nest_ps time[NEST_RECOMPUTES][NEST_BULK_KINDS] = {{0}};
    nest_ps forward[NEST_BULK_KINDS] = {0};
    out->bulk_total = out->bulk_largest = 0;
    for (int k = 0; k < bounds->bulk_kinds; k++) {
        struct nest_layer_cost cost[NEST_RECOMPUTES];
        nest_ps least = NEST_PS_MAX;
        nest_layer_price_modes(problem, out->bound->work[k], &strategy, placement, cost);
        for (int m = 0; m < space->modes; m++) {
            const struct nest_layer_cost *one = &cost[space->mode[m]];
            time[m][k] = nest_bounds_time(out->bound, space->mode[m], one);
            least = nest_ps_min(least, time[m][k]);
            forward[k] = one->fw;
        }
        out->bulk_total = nest_bounds_sum(out->bulk_total, bounds->bulk_count[k], least);
        out->bulk_largest = least > out->bulk_largest ? least : out->bulk_largest;
    }
    for (int m = 0; m < space->modes; m++) {
        out->time[m] = nest_bounds_mean(bounds, time[m]);
    }
    out->forward = nest_bounds_mean(bounds, forward);
}

/* The bulk, the layers at the ends, and the traffic. */
static void measure_time(const struct nest_problem *problem, const struct nest_bounds *bounds,
                         const struct nest_placement *placement, struct nest_room *out)
{
    const struct nest_space *space = bounds->space;
    const struct nest_bound *bound = out->bound;
    measure_bulk(problem, bounds, placement, out);
    out->traffic = whole_traffic(problem, bounds, bound, &out->strategy, placement);
    out->unsent = shortfall(bounds, bound);
    if (bound->has_first) {
        out->first = end_time(problem, space, placement, bound->first, bound->first_time, out);
    }
    if (bound->has_last) {
        out->last = end_time(problem, space, placement, bound->last, bound->last_time, out);
    }
}

/* The kind of those selected that computes fastest. */
static int fastest(const struct nest_problem *problem, unsigned kept)
{
    const struct nest_cluster *cluster = problem->cluster;
    int found = -1;
    double best = 0;
    for (int k = 0; k < cluster->kinds; k++) {
        const double rate = nest_device_peak(cluster->kind[k].device, problem->train.precision);
        if ((kept & (1u << k)) && (found < 0 || rate > best)) {
            found = k;
            best = rate;
        }
    }
    return found;
}

/* The time of a bulk layer by a mode, at least what its own operators take on one kind of device.
 */
static nest_ps paced(const struct nest_room *room, const struct nest_bounds *bounds,
                     const struct nest_layer_work *work, int mode)
{
    const double seconds = work->fw + work->bw + work->redone[bounds->space->mode[mode]];
    /* A few picoseconds less, for its parts are rounded one by one. */
    const nest_ps own = nest_to_ps(seconds) - 8;
    return own > room->time[mode].each ? own : room->time[mode].each;
}

/* What a mixed cluster's kinds do to the times of a bulk of equal layers. */
static void measure_kinds(const struct nest_bounds *bounds, struct nest_room *out)
{
    const struct nest_strategy *strategy = &out->strategy;
    const struct nest_problem *problem = bounds->space->problem;
    const struct nest_cluster *cluster = problem->cluster;
    const struct nest_layer_kind *kind =
        &problem->model->kind[problem->model->run[bounds->bulk].kind];
    const unsigned kept = strategy->selection > 0 ? (unsigned)strategy->selection : cluster->kept;
    const int best = fastest(problem, kept);
    int64_t count[NEST_KINDS_MAX] = {0};
    nest_ps slowest[NEST_RECOMPUTES];
    struct nest_layer_work work;
    nest_cluster_tally(cluster, 0, cluster->devices, count);
    for (int m = 0; m < out->modes; m++) {
        slowest[m] = NEST_PS_MAX;
    }
    for (int k = 0; k < cluster->kinds; k++) {
        if (k != best && (kept & (1u << k))) {
            nest_pace_work(problem, 1u << k, kind, strategy, &work);
            for (int m = 0; m < out->modes; m++) {
                slowest[m] = nest_ps_min(slowest[m], paced(out, bounds, &work, m));
            }
        }
    }
    nest_pace_work(problem, 1u << best, kind, strategy, &work);
    for (int m = 0; m < out->modes; m++) {
        out->time[m].each = paced(out, bounds, &work, m);
    }
    out->mixed = true;
    out->fast_stages = count[best] / (nest_strategy_width(strategy) * nest_strategy_dp(strategy));
    for (int m = 0; m < out->modes; m++) {
        out->slow[m] = slowest[m];
    }
}

/* Totals from the times of the bulk and of the layers at the ends. */
static void sum_up(struct nest_room *out)
{
    const struct nest_bound *bound = out->bound;
    const bool endless = bound->total >= NEST_PS_MAX || out->bulk_total >= NEST_PS_MAX;
    const nest_ps total =
        endless ? NEST_PS_MAX : bound->total - bound->bulk_total + out->bulk_total;
    const nest_ps first = out->first - bound->first_time;
    const nest_ps last = out->last - bound->last_time;
    out->total = nest_bounds_sum(nest_bounds_sum(total, 1, first), 1, last);
    out->front = bound->front > 0 ? nest_bounds_sum(bound->front, 1, first) : 0;
    out->back = bound->back > 0 ? nest_bounds_sum(bound->back, 1, last) : 0;
    out->largest = nest_ps_max(nest_ps_max(bound->largest, out->bulk_largest),
                               nest_ps_max(out->first, out->last));
}

void nest_room_begin(const struct nest_bounds *bounds, const struct nest_family *family,
                     const struct nest_bound *bound, const struct nest_strategy *strategy,
                     enum nest_knowledge knowledge, int pp, struct nest_room *out)
{
    *out = (struct nest_room){
        .bound = bound,
        .strategy = *strategy,
        .knowledge = knowledge,
        .pp = pp,
        .measured = family->widths > 1 ? NEST_MEASURE_ALL : 0,
        .modes = bounds->space->modes,
        .microbatches = nest_problem_microbatches(&bounds->problem, family->strategy.micro_batch,
                                                  nest_strategy_dp(strategy)),
        .total = bound->total,
        .largest = bound->largest,
        .front = bound->front,
        .back = bound->back,
        .first = bound->first_time,
        .last = bound->last_time,
    };
    memcpy(out->time, bound->bulk_time, sizeof out->time);
    memcpy(out->link, bound->link, sizeof out->link);
}

/* The links once the width of a stage's copies is known. */
static void widen_links(const struct nest_bounds *bounds, struct nest_room *room)
{
    const struct nest_strategy *s = &room->strategy;
    if (s->dp_in > 1 && room->bound->link[0] > 0) {
        nest_bounds_links(bounds, nest_strategy_width(s) * s->dp_in, room->bound->boundary,
                          room->link);
    }
}

void nest_room_place(const struct nest_bounds *bounds, const struct nest_room *room,
                     struct nest_placement *out)
{
    nest_bounds_place(bounds, &room->strategy, room->knowledge == NEST_KNOWS_ORDER ? room->pp : 0,
                      out);
}

/* What an order brings besides its communicators. */
static void measure_order(const struct nest_bounds *bounds, struct nest_room *room)
{
    const struct nest_problem *problem = bounds->space->problem;
    if (room->pp > 1) {
        widen_links(bounds, room);
    }
    if (problem->cluster->mixed && problem->overrides == NULL && bounds->bulk_kinds == 1) {
        measure_kinds(bounds, room);
    }
}

void nest_room_measure_time(const struct nest_bounds *bounds,
                            const struct nest_placement *placement, struct nest_room *room)
{
    measure_time(&bounds->timing, bounds, placement, room);
    sum_up(room);
    if (room->knowledge == NEST_KNOWS_ORDER) {
        measure_order(bounds, room);
    }
    room->measured |= NEST_MEASURE_TIME;
}

void nest_room_retime(const struct nest_bounds *bounds, const struct nest_room *like,
                      struct nest_room *room)
{
    memcpy(room->time, like->time, sizeof room->time);
    room->bulk_total = like->bulk_total;
    room->bulk_largest = like->bulk_largest;
    room->forward = like->forward;
    room->traffic = like->traffic;
    room->unsent = like->unsent;
    room->first = like->first;
    room->last = like->last;
    sum_up(room);
    measure_order(bounds, room);
    room->measured |= NEST_MEASURE_TIME;
}

void nest_room_measure(const struct nest_bounds *bounds, unsigned parts, struct nest_room *room)
{
    const unsigned missing = parts & ~room->measured;
    const bool any = room->knowledge == NEST_KNOWS_DP; /* ZeRO stage */
    room->measured |= missing;
    /* Which sharding is the lightest a script may decide. */
    if ((missing & NEST_MEASURE_MEMORY) && !(any && bounds->asks_memory)) {
        measure_memory(&bounds->problem, bounds, !any, room);
    }
    if ((missing & NEST_MEASURE_ENDS) && !(any && bounds->asks_memory)) {
        measure_ends(&bounds->problem, bounds->space, room);
    }
    if ((missing & NEST_MEASURE_TIME) && !any) {
        struct nest_placement placement;
        nest_room_place(bounds, room, &placement);
        nest_room_measure_time(bounds, &placement, room);
    }
}

/* Lowers a mean so that it holds wherever either does. */
static void lower(struct nest_mean *mean, const struct nest_mean *other)
{
    mean->each = other->each < mean->each ? other->each : mean->each;
    mean->slack = other->slack > mean->slack ? other->slack : mean->slack;
}

void nest_room_measure_placed(const struct nest_bounds *bounds, const struct nest_family *family,
                              const struct nest_bound *bound, const struct nest_strategy *strategy,
                              int places, const struct nest_placement *placement,
                              struct nest_room *out)
{
    const struct nest_space *space = bounds->space;
    nest_room_begin(bounds, family, bound, strategy, NEST_KNOWS_ORDER, 0, out);
    widen_links(bounds, out);
    out->measured = NEST_MEASURE_ALL;
    measure_memory(space->problem, bounds, true, out);
    measure_ends(space->problem, space, out);
    for (int i = 0; i < places; i++) {
        struct nest_room one = *out;
        measure_time(space->problem, bounds, &placement[i], i == 0 ? out : &one);
        for (int m = 0; i > 0 && m < space->modes; m++) {
            lower(&out->time[m], &one.time[m]);
        }
        if (i > 0) {
            lower(&out->forward, &one.forward);
            out->bulk_total = nest_ps_min(out->bulk_total, one.bulk_total);
            out->bulk_largest = nest_ps_min(out->bulk_largest, one.bulk_largest);
            out->traffic = nest_ps_min(out->traffic, one.traffic);
            out->first = nest_ps_min(out->first, one.first);
            out->last = nest_ps_min(out->last, one.last);
        }
    }
    sum_up(out);
}
