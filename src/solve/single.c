#include "solve/single.h"

#include <string.h>

/* A cost table and what it was made for. */
struct priced {
    struct nest_placement placement;
    uint64_t mark; /* of the placement */
    struct nest_cost_table table;
    int width, zero;
    struct priced *next;
};

/* One strategy at work. */
struct task {
    struct nest_single *single;
    const struct nest_family *family;
    const struct nest_bound *bound;
    struct nest_strategy strategy;
    int stages;
    struct nest_step_frame frame;
    int zeros;
    int zero[NEST_ZEROS];
    struct priced *tables; /* of the current span */
    /* The packed span, where nothing but the order of the stages' gaps could be better elsewhere.
     */
    bool
        ideal; /* it has one kind of placement, and no link that another level would make cheaper */
    struct nest_placement ideal_placement;
    nest_ps limit;
    bool found; /* plan and step are the best so far */
    struct nest_plan plan;
    nest_ps step;
};

enum nest_status nest_single_init(struct nest_single *single, const struct nest_bounds *bounds)
{
    *single = (struct nest_single){.bounds = bounds, .space = bounds->space};
    single->recurrence = nest_recurrence_create();
    single->places = nest_places_create(bounds->space->problem->cluster, bounds->space->families);
    if (single->recurrence && single->places) {
        return NEST_OK;
    }
    nest_single_free(single);
    return NEST_NO_MEMORY;
}

void nest_single_free(struct nest_single *single)
{
    nest_recurrence_free(single->recurrence);
    nest_places_free(single->places);
    nest_arena_free(&single->arena);
}

/* Nothing else is tried. */
static bool is_final(enum nest_status status)
{
    return status == NEST_NO_MEMORY || status == NEST_CANCELLED;
}

static void list_zeros(struct task *task)
{
    const struct nest_problem *problem = task->single->space->problem;
    if (!problem->allow_stage_zero) {
        task->zero[task->zeros++] = task->strategy.zero;
        return;
    }
    for (int zero = 0; zero < NEST_ZEROS; zero++) {
        if (nest_pin_allows(&problem->pins.pin[NEST_PIN_ZERO], zero)) {
            task->zero[task->zeros++] = zero;
        }
    }
}

/* The entry for a stage at x; places that price every communicator alike share one. Its table is
 * filled later, if the span is worth it. */
static struct priced *entry_for(struct task *task, const struct nest_place *place, int zero)
{
    struct nest_strategy strategy = task->strategy;
    strategy.tp = task->family->tp[place->width];
    strategy.zero = task->zero[zero];
    uint64_t mark;
    const struct nest_placement *placement =
        nest_places_at(task->single->places, &strategy, place->x, &mark);
    for (struct priced *p = task->tables; p; p = p->next) {
        if (p->width == place->width && p->zero == zero && p->mark == mark &&
            nest_placement_equal(&p->placement, placement)) {
            return p;
        }
    }
    struct priced *added = NEST_NEW(&task->single->arena, struct priced, 1);
    if (added) {
        *added = (struct priced){
            .placement = *placement, .mark = mark, .width = place->width, .zero = zero};
        added->next = task->tables;
        task->tables = added;
    }
    return added;
}

static bool fill_tables(struct task *task)
{
    const struct nest_problem *problem = task->single->space->problem;
    const size_t bytes = nest_cost_table_bytes(problem->model->layers, problem->model->cuts,
                                               problem->cluster->levels);
    for (struct priced *p = task->tables; p; p = p->next) {
        struct nest_strategy strategy = task->strategy;
        strategy.tp = task->family->tp[p->width];
        strategy.zero = task->zero[p->zero];
        void *memory = nest_arena_alloc(&task->single->arena, 1, bytes);
        if (!memory) {
            return false;
        }
        nest_cost_table_fill(problem, &strategy, &p->placement, memory, &p->table);
    }
    return true;
}

/* False if no plan with these placements can be within the limit: a look at one layer of the bulk
 * is cheaper than a table. */
static bool is_promising(const struct task *task)
{
    enum { PLACES_MAX = 8 };
    struct nest_placement placement[PLACES_MAX];
    struct nest_room room;
    int places = 0;
    if (!task->bound || task->limit == NEST_PS_MAX || task->family->widths > 1 || task->zeros > 1) {
        return true;
    }
    for (const struct priced *p = task->tables; p; p = p->next) {
        if (places == PLACES_MAX) {
            return true;
        }
        placement[places++] = p->placement;
    }
    const struct nest_grid grid = {nest_strategy_dp(&task->strategy), task->strategy.virtual_stages,
                                   task->stages};
    struct nest_strategy strategy = task->strategy;
    strategy.zero = task->zero[0];
    nest_room_measure_placed(task->single->bounds, task->family, task->bound, &strategy, places,
                             placement, &room);
    return nest_room_sharp(task->single->bounds, &room, &grid, task->limit) <= task->limit;
}

static bool attach_tables(struct task *task, struct nest_layout *layout)
{
    for (int s = 1; s <= layout->stages; s++) {
        for (int p = 0; p < layout->count[s]; p++) {
            for (int z = 0; z < task->zeros; z++) {
                struct nest_place *place = &layout->place[s][p];
                struct priced *entry = entry_for(task, place, z);
                if (!entry) {
                    return false;
                }
                place->table[z] = &entry->table;
            }
        }
    }
    return true;
}

/* The layers between two cuts of a graph, as ranges. */
static bool make_parts(struct task *task, const struct nest_cuts *cuts,
                       const struct nest_chosen *chosen, struct nest_plan_stage *stage)
{
    stage->ranges = 0;
    stage->layers = NEST_NEW(&task->single->arena, struct nest_range, cuts->layers);
    const int end = chosen->last + 1;
    for (int i = nest_cut_next(cuts, chosen->first, end, 0); stage->layers && i < cuts->layers;
         i = nest_cut_next(cuts, chosen->first, end, i + 1)) {
        if (stage->ranges > 0 && stage->layers[stage->ranges - 1].high == i - 1) {
            stage->layers[stage->ranges - 1].high = i;
        } else {
            stage->layers[stage->ranges++] = (struct nest_range){i, i};
        }
    }
    return stage->layers != NULL;
}

/* Gives the stages of a plan their ranges of layers: one each, or one per chunk or branch. */
static bool make_ranges(struct task *task, const struct nest_chain *chain,
                        const struct nest_chosen *chosen, struct nest_plan_stage *stage)
{
    const struct nest_interleave *interleave = chain->interleave;
    if (chain->cuts) {
        return make_parts(task, chain->cuts, chosen, stage);
    }
    stage->ranges = interleave ? interleave->chunks : 1;
    stage->layers = NEST_NEW(&task->single->arena, struct nest_range, stage->ranges);
    if (!stage->layers) {
        return false;
    }
    if (interleave) {
        nest_interleave_ranges(interleave, chain->layers, chosen->first, chosen->last,
                               stage->layers);
    } else {
        *stage->layers = (struct nest_range){chosen->first, chosen->last};
    }
    return true;
}

static bool make_plan(struct task *task, const struct nest_chain *chain,
                      const struct nest_chosen *chosen, struct nest_plan *plan)
{
    *plan = (struct nest_plan){.strategy = task->strategy, .stages = task->stages};
    plan->stage = NEST_NEW(&task->single->arena, struct nest_plan_stage, task->stages);
    if (!plan->stage) {
        return false;
    }
    for (int i = 0; i < task->stages; i++) {
        struct nest_plan_stage *stage = &plan->stage[i];
        if (!make_ranges(task, chain, &chosen[i], stage)) {
            return false;
        }
        stage->recompute = chosen[i].recompute;
        stage->zero = task->zero[chosen[i].zero];
        stage->tp = task->family->tp[chosen[i].place->width];
        stage->first_device = chosen[i].place->x;
    }
    plan->strategy.tp = plan->stage[0].tp;
    plan->strategy.zero = plan->stage[0].zero;
    nest_plan_settle(task->single->space->problem, plan);
    return true;
}

/* Solves one chain and keeps its plan if it is the best so far. */
static enum nest_status solve_chain(struct task *task, const struct nest_chain *chain)
{
    struct nest_single *single = task->single;
    struct nest_plan plan;
    nest_ps step;
    struct nest_chosen *chosen = NEST_NEW(&single->arena, struct nest_chosen, task->stages);
    if (!chosen) {
        return NEST_NO_MEMORY;
    }
    const enum nest_status status =
        nest_recurrence_solve(single->recurrence, chain, task->limit, &step, chosen);
    single->states += nest_recurrence_states(single->recurrence);
    if (status != NEST_OK) {
        return status;
    }
    if (!make_plan(task, chain, chosen, &plan)) {
        return NEST_NO_MEMORY;
    }
    if (!task->found || nest_plan_compare(&plan, step, &task->plan, task->step) < 0) {
        task->plan = plan;
        task->step = step;
        task->limit = step;
        task->found = true;
    }
    return NEST_OK;
}

/* Every wrap-around link: from each place of the last stage, each level to the first stage. */
static enum nest_status solve_wraps(struct task *task, struct nest_chain *chain,
                                    struct nest_interleave *interleave)
{
    const struct nest_cluster *cluster = task->single->space->problem->cluster;
    const struct nest_layout *layout = chain->layout;
    const int firsts = layout->count[task->stages];
    int *level = NEST_NEW(&task->single->arena, int, firsts);
    enum nest_status status = level ? NEST_OK : NEST_NO_MEMORY;
    interleave->wrap_level_of = level;
    for (int q = 0; q < layout->count[1] && !is_final(status); q++) {
        interleave->last_place = q;
        unsigned seen = 0;
        for (int p = 0; p < firsts; p++) {
            level[p] = nest_link_level(cluster, &task->strategy, layout->place[1][q].x,
                                       layout->place[task->stages][p].x);
            seen |= 1u << level[p];
        }
        for (int l = 0; l < cluster->levels && !is_final(status); l++) {
            interleave->wrap_level = l;
            if (seen & (1u << l)) {
                status = solve_chain(task, chain);
            }
        }
    }
    return status;
}

/* Every way to deal the blocks out to v chunks per stage. */
static enum nest_status solve_interleaved(struct task *task, struct nest_chain chain)
{
    const struct nest_space *space = task->single->space;
    enum nest_status status = NEST_OK;
    chain.cuts = NULL;
    for (int shorts = 0; shorts < 4 && !is_final(status); shorts++) {
        struct nest_interleave interleave = {
            .chunks = (int)task->strategy.virtual_stages,
            .lead = space->lead,
            .trail = space->trail,
            .short_first = shorts & 1,
            .short_last = shorts & 2,
            .pp_overlap = space->problem->overlap.pp,
        };
        chain.interleave = &interleave;
        chain.layers = nest_space_deal(space, task->stages, interleave.chunks,
                                       interleave.short_first, interleave.short_last);
        if (chain.layers > 0) {
            status = solve_wraps(task, &chain, &interleave);
        }
    }
    return status;
}

/* True if every link is as cheap as one across any other level. */
static bool has_least_links(const struct nest_layout *layout)
{
    const struct nest_cost_table *table = layout->place[1][0].table[0];
    for (int s = 1; s < layout->stages; s++) {
        const int level = layout->place[s][0].link[0].level;
        for (int i = 0; i + 2 < table->cuts; i++) {
            const nest_ps there = nest_stage_transfer(table, i, level);
            const nest_ps back = nest_stage_return(table, i, level);
            for (int l = 0; l < table->levels; l++) {
                if (nest_stage_transfer(table, i, l) < there ||
                    nest_stage_return(table, i, l) < back) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Packed and with one kind of placement: then a longer span in which stages are placed alike can
 * only make links dearer. */
static void judge_packed(struct task *task, const struct nest_layout *layout)
{
    if (task->family->widths > 1 || task->zeros > 1 || task->strategy.virtual_stages > 1 ||
        task->tables->next) {
        return;
    }
    task->ideal = has_least_links(layout);
    task->ideal_placement = task->tables->placement;
}

static bool cannot_help(const struct task *task)
{
    return task->ideal && !task->tables->next &&
           nest_placement_equal(&task->tables->placement, &task->ideal_placement);
}

/* The best plan within one span. */
static enum nest_status solve_span(struct task *task, bool packed)
{
    const struct nest_space *space = task->single->space;
    const struct nest_problem *problem = space->problem;
    const struct nest_strategy *s = &task->strategy;
    const struct nest_cuts *cuts = problem->model->cuts;
    struct nest_layout layout;
    task->tables = NULL;
    if (!nest_layout_build(problem->cluster, s, task->stages, task->family->widths,
                           task->family->tp, task->zeros, problem->packed, &task->single->arena,
                           &layout) ||
        !attach_tables(task, &layout)) {
        return NEST_NO_MEMORY;
    }
    if (cannot_help(task) || !is_promising(task)) {
        return NEST_NO;
    }
    if (!fill_tables(task)) {
        return NEST_NO_MEMORY;
    }
    if (packed) {
        judge_packed(task, &layout);
    }
    struct nest_chain chain = {
        .layout = &layout,
        .layers = cuts ? cuts->count - 1 : problem->model->layers,
        .cuts = cuts,
        .kind_of = problem->model->kind_of,
        .uneven = problem->model->crossing != NULL,
        .modes = space->modes,
        .zeros = task->zeros,
        .frame = task->frame,
        .memory_limit = problem->memory_limit,
        .cancel = task->single->cancel,
    };
    memcpy(chain.mode, space->mode, sizeof chain.mode);
    return s->virtual_stages > 1 ? solve_interleaved(task, chain) : solve_chain(task, &chain);
}

enum nest_status nest_single_solve(struct nest_single *single, const struct nest_family *family,
                                   const struct nest_bound *bound,
                                   const struct nest_strategy *strategy, int stages, nest_ps limit,
                                   struct nest_plan *out, nest_ps *step)
{
    nest_arena_reset(&single->arena);
    struct task task = {.single = single,
                        .family = family,
                        .bound = bound,
                        .strategy = *strategy,
                        .stages = stages,
                        .limit = limit};
    task.frame = nest_step_frame_of(single->space->problem, strategy, stages);
    if (task.frame.rule.refused) {
        return NEST_NO;
    }
    list_zeros(&task);
    int spans;
    const int64_t *span = nest_layout_spans(single->space->problem->cluster, strategy, stages,
                                            family->widths, family->tp, &single->arena, &spans);
    if (!span) {
        return NEST_NO_MEMORY;
    }
    for (int k = 0; k < spans; k++) {
        const int64_t wanted = single->space->problem->span;
        if (wanted > 0 && span[k] != wanted) {
            continue;
        }
        task.strategy.span = span[k];
        const enum nest_status status = solve_span(&task, k == 0);
        if (is_final(status)) {
            return status;
        }
    }
    *out = task.plan;
    *step = task.step;
    return task.found ? NEST_OK : NEST_NO;
}
