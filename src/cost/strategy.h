/* A strategy: every choice that is shared by the whole plan, and where its groups lie.
 *
 * Positions: device = o*K + x + r*a + q, q = j_tp + tp*j_cp, a = tp*cp, r < dp_in, o < dp_out. */
#ifndef NEST_COST_STRATEGY_H
#define NEST_COST_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "cost/network.h"

struct nest_strategy {
    int64_t tp, cp, ep, etp;
    bool sp;                /* sequence parallelism; only with tp > 1 */
    int64_t micro_batch;    /* sequences */
    int64_t virtual_stages; /* v */
    int zero;               /* 0…3 */
    int64_t shard;          /* devices over which dense ZeRO state is divided; divides dp*cp */
    int64_t dp_in, dp_out;
    int64_t span;  /* K: devices from one copy o to the next */
    int selection; /* of a mixed cluster: which kinds of devices it uses, see nest_cluster */
};

/* Replicas. */
static inline int64_t nest_strategy_dp(const struct nest_strategy *s)
{
    return s->dp_in * s->dp_out;
}

/* a: devices of one stage in one replica. */
static inline int64_t nest_strategy_width(const struct nest_strategy *s)
{
    return s->tp * s->cp;
}

/* Communicator shapes of a stage block whose first device in span 0 is x; the worst over all
 * replicas and, for g, all communicators of the kind that are active together. */
struct nest_placement {
    struct nest_comm tp;
    struct nest_comm cp;
    struct nest_comm dense;     /* gradients of dense parameters: dp*cp members */
    struct nest_comm shard;     /* ZeRO shard group: `shard` of the dense members, nearest first */
    struct nest_comm replicate; /* across shard groups: dp*cp/shard members */
    struct nest_comm ep;        /* expert all-to-all */
    struct nest_comm etp;       /* tensor parallelism inside an expert */
    struct nest_comm expert;    /* gradients of expert parameters: tp*cp*dp/(ep*etp) members */
    unsigned
        kinds; /* of a mixed cluster: bits of the kinds among the block's devices, all copies */
    unsigned reach; /* the same of all devices from the first span's start to the last one's end */
};

/* Fills out for the block at x of the cluster that the strategy selects. Pure; closed form where it
 * is uniform, else O(devices of the block over all replicas). */
void nest_placement_at(const struct nest_cluster *cluster, const struct nest_strategy *strategy,
                       int64_t x, struct nest_placement *out);

/* True if the two would price every communication alike. */
bool nest_placement_equal(const struct nest_placement *a, const struct nest_placement *b);

/* The level of the link between blocks at x and y of the same strategy, worst over o, r and q. On
 * a rail level, unequal local ranks meet one level further out. */
int nest_link_level(const struct nest_cluster *cluster, const struct nest_strategy *strategy,
                    int64_t x, int64_t y);

#endif
