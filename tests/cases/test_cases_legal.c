/* Public questions about what is legal (reference cases A). Each test is one member of its kind;
 * the thread it comes from is named. Answers are those of the frameworks' sources and maintainers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/world.h"

static double bubble_share(struct json_object *root)
{
    const double dp = json_number(root, "breakdown_s.dp");
    const double optimizer = json_number(root, "breakdown_s.optimizer");
    return json_number(root, "breakdown_s.bubble") /
           (json_number(root, "step_time_s") - dp - optimizer);
}

static int64_t blocks_of(struct json_object *root)
{
    int64_t layers = 0;
    struct json_object *stages = json_at(root, "plan.stages");
    for (size_t i = 0; i < json_object_array_length(stages); i++) {
        struct json_object *ranges = json_at(json_object_array_get_idx(stages, i), "layers");
        for (size_t r = 0; r < json_object_array_length(ranges); r++) {
            struct json_object *range = json_object_array_get_idx(ranges, r);
            layers += (int64_t)(json_number(range, "[1]") - json_number(range, "[0]")) + 1;
        }
    }
    return layers - 2;
}

/* NVIDIA/Megatron-LM#468: 80 layers, pp 16, v 2 were rounded down without a word. */
static void uneven_interleaving_loses_no_layer(void **unused)
{
    (void)unused;
    const char *pins = "tp=8,pp=16,dp=1,virtual_stages=2,recompute=full";
    struct json_object *root =
        eval_feasible(llama_shape(80, 64, 8), h100(128), pins, "--set global_batch=32");
    assert_int_equal(blocks_of(root), 80);
    json_object_put(root);
    struct command_result export =
        export_to("megatron", llama_shape(80, 64, 8), h100(128), pins, "--set global_batch=32");
    assert_int_equal(export.status, 0);
    assert_non_null(strstr(export.out, "--pipeline-model-parallel-layout"));
    assert_null(strstr(export.out, "--num-layers-per-virtual-pipeline-stage"));
    command_free(&export);
}

/* modelscope/ms-swift#8219: 2 KV heads under tp 8 are replicated, not refused. */
static void few_kv_heads_are_replicated(void **unused)
{
    (void)unused;
    struct json_object *root =
        eval_feasible(llama_shape(32, 32, 2), h100(64), "tp=8,pp=1,dp=8,micro_batch=1", "");
    json_object_put(root);
    struct command_result export =
        export_to("megatron", llama_shape(32, 32, 2), h100(64), "tp=8,pp=1,dp=8,micro_batch=1", "");
    assert_int_equal(export.status, 0);
    assert_true(strstr(export.out, "0.16") || strstr(export.err, "0.16"));
    command_free(&export);
}

/* NVIDIA-NeMo/Speech#14288: p = 6, M = 3. Without interleaving the bubble is 5/8. */
static void too_few_microbatches_refuse_interleaving_only(void **unused)
{
    (void)unused;
    const char *model = equal_layers(48);
    struct command_result refused = eval_run(
        model, h100(48), "tp=8,pp=6,dp=1,micro_batch=1,virtual_stages=2", "--set global_batch=3");
    assert_int_equal(refused.status, 1);
    assert_non_null(strstr(refused.err, "M is 3 microbatches for pp 6"));
    command_free(&refused);
    struct json_object *root = eval_feasible(
        model, h100(48), "tp=8,pp=6,dp=1,micro_batch=1,virtual_stages=1", "--set global_batch=3");
    assert_true(bubble_share(root) > 0.57 && bubble_share(root) < 0.66);
    json_object_put(root);
}

/* NVIDIA-NeMo/Speech#14838: the product that was checked is printed. */
static void the_expert_product_is_printed(void **unused)
{
    (void)unused;
    const char *four = cluster_of("two nodes of two", "h100-sxm", 2, 2);
    struct command_result legal = eval_run(mixture(24, 32, 4), four, "tp=1,pp=2,dp=2,ep=2", "");
    assert_null(strstr(legal.err, "does not divide"));
    command_free(&legal);
    struct command_result refused = eval_run(mixture(24, 32, 4), four, "tp=1,pp=2,dp=2,ep=4", "");
    assert_int_equal(refused.status, 1);
    assert_non_null(strstr(refused.err, "etp 1 x ep 4 x pp 2 = 8"));
    command_free(&refused);
}

/* pytorch/torchtitan#2087: tp 2, cp 2, dp 2 allow ep 1, 2, 4, 8. */
static void experts_fold_over_tp_cp_and_dp(void **unused)
{
    (void)unused;
    static const int ep[] = {1, 2, 4, 8};
    for (size_t i = 0; i < sizeof ep / sizeof ep[0]; i++) {
        char pins[64];
        (void)snprintf(pins, sizeof pins, "tp=2,cp=2,dp=2,ep=%d,zero=3,recompute=full", ep[i]);
        json_object_put(eval_feasible(mixture(16, 64, 6), h100(8), pins, ""));
    }
    struct command_result refused =
        eval_run(mixture(16, 64, 6), h100(8), "tp=2,cp=2,dp=2,ep=3", "");
    assert_int_equal(refused.status, 1);
    assert_non_null(strstr(refused.err, "ep 3"));
    command_free(&refused);
}

/* NVIDIA-NeMo/RL#3563: a multiple of cp x lcm(2, tp); torchtitan asks for tp x 2 x cp. */
static void the_sequence_unit_is_the_least_common_multiple(void **unused)
{
    (void)unused;
    const char *pins = "tp=4,cp=2,dp=1,recompute=full";
    json_object_put(
        eval_feasible("llama3-8b", h100(8), pins, "--set seq=8200 --set global_batch=8"));
    struct command_result titan =
        export_to("torchtitan", "llama3-8b", h100(8), pins, "--set seq=8200 --set global_batch=8");
    assert_int_equal(titan.status, 1);
    assert_non_null(strstr(titan.err, "8200 mod 16 = 8"));
    command_free(&titan);
    struct command_result refused =
        eval_run("llama3-8b", h100(8), pins, "--set seq=8196 --set global_batch=8");
    assert_int_equal(refused.status, 1);
    assert_non_null(strstr(refused.err, "8196 mod 8 = 4"));
    command_free(&refused);
}

/* pytorch/torchtitan#775: M < p is legal for Megatron, with bubble 3/5, and not for torchtitan. */
static void fewer_microbatches_than_stages_are_legal(void **unused)
{
    (void)unused;
    const char *pins = "pp=4,tp=1,dp=2,micro_batch=1,recompute=full";
    struct json_object *root = eval_feasible("llama3-8b", h100(8), pins, "--set global_batch=4");
    assert_true(bubble_share(root) > 0.5 && bubble_share(root) < 0.65);
    json_object_put(root);
    struct command_result titan =
        export_to("torchtitan", "llama3-8b", h100(8), pins, "--set global_batch=4");
    assert_int_equal(titan.status, 1);
    command_free(&titan);
}

/* deepspeedai/DeepSpeed#3589: the physics allows ZeRO 2 with a pipeline, DeepSpeed does not. */
static void deepspeed_lowers_zero_under_a_pipeline(void **unused)
{
    (void)unused;
    const char *pins = "pp=2,tp=1,dp=8,zero=2,recompute=full";
    json_object_put(eval_feasible("llama3-8b", h100(16), pins, ""));
    struct command_result export = export_to("deepspeed", "llama3-8b", h100(16), pins, "");
    const bool refused = export.status == 1;
    const bool lowered = export.status == 0 && strstr(export.out, "\"stage\": 1") != NULL;
    assert_true(refused || lowered);
    assert_non_null(strstr(export.err, "zero: 2 becomes 1"));
    command_free(&export);
}

/* meta-llama/llama3#324: 8 x 16 x 16 x 4 is 8,192, not 16,384. */
static void the_product_of_degrees_is_what_is_used(void **unused)
{
    (void)unused;
    struct command_result run = eval_run("llama3-405b", h100(16384), "tp=8,cp=16,pp=16,dp=4",
                                         "--set seq=131072 --set global_batch=128");
    struct json_object *root = command_json(&run);
    assert_int_equal(json_number(root, "devices_used"), 8192);
    assert_int_equal(json_number(root, "devices"), 16384);
    json_object_put(root);
    command_free(&run);
    run = eval_run("llama3-405b", h100(16384), "tp=8,cp=16,pp=16,dp=8",
                   "--set seq=131072 --set global_batch=128");
    root = command_json(&run);
    assert_int_equal(json_number(root, "devices_used"), 16384);
    json_object_put(root);
    command_free(&run);
}

/* vllm-project/vllm#52435, deepspeedai/DeepSpeed#3634: heads mod tp. */
static void tp_must_divide_the_heads(void **unused)
{
    (void)unused;
    const char *three = cluster_of("three", "h100-sxm", 3, 1);
    struct command_result run = eval_run(llama_shape(16, 64, 64), three, "tp=3,dp=1", "");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.err, "legal values of tp: 1, 2, 4, 8, 16, 32, 64"));
    command_free(&run);
}

/* verl-project/verl#1226: cp is ring attention, so it has no bound by heads. */
static void ring_context_parallelism_ignores_the_heads(void **unused)
{
    (void)unused;
    struct command_result run = eval_run(llama_shape(48, 40, 8), h100(64), "tp=1,pp=1,cp=16,dp=4",
                                         "--set seq=131072 --set global_batch=8");
    assert_null(strstr(run.err, "heads"));
    command_free(&run);
}

/* NVIDIA/Megatron-LM#5768: one violation each, on 16 devices, each with its reason. */
static void each_common_mistake_has_its_reason(void **unused)
{
    (void)unused;
    static const struct {
        const char *model, *pins, *sets, *reason;
    } mistake[] = {
        {"llama3-8b", "tp=4,pp=2,cp=1,dp=4", "", "is more than the 16 devices"},
        {"llama3-8b", "tp=1,pp=16,dp=1,virtual_stages=4", "--set global_batch=16", "blocks"},
        {"llama3-8b", "tp=3,dp=1", "", "does not divide heads"},
        {"llama3-8b", "tp=1,dp=16,micro_batch=3", "", "is not a multiple of micro_batch 3"},
        {"mixtral-8x7b", "tp=1,dp=16,ep=3", "", "does not divide experts"},
        {"llama3-8b", "tp=2,cp=2,dp=4", "--set seq=8190", "seq 8190 is not a multiple"},
        {"llama3-8b", "tp=1,pp=1,dp=16,virtual_stages=2", "", "interleaving needs a pipeline"},
    };
    for (size_t i = 0; i < sizeof mistake / sizeof mistake[0]; i++) {
        struct command_result run =
            eval_run(mistake[i].model, h100(16), mistake[i].pins, mistake[i].sets);
        if (i == 0) { /* the product: 4 x 2 x 4 = 32 */
            assert_int_equal(run.status, 1);
        }
        if (run.status != 1 || !strstr(run.err, mistake[i].reason)) {
            fail_msg("%s %s: status %d, %s", mistake[i].pins, mistake[i].sets, run.status, run.err);
        }
        command_free(&run);
    }
    struct command_result silent =
        eval_run("llama3-8b", h100(16), "tp=1,sp=true,dp=16,zero=3,recompute=full", "");
    assert_int_equal(silent.status, 0);
    assert_non_null(strstr(silent.err, "sequence parallelism without tensor parallelism"));
    command_free(&silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uneven_interleaving_loses_no_layer),
        cmocka_unit_test(few_kv_heads_are_replicated),
        cmocka_unit_test(too_few_microbatches_refuse_interleaving_only),
        cmocka_unit_test(the_expert_product_is_printed),
        cmocka_unit_test(experts_fold_over_tp_cp_and_dp),
        cmocka_unit_test(the_sequence_unit_is_the_least_common_multiple),
        cmocka_unit_test(fewer_microbatches_than_stages_are_legal),
        cmocka_unit_test(deepspeed_lowers_zero_under_a_pipeline),
        cmocka_unit_test(the_product_of_degrees_is_what_is_used),
        cmocka_unit_test(tp_must_divide_the_heads),
        cmocka_unit_test(ring_context_parallelism_ignores_the_heads),
        cmocka_unit_test(each_common_mistake_has_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
