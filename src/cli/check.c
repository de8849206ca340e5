/* `nest check`: validates files of ours. */
#include <string.h>

#include "cli/commands.h"
#include "model/model.h"
#include "script/scripts.h"

static int run(struct nest_cli *cli);

const struct nest_command nest_command_check = {
    .name = "check",
    .operands = "FILE…",
    .summary = "Validate model, cluster, device, scenario and plan files",
    .text = "Every fault of every file is printed as file:line:column: what is wrong; what is\n"
            "expected. What kind of file it is follows from its keys. A model's layer graph is "
            "checked for\n"
            "circles, lost layers and the number of its downsets.",
    .complete = NEST_COMPLETE_FILE,
    .least = 1,
    .most = -1,
    .run = run,
};

static const char *kind_name(enum nest_file_kind kind)
{
    static const char *const name[] = {
        [NEST_FILE_DEVICE] = "device", [NEST_FILE_CLUSTER] = "cluster",
        [NEST_FILE_MODEL] = "model",   [NEST_FILE_SCENARIO] = "scenario",
        [NEST_FILE_PLAN] = "plan",
    };
    return name[kind];
}

static enum nest_status check_graph(struct nest_cli *cli, const struct nest_model_spec *spec)
{
    struct nest_model model;
    return nest_model_expand(spec, &cli->arena, &model, &cli->errors);
}

/* A scenario's model may be its own, and its scripts are loaded too. */
static enum nest_status check_scenario(struct nest_cli *cli, const char *path)
{
    const struct nest_scenario_request request = {.scenario = path};
    const struct nest_scripts_options options = {.library = &cli->library};
    struct nest_scenario_spec scenario;
    struct nest_scripts *scripts = NULL;
    enum nest_status status =
        nest_load_scenario(&cli->library, &request, &cli->arena, &scenario, &cli->errors);
    status = status == NEST_OK ? check_graph(cli, &scenario.model) : status;
    if (status == NEST_OK) {
        status =
            nest_scripts_open(&options, scenario.scripts, scenario.script, &scripts, &cli->errors);
    }
    nest_scripts_release(scripts);
    return status;
}

static enum nest_status check_model(struct nest_cli *cli, const char *path)
{
    struct nest_model_spec spec;
    const enum nest_status status =
        nest_load_model(&cli->library, path, &cli->arena, &spec, &cli->errors);
    return status == NEST_OK ? check_graph(cli, &spec) : status;
}

/* What is wrong with the file, and with what it says together with others. */
static enum nest_status check(struct nest_cli *cli, const char *path, enum nest_file_kind *kind)
{
    const enum nest_status status =
        nest_check_file(&cli->library, path, &cli->arena, kind, &cli->errors);
    if (status != NEST_OK || strcmp(path, "-") == 0) {
        return status;
    }
    return *kind == NEST_FILE_SCENARIO ? check_scenario(cli, path)
           : *kind == NEST_FILE_MODEL  ? check_model(cli, path)
                                       : NEST_OK;
}

static int run(struct nest_cli *cli)
{
    int worst = NEST_EXIT_DONE;
    for (int i = 0; i < cli->args.operand_count; i++) {
        const char *path = cli->args.operand[i];
        enum nest_file_kind kind = NEST_FILE_SCENARIO;
        nest_errors_init(&cli->errors, &cli->arena);
        const enum nest_status status = check(cli, path, &kind);
        if (status == NEST_OK) {
            (void)fprintf(cli->out, "%s: ok, %s\n", path, kind_name(kind));
            continue;
        }
        const int exit = nest_cli_fail(cli, status);
        worst = exit > worst ? exit : worst;
    }
    return worst;
}
