/* Parameter counts of known models against the published ones (Hugging Face cards and papers). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/model.h"

static struct nest_model expand(const struct nest_model_spec *spec, struct nest_arena *arena)
{
    struct nest_errors errors;
    struct nest_model model;
    nest_errors_init(&errors, arena);
    assert_int_equal(nest_model_expand(spec, arena, &model, &errors), NEST_OK);
    return model;
}

static void assert_params(struct nest_model_spec spec, int64_t total, int64_t active)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    spec.kv_heads = spec.kv_heads ? spec.kv_heads : spec.heads;
    spec.head_dim = spec.head_dim ? spec.head_dim : spec.hidden / spec.heads;
    const struct nest_model model = expand(&spec, &arena);
    assert_int_equal(model.params, total);
    assert_int_equal(model.active_params, active);
    nest_arena_free(&arena);
}

static struct nest_model_spec llama(int64_t layers, int64_t hidden, int64_t ffn, int64_t heads,
                                    int64_t kv_heads, int64_t vocab)
{
    return (struct nest_model_spec){.layers = layers,
                                    .hidden = hidden,
                                    .ffn = ffn,
                                    .heads = heads,
                                    .kv_heads = kv_heads,
                                    .vocab = vocab,
                                    .seq = 4096,
                                    .causal = true};
}

static struct nest_model_spec gpt(int64_t layers, int64_t hidden, int64_t heads, int64_t seq,
                                  int64_t vocab)
{
    return (struct nest_model_spec){.layers = layers,
                                    .hidden = hidden,
                                    .ffn = 4 * hidden,
                                    .heads = heads,
                                    .vocab = vocab,
                                    .seq = seq,
                                    .mlp = NEST_MLP_GELU,
                                    .norm = NEST_NORM_LAYER,
                                    .position = NEST_POSITION_LEARNED,
                                    .bias = true,
                                    .qkv_bias = true,
                                    .tied = true,
                                    .causal = true};
}

static void test_llama(void **state)
{
    (void)state;
    assert_params(llama(32, 4096, 11008, 32, 32, 32000), 6738415616, 6738415616);
    assert_params(llama(32, 4096, 14336, 32, 8, 128256), 8030261248, 8030261248);
    assert_params(llama(80, 8192, 28672, 64, 8, 128256), 70553706496, 70553706496);
    assert_params(llama(126, 16384, 53248, 128, 8, 128256), 405853388800, 405853388800);
}

static void test_gpt(void **state)
{
    (void)state;
    assert_params(gpt(12, 768, 12, 1024, 50257), 124439808, 124439808);
    assert_params(gpt(96, 12288, 96, 2048, 50257), 174604259328, 174604259328);
}

/* Encoder with segment rows and pooler, no task head. */
static void test_bert_large(void **state)
{
    (void)state;
    struct nest_model_spec spec = gpt(24, 1024, 16, 512, 30522);
    spec.causal = false;
    assert_params(spec, 335141888, 335141888);
}

static void test_mixtral(void **state)
{
    (void)state;
    struct nest_model_spec spec = llama(32, 4096, 14336, 32, 8, 32000);
    spec.experts = 8;
    spec.top_k = 2;
    spec.moe_ffn = 14336;
    assert_params(spec, 46702792704, 12879925248);
}

/* MLA, 3 leading dense layers, 256 routed experts with a routing bias and a shared one. */
static void test_deepseek_v3(void **state)
{
    (void)state;
    struct nest_model_spec spec = llama(61, 7168, 18432, 128, 128, 129280);
    spec.attention = NEST_ATTENTION_MLA;
    spec.q_lora_rank = 1536;
    spec.kv_lora_rank = 512;
    spec.qk_nope_dim = 128;
    spec.qk_rope_dim = 64;
    spec.v_head_dim = 128;
    spec.experts = 256;
    spec.top_k = 8;
    spec.moe_ffn = 2048;
    spec.shared_experts = 1;
    spec.dense_layers = 3;
    spec.router_bias = true;
    assert_params(spec, 671026419200, 37552297472);
}

/* Heads wider than hidden / heads, and a norm on queries and keys. */
static void test_qwen3(void **state)
{
    (void)state;
    struct nest_model_spec spec = llama(64, 5120, 25600, 64, 8, 151936);
    spec.head_dim = 128;
    spec.qk_norm = true;
    assert_params(spec, 32762123264, 32762123264);
}

/* 61 blocks: embedding, 3 dense, 58 MoE and the head are four runs. */
static void test_runs(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = llama(61, 64, 128, 4, 4, 1000);
    spec.head_dim = 16;
    spec.experts = 4;
    spec.top_k = 1;
    spec.moe_ffn = 32;
    spec.dense_layers = 3;
    const struct nest_model model = expand(&spec, &arena);
    assert_int_equal(model.layers, 63);
    assert_int_equal(model.runs, 4);
    assert_int_equal(model.run[2].first, 4);
    assert_int_equal(model.run[2].count, 58);
    nest_arena_free(&arena);
}

/* 6 N per token and 12 s h per layer and token for the full attention square (Narayanan et al.
 * 2021): Llama 2 7B without its input embedding has N = 6,607,343,616 weights that multiply, less
 * the norms' 266,240. 6 * 6,607,077,376 * 4096 + 12 * 32 * 4096 * 4096 * 4096 = 1.887640e14. */
static void test_flops(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = llama(32, 4096, 11008, 32, 32, 32000);
    spec.head_dim = 128;
    const struct nest_model model = expand(&spec, &arena);
    const double expected = 6.0 * 6607077376.0 * 4096.0 + 12.0 * 32.0 * 4096.0 * 4096.0 * 4096.0;
    assert_true(model.flops_per_sequence == expected);
    nest_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llama),       cmocka_unit_test(test_gpt),
        cmocka_unit_test(test_bert_large),  cmocka_unit_test(test_mixtral),
        cmocka_unit_test(test_deepseek_v3), cmocka_unit_test(test_runs),
        cmocka_unit_test(test_qwen3),       cmocka_unit_test(test_flops),
    };
    return cmocka_run_group_tests_name("model parameters", tests, NULL, NULL);
}
