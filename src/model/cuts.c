#include "model/cuts.h"

#include <stdlib.h>
#include <string.h>

/* Cuts under construction, in the order of their final numbers. */
struct pile {
    int count;
    uint64_t *member; /* [NEST_CUTS_MAX * words] */
    int *parent, *added;
};

struct listing {
    int layers, words;
    int *inputs;      /* [layers + 1] where a layer's inputs begin in input */
    int *input;       /* [edges] */
    int *first;       /* [layers + 2] as in nest_cuts */
    struct pile all;  /* complete up to one size */
    struct pile next; /* of the next size, as they are found */
    int *sorted;      /* [NEST_CUTS_MAX] the next size in order */
};

static uint64_t *set_of(const struct pile *pile, int cut, int words)
{
    return &pile->member[(size_t)cut * (size_t)words];
}

/* Sets of one size: the one with the first layer that the other lacks comes first. */
static int compare_sets(const uint64_t *a, const uint64_t *b, int words)
{
    for (int w = 0; w < words; w++) {
        const uint64_t differ = a[w] ^ b[w];
        if (differ) {
            return a[w] & differ & (~differ + 1) ? -1 : 1;
        }
    }
    return 0;
}

static bool has(const uint64_t *set, int layer)
{
    return set[layer / 64] >> (layer % 64) & 1;
}

static bool is_ready(const struct listing *l, const uint64_t *set, int layer)
{
    bool ready = !has(set, layer);
    for (int e = l->inputs[layer]; e < l->inputs[layer + 1] && ready; e++) {
        ready = has(set, l->input[e]);
    }
    return ready;
}

static void put(struct pile *pile, int words, const uint64_t *set, int parent, int layer)
{
    memcpy(set_of(pile, pile->count, words), set, (size_t)words * sizeof *set);
    pile->parent[pile->count] = parent;
    pile->added[pile->count] = layer;
    pile->count++;
}

/* Adds cut `parent` and one more layer to the next size, unless it is there already. False: there
 * are too many. */
static bool find_next(struct listing *l, int parent, int layer)
{
    struct pile *next = &l->next;
    const int found = next->count;
    if (l->all.count + found >= NEST_CUTS_MAX) {
        return false;
    }
    put(next, l->words, set_of(&l->all, parent, l->words), parent, layer);
    uint64_t *set = set_of(next, found, l->words);
    set[layer / 64] |= UINT64_C(1) << (layer % 64);
    int low = 0;
    int high = found;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int order = compare_sets(set_of(next, l->sorted[middle], l->words), set, l->words);
        if (order == 0) {
            next->count = found;
            return true;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    memmove(&l->sorted[low + 1], &l->sorted[low], (size_t)(found - low) * sizeof *l->sorted);
    l->sorted[low] = found;
    return true;
}

/* All cuts of `size` layers from those of one less. */
static bool list_size(struct listing *l, int size)
{
    const int end = l->all.count;
    l->next.count = 0;
    for (int cut = l->first[size - 1]; cut < end; cut++) {
        for (int layer = 0; layer < l->layers; layer++) {
            if (is_ready(l, set_of(&l->all, cut, l->words), layer) && !find_next(l, cut, layer)) {
                return false;
            }
        }
    }
    l->first[size] = end;
    for (int i = 0; i < l->next.count; i++) {
        const int from = l->sorted[i];
        put(&l->all, l->words, set_of(&l->next, from, l->words), l->next.parent[from],
            l->next.added[from]);
    }
    return true;
}

static void free_pile(struct pile *pile)
{
    free(pile->member);
    free(pile->parent);
    free(pile->added);
}

static bool make_pile(struct pile *pile, int words)
{
    pile->member = calloc((size_t)NEST_CUTS_MAX * (size_t)words, sizeof *pile->member);
    pile->parent = calloc(NEST_CUTS_MAX, sizeof *pile->parent);
    pile->added = calloc(NEST_CUTS_MAX, sizeof *pile->added);
    return pile->member && pile->parent && pile->added;
}

static const void *keep(struct nest_arena *arena, const void *items, size_t count, size_t size)
{
    void *kept = nest_arena_alloc(arena, count, size);
    if (kept) {
        memcpy(kept, items, count * size);
    }
    return kept;
}

static enum nest_status list_all(struct listing *l, struct nest_arena *arena, struct nest_cuts *out)
{
    l->all.count = 1; /* the empty one */
    for (int size = 1; size <= l->layers; size++) {
        if (!list_size(l, size)) {
            return NEST_NO;
        }
    }
    const size_t count = (size_t)l->all.count;
    l->first[l->layers + 1] = l->all.count;
    *out = (struct nest_cuts){
        .layers = l->layers,
        .count = l->all.count,
        .words = l->words,
        .member = keep(arena, l->all.member, count * (size_t)l->words, sizeof *l->all.member),
        .first = l->first,
        .parent = keep(arena, l->all.parent, count, sizeof *l->all.parent),
        .added = keep(arena, l->all.added, count, sizeof *l->all.added),
    };
    return out->member && out->parent && out->added ? NEST_OK : NEST_NO_MEMORY;
}

/* Sorts the edges by the layer that they enter. */
static bool list_inputs(struct listing *l, const struct nest_edge_spec *edge, int edges,
                        struct nest_arena *arena)
{
    l->inputs = NEST_NEW(arena, int, l->layers + 1);
    l->input = NEST_NEW(arena, int, edges + 1);
    if (!l->inputs || !l->input) {
        return false;
    }
    for (int e = 0; e < edges; e++) {
        l->inputs[edge[e].to]++;
    }
    for (int i = 0, sum = 0; i <= l->layers; i++) {
        sum += l->inputs[i];
        l->inputs[i] = sum; /* the end of layer i, moved to its beginning below */
    }
    for (int e = edges - 1; e >= 0; e--) {
        l->input[--l->inputs[edge[e].to]] = edge[e].from;
    }
    return true;
}

enum nest_status nest_cuts_list(const struct nest_edge_spec *edge, int edges, int layers,
                                struct nest_arena *arena, struct nest_cuts *out)
{
    struct listing l = {.layers = layers, .words = (layers + 63) / 64};
    l.first = NEST_NEW(arena, int, layers + 2);
    l.sorted = calloc(NEST_CUTS_MAX, sizeof *l.sorted);
    enum nest_status status = NEST_NO_MEMORY;
    if (l.first && l.sorted && list_inputs(&l, edge, edges, arena) && make_pile(&l.all, l.words) &&
        make_pile(&l.next, l.words)) {
        status = list_all(&l, arena, out);
    }
    free_pile(&l.all);
    free_pile(&l.next);
    free(l.sorted);
    return status;
}

int nest_cut_find(const struct nest_cuts *cuts, const uint64_t *set)
{
    int size = 0;
    for (int i = 0; i < cuts->layers; i++) {
        size += has(set, i);
    }
    int low = cuts->first[size];
    int high = cuts->first[size + 1];
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int order = compare_sets(nest_cut_set(cuts, middle), set, cuts->words);
        if (order == 0) {
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return -1;
}

/* Producers in cut c that feed a layer outside it, into layer; how many. The edges of one
 * producer follow each other. */
static int crossing(const struct nest_cuts *cuts, const struct nest_edge_spec *edge, int edges,
                    int cut, int *layer)
{
    int count = 0;
    int last = -1;
    for (int e = 0; e < edges; e++) {
        if (edge[e].from != last && nest_cut_has(cuts, cut, edge[e].from) &&
            !nest_cut_has(cuts, cut, edge[e].to)) {
            last = edge[e].from;
            layer[count++] = last;
        }
    }
    return count;
}

enum nest_status nest_cuts_crossing(const struct nest_cuts *cuts, const struct nest_edge_spec *edge,
                                    int edges, struct nest_arena *arena, struct nest_crossing *out)
{
    int *from = NEST_NEW(arena, int, cuts->count + 1);
    int *alive = NEST_NEW(arena, int, cuts->layers + 1);
    if (!from || !alive) {
        return NEST_NO_MEMORY;
    }
    for (int c = 0; c < cuts->count; c++) {
        from[c + 1] = from[c] + crossing(cuts, edge, edges, c, alive);
    }
    int *layer = NEST_NEW(arena, int, from[cuts->count] + 1);
    if (!layer) {
        return NEST_NO_MEMORY;
    }
    for (int c = 0; c < cuts->count; c++) {
        (void)crossing(cuts, edge, edges, c, &layer[from[c]]);
    }
    *out = (struct nest_crossing){from, layer};
    return NEST_OK;
}

int nest_graph_width(const struct nest_edge_spec *edge, int edges, int layers,
                     struct nest_arena *arena)
{
    int *depth = NEST_NEW(arena, int, layers);
    int *wide = NEST_NEW(arena, int, layers + 1);
    int widest = 0;
    for (int e = 0; depth && wide && e < edges; e++) {
        const int next = depth[edge[e].from] + 1;
        depth[edge[e].to] = next > depth[edge[e].to] ? next : depth[edge[e].to];
    }
    for (int i = 0; depth && wide && i < layers; i++) {
        wide[depth[i]]++;
        widest = wide[depth[i]] > widest ? wide[depth[i]] : widest;
    }
    return widest;
}
