/* The stage cost: everything a stage of layers costs, in O(1) from sums over all layers before it.
 *
 * One table holds the layers of a model under one strategy at one placement. A stage lies between
 * two nested cuts (model/cuts.h). In a chain cut i is the first i layers, so a stage is layers
 * first…last, from cut first to cut last + 1; in a graph that branches first and last + 1 are cuts
 * in the numbering of nest_cuts, and the sums are over their layers. It is plain data, filled
 * by nest_cost_table_fill from the model, or by a test with any numbers. The solver, the evaluator
 * and the oracle of the tests share exactly this and nothing else. */
#ifndef NEST_COST_TABLE_H
#define NEST_COST_TABLE_H

#include <stddef.h>

#include "cost/layer.h"

/* Sums over the layers of a cut of what adds up. */
struct nest_layer_sum {
    nest_ps fw, bw, compute, recompute, tp, cp, ep, zero;
    int64_t weights, gradients, optimizer, activations, logits;
    int64_t resident, waiting; /* of a memory override; see struct nest_layer_memory */
    int64_t dense_sync, expert_sync, optimized;
};

/* A concave time of a size: the least of a few lines (one per algorithm). */
enum { NEST_LINES_MAX = 4 };
struct nest_lines {
    int count;
    double intercept[NEST_LINES_MAX]; /* seconds */
    double slope[NEST_LINES_MAX];     /* seconds per parameter */
};

/* A time of a size that a script gave: linear between sizes of 4^i * 1024 parameters, and beyond
 * the last of them. */
enum { NEST_POINTS = 16 };
struct nest_points {
    double seconds[NEST_POINTS];
};

/* One collective of the once-per-step traffic: reduce-scatter, all-gather, all-reduce… */
enum { NEST_SYNC_PARTS_MAX = 6 };
struct nest_sync_part {
    bool expert;     /* sized by expert_sync instead of dense_sync */
    bool overridden; /* points count, not lines */
    struct nest_lines time;
    struct nest_points points;
};

/* Memory of one device of a stage, bytes by term. total is the sum of all the others. */
struct nest_memory {
    int64_t weights, gradients, optimizer, activations;
    int64_t logits, working, gathered, buffers, reserve;
    int64_t total;
};

/* Of two layers (or chunks) that run one after the other, what the fuller moment holds: logits are
 * named in full wherever the head is, and working and gathered are what the peak needs beyond. */
void nest_memory_peak(struct nest_memory *sum, const struct nest_memory *other);

struct nest_cost_table {
    int layers;
    int cuts; /* layers + 1 for a chain */
    int levels;
    const struct nest_cuts *graph;               /* NULL for a chain */
    int embedding, head;                         /* layers that share weights, where tied */
    struct nest_layer_sum *sum[NEST_RECOMPUTES]; /* [cuts] each */
    int64_t *working[NEST_RECOMPUTES];           /* [layers] live while the layer runs, bytes */
    int64_t *gathered[NEST_RECOMPUTES];          /* [layers] of ZeRO 2 and 3, bytes */
    int64_t *entering[NEST_RECOMPUTES];          /* [layers] of a memory override, bytes */
    int *unlike; /* [layers] the next layer that is of another kind: what a layer needs for itself
                    alone is the same up to there */
    nest_ps *transfer; /* [(cuts - 1) * levels] activations that cross cut i + 1 over level l */
    nest_ps *back;     /* the same of their gradients, which are as large: transfer itself, unless
                          an override prices the directions apart */
    int sync_parts;
    struct nest_sync_part sync[NEST_SYNC_PARTS_MAX];
    double optimizer_seconds; /* per parameter updated */
    double dp_overlap;        /* knob, 0…1 */
    int64_t reserve;          /* bytes outside the allocator for this strategy's groups */
    int64_t reserve_pipeline; /* bytes more where a stage has a neighbour */
    int64_t buffers;          /* bytes of communication buffers */
    int64_t memory_short;     /* bytes that the devices have less than the problem's limit */
    /* What the head's copy of a tied embedding adds when first and last layer are on different
     * stages: weights, gradients, optimizer, dense_sync, optimized. All zero when untied. */
    struct nest_layer_sum tied;
    nest_ps tied_time;             /* all-reduce of the two copies' gradients, once per step */
    nest_ps longest_link;          /* a transfer of this is endless */
    bool endless[NEST_RECOMPUTES]; /* some layer is, by mode */
    /* How loads are composed, by mode, whether the stage is the first, the last. */
    struct nest_load_rule load[NEST_RECOMPUTES][2][2];
};

/* A question to the table: layers first…last (inclusive) as one stage; in a graph, the layers of
 * cut last + 1 that are not in cut first. */
struct nest_stage_query {
    int first, last;
    enum nest_recompute recompute;
    int in_level, out_level; /* -1: no neighbour on that side */
    int64_t in_flight;       /* microbatches whose activations are kept */
};

struct nest_stage_cost {
    nest_ps fw, bw;                               /* F and B: without the boundary */
    nest_ps in, out;                              /* c(l_in), c(l_out): one tensor, one way */
    nest_ps load;                                 /* tau = fw + bw + in + out */
    nest_ps sync;                                 /* exposed: max(0, S - overlap * bw) */
    nest_ps optimizer;                            /* optimizer update */
    nest_ps compute, recompute, tp, cp, ep, zero; /* parts of fw + bw */
    struct nest_memory memory;
    int64_t memory_short; /* bytes that its devices have less than the problem's limit */
};

/* Once-per-step work of a stage that holds so many parameters per device: *sync is the gradient and
 * weight traffic that the last microbatch's backward `bw` does not hide, max(0, S - overlap * bw);
 * *optimizer the update. Counts as in nest_layer_sum. */
void nest_stage_update(const struct nest_cost_table *table, int64_t dense_sync, int64_t expert_sync,
                       int64_t optimized, nest_ps bw, nest_ps *sync, nest_ps *optimizer);

/* Kinds of communicator groups that the strategy uses, those of a pipeline apart; each reserves
 * memory on every device. */
int nest_groups_in_use(const struct nest_strategy *strategy);

/* Bytes of scratch that nest_cost_table_fill needs for so many layers over `levels`; graph: NULL
 * for a chain. */
size_t nest_cost_table_bytes(int layers, const struct nest_cuts *graph, int levels);

/* Fills a table for the problem's layers. memory: nest_cost_table_bytes(…) bytes, aligned for any
 * type, owned by the caller, must outlive the table. */
void nest_cost_table_fill(const struct nest_problem *problem, const struct nest_strategy *strategy,
                          const struct nest_placement *placement, void *memory,
                          struct nest_cost_table *out);

/* Lays out the arrays in memory and zeroes them, for tests that fill the numbers themselves. */
void nest_cost_table_init(int layers, const struct nest_cuts *graph, int levels, void *memory,
                          struct nest_cost_table *out);

/* Answers one query. O(runs of equal layers in the stage) for the peak of the working set,
 * O(layers) in a graph; O(1) for the rest. */
void nest_stage_cost(const struct nest_cost_table *table, const struct nest_stage_query *query,
                     struct nest_stage_cost *out);

/* What a stage keeps in activations: `each` for every microbatch in flight and `once` beside, which
 * may be negative while their sum is not. */
struct nest_kept {
    int64_t each, once;
};
struct nest_kept nest_stage_kept(const struct nest_cost_table *table, int first, int last,
                                 enum nest_recompute recompute);

/* The load of a stage from its parts, fw, bw, recompute, in and out; plain: what it is without a
 * rule. first, last: it has no neighbour there. NEST_PS_MAX where a layer or a transfer is endless.
 */
nest_ps nest_stage_load(const struct nest_cost_table *table, enum nest_recompute recompute,
                        bool first, bool last, const struct nest_stage_cost *stage, nest_ps plain);

/* The least that layers of these times add to their stage's load, whatever its place in the
 * pipeline: no stage's load is less than the sum of this over its parts. */
nest_ps nest_load_least(const struct nest_load_rule rule[2][2], nest_ps fw, nest_ps bw,
                        nest_ps recompute);

/* True where the stage holds the head, and the embedding lies before it: it pays for a tied copy,
 * if any. */
static inline bool nest_stage_has_tied_copy(const struct nest_cost_table *table, int first,
                                            int last)
{
    if (table->graph) {
        return nest_cut_has(table->graph, first, table->embedding) &&
               !nest_cut_has(table->graph, first, table->head) &&
               nest_cut_has(table->graph, last + 1, table->head);
    }
    return first > 0 && last == table->layers - 1;
}

/* The cut of the first `layers` layers. */
static inline int nest_table_cut(const struct nest_cost_table *table, int layers)
{
    return table->graph ? table->graph->first[layers] : layers;
}

/* The least that the layers between two cuts add to their stage's load. O(1). */
static inline nest_ps nest_table_least(const struct nest_cost_table *table, int first, int last,
                                       enum nest_recompute recompute)
{
    const struct nest_layer_sum *from = &table->sum[recompute][first];
    const struct nest_layer_sum *to = &table->sum[recompute][last + 1];
    return nest_load_least(table->load[recompute], to->fw - from->fw, to->bw - from->bw,
                           to->recompute - from->recompute);
}

/* c(level) of the gradients at the boundary after layer `after`; 0 for level -1. */
static inline nest_ps nest_stage_return(const struct nest_cost_table *table, int after, int level)
{
    return level < 0 ? 0 : table->back[(size_t)after * (size_t)table->levels + (size_t)level];
}

/* c(level) of the activations at the boundary after layer `after`; 0 for level -1. */
static inline nest_ps nest_stage_transfer(const struct nest_cost_table *table, int after, int level)
{
    return level < 0 ? 0 : table->transfer[(size_t)after * (size_t)table->levels + (size_t)level];
}

#endif
