/* A cluster's tree in words and as text lines. */
#ifndef NEST_CLUSTER_DESCRIBE_H
#define NEST_CLUSTER_DESCRIBE_H

#include "base/json.h"
#include "base/strbuf.h"
#include "cluster/cluster.h"

/* Appends the tree, outermost level first, one line a level: name, groups below, bandwidth of a
 * device, latency, oversubscription, kind; where groups differ, their sizes and devices; then the
 * kinds of a mixed cluster, what is down, and what levels made from a graph could not say. */
void nest_cluster_describe(const struct nest_cluster *cluster, struct nest_strbuf *out);

/* The same as members of the open object: name, device, devices, levels; kinds, stretches, down and
 * notes where there are any. */
void nest_cluster_json(const struct nest_cluster *cluster, struct nest_json *json);

#endif
