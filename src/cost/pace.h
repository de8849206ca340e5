/* Mixed clusters: devices that work together go at the pace of the slowest of them.
 *
 * A stage's replicas run in lockstep, so its layers take as long as on the slowest kind of device
 * among them, layer by layer; its collectives have the least bandwidth of their links; its memory
 * limit is the smallest device's. Transfers between stages have the least bandwidth of any device
 * from the first to the last of the plan's spans. */
#ifndef NEST_COST_PACE_H
#define NEST_COST_PACE_H

#include "cost/layer.h"

/* Room for a problem whose cluster is as slow as some of its devices. */
struct nest_pace {
    struct nest_problem problem;
    struct nest_cluster cluster;
    struct nest_device_spec device;
};

/* The problem as the selected devices of these kinds (bits, see struct nest_placement) see it: the
 * levels of the selection at their least bandwidths, and the device that computes slowest with the
 * worst of each other figure. The problem itself where all devices are alike or kinds is 0; else
 * pace->problem. */
const struct nest_problem *nest_pace_set(const struct nest_problem *problem, int selection,
                                         unsigned kinds, struct nest_pace *pace);

/* nest_layer_work on the slowest of these kinds, part by part. */
void nest_pace_work(const struct nest_problem *problem, unsigned kinds,
                    const struct nest_layer_kind *kind, const struct nest_strategy *strategy,
                    struct nest_layer_work *out);

/* Bytes by which the smallest of these kinds has less memory than the problem's limit; 0 where all
 * are alike. A limit above what the largest kind has scales all of them. */
int64_t nest_pace_shortfall(const struct nest_problem *problem, unsigned kinds);

#endif
