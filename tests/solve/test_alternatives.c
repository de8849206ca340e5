/* Alternatives of different shape are the best of their shapes, as the longer list by strategy
 * shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/scenario.h"

enum { MANY = 400, FEW = 6 };

static bool same_shape(const struct nest_plan *a, const struct nest_plan *b)
{
    return a->stages == b->stages && a->strategy.tp == b->strategy.tp &&
           a->strategy.cp == b->strategy.cp && a->strategy.ep == b->strategy.ep &&
           a->strategy.zero == b->strategy.zero &&
           nest_strategy_dp(&a->strategy) == nest_strategy_dp(&b->strategy);
}

static struct nest_result list(struct test_scenario *scenario, int top, bool by_shape)
{
    const struct nest_solve_options options = {.top = top, .by_shape = by_shape, .threads = 1};
    struct nest_result result;
    assert_int_equal(nest_solve(&scenario->problem, &options, &scenario->arena, &result), NEST_OK);
    return result;
}

static void shapes_are_listed_once_at_their_best(void **unused)
{
    (void)unused;
    struct test_scenario scenario;
    test_scenario_open(&scenario, "llama2-7b", "hgx-h100-8", "global_batch=32", "");
    const struct nest_result all = list(&scenario, MANY, false);
    const struct nest_result shapes = list(&scenario, FEW, true);
    assert_int_equal(shapes.count, FEW);
    int seen = 0;
    for (int i = 0; i < all.count && seen < FEW; i++) {
        bool known = false;
        for (int j = 0; j < seen; j++) {
            known = known || same_shape(&all.solution[i].plan, &shapes.solution[j].plan);
        }
        if (!known) {
            assert_true(same_shape(&all.solution[i].plan, &shapes.solution[seen].plan));
            assert_int_equal(nest_plan_compare(&all.solution[i].plan,
                                               all.solution[i].prediction.step,
                                               &shapes.solution[seen].plan,
                                               shapes.solution[seen].prediction.step),
                             0);
            seen++;
        }
    }
    assert_int_equal(seen, FEW);
    test_scenario_close(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_listed_once_at_their_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
