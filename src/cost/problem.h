/* Everything a cost or a search may depend on, gathered once from a scenario. Borrowed pointers. */
#ifndef NEST_COST_PROBLEM_H
#define NEST_COST_PROBLEM_H

#include "cluster/cluster.h"
#include "cost/network.h"
#include "cost/override.h"
#include "input/spec.h"
#include "model/model.h"

struct nest_problem {
    const struct nest_model *model;
    const struct nest_cluster *cluster; /* its device is the device, see there where it is mixed */
    struct nest_train_spec train;
    struct nest_overlap_spec overlap;
    struct nest_pins_spec pins;
    int64_t memory_limit; /* bytes per device; smaller kinds of a mixed cluster have their own */
    bool allow_stage_zero, allow_stage_tp;
    int64_t span;            /* the only K that the search may take; 0: any */
    bool packed;             /* it leaves no idle devices between the stages of a copy */
    bool allow_ragged_batch; /* dp need not divide the batch: the last microbatch is partly empty */
    const struct nest_overrides *overrides; /* or NULL */
};

/* M: microbatches of one replica, rounded up where the batch is ragged. */
static inline int64_t nest_problem_microbatches(const struct nest_problem *problem,
                                                int64_t micro_batch, int64_t dp)
{
    return (problem->train.global_batch + micro_batch * dp - 1) / (micro_batch * dp);
}

/* nest_collective_time and nest_transfer_time as the problem has them: overrides included. */
nest_ps nest_problem_collective(const struct nest_problem *problem, enum nest_collective kind,
                                const struct nest_comm *comm, double bytes);
nest_ps nest_problem_transfer(const struct nest_problem *problem,
                              const struct nest_message *message);

/* How a stage's load is composed under a strategy; first, last: it has no neighbour there. */
struct nest_load_rule nest_problem_load(const struct nest_problem *problem,
                                        const struct nest_strategy *strategy,
                                        enum nest_recompute recompute, bool first, bool last);

/* How the step is composed for so many stages. */
struct nest_step_rule nest_problem_step(const struct nest_problem *problem,
                                        const struct nest_strategy *strategy, int stages,
                                        int64_t microbatches);

/* NEST_OK, or what went wrong in a function of the overrides: the prices are not to be trusted
 * then. errors may be NULL. */
enum nest_status nest_problem_fault(const struct nest_problem *problem, struct nest_errors *errors);

/* Gathers the problem of a scenario from its expanded model and its built cluster. Without a limit
 * of its own the scenario may fill the device's memory. */
void nest_problem_init(struct nest_problem *out, const struct nest_scenario_spec *scenario,
                       const struct nest_model *model, const struct nest_cluster *cluster);

#endif
