/* Equal groups of a cluster can be exchanged: which one of them is out of order, and whether they
 * are listed one by one or as so many, changes neither the plan nor its step time. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "solve/solve.h"
#include "support/seed.h"
#include "support/small_problem.h"
#include "tests/support/scenario.h"

static const struct nest_solve_options once = {.top = 1, .threads = 1};

/* 64 H100: two racks of four nodes of eight. */
static struct nest_solution solve_without(const char *model, const char *level, int64_t index,
                                          struct test_scenario *scenario)
{
    char sets[128];
    (void)snprintf(sets, sizeof sets, "spine.fanout=2 global_batch=120 down=%s%" PRId64, level,
                   index);
    test_scenario_open(scenario, model, "h100-spine-leaf", sets, "");
    return test_scenario_solve(scenario);
}

static void expect_same(const char *model, const char *level, int64_t a, int64_t b)
{
    struct test_scenario first, second;
    const struct nest_solution x = solve_without(model, level, a, &first);
    const struct nest_solution y = solve_without(model, level, b, &second);
    if (nest_plan_compare(&x.plan, x.prediction.step, &y.plan, y.prediction.step) != 0) {
        fail_msg("%s without %s %" PRId64 ": %" PRId64 " ps, without %" PRId64 ": %" PRId64 " ps",
                 model, level, a, x.prediction.step, b, y.prediction.step);
    }
    test_scenario_close(&first);
    test_scenario_close(&second);
}

/* Devices of one node, nodes of one rack, racks. */
static void which_of_equals_is_down_does_not_matter(void **state)
{
    (void)state;
    static const struct {
        const char *level;
        int64_t size; /* so many siblings */
    } kind[] = {{"device", 8}, {"node", 4}};
    const uint64_t seed = test_seed();
    struct test_random random = {seed};
    for (int i = 0; i < test_instances(6); i++) {
        const int k = i % 2;
        const int64_t groups = 64 / (k == 0 ? 8 : 32);
        const int64_t parent = test_random_below(&random, groups) * kind[k].size;
        const int64_t a = parent + test_random_below(&random, kind[k].size);
        const int64_t b = parent + test_random_below(&random, kind[k].size);
        expect_same(i % 4 < 2 ? "llama3-8b" : "bert-large", kind[k].level, a, b);
    }
    print_message("seed %" PRIu64 "\n", seed);
}

/* The groups of every level listed anew: runs of equal ones cut or joined at random. */
static void list_anew(struct test_random *random, struct test_cluster *cluster)
{
    for (int l = 0; l < cluster->spec.levels; l++) {
        struct nest_level_spec *level = &cluster->spec.level[l];
        int64_t groups = 0;
        for (int i = 0; i < level->groups; i++) {
            groups += level->group[i].times;
        }
        struct nest_group_run *run = NEST_NEW(&cluster->arena, struct nest_group_run, groups + 1);
        int runs = 0;
        for (int i = 0; i < level->groups; i++) {
            for (int64_t t = 0; t < level->group[i].times; t++) {
                struct nest_group_run one = level->group[i];
                one.times = 1;
                const bool alike = runs > 0 && run[runs - 1].fanout == one.fanout;
                if (alike && test_random_below(random, 2)) {
                    run[runs - 1].times++;
                } else {
                    run[runs++] = one;
                }
            }
        }
        level->group = runs > 0 ? run : level->group;
        level->groups = runs;
    }
    test_cluster_rebuild(cluster, cluster->tree.devices);
}

static bool solve_small(const struct test_small *made, struct nest_arena *arena,
                        struct nest_solution *out)
{
    struct nest_result result;
    const enum nest_status status = nest_solve(&made->problem, &once, arena, &result);
    assert_true(status == NEST_OK || status == NEST_NO);
    if (status == NEST_OK) {
        *out = result.solution[0];
    }
    return status == NEST_OK;
}

static void how_equals_are_listed_does_not_matter(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(150);
    int listed = 0;
    for (int i = 0; i < instances; i++) {
        struct test_small made;
        struct test_random random = {seed + (uint64_t)i};
        struct nest_arena arena = NEST_ARENA_INIT;
        struct nest_solution before, after;
        test_small_problem(&made, seed + (uint64_t)i, 60);
        const bool found = solve_small(&made, &arena, &before);
        listed += found && !made.cluster.tree.uniform;
        list_anew(&random, &made.cluster);
        assert_int_equal(solve_small(&made, &arena, &after), found);
        assert_true(!found || nest_plan_compare(&before.plan, before.prediction.step, &after.plan,
                                                after.prediction.step) == 0);
        nest_arena_free(&arena);
        test_small_free(&made);
    }
    print_message("%d instances from seed %" PRIu64 ", %d with a plan on unlike groups\n",
                  instances, seed, listed);
    assert_true(listed > instances / 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_of_equals_is_down_does_not_matter),
        cmocka_unit_test(how_equals_are_listed_does_not_matter),
    };
    return cmocka_run_group_tests_name("siblings", tests, NULL, NULL);
}
