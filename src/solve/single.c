#include "solve/single.h"

#include <string.h>

/* A cost table and what it was made for. */
struct priced {
    struct nest_placement placement;
    struct nest_cost_table table;
    int width, zero;
    struct priced *next;
};

/* One strategy at work. */
struct task {
    struct nest_single *single;
    const struct nest_family *family;
    struct nest_strategy strategy;
    int stages;
    int zeros;
    int zero[NEST_ZEROS];
    struct priced *tables; /* of the current span */
};

enum nest_status nest_single_init(struct nest_single *single, const struct nest_space *space)
{
    *single = (struct nest_single){.space = space};
    single->recurrence = nest_recurrence_create();
    return single->recurrence ? NEST_OK : NEST_NO_MEMORY;
}

void nest_single_free(struct nest_single *single)
{
    nest_recurrence_free(single->recurrence);
    nest_arena_free(&single->arena);
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

/* The table for a stage at x; places that price every communicator alike share one. */
static const struct nest_cost_table *table_for(struct task *task, const struct nest_place *place,
                                               int zero)
{
    const struct nest_problem *problem = task->single->space->problem;
    struct nest_arena *arena = &task->single->arena;
    struct nest_strategy strategy = task->strategy;
    strategy.tp = task->family->tp[place->width];
    strategy.zero = task->zero[zero];
    struct nest_placement placement;
    nest_placement_at(problem->cluster, &strategy, place->x, &placement);
    for (struct priced *p = task->tables; p; p = p->next) {
        if (p->width == place->width && p->zero == zero &&
            nest_placement_equal(&p->placement, &placement)) {
            return &p->table;
        }
    }
    struct priced *added = NEST_NEW(arena, struct priced, 1);
    void *memory = nest_arena_alloc(
        arena, 1, nest_cost_table_bytes(problem->model->layers, problem->cluster->levels));
    if (!added || !memory) {
        return NULL;
    }
    *added = (struct priced){.placement = placement, .width = place->width, .zero = zero};
    nest_cost_table_fill(problem, &strategy, &placement, memory, &added->table);
    added->next = task->tables;
    task->tables = added;
    return &added->table;
}

static bool attach_tables(struct task *task, struct nest_layout *layout)
{
    for (int s = 1; s <= layout->stages; s++) {
        for (int p = 0; p < layout->count[s]; p++) {
            for (int z = 0; z < task->zeros; z++) {
                struct nest_place *place = &layout->place[s][p];
                place->table[z] = table_for(task, place, z);
                if (!place->table[z]) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool make_plan(struct task *task, const struct nest_chosen *chosen, struct nest_plan *plan)
{
    struct nest_arena *arena = &task->single->arena;
    *plan = (struct nest_plan){.strategy = task->strategy, .stages = task->stages};
    plan->stage = NEST_NEW(arena, struct nest_plan_stage, task->stages);
    if (!plan->stage) {
        return false;
    }
    for (int i = 0; i < task->stages; i++) {
        struct nest_plan_stage *stage = &plan->stage[i];
        stage->ranges = 1;
        stage->layers = NEST_NEW(arena, struct nest_range, 1);
        if (!stage->layers) {
            return false;
        }
        *stage->layers = (struct nest_range){chosen[i].first, chosen[i].last};
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

/* The best plan within one span. */
static enum nest_status solve_span(struct task *task, nest_ps limit, struct nest_plan *out,
                                   nest_ps *step)
{
    const struct nest_space *space = task->single->space;
    const struct nest_problem *problem = space->problem;
    struct nest_arena *arena = &task->single->arena;
    const struct nest_strategy *s = &task->strategy;
    struct nest_layout layout;
    task->tables = NULL;
    struct nest_chosen *chosen = NEST_NEW(arena, struct nest_chosen, task->stages);
    if (!chosen ||
        !nest_layout_build(problem->cluster, s, task->stages, task->family->widths,
                           task->family->tp, task->zeros, arena, &layout) ||
        !attach_tables(task, &layout)) {
        return NEST_NO_MEMORY;
    }
    struct nest_chain chain = {
        .layout = &layout,
        .layers = problem->model->layers,
        .kind_of = problem->model->kind_of,
        .modes = space->modes,
        .zeros = task->zeros,
        .microbatches = problem->train.global_batch / (s->micro_batch * nest_strategy_dp(s)),
        .memory_limit = problem->memory_limit,
    };
    memcpy(chain.mode, space->mode, sizeof chain.mode);
    const enum nest_status status =
        nest_recurrence_solve(task->single->recurrence, &chain, limit, step, chosen);
    task->single->states += nest_recurrence_states(task->single->recurrence);
    if (status != NEST_OK) {
        return status;
    }
    return make_plan(task, chosen, out) ? NEST_OK : NEST_NO_MEMORY;
}

enum nest_status nest_single_solve(struct nest_single *single, const struct nest_family *family,
                                   const struct nest_strategy *strategy, int stages, nest_ps limit,
                                   struct nest_plan *out, nest_ps *step)
{
    nest_arena_reset(&single->arena);
    struct task task = {
        .single = single, .family = family, .strategy = *strategy, .stages = stages};
    list_zeros(&task);
    int spans;
    const int64_t *span = nest_layout_spans(single->space->problem->cluster, strategy, stages,
                                            family->widths, family->tp, &single->arena, &spans);
    if (!span) {
        return NEST_NO_MEMORY;
    }
    bool found = false;
    for (int k = 0; k < spans; k++) {
        struct nest_plan plan;
        nest_ps time;
        task.strategy.span = span[k];
        const enum nest_status status = solve_span(&task, limit, &plan, &time);
        if (status == NEST_NO_MEMORY) {
            return status;
        }
        if (status == NEST_OK && (!found || nest_plan_compare(&plan, time, out, *step) < 0)) {
            *out = plan;
            *step = time;
            limit = time;
            found = true;
        }
    }
    return found ? NEST_OK : NEST_NO;
}
