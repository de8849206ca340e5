/* Partial strategies that wait to be looked at: a heap, least bound first.
 *
 * While it dives, deeper ones come first: that leads straight to a whole strategy, whose plan then
 * keeps out most of the rest. */
#ifndef NEST_SOLVE_FRONTIER_H
#define NEST_SOLVE_FRONTIER_H

#include "solve/enumerate.h"

/* What is chosen. Each level knows what those before it know. */
enum nest_node_level {
    NEST_NODE_GROUP,
    NEST_NODE_FAMILY,
    NEST_NODE_DP,
    NEST_NODE_GRID,     /* pp and v */
    NEST_NODE_SHARDING, /* zero and shard; bounded by an even split */
    NEST_NODE_SHARP,    /* the same, bounded by what fits */
    NEST_NODE_STRATEGY  /* dp_in: all but the span */
};

struct nest_node {
    nest_ps bound;
    int64_t number; /* order of birth: breaks ties */
    int64_t dp_in;  /* dp while the order is open */
    int64_t shard;
    int family; /* index; of a group, its own */
    int dp;     /* index in the family's list */
    int pp, virtual_stages;
    int selection;
    uint8_t level; /* enum nest_node_level */
    uint8_t zero;
    uint8_t tries; /* how often it was solved within some reach only */
};

enum { NEST_NODE_TRIES = 3 };

struct nest_frontier {
    struct nest_node *heap;
    size_t count, capacity;
    int64_t born;
    bool diving;
};

/* False when memory is out. */
bool nest_frontier_push(struct nest_frontier *frontier, const struct nest_node *node);

/* Takes the first one; count must not be 0. */
struct nest_node nest_frontier_pop(struct nest_frontier *frontier);

/* Ends the dive. */
void nest_frontier_surface(struct nest_frontier *frontier);

#endif
