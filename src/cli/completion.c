/* `nest completion SHELL`: completion scripts, written from the tables of commands and options. */
#include <string.h>

#include "cli/commands.h"

static int run(struct nest_cli *cli);

const struct nest_command nest_command_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "Print a completion script for a shell",
    .text = "bash:  source <(nest completion bash)\n"
            "zsh:   nest completion zsh >\"${fpath[1]}/_nest\"\n"
            "fish:  nest completion fish | source",
    .complete = "bash zsh fish",
    .least = 1,
    .most = 1,
    .run = run,
};

/* Shell text that prints the words for a completion kind; $NEST is the program. */
static void write_words(FILE *out, const char *kind)
{
    if (kind == NULL || strcmp(kind, NEST_COMPLETE_FILE) == 0) {
        return;
    }
    if (strcmp(kind, NEST_COMPLETE_MODEL) == 0) {
        (void)fputs("$(nest completion models 2>/dev/null)", out);
    } else if (strcmp(kind, NEST_COMPLETE_CLUSTER) == 0) {
        (void)fputs("$(nest completion clusters 2>/dev/null)", out);
    } else {
        (void)fputs(kind, out);
    }
}

static void write_option_names(FILE *out, const struct nest_command *command)
{
    const struct nest_option *tables[4];
    nest_command_tables(command, tables);
    for (int t = 0; t < 4 && tables[t] != NULL; t++) {
        for (const struct nest_option *option = tables[t]; option->id != NEST_OPT_END; option++) {
            (void)fprintf(out, " --%s", option->name);
        }
    }
}

static void write_command_names(FILE *out)
{
    for (int i = 1; nest_commands[i] != NULL; i++) {
        if (!nest_commands[i]->hidden) {
            (void)fprintf(out, " %s", nest_commands[i]->name);
        }
    }
}

/* case "COMMAND:--OPTION" → words for the option's argument. */
static void bash_arguments(FILE *out, const struct nest_command *command)
{
    const struct nest_option *tables[4];
    nest_command_tables(command, tables);
    for (int t = 0; t < 4 && tables[t] != NULL; t++) {
        for (const struct nest_option *option = tables[t]; option->id != NEST_OPT_END; option++) {
            if (option->argument == NULL) {
                continue;
            }
            (void)fprintf(out, "    %s:--%s) words=\"", command->name, option->name);
            write_words(out, option->complete);
            (void)fprintf(out, "\"; files=%d ;;\n",
                          option->complete != NULL &&
                              strcmp(option->complete, NEST_COMPLETE_FILE) == 0);
        }
    }
}

static void write_bash(FILE *out)
{
    (void)fputs("# Completion of nest for bash, written by `nest completion bash`.\n"
                "_nest() {\n"
                "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local command=explore words='' files=0\n"
                "    [ \"$COMP_CWORD\" -gt 1 ] && command=${COMP_WORDS[1]}\n"
                "    [ \"$word\" = = ] && word=''\n"
                "    [ \"$before\" = = ] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
                "    case $command:$before in\n",
                out);
    for (int i = 0; nest_commands[i] != NULL; i++) {
        bash_arguments(out, nest_commands[i]);
    }
    (void)fputs("    *)\n        files=1\n        case $command in\n", out);
    for (int i = 0; nest_commands[i] != NULL; i++) {
        const struct nest_command *command = nest_commands[i];
        (void)fprintf(out, "        %s) words=\"", command->name);
        write_words(out, command->complete);
        write_option_names(out, command);
        (void)fputs("\" ;;\n", out);
    }
    (void)fputs("        esac\n        [ \"$COMP_CWORD\" -eq 1 ] && words=\"$words", out);
    write_command_names(out);
    (void)fputs(" help\"\n        ;;\n    esac\n"
                "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
                "    if [ \"$files\" -eq 1 ] && [[ $word != -* ]]; then\n"
                "        local found\n"
                "        mapfile -t found < <(compgen -f -- \"$word\")\n"
                "        COMPREPLY+=(\"${found[@]}\")\n"
                "    fi\n"
                "}\n"
                "complete -o filenames -F _nest nest\n",
                out);
}

/* Text inside single quotes of zsh's _arguments and fish: no quotes, no brackets, no colons. */
static void write_plain(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("'[]:\\`$", *text) == NULL) {
            (void)fputc(*text, out);
        }
    }
}

static void zsh_argument(FILE *out, const char *name, const char *kind)
{
    (void)fputc(':', out);
    write_plain(out, name);
    (void)fputc(':', out);
    if (kind != NULL && strcmp(kind, NEST_COMPLETE_FILE) == 0) {
        (void)fputs("_files", out);
    } else if (kind != NULL && strcmp(kind, NEST_COMPLETE_MODEL) == 0) {
        (void)fputs("_nest_models", out);
    } else if (kind != NULL && strcmp(kind, NEST_COMPLETE_CLUSTER) == 0) {
        (void)fputs("_nest_clusters", out);
    } else if (kind != NULL) {
        (void)fprintf(out, "(%s)", kind);
    }
}

static void zsh_command(FILE *out, const struct nest_command *command)
{
    (void)fprintf(out, "    %s) _arguments -s", command->name);
    const struct nest_option *tables[4];
    nest_command_tables(command, tables);
    for (int t = 0; t < 4 && tables[t] != NULL; t++) {
        for (const struct nest_option *option = tables[t]; option->id != NEST_OPT_END; option++) {
            (void)fprintf(out, " \\\n        '*--%s[", option->name);
            write_plain(out, option->help);
            (void)fputc(']', out);
            if (option->argument != NULL) {
                zsh_argument(out, option->argument, option->complete);
            }
            (void)fputc('\'', out);
        }
    }
    if (command->operands[0] != '\0') {
        (void)fputs(" \\\n        '*", out);
        zsh_argument(out, command->operands, command->complete);
        (void)fputc('\'', out);
    }
    (void)fputs(" ;;\n", out);
}

static void write_zsh(FILE *out)
{
    (void)fputs("#compdef nest\n# Completion of nest for zsh, written by `nest completion zsh`.\n"
                "_nest_models() {\n"
                "    compadd -- ${(f)\"$(nest completion models 2>/dev/null)\"}\n    _files\n}\n"
                "_nest_clusters() {\n"
                "    compadd -- ${(f)\"$(nest completion clusters 2>/dev/null)\"}\n    _files\n}\n"
                "_nest() {\n    local command=explore\n"
                "    if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then\n"
                "        compadd --",
                out);
    write_command_names(out);
    (void)fputs(" help\n        _files\n        return\n    fi\n"
                "    if [[ ${words[2]} != -* ]]; then\n"
                "        command=${words[2]}\n        shift words\n        (( CURRENT-- ))\n"
                "    fi\n"
                "    case $command in\n",
                out);
    for (int i = 0; nest_commands[i] != NULL; i++) {
        zsh_command(out, nest_commands[i]);
    }
    (void)fputs("    esac\n}\n_nest \"$@\"\n", out);
}

static void fish_option(FILE *out, const char *condition, const struct nest_option *option)
{
    (void)fprintf(out, "complete -c nest -n '%s' -l %s", condition, option->name);
    if (option->letter != 0) {
        (void)fprintf(out, " -s %c", option->letter);
    }
    if (option->argument != NULL) {
        const bool file = option->complete != NULL && strcmp(option->complete, "FILE") == 0;
        (void)fputs(file ? " -r -F" : " -x", out);
        if (option->complete != NULL && !file) {
            (void)fputs(" -a '", out);
            const bool models = strcmp(option->complete, NEST_COMPLETE_MODEL) == 0;
            const bool clusters = strcmp(option->complete, NEST_COMPLETE_CLUSTER) == 0;
            (void)fputs(models     ? "(nest completion models)"
                        : clusters ? "(nest completion clusters)"
                                   : option->complete,
                        out);
            (void)fputc('\'', out);
        }
    }
    (void)fputs(" -d '", out);
    write_plain(out, option->help);
    (void)fputs("'\n", out);
}

static void write_fish(FILE *out)
{
    (void)fputs("# Completion of nest for fish, written by `nest completion fish`.\n", out);
    for (int i = 0; nest_commands[i] != NULL; i++) {
        const struct nest_command *command = nest_commands[i];
        char condition[96];
        if (i == 0) {
            (void)snprintf(condition, sizeof condition, "__fish_use_subcommand");
        } else {
            (void)snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s",
                           command->name);
            if (!command->hidden) {
                (void)fprintf(out, "complete -c nest -n __fish_use_subcommand -a %s -d '",
                              command->name);
                write_plain(out, command->summary);
                (void)fputs("'\n", out);
            }
        }
        const struct nest_option *tables[4];
        nest_command_tables(command, tables);
        for (int t = 0; t < 4 && tables[t] != NULL; t++) {
            for (const struct nest_option *o = tables[t]; o->id != NEST_OPT_END; o++) {
                fish_option(out, condition, o);
            }
        }
    }
}

/* The shipped names that the scripts above ask for, one a line. */
static int list_names(struct nest_cli *cli, const char *kind)
{
    const char **name = nest_library_list(&cli->library, kind, &cli->arena);
    for (; name != NULL && *name != NULL; name++) {
        (void)fprintf(cli->out, "%s\n", *name);
    }
    return NEST_EXIT_DONE;
}

static int run(struct nest_cli *cli)
{
    const char *shell = cli->args.operand[0];
    if (strcmp(shell, "models") == 0) {
        return list_names(cli, "models");
    }
    if (strcmp(shell, "clusters") == 0) {
        return list_names(cli, "topologies");
    }
    if (strcmp(shell, "bash") == 0) {
        write_bash(cli->out);
    } else if (strcmp(shell, "zsh") == 0) {
        write_zsh(cli->out);
    } else if (strcmp(shell, "fish") == 0) {
        write_fish(cli->out);
    } else {
        return nest_cli_usage(cli, "bash, zsh or fish", "no completion for '%s'", shell);
    }
    return NEST_EXIT_DONE;
}
