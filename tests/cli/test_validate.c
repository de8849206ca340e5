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

/* Step time, or the rate where only that is printed: mean error at most 10%, 90th percentile 20%.
 */
static void test_speed(void **state)
{
    (void)state;
    assert_true(figure("full", "rows") >= 300);
    assert_true(figure("full", "mean") <= 0.10);
    assert_true(figure("full", "p90") <= 0.20);
}

static void test_memory(void **state)
{
    (void)state;
    assert_true(figure("memory", "rows") >= 30);
    assert_true(figure("memory", "mean") <= 0.08);
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

/* Mean absolute error of a peer's own published or stock prediction of the same rows: Calculon
 * (SC23) 4.3%, SimuMax 1.2 6.0%. */
static void test_closer_than_peers(void **state)
{
    (void)state;
    assert_true(figure("by_source.korthikanti2022", "mean") < 0.043);
    assert_true(figure("by_source.simumax-b200", "mean") < 0.060);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_speed),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_feasibility),
        cmocka_unit_test(test_korthikanti),
        cmocka_unit_test(test_closer_than_peers),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_broken_table),
        cmocka_unit_test(test_incomplete_records),
    };
    return cmocka_run_group_tests_name("validate", tests, run_once, put);
}
