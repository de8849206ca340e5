/* Loading what a command is about: the scenario of the shared options, as a problem. */
#ifndef NEST_CLI_SCENARIO_H
#define NEST_CLI_SCENARIO_H

#include "cli/context.h"
#include "cost/problem.h"

struct nest_loaded {
    struct nest_scenario_spec scenario;
    struct nest_problem problem; /* borrows scenario; lives in the command's arena */
};

/* Loads the scenario with --set and --pin applied, and builds the problem.
 * The first operand is the scenario where scenario_operand. Faults are added to cli->errors. */
enum nest_status nest_cli_load(struct nest_cli *cli, bool scenario_operand,
                               struct nest_loaded *out);

/* The problem of an edited copy of the loaded scenario, its overrides in place; lives in arena and
 * must stay where it is. */
enum nest_status nest_cli_build(struct nest_cli *cli, const struct nest_scenario_spec *scenario,
                                struct nest_arena *arena, struct nest_problem *out);

#endif
