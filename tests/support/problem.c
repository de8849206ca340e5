#include "support/problem.h"

#include <stdlib.h>
#include <string.h>

void test_problem_start(struct test_problem *test, int64_t devices)
{
    memset(test, 0, sizeof *test);
    const int64_t node = devices < 8 ? devices : 8;
    const int64_t fanout[] = {node, (devices + node - 1) / node};
    test_cluster_of(&test->cluster, 2, fanout);
    struct nest_cluster_spec *spec = &test->cluster.spec;
    spec->level[0].bandwidth = 450e9;
    spec->level[0].latency = 1e-6;
    spec->level[1].bandwidth = 50e9;
    spec->level[1].latency = 5e-6;
    test->cluster.device = (struct nest_device_spec){
        .id = "round",
        .name = "round figures",
        .memory = 85899345920.0,
        .memory_bandwidth = 2e12,
        .peak = {[NEST_BF16] = 1e15, [NEST_FP16] = 1e15, [NEST_FP8] = 2e15, [NEST_FP32] = 1e14},
        .gemm = {.count = 1, .x = {1e9}, .y = {0.5}},
        .attention = 0.5,
        .memory_efficiency = 0.5,
        .network_efficiency = 1.0,
        .reserve_base = 1e9,
        .reserve_per_group = 5e8,
    };
    test_cluster_rebuild(&test->cluster, devices);
    test->problem = (struct nest_problem){
        .model = &test->model,
        .cluster = &test->cluster.tree,
        .train = {.global_batch = 1024,
                  .precision = NEST_BF16,
                  .optimizer = NEST_ADAM,
                  .grad_bytes = 4,
                  .flash = true,
                  .fused_loss = true,
                  .vocab_multiple = 128,
                  .imbalance = 1.0,
                  .framework = NEST_MEGATRON},
        .memory_limit = INT64_C(85899345920),
    };
    test_problem_plain(test);
}

void test_problem_plain(struct test_problem *test)
{
    const int64_t devices = test->cluster.tree.devices;
    test->strategy = (struct nest_strategy){.tp = 1,
                                            .cp = 1,
                                            .ep = 1,
                                            .etp = 1,
                                            .micro_batch = 1,
                                            .virtual_stages = 1,
                                            .dp_in = devices,
                                            .dp_out = 1,
                                            .span = devices};
}

struct nest_model_spec test_llama(int64_t layers, int64_t hidden, int64_t ffn, int64_t heads,
                                  int64_t kv_heads, int64_t vocab, int64_t seq)
{
    return (struct nest_model_spec){.layers = layers,
                                    .hidden = hidden,
                                    .ffn = ffn,
                                    .heads = heads,
                                    .kv_heads = kv_heads,
                                    .head_dim = hidden / heads,
                                    .vocab = vocab,
                                    .seq = seq,
                                    .moe_every = 1,
                                    .causal = true};
}

struct nest_model_spec test_gpt(int64_t layers, int64_t hidden, int64_t heads, int64_t vocab,
                                int64_t seq)
{
    struct nest_model_spec spec = test_llama(layers, hidden, 4 * hidden, heads, heads, vocab, seq);
    spec.mlp = NEST_MLP_GELU;
    spec.norm = NEST_NORM_LAYER;
    spec.position = NEST_POSITION_LEARNED;
    spec.bias = spec.qkv_bias = true;
    spec.tied = true;
    return spec;
}

void test_problem_settle(struct test_problem *test)
{
    struct nest_errors errors;
    nest_errors_init(&errors, &test->cluster.arena);
    if (nest_model_expand(&test->spec, &test->cluster.arena, &test->model, &errors) != NEST_OK) {
        abort();
    }
    const struct nest_strategy *s = &test->strategy;
    if (test->strategy.shard == 0) {
        test->strategy.shard = nest_strategy_dp(s) * s->cp;
    }
    nest_placement_at(&test->cluster.tree, s, 0, &test->placement);
}

struct nest_layer_cost test_problem_layer(struct test_problem *test, int layer,
                                          enum nest_recompute recompute)
{
    struct nest_layer_cost cost;
    nest_layer_cost(&test->problem, &test->model.kind[test->model.kind_of[layer]], &test->strategy,
                    &test->placement, recompute, &cost);
    return cost;
}

struct nest_stage_cost test_problem_stage(struct test_problem *test, int first, int last,
                                          enum nest_recompute recompute, int64_t in_flight)
{
    struct nest_cost_table table;
    void *memory = nest_arena_alloc(
        &test->cluster.arena, 1,
        nest_cost_table_bytes(test->model.layers, test->model.cuts, test->cluster.tree.levels));
    if (!memory) {
        abort();
    }
    nest_cost_table_fill(&test->problem, &test->strategy, &test->placement, memory, &table);
    const struct nest_stage_query query = {.first = first,
                                           .last = last,
                                           .recompute = recompute,
                                           .in_level = first > 0 ? 1 : -1,
                                           .out_level = last < test->model.layers - 1 ? 1 : -1,
                                           .in_flight = in_flight};
    struct nest_stage_cost cost;
    nest_stage_cost(&table, &query, &cost);
    return cost;
}

void test_problem_free(struct test_problem *test)
{
    test_cluster_free(&test->cluster);
}
