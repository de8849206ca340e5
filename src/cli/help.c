#include "cli/help.h"

#include <string.h>

/* Columns that UTF-8 text takes: one per character, which holds for our own texts. */
static int columns(const char *text)
{
    int n = 0;
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return n;
}

static void pad(FILE *out, int from, int to)
{
    for (; from < to; from++) {
        (void)fputc(' ', out);
    }
}

/* The default command is plain `nest`. */
static bool is_default(const struct nest_command *command)
{
    return command == nest_commands[0];
}

void nest_help_usage(const struct nest_command *command, FILE *out)
{
    (void)fprintf(out, "nest%s%s [OPTION…]%s%s", is_default(command) ? "" : " ",
                  is_default(command) ? "" : command->name, command->operands[0] != '\0' ? " " : "",
                  command->operands);
}

static void print_option(const struct nest_option *option, FILE *out)
{
    enum { HELP_COLUMN = 27 };
    int at = fprintf(out, option->letter != 0 ? "  -%c, " : "      ", option->letter);
    (void)fprintf(out, "--%s%s%s", option->name, option->argument != NULL ? " " : "",
                  option->argument != NULL ? option->argument : "");
    at += 2 + (int)strlen(option->name);
    at += option->argument != NULL ? 1 + columns(option->argument) : 0;
    if (at + 2 > HELP_COLUMN) {
        (void)fputc('\n', out);
        at = 0;
    }
    pad(out, at, HELP_COLUMN);
    (void)fprintf(out, "%s\n", option->help);
}

void nest_help_command(const struct nest_command *command, FILE *out)
{
    (void)fputs("Usage: ", out);
    nest_help_usage(command, out);
    (void)fprintf(out, "\n%s.\n", command->summary);
    if (command->text != NULL) {
        (void)fprintf(out, "\n%s\n", command->text);
    }
    const struct nest_option *tables[4];
    nest_command_tables(command, tables);
    (void)fputs("\nOptions:\n", out);
    for (int t = 0; t < 4 && tables[t] != NULL; t++) {
        for (const struct nest_option *option = tables[t]; option->id != NEST_OPT_END; option++) {
            print_option(option, out);
        }
    }
    (void)fputs("\nExit status: 0 done, 1 no feasible plan, 2 bad input or usage.\n", out);
}

void nest_help_overview(FILE *out)
{
    enum { HELP_COLUMN = 14 };
    (void)fputs("nest plans the training of large models on real clusters.\n\nUsage: ", out);
    nest_help_usage(nest_commands[0], out);
    (void)fputs("\n       nest COMMAND [OPTION…] …\n\n", out);
    for (int i = 0; nest_commands[i] != NULL; i++) {
        const struct nest_command *command = nest_commands[i];
        if (!command->hidden && i > 0) {
            const int at = fprintf(out, "  %s", command->name);
            pad(out, at, HELP_COLUMN);
            (void)fprintf(out, "%s\n", command->summary);
        }
    }
    (void)fputs("\nWithout a command nest opens the explorer:\n\n", out);
    const struct nest_option *tables[4];
    nest_command_tables(nest_commands[0], tables);
    for (int t = 0; t < 4 && tables[t] != NULL; t++) {
        for (const struct nest_option *option = tables[t]; option->id != NEST_OPT_END; option++) {
            print_option(option, out);
        }
    }
    (void)fputs(
        "\n`nest COMMAND --help` explains a command. Results go to standard output, messages "
        "to\nstandard error. Exit status: 0 done, 1 no feasible plan, 2 bad input or "
        "usage.\n",
        out);
}
