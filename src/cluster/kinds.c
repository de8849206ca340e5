#include "cluster/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "input/load.h"

/* Groups that lack something are not told apart where that takes more stretches, or more kinds:
 * every kind doubles the selections. */
enum { STRETCHES_MOST = 1024, KINDS_MOST_WITH_GROUPS = 4 };

/* Levels list runs in device order: where one is, and the first group of its present run. */
struct cursor {
    const struct nest_level_spec *level;
    int run;
    int64_t group;
};

/* The run of the level that holds its group g; g rises from call to call. NULL: all are alike. */
static const struct nest_group_run *run_at(struct cursor *cursor, int64_t g)
{
    const struct nest_level_spec *level = cursor->level;
    if (level->groups == 0) {
        return NULL;
    }
    while (cursor->run + 1 < level->groups &&
           cursor->group + level->group[cursor->run].times <= g) {
        cursor->group += level->group[cursor->run++].times;
    }
    return &level->group[cursor->run];
}

/* First group behind the run that the cursor is at. */
static int64_t run_end(const struct cursor *cursor)
{
    return cursor->group + cursor->level->group[cursor->run].times;
}

static bool same_device(const struct nest_device_spec *a, const struct nest_device_spec *b)
{
    return a == b || (a->ref && b->ref && strcmp(a->ref, b->ref) == 0);
}

static bool same_kind(const struct nest_kind *a, const struct nest_kind *b, int levels)
{
    bool same = a->device == b->device && a->lacking == b->lacking;
    for (int l = 0; l < levels; l++) {
        same = same && a->share[l] == b->share[l];
    }
    return same;
}

/* The kind of device p, and in *end the first device that may be of another kind. */
static struct nest_kind kind_at(const struct nest_cluster *cluster, struct cursor *cursor,
                                int64_t p, int64_t *end)
{
    struct nest_kind kind = {.device = NULL, .lacking = -1};
    double uplink = INFINITY;
    *end = cluster->devices;
    for (int l = 0; l < cluster->levels; l++) {
        const struct nest_group_run *run = run_at(&cursor[l], nest_cluster_group(cluster, l, p));
        const double own = run && run->bandwidth > 0 ? run->bandwidth : cluster->level[l].bandwidth;
        kind.share[l] = own < uplink ? own : uplink;
        if (!run) {
            continue;
        }
        const int64_t next = nest_cluster_group_start(cluster, l, run_end(&cursor[l]));
        *end = next < *end ? next : *end;
        kind.device = kind.device ? kind.device : run->device;
        uplink = run->uplink > 0 && run->uplink < uplink ? run->uplink : uplink;
    }
    if (!kind.device || same_device(kind.device, cluster->spec->device)) {
        kind.device = cluster->spec->device;
    }
    return kind;
}

static bool is_silent(const struct nest_cluster_spec *spec)
{
    bool silent = true;
    for (int l = 0; l < spec->levels; l++) {
        for (int i = 0; i < spec->level[l].groups; i++) {
            const struct nest_group_run *run = &spec->level[l].group[i];
            silent = silent && !run->device && run->bandwidth == 0 && run->uplink == 0;
        }
    }
    return silent;
}

/* Index of the kind among those known, added if it is new; -1 where there are too many. */
static int note_kind(struct nest_kind *known, int *count, const struct nest_kind *kind, int levels)
{
    struct nest_kind wanted = *kind;
    for (int i = 0; i < *count; i++) {
        if (same_device(known[i].device, wanted.device)) {
            wanted.device = known[i].device;
        }
        if (same_kind(&known[i], &wanted, levels)) {
            return i;
        }
    }
    if (*count == NEST_KINDS_MAX) {
        return -1;
    }
    known[*count] = wanted;
    return (*count)++;
}

static enum nest_status too_many(const struct nest_cluster *cluster, struct nest_errors *errors)
{
    nest_errors_add(errors, cluster->spec->level[0].mark, NULL,
                    "a device together with the speed of its links makes a kind; at most 6",
                    "the cluster mixes too many kinds of devices");
    return NEST_BAD_INPUT;
}

enum nest_status nest_cluster_find_kinds(struct nest_arena *arena, struct nest_cluster *cluster,
                                         struct nest_errors *errors)
{
    if (is_silent(cluster->spec)) {
        return NEST_OK;
    }
    struct nest_kind *known = NEST_NEW(arena, struct nest_kind, NEST_KINDS_MAX);
    struct cursor cursor[NEST_MAX_LEVELS];
    int most = 1;
    for (int l = 0; l < cluster->levels; l++) {
        cursor[l] = (struct cursor){.level = &cluster->spec->level[l]};
        most += cluster->spec->level[l].groups;
    }
    struct nest_stretch *stretch = NEST_NEW(arena, struct nest_stretch, most);
    if (!known || !stretch) {
        return NEST_NO_MEMORY;
    }
    int64_t end = 0;
    for (int64_t p = 0; p < cluster->devices; p = end) {
        const struct nest_kind kind = kind_at(cluster, cursor, p, &end);
        const int k = note_kind(known, &cluster->kinds, &kind, cluster->levels);
        if (k < 0) {
            return too_many(cluster, errors);
        }
        if (cluster->stretches == 0 || stretch[cluster->stretches - 1].kind != k) {
            stretch[cluster->stretches++] = (struct nest_stretch){p, p, k};
        }
    }
    cluster->kind = known;
    cluster->stretch = stretch;
    return NEST_OK;
}

/* ---- The best of all kinds ---- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double best_point(const struct nest_curve *curve)
{
    double best = 0;
    for (int i = 0; i < curve->count; i++) {
        best = larger(best, curve->y[i]);
    }
    return best;
}

/* The best point of any GEMM, as a constant curve for all precisions: only bounds look at it. */
static void best_gemm(const struct nest_device_spec *other, struct nest_device_spec *best)
{
    const double points[] = {best_point(&best->gemm), best_point(&best->gemm_fp8),
                             best_point(&other->gemm), best_point(&other->gemm_fp8)};
    double most = best->gemm.count == 0 || other->gemm.count == 0 ? 1.0 : 0.0;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        most = larger(most, points[i]);
    }
    best->gemm = best->gemm_fp8 = (struct nest_curve){.count = 1, .x = {1.0}, .y = {most}};
}

/* What a device's own links reach of their bandwidth. */
static double own_links(const struct nest_device_spec *device)
{
    return device->scale_up_efficiency > 0 ? device->scale_up_efficiency
                                           : device->network_efficiency;
}

static void take_better(const struct nest_device_spec *other, struct nest_device_spec *best)
{
    best->memory = larger(best->memory, other->memory);
    best->memory_bandwidth = larger(best->memory_bandwidth, other->memory_bandwidth);
    for (int p = 0; p < NEST_PRECISIONS; p++) {
        best->peak[p] = larger(best->peak[p], other->peak[p]);
    }
    best_gemm(other, best);
    best->attention = larger(best->attention, other->attention);
    best->memory_efficiency = larger(best->memory_efficiency, other->memory_efficiency);
    best->scale_up_efficiency = larger(own_links(best), own_links(other));
    best->network_efficiency = larger(best->network_efficiency, other->network_efficiency);
    best->launch = smaller(best->launch, other->launch);
    best->collective_launch = smaller(best->collective_launch, other->collective_launch);
    best->reserve_base = smaller(best->reserve_base, other->reserve_base);
    best->reserve_per_group = smaller(best->reserve_per_group, other->reserve_per_group);
    best->scale_up_reduction = best->scale_up_reduction || other->scale_up_reduction;
}

static bool already_named(const struct nest_cluster *cluster, int k)
{
    bool named = false;
    for (int i = 0; i < k; i++) {
        named = named || cluster->kind[i].device == cluster->kind[k].device;
    }
    return named;
}

static bool find_best(struct nest_arena *arena, struct nest_cluster *cluster)
{
    struct nest_device_spec *best = NEST_NEW(arena, struct nest_device_spec, 1);
    if (!best) {
        return false;
    }
    *best = *cluster->kind[0].device;
    for (int k = 1; k < cluster->kinds; k++) {
        if (already_named(cluster, k)) {
            continue;
        }
        take_better(cluster->kind[k].device, best);
        best->name = nest_arena_printf(arena, "%s + %s", best->name, cluster->kind[k].device->name);
        if (!best->name) {
            return false;
        }
    }
    cluster->device = best;
    return true;
}

/* Turns the kinds' bandwidths into shares of the best one's. */
static void share_out(struct nest_cluster *cluster, struct nest_kind *kind)
{
    for (int l = 0; l < cluster->levels; l++) {
        double best = 0;
        for (int k = 0; k < cluster->kinds; k++) {
            best = larger(best, kind[k].share[l]);
        }
        cluster->level[l].bandwidth = best;
        for (int k = 0; k < cluster->kinds; k++) {
            kind[k].share[l] /= best;
        }
    }
}

/* ---- Selections ---- */

static enum nest_status select_kinds(struct nest_arena *arena, const struct nest_cluster *cluster,
                                     unsigned kept, struct nest_cluster *out)
{
    struct nest_extent *extent = NEST_NEW(arena, struct nest_extent, cluster->stretches);
    int count = 0;
    for (int i = 0; extent && i < cluster->stretches; i++) {
        const bool last = i + 1 == cluster->stretches;
        const int64_t first = cluster->stretch[i].first;
        if (kept & (1u << cluster->stretch[i].kind)) {
            extent[count++] = (struct nest_extent){first, last ? cluster->devices
                                                               : cluster->stretch[i + 1].first};
        }
    }
    const enum nest_status status =
        extent ? nest_cluster_keep(cluster, extent, count, arena, out) : NEST_NO_MEMORY;
    out->kept = kept;
    return status;
}

static enum nest_status make_selections(struct nest_arena *arena, struct nest_cluster *cluster)
{
    const unsigned all = (1u << cluster->kinds) - 1;
    struct nest_cluster *selection = NEST_NEW(arena, struct nest_cluster, all);
    enum nest_status status = selection ? NEST_OK : NEST_NO_MEMORY;
    cluster->kept = all;
    for (unsigned kept = 1; kept < all && status == NEST_OK; kept++) {
        status = select_kinds(arena, cluster, kept, &selection[kept - 1]);
    }
    cluster->selection = selection;
    cluster->selections = (int)all - 1;
    return status;
}

static void forget_kinds(struct nest_cluster *cluster)
{
    cluster->device = cluster->kind[0].device;
    for (int l = 0; l < cluster->levels; l++) {
        cluster->level[l].bandwidth = cluster->kind[0].share[l];
    }
    cluster->kinds = 1;
    cluster->kind = NULL;
    cluster->stretches = 0;
    cluster->stretch = NULL;
}

/* Stretches and kinds under construction. */
struct sorting {
    struct nest_kind *kind;
    int kinds;
    struct nest_stretch *stretch;
    int stretches, room;
    int levels;
};

/* Adds devices from first on; false where there are too many kinds or stretches. */
static bool sort_in(struct sorting *sorting, int64_t first, const struct nest_kind *kind)
{
    const int k = note_kind(sorting->kind, &sorting->kinds, kind, sorting->levels);
    if (k < 0) {
        return false;
    }
    if (sorting->stretches > 0 && sorting->stretch[sorting->stretches - 1].kind == k) {
        return true;
    }
    if (sorting->stretches == sorting->room) {
        return false;
    }
    sorting->stretch[sorting->stretches++] = (struct nest_stretch){first, first, k};
    return true;
}

/* The innermost level at which the group of device p is smaller than the largest of its level; -1:
 * none. *end: the first device that may differ. */
static int lacking_at(const struct nest_cluster *cluster, int64_t p, int64_t *end)
{
    int lacking = -1;
    *end = cluster->devices;
    for (int l = cluster->levels - 1; l >= 0; l--) {
        const int64_t g = nest_cluster_group(cluster, l, p);
        const int64_t next = nest_cluster_group_start(cluster, l, g + 1);
        const int64_t size = next - nest_cluster_group_start(cluster, l, g);
        *end = next;
        if (size < cluster->level[l].capacity) {
            lacking = l;
        }
    }
    return lacking;
}

/* Sorts the devices by kind; groups: whether those of groups that lack something are set apart. */
static bool sort_devices(const struct nest_cluster *cluster, bool groups, struct sorting *sorting)
{
    const struct nest_kind alike = {.device = cluster->device, .lacking = -1};
    int64_t end = 0;
    sorting->kinds = sorting->stretches = 0;
    for (int64_t p = 0; p < cluster->devices; p = end) {
        const struct nest_stretch *at =
            cluster->stretches > 0 ? nest_cluster_stretch(cluster, p) : NULL;
        struct nest_kind kind = at ? cluster->kind[at->kind] : alike;
        for (int l = 0; !at && l < cluster->levels; l++) {
            kind.share[l] = cluster->level[l].bandwidth;
        }
        end = cluster->devices;
        if (groups) {
            const int level = lacking_at(cluster, p, &end);
            kind.lacking = level < 1 ? level : 1;
            kind.lacks = level < 0 ? NULL : cluster->level[level].name;
        }
        const bool last = !at || at + 1 == cluster->stretch + cluster->stretches;
        end = !last && at[1].first < end ? at[1].first : end;
        if (!sort_in(sorting, p, &kind)) {
            return false;
        }
    }
    return true;
}

enum nest_status nest_cluster_settle_kinds(struct nest_arena *arena, struct nest_cluster *cluster)
{
    cluster->kinds = cluster->stretches > 0 ? cluster->kinds : 1;
    if (cluster->uniform && cluster->stretches == 0) {
        return NEST_OK;
    }
    struct sorting sorting = {.levels = cluster->levels};
    sorting.room = cluster->stretches > STRETCHES_MOST ? cluster->stretches : STRETCHES_MOST;
    sorting.kind = NEST_NEW(arena, struct nest_kind, NEST_KINDS_MAX);
    sorting.stretch = NEST_NEW(arena, struct nest_stretch, sorting.room);
    if (!sorting.kind || !sorting.stretch) {
        return NEST_NO_MEMORY;
    }
    const bool whole = sort_devices(cluster, false, &sorting);
    cluster->mixed = whole && sorting.kinds > 1;
    if (!cluster->uniform &&
        (!sort_devices(cluster, true, &sorting) || sorting.kinds > KINDS_MOST_WITH_GROUPS)) {
        (void)sort_devices(cluster, false, &sorting);
    }
    cluster->kind = sorting.kind;
    cluster->kinds = sorting.kinds;
    cluster->stretch = sorting.stretch;
    cluster->stretches = sorting.stretches;
    if (cluster->kinds == 1) {
        forget_kinds(cluster);
        return NEST_OK;
    }
    share_out(cluster, sorting.kind);
    return find_best(arena, cluster) ? make_selections(arena, cluster) : NEST_NO_MEMORY;
}

/* ---- Questions ---- */

const struct nest_cluster *nest_cluster_selected(const struct nest_cluster *cluster, int selection)
{
    return selection == 0 ? cluster : &cluster->selection[selection - 1];
}

const struct nest_stretch *nest_cluster_stretch(const struct nest_cluster *cluster, int64_t p)
{
    int low = 0;
    int high = cluster->stretches;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (cluster->stretch[middle].first <= p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &cluster->stretch[low];
}

unsigned nest_cluster_kinds(const struct nest_cluster *cluster, int64_t first, int64_t end)
{
    unsigned kinds = 0;
    if (cluster->stretches == 0 || first >= end) {
        return 0;
    }
    const struct nest_stretch *behind = cluster->stretch + cluster->stretches;
    for (const struct nest_stretch *at = nest_cluster_stretch(cluster, first);
         at < behind && at->first < end; at++) {
        kinds |= 1u << at->kind;
    }
    return kinds;
}

void nest_cluster_tally(const struct nest_cluster *cluster, int64_t first, int64_t end,
                        int64_t count[NEST_KINDS_MAX])
{
    const struct nest_stretch *behind = cluster->stretch + cluster->stretches;
    for (int64_t p = first; p < end && cluster->stretches > 0;) {
        const struct nest_stretch *at = nest_cluster_stretch(cluster, p);
        const int64_t next = at + 1 < behind && at[1].first < end ? at[1].first : end;
        count[at->kind] += next - p;
        p = next;
    }
}

/* Whether another kind has the same device; then its slow links tell it apart. */
static bool has_twin(const struct nest_cluster *cluster, int kind)
{
    bool twin = false;
    for (int k = 0; k < cluster->kinds; k++) {
        twin = twin || (k != kind && cluster->kind[k].device == cluster->kind[kind].device);
    }
    return twin;
}

char *nest_kind_format(const struct nest_cluster *cluster, int kind, char *out, size_t size)
{
    const struct nest_kind *at = &cluster->kind[kind];
    int l = 0;
    while (l < cluster->levels && at->share[l] >= 1.0) {
        l++;
    }
    if ((l == cluster->levels && at->lacking < 0) || !has_twin(cluster, kind)) {
        (void)snprintf(out, size, "%s", at->device->name);
        return out;
    }
    char rate[32] = "";
    if (l < cluster->levels) {
        (void)nest_unit_format(cluster->level[l].bandwidth * at->share[l], NEST_UNIT_BANDWIDTH,
                               rate, sizeof rate);
    }
    (void)snprintf(out, size, "%s (%s%s%s%s%s%s)", at->device->name,
                   rate[0] ? cluster->level[l].name : "", rate[0] ? " " : "", rate,
                   rate[0] && at->lacks ? ", " : "", at->lacks ? "smaller " : "",
                   at->lacks ? at->lacks : "");
    return out;
}

char *nest_devices_format(const struct nest_cluster *cluster, unsigned kinds, char *out,
                          size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < cluster->kinds; k++) {
        bool told = !(kinds & (1u << k));
        for (int i = 0; i < k; i++) {
            told =
                told || ((kinds & (1u << i)) && cluster->kind[i].device == cluster->kind[k].device);
        }
        if (!told && used + 4 < size) {
            (void)snprintf(out + used, size - used, "%s%s", used > 0 ? " + " : "",
                           cluster->kind[k].device->name);
            used += strlen(out + used);
        }
    }
    return out;
}

char *nest_kinds_format(const struct nest_cluster *cluster, unsigned kinds, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < cluster->kinds; k++) {
        if (!(kinds & (1u << k)) || used + 4 >= size) {
            continue;
        }
        used += (size_t)snprintf(out + used, size - used, "%s", used > 0 ? " + " : "");
        (void)nest_kind_format(cluster, k, out + used, size - used);
        used += strlen(out + used);
    }
    return out;
}

int64_t nest_cluster_origin(const struct nest_cluster *selected, int64_t p)
{
    if (selected->stretches == 0) {
        return p;
    }
    const struct nest_stretch *at = nest_cluster_stretch(selected, p);
    return at->origin + (p - at->first);
}

int64_t nest_cluster_position(const struct nest_cluster *selected, int64_t origin)
{
    for (int i = 0; i < selected->stretches; i++) {
        const struct nest_stretch *at = &selected->stretch[i];
        const int64_t end = i + 1 < selected->stretches ? at[1].first : selected->devices;
        if (origin >= at->origin && origin < at->origin + (end - at->first)) {
            return at->first + (origin - at->origin);
        }
    }
    return selected->stretches == 0 ? origin : -1;
}
