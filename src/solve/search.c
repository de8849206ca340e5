#include "solve/search.h"

#include <pthread.h>
#include <stdlib.h>

#include "solve/best.h"
#include "solve/frontier.h"
#include "solve/rooms.h"
#include "solve/single.h"

struct search {
    const struct nest_space *space;
    const struct nest_solve_options *options;
    nest_ps limit; /* asked for by the caller */
    const struct nest_bounds *bounds;
    struct nest_frontier frontier;
    struct nest_best best;
    int dives;   /* whole strategies solved without a plan, until DIVES */
    int working; /* threads that are solving and may still find something */
    struct nest_progress progress;
    enum nest_status status; /* NEST_OK until cancelled or out of memory */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct nest_rooms *rooms;
    /* The node being expanded, for the callbacks of enumeration. */
    struct nest_node parent;
    struct nest_room room; /* of its dp under the lightest sharding */
    nest_ps least;         /* bound of its grids */
};

static struct nest_grid grid_of(const struct search *s, const struct nest_node *node)
{
    return (struct nest_grid){.dp = s->space->family[node->family].dp[node->dp],
                              .virtual_stages = node->virtual_stages,
                              .pp = node->pp};
}

static struct nest_strategy strategy_of(const struct search *s, const struct nest_node *node)
{
    const struct nest_family *family = &s->space->family[node->family];
    struct nest_strategy strategy = family->strategy;
    strategy.virtual_stages = node->virtual_stages;
    strategy.zero = node->zero;
    strategy.shard = node->shard;
    strategy.dp_in = node->dp_in;
    strategy.dp_out = family->dp[node->dp] / node->dp_in;
    strategy.selection = node->selection;
    return strategy;
}

/* ---- The list of the best ---- */

static nest_ps current_limit(const struct search *s)
{
    if (s->options->exhaustive) {
        return NEST_PS_MAX;
    }
    return nest_best_limit(&s->best, s->limit);
}

/* True if no plan of the node can enter the list, even by a tie. */
static bool loses(const struct search *s, const struct nest_node *node)
{
    const nest_ps limit = current_limit(s);
    if (node->bound >= NEST_PS_MAX) {
        return true; /* no room in memory */
    }
    if (node->bound != limit || node->level != NEST_NODE_STRATEGY || s->best.found < s->best.top) {
        return node->bound > limit;
    }
    const struct nest_problem *problem = s->space->problem;
    if (problem->allow_stage_tp || problem->allow_stage_zero) {
        return false;
    }
    struct nest_plan least = {.strategy = strategy_of(s, node), .stages = node->pp};
    const int64_t width = nest_strategy_width(&least.strategy) * node->pp;
    least.devices_used = width * nest_strategy_dp(&least.strategy);
    least.strategy.span = width * node->dp_in;
    const struct nest_best_plan *worst = &s->best.plan[s->best.found - 1];
    return nest_plan_compare(&least, limit, &worst->plan, worst->step) > 0;
}

static void push(struct search *s, const struct nest_node *node)
{
    if (!loses(s, node) && !nest_frontier_push(&s->frontier, node)) {
        s->status = NEST_NO_MEMORY;
    }
}

/* ---- Expansion ---- */

/* Without bounds nothing is measured; with a ZeRO stage per stage, nothing that depends on it. */
static bool knows_sharding(const struct search *s)
{
    return !s->options->exhaustive && !s->space->problem->allow_stage_zero;
}

/* The room of a dp under the lightest sharding. */
static void measure_dp(const struct search *s, const struct nest_node *node, struct nest_room *out)
{
    struct nest_strategy thinnest = s->space->family[node->family].strategy;
    thinnest.dp_in = node->dp_in;
    thinnest.shard = node->dp_in * thinnest.cp;
    thinnest.zero = NEST_ZEROS - 1;
    if (!s->options->exhaustive) {
        nest_room_begin(s->bounds, &s->space->family[node->family],
                        &s->bounds->family[node->family], &thinnest, NEST_KNOWS_DP, 0, out);
        nest_room_measure(s->bounds, NEST_MEASURE_ALL, out);
    }
}

static nest_ps bound_of_grid(const struct search *s, const struct nest_grid *grid)
{
    return s->options->exhaustive ? 0 : nest_room_even(s->bounds, &s->room, grid, current_limit(s));
}

static bool lower_bound(void *context, const struct nest_grid *grid)
{
    struct search *s = context;
    const nest_ps bound = bound_of_grid(s, grid);
    s->least = bound < s->least ? bound : s->least;
    return true;
}

static bool push_grid(void *context, const struct nest_grid *grid)
{
    struct search *s = context;
    struct nest_node node = s->parent;
    node.level = NEST_NODE_GRID;
    node.pp = grid->pp;
    node.virtual_stages = (int)grid->virtual_stages;
    node.bound = bound_of_grid(s, grid);
    push(s, &node);
    return true;
}

/* Calls visit for every grid of the node's dp, under its room. */
static void each_grid(struct search *s, const struct nest_node *node,
                      bool (*visit)(void *context, const struct nest_grid *grid))
{
    const struct nest_family *family = &s->space->family[node->family];
    measure_dp(s, node, &s->room);
    s->parent = *node;
    (void)nest_space_each_stages(s->space, family, family->dp[node->dp], visit, s);
}

static void expand_group(struct search *s, const struct nest_node *node)
{
    const struct nest_group *group = &s->space->group[node->family];
    for (int i = group->first; i < group->first + group->count; i++) {
        const struct nest_family *family = &s->space->family[i];
        struct nest_node child = {.level = NEST_NODE_FAMILY, .family = i};
        if (!s->options->exhaustive) {
            const struct nest_bound *bound = nest_bounds_of(s->bounds, i);
            if (!bound) {
                s->status = NEST_NO_MEMORY;
                return;
            }
            child.bound = nest_bound_least(s->bounds, family, bound);
        }
        push(s, &child);
    }
}

static void expand_family(struct search *s, const struct nest_node *family)
{
    for (int d = 0; d < s->space->family[family->family].dps; d++) {
        struct nest_node node = *family;
        node.level = NEST_NODE_DP;
        node.dp = d;
        node.dp_in = s->space->family[family->family].dp[d];
        s->least = NEST_PS_MAX;
        each_grid(s, &node, lower_bound);
        node.bound = s->least;
        push(s, &node);
    }
}

static const struct nest_room *room_of(const struct search *s, const struct nest_node *node,
                                       const struct nest_strategy *strategy,
                                       enum nest_knowledge knowledge, unsigned parts)
{
    return nest_rooms_get(s->rooms, s->bounds, node->family, &s->bounds->family[node->family],
                          strategy, knowledge, node->pp, parts);
}

/* By an even split. Without times first: memory alone refuses most shardings. A script is asked for
 * few layers first: most are refused by the bulk alone. */
static nest_ps bound_of_sharding(const struct search *s, const struct nest_node *node,
                                 const struct nest_strategy *strategy)
{
    const struct nest_grid grid = grid_of(s, node);
    const nest_ps limit = current_limit(s);
    const unsigned first = NEST_MEASURE_MEMORY | (s->bounds->asks_memory ? 0 : NEST_MEASURE_ENDS);
    const struct nest_room *room = room_of(s, node, strategy, NEST_KNOWS_SHARDING, first);
    const nest_ps bound = nest_ps_max(node->bound, nest_room_even(s->bounds, room, &grid, limit));
    if (bound > limit || bound == NEST_PS_MAX) {
        return bound;
    }
    room = room_of(s, node, strategy, NEST_KNOWS_SHARDING, NEST_MEASURE_ALL);
    return nest_ps_max(bound, nest_room_sharp(s->bounds, room, &grid, limit));
}

static bool push_sharding(void *context, const struct nest_strategy *strategy)
{
    struct search *s = context;
    struct nest_node node = s->parent;
    node.level = NEST_NODE_SHARDING;
    node.zero = (uint8_t)strategy->zero;
    node.shard = strategy->shard;
    if (knows_sharding(s)) {
        node.bound = bound_of_sharding(s, &node, strategy);
    }
    push(s, &node);
    return true;
}

static void expand_grid(struct search *s, const struct nest_node *node)
{
    const struct nest_grid grid = grid_of(s, node);
    s->parent = *node;
    (void)nest_space_each_sharding(s->space, &s->space->family[node->family], &grid, push_sharding,
                                   s);
}

static void sharpen(const struct search *s, enum nest_knowledge knowledge, struct nest_node *node)
{
    const struct nest_grid grid = grid_of(s, node);
    const struct nest_strategy strategy = strategy_of(s, node);
    if (knows_sharding(s)) {
        const struct nest_room *room = room_of(s, node, &strategy, knowledge, NEST_MEASURE_ALL);
        node->bound =
            nest_ps_max(node->bound, nest_room_sharp(s->bounds, room, &grid, current_limit(s)));
    }
}

static bool push_strategy(void *context, const struct nest_strategy *strategy)
{
    struct search *s = context;
    struct nest_node node = s->parent;
    node.level = NEST_NODE_STRATEGY;
    node.dp_in = strategy->dp_in;
    node.selection = strategy->selection;
    sharpen(s, NEST_KNOWS_ORDER, &node);
    push(s, &node);
    return true;
}

static void expand(struct search *s, const struct nest_node *node)
{
    switch ((enum nest_node_level)node->level) {
    case NEST_NODE_GROUP:
        expand_group(s, node);
        break;
    case NEST_NODE_FAMILY:
        expand_family(s, node);
        break;
    case NEST_NODE_DP:
        each_grid(s, node, push_grid);
        break;
    case NEST_NODE_GRID:
        expand_grid(s, node);
        break;
    case NEST_NODE_SHARDING:
        s->parent = *node;
        const struct nest_strategy strategy = strategy_of(s, node);
        (void)nest_space_each_order(s->space, &strategy, push_strategy, s);
        break;
    case NEST_NODE_STRATEGY:
        break;
    }
}

static void push_groups(struct search *s)
{
    for (int i = 0; i < s->space->groups; i++) {
        const struct nest_group *group = &s->space->group[i];
        struct nest_node node = {.level = NEST_NODE_GROUP, .family = i};
        if (group->count == 1 || s->options->exhaustive) {
            expand_group(s, &node);
        } else if (nest_bound_group(s->bounds, group, &node.bound)) {
            push(s, &node);
        } else {
            s->status = NEST_NO_MEMORY;
        }
    }
}

/* ---- Threads ---- */

static void report(struct search *s)
{
    if (s->options->progress) {
        s->options->progress(s->options->context, &s->progress);
    }
}

/* Without a limit the recurrence visits everything; a plan near the bound is found faster. So the
 * first tries look no further than 1/8, 1/4, 1/2 above it. */
static nest_ps reach_of(const struct nest_node *node, nest_ps limit)
{
    const nest_ps near = node->bound + (node->bound >> (NEST_NODE_TRIES - node->tries));
    return node->tries < NEST_NODE_TRIES && node->bound > 0 && near < limit ? near : limit;
}

enum { DIVES = 2 };

/* A node without a plan within reach has none below it: that is its bound now. */
static void push_again(struct search *s, const struct nest_node *node, nest_ps reach)
{
    struct nest_node again = *node;
    again.bound = reach + 1;
    again.tries++;
    push(s, &again);
}

/* Solves a whole strategy; the lock is open meanwhile. */
static void solve(struct search *s, struct nest_single *single, const struct nest_node *node)
{
    const nest_ps limit = current_limit(s);
    const nest_ps reach = reach_of(node, limit);
    const struct nest_strategy strategy = strategy_of(s, node);
    struct nest_plan plan;
    nest_ps step;
    const int64_t states = single->states;
    s->working++;
    pthread_mutex_unlock(&s->lock);
    const enum nest_status status =
        nest_single_solve(single, &s->space->family[node->family],
                          s->options->exhaustive ? NULL : &s->bounds->family[node->family],
                          &strategy, node->pp, reach, &plan, &step);
    pthread_mutex_lock(&s->lock);
    s->working--;
    s->progress.solved += node->tries == 0;
    s->progress.states += single->states - states;
    if (status == NEST_NO_MEMORY || (status == NEST_OK && !nest_best_keep(&s->best, &plan, step))) {
        s->status = NEST_NO_MEMORY;
    } else if (status == NEST_CANCELLED) {
        s->status = NEST_CANCELLED;
    } else if (status == NEST_NO && reach < limit) {
        push_again(s, node, reach);
    }
    if (current_limit(s) < limit) {
        nest_frontier_aim(&s->frontier, current_limit(s));
    } else if (++s->dives == DIVES) {
        nest_frontier_surface(&s->frontier);
    }
    report(s);
    pthread_cond_broadcast(&s->changed);
}

static bool cancelled(const struct search *s)
{
    return s->options->cancel && atomic_load(s->options->cancel);
}

static void work(struct search *s, struct nest_single *single)
{
    struct nest_frontier *frontier = &s->frontier;
    while (s->status == NEST_OK && (frontier->count > 0 || s->working > 0)) {
        if (cancelled(s) || nest_problem_fault(s->space->problem, NULL) != NEST_OK) {
            s->status = NEST_CANCELLED;
        } else if (frontier->count == 0) {
            pthread_cond_wait(&s->changed, &s->lock);
        } else {
            const struct nest_node node = nest_frontier_pop(frontier);
            if (loses(s, &node)) {
                continue;
            }
            if (node.level == NEST_NODE_STRATEGY) {
                solve(s, single, &node);
            } else {
                expand(s, &node);
                pthread_cond_broadcast(&s->changed);
            }
        }
    }
    pthread_cond_broadcast(&s->changed);
}

static void *run_thread(void *context)
{
    struct search *s = context;
    struct nest_single single;
    pthread_mutex_lock(&s->lock);
    if (nest_single_init(&single, s->bounds) == NEST_OK) {
        single.cancel = s->options->cancel;
        work(s, &single);
        nest_single_free(&single);
    } else {
        s->status = NEST_NO_MEMORY;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* The caller's thread and as many more as were asked for; fewer do as well. */
enum { THREADS_MAX = 64 };
static void run(struct search *s)
{
    pthread_t thread[THREADS_MAX];
    int started = 0;
    while (started + 1 < s->options->threads && started < THREADS_MAX &&
           pthread_create(&thread[started], NULL, run_thread, s) == 0) {
        started++;
    }
    (void)run_thread(s);
    for (int i = 0; i < started; i++) {
        pthread_join(thread[i], NULL);
    }
}

/* ---- The answer ---- */

static bool publish(const struct search *s, struct nest_arena *arena, struct nest_result *out)
{
    out->solution = NEST_NEW(arena, struct nest_solution, s->best.found);
    if (!out->solution) {
        return false;
    }
    for (int i = 0; i < s->best.found; i++) {
        struct nest_solution *solution = &out->solution[i];
        if (!nest_plan_copy(&s->best.plan[i].plan, arena, &solution->plan) ||
            !nest_plan_evaluate(s->space->problem, &solution->plan, arena, &solution->prediction)) {
            return false;
        }
    }
    out->count = s->best.found;
    return true;
}

static bool prepare(struct search *s)
{
    s->rooms = nest_rooms_create(s->space->families);
    return nest_best_init(&s->best, s->options->top, s->options->by_shape) && s->rooms;
}

static void clean_up(struct search *s)
{
    nest_best_free(&s->best);
    nest_rooms_free(s->rooms);
    free(s->frontier.heap);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
}

enum nest_status nest_search(const struct nest_bounds *bounds,
                             const struct nest_solve_options *options, nest_ps limit,
                             struct nest_arena *arena, struct nest_result *out)
{
    const struct nest_space *space = bounds->space;
    struct search s = {.space = space, .options = options, .limit = limit, .bounds = bounds};
    s.frontier.diving = limit == NEST_PS_MAX && !options->exhaustive;
    s.frontier.aimed = limit < NEST_PS_MAX;
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);
    s.status = prepare(&s) ? NEST_OK : NEST_NO_MEMORY;
    if (s.status == NEST_OK) {
        s.progress.strategies = space->strategies;
        push_groups(&s);
        run(&s);
    }
    s.progress.bounded = s.progress.strategies - s.progress.solved;
    out->progress = s.progress;
    enum nest_status status = s.status;
    if (status != NEST_NO_MEMORY && !publish(&s, arena, out)) {
        status = NEST_NO_MEMORY;
    }
    clean_up(&s);
    return status == NEST_OK && out->count == 0 ? NEST_NO : status;
}
