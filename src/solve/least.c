#include "solve/least.h"

#include "cost/pace.h"
#include "solve/room.h"
#include "solve/search.h"
#include "solve/single.h"

enum { CANDIDATES = 16, ROUNDS = 8, FINENESS = 1024, BISECTIONS = 8, GROWTHS = 60 };
/* More than a grid has. */
enum { SHARDINGS = 1 << 10 };
static const int64_t ENOUGH = INT64_C(1) << 60;

/* A strategy but for its order. */
struct candidate {
    int64_t more;   /* bytes that it needs beyond the limit, at the least */
    int64_t number; /* in the order of enumeration */
    int family, pp;
    struct nest_strategy strategy;
};

struct scan {
    const struct nest_bounds *bounds;
    int64_t neighbour; /* bytes that a stage with a neighbour reserves besides */
    int family;
    struct nest_room room; /* of a dp under its lightest sharding */
    const struct nest_grid *grid;
    int64_t unit;          /* bytes to which bounds are rounded down */
    int64_t most;          /* more than so many bytes beyond the limit are of no interest */
    int64_t number;        /* of the grid */
    struct candidate last; /* that was tried */
    int count;
    struct candidate candidate[CANDIDATES]; /* the first ones behind it */
};

/* A problem with another limit, and what solves it. */
struct relaxed {
    struct nest_problem problem;
    struct nest_space space;
    struct nest_bounds bounds;
    struct nest_single single;
    struct nest_arena *arena; /* of what was found */
};

/* ---- What a plan needs ---- */

static int64_t room_under(const struct nest_problem *problem, unsigned kinds, int64_t limit)
{
    struct nest_problem relaxed = *problem;
    relaxed.memory_limit = limit;
    return limit - nest_pace_shortfall(&relaxed, kinds);
}

/* The least limit under which a stage on those kinds of devices may fill so many bytes. */
static int64_t limit_for(const struct nest_problem *problem, unsigned kinds, int64_t bytes)
{
    int64_t low = bytes;
    int64_t high = bytes;
    while (high < ENOUGH && room_under(problem, kinds, high) < bytes) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (room_under(problem, kinds, middle) < bytes) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

int64_t nest_least_limit(const struct nest_problem *problem, const struct nest_plan *plan,
                         const struct nest_prediction *prediction, int *stage)
{
    int64_t most = 0;
    for (int i = 0; i < prediction->stages; i++) {
        const int64_t limit = limit_for(problem, nest_stage_kinds(problem, plan, i),
                                        prediction->stage[i].memory.total);
        if (limit > most) {
            most = limit;
            *stage = i;
        }
    }
    return most;
}

/* Keeps the plan in out, priced under the limit that it was found for. */
static bool keep(const struct nest_problem *problem, const struct nest_plan *plan,
                 struct nest_arena *arena, struct nest_least *out)
{
    if (!nest_plan_copy(plan, arena, &out->solution.plan) ||
        !nest_plan_evaluate(problem, &out->solution.plan, arena, &out->solution.prediction)) {
        return false;
    }
    out->limit =
        nest_least_limit(problem, &out->solution.plan, &out->solution.prediction, &out->stage);
    return true;
}

/* ---- Bounds ---- */

static bool before(const struct candidate *a, const struct candidate *b)
{
    return a->more != b->more ? a->more < b->more : a->number < b->number;
}

/* Bytes beyond the limit that are of interest. What comes later has to be less than the last of a
 * full list. */
static int64_t most_wanted(const struct scan *scan)
{
    return scan->count < CANDIDATES ? scan->most : scan->candidate[CANDIDATES - 1].more - 1;
}

static bool holds(const struct scan *scan, const struct nest_room *room, int64_t more)
{
    return nest_room_holds(room, scan->grid, more - (scan->grid->pp > 1 ? scan->neighbour : 0));
}

/* The least that the room needs beyond the limit, in whole units. */
static int64_t least_more(const struct scan *scan, const struct nest_room *room)
{
    int64_t low = 0;
    int64_t high = 1;
    while (high < ENOUGH / scan->unit && !holds(scan, room, high * scan->unit)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (holds(scan, room, middle * scan->unit)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return low * scan->unit;
}

static void insert(struct scan *scan, const struct candidate *candidate)
{
    if (!before(&scan->last, candidate)) {
        return;
    }
    int at = scan->count < CANDIDATES ? scan->count++ : CANDIDATES - 1;
    while (at > 0 && before(candidate, &scan->candidate[at - 1])) {
        scan->candidate[at] = scan->candidate[at - 1];
        at--;
    }
    scan->candidate[at] = *candidate;
}

static bool visit_sharding(void *context, const struct nest_strategy *strategy)
{
    struct scan *scan = context;
    const struct nest_space *space = scan->bounds->space;
    struct nest_room room;
    nest_room_begin(scan->bounds, &space->family[scan->family], &scan->bounds->family[scan->family],
                    strategy, NEST_KNOWS_SHARDING, 0, &room);
    nest_room_measure(scan->bounds, NEST_MEASURE_MEMORY | NEST_MEASURE_ENDS, &room);
    if (holds(scan, &room, most_wanted(scan))) {
        const struct candidate candidate = {.more = least_more(scan, &room),
                                            .number = scan->number++,
                                            .family = scan->family,
                                            .pp = scan->grid->pp,
                                            .strategy = *strategy};
        insert(scan, &candidate);
    }
    return true;
}

static bool visit_stages(void *context, const struct nest_grid *grid)
{
    struct scan *scan = context;
    const struct nest_space *space = scan->bounds->space;
    scan->grid = grid;
    scan->number = (scan->number / SHARDINGS + 1) * SHARDINGS;
    if (holds(scan, &scan->room, most_wanted(scan))) {
        (void)nest_space_each_sharding(space, &space->family[scan->family], grid, visit_sharding,
                                       scan);
    }
    return true;
}

static bool cancelled(const struct nest_solve_options *options)
{
    return options->cancel && atomic_load(options->cancel);
}

/* Lists the candidates. */
static enum nest_status scan_space(struct scan *scan, const struct nest_solve_options *options)
{
    const struct nest_space *space = scan->bounds->space;
    struct nest_reserve reserve;
    scan->count = 0;
    scan->number = 0;
    for (int f = 0; f < space->families; f++) {
        const struct nest_family *family = &space->family[f];
        if (cancelled(options)) {
            return NEST_CANCELLED;
        }
        if (nest_bound_least(scan->bounds, family, &scan->bounds->family[f]) >= NEST_PS_MAX) {
            continue;
        }
        nest_reserve_of(space->problem, &family->strategy, &reserve);
        scan->neighbour = reserve.pipeline;
        scan->family = f;
        for (int d = 0; d < family->dps; d++) {
            struct nest_strategy thinnest = family->strategy;
            thinnest.dp_in = family->dp[d];
            thinnest.shard = thinnest.dp_in * thinnest.cp;
            thinnest.zero = NEST_ZEROS - 1;
            nest_room_begin(scan->bounds, family, &scan->bounds->family[f], &thinnest,
                            NEST_KNOWS_DP, 0, &scan->room);
            nest_room_measure(scan->bounds, NEST_MEASURE_MEMORY | NEST_MEASURE_ENDS, &scan->room);
            (void)nest_space_each_stages(space, family, family->dp[d], visit_stages, scan);
        }
    }
    return NEST_OK;
}

/* ---- Plans ---- */

/* The best plan under another limit. */
static enum nest_status search_at(const struct nest_problem *problem, int64_t limit,
                                  const struct nest_solve_options *options,
                                  struct nest_arena *arena, struct nest_least *out)
{
    struct nest_problem relaxed = *problem;
    struct nest_arena scratch = NEST_ARENA_INIT;
    struct nest_space space;
    struct nest_bounds bounds;
    struct nest_result result = {0};
    relaxed.memory_limit = limit;
    enum nest_status status = nest_space_build(&relaxed, &scratch, &space) == NEST_OK &&
                                      nest_bounds_init(&bounds, &space, &scratch)
                                  ? NEST_OK
                                  : NEST_NO_MEMORY;
    if (status == NEST_OK) {
        status = nest_search(&bounds, options, NEST_PS_MAX, &scratch, &result);
    }
    if (status == NEST_OK && !keep(&relaxed, &result.solution->plan, arena, out)) {
        status = NEST_NO_MEMORY;
    }
    nest_arena_free(&scratch);
    return status;
}

/* ---- Plans of candidates ---- */

struct placing {
    struct relaxed *relaxed;
    const struct candidate *candidate;
    enum nest_status status;
    struct nest_least *out;
};

static bool place(void *context, const struct nest_strategy *strategy)
{
    struct placing *p = context;
    struct nest_plan plan;
    nest_ps step;
    p->status =
        nest_single_solve(&p->relaxed->single, &p->relaxed->space.family[p->candidate->family],
                          NULL, strategy, p->candidate->pp, NEST_PS_MAX, &plan, &step);
    if (p->status == NEST_OK && !keep(&p->relaxed->problem, &plan, p->relaxed->arena, p->out)) {
        p->status = NEST_NO_MEMORY;
    }
    return p->status == NEST_NO;
}

/* A plan of the candidate within the limit, in the first order that has one. */
static enum nest_status solve(struct relaxed *relaxed, const struct candidate *candidate,
                              int64_t limit, struct nest_least *out)
{
    struct placing placing = {relaxed, candidate, NEST_NO, out};
    relaxed->problem.memory_limit = limit;
    (void)nest_space_each_order(&relaxed->space, &candidate->strategy, place, &placing);
    return placing.status;
}

/* The first plan of a candidate: limits grow from what its bound says. *low: it has none there. */
static enum nest_status solve_first(struct relaxed *relaxed, const struct candidate *candidate,
                                    int64_t floor, struct nest_least *out, int64_t *low)
{
    enum nest_status status = NEST_NO;
    *low = floor;
    for (int64_t gap = floor / FINENESS + 1;
         gap / 256 <= floor && floor + gap < ENOUGH && status == NEST_NO; gap *= 16) {
        status = solve(relaxed, candidate, floor + gap, out);
        *low = status == NEST_NO ? floor + gap : *low;
    }
    return status;
}

/* Whether a limit is near enough to the one that is known to suffice. */
static bool is_near(int64_t limit, int64_t known)
{
    return limit >= known - known / FINENESS;
}

/* Lowers out to what the candidate can do. */
static enum nest_status improve(struct relaxed *relaxed, const struct candidate *candidate,
                                int64_t floor, struct nest_least *out)
{
    int64_t low = floor;
    enum nest_status status =
        out->limit == INT64_MAX
            ? solve_first(relaxed, candidate, floor, out, &low)
            : solve(relaxed, candidate, out->limit - out->limit / FINENESS, out);
    for (int i = 0; i < BISECTIONS && status == NEST_OK && !is_near(low, out->limit); i++) {
        const int64_t middle = low + (out->limit - low) / 2;
        status = solve(relaxed, candidate, middle, out);
        if (status == NEST_NO) {
            low = middle;
            status = NEST_OK;
        }
    }
    return status;
}

/* Tries the candidates. *done: no other one can need less. */
static enum nest_status place_candidates(struct relaxed *relaxed, struct scan *scan,
                                         const struct nest_solve_options *options,
                                         struct nest_least *out, bool *done)
{
    const int64_t limit = scan->bounds->space->problem->memory_limit;
    *done = scan->count < CANDIDATES;
    for (int i = 0; i < scan->count; i++) {
        const int64_t floor = limit + scan->candidate[i].more;
        if (cancelled(options)) {
            return NEST_CANCELLED;
        }
        if (out->limit < INT64_MAX && is_near(floor, out->limit)) {
            *done = true;
            break;
        }
        const enum nest_status status = improve(relaxed, &scan->candidate[i], floor, out);
        if (status != NEST_OK && status != NEST_NO) {
            return status;
        }
        scan->last = scan->candidate[i];
    }
    if (out->limit < INT64_MAX) {
        scan->most = out->limit - out->limit / FINENESS - limit;
    }
    return NEST_OK;
}

static enum nest_status least_by_bounds(const struct nest_bounds *bounds,
                                        const struct nest_solve_options *options,
                                        struct nest_arena *arena, struct nest_least *out)
{
    const struct nest_problem *problem = bounds->space->problem;
    struct relaxed relaxed = {.problem = *problem, .space = *bounds->space, .arena = arena};
    struct scan scan = {.bounds = bounds,
                        .unit = problem->memory_limit / (4 * FINENESS) + 1,
                        .most = ENOUGH,
                        .last = {.more = -1}};
    relaxed.space.problem = &relaxed.problem;
    relaxed.bounds.space = &relaxed.space;
    enum nest_status status = nest_bounds_fill(bounds)
                                  ? nest_single_init(&relaxed.single, &relaxed.bounds)
                                  : NEST_NO_MEMORY;
    if (status != NEST_OK) {
        return status;
    }
    relaxed.single.cancel = options->cancel;
    bool done = false;
    struct nest_least any; /* where none was found, a whole search tells whether to go on */
    for (int round = 0; round < ROUNDS && !done && status == NEST_OK; round++) {
        status = scan_space(&scan, options);
        if (status == NEST_OK) {
            status = place_candidates(&relaxed, &scan, options, out, &done);
        }
        if (status == NEST_OK && out->limit == INT64_MAX) {
            status = search_at(problem, ENOUGH, options, arena, &any);
        }
    }
    nest_single_free(&relaxed.single);
    return status;
}

/* ---- Whole searches ---- */

static enum nest_status bisect_searches(const struct nest_problem *problem,
                                        const struct nest_solve_options *options,
                                        struct nest_arena *arena, struct nest_least *out)
{
    enum nest_status status = search_at(problem, ENOUGH, options, arena, out);
    int64_t low = problem->memory_limit;
    int64_t limit = low;
    if (status != NEST_OK) {
        return status;
    }
    status = NEST_NO;
    for (int i = 0; i < GROWTHS && status == NEST_NO && limit < ENOUGH / 2; i++) {
        low = limit;
        limit *= 2;
        status = search_at(problem, limit, options, arena, out);
    }
    for (int i = 0; i < BISECTIONS && status == NEST_OK && !is_near(low, out->limit); i++) {
        const int64_t middle = low + (out->limit - low) / 2;
        status = search_at(problem, middle, options, arena, out);
        if (status == NEST_NO) {
            low = middle;
            status = NEST_OK;
        }
    }
    return status;
}

/* Whether the bounds tell a strategy's memory. */
static bool are_telling(const struct nest_bounds *bounds)
{
    const struct nest_problem *problem = bounds->space->problem;
    return !problem->allow_stage_tp && !problem->allow_stage_zero && !bounds->asks_memory &&
           !problem->model->cuts;
}

enum nest_status nest_least_memory(const struct nest_bounds *bounds,
                                   const struct nest_solve_options *options,
                                   struct nest_arena *arena, struct nest_least *out)
{
    *out = (struct nest_least){.limit = INT64_MAX};
    if (are_telling(bounds)) {
        const enum nest_status status = least_by_bounds(bounds, options, arena, out);
        if (status != NEST_OK || out->limit < INT64_MAX) {
            return status;
        }
    }
    return bisect_searches(bounds->space->problem, options, arena, out);
}
