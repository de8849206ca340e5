/* Small random clusters, uniform and irregular, for comparisons with brute force. */
#ifndef NEST_TESTS_SUPPORT_SMALL_CLUSTER_H
#define NEST_TESTS_SUPPORT_SMALL_CLUSTER_H

#include "cluster/cluster.h"
#include "support/random.h"

/* At most a few dozen devices on one to three levels. Everything lives in arena. */
void test_small_cluster(struct test_random *random, struct nest_arena *arena,
                        struct nest_cluster *out);

#endif
