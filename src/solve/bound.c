#include "solve/bound.h"

#include "plan/step.h"

/* Every communicator has one member: nothing is ever sent. */
static const struct nest_placement alone = {
    .tp = {.size = 1},
    .cp = {.size = 1},
    .dense = {.size = 1},
    .shard = {.size = 1},
    .replicate = {.size = 1},
    .ep = {.size = 1},
    .etp = {.size = 1},
    .expert = {.size = 1},
};

static nest_ps least_of_kind(const struct nest_space *space, const struct nest_layer_kind *kind,
                             const struct nest_strategy *strategy)
{
    nest_ps least = NEST_PS_MAX;
    for (int m = 0; m < space->modes; m++) {
        struct nest_layer_cost cost;
        nest_layer_cost(space->problem, kind, strategy, &alone, space->mode[m], &cost);
        least = cost.fw + cost.bw < least ? cost.fw + cost.bw : least;
    }
    return least;
}

static void bound_width(const struct nest_space *space, const struct nest_strategy *strategy,
                        struct nest_bound *out)
{
    const struct nest_model *model = space->problem->model;
    *out = (struct nest_bound){0};
    for (int i = 0; i < model->runs; i++) {
        const struct nest_run *run = &model->run[i];
        const nest_ps each = least_of_kind(space, &model->kind[run->kind], strategy);
        out->total += run->count * each;
        out->largest = each > out->largest ? each : out->largest;
    }
}

void nest_bound_family(const struct nest_space *space, const struct nest_family *family,
                       struct nest_bound *out)
{
    *out = (struct nest_bound){NEST_PS_MAX, NEST_PS_MAX};
    for (int w = 0; w < family->widths; w++) {
        struct nest_strategy strategy = family->strategy;
        struct nest_bound of_width;
        strategy.tp = family->tp[w];
        bound_width(space, &strategy, &of_width);
        out->total = of_width.total < out->total ? of_width.total : out->total;
        out->largest = of_width.largest < out->largest ? of_width.largest : out->largest;
    }
}

nest_ps nest_bound_grid(const struct nest_space *space, const struct nest_family *family,
                        const struct nest_bound *bound, const struct nest_grid *grid)
{
    const int64_t batch = space->problem->train.global_batch;
    const nest_ps even = (bound->total + grid->pp - 1) / grid->pp;
    const struct nest_step step = {
        .bottleneck = even > bound->largest ? even : bound->largest,
        .fill = bound->total,
        .tail = 0,
    };
    return nest_step_time(step, batch / (family->strategy.micro_batch * grid->dp),
                          grid->virtual_stages, 0);
}
