#include "solve/reach.h"

static bool is_switched(const struct nest_level *level)
{
    return level->kind == NEST_LEVEL_SWITCH || level->kind == NEST_LEVEL_RAIL;
}

/* Relaxed rates are this much higher, so that rounding never makes them lower than real ones. */
static const double GENEROUS = 1.0 + 1e-9;

/* Level k of the relaxed cluster takes the best of level k and of level k + 1 as relaxed already. A
 * level of own links is relaxed to one that joins any groups with all of its bandwidth, without
 * detours. */
static void relax(const struct nest_level *outer, struct nest_level *level)
{
    level->kind = is_switched(level) ? NEST_LEVEL_SWITCH : NEST_LEVEL_FULLY_CONNECTED;
    level->fanout = 1;
    level->oversubscription = 1.0;
    level->bandwidth *= GENEROUS;
    if (outer) {
        level->bandwidth =
            level->bandwidth > outer->bandwidth ? level->bandwidth : outer->bandwidth;
        level->latency = level->latency < outer->latency ? level->latency : outer->latency;
    }
}

/* Whether every innermost group is as large as the largest, whatever is selected. */
static bool has_equal_innermost(const struct nest_cluster *whole)
{
    bool equal = true;
    for (int i = 0; i <= whole->selections; i++) {
        const struct nest_cluster *cluster = nest_cluster_selected(whole, i);
        const struct nest_level *inner = &cluster->level[0];
        equal = equal && inner->capacity == whole->level[0].capacity &&
                (cluster->uniform || inner->groups * inner->capacity == cluster->devices);
    }
    return equal;
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

#define ONES                                                                                       \
    {                                                                                              \
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1                                                         \
    }
_Static_assert(NEST_MAX_LEVELS == 12, "a communicator of one member has ones at every level");

void nest_reach_inside(int64_t size, struct nest_comm *out)
{
    static const struct nest_comm one = {.size = 1, .m = ONES, .q = ONES, .p = ONES, .g = ONES};
    *out = one;
    out->size = out->m[0] = size;
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

/* Every group is like the others, whatever is selected. */
static bool is_regular(const struct nest_reach *reach)
{
    return reach->cluster.uniform && reach->cluster.selections == 0;
}

/* One divides the other. */
static bool nested(int64_t a, int64_t b)
{
    return a % b == 0 || b % a == 0;
}

/* Groups of a level that a block side by side touches at the most. Where block and group divide one
 * another every block starts at a multiple of itself or of the group, because spans and gaps are
 * multiples of it, too. */
static int64_t touched_by(const struct nest_reach *reach, const struct nest_level *level,
                          int64_t block)
{
    if (!reach->cluster.uniform) {
        return level->groups;
    }
    const int64_t touched = is_regular(reach) && nested(block, level->capacity)
                                ? divided(block, level->capacity)
                                : (block + level->capacity - 2) / level->capacity + 1;
    return smaller(touched, level->groups);
}

/* Devices of the stage in the level-k group that holds most of them, at the least. */
static int64_t fewest_inside(const struct nest_reach *reach, const struct nest_where *where, int k)
{
    const struct nest_level *level = &reach->cluster.level[k];
    const int64_t spread = divided(where->devices, level->groups);
    if (where->block == 0) {
        return spread;
    }
    const int64_t together = divided(where->block, touched_by(reach, level, where->block));
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

/* Flows that share an uplink of the relaxed level k, so that the rate becomes that of best_rate. */
static int64_t flows_at(const struct nest_reach *reach, const struct nest_where *where, int k)
{
    const double whole = (double)reach->cluster.level[k - 1].capacity;
    const double flows = whole * reach->cluster.level[k].bandwidth / best_rate(reach, where, k);
    return flows > 1.0 ? (int64_t)flows : 1;
}

/* Blocks that consist of whole level-k groups: every block then starts at one, because spans and
 * gaps are multiples of it too, and up to level k a communicator lies as if the stage's devices
 * were numbered without gaps. Sets those levels, where strides and tiles fit the groups, and
 * returns the first level that is not set. */
static int set_known(const struct nest_reach *reach, const struct nest_where *where, int64_t stride,
                     int64_t size, struct nest_comm *comm)
{
    const struct nest_cluster *cluster = &reach->cluster;
    int64_t inside = 1; /* members in a group of the level before */
    int k = 0;
    comm->size = 1;
    for (; k < cluster->levels && is_regular(reach) && where->block > 0; k++) {
        const int64_t capacity = cluster->level[k].capacity;
        if (where->block % capacity != 0 || !nested(capacity, stride) ||
            !nested(capacity, stride * size) || (k > 0 && !reach->sided[1])) {
            break;
        }
        const int64_t most = stride * size <= capacity ? size
                             : stride >= capacity      ? 1
                                                       : capacity / stride;
        comm->m[k] = most / inside;
        comm->p[k] = inside;
        comm->q[k] = k > 0 ? flows_at(reach, where, k) : 1;
        comm->top = comm->m[k] > 1 ? k : comm->top;
        comm->size = inside = most;
    }
    return k;
}

/* Groups inside level k that a communicator is spread over at the least, if it must cross it. */
static int64_t spread_over(const struct nest_reach *reach, int k, int64_t size, int64_t most)
{
    return k == reach->cluster.levels - 1 ? divided(size, most) : 2;
}

/* What is known of the inner levels, and of those outside that must be crossed the one that costs
 * most. weight: the part of a buffer that each member sends out of an inner group, given how many
 * of the communicator's members that one holds and how many such groups there are. */
static void cross(const struct nest_reach *reach, const struct nest_where *where, int64_t stride,
                  int64_t size, double (*weight)(int64_t most, int64_t size, int64_t groups),
                  struct nest_comm *out)
{
    nest_reach_inside(1, out);
    if (size == 1) {
        return;
    }
    int worst = 0;
    int64_t held = 1;
    double heaviest = 0.0;
    const int known = set_known(reach, where, stride, size, out);
    for (int k = known > 1 ? known : 1; k < reach->cluster.levels; k++) {
        const int64_t most = most_inside(where, reach->cluster.level[k - 1].capacity, stride);
        if (size <= most || !reach->sided[k]) {
            continue;
        }
        const int64_t groups = spread_over(reach, k, size, most);
        const double sent = weight(most, size, groups) / best_rate(reach, where, k);
        if (sent > heaviest) {
            heaviest = sent;
            worst = k;
            held = most;
        }
    }
    if (worst > 0) {
        out->top = worst;
        out->m[worst] = spread_over(reach, worst, size, held);
        out->q[worst] = flows_at(reach, where, worst);
        out->p[worst] = held;
        out->size = size;
    }
}

static double striped(int64_t most, int64_t size, int64_t groups)
{
    (void)size;
    return (1.0 - 1.0 / (double)groups) / (double)most;
}

static double outward(int64_t most, int64_t size, int64_t groups)
{
    (void)groups;
    return 1.0 - (double)most / (double)size;
}

void nest_reach_ring(const struct nest_reach *reach, const struct nest_where *where, int64_t stride,
                     int64_t size, struct nest_comm *out)
{
    cross(reach, where, stride, size, striped, out);
}

void nest_reach_pairs(const struct nest_reach *reach, const struct nest_where *where,
                      int64_t stride, int64_t size, struct nest_comm *out)
{
    cross(reach, where, stride, size, outward, out);
    /* However many of the others are known: each of them gets a size-th of the buffer. */
    out->size = out->size > 1 ? size : 1;
}
