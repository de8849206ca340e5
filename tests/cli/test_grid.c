/* A search is never slower than any configuration that it could have found: 300 pins, each priced
 * by the evaluator, against the search under the same pins and the free search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "input/load.h"
#include "plan/problem.h"
#include "solve/solve.h"

struct grid {
    const char *model, *cluster, *edit;
};

static enum nest_status build(const struct grid *grid, const char *pins, struct nest_arena *arena,
                              struct nest_scenario_spec *scenario, struct nest_problem *problem,
                              struct nest_errors *errors)
{
    struct nest_library library;
    const struct nest_scenario_request request = {
        .model = grid->model,
        .cluster = grid->cluster,
        .sets = 1,
        .set = &grid->edit,
        .pins = pins != NULL,
        .pin = &pins,
    };
    assert_int_equal(nest_library_find(arena, &library), NEST_OK);
    assert_int_equal(nest_load_scenario(&library, &request, arena, scenario, errors), NEST_OK);
    return nest_problem_build(scenario, arena, problem, errors);
}

/* Step time of the best plan under the pins; 0 where there is none. */
static nest_ps search(const struct nest_problem *problem, struct nest_arena *arena)
{
    const struct nest_solve_options options = {.top = 1, .threads = 1};
    struct nest_result result;
    return nest_solve(problem, &options, arena, &result) == NEST_OK
               ? result.solution[0].prediction.step
               : 0;
}

/* True if the pins are a legal and feasible configuration; then checks it. */
static bool check_pins(const struct grid *grid, const char *pins, nest_ps free_best)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    struct nest_scenario_spec scenario;
    struct nest_problem problem;
    struct nest_plan plan;
    struct nest_prediction prediction;
    const char **assumed = NULL;
    nest_errors_init(&errors, &arena);
    assert_int_equal(build(grid, pins, &arena, &scenario, &problem, &errors), NEST_OK);
    bool feasible = nest_plan_from_pins(&problem, &arena, &plan, &assumed, &errors) == NEST_OK &&
                    nest_plan_evaluate(&problem, &plan, &arena, &prediction) && prediction.feasible;
    if (feasible) {
        const nest_ps best = search(&problem, &arena);
        if (best == 0 || best > prediction.step || free_best > best) {
            fail_msg("%s on %s, %s: eval %.9g s, solve %.9g s, free solve %.9g s", grid->model,
                     grid->cluster, pins, nest_to_seconds(prediction.step), nest_to_seconds(best),
                     nest_to_seconds(free_best));
        }
    }
    nest_arena_free(&arena);
    return feasible;
}

static void check_grid(const struct grid *grid, const char *const *rest, int rests, int *priced)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    struct nest_scenario_spec scenario;
    struct nest_problem problem;
    nest_errors_init(&errors, &arena);
    assert_int_equal(build(grid, NULL, &arena, &scenario, &problem, &errors), NEST_OK);
    const nest_ps best = search(&problem, &arena);
    assert_true(best > 0);
    for (int tp = 1; tp <= 8; tp *= 2) {
        for (int pp = 1; pp <= 8; pp *= 2) {
            for (int r = 0; r < rests; r++) {
                char pins[160];
                (void)snprintf(pins, sizeof pins, "tp=%d,pp=%d,%s", tp, pp, rest[r]);
                *priced += check_pins(grid, pins, best);
            }
        }
    }
    nest_arena_free(&arena);
}

static void test_grid(void **state)
{
    (void)state;
    static const char *const rest[] = {
        "zero=0",
        "zero=1",
        "zero=2",
        "zero=3",
        "zero=1,recompute=full",
        "zero=1,recompute=selective",
        "zero=1,micro_batch=2",
        "zero=1,cp=2",
        "zero=3,cp=2,recompute=full",
        "zero=1,order=tp-cp-pp-dp",
        "zero=1,sp=false",
        "zero=1,virtual_stages=2",
    };
    static const struct grid grid[] = {
        {"llama3-8b", "hgx-h100-8", "global_batch=64"},
        {"llama3-8b", "h100-spine-leaf", "devices=64"},
        {"llama3-70b", "h100-spine-leaf", "devices=256"},
    };
    int priced = 0;
    for (size_t i = 0; i < sizeof grid / sizeof grid[0]; i++) {
        check_grid(&grid[i], rest, sizeof rest / sizeof rest[0], &priced);
    }
    print_message("%d feasible configurations\n", priced);
    assert_true(priced >= 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grid)};
    return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
