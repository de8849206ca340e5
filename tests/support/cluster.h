/* Clusters for tests: made by hand or at random, with a seeded generator. */
#ifndef NEST_TESTS_SUPPORT_CLUSTER_H
#define NEST_TESTS_SUPPORT_CLUSTER_H

#include "cluster/cluster.h"

/* splitmix64; the state is the seed. */
struct test_random {
    uint64_t state;
};
uint64_t test_random_next(struct test_random *random);
int64_t test_random_below(struct test_random *random, int64_t n); /* 0 … n-1 */
double test_random_unit(struct test_random *random);              /* [0, 1) */

/* A cluster with its specification and memory; release it with test_cluster_free. */
struct test_cluster {
    struct nest_arena arena;
    struct nest_device_spec device;
    struct nest_device_spec other; /* of some groups, see test_cluster_mix */
    struct nest_cluster_spec spec;
    struct nest_cluster tree;
};

/* Levels of the given fan-outs, innermost first: 100 GB/s falling by 2 per level, 1 us rising by 2,
 * no oversubscription, device efficiency 1. */
void test_cluster_of(struct test_cluster *cluster, int levels, const int64_t *fanout);

/* Builds the tree again after spec was changed; limit 0 keeps all devices. */
void test_cluster_rebuild(struct test_cluster *cluster, int64_t limit);

/* 1…4 levels, at most `most` devices, random rates. */
void test_cluster_uniform(struct test_cluster *cluster, struct test_random *random, int64_t most);
void test_cluster_irregular(struct test_cluster *cluster, struct test_random *random, int64_t most);

/* Gives the groups of one level another device or slower links, at random, and builds the tree
 * again. other must be set. */
void test_cluster_mix(struct test_cluster *cluster, struct test_random *random);

void test_cluster_free(struct test_cluster *cluster);

#endif
