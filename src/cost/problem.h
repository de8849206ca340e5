/* Everything a cost or a search may depend on, gathered once from a scenario. Borrowed pointers. */
#ifndef NEST_COST_PROBLEM_H
#define NEST_COST_PROBLEM_H

#include "cluster/cluster.h"
#include "input/spec.h"
#include "model/model.h"

struct nest_problem {
    const struct nest_model *model;
    const struct nest_cluster *cluster; /* its device is the device */
    struct nest_train_spec train;
    struct nest_overlap_spec overlap;
    struct nest_pins_spec pins;
    int64_t memory_limit; /* bytes per device */
    bool allow_stage_zero, allow_stage_tp;
};

/* Gathers the problem of a scenario from its expanded model and its built cluster. Without a limit
 * of its own the scenario may fill the device's memory. */
void nest_problem_init(struct nest_problem *out, const struct nest_scenario_spec *scenario,
                       const struct nest_model *model, const struct nest_cluster *cluster);

#endif
