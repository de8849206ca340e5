/* What the network charges: closed forms for collectives and point-to-point transfers.
 *
 * Pure functions: no allocation, no state. A communicator is described by how it lies in the tree,
 * never by its members. With S bytes, n members and m, q, p, g of struct nest_comm:
 *
 *   uplink of a level-(k-1) group  U_k = C_(k-1) * B_k / o_k
 *   rate of one member             r_k = min(B_k, U_k / (g_k * q_k)), B times the efficiency
 *   flat ring                      t * (n-1)/n * S / min_k(p_k * r_k)           t = 2: all-reduce
 *   hierarchical                   max_k t * (m_k-1)/m_k * S / p_k / min_(1<=j<=k) r_j
 *   tree                           as a ring at most; logarithmic latency across the network
 *   in-switch                      S / (0.71 * r_0) where the scale-up switch can add
 *   all-to-all                     max_k (1 - p_k/n) * S / r_k
 *
 * plus half of a member's own part, which is copied locally; plus latency: the device's launch of a
 * collective and the levels' hops, one after the other. The phases of the hierarchical form are
 * pipelined, hence its maximum. Each form is offered under four protocols that trade latency for
 * bandwidth, as NCCL's do; the cheapest of all is taken. Constants: network.c.
 *
 * Kinds of level: ring and mesh add the detours of an all-to-all, and part of a ring is a line with
 * one of its two links; a full mesh has one link per pair; on a rail, collectives stay on their
 * rails (ranks change inside the node), and transfers between unequal local ranks go one level
 * further out (nest_link_level). */
#ifndef NEST_COST_NETWORK_H
#define NEST_COST_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"

/* Seconds are stored as whole picoseconds so that sums are exact and order-free. */
typedef int64_t nest_ps;

static inline nest_ps nest_ps_min(nest_ps a, nest_ps b)
{
    return a < b ? a : b;
}

static inline nest_ps nest_ps_max(nest_ps a, nest_ps b)
{
    return a > b ? a : b;
}

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
 * member's whole send buffer). Concave in bytes: the least of a few lines. */
nest_ps nest_collective_time(const struct nest_cluster *cluster, enum nest_collective kind,
                             const struct nest_comm *comm, double bytes);

/* How the cheapest algorithm and protocol do it at that size: fixed + bytes * slope seconds. */
struct nest_collective_way {
    const char *algorithm, *protocol;
    double fixed; /* seconds: launch and hops */
    double slope; /* seconds per byte */
};
struct nest_collective_way nest_collective_way(const struct nest_cluster *cluster,
                                               enum nest_collective kind,
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
