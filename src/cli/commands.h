/* The commands, one file each. */
#ifndef NEST_CLI_COMMANDS_H
#define NEST_CLI_COMMANDS_H

#include "cli/context.h"

extern const struct nest_command nest_command_explore;
extern const struct nest_command nest_command_solve;
extern const struct nest_command nest_command_eval;
extern const struct nest_command nest_command_compare;
extern const struct nest_command nest_command_sweep;
extern const struct nest_command nest_command_export;
extern const struct nest_command nest_command_import;
extern const struct nest_command nest_command_check;
extern const struct nest_command nest_command_show;
extern const struct nest_command nest_command_lua;
extern const struct nest_command nest_command_validate;
extern const struct nest_command nest_command_completion;
extern const struct nest_command nest_command_man;

#endif
