#include "tests/support/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SETS_MAX = 8, TEXT_MAX = 1 << 16 };

static void expect_ok(enum nest_status status, const struct nest_errors *errors)
{
    if (status == NEST_OK) {
        return;
    }
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < errors->count; i++) {
        nest_error_format(&errors->item[i], &text);
    }
    fail_msg("status %d: %s", (int)status, nest_strbuf_text(&text));
}

static void open_request(struct test_scenario *scenario, struct nest_scenario_request request,
                         const char *sets, const char *pins)
{
    memset(scenario, 0, sizeof *scenario);
    struct nest_arena *arena = &scenario->arena;
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    struct nest_library library;
    expect_ok(nest_library_find(arena, &library), &errors);
    const char *set[SETS_MAX];
    int count = 0;
    char *save = NULL;
    char *words = nest_arena_strdup(arena, sets);
    for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        assert_true(count < SETS_MAX);
        set[count++] = word;
    }
    request.sets = count;
    request.set = set;
    request.pins = pins[0] != '\0';
    request.pin = &pins;
    expect_ok(nest_load_scenario(&library, &request, arena, &scenario->spec, &errors), &errors);
    expect_ok(nest_problem_build(&scenario->spec, arena, &scenario->problem, &errors), &errors);
}

void test_scenario_open(struct test_scenario *scenario, const char *model, const char *cluster,
                        const char *sets, const char *pins)
{
    open_request(scenario, (struct nest_scenario_request){.model = model, .cluster = cluster}, sets,
                 pins);
}

void test_scenario_open_file(struct test_scenario *scenario, const char *path, const char *sets,
                             const char *pins)
{
    open_request(scenario, (struct nest_scenario_request){.scenario = path}, sets, pins);
}

void test_scenario_close(struct test_scenario *scenario)
{
    nest_arena_free(&scenario->arena);
}

static enum nest_status solve(struct test_scenario *scenario, struct nest_result *result)
{
    const struct nest_solve_options options = {.top = 1, .threads = 1};
    return nest_solve(&scenario->problem, &options, &scenario->arena, result);
}

struct nest_solution test_scenario_solve(struct test_scenario *scenario)
{
    struct nest_result result;
    expect_ok(solve(scenario, &result), &result.errors);
    return result.solution[0];
}

nest_ps test_step_time(const char *model, const char *cluster, const char *sets, const char *pins)
{
    struct test_scenario scenario;
    test_scenario_open(&scenario, model, cluster, sets, pins);
    struct nest_result result;
    const enum nest_status status = solve(&scenario, &result);
    assert_true(status == NEST_OK || status == NEST_NO);
    const nest_ps step = status == NEST_OK ? result.solution[0].prediction.step : NEST_PS_MAX;
    test_scenario_close(&scenario);
    return step;
}
