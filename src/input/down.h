/* What of a cluster is out of order: failed, drained, lent to somebody else.
 *
 * Written as "node 13, rack 2, device 40..47": a level's name and the numbers of its groups,
 * counted from 0 in device order, whole or as a range; "none" is nothing. */
#ifndef NEST_INPUT_DOWN_H
#define NEST_INPUT_DOWN_H

#include "input/load.h"

/* Groups first … last of one level. */
struct nest_down {
    int level; /* -1: single devices */
    int64_t first, last;
};

/* Reads cluster->down. Names, numbers and the ends of ranges are checked against the cluster's
 * levels; one fault at mark for the first that is wrong. The list lives in arena; NULL with *count
 * 0 when nothing is down or after a fault. */
const struct nest_down *nest_down_parse(const struct nest_cluster_spec *cluster,
                                        struct nest_mark mark, struct nest_arena *arena, int *count,
                                        struct nest_errors *errors);

#endif
