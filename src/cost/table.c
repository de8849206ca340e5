#include "cost/table.h"

#include <string.h>

#include "cost/operator.h"
#include "cost/pace.h"

size_t nest_cost_table_bytes(int layers, const struct nest_cuts *graph, int levels)
{
    const size_t n = (size_t)layers;
    const size_t cuts = graph ? (size_t)graph->count : n + 1;
    return NEST_RECOMPUTES * (cuts * sizeof(struct nest_layer_sum) + 3 * n * sizeof(int64_t)) +
           2 * (cuts - 1) * (size_t)levels * sizeof(nest_ps) + n * sizeof(int);
}

void nest_cost_table_init(int layers, const struct nest_cuts *graph, int levels, void *memory,
                          struct nest_cost_table *out)
{
    const size_t n = (size_t)layers;
    memset(memory, 0, nest_cost_table_bytes(layers, graph, levels));
    *out = (struct nest_cost_table){.layers = layers,
                                    .cuts = graph ? graph->count : layers + 1,
                                    .levels = levels,
                                    .graph = graph,
                                    .head = layers - 1,
                                    .longest_link = NEST_PS_MAX / 8 / layers};
    struct nest_layer_sum *sum = memory;
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        out->sum[r] = sum;
        sum += out->cuts;
    }
    int64_t *bytes = (int64_t *)sum;
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        out->working[r] = bytes;
        out->gathered[r] = bytes + n;
        out->entering[r] = bytes + 2 * n;
        bytes += 3 * n;
    }
    out->transfer = bytes;
    out->back = out->transfer;
    out->unlike = (int *)(bytes + 2 * (out->cuts - 1) * levels);
    for (int i = 0; i < layers; i++) {
        out->unlike[i] = i + 1;
    }
}

static struct nest_layer_sum sum_of(const struct nest_layer_cost *cost)
{
    return (struct nest_layer_sum){
        .fw = cost->fw,
        .bw = cost->bw,
        .compute = cost->compute,
        .recompute = cost->recompute,
        .tp = cost->tp,
        .cp = cost->cp,
        .ep = cost->ep,
        .zero = cost->zero,
        .weights = cost->weights,
        .gradients = cost->gradients,
        .optimizer = cost->optimizer,
        .activations = cost->activations,
        .logits = cost->logits,
        .resident = cost->resident,
        .waiting = cost->waiting,
        .dense_sync = cost->dense_sync,
        .expert_sync = cost->expert_sync,
        .optimized = cost->optimized,
    };
}

static struct nest_layer_sum plus(const struct nest_layer_sum *a, const struct nest_layer_sum *b)
{
    return (struct nest_layer_sum){
        .fw = a->fw + b->fw,
        .bw = a->bw + b->bw,
        .compute = a->compute + b->compute,
        .recompute = a->recompute + b->recompute,
        .tp = a->tp + b->tp,
        .cp = a->cp + b->cp,
        .ep = a->ep + b->ep,
        .zero = a->zero + b->zero,
        .weights = a->weights + b->weights,
        .gradients = a->gradients + b->gradients,
        .optimizer = a->optimizer + b->optimizer,
        .activations = a->activations + b->activations,
        .logits = a->logits + b->logits,
        .resident = a->resident + b->resident,
        .waiting = a->waiting + b->waiting,
        .dense_sync = a->dense_sync + b->dense_sync,
        .expert_sync = a->expert_sync + b->expert_sync,
        .optimized = a->optimized + b->optimized,
    };
}

/* The sums that a layer of the run begins or is added to: in a chain those of the layers before it,
 * so that runs in order give prefix sums; in a graph the layer's own, left at each cut that it
 * completes until fill_cuts adds them up. */
static void sum_run(const struct nest_run *run, const struct nest_layer_sum *layer,
                    struct nest_layer_sum *sum, const struct nest_cuts *graph)
{
    const int end = run->first + run->count;
    for (int i = run->first; i < end && !graph; i++) {
        sum[i + 1] = plus(&sum[i], layer);
    }
    for (int c = 1; graph && c < graph->count; c++) {
        if (graph->added[c] >= run->first && graph->added[c] < end) {
            sum[c] = *layer;
        }
    }
}

/* Every cut has the layers of its parent and one more. */
static void fill_cuts(struct nest_cost_table *out)
{
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        for (int c = 1; c < out->cuts; c++) {
            out->sum[r][c] = plus(&out->sum[r][c], &out->sum[r][out->graph->parent[c]]);
        }
    }
}

/* The transfers after layers first … end-1; the message's direction and level are open. */
static void fill_transfers(const struct nest_problem *problem, struct nest_message message,
                           int first, int end, struct nest_cost_table *out)
{
    for (int way = 0; way < (out->back == out->transfer ? 1 : 2); way++) {
        nest_ps *time = way == 0 ? out->transfer : out->back;
        message.backward = way == 1;
        for (message.level = 0; message.level < out->levels; message.level++) {
            const nest_ps taken = nest_problem_transfer(problem, &message);
            const nest_ps one = taken < out->longest_link ? taken : out->longest_link;
            for (int i = first; i < end; i++) {
                time[(size_t)i * (size_t)out->levels + (size_t)message.level] = one;
            }
        }
    }
}

/* The transfers after layers first … end-1, which are those of the layer before. */
static void repeat_transfers(int first, int end, struct nest_cost_table *out)
{
    const size_t levels = (size_t)out->levels;
    for (int i = first; i < end; i++) {
        memcpy(&out->transfer[(size_t)i * levels], &out->transfer[(size_t)(i - 1) * levels],
               levels * sizeof *out->transfer);
    }
}

/* The transfers after the layers of a run; behind its last one begins another kind. */
static void fill_boundaries(const struct nest_problem *problem,
                            const struct nest_strategy *strategy, const struct nest_run *run,
                            struct nest_cost_table *out)
{
    const struct nest_model *model = problem->model;
    const struct nest_layer_kind *kind = &model->kind[run->kind];
    const int end = run->first + run->count;
    const int64_t bytes = nest_boundary_bytes(problem, kind, strategy);
    if (run->first > 0 && out->back == out->transfer) {
        const struct nest_layer_kind *before = &model->kind[model->kind_of[run->first - 1]];
        if (nest_boundary_bytes(problem, before, strategy) == bytes) {
            repeat_transfers(run->first, end, out);
            return;
        }
    }
    struct nest_message message = {
        .block = nest_strategy_width(strategy) * strategy->dp_in,
        .bytes = (double)bytes,
        .before = kind,
        .after = kind,
    };
    fill_transfers(problem, message, run->first, end, out);
    if (end < model->layers && out->back != out->transfer) {
        message.after = &model->kind[model->kind_of[end]];
        fill_transfers(problem, message, end - 1, end, out);
    }
}

/* What crosses each cut, as one message: every tensor that is made before it and used behind. */
static void fill_crossing(const struct nest_problem *problem, const struct nest_strategy *strategy,
                          struct nest_cost_table *out)
{
    const struct nest_model *model = problem->model;
    const struct nest_crossing *crossing = model->crossing;
    for (int c = 1; c < out->cuts; c++) {
        int64_t bytes = 0;
        for (int i = crossing->from[c]; i < crossing->from[c + 1]; i++) {
            const int kind = model->kind_of[crossing->layer[i]];
            bytes += nest_boundary_bytes(problem, &model->kind[kind], strategy);
        }
        struct nest_message message = {
            .block = nest_strategy_width(strategy) * strategy->dp_in,
            .bytes = (double)bytes,
        };
        if (!out->graph && c < model->layers) {
            message.before = &model->kind[model->kind_of[c - 1]];
            message.after = &model->kind[model->kind_of[c]];
        }
        fill_transfers(problem, message, c - 1, c, out);
    }
}

/* A problem and how some of it is paced; all three are one where all devices are alike. */
struct paced {
    const struct nest_problem *problem;
    const struct nest_problem *stage; /* as the stage's own devices see it */
    const struct nest_problem *links; /* as any device of the plan sees it */
};

static void fill_run(const struct paced *paced, const struct nest_strategy *strategy,
                     const struct nest_placement *placement, const struct nest_run *run,
                     struct nest_cost_table *out)
{
    const struct nest_problem *problem = paced->problem;
    const struct nest_layer_kind *kind = &problem->model->kind[run->kind];
    struct nest_layer_work work;
    nest_pace_work(problem, placement->kinds, kind, strategy, &work);
    struct nest_layer_cost cost[NEST_RECOMPUTES];
    nest_layer_price_modes(paced->stage, &work, strategy, placement, cost);
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        const struct nest_layer_sum layer = sum_of(&cost[r]);
        sum_run(run, &layer, out->sum[r], out->graph);
        out->endless[r] = out->endless[r] || cost[r].endless;
        for (int i = run->first; i < run->first + run->count; i++) {
            out->working[r][i] = cost[r].working;
            out->gathered[r][i] = cost[r].gathered;
            out->entering[r][i] = cost[r].entering;
        }
    }
    for (int i = run->first; i < run->first + run->count; i++) {
        out->unlike[i] = run->first + run->count;
    }
    if (!problem->model->crossing) {
        fill_boundaries(paced->links, strategy, run, out);
    }
}

/* The lines that a concave time of a size is the least of, found as tangents at sizes that span
 * everything from a norm to a whole model. */
static void fit_lines(const struct nest_problem *problem, enum nest_collective kind,
                      const struct nest_comm *comm, double bytes_each, struct nest_lines *out)
{
    static const double SIZE[NEST_LINES_MAX] = {1e3, 1e6, 1e8, 1e10};
    out->count = 0;
    for (int i = 0; i < NEST_LINES_MAX; i++) {
        const double at = SIZE[i] * bytes_each;
        const double low = nest_to_seconds(nest_problem_collective(problem, kind, comm, at));
        const double high =
            nest_to_seconds(nest_problem_collective(problem, kind, comm, 1.01 * at));
        const double slope = (high - low) / (0.01 * SIZE[i]);
        const double intercept = low - slope * SIZE[i];
        out->intercept[out->count] = intercept > 0.0 ? intercept : 0.0;
        out->slope[out->count++] = slope > 0.0 ? slope : 0.0;
    }
}

/* What a script says need not be concave. Where it agrees with the default, the lines hold. */
static void fit_points(const struct nest_problem *problem, enum nest_collective kind,
                       const struct nest_comm *comm, double bytes_each, struct nest_sync_part *part)
{
    struct nest_problem plain = {.cluster = problem->cluster};
    double size = 1024.0;
    for (int i = 0; i < NEST_POINTS; i++) {
        const nest_ps time = nest_problem_collective(problem, kind, comm, size * bytes_each);
        part->overridden |= time != nest_problem_collective(&plain, kind, comm, size * bytes_each);
        part->points.seconds[i] = nest_to_seconds(time);
        size *= 4.0;
    }
}

static void add_sync(const struct nest_problem *problem, enum nest_collective kind,
                     const struct nest_comm *comm, double bytes_each, bool expert,
                     struct nest_cost_table *out)
{
    if (comm->size <= 1) {
        return;
    }
    struct nest_sync_part *part = &out->sync[out->sync_parts++];
    part->expert = expert;
    fit_lines(problem, kind, comm, bytes_each, &part->time);
    if (problem->overrides != NULL && problem->overrides->collective != NULL) {
        fit_points(problem, kind, comm, bytes_each, part);
    }
}

/* Once-per-step traffic by ZeRO stage; the per-microbatch part of stages 2 and 3 is in the layers.
 */
static void fill_sync(const struct nest_problem *problem, const struct nest_strategy *s,
                      const struct nest_placement *at, struct nest_cost_table *out)
{
    const struct nest_state_bytes bytes = nest_state_bytes(&problem->train);
    const double gradient = (double)bytes.gradient;
    const double weight = (double)bytes.gathered;
    if (s->zero == 0) {
        add_sync(problem, NEST_ALL_REDUCE, &at->dense, gradient, false, out);
        add_sync(problem, NEST_ALL_REDUCE, &at->expert, gradient, true, out);
        return;
    }
    if (s->zero == 1) {
        add_sync(problem, NEST_REDUCE_SCATTER, &at->shard, gradient, false, out);
        add_sync(problem, NEST_REDUCE_SCATTER, &at->expert, gradient, true, out);
    }
    if (s->zero <= 2) {
        add_sync(problem, NEST_ALL_GATHER, &at->shard, weight, false, out);
        add_sync(problem, NEST_ALL_GATHER, &at->expert, weight, true, out);
    }
    const double part = gradient / (double)nest_dense_shard(s);
    add_sync(problem, NEST_ALL_REDUCE, &at->replicate, part, false, out);
}

/* The head's copy of a tied embedding, for stages that hold the head without the embedding. */
static void fill_tied(const struct nest_problem *problem, const struct nest_strategy *s,
                      struct nest_cost_table *out)
{
    const struct nest_model *model = problem->model;
    if (!model->tied) {
        return;
    }
    const struct nest_model_spec *spec = model->spec;
    const struct nest_state_bytes bytes = nest_state_bytes(&problem->train);
    const int64_t whole =
        nest_padded_vocabulary(&problem->train, spec->vocab, s->tp) / s->tp * spec->hidden;
    const int64_t shard = nest_dense_shard(s);
    const int64_t part = (whole + shard - 1) / shard;
    out->tied.weights = bytes.weight * (s->zero >= 3 ? part : whole);
    out->tied.gradients = bytes.gradient * (s->zero >= 2 ? part : whole);
    out->tied.optimizer = bytes.optimizer * (s->zero >= 1 ? part : whole);
    out->tied.dense_sync = whole;
    out->tied.optimized = s->zero >= 1 ? part : whole;
    /* Two members, as far apart as the cluster is wide: what an all-reduce of two sends is one
     * exchange of the gradient. */
    const struct nest_message exchange = {
        .level = problem->cluster->levels - 1,
        .block = nest_strategy_width(s) * s->dp_in,
        .bytes = (double)(bytes.gradient * whole),
        .backward = true,
    };
    out->tied_time = nest_problem_transfer(problem, &exchange);
}

int nest_groups_in_use(const struct nest_strategy *s)
{
    const int64_t dense = nest_strategy_dp(s) * s->cp;
    int groups = 0;
    groups += s->tp > 1;
    groups += s->cp > 1;
    groups += dense > 1;
    groups += dense > 1 && nest_dense_shard(s) < dense;
    groups += s->ep > 1;
    groups += s->etp > 1;
    groups += s->ep > 1 && nest_expert_copies(s) > 1;
    return groups;
}

/* DeepSpeed reduces and gathers in buckets of 5e8 elements (reduce_bucket_size,
 * allgather_bucket_size), and prefetches 5e7 under stage 3 (stage3_prefetch_bucket_size). */
static int64_t bucket_bytes(const struct nest_train_spec *train, const struct nest_strategy *s)
{
    if (train->framework != NEST_DEEPSPEED || nest_dense_shard(s) <= 1 || s->zero == 0) {
        return 0;
    }
    const int64_t elements = s->zero == 3 ? 50000000 : 1000000000;
    return elements * nest_state_bytes(train).gathered;
}

void nest_reserve_of(const struct nest_problem *problem, const struct nest_strategy *strategy,
                     struct nest_reserve *out)
{
    const struct nest_device_spec *device = problem->cluster->device;
    *out = (struct nest_reserve){
        .base = (int64_t)(device->reserve_base +
                          nest_groups_in_use(strategy) * device->reserve_per_group),
        .pipeline = (int64_t)device->reserve_per_group,
        .buffers = bucket_bytes(&problem->train, strategy),
    };
    if (problem->overrides != NULL && problem->overrides->reserve != NULL) {
        problem->overrides->reserve(problem->overrides->context, strategy, out);
    }
}

static void fill_rules(const struct nest_problem *problem, const struct nest_strategy *strategy,
                       struct nest_cost_table *out)
{
    if (problem->overrides == NULL || problem->overrides->load == NULL) {
        return;
    }
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        for (int ends = 0; ends < 4; ends++) {
            out->load[r][ends & 1][ends >> 1] =
                nest_problem_load(problem, strategy, (enum nest_recompute)r, ends & 1, ends >> 1);
        }
    }
}

void nest_cost_table_fill(const struct nest_problem *problem, const struct nest_strategy *strategy,
                          const struct nest_placement *placement, void *memory,
                          struct nest_cost_table *out)
{
    struct nest_pace stage;
    struct nest_pace links;
    const struct paced paced = {
        .problem = problem,
        .stage = nest_pace_set(problem, strategy->selection, placement->kinds, &stage),
        .links = nest_pace_set(problem, strategy->selection, placement->reach, &links),
    };
    const struct nest_device_spec *device = paced.stage->cluster->device;
    const struct nest_model *model = problem->model;
    nest_cost_table_init(model->layers, model->cuts, problem->cluster->levels, memory, out);
    if (problem->overrides != NULL && problem->overrides->transfer != NULL) {
        out->back += (size_t)(out->cuts - 1) * (size_t)out->levels;
    }
    for (int i = 0; i < model->runs; i++) {
        fill_run(&paced, strategy, placement, &model->run[i], out);
    }
    if (model->cuts) {
        fill_cuts(out);
    }
    if (model->crossing) {
        fill_crossing(paced.links, strategy, out);
    }
    fill_sync(paced.stage, strategy, placement, out);
    fill_tied(paced.links, strategy, out);
    out->memory_short = nest_pace_shortfall(problem, placement->kinds);
    out->optimizer_seconds =
        nest_update_bytes(&problem->train) / (device->memory_bandwidth * device->memory_efficiency);
    out->dp_overlap = problem->overlap.dp;
    struct nest_reserve reserve;
    nest_reserve_of(problem, strategy, &reserve);
    out->buffers = reserve.buffers;
    out->reserve = reserve.base;
    out->reserve_pipeline = reserve.pipeline;
    fill_rules(problem, strategy, out);
}

void nest_memory_peak(struct nest_memory *sum, const struct nest_memory *other)
{
    const int64_t one = sum->working + sum->gathered + sum->logits;
    const int64_t two = other->working + other->gathered + other->logits;
    const int64_t gathered = one >= two ? sum->gathered : other->gathered;
    sum->logits = sum->logits > other->logits ? sum->logits : other->logits;
    const int64_t rest = (one >= two ? one : two) - sum->logits;
    sum->gathered = gathered < rest ? gathered : rest;
    sum->working = rest - sum->gathered;
}

/* Only a head has logits. */
static void graph_peak(const struct nest_cost_table *table, const struct nest_stage_query *query,
                       int64_t logits, struct nest_memory *out)
{
    const struct nest_cuts *graph = table->graph;
    const int first = query->first;
    const int end = query->last + 1;
    for (int i = nest_cut_next(graph, first, end, 0); i < table->layers;
         i = nest_cut_next(graph, first, end, i + 1)) {
        const struct nest_memory layer = {.logits = i == table->head ? logits : 0,
                                          .working = table->working[query->recompute][i],
                                          .gathered = table->gathered[query->recompute][i]};
        nest_memory_peak(out, &layer);
    }
}

/* The lowest layer between two cuts. */
static int first_layer(const struct nest_cost_table *table, int first, int last)
{
    return table->graph ? nest_cut_next(table->graph, first, last + 1, 0) : first;
}

struct nest_kept nest_stage_kept(const struct nest_cost_table *table, int first, int last,
                                 enum nest_recompute recompute)
{
    const struct nest_layer_sum *from = &table->sum[recompute][first];
    const struct nest_layer_sum *to = &table->sum[recompute][last + 1];
    const int64_t waiting =
        to->waiting - from->waiting + table->entering[recompute][first_layer(table, first, last)];
    return (struct nest_kept){
        .each = to->activations - from->activations + waiting,
        .once = to->resident - from->resident - waiting,
    };
}

static void stage_memory(const struct nest_cost_table *table, const struct nest_stage_query *query,
                         struct nest_memory *out)
{
    const struct nest_layer_sum *from = &table->sum[query->recompute][query->first];
    const struct nest_layer_sum *to = &table->sum[query->recompute][query->last + 1];
    out->weights = to->weights - from->weights;
    out->gradients = to->gradients - from->gradients;
    out->optimizer = to->optimizer - from->optimizer;
    const struct nest_kept kept =
        nest_stage_kept(table, query->first, query->last, query->recompute);
    out->activations = nest_bytes_times(query->in_flight, kept.each) + kept.once;
    if (nest_stage_has_tied_copy(table, query->first, query->last)) {
        out->weights += table->tied.weights;
        out->gradients += table->tied.gradients;
        out->optimizer += table->tied.optimizer;
    }
    if (table->graph) {
        graph_peak(table, query, to->logits - from->logits, out);
    }
    for (int i = query->first; i <= query->last && !table->graph; i = table->unlike[i]) {
        const struct nest_layer_sum *sum = &table->sum[query->recompute][i];
        struct nest_memory layer = {.logits = sum[1].logits - sum[0].logits,
                                    .working = table->working[query->recompute][i],
                                    .gathered = table->gathered[query->recompute][i]};
        nest_memory_peak(out, &layer);
    }
    out->buffers = table->buffers;
    out->reserve = table->reserve;
    if (query->in_level >= 0 || query->out_level >= 0) {
        out->reserve += table->reserve_pipeline;
    }
    out->total = out->weights + out->gradients + out->optimizer + out->activations + out->logits +
                 out->working + out->gathered + out->buffers + out->reserve;
}

void nest_stage_cost(const struct nest_cost_table *table, const struct nest_stage_query *query,
                     struct nest_stage_cost *out)
{
    const struct nest_layer_sum *from = &table->sum[query->recompute][query->first];
    const struct nest_layer_sum *to = &table->sum[query->recompute][query->last + 1];
    *out = (struct nest_stage_cost){
        .fw = to->fw - from->fw,
        .bw = to->bw - from->bw,
        .in = query->first > 0 ? nest_stage_transfer(table, query->first - 1, query->in_level) : 0,
        .out = nest_stage_return(table, query->last, query->out_level),
        .compute = to->compute - from->compute,
        .recompute = to->recompute - from->recompute,
        .tp = to->tp - from->tp,
        .cp = to->cp - from->cp,
        .ep = to->ep - from->ep,
        .zero = to->zero - from->zero,
    };
    const bool ends_chain = query->last == table->cuts - 2;
    out->load = nest_stage_load(table, query->recompute, query->first == 0, ends_chain, out,
                                out->fw + out->bw + out->in + out->out);
    const bool copy = nest_stage_has_tied_copy(table, query->first, query->last);
    nest_stage_update(table,
                      to->dense_sync - from->dense_sync + (copy ? table->tied.dense_sync : 0),
                      to->expert_sync - from->expert_sync,
                      to->optimized - from->optimized + (copy ? table->tied.optimized : 0), out->bw,
                      &out->sync, &out->optimizer);
    stage_memory(table, query, &out->memory);
    out->memory_short = table->memory_short;
}
