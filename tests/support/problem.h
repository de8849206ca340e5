/* Problems for tests of the cost model: a device with round figures, a cluster, a model. */
#ifndef NEST_TESTS_SUPPORT_PROBLEM_H
#define NEST_TESTS_SUPPORT_PROBLEM_H

#include "cost/operator.h"
#include "cost/table.h"
#include "support/cluster.h"

struct test_problem {
    struct test_cluster cluster;
    struct nest_model_spec spec;
    struct nest_model model;
    struct nest_problem problem;
    struct nest_strategy strategy;
    struct nest_placement placement;
};

/* Nodes of 8 (450 GB/s, 1 us) joined at 50 GB/s, 5 us: devices in all. The device: peak 1000
 * TFLOP/s (fp8 2000), 2 TB/s, every efficiency 0.5, launch 0, reserve 1e9 + 5e8 per group, 80 GiB.
 * No overlap at all, Megatron, bf16 with fp32 gradients, Adam, flash, vocabulary multiple 128. */
void test_problem_start(struct test_problem *test, int64_t devices);

/* Shapes, not yet expanded: change spec freely, then call test_problem_settle. */
struct nest_model_spec test_llama(int64_t layers, int64_t hidden, int64_t ffn, int64_t heads,
                                  int64_t kv_heads, int64_t vocab, int64_t seq);
struct nest_model_spec test_gpt(int64_t layers, int64_t hidden, int64_t heads, int64_t vocab,
                                int64_t seq);

/* tp 1, cp 1, ep 1, etp 1, no sp, micro batch 1, ZeRO 0, dp = devices, one span. */
void test_problem_plain(struct test_problem *test);

/* Expands spec and places the strategy at device 0. */
void test_problem_settle(struct test_problem *test);

/* Cost of layer number `layer`. */
struct nest_layer_cost test_problem_layer(struct test_problem *test, int layer,
                                          enum nest_recompute recompute);

/* Cost of layers first…last as the only stage, in_flight microbatches. */
struct nest_stage_cost test_problem_stage(struct test_problem *test, int first, int last,
                                          enum nest_recompute recompute, int64_t in_flight);

void test_problem_free(struct test_problem *test);

#endif
