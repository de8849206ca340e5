/* Inside of the recurrence: what recurrence.c, its bounds and the walk back share. */
#ifndef NEST_SOLVE_RECURRENCE_STATE_H
#define NEST_SOLVE_RECURRENCE_STATE_H

#include "solve/recurrence.h"

/* A value of the recurrence. */
struct nest_label {
    struct nest_step step;
    int64_t used; /* the sum of tp over the stages: devices, up to a factor of the strategy */
    nest_ps span; /* (v*M - 1)*b + f: v times the pipeline if no later stage is busier */
};

/* A Pareto set in the pool. */
struct nest_set {
    uint32_t from, count;
};

/* What a stage costs whatever its neighbours and its distance from the end. */
struct nest_terms {
    nest_ps fw, bw, recompute, sync, optimizer;
    int64_t fixed;       /* bytes without activations */
    int64_t activations; /* bytes per microbatch in flight */
};

/* Least sums over the layers before a cut: of loads without transfers, of forward and of backward
 * passes. */
struct nest_least {
    nest_ps busy, fw, bw;
};

/* Cuts in front of which a stage may begin. */
struct nest_window {
    int from, to;
};

/* What the stages in front of a cell bring to every plan that it is part of. */
struct nest_outlook {
    int ahead;       /* so many stages */
    nest_ps busy;    /* the bottleneck is at least that */
    nest_ps fill;    /* their loads are */
    nest_ps late;    /* the fill and the tail of such a plan are, beyond the fill behind */
    nest_ps spare;   /* what the limit leaves for the fill of the cell */
    nest_ps forward; /* the part of these loads that does not drain tails is */
    nest_ps drain;   /* and what they take off later tails */
};

/* Equal stages are priced once: a direct-mapped memory of terms. A graph has more of them. */
enum { MEMORY_BITS = 12, GRAPH_MEMORY_BITS = 15 };
struct nest_remembered {
    const struct nest_cost_table *table;
    uint64_t stage; /* first, last and mode in one number */
    uint64_t call;  /* tables change between calls */
    struct nest_terms terms;
};

struct nest_recurrence {
    struct nest_label *pool; /* all sets, one after the other */
    size_t pool_count, pool_capacity;
    struct nest_label *fresh; /* the set under construction */
    size_t fresh_count, fresh_capacity;
    struct nest_set *set; /* [base + first layer][link]; see set_at */
    size_t set_capacity;
    size_t *base; /* [place, over all s] where a place's sets start */
    size_t base_capacity;
    size_t *places_before; /* [s] places of the stages nearer the end */
    size_t stages_capacity;
    struct nest_least *ahead; /* [layers + 1] before each cut */
    size_t ahead_capacity;
    nest_ps *largest; /* [layers + 1] the longest of the layers before each cut */
    size_t largest_capacity;
    struct nest_window *window; /* [stages + 1] of the s-th stage from the end; [0] the end */
    size_t window_capacity;
    int *run_start; /* [layers] first layer of the run of equal layers that holds i */
    size_t run_capacity;
    const struct nest_cost_table **carrier; /* [widths] a table that prices the width's transfers */
    size_t carrier_capacity;
    unsigned *crossed; /* [widths] levels that links of the width cross, one bit each */
    size_t crossed_capacity;
    const struct nest_cost_table **table; /* [tables] those of all places, each once */
    size_t tables, table_capacity;
    struct nest_remembered *memory; /* [1 << memory_bits] */
    int memory_bits;
    uint64_t call;
    struct nest_range *range; /* [chunks] of the stage being priced */
    size_t range_capacity;
    nest_ps *link; /* [layers + 1] least transfer across a cut; 0 at the ends; of a graph */
    size_t link_capacity;
    nest_ps *late; /* [stages + 1][layers + 1] see recurrence_front.c */
    size_t late_capacity;
    nest_ps *behind; /* [stages + 1][layers + 1] least fill of the cells of s and D; PS_MAX: none */
    size_t behind_capacity;
    bool looks_ahead;   /* late is filled */
    nest_ps least_link; /* no transfer of this chain is cheaper */
    nest_ps floor;      /* the bottleneck of every plan is at least that … */
    nest_ps ceiling;    /* … and of those within the limit at most that */
    bool steady;        /* no part of a stage's layers needs more memory than the stage */
    bool plain;         /* v = 1 and no rules: loads are fw + bw + in + out */
    int64_t states;
    unsigned looked; /* stages looked at since the chain's cancel was */
    bool out_of_memory, cancelled;
    const struct nest_chain *chain;
    nest_ps limit;
};

/* One choice for the stage in front of a suffix. */
struct nest_choice {
    int s; /* stages from here to the end */
    int first,
        last; /* layers; with cuts, the cut in front of the stage and that behind it less one */
    const struct nest_place *place;
    struct nest_link in;
    int mode, zero; /* indices into the chain's modes and the place's tables */
};

/* What is to be reached: the least step time, then the fewest devices. */
struct nest_target {
    nest_ps step;
    int64_t used;
};

/* Makes room for `needed` items of `size` bytes; the contents stay. On failure out_of_memory is set
 * and items returned as they were. */
void *nest_recurrence_grow(struct nest_recurrence *r, void *items, size_t *capacity, size_t needed,
                           size_t size);
#define GROW(r, items, capacity, needed)                                                           \
    ((items) = nest_recurrence_grow((r), (void *)(items), &(capacity), (size_t)(needed),           \
                                    sizeof *(items)))

/* Makes room for what is known beforehand, and lists what the places may cost. False when memory is
 * out. */
bool nest_recurrence_reserve(struct nest_recurrence *r);

/* Makes room for the cells, all empty. False when memory is out. */
bool nest_recurrence_clear(struct nest_recurrence *r);

/* What is known before anything is visited: sums, windows, floor and ceiling. False if no plan can
 * be within the limit. */
bool nest_recurrence_prepare(struct nest_recurrence *r);

/* What lies in front of a cell of s stages whose layers begin behind cut `first`. */
void nest_recurrence_look(const struct nest_recurrence *r, int s, int first,
                          struct nest_outlook *out);

/* False if no plan within the limit has the cell. */
bool nest_recurrence_open(const struct nest_recurrence *r, const struct nest_outlook *outlook);

/* True if no plan within the limit has these stages behind the others. */
bool nest_recurrence_hopeless(const struct nest_recurrence *r, const struct nest_outlook *outlook,
                              struct nest_step step);

/* Fills `late`, if it can be. False if it tells that no plan is within the limit. */
bool nest_recurrence_look_ahead(struct nest_recurrence *r);

/* What `ahead` stages in front of a cut add to fill and tail together at the least. */
nest_ps nest_recurrence_late(const struct nest_recurrence *r, int ahead, int cut);

/* The parts of the stage's cost that depend on no neighbour. Not interleaved. */
const struct nest_terms *nest_recurrence_terms(struct nest_recurrence *r,
                                               const struct nest_choice *c);

/* Whether the stage fits in memory. Not interleaved. */
bool nest_recurrence_fits(struct nest_recurrence *r, const struct nest_choice *c);

/* The stage between its two links. False if it does not fit in memory. */
bool nest_recurrence_price(struct nest_recurrence *r, const struct nest_choice *c,
                           struct nest_link out, struct nest_stage_cost *cost);

/* Adds to the fresh set every value of one choice: over the arcs to the successor's places and the
 * values there. */
void nest_recurrence_extend(struct nest_recurrence *r, const struct nest_outlook *outlook,
                            const struct nest_choice *c);

/* The best value at the head of the pipeline, all places of the first stage considered. */
struct nest_target nest_recurrence_best(const struct nest_recurrence *r);

/* Re-derives the plan that reaches the target. False, and chosen incomplete, where times are so
 * long that their sums saturate: no plan then reaches what its parts promised. */
bool nest_recurrence_walk(struct nest_recurrence *r, struct nest_target target,
                          struct nest_chosen *chosen);

/* The first cut of at least so many layers; the last one that leaves at least so many. */
static inline int cut_from(const struct nest_chain *chain, int layers)
{
    return chain->cuts ? chain->cuts->first[layers] : layers;
}

static inline int cut_leaving(const struct nest_chain *chain, int layers)
{
    return chain->cuts ? chain->cuts->first[chain->cuts->layers - layers + 1] - 1
                       : chain->layers - layers;
}

/* Whether there is a stage between cut `first` and cut `last` + 1. */
static inline bool is_stage(const struct nest_chain *chain, int first, int last)
{
    return !chain->cuts || nest_cut_within(chain->cuts, first, last + 1);
}

/* Where nothing is: no neighbour. */
static const struct nest_link open_end = {-1, 0};

/* True once the search is to stop: asked for at every stage that is looked at, and looks itself
 * every thousandth time. */
static inline bool is_stopped(struct nest_recurrence *r)
{
    enum { PATIENCE = 1024 };
    if (++r->looked >= PATIENCE) {
        r->looked = 0;
        r->cancelled = r->cancelled || (r->chain->cancel && atomic_load(r->chain->cancel));
    }
    return r->cancelled || r->out_of_memory;
}

/* The least fill of s stages behind a cut. */
static inline nest_ps *behind_at(const struct nest_recurrence *r, int s, int first)
{
    return &r->behind[(size_t)s * ((size_t)r->chain->layers + 1) + (size_t)first];
}

static inline struct nest_set *set_at(const struct nest_recurrence *r, int s, int place, int first,
                                      int link)
{
    const int links = r->chain->layout->place[s][place].links;
    return &r->set[r->base[r->places_before[s] + (size_t)place] + (size_t)first * (size_t)links +
                   (size_t)link];
}

/* c(l) of the activation after layer `after`: the narrower end divides the tensor. */
static inline nest_ps transfer(const struct nest_recurrence *r, int after, struct nest_link link)
{
    return link.level < 0 ? 0 : nest_stage_transfer(r->carrier[link.width], after, link.level);
}

/* The same of its gradient. */
static inline nest_ps gradient(const struct nest_recurrence *r, int after, struct nest_link link)
{
    return link.level < 0 ? 0 : nest_stage_return(r->carrier[link.width], after, link.level);
}

/* False where an interleaved chain fixes the ends of the pipeline elsewhere. */
static inline bool is_open(const struct nest_chain *chain, int s, int place)
{
    const struct nest_interleave *in = chain->interleave;
    return !in || ((s > 1 || place == in->last_place) &&
                   (s < chain->layout->stages || in->wrap_level_of[place] == in->wrap_level));
}

#endif
