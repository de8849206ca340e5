/* A search that is cancelled ends soon, in the middle of a strategy too, and keeps nothing of it.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solve/single.h"
#include "solve/solve.h"
#include "support/scenario.h"

/* Strategies that visit tens of thousands of cells each: a graph of 365 cuts in eight stages. */
#define MODEL   "tests/data/models/two-towers.yaml"
#define CLUSTER "h100-spine-leaf"
#define SETS    "train.global_batch=64"
#define PINS    "tp=1,pp=8,zero=1,micro_batch=1"

struct first {
    struct nest_single *single;
    const struct nest_family *family;
    enum nest_status status;
};

/* Solves the first strategy that a family has with eight stages. */
static bool solve_order(void *context, const struct nest_strategy *strategy)
{
    struct first *first = context;
    struct nest_plan plan;
    nest_ps step;
    first->status = nest_single_solve(first->single, first->family, NULL, strategy, 8, NEST_PS_MAX,
                                      &plan, &step);
    return false;
}

static bool solve_sharding(void *context, const struct nest_strategy *strategy)
{
    struct first *first = context;
    return nest_space_each_order(first->single->space, strategy, solve_order, first);
}

static enum nest_status solve_first(struct nest_single *single, const atomic_bool *cancel,
                                    int64_t *states)
{
    const struct nest_space *space = single->space;
    struct first first = {single, &space->family[0], NEST_NO};
    const struct nest_grid grid = {.dp = first.family->dp[0], .virtual_stages = 1, .pp = 8};
    single->cancel = cancel;
    single->states = 0;
    (void)nest_space_each_sharding(space, first.family, &grid, solve_sharding, &first);
    *states = single->states;
    return first.status;
}

static void a_strategy_is_left_half_way(void **state)
{
    (void)state;
    struct test_scenario scenario;
    struct nest_space space;
    struct nest_bounds bounds;
    struct nest_single single;
    int64_t all = 0;
    int64_t some = 0;
    const atomic_bool cancel = true;
    test_scenario_open(&scenario, MODEL, CLUSTER, SETS, PINS);
    assert_int_equal(nest_space_build(&scenario.problem, &scenario.arena, &space), NEST_OK);
    assert_true(nest_bounds_init(&bounds, &space, &scenario.arena));
    assert_int_equal(nest_single_init(&single, &bounds), NEST_OK);
    assert_int_equal(solve_first(&single, NULL, &all), NEST_OK);
    assert_int_equal(solve_first(&single, &cancel, &some), NEST_CANCELLED);
    print_message("%" PRId64 " of %" PRId64 " cells visited\n", some, all);
    assert_true(some <= 1024);
    assert_true(all > 4 * some);
    /* What was left behind does no harm. */
    assert_int_equal(solve_first(&single, NULL, &some), NEST_OK);
    assert_int_equal(some, all);
    nest_single_free(&single);
    test_scenario_close(&scenario);
}

/* Raises the flag once some strategies are solved. */
struct impatience {
    atomic_bool cancel;
    int64_t solved, states;
};

static void give_up(void *context, const struct nest_progress *progress)
{
    struct impatience *impatience = context;
    if (progress->solved >= 3 && !atomic_load(&impatience->cancel)) {
        impatience->solved = progress->solved;
        impatience->states = progress->states;
        atomic_store(&impatience->cancel, true);
    }
}

static void a_search_is_left_half_way(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct test_scenario scenario;
        struct nest_result result;
        struct impatience impatience = {.cancel = false};
        test_scenario_open(&scenario, MODEL, CLUSTER, SETS, PINS);
        const struct nest_solve_options options = {.top = 1,
                                                   .threads = threads,
                                                   .exhaustive = true,
                                                   .cancel = &impatience.cancel,
                                                   .progress = give_up,
                                                   .context = &impatience};
        assert_int_equal(nest_solve(&scenario.problem, &options, &scenario.arena, &result),
                         NEST_CANCELLED);
        /* Every other thread may be in the middle of one strategy. */
        assert_true(result.progress.solved <= impatience.solved + threads - 1);
        test_scenario_close(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strategy_is_left_half_way),
        cmocka_unit_test(a_search_is_left_half_way),
    };
    return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
