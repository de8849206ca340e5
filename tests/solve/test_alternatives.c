/* Alternatives of different shape are the best of their shapes, as the longer list by strategy
 * shows; and a width for every stage, where pins leave but one, is a width for all of them. */
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

static nest_ps least_step(const char *model, const char *pins, bool free_widths)
{
    struct test_scenario scenario;
    test_scenario_open(&scenario, model, "hgx-h100-8", "global_batch=16 memory=300GiB", pins);
    scenario.problem.allow_stage_tp = free_widths;
    const nest_ps step = test_scenario_solve(&scenario).prediction.step;
    test_scenario_close(&scenario);
    return step;
}

static void one_width_per_stage_is_one_for_all(void **unused)
{
    (void)unused;
    static const char *const model[] = {"llama2-7b", "mixtral-8x7b", "gpt2"};
    static const char *const pins[] = {"tp=2", "tp=4,micro_batch=1", "tp=4,pp=2,sp=1", "tp=2,ep=2",
                                       "tp=2,pp=2,virtual_stages=2"};
    for (size_t m = 0; m < sizeof model / sizeof model[0]; m++) {
        for (size_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
            const bool experts = m == 1;
            if (experts == (i == 3) || i < 3) {
                assert_true(least_step(model[m], pins[i], true) ==
                            least_step(model[m], pins[i], false));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_listed_once_at_their_best),
        cmocka_unit_test(one_width_per_stage_is_one_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
