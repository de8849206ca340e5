/* What a table of published runs leaves implicit, and how it is filled in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/rebuild.h"

static struct nest_measurement llama(void)
{
    return (struct nest_measurement){.id = "run",
                                     .source = "",
                                     .notes = "",
                                     .table = "",
                                     .model = "llama3-70b",
                                     .attention = "",
                                     .hardware = "",
                                     .layers = 80,
                                     .hidden = 8192,
                                     .ffn = 28672,
                                     .heads = 64,
                                     .kv_heads = 8,
                                     .vocab = 128256,
                                     .seq = 8192,
                                     .device = "h100-sxm-80gb",
                                     .per_node = 8,
                                     .devices = 64,
                                     .tp = 8,
                                     .pp = 2,
                                     .dp = 4,
                                     .cp = 1,
                                     .ep = 1,
                                     .virtual_stages = 1,
                                     .sp = -1,
                                     .zero = -1,
                                     .recompute = -1,
                                     .micro_batch = 1,
                                     .global_batch = 128,
                                     .precision = "bf16"};
}

static struct nest_measurement gpt(void)
{
    struct nest_measurement run = llama();
    run.model = "gpt-175b";
    run.hidden = 12288;
    run.ffn = 49152;
    run.heads = run.kv_heads = 96;
    run.precision = "fp16";
    return run;
}

static struct nest_problem settings(const struct nest_measurement *run)
{
    struct nest_problem problem = {0};
    nest_rebuild_settings(run, &problem);
    return problem;
}

static int64_t pinned(const struct nest_problem *problem, enum nest_pin_key key)
{
    assert_int_equal(problem->pins.pin[key].count, 1);
    return problem->pins.pin[key].range[0].low;
}

/* An MLP of four times the hidden size has no gate, biases, LayerNorm and a tied embedding. */
static void test_model_families(void **state)
{
    (void)state;
    struct nest_model_spec spec;
    struct nest_measurement run = llama();
    nest_rebuild_model(&run, &spec);
    assert_int_equal(spec.mlp, NEST_MLP_SWIGLU);
    assert_false(spec.tied || spec.bias);
    run = gpt();
    nest_rebuild_model(&run, &spec);
    assert_int_equal(spec.mlp, NEST_MLP_GELU);
    assert_true(spec.tied && spec.bias);
    run.model = "mpt-7b";
    nest_rebuild_model(&run, &spec);
    assert_false(spec.bias);
}

/* fp16 GPT runs are older than flash attention unless their source says otherwise. */
static void test_flash(void **state)
{
    (void)state;
    struct nest_measurement run = llama();
    assert_true(settings(&run).train.flash);
    run = gpt();
    assert_false(settings(&run).train.flash);
    run.notes = "FlashAttention 2";
    assert_true(settings(&run).train.flash);
    run = gpt();
    run.precision = "bf16";
    assert_true(settings(&run).train.flash);
    run.source = "Smith et al. 2022, table 3";
    assert_false(settings(&run).train.flash);
}

/* NVIDIA's recipes reduce gradients in 16 bits, keep fp8 parameters and hide half of the
 * tensor-parallel traffic; nanotron's are Llama-shaped whatever their MLP's width. */
static void test_recipes(void **state)
{
    (void)state;
    struct nest_measurement run = llama();
    run.precision = "fp8-cs";
    struct nest_problem problem = settings(&run);
    assert_int_equal(problem.train.grad_bytes, 4);
    assert_int_equal(problem.train.weight_bytes, 0);
    run.source = "NVIDIA-NeMo/Megatron-Bridge docs/performance-summary.md";
    problem = settings(&run);
    assert_int_equal(problem.train.grad_bytes, 2);
    assert_int_equal(problem.train.weight_bytes, 1);
    assert_true(problem.overlap.tp == 0.5);
    struct nest_model_spec spec;
    run.ffn = 4 * run.hidden;
    run.source = "huggingface/nanotron docs";
    nest_rebuild_model(&run, &spec);
    assert_int_equal(spec.mlp, NEST_MLP_SWIGLU);
    assert_true(spec.tied);
}

/* What the source leaves open takes the framework's default: sequence parallelism with tp, the
 * distributed optimizer with replicas, no recomputation. */
static void test_defaults(void **state)
{
    (void)state;
    struct nest_measurement run = llama();
    struct nest_problem problem = settings(&run);
    assert_int_equal(pinned(&problem, NEST_PIN_SP), 1);
    assert_int_equal(pinned(&problem, NEST_PIN_ZERO), 1);
    assert_int_equal(pinned(&problem, NEST_PIN_RECOMPUTE), NEST_RECOMPUTE_NONE);
    run.sp = 0;
    run.zero = 2;
    problem = settings(&run);
    assert_int_equal(pinned(&problem, NEST_PIN_SP), 0);
    /* Behind a pipeline gradients are reduced once per step, whatever the stage is called. */
    assert_int_equal(pinned(&problem, NEST_PIN_ZERO), 1);
    run.pp = 1;
    problem = settings(&run);
    assert_int_equal(pinned(&problem, NEST_PIN_ZERO), 2);
}

/* Utilisations a third apart mean full recomputation, whatever word the source uses for it. */
static void test_recompute_from_rates(void **state)
{
    (void)state;
    struct nest_measurement run = llama();
    run.recompute = NEST_RECOMPUTE_SELECTIVE;
    run.mfu = 0.55;
    run.hfu = 0.58;
    assert_int_equal(nest_rebuild_recompute(&run), NEST_RECOMPUTE_SELECTIVE);
    run.hfu = 0.74;
    assert_int_equal(nest_rebuild_recompute(&run), NEST_RECOMPUTE_FULL);
    assert_false(nest_rebuild_names_modules(&run));
    run.notes = "recompute modules: norm, act";
    assert_true(nest_rebuild_names_modules(&run));
}

/* Devices per node divide the job: 256 devices on racks of 72 take 64 of each. */
static void test_nodes(void **state)
{
    (void)state;
    static const int64_t cases[][4] = {
        /* devices, per node, then fan-outs */
        {64, 8, 8, 8},
        {4, 8, 4, 0},
        {256, 72, 64, 4},
        {72, 72, 72, 0},
    };
    const struct nest_device_spec device = {.scale_up = 450e9, .scale_out = 50e9};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nest_measurement run = llama();
        struct nest_cluster_spec cluster;
        run.devices = cases[i][0];
        run.per_node = cases[i][1];
        nest_rebuild_cluster(&run, &device, &cluster);
        assert_int_equal(cluster.level[0].fanout, cases[i][2]);
        assert_int_equal(cluster.levels, cases[i][3] > 0 ? 2 : 1);
        assert_true(cases[i][3] == 0 || cluster.level[1].fanout == cases[i][3]);
        assert_true(cases[i][3] == 0 || cluster.level[1].bandwidth == 50e9);
    }
}

/* The clouds' own transports take longer across the network than InfiniBand. */
static void test_network_words(void **state)
{
    (void)state;
    const struct nest_device_spec device = {.scale_up = 450e9, .scale_out = 50e9};
    struct nest_measurement run = llama();
    struct nest_cluster_spec plain, cloud;
    nest_rebuild_cluster(&run, &device, &plain);
    run.hardware = "8x H100, 32x 100Gb/s EFA per node";
    nest_rebuild_cluster(&run, &device, &cloud);
    assert_true(cloud.level[1].latency > 3.0 * plain.level[1].latency);
}

/* A batch that does not divide is trained with its largest whole part. */
static void test_batch(void **state)
{
    (void)state;
    struct nest_measurement run = llama();
    run.global_batch = 1538;
    run.micro_batch = 4;
    run.dp = 12;
    assert_int_equal(settings(&run).train.global_batch, 1536);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_families), cmocka_unit_test(test_flash),
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_recompute_from_rates),
        cmocka_unit_test(test_recipes),        cmocka_unit_test(test_network_words),
        cmocka_unit_test(test_nodes),          cmocka_unit_test(test_batch),
    };
    return cmocka_run_group_tests_name("rebuild", tests, NULL, NULL);
}
