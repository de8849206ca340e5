/* What every command gets: its arguments, an arena for the whole run, and the two outputs. */
#ifndef NEST_CLI_CONTEXT_H
#define NEST_CLI_CONTEXT_H

#include <stdio.h>

#include "cli/cli.h"
#include "cli/option.h"

enum nest_exit { NEST_EXIT_DONE = 0, NEST_EXIT_NO = 1, NEST_EXIT_BAD = 2 };

struct nest_cli {
    const struct nest_command *command;
    struct nest_args args;
    struct nest_arena arena; /* freed when the command is over */
    struct nest_errors errors;
    struct nest_library library;          /* of shipped data; found before the command runs */
    const struct nest_explorer *explorer; /* NULL: none */
    struct nest_scripts *scripts; /* of the scenario that was loaded; released with the command */
    FILE *out, *err;
    int write_error; /* errno of the first failure to write out; 0: none */
};

/* All commands in the order of the help; ends with a NULL name. The first is the explorer's, which
 * is taken when no command is named. */
extern const struct nest_command *const nest_commands[];

/* The command of that name, or NULL. */
const struct nest_command *nest_command_find(const char *name);

/* Writes out what is buffered; false when the result cannot be written any more. */
bool nest_cli_flush(struct nest_cli *cli);

/* Prints every collected error to err, one line each, after "nest COMMAND: " where it has no place
 * of its own. Returns the exit status that belongs to status. */
int nest_cli_fail(struct nest_cli *cli, enum nest_status status);

/* Prints the collected errors and "try: nest COMMAND --help"; returns status 2. */
int nest_cli_usage_failure(struct nest_cli *cli);

/* Adds a fault of the command line and fails with status 2. */
int nest_cli_usage(struct nest_cli *cli, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A warning on err: "nest COMMAND: …". */
void nest_cli_warn(struct nest_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
