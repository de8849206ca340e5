/* What a group of devices must at least cross, wherever it lies.
 *
 * A stage's devices over all replicas are numbered u = 0, 1, … by position, and a communicator of
 * stride s and size n takes every s-th of a tile of s*n (cost/spread.h). So a level-k group, of
 * capacity C_k, holds an interval of u of at most C_k devices, and
 *
 *   most    at most ceil(C_k / s) members of one communicator lie in it; fewer where the order of
 *           replicas is known and other stages lie in between;
 *   fewest  some level-k group holds at least (devices of the stage) / (groups of the level) of
 *           them, all sending at once. g * q of struct nest_comm is at least that, because every
 *           device is a member of one communicator of each kind.
 *
 * With n > most_(k-1) the members lie in two level-(k-1) groups or more. So m_j > 1 at some level
 * j >= k, and at the first such level p_j is still at most most_(k-1). That is priced at a relaxed
 * level k, with the best rate (shared as `fewest` demands) and latency of all levels from k on, and
 * with m = 2, or the true number of groups where k is the outermost level. Every form of
 * cost/network.h falls or stays when m, the latency and the levels that are asked become fewer and
 * when p and the rate grow, so the price is at most the real one. Of several such levels the
 * costliest is taken; what happens inside the groups is left out. */
#ifndef NEST_SOLVE_REACH_H
#define NEST_SOLVE_REACH_H

#include "cost/strategy.h"

struct nest_reach {
    struct nest_cluster cluster;   /* relaxed */
    bool sided[NEST_MAX_LEVELS];   /* levels from k on are of one kind of network */
    bool tiled;                    /* innermost groups are equal: positions are multiples of tp */
    double rate[NEST_MAX_LEVELS];  /* [k] bandwidth of the real level k */
    double share[NEST_MAX_LEVELS]; /* [k] C_(k-1) / o_k of the real level k */
};

void nest_reach_init(const struct nest_cluster *cluster, struct nest_reach *out);

/* What is known of where the groups of a strategy lie. */
struct nest_where {
    int64_t devices; /* of one stage over all replicas, at the least */
    int64_t block;   /* of one copy of it, side by side; 0 while the order is unknown */
    int64_t pitch;   /* least distance of two copies; with block */
};

/* The least that all-gathers, reduce-scatters and all-reduces over the group can cost. */
void nest_reach_ring(const struct nest_reach *reach, const struct nest_where *where, int64_t stride,
                     int64_t size, struct nest_comm *out);

/* The least that all-to-alls can. */
void nest_reach_pairs(const struct nest_reach *reach, const struct nest_where *where,
                      int64_t stride, int64_t size, struct nest_comm *out);

/* A group that lies inside one innermost group in every plan; size 1: no communicator. */
void nest_reach_inside(int64_t size, struct nest_comm *out);

#endif
