/* Inside of this room: parts of a tree, and the kinds of its devices. */
#ifndef NEST_CLUSTER_PARTS_H
#define NEST_CLUSTER_PARTS_H

#include "cluster/cluster.h"

/* Devices first … end-1. */
struct nest_extent {
    int64_t first, end;
};

/* The tree of the devices in `kept` (ascending, apart, not empty) of another tree: groups that hold
 * none vanish, and what is left is uniform where it can be. Lives in arena. */
enum nest_status nest_cluster_keep(const struct nest_cluster *from, const struct nest_extent *kept,
                                   int count, struct nest_arena *arena, struct nest_cluster *out);

/* Finds the stretches of the tree from what its groups say of devices and links; the kinds' shares
 * are bandwidths until nest_cluster_settle_kinds. Nothing where the groups are silent. */
enum nest_status nest_cluster_find_kinds(struct nest_arena *arena, struct nest_cluster *cluster,
                                         struct nest_errors *errors);

/* Forgets kinds that are no longer there, finds the best figures and makes the selections. */
enum nest_status nest_cluster_settle_kinds(struct nest_arena *arena, struct nest_cluster *cluster);

#endif
