/* What an engineer's edits must do: never move the step time the wrong way, and change the plan for
 * reasons that can be worked by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/scenario.h"

/* Each later edit is worse hardware or less memory than the one before. */
struct ladder {
    const char *model, *cluster;
    const char *rung[4];
};

static const struct ladder ladders[] = {
    {"llama3-70b",
     "h100-spine-leaf",
     {"spine.oversubscription=1", "spine.oversubscription=4", "spine.oversubscription=16",
      "spine.oversubscription=64"}},
    {"gpt3-175b",
     "h100-spine-leaf",
     {"memory=80GiB", "memory=60GiB", "memory=40GiB", "memory=20GiB"}},
    {"llama3-70b",
     "dgx-h100-superpod",
     {"node.bandwidth=900GB/s", "node.bandwidth=450GB/s", "node.bandwidth=45GB/s",
      "node.bandwidth=4.5GB/s"}},
    {"mixtral-8x7b",
     "h100-spine-leaf",
     {"rack.latency=1us", "rack.latency=10us", "rack.latency=100us", "rack.latency=1ms"}},
};

static void worse_hardware_is_never_faster(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof ladders / sizeof ladders[0]; i++) {
        nest_ps before = 0;
        for (int r = 0; r < 4; r++) {
            const nest_ps step =
                test_step_time(ladders[i].model, ladders[i].cluster, ladders[i].rung[r], "");
            if (step < before) {
                fail_msg("%s on %s: %s is faster than %s", ladders[i].model, ladders[i].cluster,
                         ladders[i].rung[r], ladders[i].rung[r - 1]);
            }
            before = step;
        }
    }
}

/* Restricting a choice can only cost time. */
static void a_pin_is_never_faster(void **unused)
{
    (void)unused;
    static const char *const pins[] = {"tp=4", "zero=0", "micro_batch=2", "recompute=full",
                                       "order=tp-cp-pp-dp"};
    const nest_ps free_choice = test_step_time("llama3-8b", "dgx-h100-superpod", "", "");
    for (size_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
        assert_true(test_step_time("llama3-8b", "dgx-h100-superpod", "", pins[i]) >= free_choice);
    }
}

/* Activations of a stage grow with the microbatches in flight, min(s - i, M). */
static void activations_fall_from_first_to_last(void **unused)
{
    (void)unused;
    struct test_scenario scenario;
    test_scenario_open(&scenario, "llama3-70b", "h100-spine-leaf", "",
                       "tp=8,pp=8,dp=16,recompute=selective,virtual_stages=1,cp=1");
    const struct nest_solution best = test_scenario_solve(&scenario);
    const struct nest_stage_cost *stage = best.prediction.stage;
    for (int i = 1; i < best.prediction.stages; i++) {
        assert_true(stage[i].memory.activations < stage[i - 1].memory.activations);
    }
    test_scenario_close(&scenario);
}

/* Llama 3 70B on one box of 8 H100: 70.6e9 parameters take 18 B each without sharding, 1,270 GB of
 * 640 GB. Only sharded optimizer state (6 + 12/n, or less with ZeRO 2 and 3) or tp x pp = 8 with
 * 18 x 70.6e9 / 8 = 159 GB per device remain: the second is more than 80 GiB, so no plan exists;
 * with 192 GiB per device one does. */
static void memory_decides_what_exists(void **unused)
{
    (void)unused;
    assert_true(test_step_time("llama3-70b", "hgx-h100-8", "", "") == NEST_PS_MAX);
    assert_true(test_step_time("llama3-70b", "hgx-h100-8", "memory=192GiB", "") < NEST_PS_MAX);
}

/* Recomputation appears when memory forbids keeping activations. GPT-3 175B, tp 8, pp 8, dp 16,
 * micro batch 1: a block keeps 34 b s h / tp = 34 * 2048 * 12288 / 8 = 107 MB per microbatch; stage
 * 0 holds 12 blocks and 8 microbatches in flight: 10.3 GB of activations. States take 175e9 / 64 =
 * 2.73e9 parameters * (6 + 12/16) = 18.4 GB. 80 GiB fit without recomputation; 25 GiB less the
 * reserve do not, and full recomputation, which keeps 2 b s h = 50 MB a block at most, does. */
static void tight_memory_turns_recomputation_on(void **unused)
{
    (void)unused;
    static const char *const pins = "tp=8,pp=8,dp=16,micro_batch=1,virtual_stages=1,zero=1,cp=1";
    for (int tight = 0; tight <= 1; tight++) {
        struct test_scenario scenario;
        test_scenario_open(&scenario, "gpt3-175b", "h100-spine-leaf",
                           tight ? "memory=25GiB" : "memory=80GiB", pins);
        const struct nest_solution best = test_scenario_solve(&scenario);
        assert_int_equal(best.plan.stage[0].recompute != NEST_RECOMPUTE_NONE, tight);
        test_scenario_close(&scenario);
    }
}

/* Tensor parallelism leaves the node when nothing is gained by staying: with the node's links as
 * slow as the network (50 GB/s) an all-reduce of 8 inside the node costs as much as across it, 9
 * times what it did; at 450 GB/s tp traffic of Llama 3 70B is under a fifth of the step and tp > 1
 * pays for itself, at 5 GB/s it is ninety times dearer and pipelines win. */
static void a_slow_node_pushes_tensor_parallelism_out(void **unused)
{
    (void)unused;
    struct test_scenario scenario;
    test_scenario_open(&scenario, "llama3-70b", "h100-spine-leaf", "", "zero=0..1,cp=1");
    const int64_t fast = test_scenario_solve(&scenario).plan.strategy.tp;
    test_scenario_close(&scenario);
    test_scenario_open(&scenario, "llama3-70b", "h100-spine-leaf", "node.bandwidth=5GB/s",
                       "zero=0..1,cp=1");
    const int64_t slow = test_scenario_solve(&scenario).plan.strategy.tp;
    test_scenario_close(&scenario);
    assert_true(slow < fast);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worse_hardware_is_never_faster),
        cmocka_unit_test(a_pin_is_never_faster),
        cmocka_unit_test(activations_fall_from_first_to_last),
        cmocka_unit_test(memory_decides_what_exists),
        cmocka_unit_test(tight_memory_turns_recomputation_on),
        cmocka_unit_test(a_slow_node_pushes_tensor_parallelism_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
