/* A rack with a dead node: the plan works around it, and says what it costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "solve/loss.h"
#include "tests/support/scenario.h"

/* 128 H100 in nodes of 8, racks of 4 nodes. */
#define POD "spine.fanout=4 train.global_batch=240"

static const struct nest_solve_options once = {.top = 1, .threads = 1};

/* Solves what is left without the named group, "node5" or "device43". */
static void solve_without(const char *down, const char *pins, struct test_scenario *scenario,
                          struct nest_solution *best, struct nest_loss *loss)
{
    char sets[160];
    (void)snprintf(sets, sizeof sets, POD " down=%s", down);
    test_scenario_open(scenario, "llama3-70b", "h100-spine-leaf", sets, pins);
    *best = test_scenario_solve(scenario);
    assert_int_equal(nest_solve_loss(&scenario->problem, &once, best, &scenario->arena, loss),
                     NEST_OK);
}

/* With whole replicas of 16 devices (tp 8, pp 2) the dead node idles the other half of its replica;
 * 15 nodes hold 15 replicas of one node each, or stages cut otherwise: nobody idles. */
static void no_whole_replica_idles_where_another_strategy_avoids_it(void **state)
{
    (void)state;
    struct test_scenario stiff, free_hand;
    struct nest_solution pinned, best;
    struct nest_loss stiff_loss, loss;
    solve_without("node5", "tp=8,pp=2", &stiff, &pinned, &stiff_loss);
    solve_without("node5", "", &free_hand, &best, &loss);
    assert_int_equal(stiff_loss.down, 8);
    assert_true(stiff_loss.idle >= 8);
    assert_true(nest_loss_share(&stiff_loss) > 0.05);
    assert_int_equal(loss.down, 8);
    assert_int_equal(loss.idle, 0);
    assert_int_equal(best.plan.devices_used, 120);
    assert_true(best.prediction.step < pinned.prediction.step);
    test_scenario_close(&stiff);
    test_scenario_close(&free_hand);
}

/* A node that lacks a device may be worse than none: the plan may leave out the rest of it, so that
 * losing a device never costs more than draining its node. */
static void a_short_node_may_be_left_out(void **state)
{
    (void)state;
    struct test_scenario device, node;
    struct nest_solution with_seven, without;
    struct nest_loss loss;
    solve_without("device43", "", &device, &with_seven, &loss);
    assert_int_equal(loss.down, 1);
    solve_without("node5", "", &node, &without, &loss);
    assert_true(with_seven.prediction.step <= without.prediction.step);
    test_scenario_close(&device);
    test_scenario_close(&node);
}

static void the_loss_is_told_in_words(void **state)
{
    (void)state;
    struct test_scenario scenario;
    struct nest_solution best;
    struct nest_loss loss;
    struct nest_strbuf text = NEST_STRBUF_INIT(1024);
    solve_without("rack3", "", &scenario, &best, &loss);
    nest_loss_write(&scenario.problem, &loss, "->", &text);
    assert_non_null(strstr(nest_strbuf_text(&text), "rack3 down, 32 devices: costs "));
    assert_non_null(strstr(nest_strbuf_text(&text), "% of throughput (step "));
    assert_true(nest_loss_share(&loss) > 0.1 && nest_loss_share(&loss) < 0.4);
    nest_strbuf_free(&text);
    test_scenario_close(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_whole_replica_idles_where_another_strategy_avoids_it),
        cmocka_unit_test(a_short_node_may_be_left_out),
        cmocka_unit_test(the_loss_is_told_in_words),
    };
    return cmocka_run_group_tests_name("down", tests, NULL, NULL);
}
