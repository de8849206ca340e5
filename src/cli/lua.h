/* Running scripts from the command line. */
#ifndef NEST_CLI_LUA_H
#define NEST_CLI_LUA_H

#include "cli/context.h"

/* Runs the script at path ("-" is standard input) with its arguments, prints what it prints, and
 * its fault with the traceback. Returns the exit status. */
int nest_cli_script(struct nest_cli *cli, const char *path, int arguments,
                    const char *const *argument);

/* Runs the shipped lesson of that number without a screen; --set and --pin are the learner's edits.
 * Returns the exit status. */
int nest_cli_lesson(struct nest_cli *cli, int number);

/* Says that there is no lesson of that number. */
int nest_cli_no_lesson(struct nest_cli *cli, int number);

/* Prints the titles of the shipped lessons. */
int nest_cli_lessons(struct nest_cli *cli);

/* --set and --pin as one list of PATH=VALUE and KEY=VALUE, in the command line's arena. */
const char *const *nest_cli_edits(struct nest_cli *cli, int *count);

#endif
