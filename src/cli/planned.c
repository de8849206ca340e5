#include "cli/planned.h"

#include <inttypes.h>

#include "cli/output.h"
#include "input/set.h"
#include "plan/words.h"
#include "solve/enumerate.h"

/* The file's number of microbatches belongs to its global batch, which is that of the scenario. */
static enum nest_status check_microbatches(struct nest_cli *cli, const struct nest_plan_spec *spec,
                                           const struct nest_planned *planned)
{
    const struct nest_plan *plan = &planned->plan;
    if (spec->microbatches == 0 || spec->microbatches == plan->microbatches) {
        return NEST_OK;
    }
    nest_errors_add(&cli->errors, spec->microbatches_mark, NULL,
                    "expected that number, the --set global_batch of the plan, or no microbatches",
                    "microbatches is %" PRId64 ", but the global batch of %" PRId64
                    " with micro batch %" PRId64 " and dp %" PRId64 " makes %" PRId64,
                    spec->microbatches, planned->loaded.problem.train.global_batch,
                    plan->strategy.micro_batch, nest_strategy_dp(&plan->strategy),
                    plan->microbatches);
    return NEST_BAD_INPUT;
}

static enum nest_status read_plan(struct nest_cli *cli, const char *path, struct nest_planned *out)
{
    struct nest_plan_spec spec;
    enum nest_status status = nest_load_plan(path, &cli->arena, &spec, &cli->errors);
    if (status == NEST_OK) {
        status =
            nest_plan_from_spec(&out->loaded.problem, &spec, &cli->arena, &out->plan, &cli->errors);
    }
    return status == NEST_OK ? check_microbatches(cli, &spec, out) : status;
}

/* A plan leaves nothing to pin: what is pinned beside it must be what it has. */
static enum nest_status check_pins(struct nest_cli *cli, const struct nest_planned *planned)
{
    const struct nest_scenario_spec *scenario = &planned->loaded.scenario;
    bool fine = true;
    for (int key = 0; key < NEST_PINS && nest_args_has(&cli->args, NEST_OPT_PIN); key++) {
        const bool by_stage = (key == NEST_PIN_TP && scenario->allow_stage_tp) ||
                              (key == NEST_PIN_ZERO && scenario->allow_stage_zero);
        if (!by_stage &&
            !nest_pin_allows(&scenario->pins.pin[key],
                             nest_plan_value(&planned->plan, (enum nest_pin_key)key))) {
            fine = false;
            nest_errors_add(&cli->errors, (struct nest_mark){NULL, 0, 0}, NULL,
                            "leave --pin away, or change the plan",
                            "the plan has another %s than --pin",
                            nest_pin_key_word((enum nest_pin_key)key));
        }
    }
    return fine ? NEST_OK : NEST_BAD_INPUT;
}

static enum nest_status search_plan(struct nest_cli *cli, struct nest_planned *out)
{
    struct nest_result result;
    const enum nest_status status =
        nest_cli_solve(cli, &out->loaded.problem, 1, &cli->arena, &result);
    if (status == NEST_NO) {
        cli->errors = result.errors;
    }
    if (status == NEST_OK) {
        out->plan = result.solution[0].plan;
    }
    return status;
}

/* With a plan in hand, what was collected are warnings: what a framework would change silently. */
static void print_warnings(struct nest_cli *cli)
{
    for (size_t i = 0; i < cli->errors.count; i++) {
        const struct nest_error *warning = &cli->errors.item[i];
        nest_cli_warn(cli, "warning: %s%s%s", warning->message, warning->hint ? "; " : "",
                      warning->hint ? warning->hint : "");
    }
    cli->errors.count = 0;
}

enum nest_status nest_cli_plan(struct nest_cli *cli, bool search, struct nest_planned *out)
{
    static const char *none[] = {NULL};
    out->assumed = none;
    enum nest_status status = nest_cli_load(cli, true, &out->loaded);
    if (status != NEST_OK) {
        return status;
    }
    const struct nest_problem *problem = &out->loaded.problem;
    const char *path = nest_args_value(&cli->args, NEST_OPT_PLAN);
    if (path != NULL) {
        status = read_plan(cli, path, out);
        status = status == NEST_OK ? check_pins(cli, out) : status;
    } else if (search) {
        status = search_plan(cli, out);
    } else {
        status = nest_plan_from_pins(problem, &cli->arena, &out->plan, &out->assumed, &cli->errors);
    }
    if (status != NEST_OK) {
        return status;
    }
    print_warnings(cli);
    if (!nest_plan_evaluate(problem, &out->plan, &cli->arena, &out->prediction)) {
        return NEST_NO_MEMORY;
    }
    return nest_problem_fault(problem, &cli->errors);
}

int nest_cli_tell_infeasible(struct nest_cli *cli, const struct nest_prediction *prediction)
{
    const double gib = 1024.0 * 1024.0 * 1024.0;
    const int worst = prediction->worst_stage;
    const int64_t limit = nest_stage_limit(prediction, worst);
    const int64_t total = prediction->stage[worst].memory.total;
    nest_cli_warn(cli, "infeasible: stage %d needs %.2f GiB, %.2f GiB over the limit of %.2f GiB",
                  worst, (double)total / gib, (double)(total - limit) / gib, (double)limit / gib);
    return NEST_EXIT_NO;
}
