/* From the shared options to what the loaders take. */
#ifndef NEST_CLI_REQUEST_H
#define NEST_CLI_REQUEST_H

#include "cli/context.h"

/* Gathers --model, --cluster, --scenario (or the first operand when scenario_operand), --set and
 * --pin. Its arrays live in the command's arena. */
struct nest_scenario_request nest_cli_request(struct nest_cli *cli, bool scenario_operand);

/* --color; adds an error when it is none of the words. */
enum nest_color nest_cli_color(struct nest_cli *cli);

/* --threads, at least 1; the default is what the machine has online. */
int nest_cli_threads(struct nest_cli *cli);

/* --seed; 1 where it is not given. */
int64_t nest_cli_seed(struct nest_cli *cli);

/* Adds an error for every shared option whose value is not valid. */
void nest_cli_check_shared(struct nest_cli *cli);

#endif
