/* `nest validate` on the tables of the source tree: the accuracy that the README states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/command.h"

static struct json_object *root;

static int run_once(void **state)
{
    (void)state;
    struct command_result result = command_run("validate --json");
    assert_int_equal(result.status, 0);
    root = command_json(&result);
    command_free(&result);
    return 0;
}

static int put(void **state)
{
    (void)state;
    json_object_put(root);
    return 0;
}

static double figure(const char *group, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "summary.%s.%s", group, name);
    return json_number(root, path);
}

/* Step time, or the rate where only that is printed: mean error at most 8%, 90th percentile 16%.
 */
static void test_speed(void **state)
{
    (void)state;
    assert_true(figure("full", "rows") >= 300);
    assert_true(figure("full", "mean") <= 0.08);
    assert_true(figure("full", "p90") <= 0.16);
}

static void test_memory(void **state)
{
    (void)state;
    assert_true(figure("memory", "rows") >= 30);
    assert_true(figure("memory", "mean") <= 0.04);
}

/* No run that happened is said not to fit; every run that ran out of memory is. */
static void test_feasibility(void **state)
{
    (void)state;
    assert_int_equal(json_number(root, "summary.called_infeasible"), 0);
    assert_true(json_number(root, "summary.out_of_memory") >= 7);
    assert_int_equal(json_number(root, "summary.called_feasible"), 0);
    assert_int_equal(json_number(root, "summary.skipped"), 0);
}

/* Korthikanti et al. 2022, whose step times Calculon was tuned on: mean 3%, largest 8%. */
static void test_korthikanti(void **state)
{
    (void)state;
    assert_true(figure("by_source.korthikanti2022", "mean") <= 0.03);
    assert_true(figure("by_source.korthikanti2022", "max") <= 0.08);
}

/* On every source for which a peer's published or stock prediction of the speed is at hand, ours is
 * closer on the same runs. */
static void test_closer_than_peers(void **state)
{
    (void)state;
    struct json_object *peers = json_at(root, "summary.peers");
    int judged = 0;
    for (size_t i = 0; i < json_object_array_length(peers); i++) {
        struct json_object *peer = json_object_array_get_idx(peers, i);
        if (strcmp(json_text(peer, "quantity"), "speed") == 0) {
            assert_true(json_number(peer, "ours") < json_number(peer, "mean"));
            judged++;
        }
    }
    assert_true(judged >= 4);
}

/* A folder stands for its tables; one with other models' predictions alone has nothing to compare.
 */
static void test_folders(void **state)
{
    (void)state;
    char line[512];
    const char *path = command_file("peers.yaml", "- row_id: \"a\"\n  peer: \"b\"\n"
                                                  "  step_error_pct: -3\n");
    (void)snprintf(line, sizeof line, "validate --json %.*s", (int)(strrchr(path, '/') - path),
                   path);
    struct command_result result = command_run(line);
    assert_int_equal(result.status, 0);
    struct json_object *answer = command_json(&result);
    assert_int_equal(json_object_array_length(json_at(answer, "summary.peers")), 0);
    json_object_put(answer);
    command_free(&result);
}

/* Each row tells what it is about; error is predicted / measured - 1. */
static void test_rows(void **state)
{
    (void)state;
    struct json_object *rows = json_at(root, "rows");
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);
        const double predicted = json_number(row, "predicted");
        assert_true(strlen(json_text(row, "id")) > 0);
        assert_true(predicted > 0.0);
        if (json_object_get_type(json_at(row, "measured")) != json_type_null) {
            const double error = predicted / json_number(row, "measured") - 1.0;
            const double difference = error - json_number(row, "error");
            assert_true(difference < 1e-4 && difference > -1e-4);
        }
    }
}

/* A broken table is a located fault and status 2. */
static void test_broken_table(void **state)
{
    (void)state;
    char line[512];
    const char *path = command_file("broken.yaml", "- id: \"x\"\n  model: {layers: many}\n"
                                                   "  platform: {device: \"h100\"}\n"
                                                   "  measured: {step_time_s: 1}\n");
    (void)snprintf(line, sizeof line, "validate %s", path);
    struct command_result result = command_run(line);
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "broken.yaml:2:19"));
    command_free(&result);
}

/* A record that leaves out what a prediction needs is skipped with its reason, whatever is missing.
 */
static void test_incomplete_records(void **state)
{
    (void)state;
    static const char *const field[] = {"layers", "hidden", "ffn", "heads", "vocab", "seq"};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        char text[1024];
        char line[512];
        int used = snprintf(text, sizeof text,
                            "- id: \"x\"\n  kind: measured\n  scored: full\n  model: {");
        for (size_t j = 0; j < sizeof field / sizeof *field; j++) {
            used += snprintf(text + used, sizeof text - (size_t)used, "%s: %d, ", field[j],
                             i == j ? 0 : 64);
        }
        (void)snprintf(text + used, sizeof text - (size_t)used,
                       "kv_heads: null}\n  platform: {device: \"h100-sxm-80gb\"}\n  gpus: 8\n"
                       "  dp: 8\n  global_batch: 8\n  measured: {step_time_s: 1}\n");
        (void)snprintf(line, sizeof line, "validate --json %s",
                       command_file("incomplete.yaml", text));
        struct command_result result = command_run(line);
        assert_int_equal(result.status, 0);
        assert_non_null(strstr(result.err, field[i]));
        struct json_object *answer = command_json(&result);
        assert_int_equal(json_number(answer, "summary.skipped"), 1);
        json_object_put(answer);
        command_free(&result);
    }
}

/* What cannot be predicted is said to be so, in the run's own words, and not predicted as something
 * else. */
static void test_refused_runs(void **state)
{
    (void)state;
    static const struct {
        const char *platform, *degrees, *notes, *reason;
    } refused[] = {
        {"h100-sxm-80gb", "dp: 8", "LoRA rank 16", "adapters"},
        {"h100-sxm-80gb", "dp: 8\n  zero: 2", "ZeRO-Offload to CPU", "host's memory"},
        {"h100-sxm-80gb", "tp: 3\n  dp: 2", "", "heads"},
        {"h100-sxm-80gb", "pp: 16\n  dp: 8", "", "more than the 8 devices"},
        {"h100-sxm-80gb", "dp: 8\n  ep: 4", "", "no experts"},
        {"abacus", "dp: 8", "", "abacus"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[1024];
        char line[512];
        (void)snprintf(text, sizeof text,
                       "- id: \"x\"\n  kind: measured\n  scored: full\n  model: {layers: 32, "
                       "hidden: 4096, ffn: 11008, heads: 32, kv_heads: 32, vocab: 32000, seq: "
                       "4096}\n  platform: {device: \"%s\"}\n  gpus: 8\n  %s\n  global_batch: 64\n"
                       "  precision: \"bf16\"\n  measured: {step_time_s: 1}\n  notes: \"%s\"\n",
                       refused[i].platform, refused[i].degrees, refused[i].notes);
        (void)snprintf(line, sizeof line, "validate --json %s", command_file("refused.yaml", text));
        struct command_result result = command_run(line);
        assert_int_equal(result.status, 0);
        if (!strstr(result.err, refused[i].reason)) {
            fail_msg("'%s' does not say '%s'", result.err, refused[i].reason);
        }
        struct json_object *answer = command_json(&result);
        assert_int_equal(json_number(answer, "summary.skipped"), 1);
        json_object_put(answer);
        command_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_speed),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_feasibility),
        cmocka_unit_test(test_korthikanti),
        cmocka_unit_test(test_closer_than_peers),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_broken_table),
        cmocka_unit_test(test_incomplete_records),
        cmocka_unit_test(test_refused_runs),
    };
    return cmocka_run_group_tests_name("validate", tests, run_once, put);
}
