/* The report of `nest validate`: verdicts, and their errors by group. */
#ifndef NEST_CLI_VALIDATION_H
#define NEST_CLI_VALIDATION_H

#include <stdio.h>

#include "cli/collectives.h"
#include "input/peer.h"
#include "plan/judge.h"

struct nest_validation_entry {
    const struct nest_measurement *run;
    struct nest_verdict verdict; /* measured 0: a run that ran out of memory */
    bool feasible;
    enum nest_recompute recompute; /* as predicted */
    struct nest_breakdown breakdown;
};

struct nest_validation {
    struct nest_arena *arena;
    int runs;
    const struct nest_measurement **run;
    int entries;
    struct nest_validation_entry *entry; /* at most two for each run */
    int skipped;                         /* runs that could not be rebuilt */
    struct nest_collectives collectives;
    int peers;
    const struct nest_peer_prediction *peer; /* other models', in the order read */
};

/* Adds a table's runs. False when memory is out. */
bool nest_validation_add(struct nest_validation *report, const struct nest_measurement *runs,
                         int count);

/* Adds a table of other models' predictions. False when memory is out. */
bool nest_validation_add_peers(struct nest_validation *report,
                               const struct nest_peer_prediction *peers, int count);

/* Keeps the verdicts of one run. */
void nest_validation_record(struct nest_validation *report, const struct nest_measurement *run,
                            const struct nest_judged *judged);

void nest_validation_print(const struct nest_validation *report, FILE *out);

/* The errors of fully stated runs as Markdown tables, as the README has them. */
void nest_validation_markdown(const struct nest_validation *report, FILE *out);

/* False when memory is out; nothing is printed then. */
bool nest_validation_json(const struct nest_validation *report, FILE *out);

#endif
