/* Cuts of a layer graph that branches.
 *
 * A cut is a set of layers closed under predecessors: what has run in front of a stage boundary.
 * The layers behind it are a downset (closed under successors), so cuts and downsets are two names
 * of one thing. The stages of a pipeline lie between nested cuts. In a chain cut i is simply the
 * first i layers; only graphs in which that is not so need this record. */
#ifndef NEST_MODEL_CUTS_H
#define NEST_MODEL_CUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/spec.h"

/* A table of costs has an entry for each cut, and the search looks at pairs of them. */
enum { NEST_CUTS_MAX = 4096 };

/* Cuts are numbered by size, those of one size so that the one with the first layer that the other
 * lacks comes first: a cut comes after all its subsets, 0 is empty, count - 1 holds all layers, and
 * first[i] is the cut of the first i layers. */
struct nest_cuts {
    int layers;
    int count;
    int words;              /* 64-bit words in a set */
    const uint64_t *member; /* [count * words] bit i: layer i is in the cut */
    const int *first;       /* [layers + 2] the first cut of a size; first[layers + 1] = count */
    const int *parent;      /* [count] a cut that lacks one of the layers; unused for 0 … */
    const int *added;       /* [count] … and that layer */
};

/* Producers whose tensor crosses each boundary: consumed behind it, made in front of it. A tensor
 * counts once, however many layers consume it. */
struct nest_crossing {
    const int *from;  /* [count + 1] where the producers of a cut begin in layer */
    const int *layer; /* ascending for each cut */
};

/* All cuts of a graph. Here and below layers are numbered so that every edge ascends, and edges are
 * sorted by `from`. Lives in arena. NEST_NO: there are more than NEST_CUTS_MAX. */
enum nest_status nest_cuts_list(const struct nest_edge_spec *edge, int edges, int layers,
                                struct nest_arena *arena, struct nest_cuts *out);

/* What crosses each of them. */
enum nest_status nest_cuts_crossing(const struct nest_cuts *cuts, const struct nest_edge_spec *edge,
                                    int edges, struct nest_arena *arena, struct nest_crossing *out);

/* How many layers lie side by side (no path joins any two) where most of those of one depth do. */
int nest_graph_width(const struct nest_edge_spec *edge, int edges, int layers,
                     struct nest_arena *arena);

static inline const uint64_t *nest_cut_set(const struct nest_cuts *cuts, int cut)
{
    return &cuts->member[(size_t)cut * (size_t)cuts->words];
}

static inline bool nest_cut_has(const struct nest_cuts *cuts, int cut, int layer)
{
    return nest_cut_set(cuts, cut)[layer / 64] >> (layer % 64) & 1;
}

/* Whether all layers of cut a are in cut b. */
static inline bool nest_cut_within(const struct nest_cuts *cuts, int a, int b)
{
    const uint64_t *x = nest_cut_set(cuts, a);
    const uint64_t *y = nest_cut_set(cuts, b);
    for (int w = 0; w < cuts->words; w++) {
        if (x[w] & ~y[w]) {
            return false;
        }
    }
    return true;
}

/* The first layer, from `layer` on, of cut b that is not in cut a; the number of layers if none. */
static inline int nest_cut_next(const struct nest_cuts *cuts, int a, int b, int layer)
{
    const uint64_t *x = nest_cut_set(cuts, a);
    const uint64_t *y = nest_cut_set(cuts, b);
    uint64_t mask = ~UINT64_C(0) << (layer % 64);
    for (int w = layer / 64; w < cuts->words; w++, mask = ~UINT64_C(0)) {
        const uint64_t between = y[w] & ~x[w] & mask;
        if (between) {
            return w * 64 + __builtin_ctzll(between);
        }
    }
    return cuts->layers;
}

/* The cut with exactly these layers ([words]), or -1: the set is none. */
int nest_cut_find(const struct nest_cuts *cuts, const uint64_t *set);

#endif
