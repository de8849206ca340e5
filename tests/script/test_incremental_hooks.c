/* A solver that remembers gives, under overrides and after any sequence of edits, undo included,
 * the very plan of a solver that begins anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "script/scripts.h"
#include "tests/support/scenario.h"
#include "tests/support/seed.h"

enum { EDITS = 6 };

static uint64_t state;

static int below(int n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (uint64_t)n);
}

/* Hooks with a factor of 2^-3 … 2^4 each. */
static const char *const HOOK[] = {
    "compute = function(l, d) local f, b = d() return f * %g, b end",
    "collective = function(m, d) return d() * %g + (m.level > 0 and 1e-4 or 0) end",
    "transfer = function(m, d) return m.direction == 'forward' and d() * %g or d() end",
    "memory = function(l, d) local t = d() t.activations = t.activations * %g return t end",
    "reserve = function(s, d) return {base = 1e9 * %g} end",
    "load = function(s, d) return {{forward = 1, backward = 1, into = %g}, d()} end",
    "step = function(p, d) return {bottleneck = p.microbatches + p.stages * %g, fill = 0} end",
};
enum { KINDS = sizeof HOOK / sizeof HOOK[0] };

static struct nest_scripts *open_scripts(char *text, size_t size, struct nest_errors *errors)
{
    char path[] = "/tmp/nest-hook-XXXXXX";
    size_t used = (size_t)snprintf(text, size, "return {\n");
    for (int i = 0; i < KINDS; i++) {
        if (below(2)) {
            const double factor = 0.125 * (double)(1 << below(8));
            used += (size_t)snprintf(text + used, size - used, HOOK[i], factor);
            used += (size_t)snprintf(text + used, size - used, ",\n");
        }
    }
    snprintf(text + used, size - used, "}\n");
    const int file = mkstemp(path);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    const struct nest_script_spec script = {.path = path};
    const struct nest_scripts_options options = {.library = NULL};
    struct nest_scripts *scripts = NULL;
    assert_int_equal(nest_scripts_open(&options, 1, &script, &scripts, errors), NEST_OK);
    remove(path);
    return scripts;
}

static enum nest_status solve(struct test_scenario *scenario, struct nest_scripts *scripts,
                              struct nest_solver *solver, struct nest_result *out)
{
    const struct nest_solve_options options = {.top = 2, .threads = 1};
    struct nest_problem *problem = NEST_NEW(&scenario->arena, struct nest_problem, 1);
    assert_non_null(problem);
    *problem = scenario->problem;
    assert_true(nest_scripts_attach(scripts, NULL, problem, NULL, &scenario->arena));
    return solver ? nest_solver_solve(solver, problem, &options, &scenario->arena, out)
                  : nest_solve(problem, &options, &scenario->arena, out);
}

static void check_edit(const char *set, struct nest_scripts *scripts, struct nest_solver *solver,
                       const char *text)
{
    struct test_scenario scenario;
    struct nest_result warm, cold;
    test_scenario_open(&scenario, "llama3-8b", "dgx-h100-superpod", set,
                       "cp=1,micro_batch=1|2,virtual_stages=1|2");
    const enum nest_status one = solve(&scenario, scripts, solver, &warm);
    const enum nest_status two = solve(&scenario, scripts, NULL, &cold);
    bool same = one == two && (one == NEST_OK || one == NEST_NO) && warm.count == cold.count;
    for (int i = 0; same && i < cold.count; i++) {
        const struct nest_solution *a = &warm.solution[i];
        const struct nest_solution *b = &cold.solution[i];
        same = a->plan.stages == b->plan.stages &&
               nest_plan_compare(&a->plan, a->prediction.step, &b->plan, b->prediction.step) == 0;
    }
    if (!same) {
        fail_msg("after %s with\n%s", set, text);
    }
    test_scenario_close(&scenario);
}

static void edits_under_hooks_are_exact(void **unused)
{
    (void)unused;
    static const char *const set[] = {
        "global_batch=256",
        "global_batch=256 memory=40GiB",
        "global_batch=256 node.bandwidth=45GB/s",
        "global_batch=512 seq=2048",
        "global_batch=256 memory=60GiB node.latency=20us",
    };
    state = test_seed();
    const int rounds = test_instances(3);
    print_message("%d sequences from seed %llu\n", rounds, (unsigned long long)state);
    for (int round = 0; round < rounds; round++) {
        struct nest_arena arena = NEST_ARENA_INIT;
        struct nest_errors errors;
        char text[2048];
        nest_errors_init(&errors, &arena);
        struct nest_scripts *scripts = open_scripts(text, sizeof text, &errors);
        struct nest_solver *solver = nest_solver_create();
        assert_non_null(solver);
        for (int i = 0; i < EDITS; i++) {
            check_edit(set[below((int)(sizeof set / sizeof set[0]))], scripts, solver, text);
        }
        nest_solver_free(solver);
        nest_scripts_release(scripts);
        nest_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(edits_under_hooks_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
