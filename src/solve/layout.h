/* Where the stages of one pipeline may sit: the positions that the recurrence walks over.
 *
 * The plan space. A span is K devices long and holds dp_in copies of every stage; a stage block is
 * block = tp_i * cp * dp_in devices wide. Blocks are placed from the right end of the span:
 *
 *   - the right end of a block is the start of its successor (the end of the span for the last
 *     stage), or the last start of a level-m group at or before it, for any level m;
 *   - K is the sum W of the block widths (packed), or W rounded up to the next level-m group
 *     boundary, for any m; dp_out * K <= devices. With stages of different width every reachable W
 *     offers its K, and any sequence of blocks that fits in K may use it.
 *
 * Boundaries are those of span 0; levels and placements are the worst over all spans. What is left
 * in front of the first stage is idle. */
#ifndef NEST_SOLVE_LAYOUT_H
#define NEST_SOLVE_LAYOUT_H

#include "cost/table.h"

/* How a boundary tensor gets across: over `level`, divided as the narrower end demands. */
struct nest_link {
    int level; /* -1: no neighbour upstream */
    int width; /* index of the narrower end's tp in nest_layout.tp */
};

/* From a place to one of the places its successor may take. */
struct nest_arc {
    int next; /* index among the places of s - 1 */
    int link; /* index among the links of that place */
};

/* A position for the s-th stage from the end. */
struct nest_place {
    int64_t x; /* first device within span 0 */
    int width; /* index into nest_layout.tp */
    int arcs;  /* to the successors; 0 for the last stage */
    int links; /* distinct links from upstream; 1 (level -1) for the first stage */
    struct nest_arc *arc;
    struct nest_link *link;
    const struct nest_cost_table **table; /* [zeros]; attached by whoever owns the tables */
};

struct nest_layout {
    int stages;
    int widths;
    const int64_t *tp;         /* [widths] ascending */
    int *count;                /* [stages + 1] places of the s-th stage from the end; [0] is 0 */
    struct nest_place **place; /* [stages + 1], each sorted by tp, then x */
};

/* The lengths K that a pipeline of so many stages may have, ascending. strategy->span is ignored;
 * tp: the widths that stages may take. Lives in arena; NULL when memory is out, *count is 0 when
 * the pipeline does not fit. */
int64_t *nest_layout_spans(const struct nest_cluster *cluster, const struct nest_strategy *strategy,
                           int stages, int widths, const int64_t *tp, struct nest_arena *arena,
                           int *count);

/* All places of all stages for the span of strategy; packed: side by side, at its right end. tables
 * are left NULL, zeros wide. False when memory is out. Borrows tp. */
bool nest_layout_build(const struct nest_cluster *cluster, const struct nest_strategy *strategy,
                       int stages, int widths, const int64_t *tp, int zeros, bool packed,
                       struct nest_arena *arena, struct nest_layout *out);

#endif
