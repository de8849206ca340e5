/* A model that branches, from file to plan and back, through the commands. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

#define TOWERS "tests/data/models/two-towers.yaml"
#define SMALL  "--model " TOWERS " --cluster hgx-h100-8 --set global_batch=64"

static void is_checked_and_shown(void **state)
{
    (void)state;
    struct command_result ran = shell_run("check " TOWERS);
    assert_status(&ran, 0);
    command_free(&ran);
    ran = shell_run("show " TOWERS);
    assert_status(&ran, 0);
    assert_contains(ran.out, "a source");
    assert_contains(ran.out, "after 24 37");
    command_free(&ran);
    ran = shell_run("show " TOWERS " --json");
    json_object *root = command_json(&ran);
    /* 25 layers beside 13, and the join. */
    assert_int_equal(json_number(root, "downsets"), 26 * 14 + 1);
    assert_int_equal(json_object_array_length(json_at(root, "edges")), 24 + 1 + 12 + 1);
    json_object_put(root);
    command_free(&ran);
}

/* Every layer is in one stage, and no stage is before one that feeds it. */
static void assert_order(json_object *root)
{
    int stage_of[39];
    memset(stage_of, -1, sizeof stage_of);
    json_object *stages = json_at(root, "plan.stages");
    const int count = (int)json_object_array_length(stages);
    for (int i = 0; i < count; i++) {
        json_object *ranges = json_at(json_object_array_get_idx(stages, (size_t)i), "layers");
        for (size_t r = 0; r < json_object_array_length(ranges); r++) {
            json_object *range = json_object_array_get_idx(ranges, r);
            const int low = json_object_get_int(json_object_array_get_idx(range, 0));
            const int high = json_object_get_int(json_object_array_get_idx(range, 1));
            for (int layer = low; layer <= high; layer++) {
                assert_int_equal(stage_of[layer], -1);
                stage_of[layer] = i;
            }
        }
    }
    for (int layer = 0; layer < 39; layer++) {
        assert_true(stage_of[layer] >= 0);
        assert_true(layer == 0 || layer == 25 || stage_of[layer] >= stage_of[layer - 1]);
    }
    assert_true(stage_of[38] >= stage_of[24]);
}

static void is_solved_and_evaluated_to_the_same_step(void **state)
{
    (void)state;
    struct command_result solved =
        shell_run("solve " SMALL " --pin tp=1,pp=4 --json | tee $DIR/plan.json");
    assert_status(&solved, 0);
    json_object *plan = command_json(&solved);
    assert_order(plan);
    struct command_result again = shell_run("eval " SMALL " --plan $DIR/plan.json --json");
    assert_status(&again, 0);
    json_object *priced = command_json(&again);
    assert_true(json_number(plan, "step_time_s") == json_number(priced, "step_time_s"));
    json_object_put(plan);
    json_object_put(priced);
    command_free(&solved);
    command_free(&again);
}

static void is_reported_explained_and_compared(void **state)
{
    (void)state;
    struct command_result ran = shell_run("solve " SMALL " --pin tp=1,pp=4");
    assert_status(&ran, 0);
    assert_contains(ran.out, "Stages");
    command_free(&ran);
    ran = shell_run("eval " SMALL " --pin tp=1,pp=4 --explain");
    assert_status(&ran, 0);
    assert_contains(ran.out, "image");
    command_free(&ran);
    ran = shell_run("compare " SMALL " --pin pp=2");
    assert_true(ran.status == 0 || ran.status == 1);
    assert_contains(ran.out, "Manual");
    command_free(&ran);
    ran = shell_run("export --to dot " SMALL " --pin tp=1,pp=2");
    assert_status(&ran, 0);
    assert_contains(ran.out, "s0 -> s1");
    command_free(&ran);
}

/* What is said of a plan whose stages are none of this graph. */
static void refuses_plans_that_are_not_of_the_graph(void **state)
{
    (void)state;
    static const char *const stages[][2] = {
        {"[[0, 37]]}, {layers: [[37, 38]]}", "stage 1 holds a layer that an earlier stage holds"},
        {"[[5, 30]]}, {layers: [[0, 4], [31, 38]]}", "whose inputs come later"},
        {"[[0, 24]]}, {layers: [[25, 37]]}", "do not hold all of the model's 39 layers"},
    };
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "{tp: 1, pp: 2, dp: 1, zero: 0, stages: [{layers: %s]}",
                       stages[i][0]);
        const char *path = command_file("bad.yaml", text);
        struct command_result ran = shell_run("eval " SMALL " --plan %s", path);
        assert_status(&ran, 1);
        assert_contains(ran.err, stages[i][1]);
        command_free(&ran);
    }
}

static void refuses_what_cannot_be(void **state)
{
    (void)state;
    struct command_result ran = shell_run("eval " SMALL " --pin tp=1,pp=2,virtual_stages=2");
    assert_status(&ran, 1);
    assert_contains(ran.err, "this model is a graph");
    command_free(&ran);
    ran = shell_run("export --to megatron --model llava-1.5-7b --pin tp=2,pp=2");
    assert_status(&ran, 1);
    assert_contains(ran.err, "has no flags for a model that branches");
    command_free(&ran);
    /* Twelve text layers become 200: more downsets than are looked at. */
    ran = shell_run("show " TOWERS " >/dev/null && sed 's/times: 12/times: 200/' " TOWERS
                    " >$DIR/wide.yaml && \"$NEST\" check $DIR/wide.yaml");
    assert_status(&ran, 2);
    assert_contains(ran.err, "wide.yaml:6:3: graph: the graph has more than 4096 downsets");
    assert_contains(ran.err, "2 lie side by side");
    command_free(&ran);
    /* So is a scenario's own model. */
    ran =
        shell_run("show " TOWERS " >/dev/null && (echo cluster: hgx-h100-8 && echo model: && "
                  "sed 's/^/  /' $DIR/wide.yaml) >$DIR/own.yaml && \"$NEST\" check $DIR/own.yaml");
    assert_status(&ran, 2);
    assert_contains(ran.err, "the graph has more than 4096 downsets");
    command_free(&ran);
}

/* Stages of an image tower may be others than those of the trunk. */
static void a_tower_is_cut_apart_from_the_trunk(void **state)
{
    (void)state;
    struct command_result ran = shell_run(
        "eval --model llava-1.5-7b --cluster hgx-h100-8 --set global_batch=64 --plan %s --json",
        command_file("tower.yaml", "{tp: 1, pp: 3, dp: 1, zero: 0, stages: [{layers: [[1, 20]]}, "
                                   "{layers: [[0, 0], [21, 40]], recompute: full}, "
                                   "{layers: [[41, 59]], recompute: full}]}"));
    assert_true(ran.status == 0 || ran.status == 1); /* whether it fits or not, it is priced */
    json_object *root = command_json(&ran);
    assert_true(json_number(root, "step_time_s") > 0);
    assert_true(json_number(root, "memory[0].weights") < json_number(root, "memory[1].weights"));
    json_object_put(root);
    command_free(&ran);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_checked_and_shown),
        cmocka_unit_test(is_solved_and_evaluated_to_the_same_step),
        cmocka_unit_test(is_reported_explained_and_compared),
        cmocka_unit_test(refuses_plans_that_are_not_of_the_graph),
        cmocka_unit_test(refuses_what_cannot_be),
        cmocka_unit_test(a_tower_is_cut_apart_from_the_trunk),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
