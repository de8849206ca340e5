/* Edits: --set, --pin, `edits:` and reading values back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "support/input.h"

static struct test_input input;
static struct nest_scenario_spec scenario;

static enum nest_status load(int sets, const char *const *set, int pins, const char *const *pin)
{
    const struct nest_scenario_request request = {
        .sets = sets, .set = set, .pins = pins, .pin = pin};
    test_input_clear(&input);
    return nest_load_scenario(&input.library, &request, &input.arena, &scenario, &input.errors);
}

static int begin(void **state)
{
    (void)state;
    test_input_begin(&input);
    assert_int_equal(load(0, NULL, 0, NULL), NEST_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    test_input_end(&input);
    return 0;
}

static void assert_value(const char *path, const char *value)
{
    const char *got = nest_get(&scenario, path, &input.arena);
    if (!got || strcmp(got, value) != 0) {
        fail_msg("%s is %s, expected %s", path, got ? got : "unknown", value);
    }
}

static void sets_reach_every_section(void **state)
{
    (void)state;
    const char *const sets[] = {
        "cluster.spine.bandwidth=200Gb/s",
        "node.latency=2us",
        "rack.oversubscription=2:1",
        "cluster.spine.fanout=16",
        "device.memory=141GiB",
        "device.peak.bf16=1PFLOP/s",
        "model.seq=4096",
        "global_batch=512",
        "train.optimizer=sgd",
        "limits.devices=256",
        "overlap.tp=0.5",
        "memory=100GiB",
    };
    assert_int_equal(load((int)(sizeof sets / sizeof sets[0]), sets, 0, NULL), NEST_OK);
    assert_value("spine.bandwidth", "25GB/s");
    assert_value("cluster.node.latency", "2us");
    assert_value("rack.oversubscription", "2");
    assert_value("spine.fanout", "16");
    assert_value("device.memory", "141GiB");
    assert_value("device.peak.bf16", "1PFLOP/s");
    assert_value("seq", "4096");
    assert_value("train.global_batch", "512");
    assert_value("optimizer", "sgd");
    assert_value("devices", "256");
    assert_value("overlap.tp", "0.5");
    assert_value("limits.memory", "100GiB");
    assert_true(scenario.cluster.device == &scenario.device);
    assert_true(scenario.device.memory == 141.0 * 1073741824.0);
}

static void faults_are_located(void **state)
{
    static const struct {
        const char *set;
        const char *fault;
    } cases[] = {
        {"spine.bandwidth=400Gbs",
         "--set:1:17: cluster.spine.bandwidth: unknown unit 'Gbs' in '400Gbs'; expected a "
         "bandwidth, such as 400Gb/s (bits) or 50GB/s (bytes)\n"},
        {"spine.bandwith=4GB/s",
         "--set:1:1: there is no 'spine.bandwith' to set; did you mean 'spine.bandwidth'?\n"},
        {"bandwidth=4GB/s", "--set:1:1: 'bandwidth' is ambiguous; it may be "
                            "cluster.node.bandwidth, cluster.rack.bandwidth, "
                            "cluster.spine.bandwidth\n"},
        {"model.heads=63",
         "--set:1:13: model.heads: hidden 8192 does not divide into 63 heads; expected a divisor "
         "of hidden, or give head_dim; nearest are 64 heads, or a hidden size of 8190\n"
         "--set:1:13: model.kv_heads: 63 heads do not share 8 key/value heads evenly; expected a "
         "divisor of heads; nearest are 7 key/value heads, or 64 heads\n"},
        {"train.precision=fp4",
         "--set:1:17: train.precision: unknown precision 'fp4'; expected bf16, fp16, fp8 or fp32; "
         "did you mean 'fp8'?\n"},
        {"oversubscription", "--set:1:1: 'oversubscription' sets nothing; expected PATH=VALUE, "
                             "such as spine.bandwidth=400Gb/s\n"},
        {"=3", "--set:1:1: '=3' sets nothing; expected PATH=VALUE, such as "
               "spine.bandwidth=400Gb/s\n"},
        {"seq=", "--set:1:5: model.seq: nothing is not a value; expected a whole number\n"},
        {"colour=red",
         "--set:1:1: there is no 'colour' to set; expected model.KEY, train.KEY, limits.KEY, "
         "overlap.KEY, device.KEY or cluster.LEVEL.FIELD; levels are node, rack, spine\n"},
        {"spine.oversubscription=1:4",
         "--set:1:24: cluster.spine.oversubscription: '1:4' is too small; expected 1 to 1000000; "
         "did you mean 4:1?\n"},
        {"model.name=x", "--set:1:1: there is no 'model.name' to set; did you mean "
                         "'model.norm'?\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(load(1, &cases[i].set, 0, NULL), NEST_BAD_INPUT);
        assert_string_equal(test_input_faults(&input), cases[i].fault);
    }
}

static void pins_are_read(void **state)
{
    (void)state;
    const char *const pins[] = {"tp=8,pp=2..8,dp=2|4|8..16", "sp=true,recompute=none|full",
                                "order=tp-cp-dp:4-pp-dp:8"};
    assert_int_equal(load(0, NULL, 3, pins), NEST_OK);
    const struct nest_pins_spec *spec = &scenario.pins;
    assert_int_equal(spec->pin[NEST_PIN_TP].count, 1);
    assert_int_equal(spec->pin[NEST_PIN_TP].range[0].high, 8);
    assert_int_equal(spec->pin[NEST_PIN_PP].range[0].low, 2);
    assert_int_equal(spec->pin[NEST_PIN_DP].count, 3);
    assert_int_equal(spec->pin[NEST_PIN_DP].range[2].high, 16);
    assert_int_equal(spec->pin[NEST_PIN_SP].range[0].low, 1);
    assert_int_equal(spec->pin[NEST_PIN_RECOMPUTE].range[1].low, NEST_RECOMPUTE_FULL);
    assert_int_equal(spec->pin[NEST_PIN_CP].count, 0);
    assert_int_equal(spec->order.kind, NEST_ORDER_SPLIT);
    assert_int_equal(spec->order.dp_in, 4);
    assert_int_equal(spec->order.dp_out, 8);
    const struct nest_mark mark = {"--pin", 1, 1};
    assert_int_equal(nest_pin_set(&scenario.pins, "tp", "free", mark, &input.errors), NEST_OK);
    assert_int_equal(nest_pin_set(&scenario.pins, "order", "", mark, &input.errors), NEST_OK);
    assert_int_equal(spec->pin[NEST_PIN_TP].count, 0);
    assert_int_equal(spec->order.kind, NEST_ORDER_FREE);
}

static void pin_faults_are_located(void **state)
{
    static const struct {
        const char *pin;
        const char *fault;
    } cases[] = {
        {"tp=8,zeor=1", "--pin:1:6: unknown pin 'zeor'; did you mean 'zero'?\n"},
        {"tp=8,pp", "--pin:1:6: 'pp' pins nothing; expected KEY=VALUE, such as tp=8\n"},
        {"tp=8,pp=x", "--pin:1:9: pp cannot be 'x'; expected a number from 1, a range 2..8, or a "
                      "list 2|4|8\n"},
        {"pp=8..2", "--pin:1:4: pp cannot be '8..2'; expected a number from 1, a range 2..8, or a "
                    "list 2|4|8\n"},
        {"tp=8,,pp=2", "--pin:1:6: '' pins nothing; expected KEY=VALUE, such as tp=8\n"},
        {"order=tp-pp", "--pin:1:7: unknown order 'tp-pp'; expected tp-cp-dp-pp, tp-cp-pp-dp or "
                        "tp-cp-dp:4-pp-dp:8\n"},
        {"zero=4", "--pin:1:6: zero cannot be '4'; expected 0 to 3, a range 0..2, or a list 1|3\n"},
        {"tp=1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17",
         "--pin:1:4: tp cannot be '1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17'; expected a number "
         "from 1, a range 2..8, or a list 2|4|8\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(load(0, NULL, 1, &cases[i].pin), NEST_BAD_INPUT);
        assert_string_equal(test_input_faults(&input), cases[i].fault);
    }
}

static void a_failed_edit_changes_nothing(void **state)
{
    (void)state;
    const struct nest_mark mark = {":", 1, 1};
    const char *before = test_input_written(&input, &scenario);
    assert_int_equal(nest_set(&scenario, "model.heads", "63", mark, &input.arena, &input.errors),
                     NEST_BAD_INPUT);
    assert_int_equal(
        nest_set(&scenario, "spine.bandwidth", "fast", mark, &input.arena, &input.errors),
        NEST_BAD_INPUT);
    assert_string_equal(test_input_written(&input, &scenario), before);
    assert_int_equal(scenario.model.heads, 64);
    assert_int_equal(scenario.edits, 0);
}

static void edits_that_belong_together_are_checked_together(void **state)
{
    (void)state;
    const char *const sets[] = {"model.hidden=6144", "model.heads=48", "model.kv_heads=6"};
    assert_int_equal(load(3, sets, 0, NULL), NEST_OK);
    assert_int_equal(scenario.model.head_dim, 128);
    const char *const odd[] = {"model.seq=4096", "model.kv_heads=7", "train.global_batch=8"};
    assert_int_equal(load(3, odd, 0, NULL), NEST_BAD_INPUT);
    assert_string_equal(test_input_faults(&input),
                        "--set:1:16: model.kv_heads: 64 heads do not share 7 key/value heads "
                        "evenly; expected a divisor of heads; nearest are 8 key/value heads, or 63 "
                        "heads\n");
}

static void what_follows_is_renewed(void **state)
{
    (void)state;
    const char *const sets[] = {"model.heads=128", "train.framework=deepspeed", "overlap.cp=0.5"};
    assert_int_equal(load(3, sets, 0, NULL), NEST_OK);
    assert_int_equal(scenario.model.head_dim, 64);
    assert_int_equal(scenario.model.kv_heads, 8);
    assert_true(scenario.overlap.dp == 0);
    assert_true(scenario.overlap.cp == 0.5);
    const struct nest_scenario_request request = {.model = "gpt3", .cluster = "hgx-h100-8"};
    assert_int_equal(
        nest_load_scenario(&input.library, &request, &input.arena, &scenario, &input.errors),
        NEST_OK);
    const struct nest_mark mark = {":", 1, 1};
    assert_int_equal(nest_set(&scenario, "heads", "64", mark, &input.arena, &input.errors),
                     NEST_OK);
    assert_int_equal(scenario.model.kv_heads, 64);
    assert_int_equal(scenario.model.head_dim, 192);
    assert_int_equal(nest_set(&scenario, "bandwidth", "400GB/s", mark, &input.arena, &input.errors),
                     NEST_OK);
    assert_value("cluster.node.bandwidth", "400GB/s");
}

static void a_factor_changes_the_present_value(void **state)
{
    (void)state;
    const char *const sets[] = {"model.layers=2x", "spine.bandwidth=/2", "memory=*0.5",
                                "global_batch=0.25x", "spine.latency=3x"};
    assert_int_equal(load(5, sets, 0, NULL), NEST_OK);
    assert_int_equal(scenario.model.layers, 160);
    assert_int_equal(scenario.train.global_batch, 256);
    assert_value("cluster.spine.bandwidth", "25GB/s");
    assert_value("cluster.spine.latency", "18us");
    assert_value("limits.memory", "40GiB");
    /* What is kept is the value, so that a saved scenario does not grow when it is read again. */
    assert_string_equal(scenario.edit[0].value, "160");
    const char *const none[] = {"model.layers=0.01x", "model.mlp=2x", "model.layers=x",
                                "model.layers=/0"};
    assert_int_equal(load(4, none, 0, NULL), NEST_BAD_INPUT);
    assert_int_equal(input.errors.count, 4);
}

static void the_newest_edit_of_a_path_is_kept(void **state)
{
    (void)state;
    const struct nest_mark mark = {":", 1, 1};
    for (int i = 2; i < 10; i++) {
        const char *value = nest_arena_printf(&input.arena, "%d:1", i);
        assert_int_equal(
            nest_set(&scenario, "spine.oversubscription", value, mark, &input.arena, &input.errors),
            NEST_OK);
    }
    assert_int_equal(scenario.edits, 1);
    assert_string_equal(scenario.edit[0].path, "cluster.spine.oversubscription");
    assert_string_equal(scenario.edit[0].value, "9:1");
    assert_int_equal(nest_set(&scenario, "memory", "40GiB", mark, &input.arena, &input.errors),
                     NEST_OK);
    assert_int_equal(scenario.edits, 1);
}

static void a_device_without_bf16_trains_in_fp16(void **state)
{
    (void)state;
    const char *text = "model: gpt2\ncluster:\n  device: v100-32\n  levels:\n"
                       "    - {name: node, fanout: 8, bandwidth: 150GB/s, latency: 1us}\n";
    assert_int_equal(test_input_scenario(&input, text, &scenario), NEST_OK);
    assert_int_equal(scenario.train.precision, NEST_FP16);
    const struct nest_mark mark = {":", 1, 1};
    assert_int_equal(nest_set(&scenario, "precision", "bf16", mark, &input.arena, &input.errors),
                     NEST_BAD_INPUT);
    assert_string_equal(
        test_input_faults(&input),
        "::1:1: train.precision: device v100-sxm2-32gb has no bf16 rate; it has fp16, fp32\n");
}

static void every_value_sets_itself(void **state)
{
    (void)state;
    const struct nest_mark mark = {":", 1, 1};
    int set = 0;
    for (const char **path = nest_paths(&scenario, &input.arena); *path; path++) {
        const char *value = nest_get(&scenario, *path, &input.arena);
        if (value) {
            assert_int_equal(nest_set(&scenario, *path, value, mark, &input.arena, &input.errors),
                             NEST_OK);
            assert_value(*path, value);
            set++;
        }
    }
    assert_true(set > 40);
    assert_null(nest_get(&scenario, "no.such.path", &input.arena));
    assert_null(nest_get(&scenario, "model.window", &input.arena));
    assert_value("limits.memory", "80GiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sets_reach_every_section, begin, end),
        cmocka_unit_test_setup_teardown(faults_are_located, begin, end),
        cmocka_unit_test_setup_teardown(pins_are_read, begin, end),
        cmocka_unit_test_setup_teardown(pin_faults_are_located, begin, end),
        cmocka_unit_test_setup_teardown(a_failed_edit_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(edits_that_belong_together_are_checked_together, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_follows_is_renewed, begin, end),
        cmocka_unit_test_setup_teardown(a_factor_changes_the_present_value, begin, end),
        cmocka_unit_test_setup_teardown(the_newest_edit_of_a_path_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(a_device_without_bf16_trains_in_fp16, begin, end),
        cmocka_unit_test_setup_teardown(every_value_sets_itself, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
