/* From a published run's record to specifications; private to the judge. */
#ifndef NEST_PLAN_REBUILD_H
#define NEST_PLAN_REBUILD_H

#include "input/measurement.h"
#include "plan/plan.h"

void nest_rebuild_model(const struct nest_measurement *run, struct nest_model_spec *out);

/* [per_node at the device's scale-up rate; the rest at the NIC's], oversubscription 1. */
void nest_rebuild_cluster(const struct nest_measurement *run, const struct nest_device_spec *device,
                          struct nest_cluster_spec *out);

/* What the run did that no plan expresses: adapters alone trained, state kept in the host's memory;
 * NULL where there is nothing. */
const char *nest_rebuild_obstacle(const struct nest_measurement *run);

/* The mode that the run used; none where the source says nothing. */
enum nest_recompute nest_rebuild_recompute(const struct nest_measurement *run);

/* Whether its selective mode repeats more than core attention: the source names the modules. */
bool nest_rebuild_names_modules(const struct nest_measurement *run);

/* Whether the run's FLOP rates count the forward pass that recomputation repeats. */
bool nest_rebuild_counts_recompute(const struct nest_measurement *run);

/* Training settings, overlap and pins of the problem. */
void nest_rebuild_settings(const struct nest_measurement *run, struct nest_problem *out);

#endif
