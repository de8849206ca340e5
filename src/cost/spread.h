/* How the communicators of one kind lie in the tree of levels.
 *
 * The active devices of one stage over all its replicas are numbered u = 0 … members-1 in the order
 * of their positions: u = q + a*(o*dp_in + r), so copy o of the block holds u = o*block …
 * (o+1)*block - 1 at the positions o*span + x onwards. Every kind of communicator is then one
 * tiling of u: with stride s and size n, communicator (b, j) holds u = b*s*n + j + s*i, i < n,
 * j < s. A group of devices holds an interval of u, because positions rise with u. */
#ifndef NEST_COST_SPREAD_H
#define NEST_COST_SPREAD_H

#include "cluster/cluster.h"
#include "cost/network.h"

/* Equal intervals of u: first, first + step, … */
struct nest_interval_run {
    int64_t first, length;
    int64_t count, step;
};

/* The intervals of u that the groups of one level hold. */
struct nest_cut {
    bool known; /* span and group capacity are aligned: one divides the other */
    bool whole; /* every group holds whole copies; else every copy is cut alike */
    int runs;   /* head, body, tail */
    struct nest_interval_run run[3];
    int64_t repeats;    /* copies that are cut alike */
    int64_t edge, step; /* boundaries lie at edge, edge + step, … */
};

struct nest_spread {
    const struct nest_cluster *cluster;
    int64_t x;                                /* first device of the block in span 0 */
    int64_t block;                            /* devices of one copy: a * dp_in */
    int64_t span;                             /* K */
    int64_t copies;                           /* dp_out */
    struct nest_cut cut[NEST_MAX_LEVELS + 1]; /* [k] by groups of level k-1; 0 unused */
};

/* Fills the cuts; the other fields are set. */
void nest_spread_init(struct nest_spread *spread);

/* Fills out for the communicators of stride and size; stride * size divides block * copies. Exact
 * for every tree and alignment. O(levels) where block, span and groups are aligned, which is the
 * rule; O(groups touched until the pattern repeats) where they are not or the tree is irregular;
 * O(devices) of that where a stride also cuts short groups unevenly. out must be zeroed. */
void nest_spread_communicators(const struct nest_spread *spread, int64_t stride, int64_t size,
                               struct nest_comm *out);

/* Fills m, q, p and g of level k >= 1 by visiting its groups. m is left 0 where every group holds
 * one member at most: m is then what q is one level further out. */
void nest_spread_scan(const struct nest_spread *spread, int64_t stride, int64_t size, int k,
                      struct nest_comm *out);

/* Position of device u. */
int64_t nest_spread_position(const struct nest_spread *spread, int64_t u);

int64_t nest_greatest_divisor(int64_t a, int64_t b);

/* What the pieces of intervals amount to, over all intervals seen: a piece is the part of an
 * interval inside one tile of stride * size. */
struct nest_pieces {
    int64_t most;     /* members of one communicator in one interval */
    int64_t fewest;   /* the same of the communicator with fewest, where it has any */
    int64_t active;   /* communicators with members in one interval */
    int64_t shortest; /* piece */
};

/* Adds the interval of `length` that begins `offset` (< stride * size) into a tile. */
void nest_pieces_add(struct nest_pieces *pieces, int64_t offset, int64_t length, int64_t stride,
                     int64_t size);

#endif
