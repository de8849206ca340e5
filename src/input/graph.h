/* A fabric given as devices, switches and links, and the levels it becomes.
 *
 * Two devices meet at the level of their widest path, and among equally wide ones of the path with
 * fewest hops: single-linkage over (bandwidth, hops), the maximum spanning tree of the fabric. For
 * one flow the level's bandwidth is exact. For many, the oversubscription of a level is set so that
 * all devices of a group below it, sending out at once, get at most the max-flow out of the group:
 * the levels are never optimistic. What they cannot say becomes notes in words. */
#ifndef NEST_INPUT_GRAPH_H
#define NEST_INPUT_GRAPH_H

#include "input/spec.h"

enum { NEST_GRAPH_NODES = 16384, NEST_GRAPH_LINKS = 262144, NEST_GRAPH_DEVICES = 4096 };

struct nest_graph_link {
    int from, to;     /* nodes */
    double bandwidth; /* bytes/s, each direction */
    double latency;   /* seconds */
    int64_t times;    /* parallel links of that bandwidth */
};

struct nest_graph {
    int devices; /* nodes 0 … devices-1 */
    int nodes;   /* with switches */
    int links;
    const struct nest_graph_link *link;
    int names; /* of levels, innermost first; those beyond are called level0, level1 … */
    const char *const *name;
};

/* Fills levels and notes of out and, if order is not NULL, order[devices]: which node each device
 * number is. NEST_NO if some devices cannot reach each other: *lost is one of them. */
enum nest_status nest_graph_levels(const struct nest_graph *graph, struct nest_arena *arena,
                                   struct nest_cluster_spec *out, int *order, int *lost);

/* Bytes/s that the devices with inside[d] can send at once to the others. Negative: no memory. */
double nest_graph_outflow(const struct nest_graph *graph, const bool *inside,
                          struct nest_arena *arena);

#endif
