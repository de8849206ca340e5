#include "solve/enumerate.h"

#include <stdlib.h>

#include "plan/rules.h"

enum { TP_MAX = 64, CP_MAX = 16, MICRO_BATCH_MAX = 16, CANDIDATES_MAX = 4096 };

/* The candidates of one choice. */
struct values {
    int count;
    int64_t value[CANDIDATES_MAX];
};

/* The families under construction, and the lists they are made from. */
struct maker {
    const struct nest_problem *problem;
    struct nest_arena *arena;
    struct nest_space *space;
    int capacity;
    bool failed;
    struct values tp, cp, ep, etp, micro_batch, dp;
};

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

static void add(struct values *values, int64_t value)
{
    if (values->count < CANDIDATES_MAX) {
        values->value[values->count++] = value;
    }
}

static int compare_int64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The divisors of n up to most, ascending. */
static void divisors(int64_t n, int64_t most, struct values *out)
{
    out->count = 0;
    for (int64_t d = 1; d * d <= n; d++) {
        if (n % d == 0) {
            if (d <= most) {
                add(out, d);
            }
            if (n / d != d && n / d <= most) {
                add(out, n / d);
            }
        }
    }
    qsort(out->value, (size_t)out->count, sizeof *out->value, compare_int64);
}

static void counting(int64_t most, struct values *out)
{
    out->count = 0;
    for (int64_t v = 1; v <= most; v++) {
        add(out, v);
    }
}

static void powers_of_two(int64_t most, struct values *out)
{
    out->count = 0;
    for (int64_t v = 1; v <= most; v *= 2) {
        add(out, v);
    }
}

/* Replaces the candidates by what the pin lists, from 1 to most. False when it is free. */
static bool pinned(const struct nest_problem *problem, enum nest_pin_key key, int64_t most,
                   struct values *out)
{
    const struct nest_pin *pin = &problem->pins.pin[key];
    if (pin->count == 0) {
        return false;
    }
    out->count = 0;
    for (int i = 0; i < pin->count; i++) {
        const int64_t low = pin->range[i].low > 1 ? pin->range[i].low : 1;
        const int64_t high = pin->range[i].high < most ? pin->range[i].high : most;
        for (int64_t v = low; v <= high; v++) {
            add(out, v);
        }
    }
    qsort(out->value, (size_t)out->count, sizeof *out->value, compare_int64);
    int kept = 0;
    for (int i = 0; i < out->count; i++) {
        if (kept == 0 || out->value[i] != out->value[kept - 1]) {
            out->value[kept++] = out->value[i];
        }
    }
    out->count = kept;
    return true;
}

static void measured_widths(const struct nest_model_spec *model, struct values *out)
{
    out->count = 0;
    for (int e = 0; e < model->profile[0].entries; e++) {
        add(out, model->profile[0].entry[e].tp);
    }
}

static void list_candidates(struct maker *m)
{
    const struct nest_problem *problem = m->problem;
    const struct nest_model_spec *model = problem->model->spec;
    const int64_t devices = problem->cluster->devices;
    const bool profiled = model->profile_layers > 0;
    if (!pinned(problem, NEST_PIN_TP, devices, &m->tp)) {
        if (profiled) {
            measured_widths(model, &m->tp);
        } else {
            divisors(model->heads > 0 ? model->heads : 1, TP_MAX, &m->tp);
        }
    }
    if (!pinned(problem, NEST_PIN_CP, devices, &m->cp)) {
        powers_of_two(profiled ? 1 : CP_MAX, &m->cp);
    }
    if (!pinned(problem, NEST_PIN_EP, devices, &m->ep)) {
        divisors(model->experts > 1 ? model->experts : 1, devices, &m->ep);
    }
    if (!pinned(problem, NEST_PIN_MICRO_BATCH, problem->train.global_batch, &m->micro_batch)) {
        powers_of_two(profiled ? 1 : MICRO_BATCH_MAX, &m->micro_batch);
    }
}

static bool append_family(struct maker *m, const struct nest_family *family)
{
    if (m->space->families == m->capacity) {
        const int capacity = m->capacity ? 2 * m->capacity : 64;
        struct nest_family *grown = NEST_NEW(m->arena, struct nest_family, capacity);
        if (!grown) {
            m->failed = true;
            return false;
        }
        for (int i = 0; i < m->space->families; i++) {
            grown[i] = m->space->family[i];
        }
        m->space->family = grown;
        m->capacity = capacity;
    }
    m->space->family[m->space->families++] = *family;
    return true;
}

static bool legal_width(const struct maker *m, const struct nest_family *family, int64_t tp,
                        int64_t dp)
{
    struct nest_strategy s = family->strategy;
    s.tp = tp;
    s.dp_in = dp;
    s.shard = dp * s.cp;
    return nest_rules_check(m->problem, &s, 1, NULL);
}

/* A family of one width, with every dp that is legal for one stage. */
static void keep_family(struct maker *m, struct nest_family family)
{
    int64_t *dp = NEST_NEW(m->arena, int64_t, m->dp.count);
    m->failed = m->failed || !dp;
    for (int i = 0; dp && i < m->dp.count; i++) {
        if (legal_width(m, &family, family.tp[0], m->dp.value[i])) {
            dp[family.dps++] = m->dp.value[i];
        }
    }
    family.dp = dp;
    if (family.dps > 0) {
        (void)append_family(m, &family);
    }
}

/* Families of mixed widths, one for each dp: which widths are legal depends on it. */
static void keep_mixed(struct maker *m, const struct nest_family *all)
{
    for (int i = 0; i < m->dp.count; i++) {
        struct nest_family family = *all;
        int64_t *dp = NEST_NEW(m->arena, int64_t, 1);
        if (!dp) {
            m->failed = true;
            return;
        }
        *dp = m->dp.value[i];
        family.dp = dp;
        family.dps = 1;
        family.widths = 0;
        for (int w = 0; w < all->widths; w++) {
            if (legal_width(m, &family, all->tp[w], *dp)) {
                family.tp[family.widths++] = all->tp[w];
            }
        }
        family.strategy.tp = family.tp[0];
        if (family.widths > 0 && !append_family(m, &family)) {
            return;
        }
    }
}

/* Every dp that divides what the micro batch leaves of the global batch; where it may be ragged,
 * every one that has a microbatch for each replica. */
static void list_dp(struct maker *m, const struct nest_family *family)
{
    const int64_t batch = m->problem->train.global_batch;
    const int64_t micro_batch = family->strategy.micro_batch;
    m->dp.count = 0;
    const int64_t most = m->problem->cluster->devices / (family->tp[0] * family->strategy.cp);
    if (m->problem->allow_ragged_batch) {
        counting(batch / micro_batch < most ? batch / micro_batch : most, &m->dp);
    } else if (batch % micro_batch == 0) {
        divisors(batch / micro_batch, most, &m->dp);
    }
    int kept = 0;
    for (int i = 0; i < m->dp.count; i++) {
        if (allows(m->problem, NEST_PIN_DP, m->dp.value[i])) {
            m->dp.value[kept++] = m->dp.value[i];
        }
    }
    m->dp.count = kept;
}

/* Families of one tp and cp: over ep, etp, sp and the micro batch. */
static void make_families(struct maker *m, struct nest_family family)
{
    struct nest_strategy *s = &family.strategy;
    const int64_t widest = family.tp[family.widths - 1];
    const bool experts = m->problem->model->spec->experts > 1;
    if (!pinned(m->problem, NEST_PIN_ETP, widest, &m->etp)) {
        divisors(experts ? widest : 1, widest, &m->etp);
    }
    for (int e = 0; e < m->ep.count; e++) {
        for (int t = 0; t < m->etp.count; t++) {
            for (int sp = 0; sp <= (widest > 1 ? 1 : 0); sp++) {
                if (!allows(m->problem, NEST_PIN_SP, sp)) {
                    continue;
                }
                for (int b = 0; b < m->micro_batch.count; b++) {
                    s->ep = m->ep.value[e];
                    s->etp = m->etp.value[t];
                    s->sp = sp != 0;
                    s->micro_batch = m->micro_batch.value[b];
                    list_dp(m, &family);
                    if (m->problem->allow_stage_tp) {
                        keep_mixed(m, &family);
                    } else {
                        keep_family(m, family);
                    }
                }
            }
        }
    }
}

static const struct nest_strategy least = {
    .tp = 1,
    .cp = 1,
    .ep = 1,
    .etp = 1,
    .micro_batch = 1,
    .virtual_stages = 1,
    .shard = 1,
    .dp_in = 1,
    .dp_out = 1,
};

/* With stage_tp all widths go into one family. */
static void make_mixed(struct maker *m, int64_t cp)
{
    struct nest_family family = {.strategy = least};
    family.strategy.cp = cp;
    for (int t = 0; t < m->tp.count && family.widths < NEST_WIDTHS_MAX; t++) {
        family.tp[family.widths++] = m->tp.value[t];
    }
    if (family.widths > 0) {
        make_families(m, family);
    }
}

static void make_all(struct maker *m)
{
    for (int c = 0; c < m->cp.count; c++) {
        if (m->problem->allow_stage_tp) {
            make_mixed(m, m->cp.value[c]);
            continue;
        }
        for (int t = 0; t < m->tp.count; t++) {
            struct nest_family family = {.strategy = least, .widths = 1, .tp = {m->tp.value[t]}};
            family.strategy.tp = m->tp.value[t];
            family.strategy.cp = m->cp.value[c];
            make_families(m, family);
        }
    }
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

/* M >= pp and M mod pp = 0, enough blocks: the rules of interleaving (see plan/rules.c). */
static bool legal_grid(const struct nest_space *space, const struct nest_family *family,
                       const struct nest_grid *grid)
{
    const int64_t v = grid->virtual_stages;
    if (v == 1) {
        return true;
    }
    if (!nest_space_deal(space, grid->pp, v, false, false) &&
        !nest_space_deal(space, grid->pp, v, false, true) &&
        !nest_space_deal(space, grid->pp, v, true, false) &&
        !nest_space_deal(space, grid->pp, v, true, true)) {
        return false;
    }
    const int64_t m =
        nest_problem_microbatches(space->problem, family->strategy.micro_batch, grid->dp);
    return m >= grid->pp && m % grid->pp == 0;
}

static bool each_chunking(const struct nest_space *space, const struct nest_family *family,
                          struct nest_grid *grid,
                          bool (*visit)(void *context, const struct nest_grid *grid), void *context)
{
    const struct nest_problem *problem = space->problem;
    const bool plain = family->widths > 1 || problem->allow_stage_zero || grid->pp == 1;
    const int64_t most = plain ? 1 : (space->blocks + 2) / grid->pp;
    for (grid->virtual_stages = 1; grid->virtual_stages <= most || grid->virtual_stages == 1;
         grid->virtual_stages++) {
        if (allows(problem, NEST_PIN_VIRTUAL_STAGES, grid->virtual_stages) &&
            legal_grid(space, family, grid) && !visit(context, grid)) {
            return false;
        }
    }
    return true;
}

/* Every pp and v of the grid's dp. */
static bool each_stages(const struct nest_space *space, const struct nest_family *family,
                        struct nest_grid *grid,
                        bool (*visit)(void *context, const struct nest_grid *grid), void *context)
{
    const struct nest_problem *problem = space->problem;
    const int64_t room =
        problem->cluster->devices / (family->tp[0] * family->strategy.cp * grid->dp);
    const int64_t most = room < problem->model->layers ? room : problem->model->layers;
    for (grid->pp = 1; grid->pp <= most; grid->pp++) {
        if (allows(problem, NEST_PIN_PP, grid->pp) &&
            !each_chunking(space, family, grid, visit, context)) {
            return false;
        }
    }
    return true;
}

bool nest_space_each_grid(const struct nest_space *space, const struct nest_family *family,
                          bool (*visit)(void *context, const struct nest_grid *grid), void *context)
{
    for (int d = 0; d < family->dps; d++) {
        struct nest_grid grid = {.dp = family->dp[d]};
        if (!each_stages(space, family, &grid, visit, context)) {
            return false;
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

static bool count_grid(void *context, const struct nest_grid *grid)
{
    (void)grid;
    ++*(int64_t *)context;
    return true;
}

static bool count_one(void *context, const struct nest_strategy *strategy)
{
    (void)strategy;
    ++*(int64_t *)context;
    return true;
}

/* Strategies of every grid: the choices of sharding and order depend on dp alone. */
static void count_family(struct nest_space *space, const struct nest_family *family)
{
    for (int d = 0; d < family->dps; d++) {
        struct nest_grid grid = {.dp = family->dp[d], .virtual_stages = 1, .pp = 1};
        struct nest_strategy strategy = family->strategy;
        int64_t shardings = 0;
        int64_t orders = 0;
        int64_t grids = 0;
        strategy.dp_in = grid.dp;
        (void)nest_space_each_sharding(space, family, &grid, count_one, &shardings);
        (void)nest_space_each_order(space, &strategy, count_one, &orders);
        (void)each_stages(space, family, &grid, count_grid, &grids);
        space->strategies += shardings * orders * grids;
    }
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
    struct maker *m = calloc(1, sizeof *m);
    if (!m) {
        return NEST_NO_MEMORY;
    }
    m->problem = problem;
    m->arena = arena;
    m->space = out;
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        if (allows(problem, NEST_PIN_RECOMPUTE, r)) {
            out->mode[out->modes++] = (enum nest_recompute)r;
        }
    }
    find_blocks(problem->model, out);
    list_candidates(m);
    if (out->modes > 0) {
        make_all(m);
    }
    for (int i = 0; i < out->families; i++) {
        count_family(out, &out->family[i]);
    }
    const bool failed = m->failed;
    free(m);
    return failed ? NEST_NO_MEMORY : NEST_OK;
}
