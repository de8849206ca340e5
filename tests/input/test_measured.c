/* Files of measured times: how tables may look, what is wrong with broken ones, and where the times
 * go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/measured.h"
#include "support/command.h"
#include "support/input.h"
#include "support/seed.h"

/* A scenario of a small model of 4 blocks whose measured times are this text. */
static enum nest_status load(struct test_input *input, const char *name, const char *text,
                             struct nest_scenario_spec *scenario)
{
    static const char *const model =
        "name: small\nlayers: 4\nhidden: 64\nffn: 128\nheads: 4\nvocab: 100\nseq: 32\n";
    const struct nest_scenario_request request = {
        .model = command_file("small.yaml", model),
        .profile = command_file(name, text),
    };
    return nest_load_scenario(&input->library, &request, &input->arena, scenario, &input->errors);
}

static struct nest_model expand(struct test_input *input, const struct nest_scenario_spec *scenario)
{
    struct nest_model model;
    assert_int_equal(nest_model_expand(&scenario->model, &input->arena, &model, &input->errors),
                     NEST_OK);
    return model;
}

static const struct nest_measured_time *time_of(const struct nest_model *model, int layer,
                                                int64_t tp, int64_t micro_batch)
{
    return nest_measured_at(&model->kind[model->kind_of[layer]], tp, micro_batch);
}

/* Order, names and units of the columns, comments, separators, quotes. */
static void tables_may_look_as_profilers_write_them(void **state)
{
    (void)state;
    static const char *const tables[] = {
        "layer,tp,micro_batch,fw_ms,bw_ms\nblock,2,1,1.5,3\n",
        "# nsys\nbw (us);fw (us);TP;Layer\n\n3000;1500;2;blocks\n",
        "Layer\tForward time [ms]\tBackward time [ms]\ttp size\n1-4\t1.5\t3\t2\n",
        "name,fwd,bwd,tp,mbs,seq_len\n\"1..4\",1.5ms,3000us,2,1,32\n",
        "- {layer: block, tp: 2, fw: 1.5ms, bw: 3ms}\n",
        ("measured:\n  - {layer: 1-2, tp: 2, fw: 1.5ms, bw: 3ms}\n"
         "  - {layer: 3-4, tp: 2, seq: 32, micro_batch: 1, fw: 1500us, bw: 3ms}\n"),
    };
    struct test_input input;
    test_input_begin(&input);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct nest_scenario_spec scenario;
        if (load(&input, "times.csv", tables[i], &scenario) != NEST_OK) {
            fail_msg("%s%s", tables[i], test_input_faults(&input));
        }
        const struct nest_model model = expand(&input, &scenario);
        assert_int_equal(nest_measured_layers(&model, 2), 4);
        assert_int_equal(nest_measured_layers(&model, 1), 0);
        assert_int_equal(model.runs, 3);
        assert_true(time_of(&model, 1, 2, 1)->fw == 1.5e-3);
        assert_true(time_of(&model, 4, 2, 1)->bw == 3e-3);
        assert_null(time_of(&model, 0, 2, 1));
    }
    test_input_end(&input);
}

/* A layer's own row goes before that of every block; layers measured unlike are kinds of their own;
 * the micro batch below is the nearest. */
static void rows_go_to_their_layers(void **state)
{
    (void)state;
    struct test_input input;
    struct nest_scenario_spec scenario;
    test_input_begin(&input);
    assert_int_equal(load(&input, "times.csv",
                          "layer,tp,micro_batch,fw_ms,bw_ms\nblock,1,1,10,20\n3,1,1,11,21\n"
                          "block,1,4,30,60\nembedding,1,1,1,2\n5,1,1,4,5\n",
                          &scenario),
                     NEST_OK);
    const struct nest_model model = expand(&input, &scenario);
    assert_int_equal(nest_measured_layers(&model, 1), 6);
    assert_true(time_of(&model, 0, 1, 1)->fw == 1e-3);
    assert_true(time_of(&model, 2, 1, 1)->fw == 10e-3);
    assert_true(time_of(&model, 3, 1, 1)->fw == 11e-3);
    assert_true(time_of(&model, 3, 1, 2)->fw == 11e-3);
    assert_true(time_of(&model, 3, 1, 8)->fw == 30e-3);
    assert_true(time_of(&model, 5, 1, 1)->bw == 5e-3);
    assert_int_equal(model.kind_of[1], model.kind_of[4]);
    assert_int_not_equal(model.kind_of[1], model.kind_of[3]);
    assert_int_equal(model.runs, 5);
    test_input_end(&input);
}

/* An edit that changes what a layer is leaves the measured times behind; one of the depth does
 * not. */
static void edits_of_the_shape_end_measured_times(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value;
        int layers;
    } edits[] = {{"model.layers", "8", 9}, {"model.seq", "64", 0},  {"model.seq", "32", 9},
                 {"model.ffn", "256", 0},  {"model.ffn", "128", 9}, {"train.global_batch", "8", 9},
                 {"model.vocab", "50", 0}};
    struct test_input input;
    struct nest_scenario_spec scenario;
    test_input_begin(&input);
    assert_int_equal(
        load(&input, "times.csv", "layer,fw_ms,bw_ms\nblock,10,20\nhead,1,1\n", &scenario),
        NEST_OK);
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        const struct nest_mark here = {NULL, 0, 0};
        assert_int_equal(
            nest_set(&scenario, edits[i].path, edits[i].value, here, &input.arena, &input.errors),
            NEST_OK);
        const struct nest_model model = expand(&input, &scenario);
        assert_int_equal(nest_measured_layers(&model, 1), edits[i].layers);
    }
    test_input_end(&input);
}

static void a_scenario_keeps_its_file_of_times(void **state)
{
    (void)state;
    struct test_input input;
    struct nest_scenario_spec scenario, again;
    test_input_begin(&input);
    assert_int_equal(load(&input, "times.csv", "layer,fw_ms,bw_ms\nblock,10,20\n", &scenario),
                     NEST_OK);
    const char *text = test_input_written(&input, &scenario);
    assert_non_null(strstr(text, "profile: "));
    assert_int_equal(test_input_scenario(&input, text, &again), NEST_OK);
    assert_int_equal(again.model.measurements, 1);
    assert_string_equal(test_input_written(&input, &again), text);
    test_input_end(&input);
}

static void a_model_file_may_name_its_times(void **state)
{
    (void)state;
    struct test_input input;
    struct nest_model_spec model;
    test_input_begin(&input);
    (void)command_file("own.csv", "layer,fw_ms,bw_ms\nblock,10,20\n");
    const char *path =
        command_file("own.yaml", "layers: 2\nhidden: 64\nffn: 128\nheads: 4\nvocab: 100\n"
                                 "seq: 32\nprofile: own.csv\n");
    assert_int_equal(nest_load_model(&input.library, path, &input.arena, &model, &input.errors),
                     NEST_OK);
    assert_int_equal(model.measurements, 1);
    assert_true(model.measured_own);
    test_input_end(&input);
}

static const struct {
    const char *text, *faults;
} broken[] = {
    {"layer,tp,fw_ms,bw_ms\nblok,1,1,2\n",
     "1: layer 'blok': there is no such layer; expected embedding, block, head, a number from 0 "
     "(embedding) to 5 (head), or a range 1-4\n"},
    {"layer,tp,fw_ms,bw_ms\n6,1,1,2\n",
     "1: layer '6': there is no such layer; expected embedding, block, head, a number from 0 "
     "(embedding) to 5 (head), or a range 1-4\n"},
    {"layer,tp,fw_ms,bw_ms\n4-2,1,1,2\n",
     "1: layer '4-2': the range runs backwards; expected embedding, block, head, a number from 0 "
     "(embedding) to 5 (head), or a range 1-4\n"},
    {"layer,tp,fw_ms,bw_ms\n0-2,1,1,2\n",
     "1: layer '0-2': a range holds blocks only; expected embedding, block, head, a number from 0 "
     "(embedding) to 5 (head), or a range 1-4\n"},
    {"layer,tp,fw_ms,bw_ms\nblock,1,-1,2\n", "9: fw_ms: -1 is no time; from 0 to a day\n"},
    {"layer,tp,fw_ms,bw_ms\nblock,1,1,fast\n",
     "11: bw_ms: not a number; expected a time, such as 1.2us or 3ms\n"},
    {"layer,tp,fw_ms,bw_ms\nblock,0,1,2\n", "7: tp: '0' is none; a whole number from 1\n"},
    {"layer,tp,fw_ms,bw_ms\nblock,two,nan,2\n",
     "7: tp: 'two' is none; a whole number from 1\n"
     "11: fw_ms: not a number; expected a time, such as 1.2us or 3ms\n"},
    {"layer,tp,fw,bw\nblock,1,1,2\n",
     "9: fw: a time without a unit; name the unit in the column's head, such as fw_ms, or in the "
     "cell: 1.2ms\n"
     "11: bw: a time without a unit; name the unit in the column's head, such as fw_ms, or in the "
     "cell: 1.2ms\n"},
    {"tp,fw_ms,bw_ms\n1,1,2\n", "1: no column 'layer'; such as layer,tp,micro_batch,fw_ms,bw_ms\n"},
    {"layer,tp,fw_ms\nblock,1,2\n",
     "1: no column 'bw'; such as layer,tp,micro_batch,fw_ms,bw_ms\n"},
    {"layer,tp,fw_ms,bw_ms\n", "no measured layers\n"},
    {"layer,tp,fw_ms,bw_ms\nblock,1,1\n", "1: 3 cells under 4 columns\n"},
    {"layer,tp,fw_ms,bw_ms\n1-3,1,1,2\n2,1,1,2\n",
     "1: these layers are measured at tp 1 in line 2 already; give it once\n"},
    {"layer,tp,fw_ms,bw_ms\nblock,1,1,2\nblock,1,1,2\n",
     "1: these layers are measured at tp 1 in line 2 already; give it once\n"},
    {"- {layer: block, tp: 1, fw: 1ms}\n",
     "3: [0]: a measured layer has no 'bw'; expected a time, such as 1.2us or 3ms\n"},
    {"- {layer: blok, fw: 1ms, bw: -1ms}\n",
     "11: [0].layer: layer 'blok': there is no such layer; "
     "expected embedding, block, head, a number "
     "from 0 (embedding) to 5 (head), or a range 1-4\n"
     "30: [0].bw: '-1ms' is too small; expected 0s to 100000s\n"},
};

/* "FILE:LINE:COLUMN: …" of every line → "COLUMN: …", so that cases stay readable. */
static void assert_faults(struct test_input *input, const char *text, const char *expected)
{
    const char *said = test_input_faults(input);
    struct nest_strbuf shown = NEST_STRBUF_INIT(1 << 16);
    for (const char *line = said; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *name = strstr(line, "times.csv:");
        assert_non_null(name);
        const char *rest = name + strlen("times.csv:");
        rest += strspn(rest, "0123456789");
        rest += strspn(rest, ": ");
        nest_strbuf_add_bytes(&shown, rest, strcspn(rest, "\n") + 1);
    }
    if (strcmp(nest_strbuf_text(&shown), expected) != 0) {
        fail_msg("%s\nexpected: %s\nsaid: %s", text, expected, nest_strbuf_text(&shown));
    }
    nest_strbuf_free(&shown);
}

static void broken_files_say_what_is_wrong(void **state)
{
    (void)state;
    struct test_input input;
    test_input_begin(&input);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct nest_scenario_spec scenario;
        assert_int_equal(load(&input, "times.csv", broken[i].text, &scenario), NEST_BAD_INPUT);
        assert_faults(&input, broken[i].text, broken[i].faults);
        test_input_clear(&input);
    }
    test_input_end(&input);
}

/* Bytes changed at random: the file loads, or there is a fault; never anything else. */
static void damaged_files_load_or_are_refused(void **state)
{
    (void)state;
    static const char *const tables[] = {
        "layer,tp,micro_batch,seq,fw_ms,bw_ms\nblock,2,1,32,1.5,3\n1-3,1,1,32,2,4\n0,1,1,32,1,1\n",
        "- {layer: block, tp: 2, fw: 1.5ms, bw: 3ms}\n- {layer: 5, seq: 32, fw: 1us, bw: 0s}\n"};
    static const char letters[] = ",;-.:{}[]#\n\"'0159emsx \t\xff";
    uint64_t random = test_seed();
    struct test_input input;
    test_input_begin(&input);
    for (int i = 0; i < test_instances(400); i++) {
        char text[256];
        struct nest_scenario_spec scenario;
        (void)snprintf(text, sizeof text, "%s", tables[i % 2]);
        for (int change = 0; change < 1 + i % 4; change++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[(random >> 33) % strlen(tables[i % 2])] =
                letters[(random >> 20) % (sizeof letters - 1)];
        }
        const enum nest_status status = load(&input, "times.csv", text, &scenario);
        if ((status == NEST_OK) == (input.errors.count > 0) ||
            (status != NEST_OK && status != NEST_BAD_INPUT)) {
            fail_msg("status %d with %zu faults:\n%s", (int)status, input.errors.count, text);
        }
        if (status == NEST_OK) {
            (void)expand(&input, &scenario);
        }
        test_input_clear(&input);
    }
    test_input_end(&input);
}

static void a_missing_file_is_told_where_it_was_named(void **state)
{
    (void)state;
    struct command_result result = command_run("eval --profile nowhere.csv");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "there is no file 'nowhere.csv' of measured times"));
    command_free(&result);
}

/* What the commands say of them: the report, --json, --explain. */
static void commands_say_what_is_measured(void **state)
{
    (void)state;
    char line[512];
    const char *path = command_file("times.csv", "layer,tp,fw_ms,bw_ms\nblock,8,10,20\n");
    (void)snprintf(line, sizeof line, "eval --pin tp=8,pp=8,zero=1 --explain --profile %s", path);
    struct command_result result = command_run(line);
    assert_non_null(
        strstr(result.out, "times of 80 of 82 layers are measured at tp 8, the others computed"));
    assert_non_null(strstr(result.out, "measured at tp 8, micro batch 1"));
    command_free(&result);
    (void)snprintf(line, sizeof line, "eval --pin tp=8,pp=8,zero=1 --json --profile %s", path);
    result = command_run(line);
    struct json_object *root = command_json(&result);
    assert_true(json_number(root, "measured.layers") == 80);
    assert_true(json_number(root, "measured.of") == 82);
    /* 10 blocks a stage at 30 ms and nothing hides tensor-parallel time below zero. */
    assert_true(json_number(root, "plan.stages[1].load_s") > 0.3);
    json_object_put(root);
    command_free(&result);
    (void)snprintf(line, sizeof line, "eval --pin tp=4,pp=8,zero=1 --profile %s", path);
    result = command_run(line);
    assert_non_null(strstr(result.out, "no layer is measured at tp 4 and 8192 tokens (tp 8 are)"));
    command_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_may_look_as_profilers_write_them),
        cmocka_unit_test(rows_go_to_their_layers),
        cmocka_unit_test(edits_of_the_shape_end_measured_times),
        cmocka_unit_test(a_scenario_keeps_its_file_of_times),
        cmocka_unit_test(a_model_file_may_name_its_times),
        cmocka_unit_test(broken_files_say_what_is_wrong),
        cmocka_unit_test(damaged_files_load_or_are_refused),
        cmocka_unit_test(a_missing_file_is_told_where_it_was_named),
        cmocka_unit_test(commands_say_what_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
