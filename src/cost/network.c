#include "cost/network.h"

#include <math.h>

/* What one level offers to one member of every communicator at once. */
struct path {
    double rate[NEST_MAX_LEVELS];  /* r_k: bytes/s of one member across level k */
    double inner[NEST_MAX_LEVELS]; /* the least rate on the way out to level k */
};

/* One way to run a collective: seconds = latency + bytes * slope. */
struct line {
    double latency;
    double slope;
};

nest_ps nest_to_ps(double seconds)
{
    const double ps = seconds * 1e12;
    return ps >= (double)NEST_PS_MAX ? NEST_PS_MAX : (nest_ps)llround(ps);
}

double nest_to_seconds(nest_ps time)
{
    return (double)time * 1e-12;
}

static double usable(const struct nest_cluster *cluster, const struct nest_level *level)
{
    return level->bandwidth * cluster->device->network_efficiency;
}

/* Uplink of a level-(k-1) group, shared by `flows` members that send across level k. */
static double shared_rate(const struct nest_cluster *cluster, int k, double flows)
{
    const struct nest_level *level = &cluster->level[k];
    const double bandwidth = usable(cluster, level);
    const double capacity = k > 0 ? (double)cluster->level[k - 1].capacity : 1.0;
    const double share = capacity * bandwidth / (level->oversubscription * flows);
    return share < bandwidth ? share : bandwidth;
}

static void find_path(const struct nest_cluster *cluster, const struct nest_comm *comm,
                      struct path *path)
{
    path->rate[0] = path->inner[0] = shared_rate(cluster, 0, 1.0);
    for (int k = 1; k <= comm->top; k++) {
        path->rate[k] = shared_rate(cluster, k, (double)comm->g[k] * (double)comm->q[k]);
        path->inner[k] =
            k == 1 || path->rate[k] < path->inner[k - 1] ? path->rate[k] : path->inner[k - 1];
    }
}

/* Rounds of a ring collective over n members, in (n - 1): a full turn for each of them. */
static double turns(enum nest_collective kind)
{
    return kind == NEST_ALL_REDUCE ? 2.0 : 1.0;
}

/* One ring through all members, striped over their links: every byte crosses the narrowest level
 * (n-1)/n times per turn. */
static struct line flat_ring(const struct nest_cluster *cluster, const struct nest_comm *comm,
                             const struct path *path, enum nest_collective kind)
{
    const double n = (double)comm->size;
    double narrowest = path->rate[0];
    double latency = 0.0;
    double rings = 1.0;
    for (int k = comm->top; k >= 0; k--) {
        const double width = (double)comm->p[k] * path->rate[k];
        narrowest = width < narrowest && comm->m[k] > 1 ? width : narrowest;
        latency += (double)(comm->m[k] - 1) * rings * cluster->level[k].latency;
        rings *= (double)comm->m[k];
    }
    return (struct line){turns(kind) * latency, turns(kind) * (n - 1.0) / n / narrowest};
}

/* One phase per level, innermost first, each on what the phases inside leave of the buffer. The
 * phases of successive parts run at the same time, so the slowest one sets the pace. */
static struct line hierarchical(const struct nest_cluster *cluster, const struct nest_comm *comm,
                                const struct path *path, enum nest_collective kind)
{
    struct line line = {0.0, 0.0};
    for (int k = 0; k <= comm->top; k++) {
        const double m = (double)comm->m[k];
        const double slope = (m - 1.0) / m / (double)comm->p[k] / path->inner[k];
        line.slope = slope > line.slope ? slope : line.slope;
        line.latency += (m - 1.0) * cluster->level[k].latency;
    }
    return (struct line){turns(kind) * line.latency, turns(kind) * line.slope};
}

/* Two trees, each over half of the buffer: all bytes go up and down once. */
static struct line tree(const struct nest_cluster *cluster, const struct nest_comm *comm,
                        const struct path *path, enum nest_collective kind)
{
    struct line line = {0.0, 1.0 / path->rate[0]};
    for (int k = 0; k <= comm->top; k++) {
        const double slope = 1.0 / ((double)comm->p[k] * path->rate[k]);
        line.slope = slope > line.slope && comm->m[k] > 1 ? slope : line.slope;
        line.latency += ceil(log2((double)comm->m[k])) * cluster->level[k].latency;
    }
    return (struct line){turns(kind) * line.latency, turns(kind) * line.slope};
}

/* Every member sends an equal part to every other one; what leaves a group at level k crosses its
 * uplink. */
static struct line all_to_all(const struct nest_cluster *cluster, const struct nest_comm *comm,
                              const struct path *path)
{
    const double n = (double)comm->size;
    struct line line = {0.0, 0.0};
    for (int k = 0; k <= comm->top; k++) {
        const double slope = (1.0 - (double)comm->p[k] / n) / path->rate[k];
        line.slope = slope > line.slope ? slope : line.slope;
        line.latency = comm->m[k] > 1 ? cluster->level[k].latency : line.latency;
    }
    return line;
}

static double cost_of(struct line line, double bytes)
{
    return line.latency + bytes * line.slope;
}

nest_ps nest_collective_time(const struct nest_cluster *cluster, enum nest_collective kind,
                             const struct nest_comm *comm, double bytes)
{
    if (comm->size <= 1 || bytes <= 0.0) {
        return 0;
    }
    struct path path;
    find_path(cluster, comm, &path);
    if (kind == NEST_ALL_TO_ALL) {
        return nest_to_ps(cost_of(all_to_all(cluster, comm, &path), bytes));
    }
    double best = cost_of(flat_ring(cluster, comm, &path, kind), bytes);
    best = fmin(best, cost_of(hierarchical(cluster, comm, &path, kind), bytes));
    if (kind == NEST_ALL_REDUCE || kind == NEST_BROADCAST) {
        best = fmin(best, cost_of(tree(cluster, comm, &path, kind), bytes));
    }
    return nest_to_ps(best);
}

nest_ps nest_transfer_time(const struct nest_cluster *cluster, int level, int64_t block,
                           double bytes)
{
    if (bytes <= 0.0) {
        return 0;
    }
    double rate = shared_rate(cluster, level > 0 ? 1 : 0, 1.0);
    for (int k = 1; k <= level; k++) {
        const int64_t group = cluster->level[k - 1].capacity;
        const double flows = (double)(group < block ? group : block);
        rate = fmin(rate, shared_rate(cluster, k, flows));
    }
    return nest_to_ps(cluster->level[level].latency + bytes / rate);
}
