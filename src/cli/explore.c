/* `nest` without a command: the explorer on a terminal. */
#include <unistd.h>

#include "cli/commands.h"
#include "cli/lua.h"
#include "cli/request.h"
#include "session/lesson.h"

static int run(struct nest_cli *cli);

static const struct nest_option options[] = {
    {NEST_OPT_LESSON, "lesson", 0, "[N]", "Start the guided lesson N; without a number, list them",
     NULL},
    {NEST_OPT_ASCII, "ascii", 0, NULL, "Draw with ASCII only", NULL},
    {NEST_OPT_JSON, "json", 'j', NULL, "Print JSON instead, as nest solve does", NULL},
    {NEST_OPT_COLOR, "color", 0, "WHEN", "Colours: auto, always or never", "auto always never"},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_explore = {
    .name = "explore",
    .operands = "[SCENARIO]",
    .summary = "Open the explorer; without a terminal, print the plan as nest solve does",
    .options = options,
    .scenario = true,
    .complete = NEST_COMPLETE_FILE,
    .least = 0,
    .most = 1,
    .run = run,
};

static int run(struct nest_cli *cli)
{
    struct nest_explore_request request = {
        .scenario = nest_cli_request(cli, true),
        .lesson =
            (int)nest_args_integer(&cli->args, NEST_OPT_LESSON, "lesson", 1, 99, 0, &cli->errors),
        .threads = nest_cli_threads(cli),
        .color = nest_cli_color(cli),
        .ascii = nest_args_has(&cli->args, NEST_OPT_ASCII),
    };
    if (cli->errors.count > 0) {
        return nest_cli_usage_failure(cli);
    }
    if (nest_args_has(&cli->args, NEST_OPT_LESSON) && request.lesson == 0) {
        return nest_cli_lessons(cli);
    }
    if (request.lesson > nest_lesson_count(&cli->library)) {
        return nest_cli_no_lesson(cli, request.lesson);
    }
    request.edit = nest_cli_edits(cli, &request.edits);
    const bool json = nest_args_has(&cli->args, NEST_OPT_JSON);
    if (cli->explorer != NULL && !json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
        const int status = cli->explorer->open(&request);
        if (status != NEST_EXPLORER_UNAVAILABLE) {
            return status;
        }
    }
    return request.lesson > 0 ? nest_cli_lesson(cli, request.lesson) : nest_command_solve.run(cli);
}
