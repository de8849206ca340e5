#include "cost/spread.h"

int64_t nest_spread_position(const struct nest_spread *spread, int64_t u)
{
    const int64_t copy = u / spread->block;
    return copy * spread->span + spread->x + (u - copy * spread->block);
}

/* How many u have a position below p. */
static int64_t count_below(const struct nest_spread *spread, int64_t p)
{
    const int64_t copy = p / spread->span;
    if (copy >= spread->copies) {
        return spread->block * spread->copies;
    }
    const int64_t inside = p - copy * spread->span - spread->x;
    const int64_t part = inside < 0 ? 0 : inside > spread->block ? spread->block : inside;
    return copy * spread->block + part;
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void add_piece(struct nest_pieces *pieces, int64_t length, int64_t stride)
{
    const int64_t whole = length / stride;
    const int64_t most = whole * stride == length ? whole : whole + 1;
    pieces->most = largest(pieces->most, most);
    pieces->fewest = least(pieces->fewest, whole > 0 ? whole : 1);
    pieces->shortest = least(pieces->shortest, length);
}

void nest_pieces_add(struct nest_pieces *pieces, int64_t offset, int64_t length, int64_t stride,
                     int64_t size)
{
    const int64_t tile = stride * size;
    if (offset + length <= tile) {
        add_piece(pieces, length, stride);
        pieces->active = largest(pieces->active, least(stride, length));
        return;
    }
    const int64_t first = tile - offset;
    const int64_t whole = (length - first) / tile;
    const int64_t last = length - first - whole * tile;
    add_piece(pieces, first, stride);
    if (whole > 0) {
        add_piece(pieces, tile, stride);
    }
    if (last > 0) {
        add_piece(pieces, last, stride);
    }
    pieces->active =
        largest(pieces->active, least(first, stride) + whole * stride + least(last, stride));
}

/* Counts, for the tiles of one level's groups, how many groups below each tile has pieces in. */
struct tile_count {
    int64_t group; /* of the level */
    int64_t tile;
    int64_t children; /* seen of this tile in this group */
    int64_t most;
};

static void count_pieces(struct tile_count *count, int64_t group, int64_t begin, int64_t end,
                         int64_t tile)
{
    const int64_t last = (end - 1) / tile;
    for (int64_t t = begin / tile; t <= last; t++) {
        const bool same = group == count->group && t == count->tile;
        count->children = same ? count->children + 1 : 1;
        count->group = group;
        count->tile = t;
        count->most = largest(count->most, count->children);
    }
}

/* Most level-(k-1) groups under one level-k group that one communicator touches, by members. */
static int64_t walk_members(const struct nest_spread *spread, int64_t stride, int64_t size, int k)
{
    const struct nest_cluster *cluster = spread->cluster;
    const int64_t members = spread->block * spread->copies;
    int64_t most = 0;
    for (int64_t first = 0; first < members; first += stride * size) {
        for (int64_t j = 0; j < stride; j++) {
            int64_t group = -1;
            int64_t child = -1;
            int64_t children = 0;
            for (int64_t i = 0; i < size && first + j + stride * i < members; i++) {
                const int64_t p = nest_spread_position(spread, first + j + stride * i);
                const int64_t c = nest_cluster_group(cluster, k - 1, p);
                if (c == child) {
                    continue;
                }
                const int64_t g = nest_cluster_group(cluster, k, p);
                children = g == group ? children + 1 : 1;
                group = g;
                child = c;
                most = largest(most, children);
            }
        }
    }
    return most;
}

/* A spread of fewer copies with the same answer at level k. After `period` copies both the groups
 * and the tiles lie as before, so one period and the unfinished last one show everything. A tile
 * that holds all devices has no edge inside and needs no alignment. */
static struct nest_spread shortened(const struct nest_spread *spread, int64_t tile, int k)
{
    struct nest_spread shorter = *spread;
    if (!spread->cluster->uniform) {
        return shorter;
    }
    const int64_t capacity = spread->cluster->level[k].capacity;
    int64_t period = capacity / nest_greatest_divisor(capacity, spread->span);
    if (period < spread->copies && tile < spread->block * spread->copies) {
        period *= tile / nest_greatest_divisor(tile, period * spread->block);
    }
    if (period < spread->copies) {
        shorter.copies = period + spread->copies % period;
    }
    return shorter;
}

void nest_spread_scan(const struct nest_spread *whole, int64_t stride, int64_t size, int k,
                      struct nest_comm *out)
{
    const struct nest_spread spread = shortened(whole, stride * size, k);
    const struct nest_cluster *cluster = spread.cluster;
    const int64_t members = spread.block * spread.copies;
    struct nest_pieces pieces = {.fewest = size, .shortest = members};
    struct tile_count count = {.group = -1};
    for (int64_t u = 0; u < members;) {
        const int64_t p = nest_spread_position(&spread, u);
        const int64_t child = nest_cluster_group(cluster, k - 1, p);
        const int64_t end =
            count_below(&spread, nest_cluster_group_start(cluster, k - 1, child + 1));
        nest_pieces_add(&pieces, u % (stride * size), end - u, stride, size);
        count_pieces(&count, nest_cluster_group(cluster, k, p), u, end, stride * size);
        u = end;
    }
    out->q[k] = pieces.most;
    out->p[k] = pieces.fewest;
    out->g[k] = pieces.active;
    out->m[k] = pieces.most == 1            ? 0
                : pieces.shortest >= stride ? count.most
                                            : walk_members(&spread, stride, size, k);
}
