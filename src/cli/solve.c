/* `nest solve`: searches for the best plan. */
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/request.h"

static int run(struct nest_cli *cli);

static const struct nest_option options[] = {
    {NEST_OPT_TOP, "top", 'k', "K", "Print the best K plans, one per strategy", NULL},
    {NEST_OPT_EXHAUSTIVE, "exhaustive", 0, NULL, "Search without bounds: the same plans, slowly",
     NULL},
    {NEST_OPT_JSON, "json", 'j', NULL, "Print JSON", NULL},
    {NEST_OPT_COLOR, "color", 0, "WHEN", "Colours: auto, always or never", "auto always never"},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_solve = {
    .name = "solve",
    .operands = "[SCENARIO]",
    .summary = "Search for the best plan of a scenario",
    .text =
        "Example:\n"
        "  nest solve --model llama3-70b --cluster h100-spine-leaf --set spine.oversubscription=4\n"
        "\n"
        "Pins restrict the search: tp, pp, dp, cp, ep, etp, sp, zero, shard, micro_batch,\n"
        "virtual_stages, recompute and order, each a value, a range 2..8 or a list 2|4|8.",
    .options = options,
    .scenario = true,
    .complete = NEST_COMPLETE_FILE,
    .least = 0,
    .most = 1,
    .run = run,
};

enum { ALTERNATIVES = 5, TOP_MAX = 1000 };

/* The best step time without a memory limit, or 0 when it cannot be told. */
static nest_ps solve_unlimited(struct nest_cli *cli, const struct nest_problem *problem)
{
    struct nest_problem unlimited = *problem;
    unlimited.memory_limit = INT64_MAX / 4;
    struct nest_result result;
    return nest_cli_solve(cli, &unlimited, 1, &cli->arena, &result) == NEST_OK
               ? result.solution[0].prediction.step
               : 0;
}

/* What devices that are down cost; all zero where nothing is, or it cannot be told. */
static struct nest_loss find_loss(struct nest_cli *cli, const struct nest_problem *problem,
                                  const struct nest_solution *best)
{
    const struct nest_solve_options how = {
        .top = 1,
        .threads = nest_cli_threads(cli),
        .exhaustive = nest_args_has(&cli->args, NEST_OPT_EXHAUSTIVE),
    };
    struct nest_loss loss = {0};
    if (nest_solve_loss(problem, &how, best, &cli->arena, &loss) != NEST_OK) {
        loss = (struct nest_loss){0};
    }
    return loss;
}

static int print_report(struct nest_cli *cli, const struct nest_outcome *outcome)
{
    struct nest_binding binding;
    if (!nest_plan_bind(outcome->problem, outcome->plan, outcome->prediction, &cli->arena,
                        &binding)) {
        return nest_cli_fail(cli, NEST_NO_MEMORY);
    }
    const struct nest_report report = {outcome, &binding, solve_unlimited(cli, outcome->problem)};
    nest_report_write(&report, nest_style_for(cli), cli->out);
    return NEST_EXIT_DONE;
}

static int print_nothing_found(struct nest_cli *cli, const struct nest_loaded *loaded,
                               const struct nest_result *result, bool json)
{
    const struct nest_outcome outcome = {
        .scenario = &loaded->scenario,
        .problem = &loaded->problem,
        .search = &result->progress,
        .errors = &result->errors,
    };
    if (json && !nest_cli_json(cli, &outcome)) {
        return nest_cli_fail(cli, NEST_NO_MEMORY);
    }
    cli->errors = result->errors;
    nest_cli_warn(cli, "no feasible plan");
    return nest_cli_fail(cli, NEST_NO);
}

static int run(struct nest_cli *cli)
{
    struct nest_loaded loaded;
    const bool json = nest_args_has(&cli->args, NEST_OPT_JSON);
    const int top =
        (int)nest_args_integer(&cli->args, NEST_OPT_TOP, "top", 1, TOP_MAX, 0, &cli->errors);
    if (cli->errors.count > 0) {
        return nest_cli_usage_failure(cli);
    }
    const enum nest_status status = nest_cli_load(cli, true, &loaded);
    if (status != NEST_OK) {
        return nest_cli_fail(cli, status);
    }
    const int wanted = top > 0 ? top : json ? 1 : ALTERNATIVES + 1;
    struct nest_result result;
    const enum nest_status solved =
        nest_cli_solve(cli, &loaded.problem, wanted, &cli->arena, &result);
    if (solved == NEST_NO) {
        return print_nothing_found(cli, &loaded, &result, json);
    }
    if (solved != NEST_OK) {
        return nest_cli_fail(cli, solved);
    }
    const struct nest_loss loss = find_loss(cli, &loaded.problem, result.solution);
    const struct nest_outcome outcome = {
        .scenario = &loaded.scenario,
        .problem = &loaded.problem,
        .loss = &loss,
        .plan = &result.solution[0].plan,
        .prediction = &result.solution[0].prediction,
        .search = &result.progress,
        .alternatives = result.count - 1,
        .alternative = result.solution + 1,
        .touched = nest_cli_touched(cli, &loaded.problem, &result.solution[0].plan,
                                    &result.solution[0].prediction),
    };
    if (json) {
        return nest_cli_json(cli, &outcome) ? NEST_EXIT_DONE : NEST_EXIT_BAD;
    }
    return print_report(cli, &outcome);
}
