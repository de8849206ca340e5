/* Public questions about memory (reference cases B) asked through the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/world.h"

static const double GIB = 1024.0 * 1024.0 * 1024.0;

static struct json_object *eval_any(const char *model, const char *cluster, const char *pins,
                                    const char *more, int status)
{
    struct command_result run = eval_run(model, cluster, pins, more);
    if (run.status != status) {
        fail_msg("%s: status %d instead of %d: %s", pins, run.status, status, run.err);
    }
    struct json_object *root = command_json(&run);
    command_free(&run);
    return root;
}

static double term(struct json_object *root, int stage, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "memory[%d].%s", stage, name);
    return json_number(root, path);
}

static double states(struct json_object *root)
{
    return term(root, 0, "weights") + term(root, 0, "gradients") + term(root, 0, "optimizer");
}

static void assert_about(double value, double expected, double tolerance)
{
    if (value < expected * (1 - tolerance) || value > expected * (1 + tolerance)) {
        fail_msg("%g is not %g within %g%%", value, expected, tolerance * 100);
    }
}

/* NVIDIA/Megatron-LM#654, #597: 18 bytes a parameter, 6 + 12/8 with the distributed optimizer. */
static void eighteen_bytes_a_parameter(void **unused)
{
    (void)unused;
    struct json_object *whole = eval_any("llama2-7b", h100(8), "tp=1,pp=1,dp=8,zero=0", "", 1);
    assert_about(states(whole) / GIB, 113.0, 0.005);
    json_object_put(whole);
    struct json_object *shared =
        eval_any("llama2-7b", a100(8), "tp=1,pp=1,dp=8,zero=1,micro_batch=2,recompute=none",
                 "--set global_batch=128 --set memory=300GiB", 0);
    assert_about(states(shared) / GIB, 47.1, 0.005);
    assert_true(term(shared, 0, "other_terms.logits") >= 4096.0 * 2 * 32000 * 2);
    assert_true(term(shared, 0, "activations") > 0 && term(shared, 0, "other_terms.reserve") > 0);
    json_object_put(shared);
}

/* deepspeedai/DeepSpeed#4477: stage i keeps min(p - i, M) microbatches: 8 : 7 : … : 1. */
static void activations_in_flight_fall_along_the_pipeline(void **unused)
{
    (void)unused;
    const char *model = equal_layers(64);
    struct json_object *root = eval_any(model, h100(8), "pp=8,dp=1,tp=1,recompute=none",
                                        "--set global_batch=16 --set memory=900GiB", 0);
    const double one = term(root, 6, "activations") / 2;
    for (int i = 1; i < 7; i++) {
        assert_about(term(root, i, "activations"), one * (8 - i), 0.001);
    }
    json_object_put(root);
    root = eval_any(model, h100(8), "pp=8,dp=1,tp=1,recompute=none",
                    "--set global_batch=1 --set memory=900GiB", 0);
    for (int i = 1; i < 7; i++) {
        assert_about(term(root, i, "activations"), one, 0.001);
    }
    json_object_put(root);
}

/* deepspeedai/DeepSpeed#1378: the ends of a long pipeline carry the embedding, the head and the
 * logits, by name; a first stage may be the embedding alone. */
static void the_ends_carry_embedding_and_logits(void **unused)
{
    (void)unused;
    struct json_object *root =
        eval_any("llama3-8b", h100(8), "pp=8,tp=1,dp=1,recompute=full", "--set global_batch=8", 0);
    assert_true(term(root, 0, "weights") > term(root, 3, "weights"));
    assert_true(term(root, 7, "weights") > 1.2 * term(root, 3, "weights"));
    assert_true(term(root, 7, "other_terms.logits") > 0);
    json_object_put(root);
    const char *plan = command_file(
        "plan.json",
        "{\"tp\": 1, \"pp\": 4, \"dp\": 1, \"cp\": 1, \"zero\": 0, \"micro_batch\": 1, "
        "\"stages\": [{\"first_layer\": 0, \"last_layer\": 0, \"recompute\": \"full\"}, "
        "{\"first_layer\": 1, \"last_layer\": 11, \"recompute\": \"full\"}, "
        "{\"first_layer\": 12, \"last_layer\": 22, \"recompute\": \"full\"}, "
        "{\"first_layer\": 23, \"last_layer\": 33, \"recompute\": \"full\"}]}");
    char line[256];
    (void)snprintf(line, sizeof line,
                   "eval --json --model llama3-8b --cluster %s --plan %s "
                   "--set memory=200GiB",
                   h100(8), plan);
    struct command_result run = command_run(line);
    assert_int_equal(run.status, 0);
    command_free(&run);
}

/* NVIDIA/Megatron-LM#1225: flash attention never keeps the scores: selective saves next to nothing,
 * full a factor of ten. */
static void selective_recompute_saves_little_under_flash_attention(void **unused)
{
    (void)unused;
    double kept[3];
    static const char *const mode[] = {"none", "selective", "full"};
    for (int i = 0; i < 3; i++) {
        char pins[96];
        (void)snprintf(pins, sizeof pins, "tp=1,pp=1,dp=8,zero=1,recompute=%s", mode[i]);
        struct json_object *root =
            eval_any("llama2-7b", a100(8), pins, "--set memory=300GiB --set global_batch=64", 0);
        kept[i] = term(root, 0, "activations");
        json_object_put(root);
    }
    assert_true(kept[1] <= kept[0] && kept[1] > 0.8 * kept[0]);
    assert_true(kept[2] < 0.12 * kept[0]);
}

/* NVIDIA/nccl#964: the reserve grows with the kinds of groups in use, and can be set. */
static void the_reserve_grows_with_the_groups(void **unused)
{
    (void)unused;
    const char *model = mixture(16, 8, 2);
    struct json_object *alone = eval_any(model, h100(16), "tp=1,pp=1,dp=16,recompute=full,zero=1",
                                         "--set memory=300GiB", 0);
    struct json_object *many =
        eval_any(model, h100(16), "tp=2,pp=2,cp=2,dp=2,ep=4,recompute=full,zero=1",
                 "--set memory=300GiB", 0);
    struct json_object *set =
        eval_any(model, h100(16), "tp=1,pp=1,dp=16,recompute=full,zero=1",
                 "--set memory=300GiB --set device.reserve.per_group=2GiB", 0);
    const double one = term(alone, 0, "other_terms.reserve");
    assert_true(term(many, 0, "other_terms.reserve") > one + 4 * 0.4 * GIB);
    assert_true(term(set, 0, "other_terms.reserve") > one);
    json_object_put(alone);
    json_object_put(many);
    json_object_put(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eighteen_bytes_a_parameter),
        cmocka_unit_test(activations_in_flight_fall_along_the_pipeline),
        cmocka_unit_test(the_ends_carry_embedding_and_logits),
        cmocka_unit_test(selective_recompute_saves_little_under_flash_attention),
        cmocka_unit_test(the_reserve_grows_with_the_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
