/* Memory, term by term, against published closed forms and the answers of public threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/problem.h"

static const double GIB = 1073741824.0;

static void assert_near(double value, double expected, double tolerance)
{
    if (!(value >= expected * (1.0 - tolerance) && value <= expected * (1.0 + tolerance))) {
        fail_msg("%.9g is not within %g of %.9g", value, tolerance, expected);
    }
}

/* Llama 2 7B on n devices, data parallel only. */
static void start_llama2(struct test_problem *test, int64_t devices, int zero)
{
    test_problem_start(test, devices);
    test->spec = test_llama(32, 4096, 11008, 32, 32, 32000, 4096);
    test->strategy.zero = zero;
    test_problem_settle(test);
}

static double states(const struct nest_stage_cost *stage)
{
    const struct nest_memory *m = &stage->memory;
    return (double)(m->weights + m->gradients + m->optimizer);
}

/* 2 weights + 4 gradients + 12 master and moments = 18 bytes a parameter: 6,738,415,616 * 18 =
 * 113.0 GiB. With the distributed optimizer over 8: 6 + 12/8 = 7.5 bytes, 47.1 GiB. ZeRO 2: 2 +
 * 16/8 = 4, ZeRO 3: 18/8 (framework_rules: bytes per parameter; Megatron-LM#654, #597). */
static void test_state_bytes(void **state)
{
    (void)state;
    static const double per_parameter[] = {18.0, 7.5, 4.0, 2.25};
    for (int zero = 0; zero <= 3; zero++) {
        struct test_problem test;
        start_llama2(&test, 8, zero);
        const struct nest_stage_cost stage = test_problem_stage(&test, 0, 33, 0, 1);
        assert_near(states(&stage), 6738415616.0 * per_parameter[zero], 1e-6);
        test_problem_free(&test);
    }
    assert_near(6738415616.0 * 18.0 / GIB, 113.0, 1e-3);
}

/* State is divided over dp * cp, not dp alone: dp 4, cp 2 is as good as dp 8. */
static void test_state_shards_over_dp_cp(void **state)
{
    (void)state;
    struct test_problem test;
    start_llama2(&test, 8, 1);
    const double alone = (double)test_problem_stage(&test, 0, 33, 0, 1).memory.optimizer;
    test.strategy.cp = 2;
    test.strategy.dp_in = 4;
    test_problem_settle(&test);
    assert_true(alone == (double)test_problem_stage(&test, 0, 33, 0, 1).memory.optimizer);
    test_problem_free(&test);
}

/* Korthikanti et al. 2022, table 2 and figure 1 (22B: s 2048, b 4, h 6144, a 64, t 8, 48 layers):
 * tensor parallel: sbh (10 + 24/t + 5as/(ht)) = 26.33 sbh, 59.25 GiB over all layers; with sequence
 * parallelism and selective recompute sbh 34/t, 9.5625 GiB; full recompute 2 sbh. */
static void test_activations_of_gpt(void **state)
{
    (void)state;
    struct test_problem test;
    test_problem_start(&test, 8);
    test.spec = test_gpt(48, 6144, 64, 51200, 2048);
    test.strategy.tp = 8;
    test.strategy.dp_in = 1;
    test.strategy.micro_batch = 4;
    test.problem.train.flash = false;
    test_problem_settle(&test);
    const double none = (double)test_problem_layer(&test, 1, NEST_RECOMPUTE_NONE).activations;
    assert_near(48.0 * none, 59.25 * GIB, 1e-6);
    const double full = (double)test_problem_layer(&test, 1, NEST_RECOMPUTE_FULL).activations;
    assert_true(full == 2.0 * 4.0 * 2048.0 * 6144.0);
    test.strategy.sp = true;
    test_problem_settle(&test);
    const double both = (double)test_problem_layer(&test, 1, NEST_RECOMPUTE_SELECTIVE).activations;
    assert_near(48.0 * both, 9.5625 * GIB, 1e-6);
    test_problem_free(&test);
}

/* Flash attention stores no scores, so selective recompute frees a few percent at most, and full
 * recompute leaves a tenth (Megatron-LM#1225: 25.52 → 24.94 GB). */
static void test_selective_under_flash(void **state)
{
    (void)state;
    struct test_problem test;
    start_llama2(&test, 8, 0);
    const double none = (double)test_problem_layer(&test, 1, NEST_RECOMPUTE_NONE).activations;
    const double some = (double)test_problem_layer(&test, 1, NEST_RECOMPUTE_SELECTIVE).activations;
    const double full = (double)test_problem_layer(&test, 1, NEST_RECOMPUTE_FULL).activations;
    assert_true(some < none && some > 0.9 * none);
    assert_true(full < 0.1 * none);
    test_problem_free(&test);
}

/* SwiGLU, GQA, b 1, s 4096, t 1: norms' inputs and outputs 8h, queries 2h, keys and values 4 kv,
 * attention output 2h, three widths of the MLP 6f, and 4 bytes per head of flash statistics: with
 * h 4096, kv 1024, f 14336, a 32 that is 139,392 bytes a token. */
static void test_activations_of_llama(void **state)
{
    (void)state;
    struct test_problem test;
    test_problem_start(&test, 8);
    test.spec = test_llama(32, 4096, 14336, 32, 8, 128256, 4096);
    test_problem_settle(&test);
    const double bytes = 8.0 * 4096 + 2.0 * 4096 + 4.0 * 1024 + 2.0 * 4096 + 6.0 * 14336 + 4.0 * 32;
    assert_true((double)test_problem_layer(&test, 1, 0).activations == 4096.0 * bytes);
    test_problem_free(&test);
}

/* The same layer where the GEMMs are in fp8 and keep their quantised input: the norms' outputs take
 * h instead of 2h each, the MLP's product f instead of 2f, and the attention's output, which
 * attention keeps as it is, h more: 2h + f less, h more: 139,392 - 4096 - 14336 = 120,960 bytes a
 * token (Transformer Engine saves the cast input, not the original). torchao keeps 16 bits, and
 * eager PyTorch keeps the activated gate beside the product: 2f more. */
static void test_activations_by_framework(void **state)
{
    (void)state;
    static const struct {
        enum nest_framework framework;
        enum nest_precision precision;
        double bytes;
    } expected[] = {
        {NEST_MEGATRON, NEST_BF16, 139392.0},
        {NEST_MEGATRON, NEST_FP8, 120960.0},
        {NEST_TORCHTITAN, NEST_BF16, 139392.0 + 2.0 * 14336},
        {NEST_TORCHTITAN, NEST_FP8, 139392.0 + 2.0 * 14336},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct test_problem test;
        test_problem_start(&test, 8);
        test.spec = test_llama(32, 4096, 14336, 32, 8, 128256, 4096);
        test.problem.train.framework = expected[i].framework;
        test.problem.train.precision = expected[i].precision;
        test_problem_settle(&test);
        assert_true((double)test_problem_layer(&test, 1, 0).activations ==
                    4096.0 * expected[i].bytes);
        test_problem_free(&test);
    }
}

/* Parameters kept in fp8 take one byte: 1 + 4 + 12 = 17 bytes a parameter. */
static void test_narrow_weights(void **state)
{
    (void)state;
    struct test_problem test;
    start_llama2(&test, 8, 0);
    test.problem.train.weight_bytes = 1;
    test_problem_settle(&test);
    const struct nest_stage_cost stage = test_problem_stage(&test, 0, 33, 0, 1);
    assert_near(states(&stage), 6738415616.0 * 17.0, 1e-6);
    test_problem_free(&test);
}

/* Key and value heads are never cut: with 2 of them tp 8 keeps one head of each per rank. */
static void test_few_kv_heads(void **state)
{
    (void)state;
    struct test_problem test;
    test_problem_start(&test, 8);
    test.spec = test_llama(4, 4096, 16384, 32, 2, 128000, 4096);
    test.strategy.tp = 8;
    test.strategy.dp_in = 1;
    test_problem_settle(&test);
    const struct nest_layer_cost cost = test_problem_layer(&test, 1, 0);
    const int64_t attention = 4096 * (4096 / 8 + 2 * 128) + 4096 / 8 * 4096;
    assert_int_equal(cost.dense_sync, attention + 3 * 4096 * 16384 / 8 + 2 * 4096);
    test_problem_free(&test);
}

/* Routed experts divide by ep * etp and not by tp, their state by the expert group W/(etp ep pp):
 * Mixtral, 32 devices of one of two stages, tp 2, dp 16, ep 8: one expert of eight on a device and
 * the optimizer over 4 (Megatron-LM#4050). */
static void test_experts(void **state)
{
    (void)state;
    struct test_problem test;
    test_problem_start(&test, 64);
    test.spec = test_llama(32, 4096, 14336, 32, 8, 32000, 4096);
    test.spec.experts = 8;
    test.spec.top_k = 2;
    test.spec.moe_ffn = 14336;
    test.strategy.tp = 2;
    test.strategy.dp_in = 16;
    test.strategy.ep = 8;
    test.strategy.zero = 1;
    test_problem_settle(&test);
    const struct nest_layer_cost cost = test_problem_layer(&test, 1, 0);
    const int64_t expert = 3 * 4096 * 14336;
    assert_int_equal(nest_expert_copies(&test.strategy), 4);
    assert_int_equal(cost.expert_sync, expert);
    assert_int_equal(cost.optimizer, 12 * (expert / 4 + (cost.dense_sync + 15) / 16));
    test.strategy.ep = 4;
    test_problem_settle(&test);
    assert_int_equal(test_problem_layer(&test, 1, 0).expert_sync, 2 * expert);
    assert_int_equal(test_problem_layer(&test, 1, 0).activations, cost.activations);
    test_problem_free(&test);
}

/* A tied embedding exists once on one stage and twice on two: V_pad h / t each (Megatron-LM#299).
 */
static void test_tied_embedding(void **state)
{
    (void)state;
    struct test_problem test;
    test_problem_start(&test, 8);
    test.spec = test_gpt(12, 768, 12, 50257, 1024);
    for (int tied = 0; tied < 2; tied++) {
        test.spec.tied = tied == 1;
        test_problem_settle(&test);
        const int64_t one = test_problem_stage(&test, 0, 13, 0, 1).memory.weights;
        const int64_t two = test_problem_stage(&test, 0, 6, 0, 1).memory.weights +
                            test_problem_stage(&test, 7, 13, 0, 1).memory.weights;
        assert_int_equal(two - one, tied ? 2 * INT64_C(50304) * 768 : 0);
    }
    test_problem_free(&test);
}

/* The vocabulary is padded to a multiple of 128 t: framework_rules M10, Megatron-LM#1754. */
static void test_padded_vocabulary(void **state)
{
    (void)state;
    static const int64_t cases[][3] = {
        {50257, 1, 50304},   {50257, 8, 51200},   {128256, 4, 128512}, {128256, 8, 129024},
        {151936, 8, 152576}, {129280, 8, 130048}, {201088, 8, 201728}, {256000, 8, 256000}};
    struct nest_train_spec train = {.vocab_multiple = 128};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(nest_padded_vocabulary(&train, cases[i][0], cases[i][1]), cases[i][2]);
    }
    train.vocab_multiple = 1;
    assert_int_equal(nest_padded_vocabulary(&train, 50257, 2), 50258);
}

/* The fullest stage decides, with embedding first and head last: 8 layers as 1, 2, 2, 3
 * (Megatron-Bridge #5077). */
static void test_uneven_stages(void **state)
{
    (void)state;
    struct test_problem test;
    test_problem_start(&test, 8);
    test.spec = test_llama(8, 512, 2048, 8, 8, 1024, 512);
    test_problem_settle(&test);
    static const int edge[] = {0, 2, 4, 6, 10};
    int64_t largest = 0;
    for (int i = 0; i < 4; i++) {
        const int64_t total =
            test_problem_stage(&test, edge[i], edge[i + 1] - 1, 0, 1).memory.weights;
        assert_true(i < 3 || total > largest);
        largest = total > largest ? total : largest;
    }
    test_problem_free(&test);
}

/* Logits: 8192 tokens, a million words, fp32: at least 32.8 GB, named (Megatron-LM#92). One 16-bit
 * copy of 9,216 tokens, V 248,320, t 2 takes 2.13 GiB (verl#7826); we keep three such widths. */
static void test_logits(void **state)
{
    (void)state;
    struct test_problem test;
    test_problem_start(&test, 8);
    test.spec = test_llama(32, 4096, 14336, 32, 8, 1000000, 8192);
    test_problem_settle(&test);
    assert_true(test_problem_stage(&test, 0, 33, 0, 1).memory.logits >= INT64_C(32768000000));
    test.spec.vocab = 248320;
    test.spec.seq = 9216;
    test.strategy.tp = 2;
    test.strategy.dp_in = 4;
    test_problem_settle(&test);
    assert_near((double)test_problem_layer(&test, 33, 0).logits / 3.0 / GIB, 2.13, 0.005);
    test_problem_free(&test);
}

/* ZeRO 3 on 4 devices needs far more than half of what 2 need: gathered weights, activations,
 * logits and buffers do not shrink (DeepSpeed#4527, #4093: 13 GB on 2 and on 4). */
static void test_zero3_floor(void **state)
{
    (void)state;
    struct test_problem two;
    struct test_problem four;
    start_llama2(&two, 2, 3);
    start_llama2(&four, 4, 3);
    const struct nest_memory a = test_problem_stage(&two, 0, 33, 0, 1).memory;
    const struct nest_memory b = test_problem_stage(&four, 0, 33, 0, 1).memory;
    assert_true(b.gathered == a.gathered && b.gathered > 0);
    assert_true(b.activations == a.activations && b.logits == a.logits);
    assert_true(2 * b.total > a.total);
    test_problem_free(&two);
    test_problem_free(&four);
}

/* The reserve grows with every kind of group in use (nccl#964: 0.5 to 0.7 GB each). */
static void test_reserve_by_groups(void **state)
{
    (void)state;
    struct test_problem test;
    test_problem_start(&test, 64);
    test.spec = test_llama(4, 4096, 14336, 32, 8, 32000, 4096);
    test.spec.experts = 8;
    test.spec.top_k = 2;
    test.spec.moe_ffn = 14336;
    test_problem_settle(&test);
    const int64_t only_dp = test_problem_stage(&test, 0, 5, 0, 1).memory.reserve;
    assert_int_equal(only_dp, 1500000000);
    test.strategy = (struct nest_strategy){.tp = 2,
                                           .cp = 2,
                                           .ep = 4,
                                           .etp = 1,
                                           .sp = true,
                                           .micro_batch = 1,
                                           .virtual_stages = 1,
                                           .dp_in = 8,
                                           .dp_out = 1,
                                           .span = 64};
    test_problem_settle(&test);
    /* tp, cp, dp, ep, expert dp, and the pipeline. */
    assert_int_equal(test_problem_stage(&test, 0, 2, 0, 1).memory.reserve, 4000000000);
    test_problem_free(&test);
}

/* total is the sum of the named terms, in every mode and place. */
static void test_terms_sum(void **state)
{
    (void)state;
    struct test_problem test;
    start_llama2(&test, 16, 3);
    for (int mode = 0; mode < NEST_RECOMPUTES; mode++) {
        const struct nest_memory m =
            test_problem_stage(&test, 5, 33, (enum nest_recompute)mode, 3).memory;
        assert_int_equal(m.total, m.weights + m.gradients + m.optimizer + m.activations + m.logits +
                                      m.working + m.gathered + m.buffers + m.reserve);
    }
    test_problem_free(&test);
}

/* Each microbatch in flight keeps the same again: 8 : 7 : … : 1 along the pipeline. */
static void test_in_flight(void **state)
{
    (void)state;
    struct test_problem test;
    start_llama2(&test, 8, 0);
    const int64_t one = test_problem_stage(&test, 4, 7, 0, 1).memory.activations;
    for (int64_t n = 2; n <= 8; n++) {
        assert_int_equal(test_problem_stage(&test, 4, 7, 0, n).memory.activations, n * one);
    }
    test_problem_free(&test);
}

/* Half the micro batch never needs more, under any mode, ZeRO stage and tp. */
static void test_smaller_micro_batch(void **state)
{
    (void)state;
    for (int i = 0; i < 24; i++) {
        struct test_problem test;
        test_problem_start(&test, 16);
        test.spec = test_llama(8, 2048, 8192, 16, 4, 50000, 2048);
        test.strategy.tp = i % 2 ? 4 : 1;
        test.strategy.sp = i % 2;
        test.strategy.dp_in = 16 / test.strategy.tp;
        test.strategy.zero = i / 2 % 4;
        int64_t before = 0;
        for (int64_t batch = 1; batch <= 16; batch *= 2) {
            test.strategy.micro_batch = batch;
            test_problem_settle(&test);
            const int64_t total =
                test_problem_stage(&test, 0, 9, (enum nest_recompute)(i / 8), 2).memory.total;
            assert_true(total > before);
            before = total;
        }
        test_problem_free(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_bytes),
        cmocka_unit_test(test_state_shards_over_dp_cp),
        cmocka_unit_test(test_activations_of_gpt),
        cmocka_unit_test(test_selective_under_flash),
        cmocka_unit_test(test_activations_of_llama),
        cmocka_unit_test(test_activations_by_framework),
        cmocka_unit_test(test_narrow_weights),
        cmocka_unit_test(test_few_kv_heads),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_tied_embedding),
        cmocka_unit_test(test_padded_vocabulary),
        cmocka_unit_test(test_uneven_stages),
        cmocka_unit_test(test_logits),
        cmocka_unit_test(test_zero3_floor),
        cmocka_unit_test(test_reserve_by_groups),
        cmocka_unit_test(test_terms_sum),
        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_smaller_micro_batch),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
