/* Partial strategies that wait to be looked at: a heap, least bound first, deeper ones before
 * others that are little better. In which order they are looked at decides how soon a good plan
 * keeps out the rest, and never which plan is found.
 *
 *   diving   the deepest first: straight to a whole strategy
 *   seeking  while no plan is known, a level counts as much as a 12th of the bound
 *   aimed    at a plan: a level counts a 32nd of what that is above the least bound */
#ifndef NEST_SOLVE_FRONTIER_H
#define NEST_SOLVE_FRONTIER_H

#include "solve/enumerate.h"

/* What is chosen. Each level knows what those before it know. */
enum nest_node_level {
    NEST_NODE_GROUP,
    NEST_NODE_FAMILY,
    NEST_NODE_DP,
    NEST_NODE_GRID,     /* pp and v */
    NEST_NODE_SHARDING, /* zero and shard */
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
    bool aimed;
    nest_ps discount; /* of a level, once aimed */
};

enum { NEST_FRONTIER_SEEKING = 12, NEST_FRONTIER_AIMING = 32 };

/* False when memory is out. */
bool nest_frontier_push(struct nest_frontier *frontier, const struct nest_node *node);

/* Takes the first one; count must not be 0. */
struct nest_node nest_frontier_pop(struct nest_frontier *frontier);

/* Ends a dive. */
void nest_frontier_surface(struct nest_frontier *frontier);

/* A plan of that step time is known, or a better one than before. */
void nest_frontier_aim(struct nest_frontier *frontier, nest_ps limit);

#endif
