#include "solve/search.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "solve/room.h"
#include "solve/single.h"

enum level { FAMILY, GRID, SHARDING, STRATEGY };

/* A node of the tree of strategies. */
struct node {
    nest_ps bound;
    int64_t number; /* order of birth: breaks ties */
    enum level level;
    int family;
    struct nest_grid grid; /* of GRID and STRATEGY */
    int zero;              /* of SHARDING and STRATEGY, as the next two */
    int64_t shard, dp_in;  /* dp_in is dp while the order is open */
    int selection;         /* of STRATEGY */
};

/* One of the best plans so far. */
struct best {
    struct nest_plan plan; /* in arena */
    nest_ps step;
    struct nest_arena arena;
};

struct search {
    const struct nest_space *space;
    const struct nest_solve_options *options;
    nest_ps limit; /* asked for by the caller */
    struct nest_bounds bounds;
    struct nest_bound *bound; /* [families] */
    struct node *heap;
    size_t count, capacity;
    int64_t born;
    struct best *best; /* [top], best first */
    int found;
    int working; /* threads that are solving and may still find something */
    struct nest_progress progress;
    enum nest_status status; /* NEST_OK until cancelled or out of memory */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The node being expanded, for the callbacks of enumeration. */
    struct node parent;
    struct nest_room room; /* of room_family and room_dp, see room_of_dp */
    int room_family;
    int64_t room_dp;
};

static struct nest_strategy strategy_of(const struct search *s, const struct node *node)
{
    struct nest_strategy strategy = s->space->family[node->family].strategy;
    strategy.virtual_stages = node->grid.virtual_stages;
    strategy.zero = node->zero;
    strategy.shard = node->shard;
    strategy.dp_in = node->dp_in;
    strategy.dp_out = node->grid.dp / node->dp_in;
    strategy.selection = node->selection;
    return strategy;
}

/* ---- The list of the best ---- */

static nest_ps current_limit(const struct search *s)
{
    if (s->options->exhaustive) {
        return NEST_PS_MAX;
    }
    return s->found == s->options->top ? s->best[s->found - 1].step : s->limit;
}

/* The same degrees and ZeRO stage; only how they are carried out differs. */
static bool same_shape(const struct nest_plan *a, const struct nest_plan *b)
{
    const struct nest_strategy *x = &a->strategy;
    const struct nest_strategy *y = &b->strategy;
    return a->stages == b->stages && x->tp == y->tp && x->cp == y->cp && x->ep == y->ep &&
           x->zero == y->zero && nest_strategy_dp(x) == nest_strategy_dp(y);
}

/* Takes the plan of the same shape off the list when the new one beats it. False: it does not. */
static bool displace(struct search *s, const struct nest_plan *plan, nest_ps step)
{
    for (int i = 0; i < s->found; i++) {
        if (!same_shape(plan, &s->best[i].plan)) {
            continue;
        }
        if (nest_plan_compare(plan, step, &s->best[i].plan, s->best[i].step) >= 0) {
            return false;
        }
        const struct best slot = s->best[i];
        memmove(&s->best[i], &s->best[i + 1], (size_t)(s->found - 1 - i) * sizeof *s->best);
        s->best[--s->found] = slot;
        return true;
    }
    return true;
}

static void keep_plan(struct search *s, const struct nest_plan *plan, nest_ps step)
{
    const int top = s->options->top;
    if (s->options->by_shape && !displace(s, plan, step)) {
        return;
    }
    int at = s->found;
    while (at > 0 &&
           nest_plan_compare(plan, step, &s->best[at - 1].plan, s->best[at - 1].step) < 0) {
        at--;
    }
    if (at == top) {
        return;
    }
    struct best slot = s->best[s->found < top ? s->found : top - 1];
    const int last = s->found < top ? s->found++ : top - 1;
    memmove(&s->best[at + 1], &s->best[at], (size_t)(last - at) * sizeof *s->best);
    nest_arena_reset(&slot.arena);
    slot.step = step;
    if (!nest_plan_copy(plan, &slot.arena, &slot.plan)) {
        s->status = NEST_NO_MEMORY;
    }
    s->best[at] = slot;
}

/* True if no plan of the node can enter the list, even by a tie. */
static bool loses(const struct search *s, const struct node *node)
{
    const nest_ps limit = current_limit(s);
    if (node->bound >= NEST_PS_MAX) {
        return true; /* no room in memory */
    }
    if (node->bound != limit || node->level != STRATEGY || s->found < s->options->top) {
        return node->bound > limit;
    }
    const struct nest_problem *problem = s->space->problem;
    if (problem->allow_stage_tp || problem->allow_stage_zero) {
        return false;
    }
    struct nest_plan least = {.strategy = strategy_of(s, node), .stages = node->grid.pp};
    const int64_t width = nest_strategy_width(&least.strategy) * node->grid.pp;
    least.devices_used = width * node->grid.dp;
    least.strategy.span = width * node->dp_in;
    const struct best *worst = &s->best[s->found - 1];
    return nest_plan_compare(&least, limit, &worst->plan, worst->step) > 0;
}

/* ---- The heap ---- */

static bool before(const struct node *a, const struct node *b)
{
    if (a->bound != b->bound) {
        return a->bound < b->bound;
    }
    return a->level != b->level ? a->level > b->level : a->number < b->number;
}

static bool push(struct search *s, const struct node *node)
{
    if (loses(s, node)) {
        return true;
    }
    if (s->count == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 1024;
        struct node *grown = realloc(s->heap, capacity * sizeof *grown);
        if (!grown) {
            s->status = NEST_NO_MEMORY;
            return false;
        }
        s->heap = grown;
        s->capacity = capacity;
    }
    size_t at = s->count++;
    while (at > 0 && before(node, &s->heap[(at - 1) / 2])) {
        s->heap[at] = s->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap[at] = *node;
    s->heap[at].number = s->born++;
    return true;
}

static struct node pop(struct search *s)
{
    const struct node top = s->heap[0];
    const struct node last = s->heap[--s->count];
    size_t at = 0;
    for (size_t child = 1; child < s->count; child = 2 * at + 1) {
        child += child + 1 < s->count && before(&s->heap[child + 1], &s->heap[child]);
        if (!before(&s->heap[child], &last)) {
            break;
        }
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return top;
}

/* ---- Expansion ---- */

/* The room of a dp under the lightest sharding: grids come by dp, so it is measured once for each.
 */
static const struct nest_room *room_of_dp(struct search *s, int family, int64_t dp)
{
    if (s->room_family != family || s->room_dp != dp) {
        struct nest_strategy thinnest = s->space->family[family].strategy;
        thinnest.dp_in = dp;
        thinnest.shard = dp * thinnest.cp;
        thinnest.zero = NEST_ZEROS - 1;
        nest_room_measure(&s->bounds, &s->space->family[family], &s->bound[family], &thinnest,
                          NEST_KNOWS_DP, 0, &s->room);
        s->room_family = family;
        s->room_dp = dp;
    }
    return &s->room;
}

static bool push_grid(void *context, const struct nest_grid *grid)
{
    struct search *s = context;
    struct node node = s->parent;
    node.level = GRID;
    node.grid = *grid;
    if (!s->options->exhaustive) {
        node.bound = nest_room_even(&s->bounds, room_of_dp(s, node.family, grid->dp), grid,
                                    current_limit(s));
    }
    return push(s, &node);
}

/* The bound of a strategy, with or without its order. Without traffic first: memory alone refuses
 * most shardings. */
static nest_ps sharp_bound(const struct search *s, const struct node *node)
{
    const struct nest_family *family = &s->space->family[node->family];
    const struct nest_bound *bound = &s->bound[node->family];
    const nest_ps limit = current_limit(s);
    const struct nest_strategy strategy = strategy_of(s, node);
    struct nest_room room;
    if (s->options->exhaustive || s->space->problem->allow_stage_zero) {
        return node->bound;
    }
    if (node->level == SHARDING) {
        nest_room_measure(&s->bounds, family, bound, &strategy, NEST_KNOWS_DP, 0, &room);
        const nest_ps even = nest_room_even(&s->bounds, &room, &node->grid, limit);
        if (even > limit || even == NEST_PS_MAX) {
            return even;
        }
    }
    if (s->bounds.asks_memory) {
        nest_room_measure(&s->bounds, family, bound, &strategy, NEST_KNOWS_TIME, 0, &room);
        const nest_ps timed = nest_room_sharp(&s->bounds, &room, &node->grid, limit);
        if (timed > limit) {
            return timed;
        }
    }
    nest_room_measure(&s->bounds, family, bound, &strategy,
                      node->level == STRATEGY ? NEST_KNOWS_ORDER : NEST_KNOWS_SHARDING,
                      node->grid.pp, &room);
    const nest_ps sharp = nest_room_sharp(&s->bounds, &room, &node->grid, limit);
    return sharp > node->bound ? sharp : node->bound;
}

static bool push_sharding(void *context, const struct nest_strategy *strategy)
{
    struct search *s = context;
    struct node node = s->parent;
    node.level = SHARDING;
    node.zero = strategy->zero;
    node.shard = strategy->shard;
    node.dp_in = strategy->dp_in;
    node.bound = sharp_bound(s, &node);
    return push(s, &node);
}

static bool push_strategy(void *context, const struct nest_strategy *strategy)
{
    struct search *s = context;
    struct node node = s->parent;
    node.level = STRATEGY;
    node.zero = strategy->zero;
    node.shard = strategy->shard;
    node.dp_in = strategy->dp_in;
    node.selection = strategy->selection;
    node.bound = sharp_bound(s, &node);
    return push(s, &node);
}

static void expand(struct search *s, const struct node *node)
{
    const struct nest_family *family = &s->space->family[node->family];
    struct nest_strategy strategy;
    s->parent = *node;
    switch (node->level) {
    case FAMILY:
        (void)nest_space_each_grid(s->space, family, push_grid, s);
        break;
    case GRID:
        (void)nest_space_each_sharding(s->space, family, &node->grid, push_sharding, s);
        break;
    case SHARDING:
        strategy = strategy_of(s, node);
        (void)nest_space_each_order(s->space, &strategy, push_strategy, s);
        break;
    case STRATEGY:
        break;
    }
}

static void push_families(struct search *s)
{
    for (int i = 0; i < s->space->families; i++) {
        struct node node = {.bound = 0, .level = FAMILY, .family = i};
        if (!s->options->exhaustive) {
            nest_bound_family(&s->bounds, &s->space->family[i], &s->bound[i]);
            node.bound = nest_bound_least(&s->bounds, &s->space->family[i], &s->bound[i]);
        }
        (void)push(s, &node);
    }
}

/* ---- Threads ---- */

static void report(struct search *s)
{
    if (s->options->progress) {
        s->options->progress(s->options->context, &s->progress);
    }
}

/* Without a limit the recurrence visits everything; a plan near the bound is found faster. */
static enum nest_status solve_wider(struct nest_single *single, const struct nest_family *family,
                                    const struct nest_bound *bound,
                                    const struct nest_strategy *strategy, const struct node *node,
                                    nest_ps limit, struct nest_plan *plan, nest_ps *step)
{
    enum nest_status status = NEST_NO;
    for (int i = 0; i < 4 && status == NEST_NO; i++) {
        const nest_ps near =
            i < 3 && node->bound > 0 ? node->bound + (node->bound >> (3 - i)) : limit;
        if (near >= limit || i == 3) {
            return nest_single_solve(single, family, bound, strategy, node->grid.pp, limit, plan,
                                     step);
        }
        status =
            nest_single_solve(single, family, bound, strategy, node->grid.pp, near, plan, step);
    }
    return status;
}

/* Solves a whole strategy; the lock is open meanwhile. */
static void solve(struct search *s, struct nest_single *single, const struct node *node)
{
    const nest_ps limit = current_limit(s);
    const struct nest_strategy strategy = strategy_of(s, node);
    struct nest_plan plan;
    nest_ps step;
    const int64_t states = single->states;
    s->working++;
    pthread_mutex_unlock(&s->lock);
    const enum nest_status status =
        solve_wider(single, &s->space->family[node->family],
                    s->options->exhaustive ? NULL : &s->bound[node->family], &strategy, node, limit,
                    &plan, &step);
    pthread_mutex_lock(&s->lock);
    s->working--;
    s->progress.solved++;
    s->progress.states += single->states - states;
    if (status == NEST_OK) {
        keep_plan(s, &plan, step);
    } else if (status == NEST_NO_MEMORY) {
        s->status = NEST_NO_MEMORY;
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
    while (s->status == NEST_OK && (s->count > 0 || s->working > 0)) {
        if (cancelled(s) || nest_problem_fault(s->space->problem, NULL) != NEST_OK) {
            s->status = NEST_CANCELLED;
        } else if (s->count == 0) {
            pthread_cond_wait(&s->changed, &s->lock);
        } else {
            const struct node node = pop(s);
            if (loses(s, &node)) {
                continue;
            }
            if (node.level == STRATEGY) {
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
    if (nest_single_init(&single, &s->bounds) == NEST_OK) {
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
    out->solution = NEST_NEW(arena, struct nest_solution, s->found);
    if (!out->solution) {
        return false;
    }
    for (int i = 0; i < s->found; i++) {
        struct nest_solution *solution = &out->solution[i];
        if (!nest_plan_copy(&s->best[i].plan, arena, &solution->plan) ||
            !nest_plan_evaluate(s->space->problem, &solution->plan, arena, &solution->prediction)) {
            return false;
        }
    }
    out->count = s->found;
    return true;
}

static void clean_up(struct search *s)
{
    for (int i = 0; s->best && i < s->options->top; i++) {
        nest_arena_free(&s->best[i].arena);
    }
    free(s->best);
    free(s->bound);
    free(s->heap);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
}

enum nest_status nest_search(const struct nest_space *space,
                             const struct nest_solve_options *options, nest_ps limit,
                             struct nest_arena *arena, struct nest_result *out)
{
    struct search s = {.space = space, .options = options, .limit = limit, .room_family = -1};
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);
    s.best = calloc((size_t)options->top, sizeof *s.best);
    s.bound = calloc((size_t)space->families + 1, sizeof *s.bound);
    const bool ready = s.best && s.bound && nest_bounds_init(&s.bounds, space, arena);
    s.status = ready ? NEST_OK : NEST_NO_MEMORY;
    if (s.status == NEST_OK) {
        s.progress.strategies = space->strategies;
        push_families(&s);
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
