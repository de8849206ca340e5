#include "solve/reach.h"

static bool is_switched(const struct nest_level *level)
{
    return level->kind == NEST_LEVEL_SWITCH || level->kind == NEST_LEVEL_RAIL;
}

/* Relaxed rates are this much higher, so that rounding never makes them lower than real ones. */
static const double GENEROUS = 1.0 + 1e-9;

/* Level k of the relaxed cluster takes the best of level k and of level k + 1 as relaxed already. A
 * mesh offers all of its bandwidth to any groups, as a switch does. */
static void relax(const struct nest_level *outer, struct nest_level *level)
{
    level->kind = is_switched(level) ? NEST_LEVEL_SWITCH : NEST_LEVEL_MESH;
    level->oversubscription = 1.0;
    level->bandwidth *= GENEROUS;
    if (outer) {
        level->bandwidth =
            level->bandwidth > outer->bandwidth ? level->bandwidth : outer->bandwidth;
        level->latency = level->latency < outer->latency ? level->latency : outer->latency;
    }
}

/* Whether every innermost group is as large as the largest. */
static bool has_equal_innermost(const struct nest_cluster *cluster)
{
    const struct nest_level *inner = &cluster->level[0];
    return cluster->uniform || inner->groups * inner->capacity == cluster->devices;
}

void nest_reach_init(const struct nest_cluster *cluster, struct nest_reach *out)
{
    *out = (struct nest_reach){.cluster = *cluster, .tiled = has_equal_innermost(cluster)};
    for (int k = cluster->levels - 1; k >= 1; k--) {
        const struct nest_level *level = &cluster->level[k];
        const bool last = k == cluster->levels - 1;
        out->rate[k] = level->bandwidth;
        out->share[k] = (double)cluster->level[k - 1].capacity / level->oversubscription;
        out->sided[k] = last || (out->sided[k + 1] && is_switched(level) == is_switched(level + 1));
        relax(last ? NULL : &out->cluster.level[k + 1], &out->cluster.level[k]);
    }
}

struct nest_comm nest_reach_inside(int64_t size)
{
    struct nest_comm comm = {.size = size};
    for (int k = 0; k < NEST_MAX_LEVELS; k++) {
        comm.m[k] = comm.q[k] = comm.p[k] = comm.g[k] = 1;
    }
    comm.m[0] = size;
    return comm;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t divided(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Most members of one communicator in one group of the capacity. A window of that many positions
 * sees most of the stage where copies are as close as can be. */
static int64_t most_inside(const struct nest_where *where, int64_t capacity, int64_t stride)
{
    int64_t seen = capacity;
    if (where->block > 0) {
        seen =
            capacity / where->pitch * where->block + smaller(capacity % where->pitch, where->block);
    }
    return divided(seen, stride);
}

/* Devices of the stage in the level-k group that holds most of them, at the least. */
static int64_t fewest_inside(const struct nest_reach *reach, const struct nest_where *where, int k)
{
    const struct nest_level *level = &reach->cluster.level[k];
    const int64_t spread = divided(where->devices, level->groups);
    if (where->block == 0) {
        return spread;
    }
    /* A block side by side touches no more groups than this, if none is smaller than another,
     * whatever kinds of devices a plan may leave out. */
    const int64_t touched = reach->cluster.uniform && reach->cluster.selections == 0
                                ? (where->block + level->capacity - 2) / level->capacity + 1
                                : level->groups;
    const int64_t together = divided(where->block, smaller(touched, level->groups));
    return spread > together ? spread : together;
}

/* Bytes per second of one member across level k or any outer one, at the most. */
static double best_rate(const struct nest_reach *reach, const struct nest_where *where, int k)
{
    double best = 0.0;
    for (int j = k; j < reach->cluster.levels; j++) {
        const double part = reach->share[j] / (double)fewest_inside(reach, where, j - 1);
        const double rate = reach->rate[j] * (part < 1.0 ? part : 1.0);
        best = rate > best ? rate : best;
    }
    return best;
}

static double striped(int64_t most, int64_t size)
{
    (void)size;
    return 1.0 / (double)most;
}

static double outward(int64_t most, int64_t size)
{
    return 1.0 - (double)most / (double)size;
}

/* The level that costs most of those that must be crossed. weight: the part of a buffer that each
 * member sends, given how many of its communicator an inner group holds. */
static struct nest_comm cross(const struct nest_reach *reach, const struct nest_where *where,
                              int64_t stride, int64_t size,
                              double (*weight)(int64_t most, int64_t size))
{
    struct nest_comm comm = nest_reach_inside(1);
    double worst = 0.0;
    for (int k = 1; k < reach->cluster.levels && size > 1; k++) {
        const int64_t inner = reach->cluster.level[k - 1].capacity;
        const int64_t most = most_inside(where, inner, stride);
        if (size <= most || !reach->sided[k]) {
            continue;
        }
        const double best = best_rate(reach, where, k);
        const double sent = weight(most, size) / best;
        if (sent > worst) {
            const double flows = (double)inner * reach->cluster.level[k].bandwidth / best;
            worst = sent;
            comm = nest_reach_inside(1);
            comm.size = size;
            comm.top = k;
            /* Pairs take no detour on a full mesh, which the relaxed mesh stands for as well. */
            const bool certain =
                k == reach->cluster.levels - 1 &&
                (weight == striped || reach->cluster.level[k].kind == NEST_LEVEL_SWITCH);
            comm.m[k] = certain ? divided(size, most) : 2;
            comm.q[k] = flows > 1.0 ? (int64_t)flows : 1;
            comm.p[k] = most;
        }
    }
    return comm;
}

struct nest_comm nest_reach_ring(const struct nest_reach *reach, const struct nest_where *where,
                                 int64_t stride, int64_t size)
{
    return cross(reach, where, stride, size, striped);
}

struct nest_comm nest_reach_pairs(const struct nest_reach *reach, const struct nest_where *where,
                                  int64_t stride, int64_t size)
{
    return cross(reach, where, stride, size, outward);
}
