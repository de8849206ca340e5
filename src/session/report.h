/* Figures and texts that a view of a snapshot shows: what sits where, plans in one line, memory
 * terms, parts of the step. Pure functions of a snapshot's records. */
#ifndef NEST_SESSION_REPORT_H
#define NEST_SESSION_REPORT_H

#include "session/session.h"

/* ---- What sits on a device or in a group ------------------------------------------------- */

struct nest_seat {
    int stage;       /* -1: idle */
    int64_t replica; /* 0 … dp-1, or -1 */
    int64_t rank;    /* q within the stage's tp*cp devices, or -1 */
};

/* What device p does in the plan. O(stages). */
struct nest_seat nest_seat_of(const struct nest_cluster *cluster, const struct nest_plan *plan,
                              int64_t device);

struct nest_occupancy {
    int64_t first, devices; /* the group's devices */
    int64_t idle;
    int stage_low, stage_high;         /* stages present; -1 when all are idle */
    int64_t replica_low, replica_high; /* replicas present */
};

/* Who sits on the devices first … end-1. O(devices * stages). */
void nest_occupancy_of(const struct nest_cluster *cluster, const struct nest_plan *plan,
                       int64_t first, int64_t end, struct nest_occupancy *out);

/* Who sits in the level-l group number g. */
void nest_group_occupancy(const struct nest_cluster *cluster, const struct nest_plan *plan,
                          int level, int64_t group, struct nest_occupancy *out);

/* The group cut into at most `cells` stretches along its own parts (level-(l-1) groups, or devices
 * for l = 0), none of which is cut itself. Returns how many there are. */
int nest_group_strip(const struct nest_cluster *cluster, const struct nest_plan *plan, int level,
                     int64_t group, int cells, struct nest_occupancy *out);

/* ---- Parts of the step and of a device's memory, in the order they are drawn --------------- */

enum { NEST_STEP_PARTS = 9, NEST_MEMORY_PARTS = 5, NEST_MEMORY_TERMS = 9 };

struct nest_part {
    const char *name;   /* "compute", "weights" */
    const char *letter; /* one character that stands for it in a bar */
    double value;       /* seconds or bytes */
    double share;       /* of the total, 0 … 1 */
};

/* compute, recompute, tp, cp, ep, pp, dp, optimizer, bubble. */
void nest_step_parts(const struct nest_prediction *prediction,
                     struct nest_part out[NEST_STEP_PARTS]);

/* weights, gradients, optimizer, activations, other; shares are of the limit. */
void nest_memory_parts(const struct nest_memory *memory, int64_t limit,
                       struct nest_part out[NEST_MEMORY_PARTS]);

/* Every term by name; shares are of the total. */
void nest_memory_terms(const struct nest_memory *memory, struct nest_part out[NEST_MEMORY_TERMS]);

/* ---- Texts ---------------------------------------------------------------------------------- */

/* Whether two plans differ in a choice of their own: a shard group of all replicas in both follows
 * from dp and cp. pin as in nest_plan_choice. */
bool nest_plan_chosen_apart(const struct nest_plan *plan, const struct nest_plan *other, int pin);

/* In what a plan differs from another one: "tp 4  dp 32", or "stages cut differently"; nothing for
 * the same plan. gap joins the items. */
void nest_plan_difference(const struct nest_plan *plan, const struct nest_plan *other,
                          const char *gap, struct nest_strbuf *out);

/* The value of one choice in a plan, as nest_pin_set reads it; pin NEST_PINS is the order. */
void nest_plan_choice(const struct nest_plan *plan, int pin, struct nest_strbuf *out);

/* The step before and after a change: "6.65 s → 7.61 s  +14.5%". */
void nest_change_outcome(const struct nest_change *change, struct nest_strbuf *out);

/* The layers of a stage in few columns: "0–10", or "4×3" for four chunks of three layers. */
void nest_stage_text(const struct nest_plan_stage *stage, struct nest_strbuf *out);

#endif
