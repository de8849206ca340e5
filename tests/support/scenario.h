/* A scenario of shipped or private files, loaded and gathered for tests of the engine. */
#ifndef NEST_TESTS_SUPPORT_SCENARIO_H
#define NEST_TESTS_SUPPORT_SCENARIO_H

#include "input/load.h"
#include "plan/problem.h"
#include "solve/solve.h"

struct test_scenario {
    struct nest_arena arena;
    struct nest_scenario_spec spec;
    struct nest_problem problem;
};

/* Loads and gathers; sets is "PATH=VALUE PATH=VALUE", pins "KEY=VALUE,…", both may be "". Fails the
 * test with the faults when something is wrong. Release with test_scenario_close. */
void test_scenario_open(struct test_scenario *scenario, const char *model, const char *cluster,
                        const char *sets, const char *pins);

/* The same from a scenario file. */
void test_scenario_open_file(struct test_scenario *scenario, const char *path, const char *sets,
                             const char *pins);
void test_scenario_close(struct test_scenario *scenario);

/* Solves with one thread; the result lives in the scenario's arena. Fails the test unless there is
 * a plan. */
struct nest_solution test_scenario_solve(struct test_scenario *scenario);

/* Opens, solves and closes; returns the step time, NEST_PS_MAX where nothing is feasible. */
nest_ps test_step_time(const char *model, const char *cluster, const char *sets, const char *pins);

#endif
