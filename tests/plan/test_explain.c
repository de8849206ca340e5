/* The explanation: every operator and every byte of the prediction is named, with its numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/explain.h"
#include "support/problem.h"

static void pin(struct nest_problem *problem, enum nest_pin_key key, int64_t value)
{
    problem->pins.pin[key].count = 1;
    problem->pins.pin[key].range[0] = (struct nest_range){value, value};
}

struct explained {
    struct test_problem test;
    struct nest_plan plan;
    struct nest_prediction prediction;
    struct nest_strbuf text;
};

static void explain(struct explained *e, int64_t experts, enum nest_precision precision,
                    int64_t virtual_stages)
{
    test_problem_start(&e->test, 16);
    e->test.spec = test_llama(8, 4096, 14336, 32, 8, 32000, 4096);
    e->test.spec.experts = experts;
    e->test.spec.top_k = 2;
    e->test.spec.moe_ffn = 4096;
    test_problem_settle(&e->test);
    struct nest_problem *problem = &e->test.problem;
    problem->train.global_batch = 64;
    problem->train.precision = precision;
    pin(problem, NEST_PIN_VIRTUAL_STAGES, virtual_stages);
    pin(problem, NEST_PIN_ZERO, experts > 0 ? 3 : 1);
    pin(problem, NEST_PIN_TP, 4);
    pin(problem, NEST_PIN_PP, 2);
    pin(problem, NEST_PIN_EP, experts > 0 ? 2 : 1);
    struct nest_errors errors;
    const char **assumed;
    nest_errors_init(&errors, &e->test.cluster.arena);
    assert_int_equal(
        nest_plan_from_pins(problem, &e->test.cluster.arena, &e->plan, &assumed, &errors), NEST_OK);
    assert_true(nest_plan_evaluate(problem, &e->plan, &e->test.cluster.arena, &e->prediction));
    e->text = (struct nest_strbuf)NEST_STRBUF_INIT(1 << 20);
    nest_explain(problem, &e->plan, &e->prediction, &e->text);
    assert_false(e->text.failed);
}

static void explain_free(struct explained *e)
{
    nest_strbuf_free(&e->text);
    test_problem_free(&e->test);
}

/* Every operator of the bottleneck's layers is there by name. */
static void test_names_every_operator(void **state)
{
    (void)state;
    for (int64_t experts = 0; experts <= 8; experts += 8) {
        struct explained e;
        explain(&e, experts, NEST_BF16, 1);
        const struct nest_model *model = &e.test.model;
        const struct nest_range range = e.plan.stage[e.prediction.bottleneck].layers[0];
        for (int64_t i = range.low; i <= range.high; i++) {
            const struct nest_layer_kind *kind = &model->kind[model->kind_of[i]];
            for (int o = 0; o < kind->ops; o++) {
                assert_non_null(strstr(nest_strbuf_text(&e.text), kind->op[o].name));
            }
        }
        explain_free(&e);
    }
}

/* 8192 columns of 2 * 14336 / 4 at 5e14: 2 * 4096 * 7168 * 4096 = 2.405e+11 FLOP, 0.481 ms. */
static void test_shows_its_numbers(void **state)
{
    (void)state;
    struct explained e;
    explain(&e, 0, NEST_BF16, 1);
    const char *text = nest_strbuf_text(&e.text);
    assert_non_null(strstr(text, "2 * 4096 * 7168 * 4096 = 2.405e+11 FLOP / 500 TFLOP/s"));
    assert_non_null(strstr(text, "step = pipeline + tail + tied"));
    assert_non_null(strstr(text, "12 bytes a parameter / 2 devices"));
    assert_non_null(strstr(text, "2 microbatches in flight"));
    explain_free(&e);
}

static void check_width(const char *line)
{
    while (*line) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        if (end - line > 104) {
            fail_msg("too wide: %.*s", (int)(end - line), line);
        }
        line = end + 1;
    }
}

/* Fits a terminal: no line beyond 104 columns, every line ended. */
static void test_line_width(void **state)
{
    (void)state;
    for (int64_t v = 1; v <= 2; v++) {
        for (int64_t experts = 0; experts <= 8; experts += 8) {
            struct explained e;
            explain(&e, experts, v > 1 ? NEST_FP8 : NEST_BF16, v);
            check_width(nest_strbuf_text(&e.text));
            explain_free(&e);
        }
    }
}

/* What is printed can be worked out again: activations as microbatches * layers * bytes of one, a
 * collective as fixed part + bytes / rate, the update as 2 * 4 + 2 * 12 + 2 bytes a parameter. */
static void test_adds_up(void **state)
{
    (void)state;
    struct explained e;
    explain(&e, 0, NEST_BF16, 1);
    const char *text = nest_strbuf_text(&e.text);
    assert_non_null(strstr(text, " parameters * 34 bytes / "));
    const char *line = strstr(text, "microbatches in flight * ");
    assert_non_null(line);
    double layers, each;
    assert_int_equal(sscanf(line, "microbatches in flight * %lf x %lf MiB", &layers, &each), 2);
    const struct nest_stage_cost *stage = &e.prediction.stage[e.prediction.worst_stage];
    const double sum = 2.0 * layers * each * 1048576.0 / (double)stage->memory.activations;
    assert_true(sum > 0.999 && sum < 1.001);
    double whole, fixed, size, rate;
    line = strstr(text, " us each\n      = ");
    assert_non_null(line);
    while (line[-1] != ' ') {
        line--;
    }
    assert_int_equal(
        sscanf(line, "%lf us each = %lf us + %lf MB / %lf GB/s", &whole, &fixed, &size, &rate), 4);
    const double worked = (fixed + 1e3 * size / rate) / whole;
    assert_true(worked > 0.99 && worked < 1.01);
    explain_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_every_operator),
        cmocka_unit_test(test_shows_its_numbers),
        cmocka_unit_test(test_line_width),
        cmocka_unit_test(test_adds_up),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
