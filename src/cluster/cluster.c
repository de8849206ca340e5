#include "cluster/cluster.h"

#include <stdlib.h>

#include "cluster/parts.h"
#include "input/down.h"

/* More devices than any plan needs; keeps every product of this room inside int64. */
static const int64_t MOST_DEVICES = INT64_C(1) << 32;

/* Irregular trees store one number per group. */
static const int64_t MOST_GROUPS = INT64_C(1) << 24;

static void copy_level(const struct nest_level_spec *spec, struct nest_level *level)
{
    level->name = spec->name;
    level->kind = spec->kind;
    level->fanout = spec->fanout;
    level->bandwidth = spec->bandwidth;
    level->latency = spec->latency;
    level->oversubscription = spec->oversubscription;
}

/* True if every run of the level has the same fan-out, which goes to *fanout. */
static bool one_fanout(const struct nest_level_spec *level, int64_t *fanout)
{
    *fanout = level->groups > 0 ? level->group[0].fanout : level->fanout;
    for (int i = 1; i < level->groups; i++) {
        if (level->group[i].fanout != *fanout) {
            return false;
        }
    }
    return true;
}

static bool is_uniform(const struct nest_cluster_spec *spec)
{
    int64_t fanout = 0;
    for (int l = 0; l < spec->levels; l++) {
        if (!one_fanout(&spec->level[l], &fanout)) {
            return false;
        }
    }
    return true;
}

/* Groups that the runs of an irregular level list; -1 if they are too many. */
static int64_t listed_groups(const struct nest_level_spec *level)
{
    int64_t sum = 0;
    for (int i = 0; i < level->groups; i++) {
        sum += level->group[i].times;
        if (sum > MOST_GROUPS) {
            return -1;
        }
    }
    return sum;
}

/* Children of all groups of the level together, given how many groups there are. */
static int64_t children_of(const struct nest_level_spec *level, int64_t groups)
{
    if (level->groups == 0) {
        return groups > MOST_DEVICES / level->fanout ? -1 : groups * level->fanout;
    }
    int64_t sum = 0;
    for (int i = 0; i < level->groups; i++) {
        const struct nest_group_run *run = &level->group[i];
        if (run->fanout > MOST_DEVICES / run->times) {
            return -1;
        }
        sum += run->fanout * run->times;
        if (sum > MOST_DEVICES) {
            return -1;
        }
    }
    return sum;
}

static enum nest_status too_large(const struct nest_level_spec *level, struct nest_errors *errors)
{
    nest_errors_add(errors, level->mark, level->name, "at most 2^32 devices",
                    "the cluster is too large");
    return NEST_BAD_INPUT;
}

/* Counts the groups of every level from the outermost, which is one group, inwards. */
static enum nest_status count_groups(const struct nest_cluster_spec *spec, struct nest_cluster *out,
                                     struct nest_errors *errors)
{
    int64_t groups = 1;
    for (int l = spec->levels - 1; l >= 0; l--) {
        const struct nest_level_spec *level = &spec->level[l];
        const int64_t listed = level->groups > 0 ? listed_groups(level) : groups;
        if (listed < 0) {
            return too_large(level, errors);
        }
        if (listed != groups) {
            nest_errors_add(errors, level->mark, level->name,
                            l == spec->levels - 1 ? "the outermost level is one group"
                                                  : "list every group of this level, in order",
                            "%lld groups are listed where the levels outside hold %lld",
                            (long long)listed, (long long)groups);
            return NEST_BAD_INPUT;
        }
        out->level[l].groups = groups;
        groups = children_of(level, groups);
        if (groups < 0) {
            return too_large(level, errors);
        }
    }
    out->devices = groups;
    return NEST_OK;
}

/* Cuts a uniform tree to its first `limit` devices; false if that leaves it irregular. */
static bool cut_uniform(struct nest_cluster *cluster, int64_t limit)
{
    int64_t capacity = 1;
    for (int l = 0; l < cluster->levels; l++) {
        const int64_t full = cluster->level[l].capacity;
        const int64_t next = full < limit ? full : limit;
        if (next % capacity != 0) {
            return false;
        }
        capacity = next;
    }
    capacity = 1;
    for (int l = 0; l < cluster->levels; l++) {
        struct nest_level *level = &cluster->level[l];
        const int64_t next = level->capacity < limit ? level->capacity : limit;
        level->fanout = next / capacity;
        level->capacity = next;
        level->groups = (limit + next - 1) / next;
        capacity = next;
    }
    cluster->devices = limit;
    return true;
}

static void size_uniform(const struct nest_cluster_spec *spec, struct nest_cluster *out)
{
    int64_t capacity = 1;
    for (int l = 0; l < spec->levels; l++) {
        one_fanout(&spec->level[l], &out->level[l].fanout);
        capacity *= out->level[l].fanout;
        out->level[l].capacity = capacity;
        out->level[l].start = NULL;
    }
    out->uniform = true;
}

/* First child of every group of a level, and the number of children as last entry. */
static void list_children(const struct nest_level_spec *spec, int64_t groups, int64_t *start)
{
    int64_t child = 0;
    int64_t g = 0;
    for (int i = 0; i < spec->groups; i++) {
        for (int64_t t = 0; t < spec->group[i].times; t++) {
            start[g++] = child;
            child += spec->group[i].fanout;
        }
    }
    for (; g < groups; g++) {
        start[g] = child;
        child += spec->fanout;
    }
    start[groups] = child;
}

/* Turns first children into first devices. */
static void find_starts(struct nest_level *level, const struct nest_level *below, int64_t *start)
{
    for (int64_t g = 0; g < level->groups; g++) {
        const int64_t children = start[g + 1] - start[g];
        level->fanout = children > level->fanout ? children : level->fanout;
    }
    for (int64_t g = 0; below != NULL && g <= level->groups; g++) {
        start[g] = below->start[start[g]];
    }
    level->start = start;
}

static void measure_capacity(struct nest_level *level)
{
    level->capacity = 0;
    for (int64_t g = 0; g < level->groups; g++) {
        const int64_t devices = level->start[g + 1] - level->start[g];
        level->capacity = devices > level->capacity ? devices : level->capacity;
    }
}

/* Whether the groups are few enough to be listed one by one. */
static enum nest_status check_listable(const struct nest_cluster *cluster,
                                       struct nest_errors *errors)
{
    for (int l = 0; l < cluster->levels; l++) {
        if (cluster->level[l].groups > MOST_GROUPS) {
            return too_large(&cluster->spec->level[l], errors);
        }
    }
    return NEST_OK;
}

static enum nest_status size_irregular(const struct nest_cluster_spec *spec,
                                       struct nest_arena *arena, struct nest_cluster *out,
                                       struct nest_errors *errors)
{
    if (check_listable(out, errors) != NEST_OK) {
        return NEST_BAD_INPUT;
    }
    for (int l = 0; l < spec->levels; l++) {
        struct nest_level *level = &out->level[l];
        int64_t *start = NEST_NEW(arena, int64_t, level->groups + 1);
        if (start == NULL) {
            return NEST_NO_MEMORY;
        }
        list_children(&spec->level[l], level->groups, start);
        level->fanout = 0;
        find_starts(level, l > 0 ? level - 1 : NULL, start);
        measure_capacity(level);
    }
    out->uniform = false;
    return NEST_OK;
}

/* The tree of everything that the specification lists. */
static enum nest_status build_whole(const struct nest_cluster_spec *spec, struct nest_arena *arena,
                                    struct nest_cluster *out, struct nest_errors *errors)
{
    *out = (struct nest_cluster){.spec = spec, .device = spec->device, .levels = spec->levels};
    for (int l = 0; l < spec->levels; l++) {
        copy_level(&spec->level[l], &out->level[l]);
    }
    enum nest_status status = count_groups(spec, out, errors);
    if (status == NEST_OK && is_uniform(spec)) {
        size_uniform(spec, out);
    } else if (status == NEST_OK) {
        status = size_irregular(spec, arena, out, errors);
    }
    return status == NEST_OK ? nest_cluster_find_kinds(arena, out, errors) : status;
}

/* The first `limit` devices of a tree. */
static enum nest_status cut(struct nest_cluster *cluster, int64_t limit, struct nest_arena *arena,
                            struct nest_errors *errors)
{
    if (limit <= 0 || limit >= cluster->devices ||
        (cluster->uniform && cluster->stretches == 0 && cut_uniform(cluster, limit))) {
        return NEST_OK;
    }
    const struct nest_cluster whole = *cluster;
    const struct nest_extent first = {0, limit};
    const enum nest_status status = check_listable(cluster, errors);
    return status == NEST_OK ? nest_cluster_keep(&whole, &first, 1, arena, cluster) : status;
}

static int compare_extents(const void *a, const void *b)
{
    const struct nest_extent *x = a;
    const struct nest_extent *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* The devices that are not down, as extents; *count 0 where none is left. */
static struct nest_extent *list_healthy(const struct nest_cluster *whole,
                                        const struct nest_down *down, int downs,
                                        struct nest_arena *arena, int *count)
{
    struct nest_extent *gone = NEST_NEW(arena, struct nest_extent, downs);
    struct nest_extent *left = NEST_NEW(arena, struct nest_extent, downs + 1);
    *count = 0;
    if (gone == NULL || left == NULL) {
        return NULL;
    }
    for (int i = 0; i < downs; i++) {
        const int l = down[i].level;
        gone[i] = l < 0 ? (struct nest_extent){down[i].first, down[i].last + 1}
                        : (struct nest_extent){
                              nest_cluster_group_start(whole, l, down[i].first),
                              nest_cluster_group_start(whole, l, down[i].last + 1),
                          };
    }
    qsort(gone, (size_t)downs, sizeof *gone, compare_extents);
    int64_t next = 0;
    for (int i = 0; i <= downs; i++) {
        const int64_t end = i < downs ? gone[i].first : whole->devices;
        if (end > next) {
            left[(*count)++] = (struct nest_extent){next, end};
        }
        next = i < downs && gone[i].end > next ? gone[i].end : next;
    }
    return left;
}

/* Takes what is down out of the tree, which it keeps as the intact one. */
static enum nest_status take_down(struct nest_cluster *cluster, const struct nest_down *down,
                                  int downs, int64_t limit, struct nest_arena *arena,
                                  struct nest_errors *errors)
{
    struct nest_cluster *intact = NEST_NEW(arena, struct nest_cluster, 1);
    int count = 0;
    const struct nest_extent *left = list_healthy(cluster, down, downs, arena, &count);
    if (intact == NULL || left == NULL) {
        return NEST_NO_MEMORY;
    }
    if (count == 0) {
        nest_errors_add(errors, cluster->spec->level[0].mark, "down", NULL,
                        "every device of the cluster is down");
        return NEST_BAD_INPUT;
    }
    *intact = *cluster;
    enum nest_status status = check_listable(intact, errors);
    if (status == NEST_OK) {
        status = nest_cluster_keep(intact, left, count, arena, cluster);
    }
    if (status == NEST_OK) {
        status = cut(intact, limit, arena, errors);
    }
    if (status == NEST_OK) {
        status = nest_cluster_settle_kinds(arena, intact);
    }
    cluster->intact = intact;
    return status;
}

enum nest_status nest_cluster_build(const struct nest_cluster_spec *spec, int64_t limit,
                                    struct nest_arena *arena, struct nest_cluster *out,
                                    struct nest_errors *errors)
{
    int downs = 0;
    const size_t faults = errors->count;
    enum nest_status status = build_whole(spec, arena, out, errors);
    if (status != NEST_OK) {
        return status;
    }
    const struct nest_down *down =
        nest_down_parse(spec, spec->level[0].mark, arena, &downs, errors);
    if (errors->count > faults) {
        return NEST_BAD_INPUT;
    }
    if (downs > 0) {
        status = take_down(out, down, downs, limit, arena, errors);
    }
    if (status == NEST_OK) {
        status = cut(out, limit, arena, errors);
    }
    return status == NEST_OK ? nest_cluster_settle_kinds(arena, out) : status;
}

/* Last entry of start[0…groups] that is not above p. */
static int64_t find_group(const struct nest_level *level, int64_t p)
{
    const int64_t least = p / level->capacity; /* no group is larger */
    int64_t low = least < level->groups ? least : level->groups - 1;
    int64_t high = low + 1;
    for (int64_t stride = 1; high < level->groups && level->start[high] <= p; stride *= 2) {
        low = high;
        high += stride;
    }
    high = high < level->groups ? high : level->groups;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (level->start[middle] <= p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t nest_cluster_group(const struct nest_cluster *cluster, int level, int64_t p)
{
    const struct nest_level *l = &cluster->level[level];
    return l->start == NULL ? p / l->capacity : find_group(l, p);
}

int64_t nest_cluster_group_start(const struct nest_cluster *cluster, int level, int64_t g)
{
    const struct nest_level *l = &cluster->level[level];
    if (l->start != NULL) {
        return l->start[g];
    }
    const int64_t start = g * l->capacity;
    return start < cluster->devices ? start : cluster->devices;
}

int nest_cluster_meet(const struct nest_cluster *cluster, int64_t p, int64_t q)
{
    int level = 0;
    while (level < cluster->levels - 1 &&
           nest_cluster_group(cluster, level, p) != nest_cluster_group(cluster, level, q)) {
        level++;
    }
    return level;
}
