#include "solve/families.h"

#include <stdlib.h>
#include <string.h>

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
    int capacity, group_capacity;
    bool failed;
    struct values tp, cp, ep, etp, micro_batch, dp;
    int64_t strategies[CANDIDATES_MAX]; /* [dp] of a family with that dp; -1 until counted */
};

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
        if (m->space->families > 0) {
            memcpy(grown, m->space->family, (size_t)m->space->families * sizeof *grown);
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

/* Strategies with the i-th dp: ep and etp change nothing, so they are counted once. */
static int64_t strategies_with(struct maker *m, const struct nest_family *family, int i)
{
    if (m->strategies[i] < 0) {
        m->strategies[i] = nest_space_count(m->space, family, m->dp.value[i]);
    }
    return m->strategies[i];
}

/* A family of one width, with every dp that is legal for one stage. */
static void keep_family(struct maker *m, struct nest_family family)
{
    int64_t *dp = NEST_NEW(m->arena, int64_t, m->dp.count);
    m->failed = m->failed || !dp;
    for (int i = 0; dp && i < m->dp.count; i++) {
        if (legal_width(m, &family, family.tp[0], m->dp.value[i])) {
            dp[family.dps++] = m->dp.value[i];
            m->space->strategies += strategies_with(m, &family, i);
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
        if (family.widths > 0) {
            m->space->strategies += nest_space_count(m->space, &family, *dp);
            (void)append_family(m, &family);
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
            m->strategies[kept] = -1;
            m->dp.value[kept++] = m->dp.value[i];
        }
    }
    m->dp.count = kept;
}

static struct nest_group *append_group(struct maker *m)
{
    struct nest_space *space = m->space;
    if (space->groups == m->group_capacity) {
        const int capacity = m->group_capacity ? 2 * m->group_capacity : 64;
        struct nest_group *grown = NEST_NEW(m->arena, struct nest_group, capacity);
        if (!grown) {
            return NULL;
        }
        if (space->groups > 0) {
            memcpy(grown, space->group, (size_t)space->groups * sizeof *grown);
        }
        space->group = grown;
        m->group_capacity = capacity;
    }
    return &space->group[space->groups++];
}

/* Makes a group of the families from first on, if there are any. */
static void keep_group(struct maker *m, const struct nest_family *family, int first)
{
    const int count = m->space->families - first;
    struct nest_group *group = count > 0 ? append_group(m) : NULL;
    int64_t *dp = group ? NEST_NEW(m->arena, int64_t, m->dp.count) : NULL;
    if (!dp) {
        m->failed = m->failed || count > 0;
        return;
    }
    memcpy(dp, m->dp.value, (size_t)m->dp.count * sizeof *dp);
    *group = (struct nest_group){.first = first, .count = count, .whole = *family};
    group->whole.strategy.tp = family->tp[0];
    group->whole.dp = dp;
    group->whole.dps = m->dp.count;
    for (int i = first; i < m->space->families; i++) {
        const int64_t ep = m->space->family[i].strategy.ep;
        group->whole.strategy.ep = ep > group->whole.strategy.ep ? ep : group->whole.strategy.ep;
    }
}

/* Families of one tp, cp, sp and micro batch: over ep and etp. */
static void make_group(struct maker *m, struct nest_family family)
{
    const int first = m->space->families;
    list_dp(m, &family);
    for (int e = 0; e < m->ep.count; e++) {
        for (int t = 0; t < m->etp.count; t++) {
            family.strategy.ep = m->ep.value[e];
            family.strategy.etp = m->etp.value[t];
            if (m->problem->allow_stage_tp) {
                keep_mixed(m, &family);
            } else {
                keep_family(m, family);
            }
        }
    }
    family.strategy.ep = family.strategy.etp = 1;
    keep_group(m, &family, first);
}

/* Families of one tp and cp. Neighbours in the list differ in ep and etp: most layers cost the same
 * in them. */
static void make_families(struct maker *m, struct nest_family family)
{
    const int64_t widest = family.tp[family.widths - 1];
    const bool experts = m->problem->model->spec->experts > 1;
    if (!pinned(m->problem, NEST_PIN_ETP, widest, &m->etp)) {
        divisors(experts ? widest : 1, widest, &m->etp);
    }
    for (int sp = 0; sp <= (widest > 1 ? 1 : 0); sp++) {
        for (int b = 0; b < m->micro_batch.count && allows(m->problem, NEST_PIN_SP, sp); b++) {
            family.strategy.sp = sp != 0;
            family.strategy.micro_batch = m->micro_batch.value[b];
            make_group(m, family);
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

bool nest_families_make(struct nest_space *space, struct nest_arena *arena)
{
    struct maker *m = calloc(1, sizeof *m);
    if (!m) {
        return false;
    }
    m->problem = space->problem;
    m->arena = arena;
    m->space = space;
    list_candidates(m);
    make_all(m);
    const bool made = !m->failed;
    free(m);
    return made;
}
