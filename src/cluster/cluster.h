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

/* Devices that are alike: the same device with links that are as fast, and whether its groups are
 * whole. A plan may be faster without the rest of a node that lacks a device, or of a rack that
 * lacks a node, so that those are kinds of their own. */
enum { NEST_KINDS_MAX = 6 };
struct nest_kind {
    const struct nest_device_spec *device;
    double share[NEST_MAX_LEVELS]; /* of the level's bandwidth that its links reach, 0 … 1 */
    int lacking;       /* its groups are whole: -1; not so the innermost: 0; one further out: 1 */
    const char *lacks; /* name of the innermost level that lacks something */
};

/* Devices of one kind in a row: from `first` to the next stretch. */
struct nest_stretch {
    int64_t first;
    int64_t origin; /* number of the first in the whole cluster; differs in a selection */
    int kind;
};

struct nest_cluster {
    const struct nest_cluster_spec *spec; /* borrowed */
    /* The device; of a mixed cluster the best of each figure, which no device beats. */
    const struct nest_device_spec *device;
    int64_t devices;
    int levels;
    struct nest_level level[NEST_MAX_LEVELS]; /* bandwidth: the fastest kind's */
    bool uniform;                             /* every level has one fan-out */
    bool mixed;                               /* not all devices or links are the same */
    int kinds;                                /* 1: all devices are alike */
    const struct nest_kind *kind;             /* [kinds]; NULL where all are alike */
    int stretches;
    const struct nest_stretch *stretch; /* [stretches]; NULL where all are alike */
    /* A mixed cluster without some of its kinds, every way of leaving some out: what a plan may
     * use when the slower ones would hold it up. [selections], see nest_cluster_selected. */
    int selections;
    const struct nest_cluster *selection;
    unsigned kept;                     /* of a selection: its kinds, bit by bit; else all */
    const struct nest_cluster *intact; /* as if nothing were down; NULL where nothing is */
};

/* Builds the tree of what is not down. limit > 0 keeps only the first limit devices. Lives in
 * arena, borrows spec. */
enum nest_status nest_cluster_build(const struct nest_cluster_spec *spec, int64_t limit,
                                    struct nest_arena *arena, struct nest_cluster *out,
                                    struct nest_errors *errors);

/* The cluster that a plan with this selection sees: 0 is all of it. */
const struct nest_cluster *nest_cluster_selected(const struct nest_cluster *cluster, int selection);

/* The kinds among devices first … end-1 as bits; 0 where all devices are alike. */
unsigned nest_cluster_kinds(const struct nest_cluster *cluster, int64_t first, int64_t end);

/* Adds how many of devices first … end-1 are of each kind; nothing where all are alike. */
void nest_cluster_tally(const struct nest_cluster *cluster, int64_t first, int64_t end,
                        int64_t count[NEST_KINDS_MAX]);

/* The name of a kind's device, with what slows its links down where another kind has the same:
 * "H100 SXM", "H100 SXM (rack 25.0 GB/s)"; and the names of several kinds joined by " + ". Both
 * return out. */
char *nest_kind_format(const struct nest_cluster *cluster, int kind, char *out, size_t size);
char *nest_kinds_format(const struct nest_cluster *cluster, unsigned kinds, char *out, size_t size);

/* The names of the devices alone, each once. Returns out. */
char *nest_devices_format(const struct nest_cluster *cluster, unsigned kinds, char *out,
                          size_t size);

/* The stretch that holds device p of a cluster that has stretches. */
const struct nest_stretch *nest_cluster_stretch(const struct nest_cluster *cluster, int64_t p);

/* Number in the whole cluster of device p of a selection, and back; -1 where the selection leaves
 * the device out. */
int64_t nest_cluster_origin(const struct nest_cluster *selected, int64_t p);
int64_t nest_cluster_position(const struct nest_cluster *selected, int64_t origin);

/* Index of the level-l group that holds device p. O(1) where uniform, else O(log groups). */
int64_t nest_cluster_group(const struct nest_cluster *cluster, int level, int64_t p);

/* First device of level-l group number g; g = groups gives the end. */
int64_t nest_cluster_group_start(const struct nest_cluster *cluster, int level, int64_t g);

/* The level at which p and q meet: least l with equal groups; 0 for p = q. */
int nest_cluster_meet(const struct nest_cluster *cluster, int64_t p, int64_t q);

#endif
