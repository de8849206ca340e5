#include "cost/network.h"

#include <math.h>

/* Fitted once for all devices on the 1,017 published timings that tests/cost/test_network_table.c
 * reads; what differs by device (bandwidth, efficiency, latency, launch) is data of the device and
 * the levels. */

/* A member copies its own part of a buffer locally, at twice the rate of its link. */
static const double OWN_PART = 0.5;

/* One communicator is striped over at most so many network ports of a switched scale-up domain:
 * 1,440 GB200 in 20 racks of 72 reach what 8 ports carry. */
static const double PORTS_MOST = 8.0;

/* From this many members on, NCCL lets a scale-up switch that can add do the sum. */
static const int64_t IN_SWITCH_LEAST = 5;
static const double IN_SWITCH_LAUNCH = 15.0; /* times the launch of a collective */
static const double IN_SWITCH_HOP = 2.6;     /* times the latency of the scale-up level */
static const double IN_SWITCH_WIDTH = 0.707; /* of the usable bandwidth, for the whole buffer */

/* A device's own links (scale-up, torus) and the network beyond behave differently. */
enum side { OWN, NETWORK, SIDES };

/* How data is handed on: flags in every word, flags in every line, or whole chunks, small and
 * large. Small messages take the first, large ones the last. */
struct protocol {
    double launch;        /* times the launch of a collective */
    double hop[SIDES];    /* times a level's latency */
    double spread[SIDES]; /* times the bytes: 1 / fraction of the usable bandwidth */
};
enum { WORDS, LINES, CHUNKS, LARGE_CHUNKS, PROTOCOLS };
static const struct protocol PROTOCOL[PROTOCOLS] = {
    [WORDS] = {1.0, {1.0, 1.0}, {1.0 / 0.0614, 1.0 / 0.152}},
    [LINES] = {1.1, {1.06, 1.48}, {1.0 / 0.46, 1.0 / 0.153}},
    [CHUNKS] = {1.81, {1.74, 3.9}, {1.0 / 0.828, 1.0 / 0.312}},
    [LARGE_CHUNKS] = {5.0, {1.55, 6.5}, {1.0, 1.0}},
};

/* What an algorithm asks of each side. */
struct demand {
    double latency[SIDES]; /* seconds, one hop set-up after the other */
    double slope[SIDES];   /* seconds per byte of the buffer, on the narrowest level */
};

/* What the levels offer one member while every communicator is active. */
struct path {
    double rate[NEST_MAX_LEVELS];  /* r_k, bytes/s */
    double inner[NEST_MAX_LEVELS]; /* least r_j, 1 <= j <= k; r_0 for k = 0 */
    double width[NEST_MAX_LEVELS]; /* members of one communicator that send out of a group */
};

/* Rounds to the nearest as llround does, without its call. */
nest_ps nest_to_ps(double seconds)
{
    const double ps = seconds * 1e12;
    if (ps >= (double)NEST_PS_MAX) {
        return NEST_PS_MAX;
    }
    const nest_ps whole = (nest_ps)ps;
    const double rest = ps - (double)whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

double nest_to_seconds(nest_ps time)
{
    return (double)time * 1e-12;
}

static enum side side_of(const struct nest_cluster *cluster, int k)
{
    const enum nest_level_kind kind = cluster->level[k].kind;
    return k > 0 && (kind == NEST_LEVEL_SWITCH || kind == NEST_LEVEL_RAIL) ? NETWORK : OWN;
}

static double usable(const struct nest_cluster *cluster, int k)
{
    const struct nest_device_spec *device = cluster->device;
    const double own = device->scale_up_efficiency;
    return cluster->level[k].bandwidth *
           (side_of(cluster, k) == OWN && own > 0.0 ? own : device->network_efficiency);
}

/* Uplink of a level-(k-1) group, shared by `flows` members that send across level k. */
static double shared_rate(const struct nest_cluster *cluster, int k, double flows)
{
    const double bandwidth = usable(cluster, k);
    const double capacity = k > 0 ? (double)cluster->level[k - 1].capacity : 1.0;
    const double share = capacity * bandwidth / (cluster->level[k].oversubscription * flows);
    return share < bandwidth ? share : bandwidth;
}

/* Fraction of a level's bandwidth that a ring through m of its groups reaches. Part of a ring is a
 * line and has one of two links; a full mesh of which m take part offers m-1 links of each. */
static double ring_fraction(const struct nest_level *level, int64_t m)
{
    if (m >= level->fanout || m <= 1) {
        return 1.0;
    }
    if (level->kind == NEST_LEVEL_RING) {
        return 0.5;
    }
    return level->kind == NEST_LEVEL_FULLY_CONNECTED ? (double)(m - 1) / (double)(level->fanout - 1)
                                                     : 1.0;
}

static void find_path(const struct nest_cluster *cluster, const struct nest_comm *comm,
                      struct path *path)
{
    double ports = 1.0;
    path->width[0] = 1.0;
    path->rate[0] = path->inner[0] =
        shared_rate(cluster, 0, 1.0) * ring_fraction(&cluster->level[0], comm->m[0]);
    for (int k = 1; k <= comm->top; k++) {
        const double fewest = (double)comm->p[k];
        if (k == 1 && fewest > PORTS_MOST && cluster->level[0].kind == NEST_LEVEL_SWITCH &&
            side_of(cluster, 1) == NETWORK) {
            ports = PORTS_MOST / fewest;
        }
        path->width[k] = fewest * ports;
        path->rate[k] = shared_rate(cluster, k, (double)comm->g[k] * (double)comm->q[k]) *
                        ring_fraction(&cluster->level[k], comm->m[k]);
        path->inner[k] =
            k == 1 || path->rate[k] < path->inner[k - 1] ? path->rate[k] : path->inner[k - 1];
    }
}

static void ask(struct demand *demand, enum side side, double latency, double slope)
{
    demand->latency[side] += latency;
    demand->slope[side] = slope > demand->slope[side] ? slope : demand->slope[side];
}

/* How often a buffer goes round. */
static double turns(enum nest_collective kind)
{
    return kind == NEST_ALL_REDUCE ? 2.0 : 1.0;
}

/* One ring through all members, striped over their links: (n-1)/n of the buffer crosses every level
 * per turn, for a broadcast all of it. */
static struct demand flat_ring(const struct nest_cluster *cluster, const struct nest_comm *comm,
                               const struct path *path, enum nest_collective kind)
{
    struct demand demand = {{0.0}, {0.0}};
    const double n = (double)comm->size;
    const double sent = kind == NEST_BROADCAST ? 1.0 : turns(kind) * (n - 1.0) / n;
    double rings = turns(kind);
    for (int k = comm->top; k >= 0; k--) {
        if (comm->m[k] > 1) {
            const double own = k == 0 ? OWN_PART / n : 0.0;
            ask(&demand, side_of(cluster, k),
                (double)(comm->m[k] - 1) * rings * cluster->level[k].latency,
                (sent + own) / (path->width[k] * path->rate[k]));
        }
        rings *= (double)comm->m[k];
    }
    return demand;
}

/* One phase per level, innermost first, each on what the phases inside leave of the buffer. The
 * phases of successive parts run at the same time, so the slowest one sets the pace. */
static struct demand hierarchical(const struct nest_cluster *cluster, const struct nest_comm *comm,
                                  const struct path *path, enum nest_collective kind)
{
    struct demand demand = {{0.0}, {0.0}};
    for (int k = 0; k <= comm->top; k++) {
        const double m = (double)comm->m[k];
        if (m > 1.0) {
            const double own = k == 0 ? OWN_PART / m : 0.0;
            ask(&demand, side_of(cluster, k), turns(kind) * (m - 1.0) * cluster->level[k].latency,
                (turns(kind) * (m - 1.0) / m + own) / (path->width[k] * path->inner[k]));
        }
    }
    return demand;
}

/* Least k with 2^k >= m. */
static int steps_to(int64_t m)
{
    return m <= 1 ? 0 : 64 - __builtin_clzll((unsigned long long)(m - 1));
}

/* Hops from the leaves of a tree over m groups: a chain among up to 8 neighbours, else its depth.
 */
static double depth(enum side side, int64_t m)
{
    if (side == NETWORK) {
        return (double)steps_to(m);
    }
    return m <= 8 ? (double)(m - 1) : (double)(7 + steps_to(m) - 3);
}

/* Two trees, each over half of the buffer. An inner group passes the buffer up and down; of two
 * groups each sends it once. */
static struct demand tree(const struct nest_cluster *cluster, const struct nest_comm *comm,
                          const struct path *path, enum nest_collective kind)
{
    struct demand demand = {{0.0}, {0.0}};
    for (int k = 0; k <= comm->top; k++) {
        if (comm->m[k] > 1) {
            const enum side side = side_of(cluster, k);
            const double sent = side == NETWORK && comm->m[k] == 2 ? 1.0 : turns(kind);
            ask(&demand, side, turns(kind) * depth(side, comm->m[k]) * cluster->level[k].latency,
                sent / (path->width[k] * path->rate[k]));
        }
    }
    return demand;
}

/* Hops that a byte of an all-to-all takes on average; 1 where every pair has its own way. */
static double detour(const struct nest_level *level, int64_t m)
{
    if (m <= 2 || (level->kind != NEST_LEVEL_RING && level->kind != NEST_LEVEL_MESH)) {
        return 1.0;
    }
    const double groups = (double)m;
    return m % 2 == 0 ? groups * groups / (4.0 * (groups - 1.0)) : (groups + 1.0) / 4.0;
}

/* Every member sends an equal part to every other one; what leaves a group at level k crosses its
 * uplink. */
static struct demand all_to_all(const struct nest_cluster *cluster, const struct nest_comm *comm,
                                const struct path *path)
{
    struct demand demand = {{0.0}, {0.0}};
    const double n = (double)comm->size;
    for (int k = 0; k <= comm->top; k++) {
        if (comm->m[k] > 1) {
            const struct nest_level *level = &cluster->level[k];
            const double sent = k == 0 ? (double)(comm->m[0] - 1) / n * detour(level, comm->m[0])
                                       : (1.0 - (double)comm->p[k] / n) * detour(level, comm->m[k]);
            const double own = k == 0 ? OWN_PART / n : 0.0;
            ask(&demand, side_of(cluster, k), (1.0 + log2((double)comm->m[k])) * level->latency,
                (sent + own) / path->rate[k]);
        }
    }
    return demand;
}

static double time_of(const struct nest_collective_way *way, double bytes)
{
    return way->fixed + bytes * way->slope;
}

static struct nest_collective_way way_under(const struct demand *demand, int protocol,
                                            double launch)
{
    static const char *const name[PROTOCOLS] = {"words", "lines", "chunks", "large chunks"};
    const struct protocol *p = &PROTOCOL[protocol];
    const double own = demand->slope[OWN] * p->spread[OWN];
    const double network = demand->slope[NETWORK] * p->spread[NETWORK];
    return (struct nest_collective_way){
        .protocol = name[protocol],
        .fixed = p->launch * launch + p->hop[OWN] * demand->latency[OWN] +
                 p->hop[NETWORK] * demand->latency[NETWORK],
        .slope = own > network ? own : network,
    };
}

/* Keeps the quicker of two ways in best. */
static void offer(struct nest_collective_way *best, const struct nest_collective_way *way,
                  double bytes)
{
    if (!best->algorithm || time_of(way, bytes) < time_of(best, bytes)) {
        *best = *way;
    }
}

/* Offers every protocol. Sends between pairs have no line protocol. */
static void offer_all(const struct nest_cluster *cluster, const char *algorithm,
                      const struct demand *demand, bool pairs, double bytes,
                      struct nest_collective_way *best)
{
    const double launch = cluster->device->collective_launch;
    for (int i = 0; i < PROTOCOLS; i++) {
        if (i != LINES || !pairs) {
            struct nest_collective_way way = way_under(demand, i, launch);
            way.algorithm = algorithm;
            offer(best, &way, bytes);
        }
    }
}

/* The scale-up switch adds and hands out; groups exchange their parts meanwhile. */
static struct nest_collective_way in_switch(const struct nest_cluster *cluster,
                                            const struct nest_comm *comm, const struct path *path)
{
    const struct protocol *large = &PROTOCOL[LARGE_CHUNKS];
    double latency = IN_SWITCH_LAUNCH * cluster->device->collective_launch +
                     IN_SWITCH_HOP * cluster->level[0].latency;
    double slope = 1.0 / (path->rate[0] * IN_SWITCH_WIDTH);
    for (int k = 1; k <= comm->top; k++) {
        const double m = (double)comm->m[k];
        const double phase = 2.0 * (m - 1.0) / m / (path->width[k] * path->inner[k]);
        const enum side side = side_of(cluster, k);
        latency += 2.0 * depth(side, comm->m[k]) * large->hop[side] * cluster->level[k].latency;
        slope = phase > slope ? phase : slope;
    }
    return (struct nest_collective_way){"sums in the switch", "large chunks", latency, slope};
}

static bool adds_in_switch(const struct nest_cluster *cluster, const struct nest_comm *comm)
{
    return cluster->device->scale_up_reduction && cluster->level[0].kind == NEST_LEVEL_SWITCH &&
           comm->m[0] >= IN_SWITCH_LEAST;
}

struct nest_collective_way nest_collective_way(const struct nest_cluster *cluster,
                                               enum nest_collective kind,
                                               const struct nest_comm *comm, double bytes)
{
    struct nest_collective_way best = {0};
    struct path path;
    find_path(cluster, comm, &path);
    if (kind == NEST_ALL_TO_ALL) {
        const struct demand demand = all_to_all(cluster, comm, &path);
        offer_all(cluster, "pairs", &demand, true, bytes, &best);
        return best;
    }
    const struct demand ring = flat_ring(cluster, comm, &path, kind);
    offer_all(cluster, "ring", &ring, false, bytes, &best);
    if (kind != NEST_BROADCAST && comm->top > 0) {
        const struct demand phases = hierarchical(cluster, comm, &path, kind);
        offer_all(cluster, "a ring per level", &phases, false, bytes, &best);
    }
    if (kind == NEST_ALL_REDUCE || kind == NEST_BROADCAST) {
        const struct demand halves = tree(cluster, comm, &path, kind);
        offer_all(cluster, "two trees", &halves, false, bytes, &best);
    }
    if (kind == NEST_ALL_REDUCE && adds_in_switch(cluster, comm)) {
        const struct nest_collective_way way = in_switch(cluster, comm, &path);
        offer(&best, &way, bytes);
    }
    return best;
}

nest_ps nest_collective_time(const struct nest_cluster *cluster, enum nest_collective kind,
                             const struct nest_comm *comm, double bytes)
{
    if (comm->size <= 1 || bytes <= 0.0) {
        return 0;
    }
    const struct nest_collective_way way = nest_collective_way(cluster, kind, comm, bytes);
    return nest_to_ps(time_of(&way, bytes));
}

/* Fraction of a level's bandwidth that one pair of devices reaches: one of two links of a ring, one
 * of all of a full mesh. */
static double pair_fraction(const struct nest_level *level)
{
    if (level->kind == NEST_LEVEL_RING && level->fanout > 2) {
        return 0.5;
    }
    return level->kind == NEST_LEVEL_FULLY_CONNECTED && level->fanout > 2
               ? 1.0 / (double)(level->fanout - 1)
               : 1.0;
}

nest_ps nest_transfer_time(const struct nest_cluster *cluster, int level, int64_t block,
                           double bytes)
{
    if (bytes <= 0.0) {
        return 0;
    }
    struct demand demand = {{0.0}, {0.0}};
    for (int k = level > 0 ? 1 : 0; k <= level; k++) {
        const int64_t group = k > 0 ? cluster->level[k - 1].capacity : 1;
        const double flows = (double)(group < block ? group : block);
        const double rate = shared_rate(cluster, k, flows) * pair_fraction(&cluster->level[k]);
        ask(&demand, side_of(cluster, k), k == level ? cluster->level[k].latency : 0.0, 1.0 / rate);
    }
    struct nest_collective_way best = {0};
    offer_all(cluster, "pairs", &demand, true, bytes, &best);
    return nest_to_ps(time_of(&best, bytes));
}
