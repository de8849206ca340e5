#include "cluster/parts.h"

/* Counts kept devices below positions that rise from call to call. */
struct counter {
    const struct nest_extent *kept;
    int count;
    int at;         /* first extent that is not wholly below */
    int64_t before; /* devices of those that are */
};

static int64_t count_below(struct counter *counter, int64_t p)
{
    const struct nest_extent *kept = counter->kept;
    while (counter->at < counter->count && kept[counter->at].end <= p) {
        counter->before += kept[counter->at].end - kept[counter->at].first;
        counter->at++;
    }
    const bool inside = counter->at < counter->count && kept[counter->at].first < p;
    return counter->before + (inside ? p - kept[counter->at].first : 0);
}

/* The level's groups that still hold a device. */
static void keep_groups(const struct nest_cluster *from, int l, struct counter counter,
                        int64_t *start, struct nest_level *out)
{
    const int64_t groups = from->level[l].groups;
    out->groups = 0;
    out->capacity = 0;
    start[0] = 0;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t end = count_below(&counter, nest_cluster_group_start(from, l, g + 1));
        const int64_t size = end - start[out->groups];
        if (size > 0) {
            out->capacity = size > out->capacity ? size : out->capacity;
            start[++out->groups] = end;
        }
    }
    out->start = start;
}

/* Finds the level's fan-out, the largest; true if all its groups have that many children. below is
 * NULL for the innermost level, whose children are devices. Where neighbours are joined directly
 * the fan-out stays: a ring without a member is a line, not a smaller ring. */
static bool measure_fanout(struct nest_level *level, const struct nest_level *below)
{
    const bool switched = level->kind == NEST_LEVEL_SWITCH || level->kind == NEST_LEVEL_RAIL;
    const int64_t whole = level->fanout;
    int64_t least = 0;
    int64_t child = 0;
    level->fanout = 0;
    for (int64_t g = 0; g < level->groups; g++) {
        const int64_t first = child;
        child = below ? child : level->start[g + 1];
        while (below && child < below->groups && below->start[child] < level->start[g + 1]) {
            child++;
        }
        const int64_t children = child - first;
        level->fanout = children > level->fanout ? children : level->fanout;
        least = g == 0 || children < least ? children : least;
    }
    const bool equal = least == level->fanout;
    level->fanout = switched ? level->fanout : whole;
    return equal;
}

/* The kinds of what is kept. */
static bool keep_stretches(const struct nest_cluster *from, const struct nest_extent *kept,
                           int count, struct nest_arena *arena, struct nest_cluster *out)
{
    if (from->stretches == 0) {
        return true;
    }
    struct nest_stretch *stretch = NEST_NEW(arena, struct nest_stretch, from->stretches + count);
    out->stretch = stretch;
    out->stretches = 0;
    int64_t first = 0;
    for (int i = 0; stretch && i < count; i++) {
        for (int64_t p = kept[i].first; p < kept[i].end;) {
            const struct nest_stretch *at = nest_cluster_stretch(from, p);
            const bool last = at + 1 == from->stretch + from->stretches;
            const int64_t end = last || at[1].first > kept[i].end ? kept[i].end : at[1].first;
            stretch[out->stretches++] =
                (struct nest_stretch){first, at->origin + (p - at->first), at->kind};
            first += end - p;
            p = end;
        }
    }
    return stretch != NULL;
}

enum nest_status nest_cluster_keep(const struct nest_cluster *from, const struct nest_extent *kept,
                                   int count, struct nest_arena *arena, struct nest_cluster *out)
{
    *out = *from;
    out->devices = 0;
    for (int i = 0; i < count; i++) {
        out->devices += kept[i].end - kept[i].first;
    }
    bool uniform = true;
    for (int l = 0; l < from->levels; l++) {
        int64_t *start = NEST_NEW(arena, int64_t, from->level[l].groups + 1);
        if (!start) {
            return NEST_NO_MEMORY;
        }
        keep_groups(from, l, (struct counter){kept, count, 0, 0}, start, &out->level[l]);
        const bool equal = measure_fanout(&out->level[l], l > 0 ? &out->level[l - 1] : NULL);
        uniform = uniform && equal;
    }
    out->uniform = uniform;
    for (int l = 0; uniform && l < out->levels; l++) {
        out->level[l].start = NULL;
    }
    return keep_stretches(from, kept, count, arena, out) ? NEST_OK : NEST_NO_MEMORY;
}
