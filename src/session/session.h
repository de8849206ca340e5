/* The explorer without a screen: a live scenario, its edits with undo, and a solve in the
 * background.
 *
 * One thread (the UI, a script, a test) sends commands; a worker thread solves and publishes
 * snapshots. A snapshot is immutable and reference-counted: hold it, draw it, release it. */
#ifndef NEST_SESSION_SESSION_H
#define NEST_SESSION_SESSION_H

#include "input/spec.h"
#include "solve/solve.h"

struct nest_session;

/* What changed between two solves, in words. */
struct nest_change {
    const char *edit;      /* "spine.oversubscription 1:1 -> 4:1"; NULL at the start */
    nest_ps before, after; /* step times; 0 = infeasible */
    const char *plan;      /* "pp 4 -> 8, zero 1 -> 2"; NULL when the plan is the same */
    const char *why;       /* one sentence from the two breakdowns */
};

struct nest_snapshot {
    uint64_t generation;                       /* of the scenario it answers */
    bool solving;                              /* a newer solve is under way */
    bool dirty;                                /* edits since the last save */
    int undo, redo;                            /* how many steps there are */
    const struct nest_scenario_spec *scenario; /* with the edits applied */
    const struct nest_model *model;
    const struct nest_cluster *cluster;
    enum nest_status status; /* of the last finished solve */
    const struct nest_result
        *result;                   /* best and alternatives; count 0 = infeasible, errors say why */
    struct nest_progress progress; /* of the running solve, else the finished one's */
    struct nest_change change;
};

#endif
