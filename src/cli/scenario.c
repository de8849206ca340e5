#include "cli/scenario.h"

#include "cli/request.h"
#include "plan/problem.h"

enum nest_status nest_cli_load(struct nest_cli *cli, bool scenario_operand, struct nest_loaded *out)
{
    const struct nest_scenario_request request = nest_cli_request(cli, scenario_operand);
    const enum nest_status loaded =
        nest_load_scenario(&cli->library, &request, &cli->arena, &out->scenario, &cli->errors);
    if (loaded != NEST_OK) {
        return loaded;
    }
    return nest_problem_build(&out->scenario, &cli->arena, &out->problem, &cli->errors);
}
