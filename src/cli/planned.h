/* The plan that a command is about: given by --plan, or else found or built. */
#ifndef NEST_CLI_PLANNED_H
#define NEST_CLI_PLANNED_H

#include "cli/scenario.h"
#include "solve/solve.h"

struct nest_planned {
    struct nest_loaded loaded;
    struct nest_plan plan;
    struct nest_prediction prediction;
    const char **assumed; /* what the pins left open, NULL-ended; empty for --plan and a search */
};

/* Loads the scenario. With --plan reads that plan; else searches for the best one where search is
 * true, or builds the one that the pins describe. Prices it. Faults are added to cli->errors; the
 * plan may be infeasible where it was given. */
enum nest_status nest_cli_plan(struct nest_cli *cli, bool search, struct nest_planned *out);

/* Says which stage is over the limit and by how much; returns status 1. */
int nest_cli_tell_infeasible(struct nest_cli *cli, const struct nest_prediction *prediction);

#endif
