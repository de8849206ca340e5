/* Whatever is typed: one clear message a fault, status 2, and nothing half done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

#define SMALL "--scenario tests/ui/data/small.yaml"

static void expect_refused(const char *line, const char *message)
{
    struct command_result ran = shell_run("%s", line);
    assert_status(&ran, 2);
    assert_string_equal(ran.out, "");
    assert_contains(ran.err, message);
    command_free(&ran);
}

static void values_are_judged_by_what_they_mean(void **state)
{
    (void)state;
    static const struct {
        const char *set, *message;
    } bad[] = {
        {"spine.bandwidth=50Gb/s/s", "unknown unit 'Gb/s/s'"},
        {"spine.bandwidth=50gbps", "unknown unit 'gbps'"},
        {"spine.bandwidth=50", "a plain number is in bytes/s"},
        {"spine.bandwidth=-5GB/s", "too small"},
        {"spine.bandwidth=0GB/s", "too small"},
        {"spine.bandwidth=nan", "not a number"},
        {"spine.bandwidth=infGB/s", "not a number"},
        {"spine.bandwidth=1e400GB/s", "too large"},
        {"spine.bandwidth=", "nothing is not a value"},
        {"spine.latency=1GB", "expected a time"},
        {"spine.oversubscription=0.5", "did you mean 2:1?"},
        {"spine.oversubscription=4:0", "a divisor above 0"},
        {"spine.oversubscription=4:1:1", "not a ratio"},
        {"memory=80", "a plain number is in bytes"},
        {"global_batch=0", "too small"},
        {"global_batch=1.5", "not a whole number"},
        {"global_batch=99999999999999999999", "is too large"},
        {"global_batch", "expected PATH=VALUE"},
        {"=5", "expected PATH=VALUE"},
        {"bandwidth=5GB/s", "ambiguous"},
        {"spien.bandwidth=5GB/s", "spine"},
        {"a.b.c=1", "there is no 'a.b.c' to set"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct command_result ran = shell_run("solve " SMALL " --set '%s'", bad[i].set);
        assert_status(&ran, 2);
        assert_string_equal(ran.out, "");
        assert_contains(ran.err, "--set:1:");
        assert_contains(ran.err, bad[i].message);
        command_free(&ran);
    }
}

static void pins_are_judged_by_what_they_mean(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "tp=0",          "tp=-1",      "tp=8..2",    "tp=2..",
        "tp=1.5",        "tp=eight",   "tp",         "tp=99999999999999999999",
        "tpp=8",         "zero=4",     "sp=maybe",   "recompute=some",
        "order=pp-dp",   "tp=8,,pp=4", "=8",         "order=tp-cp-dp:0-pp-dp:8",
        "micro_batch=x", "tp=2|x",     "pp=1..2..3", "order=tp-cp-dp:-1-pp-dp:8",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct command_result ran = shell_run("solve " SMALL " --pin '%s'", bad[i]);
        assert_status(&ran, 2);
        assert_string_equal(ran.out, "");
        assert_contains(ran.err, "--pin:1:");
        command_free(&ran);
    }
}

static void a_sweep_begins_only_when_every_value_is_one(void **state)
{
    (void)state;
    struct command_result ran =
        shell_run("sweep " SMALL " --vary memory=8GiB,heavy,-1,16GiB --vary tp=1,x");
    assert_status(&ran, 2);
    assert_string_equal(ran.out, "");
    assert_contains(ran.err, "--vary:1:13: limits.memory: 'heavy'");
    assert_contains(ran.err, "--vary:1:19: limits.memory: '-1'");
    assert_contains(ran.err, "--vary:1:6: tp cannot be 'x'");
    command_free(&ran);
    expect_refused("sweep " SMALL " --vary tp=1 --vary tp=2", "tp is varied twice");
    /* More tasks than points: the task without one has nothing to do, and did it. */
    ran = shell_run("sweep " SMALL " --vary tp=2 --shard 1/2");
    assert_status(&ran, 0);
    assert_memory_equal(ran.out, "tp,feasible,", 12);
    command_free(&ran);
}

static void pins_beside_a_plan_must_be_what_it_has(void **state)
{
    (void)state;
    struct command_result ran = shell_run("solve " SMALL " --json >$DIR/plan.json");
    assert_status(&ran, 0);
    command_free(&ran);
    expect_refused("eval " SMALL " --plan $DIR/plan.json --pin tp=8",
                   "the plan has another tp than --pin");
    expect_refused("export --to megatron " SMALL " --plan $DIR/plan.json --pin tp=8",
                   "the plan has another tp than --pin");
    ran = shell_run("eval " SMALL " --plan - --pin tp=1..4,pp=2 <$DIR/plan.json");
    assert_status(&ran, 0);
    command_free(&ran);
    ran = shell_run("--version; rm -f $DIR/plan.json");
    command_free(&ran);
}

/* What a plan file says twice, or what follows from the rest of it, must agree. */
static void what_follows_in_a_plan_must_agree(void **state)
{
    (void)state;
    static const struct {
        const char *change, *message;
    } bad[] = {
        {"s/\"microbatches\": [0-9]*/\"microbatches\": 99/",
         "plan.json:13:135: microbatches is 99, but the global batch of 48 with micro batch "},
        {"s/\"devices\": [0-9]*, \"recompute/\"devices\": 3, \"recompute/",
         "devices is 3, but tp "},
        {"s/\"first_layer\": 0/\"first_layer\": 1/",
         "first_layer is 1, but layers begin with 0; expected the first of layers"},
        {"s/\"last_layer\": [0-9]*/\"last_layer\": 999/", "last_layer is 999, but layers end with"},
        {"s/\"pp\": [0-9]*/\"pp\": 7/", "stages are listed"},
    };
    struct command_result ran = shell_run("solve " SMALL " --json >$DIR/right.json");
    assert_status(&ran, 0);
    command_free(&ran);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ran = shell_run("--version; sed '%s' $DIR/right.json >$DIR/plan.json", bad[i].change);
        assert_status(&ran, 0);
        command_free(&ran);
        expect_refused("eval " SMALL " --plan $DIR/plan.json", bad[i].message);
        expect_refused("eval " SMALL " --plan $DIR/plan.json", "plan.json:1");
    }
    /* They may all be left out. */
    ran = shell_run(
        "--version >/dev/null; sed 's/\"microbatches\": [0-9]*, //; s/\"devices\": [0-9]*, "
        "\"recompute/\"recompute/; s/\"first_layer\": [0-9]*, \"last_layer\": [0-9]*, //' "
        "$DIR/right.json | \"$NEST\" eval " SMALL " --plan - --json");
    assert_status(&ran, 0);
    command_free(&ran);
    ran = shell_run("--version; rm -f $DIR/plan.json $DIR/right.json");
    command_free(&ran);
}

/* A result that cannot be written is no success, whatever the command. */
static void a_full_disk_is_told(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "solve " SMALL,
        "solve " SMALL " --json",
        "eval " SMALL " --pin tp=2,pp=2,zero=3,recompute=full",
        "sweep " SMALL " --vary memory=8GiB,16GiB",
        "sweep " SMALL " --vary memory=8GiB,16GiB --json",
        "export " SMALL " --to json",
        "check tests/ui/data/small.yaml",
        "show llama3-70b",
        "show h100-spine-leaf --json",
        "completion bash",
        "man",
        "--help",
        "--version",
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct command_result ran = shell_run("%s >/dev/full", commands[i]);
        assert_status(&ran, 2);
        assert_contains(ran.err, "cannot write the result: No space left on device");
        command_free(&ran);
        ran = shell_run("%s >&-", commands[i]);
        assert_status(&ran, 2);
        assert_contains(ran.err, "cannot write the result: Bad file descriptor");
        command_free(&ran);
    }
}

static void odd_files_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"check /dev/null", "the file is empty"},
        {"check /tmp", "this is a directory"},
        {"check /no/such/file", "No such file or directory"},
        {"check - </dev/null", "<stdin>: the file is empty"},
        {"check - <&-", "<stdin>: Bad file descriptor"},
        {"solve --scenario /dev/zero", "too large"},
        {"eval --plan /dev/null", "the file is empty"},
        {"solve --model ''", "there is no model ''"},
        {"solve --cluster /tmp", "there is no cluster '/tmp'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_refused(bad[i].line, bad[i].message);
    }
}

/* Values at the ends of what is allowed: times saturate, sizes are huge, and there is an end and an
 * answer all the same. */
static void absurd_worlds_are_answered(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "--model llama3-8b --set device.memory_bandwidth=1MB/s --set seq=10000000",
        "--model llama3-405b --set device.memory_bandwidth=1MB/s --set memory=10GiB",
        "--model gpt3-175b --set device.memory_bandwidth=1MB/s --set memory=1000TB",
        "--model llama3-8b --set device.launch=1s",
        "--model llama3-8b --set node.bandwidth=1MB/s --set node.latency=1s",
        "--model llama3-70b --set node.oversubscription=1000000 --set seq=268435456",
        "--model llama3-70b --set memory=1MiB",
        "--model llama3-8b --set memory=1000TB --set global_batch=1073741824",
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        struct command_result ran =
            shell_run("solve --cluster hgx-h100-8 --threads 1 --json %s", sets[i]);
        if (ran.status != 0 && ran.status != 1) {
            fail_msg("%s: status %d\n%s", sets[i], ran.status, ran.err);
        }
        struct json_object *root = command_json(&ran);
        assert_int_equal(json_object_get_boolean(json_at(root, "feasible")), ran.status == 0);
        (void)json_object_put(root);
        command_free(&ran);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_judged_by_what_they_mean),
        cmocka_unit_test(pins_are_judged_by_what_they_mean),
        cmocka_unit_test(a_sweep_begins_only_when_every_value_is_one),
        cmocka_unit_test(pins_beside_a_plan_must_be_what_it_has),
        cmocka_unit_test(what_follows_in_a_plan_must_agree),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(odd_files_are_told_apart),
        cmocka_unit_test(absurd_worlds_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
