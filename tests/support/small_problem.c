#include "support/small_problem.h"

#include <stdlib.h>
#include <string.h>

static int64_t below(struct test_random *random, int64_t n)
{
    return test_random_below(random, n);
}

static void random_model(struct test_random *random, struct nest_model_spec *spec)
{
    *spec = (struct nest_model_spec){
        .name = "small",
        .layers = 1 + below(random, 4),
        .hidden = 256,
        .ffn = 512 << below(random, 2),
        .heads = 4,
        .kv_heads = 1 << below(random, 3),
        .head_dim = 64,
        .vocab = 1000 + below(random, 20000),
        .seq = 128 << below(random, 3),
        .tied = below(random, 4) == 0,
        .causal = true,
    };
    if (below(random, 4) == 0) {
        spec->experts = 2 << below(random, 2);
        spec->top_k = 1 + below(random, 2);
        spec->moe_ffn = 256;
        spec->moe_every = 1;
        spec->dense_layers = below(random, 2) == 0 && spec->layers > 1;
    }
}

static void random_device(struct test_random *random, struct nest_device_spec *device)
{
    device->memory = 1e9;
    device->memory_bandwidth = 1e11 * (double)(1 + below(random, 20));
    for (int p = 0; p < NEST_PRECISIONS; p++) {
        device->peak[p] = 1e13;
    }
    device->gemm = (struct nest_curve){2, {1e6, 1e9}, {0.2, 0.8}};
    device->attention = 0.5;
    device->memory_efficiency = 0.8;
    device->network_efficiency = 0.9;
    device->launch = 1e-6 * (double)below(random, 5);
    device->reserve_per_group = 1e5;
}

static void pin(struct test_random *random, struct nest_problem *problem, enum nest_pin_key key,
                int64_t low, int64_t high)
{
    if (below(random, 4) > 0) {
        problem->pins.pin[key].count = 1;
        problem->pins.pin[key].range[0] = (struct nest_range){low, high};
    }
}

/* Most choices are pinned, at random, so that the rest can be listed. */
static void random_pins(struct test_random *random, struct nest_problem *problem)
{
    const int64_t tp = 1 << below(random, 3);
    const int64_t zero = below(random, 4);
    const int64_t mode = below(random, NEST_RECOMPUTES);
    const int64_t pp = 1 + below(random, 3);
    pin(random, problem, NEST_PIN_TP, problem->allow_stage_tp ? 1 : tp,
        problem->allow_stage_tp ? 2 : tp);
    pin(random, problem, NEST_PIN_CP, 1, 1 + below(random, 2));
    pin(random, problem, NEST_PIN_EP, 1, 1 + below(random, 4));
    pin(random, problem, NEST_PIN_ZERO, zero, problem->allow_stage_zero ? 3 : zero);
    pin(random, problem, NEST_PIN_RECOMPUTE, mode, NEST_RECOMPUTES - 1 - below(random, 2));
    pin(random, problem, NEST_PIN_MICRO_BATCH, 1, 1 + below(random, 2));
    problem->pins.pin[NEST_PIN_PP].count = 1;
    problem->pins.pin[NEST_PIN_PP].range[0] = (struct nest_range){1, pp + 1};
}

void test_small_expand(struct test_small *made)
{
    struct nest_errors errors;
    nest_errors_init(&errors, &made->arena);
    if (nest_model_expand(&made->spec, &made->arena, &made->model, &errors) != NEST_OK) {
        abort();
    }
}

void test_small_problem(struct test_small *made, uint64_t seed, int64_t devices)
{
    struct test_random random = {seed * UINT64_C(0x9E3779B97F4A7C15)};
    *made = (struct test_small){.arena = NEST_ARENA_INIT};
    if (below(&random, 2)) {
        test_cluster_uniform(&made->cluster, &random, 2 + below(&random, devices));
    } else {
        test_cluster_irregular(&made->cluster, &random, 2 + below(&random, devices));
    }
    random_device(&random, &made->cluster.device);
    /* A tree cut to fewer devices has a copy of what the device was. */
    test_cluster_rebuild(&made->cluster, made->cluster.tree.devices);
    random_model(&random, &made->spec);
    test_small_expand(made);
    struct nest_problem *problem = &made->problem;
    *problem = (struct nest_problem){
        .model = &made->model,
        .cluster = &made->cluster.tree,
        .train =
            {
                .global_batch = 1 + below(&random, 12),
                .grad_bytes = 4,
                .flash = true,
                .vocab_multiple = 1,
                .imbalance = 1.0,
            },
        .memory_limit = (int64_t)1e7 << below(&random, 6),
        .allow_stage_zero = below(&random, 8) == 0,
        .allow_stage_tp = below(&random, 8) == 0,
    };
    problem->overlap.dp = (double)below(&random, 2);
    problem->overlap.zero = (double)below(&random, 2);
    problem->overlap.cp = (double)below(&random, 2);
    problem->overlap.pp = (double)below(&random, 2);
    random_pins(&random, problem);
}

static struct nest_profile_layer random_layer(struct test_random *random, struct nest_arena *arena)
{
    struct nest_profile_entry *entry = NEST_NEW(arena, struct nest_profile_entry, 3);
    const double size = (double)(1 + below(random, 8));
    for (int i = 0; i < 3; i++) {
        const double part = (double)(1 << i);
        entry[i] = (struct nest_profile_entry){
            .tp = 1 << i,
            .fw = 1e-4 * size / part,
            .bw = 1e-4 * (double)(1 + below(random, 16)) / part,
            .weight_bytes = 1e6 * (double)below(random, 4) / part,
            .activation_bytes = 1e6 * size / part,
            .boundary_bytes = 1e5 * (double)(1 + below(random, 8)),
        };
    }
    return (struct nest_profile_layer){.name = "layer", .times = 1, .entries = 3, .entry = entry};
}

static bool has_consumer(const struct nest_edge_spec *edge, int edges, int layer)
{
    bool has = false;
    for (int e = 0; e < edges; e++) {
        has = has || edge[e].from == layer;
    }
    return has;
}

/* The last layer consumes whatever no other layer does, so that the graph is connected. */
static void random_graph(struct test_random *random, struct test_small *made)
{
    struct nest_model_spec *spec = &made->spec;
    const int layers = 3 + (int)below(random, 3);
    struct nest_profile_layer *layer = NEST_NEW(&made->arena, struct nest_profile_layer, layers);
    struct nest_edge_spec *edge = NEST_NEW(&made->arena, struct nest_edge_spec, layers * layers);
    *spec = (struct nest_model_spec){.name = "graph", .seq = 64, .heads = 4, .graph = true};
    for (int to = 0; to < layers; to++) {
        layer[to] = random_layer(random, &made->arena);
        for (int from = 0; from < to; from++) {
            if (below(random, 3) == 0) {
                edge[spec->edges++] = (struct nest_edge_spec){from, to};
            }
        }
    }
    for (int from = 0; from + 1 < layers; from++) {
        if (!has_consumer(edge, spec->edges, from)) {
            edge[spec->edges++] = (struct nest_edge_spec){from, layers - 1};
        }
    }
    spec->profile_layers = layers;
    spec->profile = layer;
    spec->edge = edge;
    spec->profile_collectives_included = true;
}

void test_small_branch(struct test_small *made, uint64_t seed)
{
    struct test_random random = {seed * UINT64_C(0x9FB21C651E98DF25)};
    struct nest_model_spec *spec = &made->spec;
    const int64_t kind = below(&random, 3);
    if (kind == 0) {
        spec->layers = 1 + below(&random, 2);
        spec->dense_layers = 0;
        spec->vision = (struct nest_vision_spec){.layers = 1 + below(&random, 3),
                                                 .hidden = 64 << below(&random, 3),
                                                 .ffn = 256,
                                                 .heads = 4,
                                                 .tokens = 64 << below(&random, 4),
                                                 .patch = 4,
                                                 .projection = 1};
    } else if (kind == 1) {
        spec->layers = 2 + below(&random, 3);
        spec->encoder_layers = 1 + below(&random, spec->layers - 1);
    } else {
        random_graph(&random, made);
    }
    test_small_expand(made);
}

/* Two levels of two or three groups, whatever there was before. */
static void reshape(struct test_random *random, struct nest_cluster_spec *spec)
{
    struct nest_level_spec *level = spec->level;
    if (spec->levels < 2) {
        level[1] = level[0];
        level[1].name = "outer";
        level[1].bandwidth /= (double)(1 + below(random, 6));
    }
    spec->levels = 2;
    level[0].groups = level[1].groups = 0;
    level[0].fanout = 1 + below(random, 3);
    level[1].fanout = 2 + below(random, 2);
}

void test_small_mixed(struct test_small *made, uint64_t seed, int64_t devices)
{
    struct test_random random = {seed * UINT64_C(0xD1B54A32D192ED03)};
    test_small_problem(made, seed, devices);
    struct nest_device_spec *other = &made->cluster.other;
    random_device(&random, other);
    for (int p = 0; p < NEST_PRECISIONS; p++) {
        other->peak[p] *= (double)(1 + below(&random, 8)) / 4;
    }
    made->cluster.device.memory = (double)made->problem.memory_limit;
    other->memory = (double)made->problem.memory_limit / (double)(1 + below(&random, 3));
    reshape(&random, &made->cluster.spec);
    test_cluster_mix(&made->cluster, &random);
}

void test_small_free(struct test_small *made)
{
    test_cluster_free(&made->cluster);
    nest_arena_free(&made->arena);
}
