/* Public questions about time, topology and placement (reference cases C), each a test of its kind.
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

static struct json_object *solve(const char *model, const char *cluster, const char *more)
{
    char line[512];
    (void)snprintf(line, sizeof line, "solve --json --model %s --cluster %s %s", model, cluster,
                   more);
    struct command_result run = command_run(line);
    assert_int_equal(run.status, 0);
    struct json_object *root = command_json(&run);
    command_free(&run);
    return root;
}

/* deepspeedai/DeepSpeed#7019, #6889, #2928: over slow links ZeRO 3 across all nodes gathers the
 * weights twice and reduces gradients once per microbatch over them, and loses. */
static void slow_links_refuse_cluster_wide_zero_3(void **unused)
{
    (void)unused;
    static const char *const rates[] = {"25Gb/s", "100Gb/s"};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        char more[160];
        (void)snprintf(more, sizeof more, "--set fabric.bandwidth=%s --set global_batch=256",
                       rates[i]);
        struct json_object *free_choice = solve("llama3-8b", h100(64), more);
        const double all =
            json_number(free_choice, "plan.dp") * json_number(free_choice, "plan.cp");
        const bool everywhere = json_number(free_choice, "plan.zero") == 3 &&
                                json_number(free_choice, "plan.shard") == all && all > 8;
        assert_false(everywhere);
        (void)snprintf(more, sizeof more,
                       "--set fabric.bandwidth=%s --set global_batch=256 --pin "
                       "zero=3,tp=1,pp=1,cp=1,shard=64,micro_batch=1",
                       rates[i]);
        struct json_object *pinned = solve("llama3-8b", h100(64), more);
        /* at 25 Gb/s the traffic is several times the compute; at 100 it only just shows */
        const double worse = i == 0 ? 1.5 : 1.0;
        assert_true(json_number(pinned, "step_time_s") >
                    worse * json_number(free_choice, "step_time_s"));
        json_object_put(pinned);
        json_object_put(free_choice);
    }
}

static double step_of(const char *cluster, const char *pins, const char *set)
{
    struct json_object *root = eval_feasible("llama3-8b", cluster, pins, set);
    const double step = json_number(root, "step_time_s");
    json_object_put(root);
    return step;
}

/* astra-sim/astra-sim#207, #371: a level's bandwidth matters exactly when some group crosses it. */
static void a_level_matters_when_it_is_crossed(void **unused)
{
    (void)unused;
    const char *one_node = "tp=8,pp=1,dp=1,cp=1,recompute=full,micro_batch=1";
    const char *both_nodes = "tp=8,pp=1,dp=2,cp=1,recompute=full,micro_batch=1,zero=1";
    const char *fast = "--set fabric.bandwidth=400Gb/s --set global_batch=16";
    const char *slow = "--set fabric.bandwidth=20Gb/s --set global_batch=16";
    assert_true(step_of(h100(16), one_node, fast) == step_of(h100(16), one_node, slow));
    assert_true(step_of(h100(16), both_nodes, fast) < step_of(h100(16), both_nodes, slow));
    const char *node = "--set node.bandwidth=225GB/s --set global_batch=16";
    assert_true(step_of(h100(16), one_node, fast) < step_of(h100(16), one_node, node));
}

/* astra-sim/astra-sim#270, aliyun/SimAI#37: groups of unequal size are real. */
static void groups_of_unequal_size_are_real(void **unused)
{
    (void)unused;
    const char *uneven =
        command_file("uneven.yaml", "name: four and six\ndevice: h100-sxm\nlevels:\n"
                                    "  - {name: node, groups: [{fanout: 4}, {fanout: 6}], "
                                    "bandwidth: 450GB/s, latency: 1us}\n"
                                    "  - {name: fabric, fanout: 2, bandwidth: 400Gb/s, "
                                    "latency: 5us}\n");
    struct json_object *root = solve("llama3-8b", uneven, "--set global_batch=20");
    assert_int_equal(json_number(root, "devices"), 10);
    json_object_put(root);
    char line[256];
    (void)snprintf(line, sizeof line, "show --json %s", uneven);
    struct command_result run = command_run(line);
    assert_int_equal(run.status, 0);
    struct json_object *shown = command_json(&run);
    assert_int_equal(json_number(shown, "devices"), 10);
    json_object_put(shown);
    command_free(&run);
    /* tp 2 x dp 5: no tensor-parallel pair spans the two nodes, 4 and 6 are both even */
    const double pairs = step_of(uneven, "tp=2,pp=1,dp=5,cp=1,recompute=full,zero=3",
                                 "--set global_batch=10 --set fabric.latency=1ms");
    const double spanning = step_of(uneven, "tp=8,pp=1,dp=1,cp=1,recompute=full,zero=0",
                                    "--set global_batch=10 --set fabric.latency=1ms");
    assert_true(spanning > 2 * pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_links_refuse_cluster_wide_zero_3),
        cmocka_unit_test(a_level_matters_when_it_is_crossed),
        cmocka_unit_test(groups_of_unequal_size_are_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
