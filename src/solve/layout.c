#include "solve/layout.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* A layout while it grows. */
struct builder {
    const struct nest_cluster *whole;
    const struct nest_cluster *cluster; /* what the strategy selects of it */
    const struct nest_strategy *strategy;
    struct nest_arena *arena;
    struct nest_layout *layout;
    int zeros;
    bool packed;
};

static int64_t block_of(const struct nest_strategy *strategy, int64_t tp)
{
    return tp * strategy->cp * strategy->dp_in;
}

/* The last start of a level-m group at or before position e, 0 < e <= devices. */
static int64_t boundary_before(const struct nest_cluster *cluster, int level, int64_t e)
{
    if (e >= cluster->devices) {
        return e;
    }
    return nest_cluster_group_start(cluster, level, nest_cluster_group(cluster, level, e));
}

/* The first start of a level-m group at or after position e, 0 < e <= devices. */
static int64_t boundary_after(const struct nest_cluster *cluster, int level, int64_t e)
{
    return nest_cluster_group_start(cluster, level, nest_cluster_group(cluster, level, e - 1) + 1);
}

static int compare_int64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int sort_unique(int64_t *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, compare_int64);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (kept == 0 || value[i] != value[kept - 1]) {
            value[kept++] = value[i];
        }
    }
    return kept;
}

/* Every sum of `stages` block widths that dp_out spans have room for, ascending. */
static int64_t *reachable_sums(const struct nest_strategy *strategy, int64_t room, int stages,
                               int widths, const int64_t *tp, struct nest_arena *arena, int *count)
{
    int64_t *sums = NEST_NEW(arena, int64_t, 1);
    *count = 1;
    for (int s = 0; sums && s < stages; s++) {
        int64_t *next = NEST_NEW(arena, int64_t, *count * widths);
        if (!next) {
            return NULL;
        }
        int filled = 0;
        for (int i = 0; i < *count; i++) {
            for (int t = 0; t < widths; t++) {
                const int64_t sum = sums[i] + block_of(strategy, tp[t]);
                if (sum <= room) {
                    next[filled++] = sum;
                }
            }
        }
        *count = sort_unique(next, filled);
        sums = next;
    }
    return sums;
}

int64_t *nest_layout_spans(const struct nest_cluster *whole, const struct nest_strategy *strategy,
                           int stages, int widths, const int64_t *tp, struct nest_arena *arena,
                           int *count)
{
    const struct nest_cluster *cluster = nest_cluster_selected(whole, strategy->selection);
    const int64_t room = cluster->devices / strategy->dp_out;
    int sums_count;
    *count = 0;
    int64_t only = stages * block_of(strategy, tp[0]);
    int64_t *sums = &only;
    if (widths == 1) {
        sums_count = only <= room;
    } else {
        sums = reachable_sums(strategy, room, stages, widths, tp, arena, &sums_count);
    }
    int64_t *spans = NEST_NEW(arena, int64_t, sums_count * (cluster->levels + 1) + 1);
    if (!sums || !spans) {
        return NULL;
    }
    int filled = 0;
    for (int i = 0; i < sums_count; i++) {
        spans[filled++] = sums[i];
        for (int m = 0; m < cluster->levels; m++) {
            const int64_t span = boundary_after(cluster, m, sums[i]);
            if (span <= room) {
                spans[filled++] = span;
            }
        }
    }
    *count = sort_unique(spans, filled);
    return spans;
}

/* Places of one stage are kept sorted by (width, x): arcs refer to them once they are complete. */
static int compare_places(const void *a, const void *b)
{
    const struct nest_place *p = a;
    const struct nest_place *q = b;
    if (p->width != q->width) {
        return p->width - q->width;
    }
    return (p->x > q->x) - (p->x < q->x);
}

/* The ends that a block may have whose successor starts at `start`. */
static int right_ends(const struct builder *b, int64_t start, int64_t end[NEST_MAX_LEVELS + 1])
{
    int count = 0;
    end[count++] = start;
    for (int m = 0; m < b->cluster->levels && !b->packed; m++) {
        const int64_t e = start > 0 ? boundary_before(b->cluster, m, start) : 0;
        if (e < end[count - 1]) {
            end[count++] = e;
        }
    }
    return count;
}

/* Adds the places from which a block of any width can precede `start`. */
static void add_places(struct builder *b, int s, int64_t start)
{
    struct nest_layout *layout = b->layout;
    const int64_t narrowest = block_of(b->strategy, layout->tp[0]);
    int64_t end[NEST_MAX_LEVELS + 1];
    const int ends = right_ends(b, start, end);
    for (int t = 0; t < layout->widths; t++) {
        for (int i = 0; i < ends; i++) {
            const int64_t x = end[i] - block_of(b->strategy, layout->tp[t]);
            if (x >= (layout->stages - s) * narrowest) {
                layout->place[s][layout->count[s]++] = (struct nest_place){.x = x, .width = t};
            }
        }
    }
}

static bool make_places(struct builder *b, int s)
{
    struct nest_layout *layout = b->layout;
    const int from = s == 1 ? 1 : layout->count[s - 1];
    const int most = from * layout->widths * (b->cluster->levels + 1);
    layout->place[s] = NEST_NEW(b->arena, struct nest_place, most);
    if (!layout->place[s]) {
        return false;
    }
    for (int i = 0; i < from; i++) {
        add_places(b, s, s == 1 ? b->strategy->span : layout->place[s - 1][i].x);
    }
    struct nest_place *place = layout->place[s];
    qsort(place, (size_t)layout->count[s], sizeof *place, compare_places);
    int kept = 0;
    for (int i = 0; i < layout->count[s]; i++) {
        if (kept == 0 || compare_places(&place[i], &place[kept - 1]) != 0) {
            place[kept++] = place[i];
        }
    }
    layout->count[s] = kept;
    return true;
}

static bool follows(struct builder *b, const struct nest_place *place,
                    const struct nest_place *successor)
{
    const int64_t own_end = place->x + block_of(b->strategy, b->layout->tp[place->width]);
    int64_t end[NEST_MAX_LEVELS + 1];
    const int ends = right_ends(b, successor->x, end);
    for (int i = 0; i < ends; i++) {
        if (end[i] == own_end) {
            return true;
        }
    }
    return false;
}

/* The level between two neighbouring blocks, as the evaluation of plans defines it. */
static int level_between(const struct builder *b, const struct nest_place *place,
                         const struct nest_place *successor)
{
    const int64_t *tp = b->layout->tp;
    if (place->width == successor->width) {
        struct nest_strategy strategy = *b->strategy;
        strategy.tp = tp[place->width];
        return nest_link_level(b->whole, &strategy, place->x, successor->x);
    }
    const struct nest_problem problem = {.cluster = b->whole};
    struct nest_plan_stage stage[2] = {
        {.tp = tp[place->width], .first_device = place->x},
        {.tp = tp[successor->width], .first_device = successor->x},
    };
    const struct nest_plan pair = {.strategy = *b->strategy, .stages = 2, .stage = stage};
    return nest_plan_link(&problem, &pair, 0);
}

static int find_link(struct nest_place *place, struct nest_link link)
{
    for (int i = 0; i < place->links; i++) {
        if (place->link[i].level == link.level && place->link[i].width == link.width) {
            return i;
        }
    }
    place->link[place->links] = link;
    return place->links++;
}

static bool make_arcs(struct builder *b, int s)
{
    struct nest_layout *layout = b->layout;
    const int most_links = b->cluster->levels * layout->widths + 1;
    for (int i = 0; i < layout->count[s]; i++) {
        struct nest_place *place = &layout->place[s][i];
        place->arc = NEST_NEW(b->arena, struct nest_arc, s > 1 ? layout->count[s - 1] : 1);
        place->link = NEST_NEW(b->arena, struct nest_link, most_links);
        place->table = NEST_NEW(b->arena, const struct nest_cost_table *, b->zeros);
        if (!place->arc || !place->link || !place->table) {
            return false;
        }
        for (int j = 0; s > 1 && j < layout->count[s - 1]; j++) {
            struct nest_place *successor = &layout->place[s - 1][j];
            if (!follows(b, place, successor)) {
                continue;
            }
            const struct nest_link link = {
                level_between(b, place, successor),
                place->width < successor->width ? place->width : successor->width,
            };
            place->arc[place->arcs++] = (struct nest_arc){j, find_link(successor, link)};
        }
    }
    return true;
}

bool nest_layout_build(const struct nest_cluster *cluster, const struct nest_strategy *strategy,
                       int stages, int widths, const int64_t *tp, int zeros, bool packed,
                       struct nest_arena *arena, struct nest_layout *out)
{
    *out = (struct nest_layout){.stages = stages, .widths = widths, .tp = tp};
    out->count = NEST_NEW(arena, int, stages + 1);
    out->place = NEST_NEW(arena, struct nest_place *, stages + 1);
    if (!out->count || !out->place) {
        return false;
    }
    struct builder b = {
        cluster, nest_cluster_selected(cluster, strategy->selection), strategy, arena, out, zeros,
        packed};
    for (int s = 1; s <= stages; s++) {
        if (!make_places(&b, s) || !make_arcs(&b, s)) {
            return false;
        }
    }
    for (int i = 0; i < out->count[stages]; i++) {
        (void)find_link(&out->place[stages][i], (struct nest_link){-1, 0});
    }
    return true;
}
