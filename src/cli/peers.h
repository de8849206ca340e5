/* The part of `nest validate` about other cost models: their errors beside ours on the same runs.
 */
#ifndef NEST_CLI_PEERS_H
#define NEST_CLI_PEERS_H

#include <stdio.h>

#include "base/json.h"
#include "cli/validation.h"

/* Per peer, source and quantity, over the runs that are also in the report; nothing where there are
 * none. Out of memory, nothing is printed. */
void nest_peers_print(const struct nest_validation *report, FILE *out);
void nest_peers_markdown(const struct nest_validation *report, FILE *out);

/* "peers": a list, as a member of an open object. */
void nest_peers_json(const struct nest_validation *report, struct nest_json *json);

#endif
