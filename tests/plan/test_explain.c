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

static void explain(struct explained *e, int64_t experts)
{
    test_problem_start(&e->test, 16);
    e->test.spec = test_llama(8, 4096, 14336, 32, 8, 32000, 4096);
    e->test.spec.experts = experts;
    e->test.spec.top_k = 2;
    e->test.spec.moe_ffn = 4096;
    test_problem_settle(&e->test);
    struct nest_problem *problem = &e->test.problem;
    problem->train.global_batch = 64;
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
        explain(&e, experts);
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
    explain(&e, 0);
    const char *text = nest_strbuf_text(&e.text);
    assert_non_null(strstr(text, "2 * 4096 * 7168 * 4096 = 2.405e+11 FLOP / 500 TFLOP/s"));
    assert_non_null(strstr(text, "step = pipeline + tail + tied"));
    assert_non_null(strstr(text, "12 bytes a parameter / 2 devices"));
    assert_non_null(strstr(text, "2 microbatches in flight"));
    explain_free(&e);
}

/* Fits a terminal: no line beyond 104 columns, every line ended. */
static void test_line_width(void **state)
{
    (void)state;
    struct explained e;
    explain(&e, 8);
    const char *line = nest_strbuf_text(&e.text);
    while (*line) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        if (end - line > 104) {
            fail_msg("too wide: %.*s", (int)(end - line), line);
        }
        line = end + 1;
    }
    explain_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_every_operator),
        cmocka_unit_test(test_shows_its_numbers),
        cmocka_unit_test(test_line_width),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
