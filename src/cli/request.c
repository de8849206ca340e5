#include "cli/request.h"

#include <string.h>
#include <unistd.h>

struct nest_scenario_request nest_cli_request(struct nest_cli *cli, bool scenario_operand)
{
    struct nest_scenario_request request = {
        .scenario = nest_args_value(&cli->args, NEST_OPT_SCENARIO),
        .model = nest_args_value(&cli->args, NEST_OPT_MODEL),
        .cluster = nest_args_value(&cli->args, NEST_OPT_CLUSTER),
        .profile = nest_args_value(&cli->args, NEST_OPT_PROFILE),
    };
    if (request.scenario == NULL && scenario_operand && cli->args.operand_count > 0) {
        request.scenario = cli->args.operand[0];
    }
    request.set = nest_args_values(&cli->args, NEST_OPT_SET, &cli->arena, &request.sets);
    request.pin = nest_args_values(&cli->args, NEST_OPT_PIN, &cli->arena, &request.pins);
    request.script = nest_args_values(&cli->args, NEST_OPT_SCRIPT, &cli->arena, &request.scripts);
    return request;
}

enum nest_color nest_cli_color(struct nest_cli *cli)
{
    const char *when = nest_args_value(&cli->args, NEST_OPT_COLOR);
    if (when == NULL || strcmp(when, "auto") == 0) {
        return NEST_COLOR_AUTO;
    }
    if (strcmp(when, "always") == 0) {
        return NEST_COLOR_ALWAYS;
    }
    if (strcmp(when, "never") != 0) {
        nest_errors_add(&cli->errors, (struct nest_mark){NULL, 0, 0}, NULL, "auto, always or never",
                        "--color: '%s' is not valid", when);
    }
    return NEST_COLOR_NEVER;
}

int nest_cli_threads(struct nest_cli *cli)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t fallback = online < 1 ? 1 : online > 64 ? 64 : online;
    return (int)nest_args_integer(&cli->args, NEST_OPT_THREADS, "threads", 1, 1024, fallback,
                                  &cli->errors);
}

int64_t nest_cli_seed(struct nest_cli *cli)
{
    return nest_args_integer(&cli->args, NEST_OPT_SEED, "seed", 0, INT64_MAX, 1, &cli->errors);
}

void nest_cli_check_shared(struct nest_cli *cli)
{
    (void)nest_cli_threads(cli);
    (void)nest_cli_seed(cli);
    (void)nest_cli_color(cli);
}
