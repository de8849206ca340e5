/* The network as a tree of levels, and positions in it.
 *
 * Devices are numbered 0 … devices-1 in tree order, so every group of every level is a contiguous
 * range. Level 0 is innermost. Two devices "meet" at the innermost level whose group holds both. */
#ifndef NEST_CLUSTER_CLUSTER_H
#define NEST_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/spec.h"

struct nest_level {
    const char *name;
    enum nest_level_kind kind;
    int64_t fanout;   /* children per group; the largest where groups differ */
    int64_t capacity; /* C_l: devices under one group; the largest where groups differ */
    double bandwidth; /* B_l, bytes/s per device and direction, network efficiency not applied */
    double latency;   /* alpha_l, seconds */
    double oversubscription; /* o_l */
    int64_t groups;          /* how many groups of this level there are */
    const int64_t *start;    /* [groups + 1] first device of each group; NULL where uniform */
};

struct nest_cluster {
    const struct nest_cluster_spec *spec; /* borrowed */
    const struct nest_device_spec *device;
    int64_t devices;
    int levels;
    struct nest_level level[NEST_MAX_LEVELS];
    bool uniform; /* every level has one fan-out */
};

/* Builds the tree. limit > 0 keeps only the first limit devices. Lives in arena, borrows spec. */
enum nest_status nest_cluster_build(const struct nest_cluster_spec *spec, int64_t limit,
                                    struct nest_arena *arena, struct nest_cluster *out,
                                    struct nest_errors *errors);

/* Index of the level-l group that holds device p. O(1) where uniform, else O(log groups). */
int64_t nest_cluster_group(const struct nest_cluster *cluster, int level, int64_t p);

/* First device of level-l group number g; g = groups gives the end. */
int64_t nest_cluster_group_start(const struct nest_cluster *cluster, int level, int64_t g);

/* The level at which p and q meet: least l with equal groups; 0 for p = q. */
int nest_cluster_meet(const struct nest_cluster *cluster, int64_t p, int64_t q);

#endif
