/* Everything a cost or a search may depend on, gathered once from a scenario. Borrowed pointers. */
#ifndef NEST_COST_PROBLEM_H
#define NEST_COST_PROBLEM_H

#include "cluster/cluster.h"
#include "cost/network.h"
#include "input/spec.h"
#include "model/model.h"

struct nest_strategy;

/* What replaces parts of the cost model, asked when tables are built, never in the recurrence. Each
 * function is told what the default says and answers what holds: finite and not negative, always
 * the same for the same arguments. They are called from any thread of a solve. NULL: the default.
 * Bounds are admissible for any compute; a search under the other two must be exhaustive. */
struct nest_overrides {
    void *context;
    /* Seconds of one layer's own operators, per microbatch. */
    void (*compute)(void *context, const struct nest_layer_kind *kind,
                    const struct nest_strategy *strategy, double *fw, double *bw);
    double (*collective)(void *context, enum nest_collective kind, const struct nest_comm *comm,
                         double bytes, double seconds);
    double (*transfer)(void *context, int level, int64_t block, double bytes, double seconds);
};

struct nest_problem {
    const struct nest_model *model;
    const struct nest_cluster *cluster; /* its device is the device */
    struct nest_train_spec train;
    struct nest_overlap_spec overlap;
    struct nest_pins_spec pins;
    int64_t memory_limit; /* bytes per device */
    bool allow_stage_zero, allow_stage_tp;
    const struct nest_overrides *overrides; /* or NULL */
};

/* nest_collective_time and nest_transfer_time as the problem has them: overrides included. */
nest_ps nest_problem_collective(const struct nest_problem *problem, enum nest_collective kind,
                                const struct nest_comm *comm, double bytes);
nest_ps nest_problem_transfer(const struct nest_problem *problem, int level, int64_t block,
                              double bytes);

/* Gathers the problem of a scenario from its expanded model and its built cluster. Without a limit
 * of its own the scenario may fill the device's memory. */
void nest_problem_init(struct nest_problem *out, const struct nest_scenario_spec *scenario,
                       const struct nest_model *model, const struct nest_cluster *cluster);

#endif
