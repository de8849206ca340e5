#include "input/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* The groups after everything up to (bandwidth, hops) was joined. */
struct partition {
    double bandwidth;
    int hops;
    int *group; /* [devices] least device of its group */
};

enum { PARTITIONS_MOST = 256 };

/* A way between two devices: through nodes that lie nearest to each. */
struct candidate {
    int hops;
    int a, b; /* devices */
};

struct work {
    const struct nest_graph *graph;
    struct nest_arena *arena;
    struct nest_arena *scratch;
    int *first;     /* [nodes + 1] into neighbour */
    int *neighbour; /* links at each node */
    int *parent;    /* [devices] union-find; the least device is the root */
    int *owner;     /* [nodes] nearest device */
    int *hops;      /* [nodes] to it; -1 = out of reach */
    int *queue;
    double *latency; /* [nodes] */
    struct candidate *candidate;
    int partitions;
    struct partition partition[PARTITIONS_MOST];
};

static bool prepare(struct work *w)
{
    const struct nest_graph *g = w->graph;
    w->first = NEST_NEW(w->scratch, int, g->nodes + 1);
    w->neighbour = NEST_NEW(w->scratch, int, 2 * g->links);
    w->parent = NEST_NEW(w->scratch, int, g->devices);
    w->owner = NEST_NEW(w->scratch, int, g->nodes);
    w->hops = NEST_NEW(w->scratch, int, g->nodes);
    w->queue = NEST_NEW(w->scratch, int, g->nodes);
    w->latency = NEST_NEW(w->scratch, double, g->nodes);
    w->candidate = NEST_NEW(w->scratch, struct candidate, g->links);
    if (!w->first || !w->neighbour || !w->parent || !w->owner || !w->hops || !w->queue ||
        !w->latency || !w->candidate) {
        return false;
    }
    for (int i = 0; i < g->links; i++) {
        w->first[g->link[i].from + 1]++;
        w->first[g->link[i].to + 1]++;
    }
    for (int v = 0; v < g->nodes; v++) {
        w->first[v + 1] += w->first[v];
    }
    int *next = w->queue;
    memcpy(next, w->first, (size_t)g->nodes * sizeof *next);
    for (int i = 0; i < g->links; i++) {
        w->neighbour[next[g->link[i].from]++] = i;
        w->neighbour[next[g->link[i].to]++] = i;
    }
    for (int d = 0; d < g->devices; d++) {
        w->parent[d] = d;
    }
    return true;
}

static int find_root(const struct work *w, int d)
{
    while (w->parent[d] != d) {
        w->parent[d] = w->parent[w->parent[d]];
        d = w->parent[d];
    }
    return d;
}

static int far_end(const struct nest_graph_link *link, int node)
{
    return link->from == node ? link->to : link->from;
}

/* Nearest device of every node over links of at least the bandwidth. */
static void find_owners(struct work *w, double bandwidth)
{
    const struct nest_graph *g = w->graph;
    int tail = 0;
    for (int v = 0; v < g->nodes; v++) {
        w->hops[v] = v < g->devices ? 0 : -1;
        w->owner[v] = v;
        if (v < g->devices) {
            w->queue[tail++] = v;
        }
    }
    for (int head = 0; head < tail; head++) {
        const int v = w->queue[head];
        for (int i = w->first[v]; i < w->first[v + 1]; i++) {
            const struct nest_graph_link *link = &g->link[w->neighbour[i]];
            const int to = far_end(link, v);
            if (link->bandwidth >= bandwidth && w->hops[to] < 0) {
                w->hops[to] = w->hops[v] + 1;
                w->owner[to] = w->owner[v];
                w->queue[tail++] = to;
            }
        }
    }
}

static int by_hops(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    return (x->hops > y->hops) - (x->hops < y->hops);
}

static bool keep_partition(struct work *w, double bandwidth, int hops)
{
    if (w->partitions == PARTITIONS_MOST) {
        w->partitions--; /* the last one is replaced: its groups are part of the new ones */
    }
    struct partition *p = &w->partition[w->partitions++];
    p->bandwidth = bandwidth;
    p->hops = hops;
    p->group = NEST_NEW(w->scratch, int, w->graph->devices);
    if (!p->group) {
        return false;
    }
    for (int d = 0; d < w->graph->devices; d++) {
        p->group[d] = find_root(w, d);
    }
    return true;
}

/* Joins everything that links of at least the bandwidth connect, nearest first. The tree over
 * nearest devices joins what the tree over all pairs would (Mehlhorn 1988). */
static bool join_at(struct work *w, double bandwidth)
{
    const struct nest_graph *g = w->graph;
    find_owners(w, bandwidth);
    int count = 0;
    for (int i = 0; i < g->links; i++) {
        const struct nest_graph_link *link = &g->link[i];
        if (link->bandwidth >= bandwidth && w->hops[link->from] >= 0 && w->hops[link->to] >= 0 &&
            w->owner[link->from] != w->owner[link->to]) {
            w->candidate[count++] = (struct candidate){w->hops[link->from] + 1 + w->hops[link->to],
                                                       w->owner[link->from], w->owner[link->to]};
        }
    }
    qsort(w->candidate, (size_t)count, sizeof *w->candidate, by_hops);
    bool joined = false;
    for (int i = 0; i < count; i++) {
        const int a = find_root(w, w->candidate[i].a);
        const int b = find_root(w, w->candidate[i].b);
        if (a != b) {
            w->parent[a > b ? a : b] = a > b ? b : a;
            joined = true;
        }
        if (joined && (i + 1 == count || w->candidate[i + 1].hops > w->candidate[i].hops)) {
            if (!keep_partition(w, bandwidth, w->candidate[i].hops)) {
                return false;
            }
            joined = false;
        }
    }
    return true;
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x < y) - (x > y);
}

static bool join_all(struct work *w)
{
    const struct nest_graph *g = w->graph;
    double *bandwidth = NEST_NEW(w->scratch, double, g->links + 1);
    if (!bandwidth) {
        return false;
    }
    for (int i = 0; i < g->links; i++) {
        bandwidth[i] = g->link[i].bandwidth;
    }
    qsort(bandwidth, (size_t)g->links, sizeof *bandwidth, falling);
    for (int i = 0; i < g->links; i++) {
        if ((i == 0 || bandwidth[i] < bandwidth[i - 1]) && !join_at(w, bandwidth[i])) {
            return false;
        }
    }
    return true;
}

static void add_note(struct nest_cluster_spec *out, const char *text)
{
    if (text && out->notes < NEST_CLUSTER_NOTES) {
        out->note[out->notes++] = text;
    }
}

/* Leaves out the groups whose loss changes bandwidth least until the levels are few enough. */
static void coarsen(struct work *w, struct nest_cluster_spec *out)
{
    const int before = w->partitions;
    while (w->partitions > NEST_MAX_LEVELS) {
        int least = 0;
        for (int i = 1; i + 1 < w->partitions; i++) {
            const double here = w->partition[i].bandwidth / w->partition[i + 1].bandwidth;
            const double best = w->partition[least].bandwidth / w->partition[least + 1].bandwidth;
            least = here < best ? i : least;
        }
        memmove(&w->partition[least], &w->partition[least + 1],
                (size_t)(w->partitions - least - 1) * sizeof *w->partition);
        w->partitions--;
    }
    if (w->partitions < before) {
        add_note(out,
                 nest_arena_printf(w->arena,
                                   "%d steps of bandwidth and distance became %d levels; a level "
                                   "has the least bandwidth of its steps",
                                   before, w->partitions));
    }
}

/* ---- Order and shape ---- */

struct place {
    int group[NEST_MAX_LEVELS + 1]; /* outermost first, then the device itself */
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    for (int i = 0; i <= NEST_MAX_LEVELS; i++) {
        if (x->group[i] != y->group[i]) {
            return x->group[i] < y->group[i] ? -1 : 1;
        }
    }
    return 0;
}

static int *order_devices(const struct work *w)
{
    const int n = w->graph->devices;
    struct place *place = NEST_NEW(w->scratch, struct place, n);
    int *order = NEST_NEW(w->scratch, int, n);
    if (!place || !order) {
        return NULL;
    }
    for (int d = 0; d < n; d++) {
        for (int l = 0; l < w->partitions; l++) {
            place[d].group[l] = w->partition[w->partitions - 1 - l].group[d];
        }
        place[d].group[NEST_MAX_LEVELS] = d;
    }
    qsort(place, (size_t)n, sizeof *place, by_place);
    for (int i = 0; i < n; i++) {
        order[i] = place[i].group[NEST_MAX_LEVELS];
    }
    return order;
}

/* Group of device number i at level l; level -1 is the device. */
static int group_at(const struct work *w, const int *order, int l, int i)
{
    return l < 0 ? order[i] : w->partition[l].group[order[i]];
}

/* Runs of equal fan-outs in device order; one fan-out where all are equal. */
static bool shape_level(const struct work *w, const int *order, int l, struct nest_level_spec *out)
{
    const int n = w->graph->devices;
    struct nest_group_run *run = NEST_NEW(w->arena, struct nest_group_run, n);
    if (!run) {
        return false;
    }
    int runs = 0;
    int64_t children = 0;
    for (int i = 0; i < n; i++) {
        children += i == 0 || group_at(w, order, l - 1, i) != group_at(w, order, l - 1, i - 1);
        if (i + 1 < n && group_at(w, order, l, i) == group_at(w, order, l, i + 1)) {
            continue;
        }
        if (runs > 0 && run[runs - 1].fanout == children) {
            run[runs - 1].times++;
        } else {
            run[runs++] = (struct nest_group_run){.fanout = children, .times = 1};
        }
        children = 0;
    }
    if (runs == 1) {
        out->fanout = run[0].fanout;
    } else {
        out->group = run;
        out->groups = runs;
    }
    return true;
}

/* ---- Figures of a level ---- */

/* Longest of the shortest-latency ways from a device to others of its group of level l, over links
 * of at least the level's bandwidth (Bellman-Ford in queue order; fabrics are shallow). */
static double farthest(struct work *w, int l, int from)
{
    const struct nest_graph *g = w->graph;
    const struct partition *p = &w->partition[l];
    for (int v = 0; v < g->nodes; v++) {
        w->latency[v] = INFINITY;
        w->hops[v] = 0; /* whether it waits */
    }
    int head = 0;
    int waiting = 1;
    w->queue[0] = from;
    w->latency[from] = 0.0;
    while (waiting > 0) {
        const int v = w->queue[head];
        head = (head + 1) % g->nodes;
        waiting--;
        w->hops[v] = 0;
        for (int i = w->first[v]; i < w->first[v + 1]; i++) {
            const struct nest_graph_link *link = &g->link[w->neighbour[i]];
            const int to = far_end(link, v);
            if (link->bandwidth >= p->bandwidth && w->latency[v] + link->latency < w->latency[to]) {
                w->latency[to] = w->latency[v] + link->latency;
                if (!w->hops[to]) {
                    w->hops[to] = 1;
                    w->queue[(head + waiting++) % g->nodes] = to;
                }
            }
        }
    }
    double most = 0.0;
    for (int d = 0; d < g->devices; d++) {
        most = p->group[d] == p->group[from] ? fmax(most, w->latency[d]) : most;
    }
    return most;
}

/* All devices of small fabrics; of large ones as many as keep it quick, spread evenly. */
static double level_latency(struct work *w, int l)
{
    const int n = w->graph->devices;
    const int step = n > 512 ? n / 128 : 1;
    double most = 0.0;
    for (int d = 0; d < n; d += step) {
        most = fmax(most, farthest(w, l, d));
    }
    return most;
}

/* Sets the oversubscription of level l from the max-flow out of every group below it. The model
 * gives a group of n devices min(n * B, C * B / o), C the largest group. */
static bool level_oversubscription(struct work *w, int l, struct nest_level_spec *level,
                                   double *narrow, double *wide)
{
    const int n = w->graph->devices;
    const int *below = w->partition[l - 1].group;
    bool *inside = NEST_NEW(w->scratch, bool, n);
    int *size = NEST_NEW(w->scratch, int, n);
    if (!inside || !size) {
        return false;
    }
    int largest = 0;
    for (int d = 0; d < n; d++) {
        size[below[d]]++;
        largest = size[below[d]] > largest ? size[below[d]] : largest;
    }
    level->oversubscription = 1.0;
    *narrow = INFINITY;
    *wide = 0.0;
    for (int root = 0; root < n; root++) {
        if (size[root] == 0 || size[root] == n) {
            continue;
        }
        for (int d = 0; d < n; d++) {
            inside[d] = below[d] == root;
        }
        struct nest_arena flow = NEST_ARENA_INIT;
        const double out = nest_graph_outflow(w->graph, inside, &flow);
        nest_arena_free(&flow);
        if (out < 0.0) {
            return false;
        }
        *narrow = fmin(*narrow, out / size[root]);
        *wide = fmax(*wide, out / size[root]);
        if (size[root] * level->bandwidth > out) {
            level->oversubscription =
                fmax(level->oversubscription, largest * level->bandwidth / out);
        }
    }
    return true;
}

/* Level 0 where devices are linked to each other without a switch. */
static void direct_links(const struct work *w, struct nest_level_spec *level)
{
    const struct nest_graph *g = w->graph;
    const struct partition *p = &w->partition[0];
    if (p->hops > 1) {
        return;
    }
    int *degree = NEST_NEW(w->scratch, int, g->devices);
    int *size = NEST_NEW(w->scratch, int, g->devices);
    level->kind = NEST_LEVEL_MESH;
    if (!degree || !size || level->groups > 0) {
        return;
    }
    for (int i = 0; i < g->links; i++) {
        const struct nest_graph_link *link = &g->link[i];
        if (link->from < g->devices && link->to < g->devices &&
            p->group[link->from] == p->group[link->to] && link->bandwidth >= p->bandwidth) {
            degree[link->from]++;
            degree[link->to]++;
        }
    }
    bool ring = level->fanout > 2;
    bool full = level->fanout > 2;
    for (int d = 0; d < g->devices; d++) {
        ring = ring && degree[d] == 2;
        full = full && degree[d] == level->fanout - 1;
    }
    if (full || ring) {
        level->kind = full ? NEST_LEVEL_FULLY_CONNECTED : NEST_LEVEL_RING;
        level->bandwidth *= full ? (double)(level->fanout - 1) : 2.0;
    }
}

static void note_uneven(struct work *w, const struct nest_level_spec *level, double narrow,
                        double wide, struct nest_cluster_spec *out)
{
    char least[32];
    char most[32];
    if (wide > 1.001 * narrow) {
        add_note(out,
                 nest_arena_printf(
                     w->arena,
                     "below %s, groups can send between %s and %s a device; the least is taken",
                     level->name,
                     nest_unit_format(narrow, NEST_UNIT_BANDWIDTH, least, sizeof least),
                     nest_unit_format(wide, NEST_UNIT_BANDWIDTH, most, sizeof most)));
    }
    if (narrow > 1.001 * level->bandwidth) {
        add_note(out,
                 nest_arena_printf(
                     w->arena,
                     "below %s, a device has %s over parallel paths; one flow takes one path, %s",
                     level->name,
                     nest_unit_format(narrow, NEST_UNIT_BANDWIDTH, least, sizeof least),
                     nest_unit_format(level->bandwidth, NEST_UNIT_BANDWIDTH, most, sizeof most)));
    }
}

/* Devices with several ports as wide as the innermost level: planes, which one flow cannot add up.
 */
static void note_planes(const struct work *w, const struct nest_level_spec *level,
                        struct nest_cluster_spec *out)
{
    const struct nest_graph *g = w->graph;
    double *ports = NEST_NEW(w->scratch, double, g->devices);
    for (int i = 0; ports && i < g->links; i++) {
        const struct nest_graph_link *link = &g->link[i];
        const double rate = link->bandwidth * (double)link->times;
        if (link->bandwidth >= level->bandwidth && link->from < g->devices) {
            ports[link->from] += rate;
        }
        if (link->bandwidth >= level->bandwidth && link->to < g->devices) {
            ports[link->to] += rate;
        }
    }
    double least = ports ? ports[0] : 0;
    for (int d = 1; ports && d < g->devices; d++) {
        least = ports[d] < least ? ports[d] : least;
    }
    if (level->kind == NEST_LEVEL_SWITCH && least > 1.001 * level->bandwidth) {
        char all[32];
        char one[32];
        add_note(out,
                 nest_arena_printf(
                     w->arena,
                     "inside %s, a device has %s over parallel ports; one flow takes one, %s",
                     level->name, nest_unit_format(least, NEST_UNIT_BANDWIDTH, all, sizeof all),
                     nest_unit_format(level->bandwidth, NEST_UNIT_BANDWIDTH, one, sizeof one)));
    }
}

static bool fill_level(struct work *w, const int *order, int l, struct nest_cluster_spec *out)
{
    struct nest_level_spec *level = &out->level[l];
    const char *name =
        l < w->graph->names ? w->graph->name[l] : nest_arena_printf(w->arena, "level%d", l);
    if (!name) {
        return false;
    }
    *level = (struct nest_level_spec){.name = name,
                                      .bandwidth = w->partition[l].bandwidth,
                                      .oversubscription = 1.0,
                                      .kind = NEST_LEVEL_SWITCH,
                                      .latency = level_latency(w, l)};
    if (!shape_level(w, order, l, level)) {
        return false;
    }
    if (l == 0) {
        direct_links(w, level);
        note_planes(w, level, out);
        return true;
    }
    double narrow;
    double wide;
    if (!level_oversubscription(w, l, level, &narrow, &wide)) {
        return false;
    }
    note_uneven(w, level, narrow, wide, out);
    return true;
}

static enum nest_status find_levels(struct work *w, struct nest_cluster_spec *out, int *order,
                                    int *lost)
{
    const int n = w->graph->devices;
    if (!prepare(w) || !join_all(w)) {
        return NEST_NO_MEMORY;
    }
    for (int d = 0; d < n; d++) {
        if (find_root(w, d) != 0) {
            *lost = d;
            return NEST_NO;
        }
    }
    if (w->partitions == 0 && !keep_partition(w, 1e15, 1)) {
        return NEST_NO_MEMORY;
    }
    coarsen(w, out);
    const int *placed = order_devices(w);
    if (!placed) {
        return NEST_NO_MEMORY;
    }
    for (int l = 0; l < w->partitions; l++) {
        if (!fill_level(w, placed, l, out)) {
            return NEST_NO_MEMORY;
        }
    }
    out->levels = w->partitions;
    if (order) {
        memcpy(order, placed, (size_t)n * sizeof *order);
    }
    return NEST_OK;
}

enum nest_status nest_graph_levels(const struct nest_graph *graph, struct nest_arena *arena,
                                   struct nest_cluster_spec *out, int *order, int *lost)
{
    struct nest_arena scratch = NEST_ARENA_INIT;
    struct work *w = NEST_NEW(&scratch, struct work, 1);
    enum nest_status status = NEST_NO_MEMORY;
    if (w) {
        w->graph = graph;
        w->arena = arena;
        w->scratch = &scratch;
        status = find_levels(w, out, order, lost);
    }
    nest_arena_free(&scratch);
    return status;
}
