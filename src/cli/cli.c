#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/request.h"
#include "cli/version.h"
#include "script/scripts.h"
#include "script/topology.h"

enum { OUTPUT_BUFFER = 1 << 20 };

const struct nest_command *const nest_commands[] = {
    // clang-format off
    &nest_command_explore,
    &nest_command_solve,
    &nest_command_eval,
    &nest_command_compare,
    &nest_command_sweep,
    &nest_command_export,
    &nest_command_import,
    &nest_command_check,
    &nest_command_show,
    &nest_command_lua,
    &nest_command_validate,
    &nest_command_completion,
    &nest_command_man,
    NULL,
    // clang-format on
};

const struct nest_command *nest_command_find(const char *name)
{
    for (int i = 0; nest_commands[i] != NULL; i++) {
        if (strcmp(nest_commands[i]->name, name) == 0) {
            return nest_commands[i];
        }
    }
    return NULL;
}

/* "nest solve: " or "nest: ". */
static void print_who(const struct nest_cli *cli)
{
    const bool named = cli->command != nest_commands[0];
    (void)fprintf(cli->err, "nest%s%s: ", named ? " " : "", named ? cli->command->name : "");
}

int nest_cli_fail(struct nest_cli *cli, enum nest_status status)
{
    nest_errors_sort(&cli->errors);
    for (size_t i = 0; i < cli->errors.count; i++) {
        struct nest_strbuf line = NEST_STRBUF_INIT(1 << 16);
        nest_error_format(&cli->errors.item[i], &line);
        if (cli->errors.item[i].mark.file == NULL) {
            print_who(cli);
        }
        (void)fputs(nest_strbuf_text(&line), cli->err);
        nest_strbuf_free(&line);
    }
    if (cli->errors.dropped > 0) {
        print_who(cli);
        (void)fprintf(cli->err, "%zu more errors\n", cli->errors.dropped);
    }
    if (status == NEST_NO_MEMORY) {
        print_who(cli);
        (void)fputs("out of memory\n", cli->err);
    }
    return status == NEST_OK ? NEST_EXIT_DONE : status == NEST_NO ? NEST_EXIT_NO : NEST_EXIT_BAD;
}

int nest_cli_usage_failure(struct nest_cli *cli)
{
    (void)nest_cli_fail(cli, NEST_BAD_INPUT);
    const bool named = cli->command != nest_commands[0];
    (void)fprintf(cli->err, "try: nest%s%s --help\n", named ? " " : "",
                  named ? cli->command->name : "");
    return NEST_EXIT_BAD;
}

int nest_cli_usage(struct nest_cli *cli, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = nest_arena_vprintf(&cli->arena, format, args);
    va_end(args);
    nest_errors_add(&cli->errors, (struct nest_mark){NULL, 0, 0}, NULL, hint, "%s",
                    message != NULL ? message : format);
    return nest_cli_usage_failure(cli);
}

void nest_cli_warn(struct nest_cli *cli, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_who(cli);
    (void)vfprintf(cli->err, format, args);
    (void)fputc('\n', cli->err);
    va_end(args);
}

/* A first word that is no command, no option and no file is a mistyped command. */
static bool is_mistyped(const char *word)
{
    return word[0] != '-' && strpbrk(word, "./") == NULL && access(word, F_OK) != 0;
}

static int unknown_command(struct nest_cli *cli, const char *word)
{
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, word);
    for (int i = 0; nest_commands[i] != NULL; i++) {
        nest_suggest_offer(&suggest, nest_commands[i]->name);
    }
    const char *hint = suggest.best != NULL
                           ? nest_arena_printf(&cli->arena, "did you mean '%s'?", suggest.best)
                           : NULL;
    return nest_cli_usage(cli, hint, "unknown command '%s'", word);
}

static int run_command(struct nest_cli *cli, int argc, char **argv)
{
    const enum nest_status status =
        nest_args_parse(cli->command, argc, argv, &cli->arena, &cli->args, &cli->errors);
    if (nest_args_has(&cli->args, NEST_OPT_HELP)) {
        if (cli->command == nest_commands[0]) {
            nest_help_overview(cli->out);
        } else {
            nest_help_command(cli->command, cli->out);
        }
        return NEST_EXIT_DONE;
    }
    if (nest_args_has(&cli->args, NEST_OPT_VERSION)) {
        (void)fprintf(cli->out, "%s\n", nest_version());
        return NEST_EXIT_DONE;
    }
    if (status == NEST_NO_MEMORY) {
        return nest_cli_fail(cli, status);
    }
    if (status == NEST_OK) {
        nest_cli_check_shared(cli);
    }
    if (cli->errors.count > 0) {
        return nest_cli_usage_failure(cli);
    }
    if (nest_library_find(&cli->arena, &cli->library) == NEST_NO_MEMORY) {
        return nest_cli_fail(cli, NEST_NO_MEMORY);
    }
    nest_topology_install(&cli->library);
    return cli->command->run(cli);
}

/* `nest help [COMMAND]` is `nest [COMMAND] --help`. */
static int dispatch(struct nest_cli *cli, int argc, char **argv)
{
    static char help[] = "--help";
    char *asked[] = {help};
    cli->command = nest_commands[0];
    if (argc > 1 && strcmp(argv[1], "help") == 0) {
        if (argc > 2) {
            cli->command = nest_command_find(argv[2]);
            if (cli->command == NULL) {
                cli->command = nest_commands[0];
                return unknown_command(cli, argv[2]);
            }
        }
        return run_command(cli, 1, asked);
    }
    const struct nest_command *named = argc > 1 ? nest_command_find(argv[1]) : NULL;
    if (named != NULL) {
        cli->command = named;
        return run_command(cli, argc - 2, argv + 2);
    }
    if (argc > 1 && is_mistyped(argv[1])) {
        return unknown_command(cli, argv[1]);
    }
    return run_command(cli, argc - 1, argv + 1);
}

bool nest_cli_flush(struct nest_cli *cli)
{
    errno = 0;
    if ((fflush(cli->out) != 0 || ferror(cli->out)) && cli->write_error == 0) {
        cli->write_error = errno != 0 ? errno : EIO;
    }
    return cli->write_error == 0;
}

int nest_cli_main(int argc, char **argv, const struct nest_explorer *explorer)
{
    static char buffer[OUTPUT_BUFFER];
    struct nest_cli cli = {.arena = NEST_ARENA_INIT, .out = stdout, .err = stderr};
    /* Written where nest_cli_flush sees why it fails, not on the way. */
    (void)setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    cli.explorer = explorer;
    nest_errors_init(&cli.errors, &cli.arena);
    int status = dispatch(&cli, argc, argv);
    nest_cli_flush(&cli);
    if (cli.write_error != 0) {
        if (cli.write_error != EPIPE) {
            (void)fprintf(stderr, "nest: cannot write the result: %s\n", strerror(cli.write_error));
        }
        status = status == NEST_EXIT_DONE ? NEST_EXIT_BAD : status;
    }
    nest_scripts_release(cli.scripts);
    nest_arena_free(&cli.arena);
    return status;
}
