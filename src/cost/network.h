/* What the network charges: closed forms for collectives and point-to-point transfers.
 *
 * Pure functions: no allocation, no state. A communicator is described by how it lies in the tree,
 * never by its members. Formulas: DESIGN of the project, README "The network"; the hierarchical
 * form follows the pipelined-phases reading of NCCL (max over levels, not sum). */
#ifndef NEST_COST_NETWORK_H
#define NEST_COST_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"

/* Seconds are stored as whole picoseconds so that sums are exact and order-free. */
typedef int64_t nest_ps;

/* How the communicators of one kind lie in the tree; each entry is the worst one's. size 1 is no
 * communicator: everything about it costs nothing. */
struct nest_comm {
    int64_t size;               /* n: members */
    int top;                    /* the level at which all members meet */
    int64_t m[NEST_MAX_LEVELS]; /* [k] most level-(k-1) groups touched under one level-k group */
    int64_t q[NEST_MAX_LEVELS]; /* [k] most members under one level-(k-1) group; q[0] = 1 */
    int64_t p[NEST_MAX_LEVELS]; /* [k] fewest members under one it touches; = q where even */
    int64_t g[NEST_MAX_LEVELS]; /* [k] communicators of the kind with members there, all active */
};

enum nest_collective {
    NEST_ALL_REDUCE,
    NEST_REDUCE_SCATTER,
    NEST_ALL_GATHER,
    NEST_ALL_TO_ALL,
    NEST_BROADCAST,
    NEST_COLLECTIVES
};

/* Time of one collective of `bytes` over every communicator of the kind at once. bytes: the full
 * buffer (all-reduce: the vector; reduce-scatter and all-gather: the unsharded one; all-to-all: one
 * member's whole send buffer). The cheapest of flat ring, hierarchical and tree is taken. */
nest_ps nest_collective_time(const struct nest_cluster *cluster, enum nest_collective kind,
                             const struct nest_comm *comm, double bytes);

/* Time of one point-to-point transfer of `bytes` whose ends meet at level, while `block` devices,
 * packed side by side, all send at once (a stage boundary: block = a * dp_in; at level k the flows
 * that share an uplink are min(C_(k-1), block)). */
nest_ps nest_transfer_time(const struct nest_cluster *cluster, int level, int64_t block,
                           double bytes);

/* Whole picoseconds, rounded to nearest; saturates at NEST_PS_MAX. */
nest_ps nest_to_ps(double seconds);
double nest_to_seconds(nest_ps time);
#define NEST_PS_MAX ((nest_ps)1 << 61)

#endif
