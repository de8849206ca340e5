/* The recurrence against brute force: every span, place, split, recompute mode, ZeRO stage and
 * width of small random chains and branching graphs. The two share the stage cost and nothing else;
 * brute force deals the layers of a graph out to the stages one by one. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "solve/recurrence.h"
#include "support/cluster.h"
#include "support/places.h"
#include "support/seed.h"

enum { LAYERS_MAX = 7, STAGES_MAX = 4, PHASES = 3, WIDTHS_MAX = 2, ZEROS_MAX = 2 };

/* One instance: a cluster, a strategy, and a table for every way in which stages may differ. */
struct instance {
    struct nest_arena arena;
    struct test_cluster made;
    struct nest_cluster cluster;
    struct nest_strategy strategy;
    int layers, stages, modes, zeros, widths, phases;
    int64_t tp[WIDTHS_MAX];
    enum nest_recompute mode[NEST_RECOMPUTES];
    int kind_of[LAYERS_MAX];
    int edges;
    struct nest_edge_spec edge[LAYERS_MAX * LAYERS_MAX]; /* of a graph */
    struct nest_cuts cuts;
    bool graph;
    int64_t microbatches, memory_limit;
    struct nest_cost_table table[PHASES][WIDTHS_MAX][ZEROS_MAX];
};

/* A plan of either side, in the order in which plans are compared. */
struct answer {
    bool found;
    nest_ps step;
    int64_t used, span;
    int64_t stage[STAGES_MAX]
                 [5]; /* last layer (cut behind, less one), mode, zero, tp, first device */
};

/* ---- Random instances ---- */

static void fill_layers(struct test_random *random, const struct instance *in,
                        struct nest_cost_table *table, int mode, struct nest_layer_sum *own)
{
    for (int i = 0; i < in->layers; i++) {
        if (i > 0 && in->kind_of[i] == in->kind_of[i - 1]) {
            own[i] = own[i - 1];
            table->working[mode][i] = table->working[mode][i - 1];
            table->gathered[mode][i] = table->gathered[mode][i - 1];
            continue;
        }
        own[i] = (struct nest_layer_sum){
            .fw = test_random_below(random, 12),
            .bw = test_random_below(random, 25),
            .weights = test_random_below(random, 20),
            .activations = test_random_below(random, 12) / (mode + 1),
            .dense_sync = test_random_below(random, 30),
            .optimized = test_random_below(random, 9),
        };
        table->working[mode][i] = test_random_below(random, 10);
        table->gathered[mode][i] = test_random_below(random, 6);
    }
}

static void add_layer(struct nest_layer_sum *sum, const struct nest_layer_sum *own)
{
    sum->fw += own->fw;
    sum->bw += own->bw;
    sum->weights += own->weights;
    sum->activations += own->activations;
    sum->dense_sync += own->dense_sync;
    sum->optimized += own->optimized;
}

static bool is_before(const struct instance *in, int cut, int layer)
{
    return in->graph ? nest_cut_has(&in->cuts, cut, layer) : layer < cut;
}

static void fill_sums(struct test_random *random, const struct instance *in,
                      struct nest_cost_table *table)
{
    for (int m = 0; m < NEST_RECOMPUTES; m++) {
        struct nest_layer_sum own[LAYERS_MAX];
        fill_layers(random, in, table, m, own);
        for (int c = 0; c < table->cuts; c++) {
            for (int i = 0; i < in->layers; i++) {
                if (is_before(in, c, i)) {
                    add_layer(&table->sum[m][c], &own[i]);
                }
            }
        }
    }
}

/* In a chain equal layers send equal tensors. So do tables of one width. */
static void fill_transfers(struct test_random *random, const struct instance *in,
                           struct nest_cost_table *table, const struct nest_cost_table *same_width)
{
    const int levels = in->cluster.levels;
    for (int i = 0; i + 1 < table->cuts; i++) {
        const bool equal = !in->graph && i > 0 && in->kind_of[i] == in->kind_of[i - 1];
        for (int l = 0; l < levels; l++) {
            const int at = i * levels + l;
            table->transfer[at] = same_width ? same_width->transfer[at]
                                  : equal    ? table->transfer[at - levels]
                                             : test_random_below(random, 15);
        }
    }
}

static void fill_table(struct test_random *random, struct instance *in,
                       struct nest_cost_table *table, const struct nest_cost_table *same_width)
{
    void *memory = nest_arena_alloc(
        &in->arena, 1,
        nest_cost_table_bytes(in->layers, in->graph ? &in->cuts : NULL, in->cluster.levels));
    nest_cost_table_init(in->layers, in->graph ? &in->cuts : NULL, in->cluster.levels, memory,
                         table);
    fill_sums(random, in, table);
    fill_transfers(random, in, table, same_width);
    table->sync_parts = 1;
    table->sync[0].time =
        (struct nest_lines){1, {0}, {(double)test_random_below(random, 4) * 1e-12}};
    table->optimizer_seconds = (double)test_random_below(random, 3) * 1e-12;
    table->dp_overlap = test_random_below(random, 2) ? 1.0 : 0.0;
    table->reserve = test_random_below(random, 5);
    table->reserve_pipeline = test_random_below(random, 9);
    table->tied.weights = test_random_below(random, 2) * 7;
    table->tied.dense_sync = table->tied.weights;
    table->tied_time = test_random_below(random, 2) * 11;
}

/* What a script may say of memory: bytes that wait with a microbatch, and such of a stage's first
 * layer alone, so that a stage may fit where a part of it does not. */
static void add_waiting(struct test_random *random, const struct instance *in,
                        struct nest_cost_table *table)
{
    for (int m = 0; m < NEST_RECOMPUTES; m++) {
        int64_t waiting[LAYERS_MAX];
        for (int i = 0; i < in->layers; i++) {
            const bool same = i > 0 && in->kind_of[i] == in->kind_of[i - 1];
            waiting[i] = same ? waiting[i - 1] : test_random_below(random, 6);
            const int64_t own = test_random_below(random, 2) ? test_random_below(random, 60) : 0;
            table->entering[m][i] = same ? table->entering[m][i - 1] : own;
        }
        for (int c = 0; c < table->cuts; c++) {
            for (int i = 0; i < in->layers; i++) {
                table->sum[m][c].waiting += is_before(in, c, i) ? waiting[i] : 0;
            }
        }
    }
}

/* Edges at random, some graphs sparse, some nearly a chain. */
static void make_graph(struct test_random *random, struct instance *in)
{
    const int64_t sparse = 2 + test_random_below(random, 4);
    for (int from = 0; from < in->layers; from++) {
        for (int to = from + 1; to < in->layers; to++) {
            if (test_random_below(random, sparse) == 0) {
                in->edge[in->edges++] = (struct nest_edge_spec){from, to};
            }
        }
    }
    assert_int_equal(nest_cuts_list(in->edge, in->edges, in->layers, &in->arena, &in->cuts),
                     NEST_OK);
}

static void make_instance(struct test_random *random, bool graph, struct instance *in)
{
    *in = (struct instance){.arena = NEST_ARENA_INIT, .graph = graph};
    const int64_t most = 6 + test_random_below(random, 26);
    if (test_random_below(random, 2)) {
        test_cluster_uniform(&in->made, random, most);
    } else {
        test_cluster_irregular(&in->made, random, most);
    }
    in->cluster = in->made.tree;
    const int stages = graph ? STAGES_MAX - 1 : STAGES_MAX;
    in->layers = 1 + (int)test_random_below(random, graph ? LAYERS_MAX - 1 : LAYERS_MAX);
    in->stages = 1 + (int)test_random_below(random, stages < in->layers ? stages : in->layers);
    in->modes = 1 + (int)test_random_below(random, graph ? NEST_RECOMPUTES - 1 : NEST_RECOMPUTES);
    for (int m = 0; m < in->modes; m++) {
        in->mode[m] = (enum nest_recompute)m;
    }
    in->zeros = 1 + (int)test_random_below(random, ZEROS_MAX);
    in->widths = 1 + (test_random_below(random, 3) == 0);
    in->tp[0] = 1 + test_random_below(random, 2);
    in->tp[1] = in->tp[0] * 2;
    in->phases = 1 + (int)test_random_below(random, PHASES);
    for (int i = 1; i < in->layers; i++) {
        in->kind_of[i] = in->kind_of[i - 1] + (test_random_below(random, 2) == 0);
    }
    if (graph) {
        make_graph(random, in);
    }
    in->strategy = (struct nest_strategy){
        .tp = in->tp[0],
        .cp = 1 + (test_random_below(random, 4) == 0),
        .ep = 1,
        .etp = 1,
        .micro_batch = 1,
        .virtual_stages = 1,
        .dp_in = 1 + test_random_below(random, 1 + test_random_below(random, 3)),
        .dp_out = 1 + test_random_below(random, 1 + test_random_below(random, 3)),
    };
    in->microbatches = 1 + test_random_below(random, 6);
    in->memory_limit = 40 + test_random_below(random, 400);
    for (int p = 0; p < in->phases; p++) {
        for (int w = 0; w < in->widths; w++) {
            for (int z = 0; z < in->zeros; z++) {
                fill_table(random, in, &in->table[p][w][z], p + z > 0 ? &in->table[0][w][0] : NULL);
            }
        }
    }
}

/* The table of a stage by where it sits; any function of the position will do. */
static const struct nest_cost_table *table_at(const struct instance *in, int64_t span, int64_t x,
                                              int width, int zero)
{
    return &in->table[(x + span) % in->phases][width][zero];
}

/* ---- The answer of the recurrence ---- */

static void attach_tables(const struct instance *in, int64_t span, struct nest_layout *layout)
{
    for (int s = 1; s <= layout->stages; s++) {
        for (int p = 0; p < layout->count[s]; p++) {
            struct nest_place *place = &layout->place[s][p];
            for (int z = 0; z < in->zeros; z++) {
                place->table[z] = table_at(in, span, place->x, place->width, z);
            }
        }
    }
}

static void answer_with(const struct instance *in, int64_t span, nest_ps step,
                        const struct nest_chosen *chosen, struct answer *out)
{
    *out = (struct answer){.found = true, .step = step, .span = span};
    for (int i = 0; i < in->stages; i++) {
        out->stage[i][0] = chosen[i].last;
        out->stage[i][1] = (int64_t)chosen[i].recompute;
        out->stage[i][2] = chosen[i].zero;
        out->stage[i][3] = in->tp[chosen[i].place->width];
        out->stage[i][4] = chosen[i].place->x;
        out->used += out->stage[i][3];
    }
}

static int compare(const struct answer *a, const struct answer *b)
{
    if (a->found != b->found) {
        return a->found ? -1 : 1;
    }
    int64_t difference = a->step != b->step   ? a->step - b->step
                         : a->used != b->used ? a->used - b->used
                                              : a->span - b->span;
    const int64_t *x = &a->stage[0][0];
    const int64_t *y = &b->stage[0][0];
    for (int i = 0; difference == 0 && i < STAGES_MAX * 5; i++) {
        difference = x[i] - y[i];
    }
    return difference < 0 ? -1 : difference > 0;
}

static struct answer solve(struct instance *in, struct nest_recurrence *scratch, nest_ps limit)
{
    struct answer best = {0};
    int spans;
    const int64_t *span = nest_layout_spans(&in->cluster, &in->strategy, in->stages, in->widths,
                                            in->tp, &in->arena, &spans);
    for (int k = 0; k < spans; k++) {
        struct nest_strategy strategy = in->strategy;
        strategy.span = span[k];
        struct nest_layout layout;
        assert_true(nest_layout_build(&in->cluster, &strategy, in->stages, in->widths, in->tp,
                                      in->zeros, false, &in->arena, &layout));
        attach_tables(in, span[k], &layout);
        struct nest_chain chain = {
            .layout = &layout,
            .layers = in->graph ? in->cuts.count - 1 : in->layers,
            .cuts = in->graph ? &in->cuts : NULL,
            .kind_of = in->kind_of,
            .modes = in->modes,
            .zeros = in->zeros,
            .frame = {.microbatches = in->microbatches, .virtual_stages = 1},
            .memory_limit = in->memory_limit,
        };
        memcpy(chain.mode, in->mode, sizeof chain.mode);
        struct nest_chosen chosen[STAGES_MAX];
        nest_ps step;
        if (nest_recurrence_solve(scratch, &chain, limit, &step, chosen) == NEST_OK) {
            struct answer a;
            answer_with(in, span[k], step, chosen, &a);
            best = compare(&a, &best) < 0 ? a : best;
        }
    }
    return best;
}

/* ---- Brute force ---- */

struct brute {
    struct instance *in;
    int64_t span;
    int64_t x[STAGES_MAX];
    int width[STAGES_MAX];
    int first[STAGES_MAX + 1]; /* the cut in front of each stage */
    int stage_of[LAYERS_MAX];
    int mode[STAGES_MAX], zero[STAGES_MAX];
    struct answer best;
    int64_t plans;
};

static int64_t block(const struct instance *in, int width)
{
    return in->tp[width] * in->strategy.cp * in->strategy.dp_in;
}

/* Worst level over all pairs, device by device. */
static int link_level(const struct brute *b, int i)
{
    const struct instance *in = b->in;
    const bool equal = b->width[i] == b->width[i + 1];
    const int64_t wide = block(in, b->width[i]) / in->strategy.dp_in;
    const int64_t next = block(in, b->width[i + 1]) / in->strategy.dp_in;
    int worst = 0;
    for (int64_t o = 0; o < in->strategy.dp_out; o++) {
        for (int64_t r = 0; r < in->strategy.dp_in; r++) {
            for (int64_t p = 0; p < wide; p++) {
                for (int64_t q = equal ? p : 0; q < (equal ? p + 1 : next); q++) {
                    const int level =
                        nest_cluster_meet(&in->cluster, o * b->span + b->x[i] + r * wide + p,
                                          o * b->span + b->x[i + 1] + r * next + q);
                    worst = level > worst ? level : worst;
                }
            }
        }
    }
    return worst;
}

static nest_ps boundary(const struct brute *b, int i, const int *level)
{
    const int width = b->width[i] < b->width[i + 1] ? b->width[i] : b->width[i + 1];
    const struct nest_cost_table *table = &b->in->table[0][width][0];
    return table->transfer[(b->first[i + 1] - 1) * table->levels + level[i]];
}

static void judge(struct brute *b, const int *level)
{
    const struct instance *in = b->in;
    const int64_t m = in->microbatches;
    nest_ps most = 0;
    nest_ps sum = 0;
    nest_ps late = 0;
    nest_ps drained = 0;
    struct answer a = {.found = true, .span = b->span};
    for (int i = 0; i < in->stages; i++) {
        const int from_end = in->stages - i;
        const struct nest_stage_query query = {
            .first = b->first[i],
            .last = b->first[i + 1] - 1,
            .recompute = in->mode[b->mode[i]],
            .in_level = i > 0 ? level[i - 1] : -1,
            .out_level = i + 1 < in->stages ? level[i] : -1,
            .in_flight = from_end < m ? from_end : m,
        };
        struct nest_stage_cost cost;
        nest_stage_cost(table_at(in, b->span, b->x[i], b->width[i], b->zero[i]), &query, &cost);
        if (cost.memory.total > in->memory_limit) {
            return;
        }
        const nest_ps from = i > 0 ? boundary(b, i - 1, level) : 0;
        const nest_ps to = i + 1 < in->stages ? boundary(b, i, level) : 0;
        const nest_ps load = cost.fw + cost.bw + from + to;
        most = load > most ? load : most;
        sum += load;
        const nest_ps tail = cost.sync + cost.optimizer - drained;
        late = tail > late ? tail : late;
        drained += cost.bw + to;
        a.stage[i][0] = b->first[i + 1] - 1;
        a.stage[i][1] = (int64_t)in->mode[b->mode[i]];
        a.stage[i][2] = b->zero[i];
        a.stage[i][3] = in->tp[b->width[i]];
        a.stage[i][4] = b->x[i];
        a.used += a.stage[i][3];
    }
    const nest_ps tied =
        in->stages > 1 ? table_at(in, b->span, b->x[0], b->width[0], 0)->tied_time : 0;
    a.step = m * most + sum - most + late + tied;
    b->plans++;
    if (compare(&a, &b->best) < 0) {
        b->best = a;
    }
}

static void each_option(struct brute *b, int i, const int *level)
{
    if (i == b->in->stages) {
        judge(b, level);
        return;
    }
    for (b->mode[i] = 0; b->mode[i] < b->in->modes; b->mode[i]++) {
        for (b->zero[i] = 0; b->zero[i] < b->in->zeros; b->zero[i]++) {
            each_option(b, i + 1, level);
        }
    }
}

/* The cut in front of stage i. */
static int cut_before(const struct brute *b, int i)
{
    uint64_t set = 0;
    for (int layer = 0; layer < b->in->layers; layer++) {
        set |= (uint64_t)(b->stage_of[layer] < i) << layer;
    }
    return nest_cut_find(&b->in->cuts, &set);
}

static bool is_dealt(const struct brute *b)
{
    bool holds[STAGES_MAX] = {false};
    for (int layer = 0; layer < b->in->layers; layer++) {
        holds[b->stage_of[layer]] = true;
    }
    for (int i = 0; i < b->in->stages; i++) {
        if (!holds[i]) {
            return false;
        }
    }
    for (int e = 0; e < b->in->edges; e++) {
        if (b->stage_of[b->in->edge[e].from] > b->stage_of[b->in->edge[e].to]) {
            return false;
        }
    }
    return true;
}

/* Deals the layers of a graph out to the stages. */
static void each_deal(struct brute *b, int layer, const int *level)
{
    if (layer < b->in->layers) {
        for (b->stage_of[layer] = 0; b->stage_of[layer] < b->in->stages; b->stage_of[layer]++) {
            each_deal(b, layer + 1, level);
        }
        return;
    }
    if (is_dealt(b)) {
        for (int i = 0; i <= b->in->stages; i++) {
            b->first[i] = cut_before(b, i);
        }
        each_option(b, 0, level);
    }
}

static void each_split(struct brute *b, int i, const int *level)
{
    const int left = b->in->stages - i;
    if (left == 1) {
        b->first[b->in->stages] = b->in->layers;
        each_option(b, 0, level);
        return;
    }
    for (b->first[i + 1] = b->first[i] + 1; b->first[i + 1] <= b->in->layers - left + 1;
         b->first[i + 1]++) {
        each_split(b, i + 1, level);
    }
}

/* Places the stages from the last one on. Ends that several levels share are tried once. */
static void each_place(struct brute *b, int i)
{
    struct instance *in = b->in;
    if (i < 0) {
        int level[STAGES_MAX];
        for (int j = 0; j + 1 < in->stages; j++) {
            level[j] = link_level(b, j);
        }
        if (in->graph) {
            each_deal(b, 0, level);
        } else if (in->stages <= in->layers) {
            each_split(b, 0, level);
        }
        return;
    }
    const int64_t start = i + 1 < in->stages ? b->x[i + 1] : b->span;
    for (b->width[i] = 0; b->width[i] < in->widths; b->width[i]++) {
        int64_t tried = -1;
        for (int m = -1; m < in->cluster.levels; m++) {
            const int64_t end = test_place_end(&in->cluster, m, start);
            b->x[i] = end - block(in, b->width[i]);
            if (b->x[i] >= 0 && end != tried) {
                each_place(b, i - 1);
            }
            tried = end;
        }
    }
}

static struct answer enumerate(struct instance *in, int64_t *plans)
{
    struct brute b = {.in = in};
    int64_t blocks[WIDTHS_MAX];
    for (int w = 0; w < in->widths; w++) {
        blocks[w] = block(in, w);
    }
    for (b.span = 1; b.span * in->strategy.dp_out <= in->cluster.devices; b.span++) {
        if (test_place_is_span(&in->cluster, in->stages, in->widths, blocks, b.span)) {
            each_place(&b, in->stages - 1);
        }
    }
    *plans += b.plans;
    return b.best;
}

/* ---- Tests ---- */

static void fail_with(const struct answer *a, const struct answer *b, uint64_t seed)
{
    const struct answer *both[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        print_error("%s found %d step %" PRId64 " used %" PRId64 " span %" PRId64 ":",
                    k ? "brute force" : "recurrence ", both[k]->found, both[k]->step, both[k]->used,
                    both[k]->span);
        for (int i = 0; i < STAGES_MAX; i++) {
            const int64_t *s = both[k]->stage[i];
            print_error(" [%" PRId64 " m%" PRId64 " z%" PRId64 " tp%" PRId64 " x%" PRId64 "]", s[0],
                        s[1], s[2], s[3], s[4]);
        }
        print_error("\n");
    }
    fail_msg("instance of seed %" PRIu64, seed);
}

static void check_seed(uint64_t seed, bool graph, bool waits, struct nest_recurrence *scratch,
                       int64_t *plans, int *found)
{
    struct test_random random = {seed * UINT64_C(0x9E3779B97F4A7C15)};
    struct instance in;
    make_instance(&random, graph, &in);
    in.microbatches += waits;
    in.memory_limit /= waits ? 3 : 1;
    for (int i = 0; waits && i < in.phases * in.widths * in.zeros; i++) {
        const int rest = i % (in.widths * in.zeros);
        add_waiting(&random, &in,
                    &in.table[i / (in.widths * in.zeros)][rest / in.zeros][rest % in.zeros]);
    }
    const struct answer expected = enumerate(&in, plans);
    const struct answer free_answer = solve(&in, scratch, NEST_PS_MAX);
    if (compare(&free_answer, &expected) != 0) {
        fail_with(&free_answer, &expected, seed);
    }
    if (expected.found) {
        *found += 1;
        const struct answer bounded = solve(&in, scratch, expected.step);
        if (compare(&bounded, &expected) != 0) {
            fail_with(&bounded, &expected, seed);
        }
        assert_false(solve(&in, scratch, expected.step - 1).found);
    }
    nest_arena_free(&in.arena);
    test_cluster_free(&in.made);
}

static void check_instances(bool graph, bool waits)
{
    struct nest_recurrence *scratch = nest_recurrence_create();
    const uint64_t seed = test_seed();
    const int instances = test_instances(waits ? 4000 : graph ? 10000 : 12000);
    int64_t plans = 0;
    int found = 0;
    for (int i = 0; i < instances; i++) {
        check_seed(seed + (uint64_t)i, graph, waits, scratch, &plans, &found);
    }
    print_message("%d %s from seed %" PRIu64 ": %d feasible, %" PRId64 " plans by brute force\n",
                  instances, graph ? "graphs" : "chains", seed, found, plans);
    assert_true(found > instances / 4);
    nest_recurrence_free(scratch);
}

static void chains_equal_brute_force(void **state)
{
    (void)state;
    check_instances(false, false);
}

static void graphs_equal_brute_force(void **state)
{
    (void)state;
    check_instances(true, false);
}

static void stages_may_need_less_than_their_parts(void **state)
{
    (void)state;
    check_instances(false, true);
    check_instances(true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_equal_brute_force),
        cmocka_unit_test(graphs_equal_brute_force),
        cmocka_unit_test(stages_may_need_less_than_their_parts),
    };
    return cmocka_run_group_tests_name("recurrence", tests, NULL, NULL);
}
