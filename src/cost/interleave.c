#include "cost/interleave.h"

int64_t nest_chunks_in_flight(int stage, int stages, int64_t chunks, int64_t microbatches)
{
    const int64_t group = stages;
    const int64_t warm_up = 2 * (int64_t)(stages - stage - 1) + (chunks - 1) * group + 1;
    const int64_t all = microbatches * chunks;
    return warm_up < all ? warm_up : all;
}

static void add_times(struct nest_stage_cost *sum, const struct nest_stage_cost *chunk)
{
    sum->fw += chunk->fw;
    sum->bw += chunk->bw;
    sum->in += chunk->in;
    sum->out += chunk->out;
    sum->compute += chunk->compute;
    sum->recompute += chunk->recompute;
    sum->tp += chunk->tp;
    sum->cp += chunk->cp;
    sum->ep += chunk->ep;
    sum->zero += chunk->zero;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_memory(struct nest_memory *sum, const struct nest_memory *chunk)
{
    sum->weights += chunk->weights;
    sum->gradients += chunk->gradients;
    sum->optimizer += chunk->optimizer;
    nest_memory_peak(sum, chunk);
    sum->buffers = chunk->buffers;
    sum->reserve = chunk->reserve;
}

static int64_t memory_total(const struct nest_memory *m)
{
    return m->weights + m->gradients + m->optimizer + m->activations + m->logits + m->working +
           m->gathered + m->buffers + m->reserve;
}

/* In flight the largest chunk counts; what is resident is so for all of them. */
static int64_t chunks_kept(const struct nest_cost_table *table,
                           const struct nest_chunks_query *query)
{
    struct nest_kept most = {0, 0};
    int64_t resident = 0;
    for (int c = 0; c < query->chunks; c++) {
        const int first = (int)query->layers[c].low;
        const int last = (int)query->layers[c].high;
        const struct nest_kept kept = nest_stage_kept(table, first, last, query->recompute);
        const struct nest_layer_sum *sum = table->sum[query->recompute];
        resident += sum[last + 1].resident - sum[first].resident;
        most.once = kept.each > most.each || c == 0
                        ? kept.once - (sum[last + 1].resident - sum[first].resident)
                        : most.once;
        most.each = larger(most.each, kept.each);
    }
    const int64_t flights =
        nest_chunks_in_flight(query->stage, query->stages, query->chunks, query->microbatches);
    return nest_bytes_times(flights, most.each) + most.once + resident;
}

static nest_ps hidden(const struct nest_stage_cost *stage, double knob)
{
    const nest_ps transfers = stage->in + stage->out;
    const nest_ps busy = stage->fw + stage->bw;
    const nest_ps most = transfers < busy ? transfers : busy;
    return (nest_ps)(knob * (double)most);
}

static struct nest_layer_sum state_counts(const struct nest_cost_table *table,
                                          const struct nest_chunks_query *query)
{
    struct nest_layer_sum counts = {0};
    const struct nest_layer_sum *sum = table->sum[query->recompute];
    for (int c = 0; c < query->chunks; c++) {
        const struct nest_layer_sum *from = &sum[nest_table_cut(table, (int)query->layers[c].low)];
        const struct nest_layer_sum *to =
            &sum[nest_table_cut(table, (int)query->layers[c].high + 1)];
        counts.dense_sync += to->dense_sync - from->dense_sync;
        counts.expert_sync += to->expert_sync - from->expert_sync;
        counts.optimized += to->optimized - from->optimized;
    }
    if (query->layers[query->chunks - 1].high == table->layers - 1) {
        counts.dense_sync += table->tied.dense_sync;
        counts.optimized += table->tied.optimized;
    }
    return counts;
}

void nest_chunks_cost(const struct nest_cost_table *table, const struct nest_chunks_query *query,
                      struct nest_stage_cost *out)
{
    bool endless = false;
    *out = (struct nest_stage_cost){.memory_short = table->memory_short};
    for (int c = 0; c < query->chunks; c++) {
        const bool model_first = query->stage == 0 && c == 0;
        const bool model_last = query->stage == query->stages - 1 && c == query->chunks - 1;
        const struct nest_stage_query part = {
            .first = nest_table_cut(table, (int)query->layers[c].low),
            .last = nest_table_cut(table, (int)query->layers[c].high + 1) - 1,
            .recompute = query->recompute,
            .in_level = model_first ? -1 : query->in_level,
            .out_level = model_last ? -1 : query->out_level,
            .in_flight = 1,
        };
        struct nest_stage_cost chunk;
        nest_stage_cost(table, &part, &chunk);
        add_times(out, &chunk);
        add_memory(&out->memory, &chunk.memory);
        endless = endless || chunk.load == NEST_PS_MAX;
    }
    out->memory.activations = chunks_kept(table, query);
    out->memory.total = memory_total(&out->memory);
    out->load = endless ? NEST_PS_MAX
                        : nest_stage_load(table, query->recompute, query->stage == 0,
                                          query->stage == query->stages - 1, out,
                                          out->fw + out->bw + out->in + out->out -
                                              hidden(out, query->pp_overlap));
    const struct nest_layer_sum counts = state_counts(table, query);
    nest_stage_update(table, counts.dense_sync, counts.expert_sync, counts.optimized, out->bw,
                      &out->sync, &out->optimizer);
}
