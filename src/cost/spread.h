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

struct nest_spread {
    const struct nest_cluster *cluster;
    int64_t x;      /* first device of the block in span 0 */
    int64_t block;  /* devices of one copy: a * dp_in */
    int64_t span;   /* K */
    int64_t copies; /* dp_out */
};

/* Fills out for the communicators of stride and size; stride * size divides block * copies. Exact
 * for every tree and alignment. O(levels) where block, span and groups are aligned, which is the
 * rule; O(groups touched) where they are not or the tree is irregular, and O(block * copies) at
 * worst, where a stride also cuts short groups unevenly. out must be zeroed. */
void nest_spread_communicators(const struct nest_spread *spread, int64_t stride, int64_t size,
                               struct nest_comm *out);

/* The same by visiting every group: for irregular trees, and what the closed form must equal. */
void nest_spread_scan(const struct nest_spread *spread, int64_t stride, int64_t size,
                      struct nest_comm *out);

/* Position of device u. */
int64_t nest_spread_position(const struct nest_spread *spread, int64_t u);

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
