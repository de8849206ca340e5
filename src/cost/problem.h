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

#endif
