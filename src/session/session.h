/* The explorer without a screen: a live scenario, its edits with undo, and a solve in the
 * background.
 *
 * One thread (the UI, a script, a test) sends commands; a worker thread solves and publishes
 * answers. A snapshot is immutable and holds counted references: take it, draw it, release it.
 *
 * A command builds a new document (scenario, expanded model, built cluster) or fails with located
 * errors and changes nothing. Each new document is one step of the undo history, cancels the solve
 * that is under way and starts its own. Results of replaced documents are dropped. */
#ifndef NEST_SESSION_SESSION_H
#define NEST_SESSION_SESSION_H

#include "base/strbuf.h"
#include "input/load.h"
#include "plan/touched.h"
#include "solve/loss.h"

struct nest_session;

/* What changed between two finished solves, in words. */
struct nest_change {
    const char *edit;      /* "spine oversubscription 1:1 -> 4:1"; NULL at the start */
    nest_ps before, after; /* step times; 0 = infeasible */
    const char *delta;     /* "+20.8%", "× 12", "no difference"; NULL when one is infeasible */
    nest_ps kept;          /* the earlier plan's step time after the edit; 0 = does not fit */
    const char *plan;      /* "pp 4 -> 8, zero 1 -> 2"; NULL when the plan is the same */
    const char *why;       /* one sentence from the breakdowns */
};

/* One value that can be changed. Knobs of one kind follow each other, levels outermost first. */
enum nest_knob_kind {
    NEST_KNOB_BANDWIDTH,
    NEST_KNOB_OVERSUBSCRIPTION,
    NEST_KNOB_LATENCY,
    NEST_KNOB_SETTING, /* memory limit, global batch, the model's sizes */
    NEST_KNOB_PIN,     /* a choice of the planner: pinned to a range or free */
    NEST_KNOB_KINDS
};

struct nest_knob {
    enum nest_knob_kind kind;
    int level;         /* of the cluster, for the first three kinds; else -1 */
    int pin;           /* enum nest_pin_key, NEST_PINS for the order; -1 for other kinds */
    const char *path;  /* identity, and what nest_session_set or nest_session_pin takes */
    const char *label; /* short: "bandwidth", "limit", "tp" */
    const char *name;  /* long: "spine bandwidth", "memory limit per device" */
    const char *text;  /* value with its unit; a pin's: the best plan's value, "-" without a plan */
    const char *exact; /* as an editor would start with it; a pin's: what it is pinned to */
    bool pinned;
    bool changed; /* differs from the saved scenario */
};

/* The share of the step that waits for one level of the network, after those outside it. */
struct nest_level_use {
    nest_ps waits;     /* what the step would save next if this level, too, were infinitely fast */
    double share;      /* of the step, 0 … 1 */
    const char *kinds; /* the parts of the step that it is: "tp", "pp dp", "" */
};

/* The documents and results below are owned by the snapshot and shared between snapshots. */
struct nest_snapshot {
    uint64_t generation; /* of the scenario; grows with every command */
    bool solving;        /* the answer to this scenario is under way */
    bool provisional;    /* result is the earlier plan re-costed, not solved */
    bool cancelled;      /* the solve was stopped; result is older */
    bool dirty;          /* differs from the saved or opened scenario */
    int undo, redo;      /* how many steps there are */
    const char *file;    /* path the scenario is saved under, or NULL */
    const struct nest_scenario_spec *scenario; /* with the edits applied */
    const struct nest_problem *problem;        /* of the scenario above */
    const struct nest_model *model;
    const struct nest_cluster *cluster;
    enum nest_status status; /* of the solve that gave result */
    /* Of the newest finished solve: best and alternatives; count 0 = infeasible, errors say why;
     * NULL before the first one is finished. solved is the problem it answers, which may be older
     * than problem while solving. */
    const struct nest_result *result;
    const struct nest_problem *solved;
    struct nest_progress progress;    /* of the running solve, else the finished one's */
    const struct nest_loss *loss;     /* what devices that are down cost; never NULL */
    const struct nest_level_use *use; /* [solved->cluster->levels]; NULL without a plan */
    unsigned overrides; /* hooks that chunks of the console put on the scenario: bits */
    const struct nest_touched *touched; /* figures of the best plan that overrides changed; NULL
                                           without overrides */
    const struct nest_change *change;   /* to the result before; never NULL */
    int knobs;
    const struct nest_knob *knob;
};

struct nest_session_options {
    struct nest_library library;          /* root borrowed until nest_session_close */
    struct nest_scenario_request request; /* read by nest_session_open only */
    int top;                              /* alternatives to keep, with the best; at least 1 */
    int threads;                          /* of a solve; at least 1 */
};

/* Opens a session and starts its first solve. On failure *out is NULL and errors say why. */
enum nest_status nest_session_open(const struct nest_session_options *options,
                                   struct nest_session **out, struct nest_errors *errors);

/* Cancels, joins the worker and frees everything but snapshots still held elsewhere. */
void nest_session_close(struct nest_session *session);

/* A descriptor that polls readable when a newer snapshot may be had. nest_session_snapshot drains
 * it. */
int nest_session_descriptor(const struct nest_session *session);

/* Makes the descriptor readable; from any thread. */
void nest_session_notify(struct nest_session *session);

/* The newest state, owned by the caller. NULL only when memory is out. */
const struct nest_snapshot *nest_session_snapshot(struct nest_session *session);
void nest_snapshot_release(const struct nest_snapshot *snapshot);

/* Waits until the newest scenario is answered (or its solve was cancelled). */
void nest_session_wait(struct nest_session *session);

/* Stops the running solve; the scenario stays as it is. True if one was running. */
bool nest_session_cancel(struct nest_session *session);

/* ---- Commands. Faults are added to errors; nothing changes then. -------------------------- */

/* PATH = VALUE, as input/set.h. A value that is there already makes no step. */
enum nest_status nest_session_set(struct nest_session *session, const char *path, const char *value,
                                  struct nest_errors *errors);

/* KEY = VALUE, as nest_pin_set; an empty value frees the choice. */
enum nest_status nest_session_pin(struct nest_session *session, const char *key, const char *value,
                                  struct nest_errors *errors);

/* Moves a knob by one small or big step up (direction 1) or down (-1). A free choice is pinned to
 * the neighbour of the best plan's value. */
enum nest_status nest_session_nudge(struct nest_session *session, const char *path, int direction,
                                    bool big, struct nest_errors *errors);

/* Pins the choice to the best plan's value, or frees it if it is pinned. */
enum nest_status nest_session_toggle(struct nest_session *session, const char *key,
                                     struct nest_errors *errors);

/* Takes over every choice of alternative number `index` of the snapshot's result as pins. */
enum nest_status nest_session_adopt(struct nest_session *session, int index,
                                    struct nest_errors *errors);

/* Exchanges the model or the cluster (a shipped name or a path); settings and pins stay, edits of
 * what is replaced go. */
enum nest_status nest_session_model(struct nest_session *session, const char *name,
                                    struct nest_errors *errors);
enum nest_status nest_session_cluster(struct nest_session *session, const char *name,
                                      struct nest_errors *errors);

/* Opens another scenario file; the old one is one undo step away. */
enum nest_status nest_session_load(struct nest_session *session, const char *path,
                                   struct nest_errors *errors);

/* Saves under path, or where it was saved before (NULL); atomically, keeping mode and symbolic
 * link of a file that is there. */
enum nest_status nest_session_save(struct nest_session *session, const char *path,
                                   struct nest_errors *errors);

/* One step back or forth; false at the end of the history. */
bool nest_session_undo(struct nest_session *session);
bool nest_session_redo(struct nest_session *session);

/* The command line that gives the same answer without the explorer. */
enum nest_status nest_session_command(const struct nest_session *session, struct nest_strbuf *out,
                                      struct nest_errors *errors);

/* Names that can be given to nest_session_model ("models") or _cluster ("topologies"), sorted,
 * NULL-ended, in arena. */
const char **nest_session_names(const struct nest_session *session, const char *kind,
                                struct nest_arena *arena);

/* Paths of files, and of folders with '/' at the end, that begin with start, sorted, NULL-ended, in
 * arena; hidden ones only where start names the dot. NULL out of memory. */
const char **nest_session_files(const char *start, struct nest_arena *arena);

/* Every PATH that nest_session_set takes, full and, where it is unique, short
 * ("spine.bandwidth", "global_batch"), NULL-ended, in arena. NULL out of memory. */
const char **nest_session_paths(const struct nest_snapshot *snapshot, struct nest_arena *arena);

#endif
