#include "plan/plan.h"

#include <string.h>

#include "cost/interleave.h"
#include "plan/step.h"

/* One cost table for each way in which stages differ: placement, ZeRO and tp. */
struct priced {
    struct nest_strategy strategy;
    struct nest_placement placement;
    struct nest_cost_table table;
};

struct evaluation {
    const struct nest_problem *problem;
    const struct nest_plan *plan;
    struct nest_arena *arena; /* of the evaluation alone */
    struct priced *tables;    /* [stages] at most */
    int count;
    const struct priced **of; /* [stages] the table of each stage */
    int *cut;                 /* [stages] of a graph: the cut behind each stage */
};

static struct nest_strategy stage_strategy(const struct nest_plan *plan, int i)
{
    struct nest_strategy strategy = plan->strategy;
    strategy.zero = plan->stage[i].zero;
    strategy.tp = plan->stage[i].tp;
    return strategy;
}

static const struct priced *find_table(struct evaluation *e, int i)
{
    struct priced candidate = {.strategy = stage_strategy(e->plan, i)};
    nest_placement_at(e->problem->cluster, &candidate.strategy, e->plan->stage[i].first_device,
                      &candidate.placement);
    for (int t = 0; t < e->count; t++) {
        const struct priced *known = &e->tables[t];
        if (known->strategy.tp == candidate.strategy.tp &&
            known->strategy.zero == candidate.strategy.zero &&
            nest_placement_equal(&known->placement, &candidate.placement)) {
            return known;
        }
    }
    struct priced *added = &e->tables[e->count];
    *added = candidate;
    const size_t bytes = nest_cost_table_bytes(e->problem->model->layers, e->problem->model->cuts,
                                               e->problem->cluster->levels);
    void *memory = nest_arena_alloc(e->arena, 1, bytes);
    if (!memory) {
        return NULL;
    }
    nest_cost_table_fill(e->problem, &added->strategy, &added->placement, memory, &added->table);
    e->count++;
    return added;
}

static int worst_meet(const struct nest_problem *problem, const struct nest_plan *plan, int i,
                      int j)
{
    const struct nest_strategy a = stage_strategy(plan, i);
    const struct nest_strategy b = stage_strategy(plan, j);
    const int64_t x = plan->stage[i].first_device;
    const int64_t y = plan->stage[j].first_device;
    if (a.tp == b.tp) {
        return nest_link_level(problem->cluster, &a, x, y);
    }
    const struct nest_cluster *cluster = nest_cluster_selected(problem->cluster, a.selection);
    int worst = 0;
    for (int64_t o = 0; o < a.dp_out; o++) {
        for (int64_t r = 0; r < a.dp_in; r++) {
            const int64_t low = o * a.span + x + r * nest_strategy_width(&a);
            const int64_t high = o * a.span + y + (r + 1) * nest_strategy_width(&b) - 1;
            const int level = nest_cluster_meet(cluster, low, high);
            worst = level > worst ? level : worst;
        }
    }
    return worst;
}

int nest_plan_link(const struct nest_problem *problem, const struct nest_plan *plan, int i)
{
    const int next = (i + 1) % plan->stages;
    if (plan->stages == 1 || (next == 0 && plan->strategy.virtual_stages == 1)) {
        return -1;
    }
    return worst_meet(problem, plan, i, next);
}

/* A boundary tensor is divided by the smaller tp of its two ends: the table of that end prices it.
 */
static const struct nest_cost_table *boundary_table(const struct evaluation *e, int i,
                                                    int neighbour)
{
    const struct priced *own = e->of[i];
    const struct priced *other = e->of[neighbour];
    return &(other->strategy.tp < own->strategy.tp ? other : own)->table;
}

static void price_plain(const struct evaluation *e, int i, struct nest_stage_cost *out)
{
    const struct nest_plan *plan = e->plan;
    const struct nest_plan_stage *stage = &plan->stage[i];
    const int64_t from_end = plan->stages - i;
    const bool graph = e->problem->model->cuts != NULL;
    const struct nest_stage_query query = {
        .first = graph ? (i > 0 ? e->cut[i - 1] : 0) : (int)stage->layers[0].low,
        .last = graph ? e->cut[i] - 1 : (int)stage->layers[0].high,
        .recompute = stage->recompute,
        .in_level = stage->in_level,
        .out_level = stage->out_level,
        .in_flight = from_end < plan->microbatches ? from_end : plan->microbatches,
    };
    nest_stage_cost(&e->of[i]->table, &query, out);
    if (i > 0) {
        out->in =
            nest_stage_transfer(boundary_table(e, i, i - 1), query.first - 1, stage->in_level);
    }
    if (i + 1 < plan->stages) {
        out->out = nest_stage_return(boundary_table(e, i, i + 1), query.last, stage->out_level);
    }
    out->load = nest_stage_load(&e->of[i]->table, stage->recompute, i == 0, i + 1 == plan->stages,
                                out, out->fw + out->bw + out->in + out->out);
}

static void price_chunks(const struct evaluation *e, int i, struct nest_stage_cost *out)
{
    const struct nest_plan *plan = e->plan;
    const struct nest_plan_stage *stage = &plan->stage[i];
    const int before = (i + plan->stages - 1) % plan->stages;
    const struct nest_chunks_query query = {
        .chunks = stage->ranges,
        .layers = stage->layers,
        .recompute = stage->recompute,
        .stage = i,
        .stages = plan->stages,
        .in_level = nest_plan_link(e->problem, plan, before),
        .out_level = nest_plan_link(e->problem, plan, i),
        .microbatches = plan->microbatches,
        .pp_overlap = e->problem->overlap.pp,
    };
    nest_chunks_cost(&e->of[i]->table, &query, out);
}

static bool price_stages(struct evaluation *e, struct nest_prediction *out)
{
    const int stages = e->plan->stages;
    e->tables = NEST_NEW(e->arena, struct priced, stages);
    e->of = NEST_NEW(e->arena, const struct priced *, stages);
    e->cut = NEST_NEW(e->arena, int, stages);
    if (!e->tables || !e->of || !e->cut) {
        return false;
    }
    if (e->problem->model->cuts && e->plan->strategy.virtual_stages == 1) {
        (void)nest_plan_cuts(e->problem->model->cuts, e->plan, e->cut);
    }
    for (int i = 0; i < stages; i++) {
        e->of[i] = find_table(e, i);
        if (!e->of[i]) {
            return false;
        }
    }
    for (int i = 0; i < stages; i++) {
        if (e->plan->strategy.virtual_stages > 1) {
            price_chunks(e, i, &out->stage[i]);
        } else {
            price_plain(e, i, &out->stage[i]);
        }
    }
    return true;
}

/* The stage whose update ends last decides how the tail splits into traffic and optimizer. */
static nest_ps tail_optimizer(const struct nest_prediction *p, const struct nest_step_frame *frame,
                              nest_ps tail)
{
    nest_ps drained = 0;
    for (int i = 0; i < p->stages; i++) {
        const struct nest_stage_cost *stage = &p->stage[i];
        const nest_ps ending = nest_step_tail(&frame->rule, stage, i == 0) - drained;
        if (ending == tail) {
            const struct nest_step_rule *rule = &frame->rule;
            const nest_ps update =
                rule->given ? nest_step_weigh(rule->update * rule->tail, stage->optimizer)
                            : stage->optimizer;
            return update < p->tail ? update : p->tail;
        }
        drained += nest_step_drain(stage, frame->virtual_stages);
    }
    return 0;
}

/* A composition of an override may count less than M loads, or less than a stage's parts: what is
 * named then shares what there is. */
static double counted(const struct nest_prediction *p, const struct nest_stage_cost *stage,
                      int64_t microbatches)
{
    const nest_ps parts = stage->fw + stage->bw > stage->load ? stage->fw + stage->bw : stage->load;
    nest_ps all;
    return __builtin_mul_overflow(microbatches, parts, &all) || p->pipeline < all
               ? (double)p->pipeline / (double)parts
               : (double)microbatches;
}

/* M times a part, exactly where all M count. */
static nest_ps share_of(double m, nest_ps part)
{
    nest_ps all;
    return m == (double)(int64_t)m && !__builtin_mul_overflow((int64_t)m, part, &all)
               ? all
               : nest_step_weigh(m, part);
}

static void break_down(const struct nest_step_frame *frame, nest_ps tail, struct nest_prediction *p)
{
    const struct nest_stage_cost *stage = &p->stage[p->bottleneck];
    const double m = counted(p, stage, frame->microbatches);
    const nest_ps optimizer = tail_optimizer(p, frame, tail);
    const nest_ps links = stage->load - stage->fw - stage->bw;
    struct nest_breakdown *b = &p->breakdown;
    *b = (struct nest_breakdown){
        .compute = share_of(m, stage->compute),
        .recompute = share_of(m, stage->recompute),
        .tp = share_of(m, stage->tp),
        .cp = share_of(m, stage->cp),
        .ep = share_of(m, stage->ep),
        .pp = share_of(m, links > 0 ? links : 0),
        .dp = share_of(m, stage->zero) + p->step - p->pipeline - optimizer,
        .optimizer = optimizer,
    };
    b->bubble =
        p->step - b->compute - b->recompute - b->tp - b->cp - b->ep - b->pp - b->dp - b->optimizer;
}

static void find_extremes(struct nest_prediction *p)
{
    for (int i = 1; i < p->stages; i++) {
        if (p->stage[i].load > p->stage[p->bottleneck].load) {
            p->bottleneck = i;
        }
        const struct nest_stage_cost *worst = &p->stage[p->worst_stage];
        if (p->stage[i].memory.total + p->stage[i].memory_short >
            worst->memory.total + worst->memory_short) {
            p->worst_stage = i;
        }
    }
    p->feasible = p->stage[p->worst_stage].memory.total <= nest_stage_limit(p, p->worst_stage);
}

/* Calls visit for the devices first … end-1 of every copy of stage i, numbered as selected. */
static void each_block(const struct nest_plan *plan, int i,
                       void (*visit)(void *context, int64_t first, int64_t end), void *context)
{
    const struct nest_strategy s = stage_strategy(plan, i);
    for (int64_t o = 0; o < s.dp_out; o++) {
        const int64_t first = o * s.span + plan->stage[i].first_device;
        visit(context, first, first + nest_strategy_width(&s) * s.dp_in);
    }
}

struct census {
    const struct nest_cluster *cluster; /* as selected */
    unsigned kinds;
    int64_t count[NEST_KINDS_MAX];
};

static void take_census(void *context, int64_t first, int64_t end)
{
    struct census *census = context;
    census->kinds |= nest_cluster_kinds(census->cluster, first, end);
    nest_cluster_tally(census->cluster, first, end, census->count);
}

unsigned nest_stage_kinds(const struct nest_problem *problem, const struct nest_plan *plan, int i)
{
    struct census census = {.cluster =
                                nest_cluster_selected(problem->cluster, plan->strategy.selection)};
    if (problem->cluster->kinds > 1) {
        each_block(plan, i, take_census, &census);
    }
    return census.kinds;
}

/* Peak FLOP/s of one device; of a mixed cluster the mean of those used. */
static double mean_peak(const struct nest_problem *problem, const struct nest_plan *plan)
{
    const struct nest_cluster *cluster = problem->cluster;
    const enum nest_precision precision = problem->train.precision;
    if (cluster->kinds <= 1) {
        return cluster->device->peak[precision];
    }
    struct census census = {.cluster = nest_cluster_selected(cluster, plan->strategy.selection)};
    double sum = 0;
    for (int i = 0; i < plan->stages; i++) {
        each_block(plan, i, take_census, &census);
    }
    for (int k = 0; k < cluster->kinds; k++) {
        sum += (double)census.count[k] * cluster->kind[k].device->peak[precision];
    }
    return sum / (double)plan->devices_used;
}

static void rate(const struct nest_problem *problem, const struct nest_plan *plan,
                 struct nest_prediction *p)
{
    const double seconds = nest_to_seconds(p->step);
    const double batch = (double)problem->train.global_batch;
    if (seconds <= 0.0) {
        return;
    }
    p->tokens_per_s = batch * (double)problem->model->spec->seq / seconds;
    p->tflops_per_device =
        problem->model->flops_per_sequence * batch / seconds / (double)plan->devices_used / 1e12;
    const double peak = mean_peak(problem, plan);
    p->mfu = peak > 0.0 ? p->tflops_per_device * 1e12 / peak : 0.0;
}

/* Fills out, whose stages have their place. */
static bool predict(struct evaluation *e, struct nest_prediction *out)
{
    const struct nest_problem *problem = e->problem;
    const struct nest_plan *plan = e->plan;
    if (!price_stages(e, out)) {
        return false;
    }
    find_extremes(out);
    const struct nest_step_frame frame = nest_step_frame_of(problem, &plan->strategy, plan->stages);
    struct nest_step step = NEST_STEP_EMPTY;
    for (int i = plan->stages - 1; i >= 0; i--) {
        const nest_ps tail = nest_step_tail(&frame.rule, &out->stage[i], i == 0);
        step = nest_step_prepend(&out->stage[i], tail, step, plan->strategy.virtual_stages);
    }
    const nest_ps tied = plan->stages > 1 ? e->of[0]->table.tied_time : 0;
    out->pipeline = nest_step_pipeline(&frame, step);
    out->tail = nest_step_ending(&frame, step);
    out->step = nest_step_time(&frame, step, tied);
    out->feasible = out->feasible && !frame.rule.refused;
    break_down(&frame, step.tail, out);
    rate(problem, plan, out);
    return true;
}

bool nest_plan_evaluate(const struct nest_problem *problem, const struct nest_plan *plan,
                        struct nest_arena *arena, struct nest_prediction *out)
{
    struct nest_arena scratch = NEST_ARENA_INIT;
    struct evaluation e = {.problem = problem, .plan = plan, .arena = &scratch};
    *out = (struct nest_prediction){.stages = plan->stages, .memory_limit = problem->memory_limit};
    out->stage = NEST_NEW(arena, struct nest_stage_cost, plan->stages);
    const bool predicted = out->stage && predict(&e, out);
    nest_arena_free(&scratch);
    return predicted;
}
