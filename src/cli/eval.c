/* `nest eval`: predicts one given configuration and never searches. */
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/planned.h"
#include "cli/report.h"
#include "plan/explain.h"

static int run(struct nest_cli *cli);

static const struct nest_option options[] = {
    {NEST_OPT_PLAN, "plan", 0, "FILE", "The plan: a plan file or the --json output of nest solve",
     NEST_COMPLETE_FILE},
    {NEST_OPT_EXPLAIN, "explain", 0, NULL,
     "Print where every millisecond and byte comes from, formula and numbers", NULL},
    {NEST_OPT_JSON, "json", 'j', NULL, "Print JSON", NULL},
    {NEST_OPT_COLOR, "color", 0, "WHEN", "Colours: auto, always or never", "auto always never"},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_eval = {
    .name = "eval",
    .operands = "[SCENARIO]",
    .summary = "Predict a given configuration",
    .text = "The configuration is a plan file or pins; what is not pinned is filled in and listed\n"
            "as assumed: pp, cp, ep, etp, virtual_stages and micro_batch 1, dp what is left, sp\n"
            "with tp > 1, zero 1 with dp*cp > 1, recompute none, order tp-cp-dp-pp.\n"
            "\n"
            "Examples:\n"
            "  nest eval --model llama3-70b --cluster h100-spine-leaf --pin tp=8,pp=4,zero=1\n"
            "  nest solve --json >plan.json && nest eval --plan plan.json",
    .options = options,
    .scenario = true,
    .complete = NEST_COMPLETE_FILE,
    .least = 0,
    .most = 1,
    .run = run,
};

static bool explain(struct nest_cli *cli, const struct nest_outcome *outcome)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(1 << 20);
    nest_explain(outcome->problem, outcome->plan, outcome->prediction, &text);
    if (outcome->touched) {
        nest_strbuf_add(&text, "\n");
        nest_explain_touched(outcome->problem, outcome->plan, outcome->prediction, outcome->touched,
                             &text);
    }
    const bool whole = !text.failed;
    if (whole) {
        (void)fprintf(cli->out, "\n%s", nest_strbuf_text(&text));
    }
    nest_strbuf_free(&text);
    return whole;
}

static int run(struct nest_cli *cli)
{
    struct nest_planned planned;
    const enum nest_status status = nest_cli_plan(cli, false, &planned);
    if (status != NEST_OK) {
        return nest_cli_fail(cli, status);
    }
    const struct nest_outcome outcome = {
        .scenario = &planned.loaded.scenario,
        .problem = &planned.loaded.problem,
        .plan = &planned.plan,
        .prediction = &planned.prediction,
        .assumed = planned.assumed,
        .touched =
            nest_cli_touched(cli, &planned.loaded.problem, &planned.plan, &planned.prediction),
    };
    if (nest_args_has(&cli->args, NEST_OPT_JSON)) {
        if (!nest_cli_json(cli, &outcome)) {
            return NEST_EXIT_BAD;
        }
    } else {
        struct nest_binding binding;
        if (!nest_plan_bind(outcome.problem, &planned.plan, &planned.prediction, &cli->arena,
                            &binding)) {
            return nest_cli_fail(cli, NEST_NO_MEMORY);
        }
        const struct nest_report report = {&outcome, &binding, 0};
        nest_report_write(&report, nest_style_for(cli), cli->out);
        if (nest_args_has(&cli->args, NEST_OPT_EXPLAIN) && !explain(cli, &outcome)) {
            return nest_cli_fail(cli, NEST_NO_MEMORY);
        }
    }
    return planned.prediction.feasible ? NEST_EXIT_DONE
                                       : nest_cli_tell_infeasible(cli, &planned.prediction);
}
