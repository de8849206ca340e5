/* --help, derived from the command and option tables. */
#ifndef NEST_CLI_HELP_H
#define NEST_CLI_HELP_H

#include "cli/context.h"

/* All commands, one line each. */
void nest_help_overview(FILE *out);

/* One command: usage, text, options. */
void nest_help_command(const struct nest_command *command, FILE *out);

/* "nest solve [OPTION…] [FILE]". */
void nest_help_usage(const struct nest_command *command, FILE *out);

#endif
