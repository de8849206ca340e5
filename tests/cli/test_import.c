/* nest import from outside: what it prints goes straight into the other commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

static const char *const tree = "SwitchName=leaf1 Nodes=n[1-4]\nSwitchName=leaf2 Nodes=n[5-8]\n"
                                "SwitchName=spine Switches=leaf[1-2]\n";

static void a_slurm_file_becomes_a_cluster(void **state)
{
    (void)state;
    struct command_result imported =
        command_run_with_input("import --from slurm --gpus-per-node 4 --device a100 -", tree);
    assert_int_equal(imported.status, 0);
    assert_string_equal(imported.err, "");
    const char *path = command_file("cluster.yaml", imported.out);
    command_free(&imported);
    char line[4096];
    (void)snprintf(line, sizeof line, "check %s", path);
    struct command_result checked = command_run(line);
    assert_int_equal(checked.status, 0);
    command_free(&checked);
    (void)snprintf(line, sizeof line, "show --json %s", path);
    struct command_result shown = command_run(line);
    struct json_object *root = command_json(&shown);
    assert_true(json_number(root, "devices") == 32);
    assert_true(json_number(root, "levels[0].fanout") == 4);
    assert_true(json_number(root, "levels[0].bandwidth") == 300e9);
    assert_true(json_number(root, "levels[2].fanout") == 2);
    json_object_put(root);
    command_free(&shown);
}

static void a_configuration_becomes_a_model(void **state)
{
    (void)state;
    struct command_result imported = command_run("import --from hf tests/data/import/config.json");
    assert_int_equal(imported.status, 0);
    const char *path = command_file("model.yaml", imported.out);
    command_free(&imported);
    char line[4096];
    (void)snprintf(line, sizeof line, "show --json %s", path);
    struct command_result shown = command_run(line);
    struct json_object *root = command_json(&shown);
    assert_true(json_number(root, "params") > json_number(root, "active_params"));
    json_object_put(root);
    command_free(&shown);
}

static void a_solver_input_can_be_solved(void **state)
{
    (void)state;
    struct command_result imported =
        command_run("import --from nest tests/data/import/solver.json");
    assert_int_equal(imported.status, 0);
    const char *path = command_file("scenario.yaml", imported.out);
    command_free(&imported);
    char line[4096];
    (void)snprintf(line, sizeof line, "solve --json --scenario %s", path);
    struct command_result solved = command_run(line);
    assert_int_equal(solved.status, 0);
    struct json_object *root = command_json(&solved);
    /* Four layers' worth of work at 15 ms a sequence, 16 sequences on at most 4 devices. */
    assert_true(json_number(root, "step_time_s") >= 16 * 0.013 / 4);
    json_object_put(root);
    command_free(&solved);
}

static void a_slice_may_stand_for_a_file(void **state)
{
    (void)state;
    struct command_result imported = command_run("import --from tpu v5p-32");
    assert_int_equal(imported.status, 0);
    assert_non_null(strstr(imported.out, "shape: 2x2x4, wrap: false"));
    command_free(&imported);
}

static void wrong_use_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } wrong[] = {
        {"import tests/data/import/tree.conf", "--from FORMAT is missing"},
        {"import --from cobol tests/data/import/tree.conf", "unknown format 'cobol'"},
        {"import --from slurm nowhere.conf", "nowhere.conf"},
        {"import --from slurm --gpus-per-node 8 --node hgx-h100-8 tests/data/import/tree.conf",
         "--node already says how many devices a host has"},
        {"import --from slurm --gpus-per-node 0 tests/data/import/tree.conf", "gpus-per-node"},
        {"import --from tpu tests/data/import/tree.conf tests/data/import/ring.conf",
         "format tpu takes one file, not 2"},
        {"import --from slurm tests/data/import/tree.conf tests/data/import/ring.conf",
         "rings beside switches or blocks"},
        {"import --from slurm tests/data/import/matrix.txt", "matrix.txt:1:1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct command_result result = command_run(wrong[i].line);
        if (result.status != 2 || !strstr(result.err, wrong[i].message) || *result.out) {
            fail_msg("nest %s: status %d\n%s", wrong[i].line, result.status, result.err);
        }
        command_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slurm_file_becomes_a_cluster),
        cmocka_unit_test(a_configuration_becomes_a_model),
        cmocka_unit_test(a_solver_input_can_be_solved),
        cmocka_unit_test(a_slice_may_stand_for_a_file),
        cmocka_unit_test(wrong_use_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
