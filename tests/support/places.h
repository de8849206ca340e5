/* Where the blocks of a span may lie, found by trying: for the oracles, which share nothing with
 * the solver but the cluster's tree. */
#ifndef NEST_TESTS_SUPPORT_PLACES_H
#define NEST_TESTS_SUPPORT_PLACES_H

#include "cluster/cluster.h"

/* The right end of a block in front of one that starts at `start`: that itself (level -1), or the
 * nearest boundary of a level's groups at or before it. */
int64_t test_place_end(const struct nest_cluster *cluster, int level, int64_t start);

/* Whether a span of stages is so long: a sum of block widths, one of them for each stage, or such a
 * sum rounded up to a boundary of some level's groups. */
bool test_place_is_span(const struct nest_cluster *cluster, int stages, int widths,
                        const int64_t *block, int64_t span);

#endif
