/* A scenario that is written loads back to the same record, whatever it holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "support/cluster.h"
#include "support/input.h"
#include "support/seed.h"

static const char inline_scenario[] =
    "name: \"odd: name, with {braces} \\\"quotes\\\" and \\\\\"\n"
    "model:\n"
    "  name: Mine\n"
    "  layers: 12\n"
    "  hidden: 1536\n"
    "  ffn: 6144\n"
    "  heads: 12\n"
    "  head_dim: 64\n"
    "  vocab: 50000\n"
    "  seq: 1024\n"
    "  mlp: gelu\n"
    "  norm: layer\n"
    "  tied: true\n"
    "  experts: 8\n"
    "  top_k: 2\n"
    "  capacity: 1.25\n"
    "cluster:\n"
    "  name: Odd\n"
    "  device:\n"
    "    name: Card\n"
    "    memory: 79.6GiB\n"
    "    memory_bandwidth: 3.35TB/s\n"
    "    peak: {bf16: 989.4TFLOP/s, fp8: 1979TFLOP/s}\n"
    "    efficiency: {gemm: [[1e9, 0.3333333], [3e10, 0.6], [1e11, 0.75]], "
    "gemm_fp8: [[1e9, 0.2], [1e11, 0.65]], attention: 0.61}\n"
    "    launch: 3.7us\n"
    "    reserve: {base: 900MiB}\n"
    "  levels:\n"
    "    - {name: pod, kind: torus, shape: 2x4, bandwidth: 50GB/s, latency: 1us}\n"
    "    - {name: rack, groups: [{fanout: 4, times: 3}, {fanout: 3}], bandwidth: 400Gb/s, latency: "
    "4us}\n"
    "    - {name: 'top level', fanout: 4, bandwidth: 10GB/s, latency: 6us, oversubscription: 7:3, "
    "kind: rail}\n"
    "train: {global_batch: 96, precision: bf16, optimizer: adam8bit, grad_bytes: 2, weight_bytes: "
    "1, "
    "flash: no, "
    "imbalance: 1.3, framework: torchtitan}\n"
    "limits: {memory: 70GiB, devices: 100}\n"
    "overlap: {tp: 0.25, dp: 0}\n"
    "pin: {tp: 2|4..8, recompute: none|full, sp: 1, order: tp-cp-pp-dp}\n"
    "allow: [stage_tp, stage_zero]\n"
    "edits: [{model.seq: 2048}, {level: rack, bandwidth: 300Gb/s}, {device.launch: 5us}]\n"
    "scripts: [scripts/a.lua, \"my scripts/b.lua\"]\n";

static const char mixed_scenario[] =
    "model: llama3-8b\n"
    "cluster:\n"
    "  name: Mixed\n"
    "  device: h100-sxm-80gb\n"
    "  down: {node: [1, 4..5], device: 3}\n"
    "  levels:\n"
    "    - name: node\n"
    "      groups:\n"
    "        - {fanout: 8, times: 3}\n"
    "        - {fanout: 8, times: 3, device: a100-sxm-80gb, bandwidth: 300GB/s, uplink: 12.5GB/s}\n"
    "        - fanout: 4\n"
    "          device: {name: Card, memory: 40GiB, memory_bandwidth: 1TB/s, peak: {bf16: "
    "100TFLOP/s}}\n"
    "      bandwidth: 450GB/s\n"
    "      latency: 1us\n"
    "    - {name: rack, fanout: 7, bandwidth: 400Gb/s, latency: 4us}\n"
    "edits: [{cluster.down: 'node 1, devices 40..43'}]\n";

static const char profile_scenario[] =
    "model:\n"
    "  name: Measured\n"
    "  seq: 512\n"
    "  collectives: included\n"
    "  profile:\n"
    "    - name: embedding\n"
    "      measured:\n"
    "        - {tp: 1, fw: 0.0058ms, bw: 0, weights: 63705088B, activations: 75769858, boundary: "
    "1MiB}\n"
    "    - name: block\n"
    "      times: 24\n"
    "      measured:\n"
    "        - {tp: 1, fw: 0.864564761904762ms, bw: 0.7299ms, weights: 25MB, activations: 169MB, "
    "boundary: 1MiB}\n"
    "        - {tp: 2, fw: 0.5ms, bw: 0.4ms, weights: 12.5MB, activations: 85MB, boundary: 1MiB}\n"
    "cluster: h100-spine-leaf\n"
    "limits: {memory: 90GiB}\n";

static const char graph_scenario[] =
    "model:\n"
    "  name: Branches\n"
    "  seq: 16\n"
    "  graph:\n"
    "    layers:\n"
    "      - name: \"left: branch\"\n"
    "        times: 3\n"
    "        measured: [{tp: 1, fw: 1ms, bw: 2ms, weights: 2MB, activations: 3MB, boundary: 1MB}]\n"
    "      - name: right\n"
    "        times: 4\n"
    "        measured: [{tp: 1, fw: 1ms, bw: 2ms, weights: 2MB, activations: 3MB, boundary: 1MB}]\n"
    "      - name: join\n"
    "        measured: [{tp: 1, fw: 1ms, bw: 2ms, weights: 2MB, activations: 3MB, boundary: 1MB}]\n"
    "    edges: [[\"left: branch\", join], [right.2, join], [right, join], [\"left: branch.1\", "
    "right.3]]\n"
    "cluster: h100-spine-leaf\n";

static void assert_same_pins(const struct nest_pins_spec *a, const struct nest_pins_spec *b)
{
    for (int key = 0; key < NEST_PINS; key++) {
        assert_int_equal(a->pin[key].count, b->pin[key].count);
        for (int i = 0; i < a->pin[key].count; i++) {
            assert_int_equal(a->pin[key].range[i].low, b->pin[key].range[i].low);
            assert_int_equal(a->pin[key].range[i].high, b->pin[key].range[i].high);
        }
    }
    assert_int_equal(a->order.kind, b->order.kind);
    assert_int_equal(a->order.dp_in, b->order.dp_in);
    assert_int_equal(a->order.dp_out, b->order.dp_out);
}

static void assert_same_clusters(const struct nest_cluster_spec *a,
                                 const struct nest_cluster_spec *b)
{
    assert_string_equal(a->id, b->id);
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->levels, b->levels);
    for (int i = 0; i < a->levels; i++) {
        const struct nest_level_spec *x = &a->level[i];
        const struct nest_level_spec *y = &b->level[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->fanout, y->fanout);
        assert_int_equal(x->groups, y->groups);
        for (int g = 0; g < x->groups; g++) {
            assert_int_equal(x->group[g].fanout, y->group[g].fanout);
            assert_int_equal(x->group[g].times, y->group[g].times);
        }
        assert_true(x->bandwidth == y->bandwidth && x->latency == y->latency &&
                    x->oversubscription == y->oversubscription);
    }
    assert_memory_equal(&a->device->gemm, &b->device->gemm, sizeof a->device->gemm);
    assert_true(a->device->reserve_base == b->device->reserve_base);
    assert_true(a->device->reserve_per_group == b->device->reserve_per_group);
}

static void assert_same_profiles(const struct nest_model_spec *a, const struct nest_model_spec *b)
{
    assert_int_equal(a->profile_layers, b->profile_layers);
    assert_int_equal(a->profile_collectives_included, b->profile_collectives_included);
    assert_int_equal(a->graph, b->graph);
    assert_int_equal(a->edges, b->edges);
    if (a->edges > 0) {
        assert_memory_equal(a->edge, b->edge, (size_t)a->edges * sizeof *a->edge);
    }
    for (int i = 0; i < a->profile_layers; i++) {
        assert_string_equal(a->profile[i].name, b->profile[i].name);
        assert_int_equal(a->profile[i].times, b->profile[i].times);
        assert_int_equal(a->profile[i].entries, b->profile[i].entries);
        assert_memory_equal(a->profile[i].entry, b->profile[i].entry,
                            (size_t)a->profile[i].entries * sizeof *a->profile[i].entry);
    }
}

/* Everything that can be read by path, and what cannot. */
static void assert_same(struct test_input *input, const struct nest_scenario_spec *a,
                        const struct nest_scenario_spec *b)
{
    for (const char **path = nest_paths(a, &input->arena); *path; path++) {
        const char *x = nest_get(a, *path, &input->arena);
        const char *y = nest_get(b, *path, &input->arena);
        if ((x == NULL) != (y == NULL) || (x && strcmp(x, y) != 0)) {
            fail_msg("%s: %s became %s", *path, x ? x : "nothing", y ? y : "nothing");
        }
    }
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->model.id, b->model.id);
    assert_string_equal(a->model.name, b->model.name);
    assert_int_equal(a->precision_given, b->precision_given);
    assert_memory_equal(a->overlap_given, b->overlap_given, sizeof a->overlap_given);
    assert_int_equal(a->allow_stage_zero, b->allow_stage_zero);
    assert_int_equal(a->allow_stage_tp, b->allow_stage_tp);
    assert_int_equal(a->edits, b->edits);
    for (int i = 0; i < a->edits; i++) {
        assert_string_equal(a->edit[i].path, b->edit[i].path);
        assert_string_equal(a->edit[i].value, b->edit[i].value);
    }
    assert_int_equal(a->scripts, b->scripts);
    for (int i = 0; i < a->scripts; i++) {
        assert_string_equal(a->script[i].path, b->script[i].path);
    }
    assert_same_clusters(&a->cluster, &b->cluster);
    assert_same_profiles(&a->model, &b->model);
    assert_same_pins(&a->pins, &b->pins);
}

static void assert_round_trip(struct test_input *input, const struct nest_scenario_spec *scenario)
{
    struct nest_scenario_spec back;
    const char *text = test_input_written(input, scenario);
    test_input_clear(input);
    if (test_input_scenario(input, text, &back) != NEST_OK) {
        fail_msg("%s%s", test_input_faults(input), text);
    }
    assert_same(input, scenario, &back);
    assert_string_equal(test_input_written(input, &back), text);
}

static void written_scenarios_load_back(void **state)
{
    const char *const texts[] = {
        inline_scenario,
        profile_scenario,
        mixed_scenario,
        graph_scenario,
        "model: gpt3\ncluster: llama3-24k\n",
        "model: deepseek-v3\ncluster: tpuv4-fat-tree\nedits: [{model.top_k: 4}]\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct test_input input;
        struct nest_scenario_spec scenario;
        test_input_begin(&input);
        if (test_input_scenario(&input, texts[i], &scenario) != NEST_OK) {
            fail_msg("%s", test_input_faults(&input));
        }
        assert_round_trip(&input, &scenario);
        test_input_end(&input);
    }
}

static void a_torus_is_one_ring_a_dimension(void **state)
{
    struct test_input input;
    struct nest_scenario_spec scenario;
    (void)state;
    test_input_begin(&input);
    const char *text = "model: gpt2\ncluster:\n  device: tpu-v4\n  levels:\n"
                       "    - {name: ici, kind: torus, shape: 4x4x8, wrap: true, bandwidth: "
                       "50GB/s, latency: 1us}\n"
                       "    - {name: line, kind: torus, shape: 3, wrap: false, bandwidth: 50GB/s, "
                       "latency: 1us}\n";
    assert_int_equal(test_input_scenario(&input, text, &scenario), NEST_OK);
    assert_int_equal(scenario.cluster.levels, 4);
    assert_string_equal(scenario.cluster.level[2].name, "ici.z");
    assert_int_equal(scenario.cluster.level[2].fanout, 8);
    assert_int_equal(scenario.cluster.level[2].kind, NEST_LEVEL_RING);
    assert_true(scenario.cluster.level[0].bandwidth == 100e9);
    assert_string_equal(scenario.cluster.level[3].name, "line");
    assert_int_equal(scenario.cluster.level[3].kind, NEST_LEVEL_MESH);
    assert_true(scenario.cluster.level[3].bandwidth == 50e9);
    assert_string_equal(nest_get(&scenario, "ici.z.bandwidth", &input.arena), "100GB/s");
    test_input_end(&input);
}

/* A value near the one that is there, or any number, as text. */
static const char *random_value(struct test_input *input, struct test_random *random,
                                const char *now)
{
    static const char *const words[] = {"true", "false", "adam", "bf16", "fp8", "swiglu", "full"};
    switch (test_random_below(random, 4)) {
    case 0:
        return nest_arena_printf(&input->arena, "%lld", (long long)test_random_below(random, 100));
    case 1:
        return words[test_random_below(random, 7)];
    case 2:
        return nest_arena_printf(&input->arena, "%lld%s",
                                 (long long)test_random_below(random, 9) + 1, now ? now : "");
    default:
        return nest_arena_printf(&input->arena, "%.3g", test_random_unit(random));
    }
}

static void random_pin(struct test_input *input, struct test_random *random,
                       struct nest_scenario_spec *scenario)
{
    static const char *const values[] = {"1",    "2..4", "1|8",  "3",       "none|full",
                                         "true", "0",    "free", "2|4..16", "selective"};
    const struct nest_mark mark = {"--pin", 1, 1};
    const enum nest_pin_key key = (enum nest_pin_key)test_random_below(random, NEST_PINS);
    (void)nest_pin_set(&scenario->pins, nest_pin_key_word(key),
                       values[test_random_below(random, 10)], mark, &input->errors);
}

static void edited_scenarios_load_back(void **state)
{
    struct test_random random = {test_seed()};
    (void)state;
    print_message("seed %llu\n", (unsigned long long)random.state);
    const int rounds = test_instances(60);
    int changed = 0;
    for (int round = 0; round < rounds; round++) {
        struct test_input input;
        struct nest_scenario_spec scenario;
        const struct nest_mark mark = {"--set", 1, 1};
        test_input_begin(&input);
        assert_int_equal(test_input_scenario(&input,
                                             round % 3 == 0   ? inline_scenario
                                             : round % 3 == 1 ? profile_scenario
                                                              : "model: mixtral-8x7b\n"
                                                                "cluster: dgx-a100-superpod\n",
                                             &scenario),
                         NEST_OK);
        const char **paths = nest_paths(&scenario, &input.arena);
        int64_t count = 0;
        while (paths[count]) {
            count++;
        }
        for (int i = 0; i < 40; i++) {
            const char *path = paths[test_random_below(&random, count)];
            const char *now = nest_get(&scenario, path, &input.arena);
            changed += nest_set(&scenario, path, random_value(&input, &random, now), mark,
                                &input.arena, &input.errors) == NEST_OK;
            random_pin(&input, &random, &scenario);
            test_input_clear(&input);
        }
        assert_round_trip(&input, &scenario);
        test_input_end(&input);
    }
    assert_true(changed > 3 * rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_scenarios_load_back),
        cmocka_unit_test(a_torus_is_one_ring_a_dimension),
        cmocka_unit_test(edited_scenarios_load_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
