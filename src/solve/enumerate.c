#include "solve/enumerate.h"

#include "plan/words.h"
#include "solve/families.h"

bool nest_pin_allows(const struct nest_pin *pin, int64_t value)
{
    for (int i = 0; i < pin->count; i++) {
        if (value >= pin->range[i].low && value <= pin->range[i].high) {
            return true;
        }
    }
    return pin->count == 0;
}

static bool allows(const struct nest_problem *problem, enum nest_pin_key key, int64_t value)
{
    return nest_pin_allows(&problem->pins.pin[key], value);
}

int nest_space_deal(const struct nest_space *space, int pp, int64_t virtual_stages,
                    bool short_first, bool short_last)
{
    const int64_t blocks = space->blocks + short_first + short_last;
    const int64_t columns = blocks / virtual_stages;
    if (space->blocks == 0 || blocks % virtual_stages != 0 || columns < pp) {
        return 0;
    }
    /* A chunk that is a block short must hold the layer outside, or more than that one block. */
    const bool thin_first = short_first && !space->lead && columns < pp + 1;
    const bool thin_last = short_last && !space->trail && columns < pp + 1;
    return thin_first || thin_last ? 0 : (int)columns;
}

/* Some of the four ways to deal the blocks out is possible. */
static bool can_deal(const struct nest_space *space, int pp, int64_t v)
{
    return nest_space_deal(space, pp, v, false, false) ||
           nest_space_deal(space, pp, v, false, true) ||
           nest_space_deal(space, pp, v, true, false) || nest_space_deal(space, pp, v, true, true);
}

/* Lists the numbers of stages and, for each, of chunks. They depend on the model and the pins. */
static bool list_stages(struct nest_space *space, struct nest_arena *arena)
{
    const struct nest_problem *problem = space->problem;
    const int layers = problem->model->layers;
    int capacity = 0;
    for (int pp = 2; pp <= layers; pp++) {
        capacity += (space->blocks + 2) / pp;
    }
    space->depth = NEST_NEW(arena, struct nest_depth, layers);
    int *chunks = NEST_NEW(arena, int, capacity + 1);
    if (!space->depth || !chunks) {
        return false;
    }
    for (int pp = 1; pp <= layers; pp++) {
        if (!allows(problem, NEST_PIN_PP, pp)) {
            continue;
        }
        struct nest_depth *depth = &space->depth[space->depths++];
        *depth = (struct nest_depth){.pp = pp, .chunks = chunks};
        for (int v = 2; pp > 1 && v <= (space->blocks + 2) / pp; v++) {
            if (allows(problem, NEST_PIN_VIRTUAL_STAGES, v) && can_deal(space, pp, v)) {
                *chunks++ = v;
                depth->count++;
            }
        }
    }
    return true;
}

/* How many of the depth's numbers of chunks are legal: M >= pp and M mod pp = 0, the rule of
 * interleaving (see plan/rules.c). */
static int legal_chunks(const struct nest_space *space, const struct nest_family *family,
                        const struct nest_depth *depth, int64_t dp)
{
    const int64_t m = nest_problem_microbatches(space->problem, family->strategy.micro_batch, dp);
    const bool plain = family->widths > 1 || space->problem->allow_stage_zero;
    return !plain && m >= depth->pp && m % depth->pp == 0 ? depth->count : 0;
}

/* The most stages that the devices have room for. */
static int64_t most_stages(const struct nest_space *space, const struct nest_family *family,
                           int64_t dp)
{
    return space->problem->cluster->devices / (family->tp[0] * family->strategy.cp * dp);
}

bool nest_space_each_stages(const struct nest_space *space, const struct nest_family *family,
                            int64_t dp, bool (*visit)(void *context, const struct nest_grid *grid),
                            void *context)
{
    const bool whole = allows(space->problem, NEST_PIN_VIRTUAL_STAGES, 1);
    const int64_t most = most_stages(space, family, dp);
    for (int i = 0; i < space->depths && space->depth[i].pp <= most; i++) {
        const struct nest_depth *depth = &space->depth[i];
        const int chunks = legal_chunks(space, family, depth, dp);
        struct nest_grid grid = {.dp = dp, .virtual_stages = 1, .pp = depth->pp};
        if (whole && !visit(context, &grid)) {
            return false;
        }
        for (int v = 0; v < chunks; v++) {
            grid.virtual_stages = depth->chunks[v];
            if (!visit(context, &grid)) {
                return false;
            }
        }
    }
    return true;
}

/* The shard groups of dp * cp members: all of them, and those that stay inside a group. */
static int list_shards(const struct nest_space *space, const struct nest_family *family,
                       int64_t members, int64_t shard[NEST_SHARDS_MAX + NEST_PIN_MAX])
{
    const struct nest_problem *problem = space->problem;
    const struct nest_pin *pin = &problem->pins.pin[NEST_PIN_SHARD];
    int count = 0;
    if (nest_pin_allows(pin, members)) {
        shard[count++] = members;
    }
    for (int i = 0; i < pin->count; i++) {
        const int64_t value = pin->range[i].low;
        if (pin->range[i].low == pin->range[i].high && value < members && members % value == 0) {
            shard[count++] = value;
        }
    }
    for (int l = 0; l < problem->cluster->levels; l++) {
        int64_t value = problem->cluster->level[l].capacity / family->tp[0];
        value = value < members ? value : members;
        while (value > 1 && members % value != 0) {
            value--;
        }
        bool known = value <= 1 || !nest_pin_allows(pin, value);
        for (int i = 0; i < count; i++) {
            known = known || shard[i] == value;
        }
        if (!known) {
            shard[count++] = value;
        }
    }
    return count;
}

static bool order_allows(const struct nest_order_pin *order, int64_t dp, int64_t dp_in)
{
    switch (order->kind) {
    case NEST_ORDER_MEGATRON:
        return dp_in == dp;
    case NEST_ORDER_NEST:
        return dp_in == 1;
    case NEST_ORDER_SPLIT:
        return dp_in == order->dp_in && dp / dp_in == order->dp_out;
    case NEST_ORDER_FREE:
        break;
    }
    return true;
}

bool nest_space_allows(const struct nest_problem *problem, const struct nest_plan *plan)
{
    const struct nest_strategy *s = &plan->strategy;
    bool allowed = order_allows(&problem->pins.order, nest_strategy_dp(s), s->dp_in);
    for (int key = 0; key < NEST_PINS && allowed; key++) {
        allowed =
            allows(problem, (enum nest_pin_key)key, nest_plan_value(plan, (enum nest_pin_key)key));
    }
    for (int i = 0; i < plan->stages && allowed; i++) {
        const struct nest_plan_stage *stage = &plan->stage[i];
        allowed = allows(problem, NEST_PIN_TP, stage->tp) &&
                  allows(problem, NEST_PIN_ZERO, stage->zero) &&
                  allows(problem, NEST_PIN_RECOMPUTE, (int64_t)stage->recompute);
    }
    return allowed;
}

/* The whole cluster, and what of a mixed one has a device for every rank of one stage. */
static bool each_selection(const struct nest_space *space, struct nest_strategy *s,
                           bool (*visit)(void *context, const struct nest_strategy *strategy),
                           void *context)
{
    const struct nest_cluster *cluster = space->problem->cluster;
    const int64_t needed = nest_strategy_width(s) * nest_strategy_dp(s);
    for (s->selection = 0; s->selection <= cluster->selections; s->selection++) {
        if (nest_cluster_selected(cluster, s->selection)->devices >= needed && !visit(context, s)) {
            return false;
        }
    }
    return true;
}

bool nest_space_each_order(const struct nest_space *space, const struct nest_strategy *strategy,
                           bool (*visit)(void *context, const struct nest_strategy *strategy),
                           void *context)
{
    struct nest_strategy s = *strategy;
    const int64_t dp = nest_strategy_dp(strategy);
    for (int64_t dp_in = 1; dp_in <= dp; dp_in++) {
        if (dp % dp_in == 0 && order_allows(&space->problem->pins.order, dp, dp_in)) {
            s.dp_in = dp_in;
            s.dp_out = dp / dp_in;
            if (!each_selection(space, &s, visit, context)) {
                return false;
            }
        }
    }
    return true;
}

bool nest_space_each_sharding(const struct nest_space *space, const struct nest_family *family,
                              const struct nest_grid *grid,
                              bool (*visit)(void *context, const struct nest_strategy *strategy),
                              void *context)
{
    const struct nest_pin *zeros = &space->problem->pins.pin[NEST_PIN_ZERO];
    struct nest_strategy s = family->strategy;
    const int64_t members = grid->dp * s.cp;
    s.virtual_stages = grid->virtual_stages;
    int64_t shard[NEST_SHARDS_MAX + NEST_PIN_MAX];
    const int shards = list_shards(space, family, members, shard);
    const bool together = space->problem->allow_stage_zero;
    const bool experts = space->problem->model->spec->experts > 1;
    for (int zero = 0; zero < (together ? 1 : NEST_ZEROS); zero++) {
        const bool pointless = zero > 0 && members == 1 && !experts && nest_pin_allows(zeros, 0);
        if (!together && (pointless || !nest_pin_allows(zeros, zero))) {
            continue;
        }
        s.zero = zero;
        const bool undivided = zero == 0 && !together;
        for (int i = 0; i < (undivided ? 1 : shards); i++) {
            s.shard = undivided ? members : shard[i];
            s.dp_in = grid->dp;
            if (!visit(context, &s)) {
                return false;
            }
        }
    }
    return true;
}

static bool count_one(void *context, const struct nest_strategy *strategy)
{
    (void)strategy;
    ++*(int64_t *)context;
    return true;
}

/* The choices of sharding and order depend on dp alone. */
int64_t nest_space_count(const struct nest_space *space, const struct nest_family *family,
                         int64_t dp)
{
    const struct nest_grid grid = {.dp = dp, .virtual_stages = 1, .pp = 1};
    struct nest_strategy strategy = family->strategy;
    int64_t shardings = 0;
    int64_t orders = 0;
    int64_t grids = 0;
    strategy.dp_in = dp;
    (void)nest_space_each_sharding(space, family, &grid, count_one, &shardings);
    (void)nest_space_each_order(space, &strategy, count_one, &orders);
    const int whole = allows(space->problem, NEST_PIN_VIRTUAL_STAGES, 1);
    const int64_t most = most_stages(space, family, dp);
    for (int i = 0; i < space->depths && space->depth[i].pp <= most; i++) {
        grids += whole + legal_chunks(space, family, &space->depth[i], dp);
    }
    return shardings * orders * grids;
}

/* The run of equal blocks between an embedding and a head, if that is what the model is. */
static void find_blocks(const struct nest_model *model, struct nest_space *space)
{
    const int last = model->layers - 1;
    space->lead = model->lead;
    space->trail = model->trail;
    for (int i = space->lead; i <= last - space->trail; i++) {
        if (model->kind_of[i] != model->kind_of[space->lead] ||
            model->kind[model->kind_of[i]].role != NEST_LAYER_BLOCK) {
            return;
        }
    }
    space->blocks = model->layers - space->lead - space->trail;
}

enum nest_status nest_space_build(const struct nest_problem *problem, struct nest_arena *arena,
                                  struct nest_space *out)
{
    *out = (struct nest_space){.problem = problem};
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        if (allows(problem, NEST_PIN_RECOMPUTE, r)) {
            out->mode[out->modes++] = (enum nest_recompute)r;
        }
    }
    find_blocks(problem->model, out);
    const bool made =
        list_stages(out, arena) && (out->modes == 0 || nest_families_make(out, arena));
    return made ? NEST_OK : NEST_NO_MEMORY;
}
