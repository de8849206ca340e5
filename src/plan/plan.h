/* A plan: a strategy, its stages and where they sit; and the prediction of what it costs. */
#ifndef NEST_PLAN_PLAN_H
#define NEST_PLAN_PLAN_H

#include "base/arena.h"
#include "base/error.h"
#include "cost/table.h"

struct nest_plan_stage {
    int ranges;                /* 1, virtual_stages for interleaving, or any number in a graph */
    struct nest_range *layers; /* inclusive; in pipeline order; in a graph ascending, apart */
    enum nest_recompute recompute;
    int zero;
    int64_t tp;
    int64_t first_device;    /* x_i: within span 0, replica 0 */
    int in_level, out_level; /* -1 at the open ends */
};

struct nest_plan {
    struct nest_strategy strategy;
    int64_t microbatches; /* M, per replica */
    int stages;           /* pp */
    struct nest_plan_stage *stage;
    int64_t devices_used;
};

/* Where the step time goes, picoseconds; sums to the step time. */
struct nest_breakdown {
    nest_ps compute, recompute, tp, cp, ep, pp, bubble, dp, optimizer;
};

struct nest_prediction {
    bool feasible;
    int worst_stage;  /* the one with most memory over (or nearest) the limit */
    int bottleneck;   /* lowest index of the largest load */
    nest_ps step;     /* objective: seconds per optimizer step */
    nest_ps pipeline; /* M * tau + (sum - tau) / v (+ wrap-around) */
    nest_ps tail;     /* exposed sync and optimizer after the pipeline */
    struct nest_breakdown breakdown;
    double tokens_per_s;
    double tflops_per_device; /* model FLOP / devices used */
    double mfu;
    int stages;
    struct nest_stage_cost *stage; /* [stages] */
    int64_t memory_limit;          /* of the problem; see nest_stage_limit */
};

/* Bytes that a device of stage i may fill: the limit, or less where its devices have less. */
static inline int64_t nest_stage_limit(const struct nest_prediction *prediction, int i)
{
    return prediction->memory_limit - prediction->stage[i].memory_short;
}

/* The kinds of devices that stage i runs on, all replicas, as bits; 0 where all are alike. */
unsigned nest_stage_kinds(const struct nest_problem *problem, const struct nest_plan *plan, int i);

/* Prices the plan exactly as the solver does. False only when memory for the answer is out. The
 * arrays of out live in arena. Levels are taken from the plan: whoever builds one fills them from
 * nest_plan_link. */
bool nest_plan_evaluate(const struct nest_problem *problem, const struct nest_plan *plan,
                        struct nest_arena *arena, struct nest_prediction *out);

/* Builds a full plan from pins (every free choice takes the documented default of `nest eval`) or
 * from a plan file's record; adds errors (with the product checked and the nearest legal values)
 * and returns NEST_NO where it is illegal. assumed receives the names of what was filled in,
 * NULL-ended, in arena. */
enum nest_status nest_plan_from_pins(const struct nest_problem *problem, struct nest_arena *arena,
                                     struct nest_plan *out, const char ***assumed,
                                     struct nest_errors *errors);
enum nest_status nest_plan_from_spec(const struct nest_problem *problem,
                                     const struct nest_plan_spec *spec, struct nest_arena *arena,
                                     struct nest_plan *out, struct nest_errors *errors);

/* The level of the link from stage i to the next one, worst over replicas; the last stage's is the
 * wrap-around link of an interleaved plan; -1 where there is none. Needs first_device and tp of
 * both stages; in_level and out_level of a built plan agree with it. */
int nest_plan_link(const struct nest_problem *problem, const struct nest_plan *plan, int i);

/* The cut behind each stage of a plan on a graph that branches. -1 where the plan is one of the
 * graph; else the first stage that does not end at a cut, or holds a layer that another one holds,
 * or none; or `stages`, where layers are left over. cut: [stages], filled up to there, or NULL. */
int nest_plan_cuts(const struct nest_cuts *cuts, const struct nest_plan *plan, int *cut);

/* Whether the stages hold every layer of the model once, in an order that its edges allow. */
bool nest_plan_covers(const struct nest_model *model, const struct nest_plan *plan);

/* Fills what follows from strategy, layers, first_device and tp: microbatches, devices_used and the
 * link levels of every stage. */
void nest_plan_settle(const struct nest_problem *problem, struct nest_plan *plan);

/* Puts the stages side by side from the first device of the span on; settle it afterwards. */
void nest_plan_pack(struct nest_plan *plan);

/* The word of a pinned choice: "tp", "micro_batch"… */
const char *nest_pin_name(enum nest_pin_key key);

/* Deep copy into another arena. */
bool nest_plan_copy(const struct nest_plan *plan, struct nest_arena *arena, struct nest_plan *out);

/* The total order of plans: step time (given apart), devices used, stages, strategy fields in the
 * order tp, cp, ep, etp, sp, micro batch, v, zero, shard, order, dp, stage ends. Negative: a comes
 * first. */
int nest_plan_compare(const struct nest_plan *a, nest_ps step_a, const struct nest_plan *b,
                      nest_ps step_b);

#endif
