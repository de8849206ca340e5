/* Every bound is at most what it bounds: over random chains and models that branch, on uniform,
 * irregular and multi-level clusters, the bound of a family, of a grid, of a sharding and of a
 * whole strategy never exceeds the step time of the best plan that the strategy has. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "solve/room.h"
#include "solve/single.h"
#include "support/small_problem.h"

enum { DEVICES = 64, STRATEGIES_MAX = 60, SKIPPED_MAX = 40 };

struct walk {
    uint64_t seed;
    struct test_random random;
    struct nest_space space;
    struct nest_bounds bounds;
    struct nest_single single;
    const struct nest_family *family;
    nest_ps group; /* bound of the family's group */
    struct nest_bound bound;
    struct nest_grid grid;
    int64_t checked, feasible;
    int64_t skip; /* strategies until the next one is looked at */
};

static void expect_at_most(const struct walk *w, const struct nest_strategy *s, const char *what,
                           nest_ps bound, nest_ps step)
{
    if (bound > step) {
        fail_msg("seed %" PRIu64 ": the bound of the %s is %" PRId64 ", %" PRId64
                 " more than a plan with tp %" PRId64 " cp %" PRId64 " ep %" PRId64 " etp %" PRId64
                 " sp %d mb %" PRId64 " v %" PRId64 " zero %d shard %" PRId64 " in %" PRId64
                 " out %" PRId64 " pp %d",
                 w->seed, what, bound, bound - step, s->tp, s->cp, s->ep, s->etp, s->sp,
                 s->micro_batch, s->virtual_stages, s->zero, s->shard, s->dp_in, s->dp_out,
                 w->grid.pp);
    }
}

/* The bounds of a room, without a limit and with the tightest one. */
static void check_room(const struct walk *w, const struct nest_strategy *s, const char *what,
                       enum nest_knowledge knowledge, nest_ps step)
{
    struct nest_room room;
    nest_room_begin(&w->bounds, w->family, &w->bound, s, knowledge, w->grid.pp, &room);
    nest_room_measure(&w->bounds, NEST_MEASURE_ALL, &room);
    expect_at_most(w, s, what, nest_room_even(&w->bounds, &room, &w->grid, NEST_PS_MAX), step);
    expect_at_most(w, s, what, nest_room_even(&w->bounds, &room, &w->grid, step), step);
    if (knowledge != NEST_KNOWS_DP) {
        expect_at_most(w, s, what, nest_room_sharp(&w->bounds, &room, &w->grid, NEST_PS_MAX), step);
        expect_at_most(w, s, what, nest_room_sharp(&w->bounds, &room, &w->grid, step), step);
    }
}

static bool check_strategy(void *context, const struct nest_strategy *strategy)
{
    struct walk *w = context;
    struct nest_plan plan;
    nest_ps step;
    if (w->skip-- > 0) {
        return true;
    }
    w->skip = test_random_below(&w->random, SKIPPED_MAX);
    const enum nest_status status = nest_single_solve(&w->single, w->family, &w->bound, strategy,
                                                      w->grid.pp, NEST_PS_MAX, &plan, &step);
    w->checked++;
    if (status != NEST_OK) {
        return w->checked < STRATEGIES_MAX;
    }
    w->feasible++;
    const nest_ps least = nest_bound_least(&w->bounds, w->family, &w->bound);
    expect_at_most(w, strategy, "group", w->group, step);
    expect_at_most(w, strategy, "family", least, step);
    if (w->space.problem->allow_stage_zero) {
        return w->checked < STRATEGIES_MAX;
    }
    struct nest_strategy thinnest = *strategy;
    thinnest.dp_in = nest_strategy_dp(strategy);
    thinnest.dp_out = 1;
    check_room(w, &thinnest, "sharding", NEST_KNOWS_SHARDING, step);
    check_room(w, strategy, "order", NEST_KNOWS_ORDER, step);
    check_room(w, &thinnest, "sharding, by memory", NEST_KNOWS_DP, step);
    thinnest.shard = thinnest.dp_in * thinnest.cp;
    thinnest.zero = NEST_ZEROS - 1;
    check_room(w, &thinnest, "grid", NEST_KNOWS_DP, step);
    /* A limit that the best plan meets exactly must not lose it. */
    nest_ps again;
    assert_int_equal(nest_single_solve(&w->single, w->family, &w->bound, strategy, w->grid.pp, step,
                                       &plan, &again),
                     NEST_OK);
    assert_int_equal(again, step);
    return w->checked < STRATEGIES_MAX;
}

static bool each_order(void *context, const struct nest_strategy *strategy)
{
    struct walk *w = context;
    return nest_space_each_order(&w->space, strategy, check_strategy, w);
}

static bool each_grid(void *context, const struct nest_grid *grid)
{
    struct walk *w = context;
    w->grid = *grid;
    return nest_space_each_sharding(&w->space, w->family, grid, each_order, w);
}

/* More experts, replicas and kinds of network than a brute force could list. */
static void widen(struct walk *w, struct test_small *made)
{
    static const enum nest_level_kind KIND[] = {
        NEST_LEVEL_SWITCH, NEST_LEVEL_SWITCH,          NEST_LEVEL_RAIL,
        NEST_LEVEL_RING,   NEST_LEVEL_FULLY_CONNECTED, NEST_LEVEL_MESH};
    const int64_t kinds = test_random_below(&w->random, 2) ? 3 : 6;
    for (int l = 0; l < made->cluster.spec.levels; l++) {
        made->cluster.spec.level[l].kind = KIND[test_random_below(&w->random, kinds)];
    }
    test_cluster_rebuild(&made->cluster, 0);
    if (test_random_below(&w->random, 2)) {
        made->spec.experts = 4 << test_random_below(&w->random, 3);
        made->spec.top_k = 1 + test_random_below(&w->random, 4);
        made->spec.moe_ffn = 256;
        made->spec.moe_every = 1;
        made->spec.shared_experts = test_random_below(&w->random, 2);
        test_small_expand(made);
    }
    if (test_random_below(&w->random, 4) == 0) {
        test_small_branch(made, w->seed);
    }
    /* What has kinds keeps the best of their figures. */
    made->cluster.device.collective_launch = 1e-6 * (double)test_random_below(&w->random, 10);
    made->cluster.device.scale_up_reduction = test_random_below(&w->random, 2);
    test_cluster_rebuild(&made->cluster, 0);
    made->problem.overlap.ep = (double)test_random_below(&w->random, 3) / 2.0;
    made->problem.train.global_batch *= 4;
    made->problem.memory_limit <<= 4;
    if (test_random_below(&w->random, 4) == 0) {
        made->cluster.other = made->cluster.device;
        made->cluster.other.peak[NEST_BF16] *= 2;
        made->cluster.other.memory_bandwidth /= 2;
        made->cluster.other.attention /= 3;
        test_cluster_mix(&made->cluster, &w->random);
    }
}

static void bound_group(struct walk *w, int family)
{
    for (int g = 0; g < w->space.groups; g++) {
        const struct nest_group *group = &w->space.group[g];
        if (family >= group->first && family < group->first + group->count) {
            assert_true(nest_bound_group(&w->bounds, group, &w->group));
            return;
        }
    }
    fail_msg("family %d is in no group", family);
}

static void check_instance(uint64_t seed, int64_t *checked, int64_t *feasible)
{
    struct test_small made;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct walk w = {.seed = seed, .random = {seed * UINT64_C(0xD1342543DE82EF95) + 1}};
    test_small_problem(&made, seed, DEVICES);
    widen(&w, &made);
    assert_int_equal(nest_space_build(&made.problem, &arena, &w.space), NEST_OK);
    assert_true(nest_bounds_init(&w.bounds, &w.space, &arena));
    assert_int_equal(nest_single_init(&w.single, &w.bounds), NEST_OK);
    w.skip = test_random_below(&w.random, SKIPPED_MAX);
    for (int i = 0; i < w.space.families && w.checked < STRATEGIES_MAX; i++) {
        w.family = &w.space.family[i];
        bound_group(&w, i);
        assert_true(nest_bound_family(&w.bounds, w.family, &w.bound));
        for (int d = 0; d < w.family->dps; d++) {
            (void)nest_space_each_stages(&w.space, w.family, w.family->dp[d], each_grid, &w);
        }
    }
    *checked += w.checked;
    *feasible += w.feasible;
    nest_single_free(&w.single);
    nest_arena_free(&arena);
    test_small_free(&made);
}

static void no_bound_exceeds_a_plan(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(6000);
    int64_t checked = 0;
    int64_t feasible = 0;
    for (int i = 0; i < instances; i++) {
        check_instance(seed + (uint64_t)i, &checked, &feasible);
    }
    print_message("%d instances from seed %" PRIu64 ": %" PRId64 " strategies, %" PRId64
                  " feasible\n",
                  instances, seed, checked, feasible);
    assert_true(feasible > instances);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bound_exceeds_a_plan),
    };
    return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
