#include "cost/strategy.h"

#include <string.h>

#include "cost/spread.h"

static bool comm_equal(const struct nest_comm *a, const struct nest_comm *b)
{
    return a->size == b->size && a->top == b->top && memcmp(a->m, b->m, sizeof a->m) == 0 &&
           memcmp(a->q, b->q, sizeof a->q) == 0 && memcmp(a->p, b->p, sizeof a->p) == 0 &&
           memcmp(a->g, b->g, sizeof a->g) == 0;
}

bool nest_placement_equal(const struct nest_placement *a, const struct nest_placement *b)
{
    return comm_equal(&a->tp, &b->tp) && comm_equal(&a->cp, &b->cp) &&
           comm_equal(&a->dense, &b->dense) && comm_equal(&a->shard, &b->shard) &&
           comm_equal(&a->replicate, &b->replicate) && comm_equal(&a->ep, &b->ep) &&
           comm_equal(&a->etp, &b->etp) && comm_equal(&a->expert, &b->expert) &&
           a->kinds == b->kinds && a->reach == b->reach;
}

/* Size 1 is no communicator: it lies the same everywhere. */
static void fill(const struct nest_spread *spread, int64_t stride, int64_t size,
                 struct nest_comm *out)
{
    if (size > 1) {
        nest_spread_communicators(spread, stride, size, out);
        return;
    }
    out->size = 1;
    for (int k = 0; k < spread->cluster->levels; k++) {
        out->m[k] = out->q[k] = out->p[k] = out->g[k] = 1;
    }
}

/* The kinds of devices that the block and the spans touch. */
static void find_kinds(const struct nest_spread *spread, struct nest_placement *out)
{
    for (int64_t o = 0; o < spread->copies; o++) {
        const int64_t first = o * spread->span + spread->x;
        out->kinds |= nest_cluster_kinds(spread->cluster, first, first + spread->block);
    }
    out->reach = nest_cluster_kinds(spread->cluster, 0, spread->copies * spread->span);
}

void nest_placement_at(const struct nest_cluster *whole, const struct nest_strategy *s, int64_t x,
                       struct nest_placement *out)
{
    const struct nest_cluster *cluster = nest_cluster_selected(whole, s->selection);
    const int64_t width = nest_strategy_width(s);
    struct nest_spread spread;
    spread.cluster = cluster;
    spread.x = x;
    spread.block = width * s->dp_in;
    spread.span = s->span;
    spread.copies = s->dp_out;
    nest_spread_init(&spread);
    const int64_t devices = spread.block * spread.copies;
    const int64_t dense = devices / s->tp;
    const int64_t expert = s->etp * s->ep;
    memset(out, 0, sizeof *out);
    fill(&spread, 1, s->tp, &out->tp);
    fill(&spread, s->tp, s->cp, &out->cp);
    fill(&spread, s->tp, dense, &out->dense);
    const int64_t shard = s->shard > 0 ? s->shard : dense;
    if (shard == dense) {
        out->shard = out->dense;
    } else {
        fill(&spread, s->tp, shard, &out->shard);
    }
    fill(&spread, s->tp * shard, dense / shard, &out->replicate);
    fill(&spread, 1, s->etp, &out->etp);
    fill(&spread, s->etp, s->ep, &out->ep);
    if (expert == s->tp) {
        out->expert = out->dense;
    } else {
        fill(&spread, expert, devices / expert, &out->expert);
    }
    if (cluster->stretches > 0) {
        find_kinds(&spread, out);
    }
}

/* Largest (o * span + x) mod capacity over the copies o. */
static int64_t largest_offset(const struct nest_strategy *s, int64_t x, int64_t capacity)
{
    const int64_t step = nest_greatest_divisor(s->span, capacity);
    if (s->dp_out >= capacity / step) {
        return capacity - step + x % step;
    }
    int64_t most = x % capacity;
    int64_t offset = most;
    for (int64_t o = 1; o < s->dp_out; o++) {
        offset = (offset + s->span) % capacity;
        most = offset > most ? offset : most;
    }
    return most;
}

/* Shifting the block by y - x crosses a boundary of the level unless every device of every copy
 * stays inside its group. */
static int uniform_link(const struct nest_cluster *cluster, const struct nest_strategy *s,
                        int64_t x, int64_t y)
{
    const int64_t block = nest_strategy_width(s) * s->dp_in;
    int level = 0;
    while (level < cluster->levels - 1 &&
           largest_offset(s, x, cluster->level[level].capacity) + block + (y - x) >
               cluster->level[level].capacity) {
        level++;
    }
    return level;
}

/* The same by looking at every copy: its first device and where its last one is shifted to lie in
 * one group if all that lies between them does. */
static int scanned_link(const struct nest_cluster *cluster, const struct nest_strategy *s,
                        int64_t x, int64_t y)
{
    const int64_t block = nest_strategy_width(s) * s->dp_in;
    int worst = 0;
    for (int64_t o = 0; o < s->dp_out && worst < cluster->levels - 1; o++) {
        const int64_t from = o * s->span;
        const int level = nest_cluster_meet(cluster, from + x, from + y + block - 1);
        worst = level > worst ? level : worst;
    }
    return worst;
}

int nest_link_level(const struct nest_cluster *whole, const struct nest_strategy *s, int64_t x,
                    int64_t y)
{
    const struct nest_cluster *cluster = nest_cluster_selected(whole, s->selection);
    if (x == y) {
        return 0;
    }
    const int64_t low = x < y ? x : y;
    const int64_t high = x < y ? y : x;
    const int level = cluster->uniform ? uniform_link(cluster, s, low, high)
                                       : scanned_link(cluster, s, low, high);
    /* A rail joins equal local ranks only; others meet one level further out. */
    const bool off_rail = level > 0 && cluster->level[level].kind == NEST_LEVEL_RAIL &&
                          (high - low) % cluster->level[level - 1].capacity != 0;
    return off_rail && level + 1 < cluster->levels ? level + 1 : level;
}
