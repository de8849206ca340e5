/* What no planner may get wrong, on random small problems: more of anything is never slower, and a
 * world in which everything is twice as fast is the same world. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "solve/solve.h"
#include "support/seed.h"
#include "support/small_problem.h"

/* The best step time, NEST_PS_MAX where no plan fits. Evaluating the plan reproduces it. */
static nest_ps solve(const struct nest_problem *problem)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_result result;
    nest_ps step = NEST_PS_MAX;
    const struct nest_solve_options options = {.top = 3, .threads = 1};
    if (nest_solve(problem, &options, &arena, &result) == NEST_OK) {
        step = result.solution[0].prediction.step;
        for (int i = 0; i < result.count; i++) {
            struct nest_prediction again;
            assert_true(nest_plan_evaluate(problem, &result.solution[i].plan, &arena, &again));
            assert_int_equal(again.step, result.solution[i].prediction.step);
            assert_true(again.feasible);
        }
    }
    nest_arena_free(&arena);
    return step;
}

/* The tree of a changed specification, with as many devices as before. */
static void settle(struct test_small *made)
{
    test_cluster_rebuild(&made->cluster, made->cluster.tree.devices);
}

static void better_level(struct test_small *made, struct test_random *random)
{
    const int levels = made->cluster.spec.levels;
    struct nest_level_spec *level = &made->cluster.spec.level[test_random_below(random, levels)];
    switch (test_random_below(random, 3)) {
    case 0:
        level->bandwidth *= 1.0 + 3.0 * test_random_unit(random);
        break;
    case 1:
        level->latency *= test_random_unit(random);
        break;
    default:
        level->oversubscription = 1.0 + (level->oversubscription - 1.0) * test_random_unit(random);
    }
    settle(made);
}

static void more_memory(struct test_small *made, struct test_random *random)
{
    made->problem.memory_limit += test_random_below(random, made->problem.memory_limit);
}

static void faster_kernels(struct test_small *made, struct test_random *random)
{
    struct nest_device_spec *device = &made->cluster.device;
    const double factor = 1.0 + test_random_unit(random);
    for (int p = 0; p < NEST_PRECISIONS; p++) {
        device->peak[p] *= factor;
    }
    device->memory_bandwidth *= factor;
    device->launch /= factor;
}

/* A further group of the outermost level, where all are alike; idle devices are allowed. */
static void more_devices(struct test_small *made, struct test_random *random)
{
    (void)random;
    struct nest_level_spec *outer = &made->cluster.spec.level[made->cluster.spec.levels - 1];
    outer->fanout += outer->groups == 0;
    test_cluster_rebuild(&made->cluster, 0);
}

static void more_is_never_slower(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*change)(struct test_small *made, struct test_random *random);
    } changes[] = {
        {"a better level", better_level},
        {"more memory", more_memory},
        {"faster kernels", faster_kernels},
        {"more devices", more_devices},
    };
    enum { CHANGES = sizeof changes / sizeof changes[0] };
    const uint64_t seed = test_seed();
    const int instances = test_instances(400);
    int faster = 0;
    print_message("seed %" PRIu64 "\n", seed);
    for (int i = 0; i < instances; i++) {
        struct test_small made;
        struct test_random random = {seed + (uint64_t)i};
        test_small_problem(&made, seed + (uint64_t)i, 8);
        const nest_ps before = solve(&made.problem);
        changes[i % CHANGES].change(&made, &random);
        const nest_ps after = solve(&made.problem);
        if (after > before) {
            fail_msg("%s makes instance %" PRIu64 " slower: %" PRId64 " to %" PRId64,
                     changes[i % CHANGES].name, seed + (uint64_t)i, before, after);
        }
        faster += after < before;
        test_small_free(&made);
    }
    assert_true(faster > instances / 10); /* the changes do something */
}

/* Every rate doubled and every fixed time halved: half the step, but for small fixed costs. */
static void a_world_twice_as_fast_is_the_same(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(100);
    int feasible = 0;
    print_message("seed %" PRIu64 "\n", seed);
    for (int i = 0; i < instances; i++) {
        struct test_small made;
        test_small_problem(&made, seed + (uint64_t)i, 8);
        const nest_ps before = solve(&made.problem);
        struct nest_device_spec *device = &made.cluster.device;
        for (int p = 0; p < NEST_PRECISIONS; p++) {
            device->peak[p] *= 2;
        }
        device->memory_bandwidth *= 2;
        device->launch /= 2;
        for (int l = 0; l < made.cluster.spec.levels; l++) {
            made.cluster.spec.level[l].bandwidth *= 2;
            made.cluster.spec.level[l].latency /= 2;
        }
        settle(&made);
        const nest_ps after = solve(&made.problem);
        assert_int_equal(before == NEST_PS_MAX, after == NEST_PS_MAX);
        if (before != NEST_PS_MAX) {
            feasible++;
            if (fabs(2.0 * (double)after - (double)before) >= 1e-4 * (double)before + 1e4) {
                fail_msg("instance %" PRIu64 ": %" PRId64 ", and twice as fast %" PRId64,
                         seed + (uint64_t)i, before, after);
            }
        }
        test_small_free(&made);
    }
    assert_true(feasible > instances / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_is_never_slower),
        cmocka_unit_test(a_world_twice_as_fast_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
