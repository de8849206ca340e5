#include "cost/interleave.h"
#include "plan/step.h"
#include "solve/room.h"

/* A room under one grid. */
struct fitting {
    const struct nest_room *room;
    const struct nest_grid *grid;
    double overlap;  /* knob of the sync */
    nest_ps link;    /* what one side of a stage pays per microbatch, exposed */
    nest_ps fill;    /* least sum of the stages' loads */
    nest_ps even;    /* no stage's load can be less than this for all */
    int64_t columns; /* of the bulk, v blocks each */
    bool spares;     /* of which the first and the last stage may lack one block each */
    struct nest_step_frame frame;
};

/* True if v chunks a stage can be dealt out with the first or the last one of all a block short. */
static bool has_spares(const struct nest_bounds *bounds, int64_t bulk, int64_t v)
{
    const bool known = bounds->space->blocks == bulk;
    return v > 1 && (!known || (bulk + 1) % v == 0 || (bulk + 2) % v == 0);
}

/* The least that the dearest link of a pipeline takes: one of more devices than a group of some
 * level holds crosses an outer one somewhere. At least the nearest link; 0 for a single stage. */
static nest_ps farthest(const struct nest_bounds *bounds, const struct nest_room *room, int pp)
{
    const struct nest_cluster *cluster = bounds->space->problem->cluster;
    const int64_t copies = room->knowledge == NEST_KNOWS_ORDER ? room->strategy.dp_in : 1;
    const int64_t devices = pp * nest_strategy_width(&room->strategy) * copies;
    nest_ps far = pp > 1 ? room->link[0] : 0;
    for (int l = 1; l < cluster->levels && pp > 1; l++) {
        if (devices > cluster->level[l - 1].capacity) {
            far = nest_ps_max(far, room->link[l]);
        }
    }
    return far;
}

/* Filled in place: this is what bounding does most. */
static void fit(const struct nest_bounds *bounds, const struct nest_room *room,
                const struct nest_grid *grid, struct fitting *out)
{
    const int64_t v = grid->virtual_stages;
    /* Chunks may hide the knob's part of their transfers; the two ends lack one each. */
    const double part = v > 1 ? (1.0 - bounds->problem.overlap.pp) * (double)(v - 1) : 1.0;
    /* Capped, so that no sum of links leaves int64: a bound may always be less. */
    const nest_ps longest = NEST_PS_MAX / (2 * grid->pp);
    out->room = room;
    out->grid = grid;
    out->overlap = bounds->problem.overlap.dp;
    out->link = (nest_ps)(part * (double)nest_ps_min(room->link[0], longest));
    const nest_ps far = nest_ps_min(farthest(bounds, room, grid->pp), longest / v);
    const nest_ps links = 2 * ((grid->pp - 1) * out->link + (v > 1 ? 0 : far - out->link));
    out->fill = room->total < NEST_PS_MAX ? room->total + (links > 0 ? links : 0) : NEST_PS_MAX;
    const nest_ps even = (out->fill + grid->pp - 1) / grid->pp;
    out->even = nest_ps_max(nest_ps_max(even, room->largest), v * far);
    out->columns = (room->bound->bulk + v - 1) / v;
    out->spares = has_spares(bounds, room->bound->bulk, v);
    out->frame.microbatches = room->microbatches;
    out->frame.virtual_stages = v;
    out->frame.rule.given = out->frame.rule.refused = false;
    if (nest_override_has(bounds->problem.overrides, NEST_HOOK_STEP)) {
        struct nest_strategy strategy = room->strategy;
        strategy.virtual_stages = v;
        out->frame = nest_step_frame_of(bounds->space->problem, &strategy, grid->pp);
    }
}

/* Blocks that a stage may lack of v times its columns. */
static int spare_blocks(const struct fitting *f, int stage)
{
    return f->spares && (stage == 0 || stage == f->grid->pp - 1);
}

/* Columns that the memory of a stage holds by one mode. */
static int64_t held(const struct fitting *f, int stage, int mode)
{
    const struct nest_room *room = f->room;
    const int pp = f->grid->pp;
    const int64_t v = f->grid->virtual_stages;
    const int from_end = pp - stage;
    const int64_t m = room->microbatches;
    const int64_t flights =
        v > 1 ? nest_chunks_in_flight(stage, pp, v, m) : (from_end < m ? from_end : m);
    const struct nest_mean *kept = &room->activations[mode];
    const int64_t bytes = v * room->state.each + flights * kept->each;
    int64_t memory = room->memory[mode];
    if (from_end == 1 && room->limit - room->last_peak < memory) {
        memory = room->limit - room->last_peak;
    }
    memory -= stage == 0 ? room->first_state : 0;
    memory -= from_end == 1 ? room->last_state : 0;
    memory += spare_blocks(f, stage) * room->state.each; /* the largest chunk is never short */
    if (memory < 0) {
        return 0;
    }
    memory += v * room->state.slack + nest_bytes_times(flights, kept->slack);
    return bytes > 0 ? memory / bytes : INT32_MAX;
}

/* The most columns that the memory of a stage holds, if no more than `enough` are of interest. */
static int64_t most_held(const struct fitting *f, int stage, int64_t enough)
{
    int64_t most = 0;
    for (int m = f->room->modes - 1; m >= 0 && most < enough; m--) {
        const int64_t columns = held(f, stage, m);
        most = columns > most ? columns : most;
    }
    return most;
}

/* True if memory alone lets the stages hold the bulk. Of the stages in between the second one has
 * most microbatches in flight and so holds least. */
static bool holds_bulk(const struct fitting *f)
{
    const int pp = f->grid->pp;
    int64_t left = f->columns - most_held(f, pp - 1, f->columns);
    if (pp > 1 && left > 0) {
        left -= most_held(f, 0, left);
    }
    if (pp > 2 && left > 0 && most_held(f, 1, left) * (pp - 2) >= left) {
        return true;
    }
    for (int i = pp - 2; i > 0 && left > 0; i--) {
        left -= most_held(f, i, left);
    }
    return left <= 0;
}

/* Columns for which a stage has so much time. */
static int64_t done(const struct fitting *f, int stage, int mode, bool slow, nest_ps time)
{
    const struct nest_mean *mean = &f->room->time[mode];
    const nest_ps one = slow ? f->room->slow[mode] : mean->each;
    const int64_t v = f->grid->virtual_stages;
    if (one > NEST_PS_MAX / 2 / v) {
        return 0; /* it is endless */
    }
    const nest_ps spare = spare_blocks(f, stage) * one + v * mean->slack;
    return one > 0 ? (time + spare) / (v * one) : INT32_MAX;
}

/* What so many stages leave of a time that are busy for no longer than b. */
static nest_ps left_of(nest_ps time, int stages, nest_ps b)
{
    nest_ps spent;
    return __builtin_mul_overflow(stages, b, &spent) || spent >= time ? 0 : time - spent;
}

/* Columns that a stage can hold when it is busy no longer than b. The layers in front of the bulk
 * fill the first stages, those behind it the last ones. */
static int64_t taken(const struct fitting *f, int stage, bool slow, nest_ps b)
{
    const int pp = f->grid->pp;
    const int sides = (stage > 0) + (stage < pp - 1);
    const nest_ps time = b - sides * f->link - left_of(f->room->front, stage, b) -
                         left_of(f->room->back, pp - 1 - stage, b);
    int64_t most = 0;
    for (int m = 0; m < f->room->modes && time > 0; m++) {
        int64_t columns = done(f, stage, m, slow, time);
        if (columns > most) {
            const int64_t fit = held(f, stage, m);
            columns = columns < fit ? columns : fit;
            most = columns > most ? columns : most;
        }
    }
    return most;
}

/* The same for the first stage, which is on the fastest devices if any stage is. */
static int64_t taken_first(const struct fitting *f, nest_ps b)
{
    const bool fast = !f->room->mixed || f->room->fast_stages > 0;
    const int64_t most = fast ? taken(f, 0, false, b) : 0;
    const int64_t sure = f->room->mixed ? taken(f, 0, true, b) : 0;
    return most > sure ? most : sure;
}

/* Columns for which a stage between others has time within b. */
static int64_t most_timed(const struct fitting *f, nest_ps b)
{
    int64_t most = 0;
    for (int m = 0; m < f->room->modes && b > 2 * f->link; m++) {
        const int64_t columns = done(f, 1, m, false, b - 2 * f->link);
        most = columns > most ? columns : most;
    }
    return most;
}

/* Columns that are left to the first stage when the others take what they can. Of a mixed cluster
 * all take what slow ones can, and as many as may be fast the most that being so adds anywhere.
 * Else stages in between have the same time where the layers outside the bulk fit on the ends, and
 * the second one has least room in memory: if time is what limits it, or if it holds enough, it
 * speaks for all of them. */
static int64_t left_to_first(const struct fitting *f, nest_ps b)
{
    const bool mixed = f->room->mixed;
    const int between = f->grid->pp - 2;
    int64_t left = f->columns;
    int64_t gain = 0;
    if (!mixed && between > 0 && f->room->front <= b && f->room->back <= b) {
        const int64_t second = taken(f, 1, false, b);
        const int64_t behind = left - taken(f, between + 1, false, b);
        if (behind <= 0 || second == most_timed(f, b) || second * between >= behind) {
            left = second < behind ? behind - second * between : 0;
            return left > 0 ? left : 0;
        }
    }
    for (int i = between + 1; i > 0 && left > 0; i--) {
        const int64_t most = taken(f, i, false, b);
        const int64_t sure = mixed ? taken(f, i, true, b) : most;
        left -= sure;
        gain = most - sure > gain ? most - sure : gain;
    }
    left -= gain * (mixed ? f->room->fast_stages : 0);
    return left > 0 ? left : 0;
}

/* What the first stage's update must expose at the least when it holds so many columns. */
static nest_ps least_tail(const struct fitting *f, int64_t columns, nest_ps b)
{
    const int64_t v = f->grid->virtual_stages;
    const int64_t bulk = f->room->bound->bulk;
    const int64_t most = columns * v - spare_blocks(f, 0);
    const int64_t layers = most < bulk ? most : bulk;
    if (layers <= 0 || f->room->traffic == 0 || f->frame.rule.given) {
        return 0;
    }
    const nest_ps backward = b - layers * f->room->forward.each + v * f->room->forward.slack;
    const double full = (double)layers - (double)v * f->room->unsent;
    const double part = (full > 0.0 ? full : 0.0) / (double)bulk;
    const nest_ps hidden = (nest_ps)(f->overlap * (double)(backward > 0 ? backward : 0)) + 1;
    const nest_ps tail = (nest_ps)(part * (double)f->room->traffic) - hidden;
    return tail > 0 ? tail : 0;
}

/* What some stage's update must expose at the least, however the layers are divided. A stage with n
 * of them exposes n/N of the traffic, less what its own backward hides and what the stages in front
 * of it drain: their backward and the gradient they wait for, which is no longer than b, and no
 * longer than 2b where b may hide transfers. The smallest maximum is that of equal values, whose
 * sum is known. Unlike layers may fall short of their share. */
static nest_ps shared_tail(const struct fitting *f, nest_ps b)
{
    const double stages = (double)f->grid->pp;
    const double v = (double)f->grid->virtual_stages;
    if (f->room->traffic == 0 || f->frame.rule.given) {
        return 0;
    }
    const double bulk = (double)f->room->bound->bulk;
    const double drained = (v > 1.0 ? 2.0 : 1.0) * (double)b / v;
    const double forward = bulk * (double)f->room->forward.each;
    const double backward = (double)b + v * (double)f->room->forward.slack;
    const double tail = (double)f->room->traffic * (1.0 / stages - v * f->room->unsent / bulk) +
                        f->overlap * (forward / stages - backward) - drained * (stages - 1.0) / 2.0;
    return tail > 2.0 ? (nest_ps)tail - 2 : 0;
}

static nest_ps step_with(const struct fitting *f, nest_ps b, nest_ps tail)
{
    const struct nest_step step = {b, b > f->fill ? b : f->fill, tail};
    return f->frame.rule.refused ? NEST_PS_MAX : nest_step_time(&f->frame, step, 0);
}

/* Not of several widths, and not where a script decides on the lightest state. */
static bool knows_memory(const struct nest_room *room)
{
    return room->memory[0] != 0 || room->state.each != 0;
}

bool nest_room_holds(const struct nest_room *room, const struct nest_grid *grid, int64_t more)
{
    struct nest_room larger = *room;
    const int64_t v = grid->virtual_stages;
    const struct fitting f = {
        .room = &larger, .grid = grid, .columns = (room->bound->bulk + v - 1) / v, .spares = v > 1};
    larger.limit += more;
    for (int m = 0; m < room->modes; m++) {
        larger.memory[m] += more;
    }
    return !knows_memory(room) || holds_bulk(&f);
}

nest_ps nest_room_even(const struct nest_bounds *bounds, const struct nest_room *room,
                       const struct nest_grid *grid, nest_ps limit)
{
    struct fitting f;
    fit(bounds, room, grid, &f);
    const nest_ps step = step_with(&f, f.even, 0);
    return step > limit || !knows_memory(room) || holds_bulk(&f) ? step : NEST_PS_MAX;
}

/* The same where the step is composed by a script. */
static nest_ps most_busy_composed(const struct fitting *f, nest_ps limit)
{
    nest_ps low = 0;
    nest_ps high = NEST_PS_MAX / (2 * (f->grid->pp + 1));
    if (step_with(f, 0, 0) > limit) {
        return 0;
    }
    while (low < high) {
        const nest_ps middle = low + (high - low + 1) / 2;
        if (step_with(f, middle, 0) <= limit) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* The largest b for which a step can be within the limit; 0 for none. */
static nest_ps most_busy(const struct fitting *f, nest_ps limit)
{
    if (f->frame.rule.given) {
        return most_busy_composed(f, limit);
    }
    /* M*b + (fill - b)/v <= limit, rounded generously */
    const int64_t v = f->grid->virtual_stages;
    const int64_t weight = v * f->room->microbatches - 1;
    const nest_ps left = limit - f->fill / v + 2;
    return left < 0     ? 0
           : weight > 0 ? (nest_ps)((double)left / (double)weight * (double)v) + v
                        : limit;
}

/* The tail where no stage is busy for longer than b. */
static nest_ps tail_at(const struct fitting *f, nest_ps b)
{
    return nest_ps_max(least_tail(f, left_to_first(f, b), b), shared_tail(f, b));
}

/* Least step of any b from `low` on, where b grows by a `fineness`-th at a time: between two of
 * them it is no less than the smaller one, and the tail no less than that of the larger. */
static nest_ps least_step(const struct fitting *f, nest_ps low, nest_ps limit, int fineness)
{
    nest_ps least = NEST_PS_MAX;
    nest_ps tail = 1;
    for (nest_ps b = low; tail > 0; b += b / fineness + 1) {
        const nest_ps begun = step_with(f, b, 0);
        if (begun >= least || begun > limit) {
            return nest_ps_min(least, begun);
        }
        tail = tail_at(f, b + b / fineness + 1);
        least = nest_ps_min(least, step_with(f, b, tail));
    }
    return least;
}

/* True if some step within the limit may have room: what must hold for the largest b. */
static bool fits_within(const struct fitting *f, nest_ps limit)
{
    if (limit == NEST_PS_MAX) {
        return true;
    }
    const nest_ps b = most_busy(f, limit);
    if (b < f->even) {
        return false;
    }
    return left_to_first(f, b) <= taken_first(f, b) &&
           step_with(f, f->even, tail_at(f, b)) <= limit;
}

/* The least b for which there is room, to a thousandth; never more than it. Where times are so long
 * that they saturate, no b is found, and what was tried last is a bound, too. */
static nest_ps least_busy(const struct fitting *f)
{
    const nest_ps longest = NEST_PS_MAX / (2 * (f->grid->pp + 1));
    nest_ps low = f->even;
    nest_ps high = low;
    while (left_to_first(f, high) > taken_first(f, high)) {
        if (high >= longest) {
            return low;
        }
        low = high + 1;
        high += high / 8 + 1;
    }
    while (high - low > low / 1024) {
        const nest_ps middle = low + (high - low) / 2;
        if (left_to_first(f, middle) > taken_first(f, middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum { COARSE = 16, FINE = 64 };

nest_ps nest_room_sharp(const struct nest_bounds *bounds, const struct nest_room *room,
                        const struct nest_grid *grid, nest_ps limit)
{
    struct fitting f;
    fit(bounds, room, grid, &f);
    /* M*b rises faster than the tail of a single stage falls: the least b costs least. */
    const bool single = grid->pp == 1;
    const nest_ps easy = step_with(&f, f.even, single ? least_tail(&f, f.columns, f.even) : 0);
    if (easy >= NEST_PS_MAX || easy > limit || !knows_memory(room)) {
        return easy;
    }
    if (!holds_bulk(&f)) {
        return NEST_PS_MAX;
    }
    if (!fits_within(&f, limit)) {
        return limit + 1;
    }
    const nest_ps b = least_busy(&f);
    if (single) {
        return step_with(&f, b, least_tail(&f, f.columns, b));
    }
    const nest_ps coarse = least_step(&f, b, limit, COARSE);
    return coarse > limit ? coarse : least_step(&f, b, limit, FINE);
}
