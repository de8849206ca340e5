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

#endif
