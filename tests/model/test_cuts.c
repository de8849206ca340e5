/* Cuts of graphs that branch, by hand and against all subsets of the layers. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "support/cluster.h"
#include "support/seed.h"

enum { LAYERS_MAX = 9, EDGES_MAX = LAYERS_MAX * LAYERS_MAX };

struct graph {
    struct nest_arena arena;
    int layers, edges;
    struct nest_edge_spec edge[EDGES_MAX];
    struct nest_cuts cuts;
    struct nest_crossing crossing;
};

static void list(struct graph *g)
{
    assert_int_equal(nest_cuts_list(g->edge, g->edges, g->layers, &g->arena, &g->cuts), NEST_OK);
    assert_int_equal(nest_cuts_crossing(&g->cuts, g->edge, g->edges, &g->arena, &g->crossing),
                     NEST_OK);
}

/* The producers whose tensors cross a cut, as a set. */
static uint64_t crossing_set(const struct graph *g, int cut)
{
    uint64_t set = 0;
    for (int i = g->crossing.from[cut]; i < g->crossing.from[cut + 1]; i++) {
        assert_false(set >> g->crossing.layer[i] & 1); /* once */
        set |= UINT64_C(1) << g->crossing.layer[i];
    }
    return set;
}

static void assert_cuts(const struct graph *g, int count, const uint64_t (*expected)[2])
{
    assert_int_equal(g->cuts.count, count);
    for (int c = 0; c < count; c++) {
        assert_int_equal(*nest_cut_set(&g->cuts, c), expected[c][0]);
        assert_int_equal(crossing_set(g, c), expected[c][1]);
    }
}

/* 0 feeds 1 and 2, both feed 3. Its tensor crosses the first cut once, and stays alive while only
 * one of the two has run. */
static void a_diamond_has_six_cuts(void **state)
{
    (void)state;
    struct graph g = {.arena = NEST_ARENA_INIT,
                      .layers = 4,
                      .edges = 4,
                      .edge = {{0, 1}, {0, 2}, {1, 3}, {2, 3}}};
    static const uint64_t expected[6][2] = {{0x0, 0x0}, {0x1, 0x1}, {0x3, 0x3},
                                            {0x5, 0x5}, {0x7, 0x6}, {0xf, 0x0}};
    list(&g);
    assert_cuts(&g, 6, expected);
    nest_arena_free(&g.arena);
}

/* 0 → 1 → 2 → 3, and 0 → 3: a chain of cuts that all carry the first tensor along. */
static void a_skip_connection_crosses_every_cut(void **state)
{
    (void)state;
    struct graph g = {.arena = NEST_ARENA_INIT,
                      .layers = 4,
                      .edges = 4,
                      .edge = {{0, 1}, {0, 3}, {1, 2}, {2, 3}}};
    static const uint64_t expected[5][2] = {
        {0x0, 0x0}, {0x1, 0x1}, {0x3, 0x3}, {0x7, 0x5}, {0xf, 0x0}};
    list(&g);
    assert_cuts(&g, 5, expected);
    nest_arena_free(&g.arena);
}

/* Two towers of 2 and 3 layers side by side, joined: 3 * 4 cuts before the join, and all. */
static void towers_multiply(void **state)
{
    (void)state;
    struct graph g = {.arena = NEST_ARENA_INIT,
                      .layers = 6,
                      .edges = 5,
                      .edge = {{0, 1}, {1, 5}, {2, 3}, {3, 4}, {4, 5}}};
    list(&g);
    assert_int_equal(g.cuts.count, 3 * 4 + 1);
    const uint64_t mixed = 0x1 | 0x4 | 0x8; /* 0 of the one; 2 and 3 of the other */
    const int cut = nest_cut_find(&g.cuts, &mixed);
    assert_true(cut > 0);
    assert_int_equal(crossing_set(&g, cut), 0x1 | 0x8);
    const uint64_t none = 0x2;
    assert_int_equal(nest_cut_find(&g.cuts, &none), -1);
    assert_int_equal(nest_graph_width(g.edge, g.edges, g.layers, &g.arena), 2);
    nest_arena_free(&g.arena);
}

static bool is_closed(const struct graph *g, uint64_t set)
{
    for (int e = 0; e < g->edges; e++) {
        if (set >> g->edge[e].to & 1 && !(set >> g->edge[e].from & 1)) {
            return false;
        }
    }
    return true;
}

static uint64_t alive_set(const struct graph *g, uint64_t set)
{
    uint64_t alive = 0;
    for (int e = 0; e < g->edges; e++) {
        if (set >> g->edge[e].from & 1 && !(set >> g->edge[e].to & 1)) {
            alive |= UINT64_C(1) << g->edge[e].from;
        }
    }
    return alive;
}

static int size_of(uint64_t set)
{
    int size = 0;
    for (; set; set &= set - 1) {
        size++;
    }
    return size;
}

/* Cuts ascend: by size, then the set with the first layer that the other lacks. */
static void assert_order(uint64_t before, uint64_t after)
{
    const uint64_t differ = before ^ after;
    assert_true(size_of(before) < size_of(after) ||
                (size_of(before) == size_of(after) && before & differ & (~differ + 1)));
}

static void check_graph(struct graph *g)
{
    int closed = 0;
    list(g);
    for (uint64_t set = 0; set < UINT64_C(1) << g->layers; set++) {
        const int cut = nest_cut_find(&g->cuts, &set);
        assert_int_equal(cut >= 0, is_closed(g, set));
        closed += cut >= 0;
        if (cut >= 0) {
            assert_int_equal(crossing_set(g, cut), alive_set(g, set));
        }
    }
    assert_int_equal(g->cuts.count, closed);
    for (int c = 1; c < g->cuts.count; c++) {
        const uint64_t set = *nest_cut_set(&g->cuts, c);
        const uint64_t parent = *nest_cut_set(&g->cuts, g->cuts.parent[c]);
        assert_order(*nest_cut_set(&g->cuts, c - 1), set);
        assert_int_equal(set ^ parent, UINT64_C(1) << g->cuts.added[c]);
        assert_true(g->cuts.first[size_of(set)] <= c && c < g->cuts.first[size_of(set) + 1]);
        for (int b = 0; b < g->cuts.count; b++) {
            const uint64_t other = *nest_cut_set(&g->cuts, b);
            assert_int_equal(nest_cut_within(&g->cuts, b, c), (other & ~set) == 0);
        }
    }
    for (int i = 0; i <= g->layers; i++) {
        assert_int_equal(*nest_cut_set(&g->cuts, g->cuts.first[i]), (UINT64_C(1) << i) - 1);
    }
}

static void cuts_are_the_closed_subsets(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int graphs = test_instances(300);
    for (int n = 0; n < graphs; n++) {
        struct test_random random = {seed + (uint64_t)n * UINT64_C(0x9E3779B97F4A7C15)};
        struct graph g = {.arena = NEST_ARENA_INIT};
        g.layers = 1 + (int)test_random_below(&random, LAYERS_MAX);
        const int64_t sparse = 1 + test_random_below(&random, 6);
        for (int from = 0; from < g.layers; from++) {
            for (int to = from + 1; to < g.layers; to++) {
                if (test_random_below(&random, sparse) == 0) {
                    g.edge[g.edges++] = (struct nest_edge_spec){from, to};
                }
            }
        }
        check_graph(&g);
        nest_arena_free(&g.arena);
    }
}

/* Two chains side by side have (a + 1)(b + 1) cuts: 63 * 65 are 4,095, 64 * 65 too many. */
static void the_limit_is_exact(void **state)
{
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        struct nest_arena arena = NEST_ARENA_INIT;
        struct nest_edge_spec edge[200];
        struct nest_cuts cuts;
        int edges = 0;
        const int first = 62 + longer;
        const int layers = first + 64;
        for (int i = 0; i + 1 < layers; i++) {
            if (i + 1 != first) {
                edge[edges++] = (struct nest_edge_spec){i, i + 1};
            }
        }
        assert_int_equal(nest_cuts_list(edge, edges, layers, &arena, &cuts),
                         longer ? NEST_NO : NEST_OK);
        if (!longer) {
            assert_int_equal(cuts.count, 63 * 65);
        }
        nest_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_diamond_has_six_cuts),
        cmocka_unit_test(a_skip_connection_crosses_every_cut),
        cmocka_unit_test(towers_multiply),
        cmocka_unit_test(cuts_are_the_closed_subsets),
        cmocka_unit_test(the_limit_is_exact),
    };
    return cmocka_run_group_tests_name("cuts", tests, NULL, NULL);
}
