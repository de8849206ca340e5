/* The recurrence, for one strategy, one span K and one number of stages of a graph of layers.
 *
 *   dp[l][D][k][s] = min over D' (the rest), option c, gap and so link l' and k'
 *                    of combine( load_c(D \ D', l, l'), dp[l'][D'][k'][s-1] )
 *                    subject to memory_c(D \ D', s) <= limit
 *
 * D is a downset, named by the cut in front of it (model/cuts.h): in a chain the suffix that begins
 * with layer number D. (k, gap, l') are the places and arcs of
 * layout.h; the value is the Pareto set of (b, f, e) of plan/step.h and the devices used. Values
 * come first; the plan is re-derived from them by walking forward, taking at each stage the first
 * choice in the order of nest_plan_compare that still reaches the optimum.
 *
 * How it grows. There are at most P * L * n * s cells: P places of a stage (one, when blocks tile
 * the groups), L links, n layers. A cell looks at (stages that begin there) * options * arcs *
 * values behind. Without a limit that is O(s * n^2). A limit bounds b, and b and the memory bound
 * what a stage can hold: filled as far as they can, from the front and from the back, the stages
 * leave a window of few cuts for each (recurrence_limits.c), and O(s * w^2) stages are looked at, w
 * the slack that the limit leaves over the balanced split. Values that no stage in front can tell
 * apart are one, so that sets stay small. Equal layers make equal stages, which are priced once
 * (kind_of); where all differ, time goes into the n prices of every table.
 *
 * In a graph n counts cuts, and pairs of cuts are passed over that are not nested: two towers of 13
 * and 25 layers have 365 cuts and as many pairs as a chain of 270 layers. Windows there are by size
 * alone; a relaxed pass from the front tells which cells can still be part of a plan
 * (recurrence_front.c). */
#ifndef NEST_SOLVE_RECURRENCE_H
#define NEST_SOLVE_RECURRENCE_H

#include <stdatomic.h>

#include "plan/step.h"
#include "solve/layout.h"

/* Interleaving: v chunks per stage of a chain of equal blocks. The recurrence then splits COLUMNS
 * of v blocks, one in each chunk of a stage: a stage with n columns holds v chunks of n blocks. The
 * first chunk of all also holds the layers before the blocks (lead) and the last one those behind
 * (trail); either may be one block short. Of a graph that branches, only the lead may. */
struct nest_interleave {
    int chunks;                   /* v > 1 */
    int lead, trail;              /* layers of the model in front of and behind the blocks */
    bool short_first, short_last; /* one block less in the first, the last chunk of all */
    double pp_overlap;            /* knob of the transfers, as in nest_chunks_query */
    /* The wrap-around link joins the last stage to the first. It is fixed beforehand: only the
     * place `last_place` of the last stage, and first stages from which the link to it crosses
     * wrap_level, are considered. */
    int last_place;
    const int *wrap_level_of; /* [places of the first stage] */
    int wrap_level;
};

/* What is asked. Borrowed. */
struct nest_chain {
    const struct nest_layout *layout; /* with its tables attached */
    int layers;                       /* cuts less one; interleaved: columns */
    const struct nest_cuts *cuts; /* of a graph that branches; NULL: a chain, cut i is i layers */
    const int *kind_of; /* [layers] equal numbers mark layers that every table prices alike; unused
                           when interleaved and with cuts */
    bool uneven;        /* the boundaries after equal layers may differ */
    const struct nest_interleave *interleave; /* NULL: v = 1 */
    int modes;
    enum nest_recompute mode[NEST_RECOMPUTES]; /* the recompute modes allowed, ascending */
    int zeros;                                 /* tables per place */
    struct nest_step_frame frame;              /* M, v and how the step is composed */
    int64_t memory_limit;
    const atomic_bool *cancel; /* polled every thousand stages that are looked at; may be NULL */
};

/* One stage of the answer, first stage first; layers are columns when interleaved. With cuts, the
 * stage lies between cut `first` and cut `last` + 1. */
struct nest_chosen {
    int first, last;
    enum nest_recompute recompute;
    int zero;                       /* index among the tables of the place */
    const struct nest_place *place; /* of the chain's layout */
};

/* The layers of the chunks of stage i of s, which holds columns first…last of `columns`. range:
 * [chunks]. Where the columns lie within the run of blocks is true to the plan. */
void nest_interleave_ranges(const struct nest_interleave *interleave, int columns, int first,
                            int last, struct nest_range *range);

/* Scratch that grows as needed and is reused from call to call; all zero to begin with. */
struct nest_recurrence;

struct nest_recurrence *nest_recurrence_create(void);
void nest_recurrence_free(struct nest_recurrence *scratch);

/* The least step time that is at most limit (NEST_PS_MAX: any), and its plan in chosen[stages]:
 * the first in the order of nest_plan_compare among those of least step time and fewest devices.
 * NEST_NO: none is feasible within the limit. NEST_CANCELLED, NEST_NO_MEMORY: nothing is known. */
enum nest_status nest_recurrence_solve(struct nest_recurrence *scratch,
                                       const struct nest_chain *chain, nest_ps limit, nest_ps *step,
                                       struct nest_chosen *chosen);

/* Sets computed by the last call: the cells (l, D, k, s) that were visited. */
int64_t nest_recurrence_states(const struct nest_recurrence *scratch);

#endif
