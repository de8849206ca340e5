#include "input/import/tree.h"

#include <string.h>

/* ---- Names → numbers: open addressing, grown by doubling ------------------------------------ */

struct nest_names {
    struct nest_arena *arena;
    size_t room, used; /* room is a power of two */
    struct slot {
        const char *name;
        int64_t value;
    } * slot;
};

static uint64_t hash_text(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++) {
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    }
    return h ^ (h >> 29);
}

static struct slot *slot_of(const struct nest_names *names, const char *name)
{
    size_t i = (size_t)hash_text(name) & (names->room - 1);
    while (names->slot[i].name && strcmp(names->slot[i].name, name) != 0) {
        i = (i + 1) & (names->room - 1);
    }
    return &names->slot[i];
}

struct nest_names *nest_names_new(struct nest_arena *arena)
{
    struct nest_names *names = NEST_NEW(arena, struct nest_names, 1);
    struct slot *slot = NEST_NEW(arena, struct slot, 64);
    if (!names || !slot) {
        return NULL;
    }
    *names = (struct nest_names){.arena = arena, .room = 64, .slot = slot};
    return names;
}

int64_t nest_names_get(const struct nest_names *names, const char *name)
{
    const struct slot *slot = slot_of(names, name);
    return slot->name ? slot->value : -1;
}

bool nest_names_put(struct nest_names *names, const char *name, int64_t value)
{
    if ((names->used + 1) * 4 > names->room * 3) {
        struct nest_names grown = {names->arena, names->room * 2, 0,
                                   NEST_NEW(names->arena, struct slot, names->room * 2)};
        if (!grown.slot) {
            return false;
        }
        for (size_t i = 0; i < names->room; i++) {
            if (names->slot[i].name) {
                *slot_of(&grown, names->slot[i].name) = names->slot[i];
            }
        }
        grown.used = names->used;
        *names = grown;
    }
    const char *copy = nest_arena_strdup(names->arena, name);
    if (!copy) {
        return false;
    }
    *slot_of(names, name) = (struct slot){copy, value};
    names->used++;
    return true;
}

/* ---- Building -------------------------------------------------------------------------------- */

struct nest_tree_link {
    int child;
    struct nest_tree_link *next;
};

bool nest_tree_init(struct nest_tree *tree, struct nest_arena *arena)
{
    *tree = (struct nest_tree){
        .arena = arena, .names = nest_names_new(arena), .host_names = nest_names_new(arena)};
    return tree->names && tree->host_names;
}

int nest_tree_find(const struct nest_tree *tree, const char *name)
{
    return (int)nest_names_get(tree->names, name);
}

int nest_tree_group(struct nest_tree *tree, const char *name, int line)
{
    const int known = nest_tree_find(tree, name);
    if (known >= 0) {
        return known;
    }
    if (tree->groups == NEST_TREE_GROUPS) {
        return -1;
    }
    if (tree->groups == tree->room) {
        const int room = tree->room ? tree->room * 2 : 64;
        struct nest_tree_group *grown = NEST_NEW(tree->arena, struct nest_tree_group, room);
        if (!grown) {
            return -1;
        }
        if (tree->groups > 0) {
            memcpy(grown, tree->group, sizeof *grown * (size_t)tree->groups);
        }
        tree->group = grown;
        tree->room = room;
    }
    const int g = tree->groups;
    tree->group[g] = (struct nest_tree_group){
        .name = nest_arena_strdup(tree->arena, name), .line = line, .merged = g, .parent = -1};
    if (!tree->group[g].name || !nest_names_put(tree->names, name, g)) {
        return -1;
    }
    return tree->groups++;
}

/* The group that g was merged into, with a shortcut left for the next time. */
static int whole(struct nest_tree *tree, int g)
{
    while (tree->group[g].merged != g) {
        tree->group[g].merged = tree->group[tree->group[g].merged].merged;
        g = tree->group[g].merged;
    }
    return g;
}

int nest_tree_whole(const struct nest_tree *tree, int g)
{
    while (tree->group[g].merged != g) {
        g = tree->group[g].merged;
    }
    return g;
}

/* Makes a and b one; the one named first stays. */
static bool merge(struct nest_tree *tree, int a, int b)
{
    a = whole(tree, a);
    b = whole(tree, b);
    if (a == b) {
        return false;
    }
    const int keep = a < b ? a : b;
    tree->group[a < b ? b : a].merged = keep;
    return true;
}

bool nest_tree_host(struct nest_tree *tree, int group, const char *host)
{
    const int64_t holder = nest_names_get(tree->host_names, host);
    tree->group[group].listed += holder != group;
    if (holder >= 0) {
        merge(tree, (int)holder, group);
        return true;
    }
    if (!nest_names_put(tree->host_names, host, group)) {
        return false;
    }
    tree->group[group].hosts++;
    tree->hosts++;
    return true;
}

bool nest_tree_child(struct nest_tree *tree, int parent, int child)
{
    struct nest_tree_link *link = NEST_NEW(tree->arena, struct nest_tree_link, 1);
    if (!link) {
        return false;
    }
    link->child = child;
    struct nest_tree_group *p = &tree->group[parent];
    if (p->last) {
        p->last->next = link;
    } else {
        p->first = link;
    }
    p->last = link;
    return true;
}

/* ---- Joining --------------------------------------------------------------------------------- */

enum { JOIN_PASSES = 64 };

/* Merges all parents of one group; returns how many merges that took. */
static int join_parents(struct nest_tree *tree)
{
    int merges = 0;
    for (int g = 0; g < tree->groups; g++) {
        tree->group[g].parent = -1;
    }
    for (int g = 0; g < tree->groups; g++) {
        for (const struct nest_tree_link *link = tree->group[g].first; link; link = link->next) {
            const int child = whole(tree, link->child);
            if (child == whole(tree, g)) {
                continue;
            }
            int *parent = &tree->group[child].parent;
            if (*parent >= 0) {
                merges += merge(tree, *parent, g);
            }
            *parent = whole(tree, g);
        }
    }
    return merges;
}

/* Moves hosts and children of merged groups to the group that stays, children in order and once;
 * hosts beside children become a group of their own. */
static bool gather(struct nest_tree *tree)
{
    const int groups = tree->groups;
    bool *placed = NEST_NEW(tree->arena, bool, groups ? groups : 1);
    struct nest_tree_link **old = NEST_NEW(tree->arena, struct nest_tree_link *, groups + 1);
    if (!placed || !old) {
        return false;
    }
    for (int g = 0; g < groups; g++) {
        old[g] = tree->group[g].first;
        tree->group[g].first = tree->group[g].last = NULL;
        const int w = whole(tree, g);
        if (w != g) {
            tree->group[w].hosts += tree->group[g].hosts;
            tree->group[w].uplink += tree->group[g].uplink;
            tree->group[g].hosts = 0;
        }
    }
    for (int g = 0; g < groups; g++) {
        for (const struct nest_tree_link *link = old[g]; link; link = link->next) {
            const int child = whole(tree, link->child);
            const int w = whole(tree, g);
            if (child == w || placed[child]) {
                continue;
            }
            placed[child] = true;
            tree->group[child].parent = w;
            if (!nest_tree_child(tree, w, child)) {
                return false;
            }
        }
    }
    for (int g = 0; g < groups; g++) {
        if (tree->group[g].first && tree->group[g].hosts > 0) {
            const char *name = nest_arena_printf(tree->arena, "%s:hosts", tree->group[g].name);
            const int own = name ? nest_tree_group(tree, name, tree->group[g].line) : -1;
            if (own < 0 || !nest_tree_child(tree, g, own)) {
                return false;
            }
            tree->group[own].hosts = tree->group[g].hosts;
            tree->group[own].parent = g;
            tree->group[g].hosts = 0;
        }
    }
    return true;
}

/* Drops groups without hosts, counts hosts upwards and sets heights, from the leaves up. A group
 * that is never reached is its own ancestor: returned, else -1. */
static int measure(struct nest_tree *tree)
{
    int *waiting = NEST_NEW(tree->arena, int, tree->groups + 1);
    int *queue = NEST_NEW(tree->arena, int, tree->groups + 1);
    if (!waiting || !queue) {
        return 0;
    }
    int filled = 0;
    for (int g = 0; g < tree->groups; g++) {
        for (const struct nest_tree_link *link = tree->group[g].first; link; link = link->next) {
            waiting[g]++;
        }
        if (waiting[g] == 0) {
            queue[filled++] = g;
        }
    }
    for (int i = 0; i < filled; i++) {
        struct nest_tree_group *g = &tree->group[queue[i]];
        struct nest_tree_link **at = &g->first;
        while (*at) {
            const struct nest_tree_group *child = &tree->group[(*at)->child];
            if (child->hosts == 0) {
                *at = (*at)->next;
                continue;
            }
            g->hosts += child->hosts;
            g->height = g->height > child->height ? g->height : child->height + 1;
            at = &(*at)->next;
        }
        if (g->parent >= 0 && --waiting[g->parent] == 0) {
            queue[filled++] = g->parent;
        }
    }
    for (int g = 0; g < tree->groups; g++) {
        if (waiting[g] > 0) {
            return g;
        }
    }
    return -1;
}

static void note_merges(struct nest_tree *tree, struct nest_job *job)
{
    int merged = 0;
    int example = -1;
    for (int g = 0; g < tree->groups; g++) {
        if (tree->group[g].merged != g) {
            merged++;
            example = example < 0 ? g : example;
        }
    }
    if (merged > 0) {
        nest_job_note(
            job,
            "%d parallel switches (planes, rails, cores) were joined with others that reach "
            "the same members, such as %s with %s",
            merged, tree->group[example].name, tree->group[whole(tree, example)].name);
    }
}

enum nest_status nest_tree_join(struct nest_tree *tree, struct nest_job *job)
{
    int pass = 0;
    while (join_parents(tree) > 0) {
        if (++pass == JOIN_PASSES) {
            return nest_job_fault(job, 0, 0, "a tree, or a fat tree with parallel cores",
                                  "the links form no tiers");
        }
    }
    note_merges(tree, job);
    if (!gather(tree)) {
        return nest_job_no_memory(job);
    }
    const int knot = measure(tree);
    if (knot >= 0) {
        return nest_job_fault(job, tree->group[knot].line, 1, NULL,
                              "'%s' is above and below itself", tree->group[knot].name);
    }
    return NEST_OK;
}

/* ---- Levels ---------------------------------------------------------------------------------- */

/* "hallA (16 hosts), leafC (8 hosts)": the roots, at most eight of them. */
static const char *list_roots(const struct nest_tree *tree, struct nest_arena *arena)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(4096);
    int shown = 0;
    for (int g = 0; g < tree->groups; g++) {
        const struct nest_tree_group *group = &tree->group[g];
        if (group->merged != g || group->parent >= 0 || group->hosts == 0) {
            continue;
        }
        if (++shown > 8) {
            nest_strbuf_add(&text, ", …");
            break;
        }
        nest_strbuf_printf(&text, "%s%s (%lld hosts)", shown > 1 ? ", " : "", group->name,
                           (long long)group->hosts);
    }
    const char *copy = nest_arena_strdup(arena, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    return copy ? copy : "";
}

static enum nest_status choose_root(struct nest_tree *tree, struct nest_job *job, int *root)
{
    int roots = 0;
    for (int g = 0; g < tree->groups; g++) {
        if (tree->group[g].merged == g && tree->group[g].parent < 0 && tree->group[g].hosts > 0) {
            *root = g;
            roots++;
        }
    }
    if (roots == 0) {
        return nest_job_fault(job, 0, 0, NULL, "no hosts found");
    }
    if (job->options->root) {
        const int named = nest_tree_find(tree, job->options->root);
        if (named >= 0 && tree->group[whole(tree, named)].hosts > 0) {
            *root = whole(tree, named);
            return NEST_OK;
        }
        return nest_job_fault(
            job, 0, 0, nest_arena_printf(job->arena, "one of %s", list_roots(tree, job->arena)),
            "there is no fabric '%s'", job->options->root);
    }
    if (roots > 1) {
        return nest_job_fault(job, 0, 0, "choose one with --root NAME",
                              "%d separate fabrics, and a job cannot span them: %s", roots,
                              list_roots(tree, job->arena));
    }
    return NEST_OK;
}

/* The groups of one height in device order; a group of less height stands for itself. */
struct row {
    int count;
    int *group;
};

static int64_t fanout_of(const struct nest_tree_group *group, int height)
{
    if (group->height < height) {
        return 1;
    }
    int64_t n = height == 0 ? group->hosts : 0;
    for (const struct nest_tree_link *link = height ? group->first : NULL; link;
         link = link->next) {
        n++;
    }
    return n;
}

/* Fan-outs of a row, run-length coded. Returns false when memory is out. */
static bool row_runs(const struct nest_tree *tree, const struct row *row, int height,
                     struct nest_found_level *level)
{
    struct nest_group_run *run = NEST_NEW(tree->arena, struct nest_group_run, row->count);
    if (!run) {
        return false;
    }
    int runs = 0;
    for (int i = 0; i < row->count; i++) {
        const int64_t fanout = fanout_of(&tree->group[row->group[i]], height);
        if (runs > 0 && run[runs - 1].fanout == fanout) {
            run[runs - 1].times++;
        } else {
            run[runs++] = (struct nest_group_run){.fanout = fanout, .times = 1};
        }
    }
    level->fanout = runs == 1 ? run[0].fanout : 0;
    level->runs = runs == 1 ? 0 : runs;
    level->run = run;
    return true;
}

static bool next_row(const struct nest_tree *tree, const struct row *row, int height,
                     struct row *next)
{
    next->count = 0;
    for (int i = 0; i < row->count; i++) {
        next->count += (int)fanout_of(&tree->group[row->group[i]], height);
    }
    next->group = NEST_NEW(tree->arena, int, next->count);
    if (!next->group) {
        return false;
    }
    int n = 0;
    for (int i = 0; i < row->count; i++) {
        const struct nest_tree_group *group = &tree->group[row->group[i]];
        if (group->height < height) {
            next->group[n++] = row->group[i];
            continue;
        }
        for (const struct nest_tree_link *link = group->first; link; link = link->next) {
            next->group[n++] = link->child;
        }
    }
    return true;
}

/* Worst ratio of what the hosts under a group of the row may send to the group's uplink; 0 if some
 * uplink is not known. */
static double row_oversubscription(const struct nest_tree *tree, const struct row *row,
                                   double host_bandwidth)
{
    double worst = 1;
    for (int i = 0; i < row->count; i++) {
        const struct nest_tree_group *group = &tree->group[row->group[i]];
        if (group->uplink <= 0 || host_bandwidth <= 0) {
            return 0;
        }
        const double ratio = (double)group->hosts * host_bandwidth / group->uplink;
        worst = ratio > worst ? ratio : worst;
    }
    return worst;
}

static bool all_single(const struct nest_found_level *level)
{
    return level->runs == 0 && level->fanout == 1;
}

static void name_levels(struct nest_job *job, const char *const *tier,
                        struct nest_found_cluster *found, int from)
{
    for (int l = from; l < found->levels; l++) {
        const char *name = *tier ? *tier++ : NULL;
        found->level[l].name = name ? name : nest_arena_printf(job->arena, "tier%d", l - from + 1);
    }
}

/* Says what is uneven. */
static void note_shape(const struct nest_tree *tree, int root, bool padded, struct nest_job *job,
                       const struct nest_found_cluster *found)
{
    const char *uneven = NULL;
    for (int l = 0; l < found->levels; l++) {
        if (found->level[l].runs > 0) {
            uneven = "groups of unequal size: no single fan-out describes this fabric, each group "
                     "is listed in device order";
        }
    }
    if (uneven) {
        nest_job_note(job, "%s", uneven);
    }
    if (padded) {
        nest_job_note(
            job,
            "branches of unequal depth under %s: the shallow ones were padded with groups "
            "of one",
            tree->group[root].name);
    }
}

enum nest_status nest_tree_levels(struct nest_tree *tree, struct nest_job *job,
                                  const char *const *tier, struct nest_found_cluster *found)
{
    int root = 0;
    const enum nest_status status = choose_root(tree, job, &root);
    if (status != NEST_OK) {
        return status;
    }
    const int height = tree->group[root].height;
    if (height >= NEST_MAX_LEVELS) {
        return nest_job_fault(job, tree->group[root].line, 1, NULL,
                              "%d tiers of switches; at most %d levels can be planned", height + 1,
                              (int)NEST_MAX_LEVELS);
    }
    /* Rows from the root down; levels are stored from the hosts up, so they are reversed. */
    struct nest_found_level level[NEST_MAX_LEVELS] = {{0}};
    struct row row = {1, &root};
    bool padded = false;
    for (int h = height; h >= 0; h--) {
        for (int i = 0; i < row.count; i++) {
            padded |= tree->group[row.group[i]].height < h;
        }
        if (!row_runs(tree, &row, h, &level[h])) {
            return nest_job_no_memory(job);
        }
        struct row next;
        if (h > 0) {
            if (!next_row(tree, &row, h, &next)) {
                return nest_job_no_memory(job);
            }
            row = next;
        }
        level[h].oversubscription = h > 0 ? row_oversubscription(tree, &row, found->host_bandwidth)
                                          : (found->host_bandwidth > 0 ? 1 : 0);
    }
    const int from = found->levels;
    for (int h = 0; h <= height; h++) {
        if (!all_single(&level[h]) || (h == height && found->levels == from)) {
            found->level[found->levels++] = level[h];
        }
    }
    for (int l = from; l < found->levels; l++) {
        found->level[l].bandwidth = found->host_bandwidth;
    }
    name_levels(job, tier, found, from);
    note_shape(tree, root, padded, job, found);
    return NEST_OK;
}
