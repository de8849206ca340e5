/* The whole search against brute force: every strategy, order, span, place, split and mode of small
 * models on small clusters, priced by nest_plan_evaluate. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/rules.h"
#include "solve/solve.h"
#include "support/places.h"
#include "support/small_problem.h"

enum { STAGES_MAX = 8, CHUNKS_MAX = 8, GRAPH_MAX = 16, WIDTHS_MAX = 8 };

/* The plan being tried and the best so far. */
struct brute {
    const struct nest_problem *problem;
    struct nest_arena *keep;    /* of best */
    struct nest_arena *scratch; /* of one evaluation */
    struct nest_plan plan;
    struct nest_plan_stage stage[STAGES_MAX];
    struct nest_range range[STAGES_MAX][GRAPH_MAX];
    int stage_of[GRAPH_MAX]; /* of a layer, in a graph */
    int widths;
    int64_t width[WIDTHS_MAX];
    int candidates; /* widths before legality */
    int64_t candidate[WIDTHS_MAX];
    bool found;
    struct nest_plan best;
    nest_ps step;
    int64_t plans;
};

static bool pinned(const struct brute *b, enum nest_pin_key key, int64_t value)
{
    const struct nest_pin *pin = &b->problem->pins.pin[key];
    bool allowed = pin->count == 0;
    for (int i = 0; i < pin->count; i++) {
        allowed = allowed || (pin->range[i].low <= value && value <= pin->range[i].high);
    }
    return allowed;
}

static void judge(struct brute *b)
{
    struct nest_prediction prediction;
    b->plan.strategy.tp = b->stage[0].tp;
    b->plan.strategy.zero = b->stage[0].zero;
    nest_arena_reset(b->scratch);
    nest_plan_settle(b->problem, &b->plan);
    assert_true(nest_plan_evaluate(b->problem, &b->plan, b->scratch, &prediction));
    b->plans++;
    if (prediction.feasible &&
        (!b->found || nest_plan_compare(&b->plan, prediction.step, &b->best, b->step) < 0)) {
        b->found = true;
        b->step = prediction.step;
        assert_true(nest_plan_copy(&b->plan, b->keep, &b->best));
    }
}

static void each_mode(struct brute *b, int i, const int *zeros)
{
    if (i == b->plan.stages) {
        judge(b);
        return;
    }
    for (int mode = 0; mode < NEST_RECOMPUTES; mode++) {
        for (int zero = zeros[0]; zero <= zeros[1]; zero++) {
            if (pinned(b, NEST_PIN_RECOMPUTE, mode) &&
                (zeros[0] == zeros[1] || pinned(b, NEST_PIN_ZERO, zero))) {
                b->stage[i].recompute = (enum nest_recompute)mode;
                b->stage[i].zero = zero;
                each_mode(b, i + 1, zeros);
            }
        }
    }
}

/* Chunk c of all gets layers from `from`; for v > 1 a stage's chunks hold equally many blocks. */
static void each_split(struct brute *b, int c, int from, const int *zeros)
{
    const int v = (int)b->plan.strategy.virtual_stages;
    const int chunks = b->plan.stages * v;
    const int layers = b->problem->model->layers;
    if (c == chunks) {
        if (from == layers) {
            each_mode(b, 0, zeros);
        }
        return;
    }
    const int stage = c % b->plan.stages;
    for (int last = from; last < layers; last++) {
        b->range[stage][c / b->plan.stages] = (struct nest_range){from, last};
        each_split(b, c + 1, last + 1, zeros);
    }
}

/* The stages' layers as ranges, from stage_of. False if a stage is left without any. */
static bool collect_ranges(struct brute *b)
{
    for (int i = 0; i < b->plan.stages; i++) {
        b->stage[i].ranges = 0;
    }
    for (int layer = 0; layer < b->problem->model->layers; layer++) {
        const int i = b->stage_of[layer];
        struct nest_range *range = &b->range[i][b->stage[i].ranges];
        if (b->stage[i].ranges > 0 && range[-1].high == layer - 1) {
            range[-1].high = layer;
        } else {
            *range = (struct nest_range){layer, layer};
            b->stage[i].ranges++;
        }
    }
    for (int i = 0; i < b->plan.stages; i++) {
        if (b->stage[i].ranges == 0) {
            return false;
        }
    }
    return true;
}

/* Gives each layer of a graph to a stage that none of its inputs comes after. */
static void each_part(struct brute *b, int layer, const int *zeros)
{
    const struct nest_model *model = b->problem->model;
    if (layer == model->layers) {
        if (collect_ranges(b)) {
            each_mode(b, 0, zeros);
        }
        return;
    }
    int first = 0;
    for (int e = 0; e < model->edges; e++) {
        if (model->edge[e].to == layer && b->stage_of[model->edge[e].from] > first) {
            first = b->stage_of[model->edge[e].from];
        }
    }
    for (b->stage_of[layer] = first; b->stage_of[layer] < b->plan.stages; b->stage_of[layer]++) {
        each_part(b, layer + 1, zeros);
    }
}

/* Blocks in a chunk: without what lies in front of the blocks, and without the head. */
static int64_t blocks_in(const struct brute *b, const struct nest_range *range)
{
    const struct nest_model *model = b->problem->model;
    int64_t blocks = 0;
    for (int64_t i = range->low; i <= range->high; i++) {
        blocks += i >= model->lead && i < model->layers - model->trail;
    }
    return blocks;
}

/* As each_split, but keeps only the deals that interleaving allows. */
static void each_deal(struct brute *b, int c, int from, const int *zeros, const int64_t *columns)
{
    const int v = (int)b->plan.strategy.virtual_stages;
    const int chunks = b->plan.stages * v;
    const int layers = b->problem->model->layers;
    if (c == chunks) {
        if (from == layers) {
            each_mode(b, 0, zeros);
        }
        return;
    }
    const int stage = c % b->plan.stages;
    for (int last = from; last < layers; last++) {
        struct nest_range *range = &b->range[stage][c / b->plan.stages];
        *range = (struct nest_range){from, last};
        const int64_t short_by = columns[stage] - blocks_in(b, range);
        const bool end = c == 0 || c == chunks - 1;
        if (c == 0 && last < b->problem->model->lead - 1) {
            continue;
        }
        if (short_by == 0 || (end && short_by == 1)) {
            each_deal(b, c + 1, last + 1, zeros, columns);
        }
    }
}

static void each_columns(struct brute *b, int i, int64_t *columns, const int *zeros)
{
    if (i == b->plan.stages) {
        each_deal(b, 0, 0, zeros, columns);
        return;
    }
    for (columns[i] = 1; columns[i] <= b->problem->model->layers; columns[i]++) {
        each_columns(b, i + 1, columns, zeros);
    }
}

/* What the strategy selects of a mixed cluster. */
static const struct nest_cluster *selected(const struct brute *b)
{
    return nest_cluster_selected(b->problem->cluster, b->plan.strategy.selection);
}

static void each_place(struct brute *b, int i, const int *zeros)
{
    const struct nest_strategy *s = &b->plan.strategy;
    if (i < 0) {
        if (s->virtual_stages > 1) {
            int64_t columns[STAGES_MAX];
            each_columns(b, 0, columns, zeros);
        } else if (b->problem->model->edges > 0) {
            each_part(b, 0, zeros);
        } else {
            each_split(b, 0, 0, zeros);
        }
        return;
    }
    const int64_t start = i + 1 < b->plan.stages ? b->stage[i + 1].first_device : s->span;
    for (int w = 0; w < b->widths; w++) {
        b->stage[i].tp = b->width[w];
        int64_t tried = -1;
        for (int m = -1; m < selected(b)->levels; m++) {
            const int64_t end = test_place_end(selected(b), m, start);
            b->stage[i].first_device = end - b->width[w] * s->cp * s->dp_in;
            if (end != tried && b->stage[i].first_device >= 0) {
                each_place(b, i - 1, zeros);
            }
            tried = end;
        }
    }
}

static void each_span(struct brute *b)
{
    struct nest_strategy *s = &b->plan.strategy;
    const int zeros[2] = {b->problem->allow_stage_zero ? 0 : s->zero,
                          b->problem->allow_stage_zero ? 3 : s->zero};
    const struct nest_strategy before = *s;
    int64_t block[WIDTHS_MAX];
    for (int w = 0; w < b->widths; w++) {
        block[w] = b->width[w] * s->cp * s->dp_in;
    }
    for (int64_t span = 1; span * before.dp_out <= selected(b)->devices; span++) {
        *s = before;
        s->span = span;
        if (test_place_is_span(selected(b), b->plan.stages, b->widths, block, span)) {
            each_place(b, b->plan.stages - 1, zeros);
        }
    }
    *s = before;
}

static void each_order(struct brute *b, int64_t dp)
{
    struct nest_strategy *s = &b->plan.strategy;
    for (s->dp_in = 1; s->dp_in <= dp; s->dp_in++) {
        s->dp_out = dp / s->dp_in;
        if (dp % s->dp_in != 0) {
            continue;
        }
        bool legal = true;
        struct nest_strategy alone = *s;
        for (int w = 0; w < b->widths; w++) {
            alone.tp = b->width[w];
            legal = legal &&
                    nest_rules_check(b->problem, &alone, b->widths > 1 ? 1 : b->plan.stages, NULL);
        }
        for (s->selection = 0; legal && s->selection <= b->problem->cluster->selections;
             s->selection++) {
            each_span(b);
        }
        s->selection = 0;
    }
}

/* Shard groups: all members, and for each level the most that lie within one of its groups. */
static bool is_shard(const struct brute *b, int64_t members, int64_t shard)
{
    if (shard == members) {
        return true;
    }
    for (int l = 0; l < b->problem->cluster->levels; l++) {
        int64_t most = 0;
        for (int64_t d = 2; d <= members; d++) {
            if (members % d == 0 && d * b->width[0] <= b->problem->cluster->level[l].capacity) {
                most = d;
            }
        }
        if (most == shard) {
            return true;
        }
    }
    return false;
}

static void each_zero(struct brute *b, int64_t dp)
{
    struct nest_strategy *s = &b->plan.strategy;
    const bool together = b->problem->allow_stage_zero;
    const int64_t members = dp * s->cp;
    for (int zero = 0; zero < (together ? 1 : 4); zero++) {
        if (!together && !pinned(b, NEST_PIN_ZERO, zero)) {
            continue;
        }
        for (int64_t shard = 1; shard <= members; shard++) {
            if (members % shard == 0 && is_shard(b, members, shard) &&
                (zero > 0 || together || shard == members)) {
                s->zero = zero;
                s->shard = shard;
                each_order(b, dp);
            }
        }
    }
}

/* Keeps the widths that are legal with this dp. */
static void filter_widths(struct brute *b, int64_t dp)
{
    b->widths = 0;
    for (int w = 0; w < b->candidates; w++) {
        struct nest_strategy alone = b->plan.strategy;
        alone.tp = b->candidate[w];
        alone.virtual_stages = 1;
        alone.dp_in = dp;
        alone.dp_out = 1;
        alone.shard = dp * alone.cp;
        if (nest_rules_check(b->problem, &alone, 1, NULL)) {
            b->width[b->widths++] = alone.tp;
        }
    }
}

/* Interleaving is defined for equal blocks only. */
static bool equal_blocks(const struct nest_model *model)
{
    for (int i = model->lead + 1; i < model->layers - model->trail; i++) {
        if (model->kind_of[i] != model->kind_of[model->lead]) {
            return false;
        }
    }
    return model->lead > 0;
}

static void each_chunking(struct brute *b, int64_t dp, int pp)
{
    const bool plain = b->widths > 1 || b->problem->allow_stage_zero || pp == 1 ||
                       !equal_blocks(b->problem->model);
    for (int v = 1; v <= (plain ? 1 : CHUNKS_MAX); v++) {
        if (!pinned(b, NEST_PIN_VIRTUAL_STAGES, v)) {
            continue;
        }
        b->plan.strategy.virtual_stages = v;
        b->plan.stages = pp;
        for (int i = 0; i < pp; i++) {
            b->stage[i].ranges = v;
            b->stage[i].layers = b->range[i];
        }
        each_zero(b, dp);
    }
}

static void each_grid(struct brute *b)
{
    const int64_t devices = b->problem->cluster->devices;
    for (int64_t dp = 1; dp <= devices; dp++) {
        filter_widths(b, dp);
        for (int pp = 1; pp <= STAGES_MAX && pp <= b->problem->model->layers; pp++) {
            if (b->widths > 0 && pinned(b, NEST_PIN_DP, dp) && pinned(b, NEST_PIN_PP, pp) &&
                b->width[0] * b->plan.strategy.cp * dp * pp <= devices) {
                each_chunking(b, dp, pp);
            }
        }
    }
}

static void each_family(struct brute *b)
{
    const struct nest_model_spec *model = b->problem->model->spec;
    struct nest_strategy *s = &b->plan.strategy;
    const int64_t widest = b->candidate[b->candidates - 1];
    /* Layers measured at one microbatch are cut into no more, unless a pin says so. */
    const bool measured = model->profile_layers > 0;
    const int64_t most_cp = measured && b->problem->pins.pin[NEST_PIN_CP].count == 0 ? 1 : 16;
    const int64_t most = measured && b->problem->pins.pin[NEST_PIN_MICRO_BATCH].count == 0 ? 1 : 16;
    for (s->cp = 1; s->cp <= most_cp; s->cp *= 2) {
        for (s->ep = 1; s->ep <= (model->experts > 1 ? model->experts : 1); s->ep++) {
            for (s->etp = 1; s->etp <= (model->experts > 1 ? widest : 1); s->etp++) {
                for (int sp = 0; sp <= (widest > 1); sp++) {
                    for (s->micro_batch = 1; s->micro_batch <= most; s->micro_batch *= 2) {
                        s->sp = sp;
                        if (pinned(b, NEST_PIN_CP, s->cp) && pinned(b, NEST_PIN_EP, s->ep) &&
                            pinned(b, NEST_PIN_ETP, s->etp) && pinned(b, NEST_PIN_SP, sp) &&
                            pinned(b, NEST_PIN_MICRO_BATCH, s->micro_batch) &&
                            widest % s->etp == 0) {
                            each_grid(b);
                        }
                    }
                }
            }
        }
    }
}

static void enumerate(struct brute *b)
{
    const int64_t heads = b->problem->model->spec->heads;
    b->plan.stage = b->stage;
    if (b->problem->allow_stage_tp) {
        for (int64_t tp = 1; tp <= heads; tp++) {
            if (heads % tp == 0 && pinned(b, NEST_PIN_TP, tp)) {
                b->candidate[b->candidates++] = tp;
            }
        }
        if (b->candidates > 0) {
            each_family(b);
        }
        return;
    }
    for (int64_t tp = 1; tp <= heads; tp++) {
        if (heads % tp == 0 && pinned(b, NEST_PIN_TP, tp)) {
            b->candidates = 1;
            b->candidate[0] = tp;
            each_family(b);
        }
    }
}

static void describe(const char *who, bool found, const struct nest_plan *plan, nest_ps step)
{
    if (!found) {
        print_error("%s: infeasible\n", who);
        return;
    }
    const struct nest_strategy *s = &plan->strategy;
    print_error("%s: step %" PRId64 " tp %" PRId64 " cp %" PRId64 " ep %" PRId64 " etp %" PRId64
                " sp %d mb %" PRId64 " v %" PRId64 " zero %d shard %" PRId64 " in %" PRId64
                " out %" PRId64 " span %" PRId64 " of selection %d pp %d:",
                who, step, s->tp, s->cp, s->ep, s->etp, s->sp, s->micro_batch, s->virtual_stages,
                s->zero, s->shard, s->dp_in, s->dp_out, s->span, s->selection, plan->stages);
    for (int i = 0; i < plan->stages; i++) {
        const struct nest_plan_stage *t = &plan->stage[i];
        print_error(" [%" PRId64 "-%" PRId64 " r%d z%d tp%" PRId64 " @%" PRId64 "]",
                    t->layers[0].low, t->layers[0].high, t->recompute, t->zero, t->tp,
                    t->first_device);
    }
    print_error("\n");
}

static void expect(const struct nest_result *result, bool found, const struct nest_plan *plan,
                   nest_ps step, uint64_t seed, const char *what)
{
    const struct nest_solution *got = result->solution;
    const bool same =
        (result->count > 0) == found &&
        (!found || (nest_plan_compare(&got->plan, got->prediction.step, plan, step) == 0 &&
                    got->prediction.feasible));
    if (!same) {
        describe("brute force", found, plan, step);
        describe(what, result->count > 0, result->count ? &got->plan : plan,
                 result->count ? got->prediction.step : 0);
        fail_msg("instance of seed %" PRIu64, seed);
    }
}

/* What a property test saw. */
struct seen {
    int found;     /* feasible instances */
    int mixed;     /* of them on mixed clusters */
    int without;   /* of those best without some kind of device */
    int64_t plans; /* by brute force */
};

enum family { PLAIN, MIXED, BRANCHING };

static void check_instance(uint64_t seed, enum family family, struct seen *seen)
{
    struct test_small made;
    struct nest_arena keep = NEST_ARENA_INIT;
    struct nest_arena scratch = NEST_ARENA_INIT;
    struct nest_arena arena = NEST_ARENA_INIT;
    if (family == MIXED) {
        test_small_mixed(&made, seed, 6);
    } else {
        test_small_problem(&made, seed, family == BRANCHING ? 5 : 7);
    }
    if (family == BRANCHING) {
        test_small_branch(&made, seed);
    }
    struct brute b = {.problem = &made.problem, .keep = &keep, .scratch = &scratch};
    enumerate(&b);
    const struct nest_solve_options how[] = {
        {.top = 1, .threads = 1},
        {.top = 1, .threads = 1, .exhaustive = true},
        {.top = 1, .threads = 3},
        {.top = 4, .threads = 1},
    };
    static const char *const name[] = {"bounded", "exhaustive", "3 threads", "top 4"};
    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
        struct nest_result result;
        const enum nest_status status = nest_solve(&made.problem, &how[i], &arena, &result);
        if (status != (b.found ? NEST_OK : NEST_NO)) {
            describe("brute force", b.found, &b.best, b.step);
            fail_msg("%s: status %d, instance of seed %" PRIu64, name[i], status, seed);
        }
        expect(&result, b.found, &b.best, b.step, seed, name[i]);
    }
    seen->found += b.found;
    seen->mixed += b.found && made.cluster.tree.kinds > 1;
    seen->without += b.found && b.best.strategy.selection > 0;
    seen->plans += b.plans;
    nest_arena_free(&keep);
    nest_arena_free(&scratch);
    nest_arena_free(&arena);
    test_small_free(&made);
}

static void search_equals_brute_force(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(300);
    struct seen seen = {0};
    for (int i = 0; i < instances; i++) {
        check_instance(seed + (uint64_t)i, PLAIN, &seen);
    }
    print_message("%d instances from seed %" PRIu64 ": %d feasible, %" PRId64
                  " plans by brute force\n",
                  instances, seed, seen.found, seen.plans);
    assert_true(seen.found > instances / 5);
}

/* Clusters of unlike devices and links: plans may use all of them, the first of them, or leave some
 * kinds out. */
static void mixed_clusters_equal_brute_force(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(30);
    struct seen seen = {0};
    for (int i = 0; i < instances; i++) {
        check_instance(seed + (uint64_t)i, MIXED, &seen);
    }
    print_message("%d instances from seed %" PRIu64
                  ": %d feasible, %d of them mixed, %d best without some kind, %" PRId64
                  " plans by brute force\n",
                  instances, seed, seen.found, seen.mixed, seen.without, seen.plans);
    assert_true(seen.mixed > instances / 10);
    assert_true(seen.without > instances / 100);
}

/* Image towers, encoder-decoders and graphs of measured layers. */
static void branching_models_equal_brute_force(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(200);
    struct seen seen = {0};
    for (int i = 0; i < instances; i++) {
        check_instance(seed + (uint64_t)i, BRANCHING, &seen);
    }
    print_message("%d instances from seed %" PRIu64 ": %d feasible, %" PRId64
                  " plans by brute force\n",
                  instances, seed, seen.found, seen.plans);
    assert_true(seen.found > instances / 5);
}

/* What must be changed is said, and true: the named memory limit is feasible and a byte less is not
 * feasible by the plan that needs it. */
static void infeasible_says_why(void **state)
{
    (void)state;
    struct test_small made;
    struct nest_arena arena = NEST_ARENA_INIT;
    test_small_problem(&made, 1, 7);
    memset(&made.problem.pins, 0, sizeof made.problem.pins);
    const struct nest_solve_options options = {.top = 1, .threads = 1};
    struct nest_result result;
    made.problem.memory_limit = 4096;
    assert_int_equal(nest_solve(&made.problem, &options, &arena, &result), NEST_NO);
    assert_int_equal(result.errors.count, 1);
    assert_non_null(strstr(result.errors.item[0].message, "no plan fits in "));
    assert_non_null(strstr(result.errors.item[0].hint, "allow a memory limit of"));
    made.problem.pins.pin[NEST_PIN_TP].count = 1;
    made.problem.pins.pin[NEST_PIN_TP].range[0] = (struct nest_range){3, 3};
    assert_int_equal(nest_solve(&made.problem, &options, &arena, &result), NEST_NO);
    assert_non_null(strstr(result.errors.item[0].message, "tp 3 "));
    nest_arena_free(&arena);
    test_small_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infeasible_says_why),
        cmocka_unit_test(search_equals_brute_force),
        cmocka_unit_test(mixed_clusters_equal_brute_force),
        cmocka_unit_test(branching_models_equal_brute_force),
    };
    return cmocka_run_group_tests_name("solve", tests, NULL, NULL);
}
