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

#endif
