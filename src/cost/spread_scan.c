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
            for (int64_t i = 0; i < size; i++) {
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

/* Everything about level k but m where every group holds at most one member: returns 0 then. */
static int64_t scan_level(const struct nest_spread *spread, int64_t stride, int64_t size, int k,
                          struct nest_comm *out)
{
    const struct nest_cluster *cluster = spread->cluster;
    const int64_t members = spread->block * spread->copies;
    struct nest_pieces pieces = {.fewest = size, .shortest = members};
    struct tile_count count = {.group = -1};
    for (int64_t u = 0; u < members;) {
        const int64_t p = nest_spread_position(spread, u);
        const int64_t child = nest_cluster_group(cluster, k - 1, p);
        const int64_t end =
            count_below(spread, nest_cluster_group_start(cluster, k - 1, child + 1));
        nest_pieces_add(&pieces, u % (stride * size), end - u, stride, size);
        count_pieces(&count, nest_cluster_group(cluster, k, p), u, end, stride * size);
        u = end;
    }
    out->q[k] = pieces.most;
    out->p[k] = pieces.fewest;
    out->g[k] = pieces.active;
    if (pieces.most == 1) {
        return 0;
    }
    return pieces.shortest >= stride ? count.most : walk_members(spread, stride, size, k);
}

void nest_spread_scan(const struct nest_spread *spread, int64_t stride, int64_t size,
                      struct nest_comm *out)
{
    const int levels = spread->cluster->levels;
    out->size = size;
    out->q[0] = out->p[0] = out->g[0] = 1;
    for (int k = 1; k < levels; k++) {
        out->m[k] = scan_level(spread, stride, size, k, out);
    }
    /* Where a group holds one member at most, members and groups are the same count. */
    for (int k = 0; k < levels; k++) {
        if (out->m[k] == 0) {
            out->m[k] = k + 1 < levels ? out->q[k + 1] : size;
        }
        out->top = out->m[k] > 1 ? k : out->top;
    }
}
