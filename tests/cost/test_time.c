/* Times of operators, layers and stages against values worked by hand, and what must hold whatever
 * the numbers. Device: 500 TFLOP/s and 1 TB/s reached, no launch cost (see support/problem.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/roofline.h"
#include "input/load.h"
#include "support/problem.h"

static void assert_near(double value, double expected, double tolerance)
{
    if (!(value >= expected * (1.0 - tolerance) && value <= expected * (1.0 + tolerance))) {
        fail_msg("%.9g is not within %g of %.9g", value, tolerance, expected);
    }
}

static void start(struct test_problem *test, int64_t devices)
{
    test_problem_start(test, devices);
    test->spec = test_llama(8, 4096, 14336, 32, 8, 32000, 4096);
    test_problem_settle(test);
}

static struct nest_op_work op_work(struct test_problem *test, int layer, const char *name)
{
    const struct nest_layer_kind *kind = &test->model.kind[test->model.kind_of[layer]];
    struct nest_op_work work = {0};
    for (int i = 0; i < kind->ops; i++) {
        if (strcmp(kind->op[i].name, name) == 0) {
            nest_op_work(&test->problem, kind, &test->strategy, &kind->op[i], &work);
            return work;
        }
    }
    fail_msg("no operator '%s'", name);
    return work;
}

/* Halfway between 1e9 and 1e11 in log x lies 1e10; constant beyond the ends. */
static void test_curve(void **state)
{
    (void)state;
    const struct nest_curve curve = {.count = 2, .x = {1e9, 1e11}, .y = {0.3, 0.7}};
    assert_near(nest_curve_at(&curve, 1e10), 0.5, 1e-12);
    assert_true(nest_curve_at(&curve, 1e3) == 0.3);
    assert_true(nest_curve_at(&curve, 1e15) == 0.7);
}

/* 4096 tokens, 4096 -> 2 * 14336 columns: 2 * 4096 * 4096 * 28672 = 9.6208e11 FLOP at 5e14 = 1.9242
 * ms. Backward: twice that. */
static void test_gemm(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    const struct nest_op_work up = op_work(&test, 1, "MLP up");
    assert_near(up.flops, 9.62072674304e11, 1e-12);
    assert_near(up.fw, 1.92414534861e-3, 1e-9);
    assert_near(up.bw, 2.0 * up.fw, 1e-9);
    test_problem_free(&test);
}

/* One row: weights of 4096 x 28672 x 2 bytes = 234.9 MB at 1 TB/s decide, 0.2349 ms, not the FLOP.
 */
static void test_gemm_bound_by_memory(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    test.spec.seq = 1;
    test_problem_settle(&test);
    const struct nest_op_work up = op_work(&test, 1, "MLP up");
    assert_near(up.fw, (2.0 * 4096 * 28672 + 2.0 * 4096 + 2.0 * 28672) / 1e12, 1e-9);
    test_problem_free(&test);
}

/* Causal attention is counted once: 2 * 4096 tokens * 2048 keys on average * 32 heads * 256
 * = 1.374e11 FLOP at 5e14, 0.2749 ms; twice as much without a mask; backward 2.5 times the forward.
 * A window of 1024 of 4096: 1024 - 1024^2 / 8192 = 896 keys. */
static void test_attention(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    const struct nest_op_work causal = op_work(&test, 1, "attention");
    assert_near(causal.fw, 2.0 * 4096 * 2048 * 32 * 256 / 5e14, 1e-9);
    assert_near(causal.bw, 2.5 * causal.fw, 1e-9);
    test.spec.causal = false;
    test_problem_settle(&test);
    assert_near(op_work(&test, 1, "attention").fw, 2.0 * causal.fw, 1e-9);
    test.spec.causal = true;
    test.spec.window = 1024;
    test_problem_settle(&test);
    assert_near(op_work(&test, 1, "attention").flops, causal.flops * 896.0 / 2048.0, 1e-9);
    test_problem_free(&test);
}

/* RMSNorm reads and writes 4096 * 4096 elements of 2 bytes: 67.1 MB at 1 TB/s = 67.1 us. */
static void test_memory_bound(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    assert_near(op_work(&test, 1, "attention norm").fw, 67.108864e-6, 1e-9);
    test.problem.train.precision = NEST_FP32;
    assert_near(op_work(&test, 1, "attention norm").fw, 134.217728e-6, 1e-9);
    test_problem_free(&test);
}

/* fp8 halves the GEMM and adds casts: 4 bytes for each element of the input. A curve of its own for
 * fp8, here 0.4 instead of 0.5 of the peak, makes the GEMM 5/4 as long. */
static void test_fp8(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    const double wide = op_work(&test, 1, "MLP up").fw;
    test.problem.train.precision = NEST_FP8;
    const double casts = 4.0 * 4096 * 4096 / 1e12;
    assert_near(op_work(&test, 1, "MLP up").fw, wide / 2.0 + casts, 1e-9);
    test.cluster.device.gemm_fp8 = (struct nest_curve){.count = 1, .x = {1e9}, .y = {0.4}};
    assert_near(op_work(&test, 1, "MLP up").fw, wide / 2.0 * 1.25 + casts, 1e-9);
    test_problem_free(&test);
}

/* tp 8 without sequence parallelism: two all-reduces of 4096 * 4096 * 2 = 33.55 MB forward, and the
 * same backward, which Megatron runs beside the weight gradients. Ring: (14 + 0.5)/8 * S / 450 GB/s
 * and 14 hops at 1.55 times the level's latency (cost/network.h). */
static void test_tensor_parallel(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    test.strategy.tp = 8;
    test.strategy.dp_in = 1;
    test_problem_settle(&test);
    const double bytes = 4096.0 * 4096 * 2;
    const double one = nest_to_seconds(
        nest_collective_time(&test.cluster.tree, NEST_ALL_REDUCE, &test.placement.tp, bytes));
    const double hops = 14 * 1.55 * test.cluster.tree.level[0].latency;
    assert_near(one, 14.5 / 8 * bytes / 450e9 + hops, 1e-6);
    const double hidden = nest_to_seconds(test_problem_layer(&test, 1, 0).tp);
    assert_near(hidden, 2.0 * one, 1e-6);
    test.problem.train.framework = NEST_TORCHTITAN;
    assert_near(nest_to_seconds(test_problem_layer(&test, 1, 0).tp), 4.0 * one, 1e-6);
    test.problem.overlap.tp = 1.0;
    assert_int_equal(test_problem_layer(&test, 1, 0).tp, 0);
    test_problem_free(&test);
}

/* Nothing is communicated where there is nobody to communicate with. */
static void test_alone(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 1);
    for (int layer = 0; layer < test.model.layers; layer++) {
        const struct nest_layer_cost cost = test_problem_layer(&test, layer, 0);
        assert_int_equal(cost.tp + cost.cp + cost.ep + cost.zero, 0);
    }
    const struct nest_stage_cost stage = test_problem_stage(&test, 0, 9, 0, 1);
    assert_int_equal(stage.sync, 0);
    assert_int_equal(stage.in + stage.out, 0);
    test_problem_free(&test);
}

/* cp 4: keys and values of a quarter of the sequence go round the ring, 3/4 of the whole: 2 * 1024
 * kv columns * 4096 tokens * 2 bytes. Hidden under attention when the knob says so. */
static void test_ring(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    test.strategy.cp = 4;
    test.strategy.dp_in = 2;
    test_problem_settle(&test);
    const double once = nest_to_seconds(nest_collective_time(
        &test.cluster.tree, NEST_ALL_GATHER, &test.placement.cp, 2.0 * 1024 * 4096 * 2));
    assert_near(nest_to_seconds(test_problem_layer(&test, 1, 0).cp), 3.0 * once, 1e-6);
    test.problem.overlap.cp = 1.0;
    const nest_ps exposed = test_problem_layer(&test, 1, 0).cp;
    assert_true(exposed < nest_to_ps(3.0 * once));
    test.problem.overlap.cp = 0.0;
    const struct nest_layer_cost redone = test_problem_layer(&test, 1, NEST_RECOMPUTE_FULL);
    assert_near(nest_to_seconds(redone.cp), 4.0 * once, 1e-6);
    test_problem_free(&test);
}

/* Dispatch and combine, forward and backward: four all-to-alls of tokens * top_k * hidden * 2
 * bytes; the fullest expert sets the pace. */
static void test_experts(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    test.spec.experts = 8;
    test.spec.top_k = 2;
    test.spec.moe_ffn = 14336;
    test.strategy.ep = 8;
    test_problem_settle(&test);
    const double bytes = 4096.0 * 2 * 4096 * 2;
    const double once = nest_to_seconds(
        nest_collective_time(&test.cluster.tree, NEST_ALL_TO_ALL, &test.placement.ep, bytes));
    assert_near(nest_to_seconds(test_problem_layer(&test, 1, 0).ep), 4.0 * once, 1e-6);
    const double even = op_work(&test, 1, "expert up").fw;
    assert_near(op_work(&test, 1, "expert up").flops, 2.0 * 8192 * 4096 * 28672, 1e-12);
    test.problem.train.imbalance = 1.5;
    assert_near(op_work(&test, 1, "expert up").fw, 1.5 * even, 1e-6);
    test_problem_free(&test);
}

/* Once per step, ZeRO 0 all-reduces 4 bytes per parameter, ZeRO 1 reduces and gathers 4 + 2; ZeRO 2
 * and 3 pay per microbatch (DESIGN: state traffic of a stage). */
static void test_gradient_traffic(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    const double params = (double)test.model.params;
    const struct nest_cluster *tree = &test.cluster.tree;
    const struct nest_comm *group = &test.placement.dense;
    const nest_ps reduce = nest_collective_time(tree, NEST_ALL_REDUCE, group, 4.0 * params);
    const nest_ps scatter = nest_collective_time(tree, NEST_REDUCE_SCATTER, group, 4.0 * params);
    const nest_ps gather = nest_collective_time(tree, NEST_ALL_GATHER, group, 2.0 * params);
    const nest_ps expected[] = {reduce, scatter + gather, gather, 0};
    for (int zero = 0; zero <= 3; zero++) {
        test.strategy.zero = zero;
        test_problem_settle(&test);
        const struct nest_stage_cost stage = test_problem_stage(&test, 0, 9, 0, 1);
        assert_near((double)stage.sync + 1.0, (double)expected[zero] + 1.0, 1e-3);
        assert_true((stage.zero > 0) == (zero >= 2));
    }
    test_problem_free(&test);
}

/* Full recompute repeats the forward pass of the blocks and their collectives, and nothing else. */
static void test_full_recompute(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    test.strategy.tp = 8;
    test.strategy.dp_in = 1;
    test.strategy.sp = true;
    test_problem_settle(&test);
    const struct nest_layer_cost none = test_problem_layer(&test, 1, NEST_RECOMPUTE_NONE);
    const struct nest_layer_cost full = test_problem_layer(&test, 1, NEST_RECOMPUTE_FULL);
    assert_int_equal(none.recompute, 0);
    assert_int_equal(full.compute, none.compute);
    assert_true(full.recompute > 0 && full.fw == none.fw);
    assert_near((double)(full.bw - none.bw), (double)none.fw, 1e-6);
    const struct nest_layer_cost head = test_problem_layer(&test, 9, NEST_RECOMPUTE_FULL);
    assert_int_equal(head.recompute, 0);
    test_problem_free(&test);
}

/* A random strategy on 32 devices. */
static void draw(struct test_problem *test, struct test_random *random)
{
    static const int64_t width[] = {1, 2, 4, 8};
    test->strategy.tp = width[test_random_below(random, 4)];
    test->strategy.cp = width[test_random_below(random, 2)];
    test->strategy.sp = test->strategy.tp > 1 && test_random_below(random, 2);
    test->strategy.dp_in = 32 / nest_strategy_width(&test->strategy);
    test->strategy.zero = (int)test_random_below(random, 4);
    test->strategy.micro_batch = 1 + test_random_below(random, 4);
    test->strategy.shard = 0;
    test->problem.overlap = (struct nest_overlap_spec){
        .dp = test_random_unit(random),
        .zero = test_random_unit(random),
        .tp = test_random_unit(random),
        .cp = test_random_unit(random),
        .ep = test_random_unit(random),
    };
}

/* fw + bw is exactly the sum of its named parts, whatever the strategy. */
static void test_parts_sum(void **state)
{
    (void)state;
    struct test_random random = {20260812};
    for (int i = 0; i < 200; i++) {
        struct test_problem test;
        start(&test, 32);
        draw(&test, &random);
        test_problem_settle(&test);
        for (int r = 0; r < NEST_RECOMPUTES; r++) {
            const struct nest_stage_cost s =
                test_problem_stage(&test, 0, 9, (enum nest_recompute)r, 1);
            assert_int_equal(s.fw + s.bw, s.compute + s.recompute + s.tp + s.cp + s.ep + s.zero);
            assert_true(s.fw > 0 && s.bw > 0 && s.tp >= 0 && s.cp >= 0 && s.zero >= 0);
        }
        test_problem_free(&test);
    }
}

/* More bandwidth, a faster device or more overlap is never slower. */
static void test_faster_is_never_slower(void **state)
{
    (void)state;
    struct test_random random = {7};
    for (int i = 0; i < 200; i++) {
        struct test_problem test;
        start(&test, 32);
        draw(&test, &random);
        test_problem_settle(&test);
        const struct nest_stage_cost before = test_problem_stage(&test, 1, 9, 0, 1);
        switch (i % 5) {
        case 0:
            test.cluster.spec.level[0].bandwidth *= 2.0;
            break;
        case 1:
            test.cluster.spec.level[1].bandwidth *= 2.0;
            break;
        case 2:
            test.cluster.device.memory_bandwidth *= 2.0;
            break;
        case 3:
            test.problem.overlap.tp = test.problem.overlap.zero = 1.0;
            break;
        default:
            test.problem.overlap.dp = test.problem.overlap.cp = 1.0;
            break;
        }
        test_cluster_rebuild(&test.cluster, 32);
        test_problem_settle(&test);
        const struct nest_stage_cost after = test_problem_stage(&test, 1, 9, 0, 1);
        if (i % 5 == 2) {
            /* Compute hides more when it takes longer: only the compute itself must not grow. */
            assert_true(after.compute <= before.compute);
        } else {
            /* A shorter backward hides less of the gradient traffic, but never gains by it. */
            assert_true(after.load <= before.load);
            assert_true(after.load + after.sync <= before.load + before.sync);
        }
        test_problem_free(&test);
    }
}

/* Ten times faster in every respect is exactly ten times shorter: no hidden absolute unit. */
static void test_scale_free(void **state)
{
    (void)state;
    struct test_random random = {11};
    for (int i = 0; i < 50; i++) {
        struct test_problem test;
        start(&test, 32);
        draw(&test, &random);
        test_problem_settle(&test);
        const struct nest_stage_cost slow = test_problem_stage(&test, 0, 9, 0, 1);
        struct nest_device_spec *device = &test.cluster.device;
        device->memory_bandwidth *= 10.0;
        for (int p = 0; p < NEST_PRECISIONS; p++) {
            device->peak[p] *= 10.0;
        }
        for (int l = 0; l < 2; l++) {
            test.cluster.spec.level[l].bandwidth *= 10.0;
            test.cluster.spec.level[l].latency /= 10.0;
        }
        test_cluster_rebuild(&test.cluster, 32);
        test_problem_settle(&test);
        const struct nest_stage_cost fast = test_problem_stage(&test, 0, 9, 0, 1);
        assert_near((double)fast.load, (double)slow.load / 10.0, 1e-6);
        assert_near((double)fast.sync + 1e6, (double)slow.sync / 10.0 + 1e6, 1e-3);
        test_problem_free(&test);
    }
}

/* A stage's answer from prefix sums is the sum over its layers, for every split. */
static void test_prefix_sums(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 32);
    test.strategy.zero = 3;
    test_problem_settle(&test);
    for (int first = 0; first < 10; first++) {
        nest_ps busy = 0;
        for (int last = first; last < 10; last++) {
            const struct nest_layer_cost layer = test_problem_layer(&test, last, 0);
            busy += layer.fw + layer.bw;
            const struct nest_stage_cost stage = test_problem_stage(&test, first, last, 0, 1);
            assert_int_equal(stage.fw + stage.bw, busy);
            assert_int_equal(stage.load, busy + stage.in + stage.out);
        }
    }
    test_problem_free(&test);
}

/* The boundary: 2 b (S/cp) h bytes, divided by tp under sequence parallelism. */
static void test_boundary(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 32);
    const struct nest_layer_kind *block = &test.model.kind[test.model.kind_of[1]];
    assert_int_equal(nest_boundary_bytes(&test.problem, block, &test.strategy), 2 * 4096 * 4096);
    test.strategy.cp = 2;
    test.strategy.micro_batch = 3;
    assert_int_equal(nest_boundary_bytes(&test.problem, block, &test.strategy),
                     3 * 2 * 2048 * 4096);
    test.strategy.tp = 4;
    test.strategy.sp = true;
    assert_int_equal(nest_boundary_bytes(&test.problem, block, &test.strategy), 3 * 2048 * 2048);
    test_problem_free(&test);
}

/* A measured layer is taken as it was measured, at its tp width, with nothing added. */
static void test_profile(void **state)
{
    (void)state;
    static const struct nest_profile_entry entry[] = {
        {.tp = 1,
         .fw = 2e-3,
         .bw = 5e-3,
         .weight_bytes = 4e8,
         .activation_bytes = 1e9,
         .boundary_bytes = 1e7},
        {.tp = 4,
         .fw = 1e-3,
         .bw = 2e-3,
         .weight_bytes = 1e8,
         .activation_bytes = 3e8,
         .boundary_bytes = 5e6},
    };
    static const struct nest_profile_layer layer = {
        .name = "measured", .times = 6, .entries = 2, .entry = entry};
    struct test_problem test;
    start(&test, 8);
    test.spec.profile_layers = 1;
    test.spec.profile = &layer;
    test_problem_settle(&test);
    assert_int_equal(test.model.layers, 6);
    assert_int_equal(test_problem_layer(&test, 3, 0).fw, nest_to_ps(2e-3));
    test.strategy.tp = 4;
    test.strategy.dp_in = 2;
    test_problem_settle(&test);
    const struct nest_layer_cost cost = test_problem_layer(&test, 3, 0);
    assert_int_equal(cost.fw + cost.bw, nest_to_ps(3e-3));
    assert_int_equal(cost.tp, 0);
    assert_int_equal(cost.weights, 100000000);
    assert_int_equal(cost.activations, 300000000);
    assert_int_equal(nest_boundary_bytes(&test.problem, test.model.kind, &test.strategy), 5000000);
    test_problem_free(&test);
}

/* A layer with a measured time takes it to the picosecond, whatever its operators; two sequences
 * take twice as long, and its neighbours keep what is computed. */
static void test_measured_times_replace_computed_ones(void **state)
{
    (void)state;
    struct test_problem test;
    start(&test, 8);
    const struct nest_layer_cost computed = test_problem_layer(&test, 4, NEST_RECOMPUTE_FULL);
    const struct nest_measured row = {.part = NEST_MEASURED_BLOCKS,
                                      .first = 3,
                                      .last = 3,
                                      .seq = 4096,
                                      .time = {.tp = 1, .micro_batch = 1, .fw = 7e-3, .bw = 15e-3}};
    test.spec.measured = &row;
    test.spec.measurements = 1;
    test.spec.measured_shape = nest_measured_shape(&test.spec);
    test_problem_settle(&test);
    const struct nest_layer_cost cost = test_problem_layer(&test, 3, NEST_RECOMPUTE_FULL);
    assert_int_equal(cost.fw, 7000000000);
    assert_int_equal(cost.recompute, 7000000000);
    assert_int_equal(cost.bw, 22000000000);
    assert_int_equal(cost.activations, computed.activations);
    assert_int_equal(test_problem_layer(&test, 4, NEST_RECOMPUTE_FULL).fw, computed.fw);
    test.strategy.micro_batch = 2;
    test_problem_settle(&test);
    assert_int_equal(test_problem_layer(&test, 3, NEST_RECOMPUTE_NONE).fw, 14000000000);
    test.strategy.tp = 2;
    test_problem_settle(&test);
    assert_int_equal(test_problem_layer(&test, 3, NEST_RECOMPUTE_NONE).fw,
                     test_problem_layer(&test, 4, NEST_RECOMPUTE_NONE).fw);
    test_problem_free(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curve),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_gemm_bound_by_memory),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_memory_bound),
        cmocka_unit_test(test_fp8),
        cmocka_unit_test(test_tensor_parallel),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_gradient_traffic),
        cmocka_unit_test(test_full_recompute),
        cmocka_unit_test(test_parts_sum),
        cmocka_unit_test(test_faster_is_never_slower),
        cmocka_unit_test(test_scale_free),
        cmocka_unit_test(test_prefix_sums),
        cmocka_unit_test(test_boundary),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_measured_times_replace_computed_ones),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
