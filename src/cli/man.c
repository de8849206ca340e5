/* `nest man`: the manual pages nest(1), written from the tables of commands and options, and
 * nest-lua(7), written from the reference of the scripting API. */
#include <string.h>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/version.h"
#include "script/reference.h"

enum { KEYS_MAX = 256 };

static int run(struct nest_cli *cli);

const struct nest_command nest_command_man = {
    .name = "man",
    .operands = "[lua]",
    .summary = "Print a manual page in roff",
    .hidden = true,
    .complete = "lua",
    .least = 0,
    .most = 1,
    .run = run,
};

/* Text with roff's special characters made plain; a line never starts a request. */
static void write_text(FILE *out, const char *text)
{
    bool start = true;
    for (; *text != '\0'; text++) {
        if (start && (*text == '.' || *text == '\'')) {
            (void)fputs("\\&", out);
        }
        start = *text == '\n';
        switch (*text) {
        case '\\':
            (void)fputs("\\e", out);
            break;
        case '-':
            (void)fputs("\\-", out);
            break;
        default:
            (void)fputc(*text, out);
        }
    }
}

static void write_options(FILE *out, const struct nest_option *option)
{
    for (; option->id != NEST_OPT_END; option++) {
        (void)fputs(".TP\n.B ", out);
        if (option->letter != 0) {
            (void)fprintf(out, "\\-%c, ", option->letter);
        }
        (void)fputs("\\-\\-", out);
        write_text(out, option->name);
        if (option->argument != NULL) {
            (void)fputs(" \\fI", out);
            write_text(out, option->argument);
            (void)fputs("\\fR", out);
        }
        (void)fputc('\n', out);
        write_text(out, option->help);
        (void)fputs(".\n", out);
    }
}

static void write_command(FILE *out, const struct nest_command *command)
{
    (void)fputs(".SS \"", out);
    nest_help_usage(command, out);
    (void)fputs("\"\n", out);
    write_text(out, command->summary);
    (void)fputs(".\n", out);
    if (command->text != NULL) {
        (void)fputs(".PP\n.nf\n", out);
        write_text(out, command->text);
        (void)fputs("\n.fi\n", out);
    }
    if (command->options != NULL) {
        write_options(out, command->options);
    }
    if (command->scenario) {
        (void)fputs(".PP\nAlso takes the scenario options below.\n", out);
    }
}

static void write_keys(FILE *out, const struct nest_explorer *explorer)
{
    const char *help = NULL;
    struct nest_strbuf keys = NEST_STRBUF_INIT(KEYS_MAX);
    (void)fputs(".SH KEYS OF THE EXPLORER\n", out);
    for (int i = 0; explorer->keys(i, &keys, &help); i++) {
        (void)fputs(".TP\n.B \"", out);
        write_text(out, nest_strbuf_text(&keys));
        (void)fputs("\"\n", out);
        write_text(out, help);
        (void)fputs(".\n", out);
        nest_strbuf_clear(&keys);
    }
    nest_strbuf_free(&keys);
}

/* The sections of the reference. */
static const struct {
    const char *title, *text;
} groups[] = {
    {"THE TABLE NEST", "Scripts run by nest lua, and the console of the explorer, see all "
                       "of it; cost overrides see cluster, curve, format, model and "
                       "parse."},
    {"SCENARIOS", "What nest.scenario returns; s stands for one."},
    {"COST OVERRIDES",
     "Functions that stand in place of parts of the cost model: given to s:override, or returned "
     "in "
     "a table by a file that a scenario lists under scripts: or that --script names. Figures that "
     "one changed are marked with * in reports and in the explorer; nest eval --explain tells "
     "their "
     "defaults."},
    {"CLUSTERS", "The words in which topologies are written; a file in topologies/ returns a "
                 "cluster."},
};

enum { GROUPS = sizeof groups / sizeof groups[0] };

static int group_of(const struct nest_reference *entry)
{
    if (strncmp(entry->text, "Hook:", 5) == 0) {
        return 2;
    }
    return strncmp(entry->name, "nest.", 5) == 0 ? 0 : strncmp(entry->name, "s:", 2) == 0 ? 1 : 3;
}

static void write_entry(FILE *out, const struct nest_reference *entry)
{
    (void)fputs(".SS \"", out);
    for (const char *at = entry->signature; *at != '\0'; at++) {
        if (*at == '"') {
            (void)fputs("\\(dq", out);
        } else {
            char one[2] = {*at, '\0'};
            write_text(out, one);
        }
    }
    (void)fputs("\"\n", out);
    write_text(out, entry->text);
    (void)fputs("\n.PP\n.RS\n.nf\n", out);
    write_text(out, entry->example);
    (void)fputs(".fi\n.RE\n", out);
}

static int write_lua(FILE *out)
{
    (void)fprintf(out, ".TH NEST\\-LUA 7 \"\" \"%s\" \"nest\"\n", nest_version());
    (void)fputs(
        ".SH NAME\nnest\\-lua \\- clusters, cost overrides and scripts of nest in Lua\n"
        ".SH DESCRIPTION\n"
        "nest runs Lua 5.4 in a sandbox: no files, no processes, no bytecode, and limits\n"
        "on time, memory and output. A cluster may be a Lua program, costs may be\n"
        "overridden by Lua functions, and nest lua FILE runs a script against the planner.\n"
        "Quantities are numbers of SI units or texts such as \"400Gb/s\".\n",
        out);
    for (int g = 0; g < GROUPS; g++) {
        (void)fprintf(out, ".SH %s\n", groups[g].title);
        write_text(out, groups[g].text);
        (void)fputc('\n', out);
        for (const struct nest_reference *entry = nest_references; entry->name; entry++) {
            if (group_of(entry) == g) {
                write_entry(out, entry);
            }
        }
    }
    (void)fputs(".SH SEE ALSO\n.BR nest (1)\n", out);
    return NEST_EXIT_DONE;
}

static int run(struct nest_cli *cli)
{
    FILE *out = cli->out;
    if (cli->args.operand_count > 0) {
        return strcmp(cli->args.operand[0], "lua") == 0
                   ? write_lua(out)
                   : nest_cli_usage(cli, "lua, or nothing for nest(1)", "no such page: %s",
                                    cli->args.operand[0]);
    }
    (void)fprintf(out, ".TH NEST 1 \"\" \"%s\" \"User Commands\"\n", nest_version());
    (void)fputs(".SH NAME\nnest \\- plan the training of large models on real clusters\n"
                ".SH SYNOPSIS\n.B nest\n[\\fISCENARIO\\fR] [\\fIOPTION\\fR]...\n.br\n.B nest\n"
                "\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH DESCRIPTION\n"
                "One exact dynamic program chooses tensor, pipeline, data, expert, sequence and\n"
                "context parallelism, ZeRO, recomputation and the placement in the network\n"
                "hierarchy, with compute, network and memory in one recurrence. Without a command\n"
                "and on a terminal, an explorer opens in which every figure can be edited and the\n"
                "plan follows. Results go to standard output, messages to standard error.\n"
                ".SH COMMANDS\n",
                out);
    for (int i = 0; nest_commands[i] != NULL; i++) {
        if (!nest_commands[i]->hidden) {
            write_command(out, nest_commands[i]);
        }
    }
    (void)fputs(".SH SCENARIO OPTIONS\n", out);
    write_options(out, nest_options_scenario);
    (void)fputs(".SH COMMON OPTIONS\n", out);
    write_options(out, nest_options_common);
    if (cli->explorer != NULL) {
        write_keys(out, cli->explorer);
    }
    (void)fputs(".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\nThe answer is no: no feasible plan, "
                "or an illegal or infeasible configuration.\n.TP\n.B 2\nBad input or usage.\n"
                ".SH ENVIRONMENT\n.TP\n.B NEST_DATA\nThe folder that holds models/ and "
                "topologies/.\n.TP\n.B NO_COLOR\nIf not empty, no colours.\n"
                ".SH SEE ALSO\n.BR nest\\-lua (7)\n",
                out);
    return NEST_EXIT_DONE;
}
