/* Mixed clusters: every stage goes at the pace of the slowest devices it touches, and no slower. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "plan/problem.h"
#include "support/input.h"

/* Two nodes of 8 devices each; what the groups of the node level say. */
struct pair {
    struct test_input input;
    struct nest_scenario_spec scenario;
    struct nest_problem problem;
    struct nest_plan plan;
    struct nest_prediction prediction;
};

static void evaluate(struct pair *pair, const char *device, const char *second, const char *pins)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "model: llama3-8b\n"
                   "cluster:\n"
                   "  device: %s\n"
                   "  levels:\n"
                   "    - {name: node, groups: [{fanout: 8}, {fanout: 8%s}], bandwidth: 300GB/s, "
                   "latency: 1us}\n"
                   "    - {name: rack, fanout: 2, bandwidth: 50GB/s, latency: 5us}\n"
                   "train: {global_batch: 64}\n"
                   "pin: {%s}\n",
                   device, second, pins);
    test_input_begin(&pair->input);
    if (test_input_scenario(&pair->input, text, &pair->scenario) != NEST_OK) {
        fail_msg("%s", test_input_faults(&pair->input));
    }
    const char **assumed;
    struct nest_arena *arena = &pair->input.arena;
    assert_int_equal(
        nest_problem_build(&pair->scenario, arena, &pair->problem, &pair->input.errors), NEST_OK);
    assert_int_equal(
        nest_plan_from_pins(&pair->problem, arena, &pair->plan, &assumed, &pair->input.errors),
        NEST_OK);
    assert_true(nest_plan_evaluate(&pair->problem, &pair->plan, arena, &pair->prediction));
}

static void close_pair(struct pair *pair)
{
    test_input_end(&pair->input);
}

static void same_work(const struct nest_stage_cost *got, const struct nest_stage_cost *want)
{
    assert_int_equal(got->fw, want->fw);
    assert_int_equal(got->bw, want->bw);
    assert_int_equal(got->optimizer, want->optimizer);
    assert_int_equal(got->memory.total, want->memory.total);
}

#define SLOW ", device: a100-sxm-40gb"

/* One stage on each node: each costs what it costs where all devices are its own. */
static void stages_keep_their_own_pace(void **state)
{
    (void)state;
    struct pair fast, slow, mixed;
    evaluate(&fast, "h100-sxm-80gb", "", "tp: 1, pp: 2");
    evaluate(&slow, "a100-sxm-40gb", "", "tp: 1, pp: 2");
    evaluate(&mixed, "h100-sxm-80gb", SLOW, "tp: 1, pp: 2");
    same_work(&mixed.prediction.stage[0], &fast.prediction.stage[0]);
    same_work(&mixed.prediction.stage[1], &slow.prediction.stage[1]);
    assert_true(fast.prediction.stage[1].fw < slow.prediction.stage[1].fw);
    assert_int_equal(mixed.prediction.bottleneck, 1);
    /* The limit is the larger device's; the second stage has 40 GiB less. */
    const int64_t gib = INT64_C(1) << 30;
    assert_int_equal(mixed.prediction.memory_limit, 80 * gib);
    assert_int_equal(nest_stage_limit(&mixed.prediction, 0), 80 * gib);
    assert_int_equal(nest_stage_limit(&mixed.prediction, 1), nest_stage_limit(&slow.prediction, 1));
    assert_int_equal(nest_stage_kinds(&mixed.problem, &mixed.plan, 0), 1);
    assert_int_equal(nest_stage_kinds(&mixed.problem, &mixed.plan, 1), 2);
    close_pair(&fast);
    close_pair(&slow);
    close_pair(&mixed);
}

/* Replicas on both nodes wait for the slower one; so do two stages that both span the nodes. */
static void replicas_wait_for_the_slowest(void **state)
{
    (void)state;
    static const char *const pins[] = {"tp: 2, pp: 1", "tp: 1, pp: 2, order: tp-cp-pp-dp"};
    for (size_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
        struct pair slow, mixed;
        evaluate(&slow, "a100-sxm-40gb", "", pins[i]);
        evaluate(&mixed, "h100-sxm-80gb", SLOW, pins[i]);
        for (int s = 0; s < mixed.plan.stages; s++) {
            same_work(&mixed.prediction.stage[s], &slow.prediction.stage[s]);
            assert_int_equal(nest_stage_limit(&mixed.prediction, s),
                             nest_stage_limit(&slow.prediction, s));
        }
        close_pair(&slow);
        close_pair(&mixed);
    }
}

/* One node's uplink at a quarter: transfers between the nodes and gradients across them take what
 * they take where both are slow; a plan inside the other node does not notice. */
static void slow_links_slow_what_crosses_them(void **state)
{
    (void)state;
    struct pair whole, half, both;
    const char *slow = ", uplink: 12.5GB/s";
    evaluate(&whole, "h100-sxm-80gb", "", "tp: 1, pp: 2");
    evaluate(&half, "h100-sxm-80gb", slow, "tp: 1, pp: 2");
    assert_true(half.prediction.stage[0].out > 3 * whole.prediction.stage[0].out);
    assert_int_equal(half.prediction.stage[0].out, half.prediction.stage[1].in);
    assert_int_equal(half.prediction.stage[0].fw, whole.prediction.stage[0].fw);
    close_pair(&half);
    close_pair(&whole);
    evaluate(&whole, "h100-sxm-80gb", "", "tp: 8, pp: 1, dp: 2");
    evaluate(&both, "h100-sxm-80gb", slow, "tp: 8, pp: 1, dp: 2");
    assert_true(both.prediction.stage[0].sync >= whole.prediction.stage[0].sync);
    close_pair(&whole);
    close_pair(&both);
    evaluate(&whole, "h100-sxm-80gb", "", "tp: 8, pp: 1, dp: 1");
    evaluate(&half, "h100-sxm-80gb", slow, "tp: 8, pp: 1, dp: 1");
    assert_int_equal(half.prediction.step, whole.prediction.step);
    close_pair(&whole);
    close_pair(&half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_keep_their_own_pace),
        cmocka_unit_test(replicas_wait_for_the_slowest),
        cmocka_unit_test(slow_links_slow_what_crosses_them),
    };
    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
