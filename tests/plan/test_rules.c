/* What is illegal everywhere: each kind of violation names the product and the nearest legal
 * values. The kinds are those of public questions (cases A of the reference: heads, experts, batch,
 * sequence, interleaving, products). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/rules.h"

struct world {
    struct nest_model_spec spec;
    struct nest_model model;
    struct nest_cluster cluster;
    struct nest_problem problem;
    struct nest_strategy strategy;
    struct nest_arena arena;
    struct nest_errors errors;
};

static void build(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->spec.layers = 32;
    w->spec.hidden = 4096;
    w->spec.ffn = 14336;
    w->spec.heads = 32;
    w->spec.kv_heads = 8;
    w->spec.seq = 8192;
    w->model.spec = &w->spec;
    w->model.layers = 34;
    w->cluster.devices = 64;
    w->problem.model = &w->model;
    w->problem.cluster = &w->cluster;
    w->problem.train.global_batch = 128;
    w->strategy = (struct nest_strategy){.tp = 4,
                                         .cp = 1,
                                         .ep = 1,
                                         .etp = 1,
                                         .sp = true,
                                         .micro_batch = 1,
                                         .virtual_stages = 1,
                                         .shard = 8,
                                         .zero = 1,
                                         .dp_in = 8,
                                         .dp_out = 1};
    nest_errors_init(&w->errors, &w->arena);
}

static bool legal(struct world *w, int64_t pp)
{
    const bool quick = nest_rules_check(&w->problem, &w->strategy, pp, NULL);
    assert_int_equal(quick, nest_rules_check(&w->problem, &w->strategy, pp, &w->errors));
    return quick;
}

static void expect_fault(struct world *w, const char *message, const char *hint)
{
    assert_int_equal(w->errors.count, 1);
    assert_string_equal(w->errors.item[0].message, message);
    assert_string_equal(w->errors.item[0].hint, hint);
    nest_arena_free(&w->arena);
}

static void a_usual_plan_is_legal(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    assert_true(legal(&w, 2));
    assert_int_equal(w.errors.count, 0);
    nest_arena_free(&w.arena);
}

static void heads_must_divide(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    w.spec.heads = 52; /* deepspeedai/DeepSpeed#3634 */
    w.spec.kv_heads = 52;
    w.spec.ffn = 0;
    w.strategy.tp = 8;
    w.strategy.dp_in = 4;
    w.strategy.shard = 4;
    assert_false(legal(&w, 2));
    assert_int_equal(w.errors.count, 2);
    assert_string_equal(w.errors.item[0].message, "tp 8 does not divide heads 52 (52 mod 8 = 4)");
    assert_string_equal(w.errors.item[0].hint, "legal values of tp: 1, 2, 4, 13, 26, 52");
    nest_arena_free(&w.arena);
}

/* NVIDIA-NeMo/Speech#14838: 1 x 4 x 2 = 8 does not divide 4. */
static void experts_fold_over_the_devices_of_a_stage(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    w.spec.experts = 32;
    w.spec.moe_ffn = 2880;
    w.strategy.tp = 1;
    w.strategy.sp = false;
    w.strategy.dp_in = 2;
    w.strategy.shard = 2;
    w.strategy.ep = 2;
    w.cluster.devices = 4;
    assert_true(legal(&w, 2));
    w.strategy.ep = 4;
    assert_false(legal(&w, 2));
    expect_fault(&w, "etp 1 x ep 4 x pp 2 = 8 does not divide the 4 devices in use",
                 "etp x ep may be one of 1, 2");
}

/* NVIDIA-NeMo/RL#3563: the unit is cp x lcm(2, tp), 8 for cp 2 and tp 4, not 16. */
static void sequences_split_by_cp_and_sp(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    w.strategy.cp = 2;
    w.strategy.dp_in = 4;
    w.strategy.shard = 8;
    w.spec.seq = 8200;
    assert_true(legal(&w, 2));
    w.spec.seq = 8196;
    assert_false(legal(&w, 2));
    expect_fault(&w, "seq 8196 is not a multiple of 8 = cp x lcm(2, tp 4) (8196 mod 8 = 4)",
                 "nearest legal seq: 8192 or 8200");
}

static void the_batch_must_divide(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    w.problem.train.global_batch = 500;
    assert_false(legal(&w, 2));
    expect_fault(&w,
                 "global_batch 500 is not a multiple of micro_batch 1 x dp 8 = 8 (500 mod 8 = 4)",
                 "nearest legal global_batch: 496 or 504");
}

static void the_product_must_fit(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    assert_false(legal(&w, 4));
    expect_fault(&w, "tp 4 x cp 1 x pp 4 x dp 8 = 128 is more than the 64 devices",
                 "dp may be at most 4");
}

/* NVIDIA-NeMo/Speech#14288: M = 3 microbatches cannot fill 6 interleaved stages. */
static void interleaving_needs_enough_microbatches(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    w.problem.train.global_batch = 3;
    w.strategy.dp_in = 1;
    w.strategy.shard = 1;
    assert_true(legal(&w, 6));
    w.strategy.virtual_stages = 2;
    assert_false(legal(&w, 6));
    expect_fault(&w,
                 "interleaving needs M >= pp and M mod pp = 0, and M is 3 microbatches for pp 6",
                 "make M a multiple of 6 (global_batch 6), or use virtual_stages 1");
}

static void interleaving_needs_a_pipeline(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    w.strategy.virtual_stages = 2;
    assert_false(legal(&w, 1));
    expect_fault(&w, "interleaving needs a pipeline, and pp is 1",
                 "use virtual_stages 1, or pp of at least 2");
}

static void experts_need_a_mixture(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    w.strategy.ep = 2;
    assert_false(legal(&w, 2));
    expect_fault(&w, "ep 2, etp 1: the model has no experts", "use ep 1 and etp 1");
}

static void every_violation_is_one_fault(void **unused)
{
    (void)unused;
    struct world w;
    build(&w);
    w.strategy.tp = 3;
    w.strategy.sp = false;
    w.strategy.shard = 3;
    w.problem.train.global_batch = 100;
    assert_false(legal(&w, 40));
    /* product, pipeline, heads, kv_heads, ffn, batch, shard */
    assert_int_equal(w.errors.count, 7);
    nest_arena_free(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_usual_plan_is_legal),
        cmocka_unit_test(heads_must_divide),
        cmocka_unit_test(experts_fold_over_the_devices_of_a_stage),
        cmocka_unit_test(sequences_split_by_cp_and_sp),
        cmocka_unit_test(the_batch_must_divide),
        cmocka_unit_test(the_product_must_fit),
        cmocka_unit_test(interleaving_needs_enough_microbatches),
        cmocka_unit_test(interleaving_needs_a_pipeline),
        cmocka_unit_test(experts_need_a_mixture),
        cmocka_unit_test(every_violation_is_one_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
