#include "cli/scenario.h"

#include "cli/request.h"
#include "plan/problem.h"
#include "script/scripts.h"

static void print_text(void *context, const char *text, size_t length)
{
    (void)fwrite(text, 1, length, context);
}

enum nest_status nest_cli_build(struct nest_cli *cli, const struct nest_scenario_spec *scenario,
                                struct nest_arena *arena, struct nest_problem *out)
{
    const enum nest_status status = nest_problem_build(scenario, arena, out, &cli->errors);
    if (status != NEST_OK) {
        return status;
    }
    return nest_scripts_attach(cli->scripts, NULL, out, NULL, arena) ? NEST_OK : NEST_NO_MEMORY;
}

enum nest_status nest_cli_load(struct nest_cli *cli, bool scenario_operand, struct nest_loaded *out)
{
    const struct nest_scenario_request request = nest_cli_request(cli, scenario_operand);
    const struct nest_scripts_options options = {
        .library = &cli->library, .print = print_text, .context = cli->err};
    enum nest_status status =
        nest_load_scenario(&cli->library, &request, &cli->arena, &out->scenario, &cli->errors);
    if (status == NEST_OK) {
        status = nest_scripts_open(&options, out->scenario.scripts, out->scenario.script,
                                   &cli->scripts, &cli->errors);
    }
    return status == NEST_OK ? nest_cli_build(cli, &out->scenario, &cli->arena, &out->problem)
                             : status;
}
