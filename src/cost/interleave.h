/* The stage cost of interleaved 1F1B: a stage that holds v chunks of the model.
 *
 * Chunk c of s*v, in pipeline order, lives on stage c mod s. Every boundary is crossed v times per
 * microbatch; the wrap-around link, from the last stage back to the first, v - 1 times. */
#ifndef NEST_COST_INTERLEAVE_H
#define NEST_COST_INTERLEAVE_H

#include "cost/table.h"

struct nest_chunks_query {
    int chunks;                      /* v > 1 */
    const struct nest_range *layers; /* [chunks] inclusive, in pipeline order */
    enum nest_recompute recompute;
    int stage, stages; /* i and s */
    int in_level;      /* link to stage i-1; for stage 0 the wrap-around link */
    int out_level;     /* link to stage i+1; for the last stage the wrap-around link */
    int64_t microbatches;
    double pp_overlap; /* knob: how much of the transfers hides under the other chunks' compute */
};

/* Chunks whose activations stage i keeps: min(2(s-i-1) + (v-1)g + 1, M v) with group size g = s
 * (Megatron-LM's interleaved schedule, framework rules P5 and following). */
int64_t nest_chunks_in_flight(int stage, int stages, int64_t chunks, int64_t microbatches);

/* in and out of the answer are totals per microbatch, before hiding; load contains what is exposed.
 * Activations are in-flight chunks times the stage's largest chunk. Pure. */
void nest_chunks_cost(const struct nest_cost_table *table, const struct nest_chunks_query *query,
                      struct nest_stage_cost *out);

#endif
