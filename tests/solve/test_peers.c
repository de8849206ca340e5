/* Peers propose, the one cost model judges: none may beat the exact search over a larger space, and
 * what they propose must be a plan that fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solve/peers/peer.h"
#include "tests/support/scenario.h"

static enum nest_status propose(struct test_scenario *scenario, const struct nest_peer *peer,
                                struct nest_solution *out)
{
    struct nest_errors errors;
    nest_errors_init(&errors, &scenario->arena);
    const enum nest_status status =
        peer->propose(&scenario->problem, NULL, &scenario->arena, &out->plan, &errors);
    if (status == NEST_OK) {
        assert_true(
            nest_plan_evaluate(&scenario->problem, &out->plan, &scenario->arena, &out->prediction));
    } else {
        assert_int_equal(errors.count, 1);
    }
    return status;
}

static void no_peer_beats_the_exact_search(void **unused)
{
    (void)unused;
    static const char *const world[][3] = {
        {"llama3-8b", "dgx-h100-superpod", "memory=80GiB"},
        {"llama2-7b", "hgx-h100-8", "global_batch=64"},
        {"bert-large", "tpuv4-fat-tree", "memory=32GiB"},
        {"llama3-8b", "dgx-a100-superpod", "memory=24GiB"},
    };
    for (size_t i = 0; i < sizeof world / sizeof world[0]; i++) {
        struct test_scenario scenario;
        test_scenario_open(&scenario, world[i][0], world[i][1], world[i][2], "");
        const struct nest_solution ours = test_scenario_solve(&scenario);
        for (const struct nest_peer *peer = nest_peers; peer->name; peer++) {
            struct nest_solution theirs;
            if (propose(&scenario, peer, &theirs) == NEST_OK) {
                assert_true(theirs.prediction.feasible);
                assert_true(theirs.prediction.step >= ours.prediction.step);
            }
        }
        test_scenario_close(&scenario);
    }
}

/* The recipe keeps tensor parallelism inside the node and what the scenario pins. */
static void the_recipe_keeps_pins(void **unused)
{
    (void)unused;
    struct test_scenario scenario;
    test_scenario_open(&scenario, "llama3-8b", "dgx-h100-superpod", "", "pp=4,micro_batch=2");
    struct nest_solution manual;
    assert_int_equal(propose(&scenario, &nest_peers[0], &manual), NEST_OK);
    assert_int_equal(manual.plan.stages, 4);
    assert_int_equal(manual.plan.strategy.micro_batch, 2);
    assert_true(manual.plan.strategy.tp <= 8);
    test_scenario_close(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_peer_beats_the_exact_search),
        cmocka_unit_test(the_recipe_keeps_pins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
