/* The commands from outside: output, exit status, messages. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

#define LLAMA "--model llama3-70b --cluster h100-spine-leaf"
#define SMALL "--model llama3-8b --cluster hgx-h100-8 --set global_batch=64"

static const char *const memory_terms[] = {"weights", "gradients", "optimizer", "activations",
                                           "other"};

/* Step time and memory are the sums of what is told to make them up. */
static void assert_sums(json_object *root)
{
    double sum = 0;
    json_object_object_foreach(json_at(root, "breakdown_s"), part, time)
    {
        assert_true(json_object_get_double(time) >= 0);
        (void)part;
        sum += json_object_get_double(time);
    }
    const double step = json_number(root, "step_time_s");
    assert_true(step > 0);
    assert_true(fabs(sum - step) <= 1e-9 * step);
    json_object *memory = json_at(root, "memory");
    for (size_t i = 0; i < json_object_array_length(memory); i++) {
        json_object *stage = json_object_array_get_idx(memory, i);
        int64_t total = 0;
        for (size_t k = 0; k < sizeof memory_terms / sizeof memory_terms[0]; k++) {
            total += json_object_get_int64(json_at(stage, memory_terms[k]));
        }
        assert_int_equal(total, json_object_get_int64(json_at(stage, "total")));
        int64_t other = 0;
        json_object_object_foreach(json_at(stage, "other_terms"), term, bytes)
        {
            (void)term;
            other += json_object_get_int64(bytes);
        }
        assert_int_equal(other, json_object_get_int64(json_at(stage, "other")));
    }
}

static void assert_within_limit(json_object *root)
{
    json_object *memory = json_at(root, "memory");
    for (size_t i = 0; i < json_object_array_length(memory); i++) {
        json_object *stage = json_object_array_get_idx(memory, i);
        assert_true(json_number(stage, "total") <= json_number(stage, "limit"));
    }
}

static void test_solve_json(void **state)
{
    (void)state;
    struct command_result ran = shell_run("solve " LLAMA " --json");
    assert_status(&ran, 0);
    assert_string_equal(ran.err, "");
    json_object *root = command_json(&ran);
    assert_true(json_object_get_boolean(json_at(root, "feasible")));
    assert_string_equal(json_object_get_string(json_at(root, "model")), "llama3-70b");
    assert_string_equal(json_object_get_string(json_at(root, "cluster")), "h100-spine-leaf");
    assert_int_equal(json_number(root, "devices"), 1024);
    assert_true(json_number(root, "plan.tp") <= 8); /* tp stays inside the node */
    assert_sums(root);
    assert_within_limit(root);
    assert_int_equal(json_object_array_length(json_at(root, "plan.stages")),
                     json_number(root, "plan.pp"));
    assert_int_equal(json_object_array_length(json_at(root, "memory")),
                     json_number(root, "plan.pp"));
    json_object_put(root);
    command_free(&ran);
}

/* The keys of DESIGN's document, in its order. */
static void test_key_order(void **state)
{
    (void)state;
    static const char *const key[] = {
        "\"schema\"",      "\"model\"",        "\"cluster\"",
        "\"devices\"",     "\"devices_used\"", "\"feasible\"",
        "\"step_time_s\"", "\"tokens_per_s\"", "\"tflops_per_device\"",
        "\"mfu\"",         "\"breakdown_s\"",  "\"plan\"",
        "\"memory\"",      "\"search\""};
    struct command_result ran = shell_run("solve " LLAMA " --json");
    assert_status(&ran, 0);
    const char *at = ran.out;
    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++) {
        const char *found = strstr(at, key[i]);
        if (found == NULL) {
            fail_msg("%s is missing or out of order", key[i]);
        }
        at = found;
    }
    assert_null(strstr(ran.out, "nan"));
    assert_null(strstr(ran.out, "inf"));
    command_free(&ran);
}

static const char *const repeated[] = {
    "--model llama3-70b --cluster h100-spine-leaf",
    "--model mixtral-8x7b --cluster dgx-a100-superpod",
    "--model gpt3-175b --cluster tpuv4-fat-tree",
    "--model llama3-8b --cluster hgx-h100-8 --set global_batch=64",
    "--model llama3-70b --cluster h100-spine-leaf --pin order=tp-cp-pp-dp",
    "--model llama3-70b --cluster h100-spine-leaf --set spine.oversubscription=16",
};

/* The plan that solve prints, given back, costs exactly what solve said. */
static void test_eval_repeats_solve(void **state)
{
    (void)state;
    static const char *const same[] = {"step_time_s", "tokens_per_s", "mfu",         "breakdown_s",
                                       "plan",        "memory",       "devices_used"};
    for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++) {
        struct command_result solved =
            shell_run("solve %s --json >\"$DIR/plan.json\" && cat \"$DIR/plan.json\"", repeated[i]);
        assert_status(&solved, 0);
        struct command_result priced =
            shell_run("eval %s --plan \"$DIR/plan.json\" --json", repeated[i]);
        assert_status(&priced, 0);
        json_object *a = command_json(&solved);
        json_object *b = command_json(&priced);
        assert_sums(a);
        assert_within_limit(a);
        for (size_t k = 0; k < sizeof same / sizeof same[0]; k++) {
            assert_string_equal(json_object_to_json_string(json_at(a, same[k])),
                                json_object_to_json_string(json_at(b, same[k])));
        }
        json_object_put(a);
        json_object_put(b);
        command_free(&solved);
        command_free(&priced);
    }
}

static void test_report(void **state)
{
    (void)state;
    static const char *const part[] = {"Llama 3 70B on H100 spine-leaf",
                                       "Plan",
                                       "Stages",
                                       "Memory",
                                       "Step",
                                       "Next best",
                                       "What binds",
                                       "searched"};
    struct command_result ran = shell_run("solve " LLAMA);
    assert_status(&ran, 0);
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        assert_contains(ran.out, part[i]);
    }
    assert_null(strchr(ran.out, '\033'));
    struct command_result colored = shell_run("solve " LLAMA " --color=always");
    assert_non_null(strchr(colored.out, '\033'));
    struct command_result ascii =
        shell_run("--version >/dev/null; LC_ALL=C \"$NEST\" solve " LLAMA);
    for (const char *c = ascii.out; *c != '\0'; c++) {
        assert_true((unsigned char)*c < 0x80);
    }
    command_free(&ran);
    command_free(&colored);
    command_free(&ascii);
}

/* Without a terminal, nest prints what nest solve prints. */
static void test_no_terminal(void **state)
{
    (void)state;
    struct command_result bare = shell_run("--color=never | grep -v '^searched'");
    struct command_result solve = shell_run("solve --color=never | grep -v '^searched'");
    assert_status(&bare, 0);
    assert_string_equal(bare.out, solve.out);
    assert_contains(bare.out, "Llama 3 70B");
    command_free(&bare);
    command_free(&solve);
}

static void test_top(void **state)
{
    (void)state;
    struct command_result ran = shell_run("solve " LLAMA " --top 4 --json");
    assert_status(&ran, 0);
    json_object *root = command_json(&ran);
    json_object *more = json_at(root, "alternatives");
    assert_int_equal(json_object_array_length(more), 3);
    double last = json_number(root, "step_time_s");
    for (size_t i = 0; i < 3; i++) {
        json_object *plan = json_object_array_get_idx(more, i);
        assert_true(json_number(plan, "step_time_s") >= last);
        last = json_number(plan, "step_time_s");
        assert_sums(plan);
    }
    json_object_put(root);
    command_free(&ran);
}

static void test_infeasible(void **state)
{
    (void)state;
    struct command_result ran = shell_run("solve " SMALL " --set memory=2GiB");
    assert_status(&ran, 1);
    assert_contains(ran.err, "no feasible plan");
    assert_string_equal(ran.out, "");
    struct command_result json = shell_run("solve " SMALL " --set memory=2GiB --json");
    assert_status(&json, 1);
    json_object *root = command_json(&json);
    assert_false(json_object_get_boolean(json_at(root, "feasible")));
    assert_true(json_object_array_length(json_at(root, "reasons")) > 0);
    json_object_put(root);
    struct command_result eval = shell_run("eval " LLAMA " --pin tp=1,pp=1 --json");
    assert_status(&eval, 1);
    assert_contains(eval.err, "over the limit");
    root = command_json(&eval);
    assert_false(json_object_get_boolean(json_at(root, "feasible")));
    json_object_put(root);
    struct command_result illegal = shell_run("eval " LLAMA " --pin tp=7");
    assert_status(&illegal, 1);
    assert_contains(illegal.err, "heads");
    command_free(&ran);
    command_free(&json);
    command_free(&eval);
    command_free(&illegal);
}

static void test_assumed(void **state)
{
    (void)state;
    struct command_result ran =
        shell_run("eval " LLAMA " --pin tp=8,pp=4,zero=1,recompute=full --json");
    assert_status(&ran, 0);
    json_object *root = command_json(&ran);
    const char *assumed = json_object_to_json_string(json_at(root, "assumed"));
    assert_contains(assumed, "\"cp\"");
    assert_contains(assumed, "\"order\"");
    assert_null(strstr(assumed, "\"tp\""));
    assert_null(strstr(assumed, "\"recompute\""));
    assert_int_equal(json_number(root, "plan.dp"), 32);
    assert_string_equal(json_object_get_string(json_at(root, "plan.order")), "tp-cp-dp-pp");
    assert_string_equal(json_object_get_string(json_at(root, "plan.stages[3].recompute")), "full");
    json_object_put(root);
    command_free(&ran);
}

static void test_usage(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"slove", "did you mean 'solve'?"},
        {"solve --modle x", "did you mean --model?"},
        {"solve --top", "needs K"},
        {"solve --top 0", "whole number"},
        {"solve --threads none", "whole number"},
        {"solve --color blue", "auto, always or never"},
        {"solve a b", "unexpected argument 'b'"},
        {"check", "nothing given for FILE"},
        {"sweep", "no --vary given"},
        {"sweep --vary tp", "KEY=V1,V2"},
        {"sweep --vary tp=1,,2", "empty value"},
        {"sweep --vary tp=1 --shard 3/2", "I/N"},
        {"export", "no --to given"},
        {"export --to megatrn", "did you mean 'megatron'?"},
        {"help slove", "did you mean 'solve'?"},
        {"completion csh", "bash, zsh or fish"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct command_result ran = shell_run("%s", bad[i].line);
        assert_status(&ran, 2);
        assert_string_equal(ran.out, "");
        assert_contains(ran.err, bad[i].message);
        assert_contains(ran.err, "--help");
        command_free(&ran);
    }
}

static void test_bad_input(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"solve --model llama3-70", "llama3-70b"},
        {"solve --cluster nowhere", "nowhere"},
        {"solve --set spine.bandwith=1GB/s", "bandwidth"},
        {"solve --set spine.bandwidth=fast", "--set:1:"},
        {"solve --pin tpp=8", "--pin:1:"},
        {"solve --scenario /nonexistent.yaml", "nonexistent"},
        {"eval --plan /nonexistent.json", "nonexistent"},
        {"sweep --vary spine.bandwidth=50GB/s,fast", "--vary"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct command_result ran = shell_run("%s", bad[i].line);
        assert_status(&ran, 2);
        assert_string_equal(ran.out, "");
        assert_contains(ran.err, bad[i].message);
        command_free(&ran);
    }
}

static void test_help(void **state)
{
    (void)state;
    static const char *const command[] = {"",       "solve", "eval",  "sweep",
                                          "export", "show",  "check", "completion"};
    for (size_t i = 0; i < sizeof command / sizeof command[0]; i++) {
        struct command_result ran = shell_run("%s --help", command[i]);
        assert_status(&ran, 0);
        assert_string_equal(ran.err, "");
        assert_contains(ran.out, "Usage: nest");
        assert_contains(ran.out, "--help");
        assert_contains(ran.out, "0 done");
        struct command_result other = shell_run("help %s", command[i]);
        assert_string_equal(ran.out, other.out);
        command_free(&ran);
        command_free(&other);
    }
    struct command_result version = shell_run("--version");
    assert_status(&version, 0);
    assert_memory_equal(version.out, "nest ", 5);
    assert_ptr_equal(strchr(version.out, '\n') + 1, version.out + strlen(version.out));
    command_free(&version);
}

static void test_standard_input(void **state)
{
    (void)state;
    (void)command_file("scenario.yaml", "model: llama3-8b\ncluster: hgx-h100-8\n"
                                        "train: {global_batch: 64}\n");
    struct command_result file = shell_run("solve \"$DIR/scenario.yaml\" --json");
    struct command_result input = shell_run("solve - --json <\"$DIR/scenario.yaml\"");
    assert_status(&file, 0);
    assert_status(&input, 0);
    json_object *a = command_json(&file);
    json_object *b = command_json(&input);
    assert_string_equal(json_object_to_json_string(json_at(a, "plan")),
                        json_object_to_json_string(json_at(b, "plan")));
    json_object_put(a);
    json_object_put(b);
    command_free(&file);
    command_free(&input);
}

/* A reader that has seen enough ends the program quietly. */
static void test_closed_pipe(void **state)
{
    (void)state;
    struct command_result ran = shell_run("export --to rankmap " LLAMA " | head -n 1");
    assert_status(&ran, 0);
    assert_string_equal(ran.err, "");
    assert_contains(ran.out, "rank\tdevice");
    command_free(&ran);
}

static void test_check(void **state)
{
    (void)state;
    struct command_result good =
        shell_run("check models/llama3-70b.yaml topologies/h100-spine-leaf.yaml");
    assert_status(&good, 0);
    assert_contains(good.out, "models/llama3-70b.yaml: ok, model\n");
    assert_contains(good.out, "topologies/h100-spine-leaf.yaml: ok, cluster\n");
    (void)command_file("bad.yaml", "name: x\nlayrs: 3\nhidden: wide\n");
    struct command_result bad = shell_run("check models/llama3-70b.yaml \"$DIR/bad.yaml\"");
    assert_status(&bad, 2);
    assert_contains(bad.err, "bad.yaml:2:1:");
    assert_contains(bad.err, "bad.yaml:3:9:");
    assert_contains(bad.out, "llama3-70b.yaml: ok");
    command_free(&good);
    command_free(&bad);
}

static void test_show(void **state)
{
    (void)state;
    struct command_result model = shell_run("show llama3-70b --json");
    assert_status(&model, 0);
    json_object *root = command_json(&model);
    assert_true(fabs(json_number(root, "params") - 70.55e9) < 0.01 * 70.55e9);
    assert_int_equal(json_number(root, "layers"), 80);
    json_object_put(root);
    struct command_result cluster = shell_run("show h100-spine-leaf --json");
    assert_status(&cluster, 0);
    root = command_json(&cluster);
    assert_int_equal(json_number(root, "devices"), 1024);
    assert_int_equal(json_number(root, "levels[0].fanout"), 8);
    assert_true(json_number(root, "levels[0].bandwidth") == 450e9);
    assert_true(json_number(root, "levels[2].oversubscription") >= 1);
    json_object_put(root);
    struct command_result text = shell_run("show h100-spine-leaf");
    assert_contains(text.out, "spine");
    struct command_result none = shell_run("show lama3-70b");
    assert_status(&none, 2);
    assert_contains(none.err, "did you mean 'llama3-70b'?");
    command_free(&model);
    command_free(&cluster);
    command_free(&text);
    command_free(&none);
}

/* What one command writes, the next reads. */
static void test_show_input(void **state)
{
    (void)state;
    struct command_result model = shell_run("show - <models/llama3-8b.yaml");
    struct command_result cluster = shell_run("show - <topologies/hgx-h100-8.yaml");
    struct command_result neither = shell_run("show - </dev/null");
    assert_status(&model, 0);
    assert_contains(model.out, "8.03 B parameters");
    assert_status(&cluster, 0);
    assert_status(&neither, 2);
    command_free(&model);
    command_free(&cluster);
    command_free(&neither);
}

/* An installed binary finds the data beside it, from any folder. */
static void test_installed(void **state)
{
    (void)state;
    struct command_result result = shell_run("--version >/dev/null; unset NEST_DATA; "
                                             "mkdir -p \"$DIR/usr/bin\" \"$DIR/usr/share/nest\" && "
                                             "cp \"$NEST\" \"$DIR/usr/bin/nest\" && "
                                             "cp -R models topologies \"$DIR/usr/share/nest\" && "
                                             "cd / && \"$DIR/usr/bin/nest\" show llama3-8b");
    assert_status(&result, 0);
    assert_contains(result.out, "8.03 B parameters");
    command_free(&result);
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static int count_commas(const char *line)
{
    int commas = 0;
    for (; *line != '\0' && *line != '\n'; line++) {
        commas += *line == ',';
    }
    return commas;
}

static void test_sweep_csv(void **state)
{
    (void)state;
    struct command_result ran =
        shell_run("sweep " SMALL " --vary tp=4,8 --vary memory=2GiB,40GiB,80GiB");
    assert_status(&ran, 0);
    assert_int_equal(count_lines(ran.out), 7);
    assert_memory_equal(ran.out, "tp,memory,feasible,step_time_s,", 31);
    const int columns = count_commas(ran.out);
    for (const char *line = ran.out; *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_int_equal(count_commas(line), columns);
    }
    assert_contains(ran.out, "\n4,2GiB,false,,");
    assert_contains(ran.out, "\n8,80GiB,true,");
    command_free(&ran);
}

/* Names of columns are keys: whatever is varied, each is there once. */
static void test_sweep_columns(void **state)
{
    (void)state;
    static const char *const varied[] = {"tp=4,8",        "pp=2",           "dp=1|2",
                                         "sp=true",       "zero=0,1",       "order=tp-cp-dp-pp",
                                         "micro_batch=1", "recompute=none", "memory=80GiB"};
    for (size_t i = 0; i < sizeof varied / sizeof varied[0]; i++) {
        struct command_result ran = shell_run(
            "sweep " SMALL " --vary '%s' --vary virtual_stages=1 | head -1 | tr , '\\n' | "
            "sort | uniq -d",
            varied[i]);
        assert_string_equal(ran.out, "");
        command_free(&ran);
        ran = shell_run("sweep " SMALL " --vary '%s' --vary virtual_stages=1 | head -1", varied[i]);
        assert_contains(ran.out, ",plan_virtual_stages,");
        assert_memory_equal(ran.out, varied[i], strcspn(varied[i], "="));
        command_free(&ran);
    }
}

static void test_sweep_monotone(void **state)
{
    (void)state;
    struct command_result ran =
        shell_run("sweep " LLAMA " --vary spine.oversubscription=1,2,4,8,16 --json");
    assert_status(&ran, 0);
    json_object *root = command_json(&ran);
    json_object *points = json_at(root, "points");
    assert_int_equal(json_object_array_length(points), 5);
    double last = 0;
    for (size_t i = 0; i < 5; i++) {
        const double step = json_number(json_object_array_get_idx(points, i), "step_time_s");
        assert_true(step >= last);
        last = step;
    }
    json_object_put(root);
    command_free(&ran);
}

/* Counting from 0 or from 1, the shards of a sweep are its points, each once. */
static void test_shards(void **state)
{
    (void)state;
    static const char vary[] = "--vary tp=2,4,8 --vary pp=1,2,4,8";
    struct command_result all = shell_run("sweep " SMALL " %s | tail -n +2 | sort", vary);
    for (int base = 0; base < 2; base++) {
        struct command_result parts =
            shell_run("--version >/dev/null; for i in 0 1 2 3 4; do \"$NEST\" sweep " SMALL
                      " %s --shard $((i + %d))/5 | tail -n +2; done | sort",
                      vary, base);
        assert_status(&parts, 0);
        assert_string_equal(parts.out, all.out);
        command_free(&parts);
    }
    command_free(&all);
}

static void test_completion(void **state)
{
    (void)state;
    struct command_result bash =
        shell_run("completion bash >\"$DIR/nest.bash\" && bash -c '"
                  "nest() { \"$NEST\" \"$@\"; }; . \"$DIR/nest.bash\"; "
                  "COMP_WORDS=(nest solve --m); COMP_CWORD=2; _nest; "
                  "echo \"${COMPREPLY[@]}\"; "
                  "COMP_WORDS=(nest solve --model lla); COMP_CWORD=3; _nest; "
                  "echo \"${COMPREPLY[@]}\"; "
                  "COMP_WORDS=(nest sw); COMP_CWORD=1; _nest; "
                  "echo \"${COMPREPLY[@]}\"'");
    assert_status(&bash, 0);
    assert_contains(bash.out, "--model");
    assert_contains(bash.out, "llama3-70b");
    assert_contains(bash.out, "sweep");
    struct command_result fish = shell_run("completion fish");
    assert_contains(fish.out, "complete -c nest");
    struct command_result zsh = shell_run("completion zsh");
    assert_contains(zsh.out, "#compdef nest");
    command_free(&bash);
    command_free(&fish);
    command_free(&zsh);
}

static void test_manual(void **state)
{
    (void)state;
    struct command_result ran = shell_run("man");
    assert_status(&ran, 0);
    assert_contains(ran.out, ".TH NEST 1");
    assert_contains(ran.out, "\\-\\-vary");
    command_free(&ran);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve_json),
        cmocka_unit_test(test_key_order),
        cmocka_unit_test(test_eval_repeats_solve),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_no_terminal),
        cmocka_unit_test(test_top),
        cmocka_unit_test(test_infeasible),
        cmocka_unit_test(test_assumed),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_closed_pipe),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_show),
        cmocka_unit_test(test_show_input),
        cmocka_unit_test(test_installed),
        cmocka_unit_test(test_sweep_csv),
        cmocka_unit_test(test_sweep_columns),
        cmocka_unit_test(test_sweep_monotone),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_manual),
    };
    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
