/* `nest export`: a plan as a framework's launch configuration. */
#include <string.h>

#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/planned.h"
#include "export/export.h"

static int run(struct nest_cli *cli);

#define FORMATS "megatron nemo deepspeed torchtitan torchtitan-toml rankmap dot json"

static const struct nest_option options[] = {
    {NEST_OPT_TO, "to", 't', "FORMAT", "One of " FORMATS, FORMATS},
    {NEST_OPT_PLAN, "plan", 0, "FILE", "The plan; without it the best one is searched",
     NEST_COMPLETE_FILE},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_export = {
    .name = "export",
    .operands = "[SCENARIO]",
    .summary = "Write a plan as a framework's launch configuration",
    .text =
        "What the framework cannot express is lowered to the nearest plan that it can, with its\n"
        "cost computed again, or refused with status 1; either is said on standard error.\n"
        "\n"
        "Example:\n"
        "  nest export --to megatron --model llama3-70b --cluster h100-spine-leaf >run.sh",
    .options = options,
    .scenario = true,
    .complete = NEST_COMPLETE_FILE,
    .least = 0,
    .most = 1,
    .run = run,
};

enum { DOCUMENT_MAX = 1 << 28 };

static const struct nest_export_format *find_format(const char *name)
{
    const struct nest_export_format *format = nest_export_formats;
    while (format->name != NULL && strcmp(format->name, name) != 0) {
        format++;
    }
    return format;
}

static int unknown_format(struct nest_cli *cli, const char *name)
{
    if (name == NULL) {
        return nest_cli_usage(cli, "one of " FORMATS, "no --to given");
    }
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, name);
    for (const struct nest_export_format *f = nest_export_formats; f->name != NULL; f++) {
        nest_suggest_offer(&suggest, f->name);
    }
    const char *hint = suggest.best != NULL
                           ? nest_arena_printf(&cli->arena, "did you mean '%s'?", suggest.best)
                           : "one of " FORMATS;
    return nest_cli_usage(cli, hint, "--to: unknown format '%s'", name);
}

static int write_format(struct nest_cli *cli, const struct nest_export_format *format,
                        const struct nest_planned *planned)
{
    const struct nest_export in = {
        .scenario = &planned->loaded.scenario,
        .problem = &planned->loaded.problem,
        .plan = &planned->plan,
        .prediction = &planned->prediction,
        .arena = &cli->arena,
    };
    struct nest_notes notes = {.arena = &cli->arena};
    struct nest_strbuf out = NEST_STRBUF_INIT(DOCUMENT_MAX);
    const enum nest_status status = format->write(&in, &out, &notes, &cli->errors);
    for (int i = 0; i < notes.count; i++) {
        nest_cli_warn(cli, "%s", notes.text[i]);
    }
    if (status == NEST_OK) {
        (void)fputs(nest_strbuf_text(&out), cli->out);
    }
    nest_strbuf_free(&out);
    return status == NEST_OK ? NEST_EXIT_DONE : nest_cli_fail(cli, status);
}

static int run(struct nest_cli *cli)
{
    const char *name = nest_args_value(&cli->args, NEST_OPT_TO);
    const bool json = name != NULL && strcmp(name, "json") == 0;
    const struct nest_export_format *format = name != NULL && !json ? find_format(name) : NULL;
    if (!json && (format == NULL || format->name == NULL)) {
        return unknown_format(cli, name);
    }
    struct nest_planned planned;
    const enum nest_status status = nest_cli_plan(cli, true, &planned);
    if (status != NEST_OK) {
        return nest_cli_fail(cli, status);
    }
    if (!planned.prediction.feasible) {
        return nest_cli_tell_infeasible(cli, &planned.prediction);
    }
    if (!json) {
        return write_format(cli, format, &planned);
    }
    const struct nest_outcome outcome = {
        .scenario = &planned.loaded.scenario,
        .problem = &planned.loaded.problem,
        .plan = &planned.plan,
        .prediction = &planned.prediction,
    };
    return nest_cli_json(cli, &outcome) ? NEST_EXIT_DONE : NEST_EXIT_BAD;
}
