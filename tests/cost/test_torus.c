/* Tori with answers worked by hand, from their files to the times of collectives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cost/strategy.h"
#include "input/graph.h"
#include "support/input.h"

static const double LINK = 50e9; /* bytes/s, each direction */
static const double BYTES = 1e9;

struct torus {
    struct test_input input;
    struct nest_scenario_spec scenario;
    struct nest_cluster tree;
};

/* The torus of a file, its device without losses and launches. */
static void open_torus(struct torus *t, const char *shape)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "model: llama3-8b\ncluster:\n"
                   "  device: tpu-v4\n"
                   "  levels:\n"
                   "    - {name: ici, kind: torus, %s, bandwidth: 50GB/s, latency: 0us}\n",
                   shape);
    test_input_begin(&t->input);
    if (test_input_scenario(&t->input, text, &t->scenario) != NEST_OK) {
        fail_msg("%s", test_input_faults(&t->input));
    }
    t->scenario.device.network_efficiency = 1.0;
    t->scenario.device.scale_up_efficiency = 1.0;
    t->scenario.device.collective_launch = 0.0;
    t->scenario.cluster.device = &t->scenario.device;
    assert_int_equal(
        nest_cluster_build(&t->scenario.cluster, 0, &t->input.arena, &t->tree, &t->input.errors),
        NEST_OK);
}

static void close_torus(struct torus *t)
{
    test_input_end(&t->input);
}

/* One collective over all devices, in picoseconds per byte. */
static double price(const struct torus *t, enum nest_collective kind)
{
    const int64_t n = t->tree.devices;
    const struct nest_strategy s = {
        .tp = 1, .cp = 1, .ep = n, .etp = 1, .dp_in = n, .dp_out = 1, .span = n};
    struct nest_placement at;
    nest_placement_at(&t->tree, &s, 0, &at);
    const struct nest_comm *comm = kind == NEST_ALL_TO_ALL ? &at.ep : &at.dense;
    return nest_to_seconds(nest_collective_time(&t->tree, kind, comm, BYTES)) / BYTES * 1e12;
}

static void near(double got, double want)
{
    if (got < want * (1.0 - 1e-6) || got > want * (1.0 + 1e-6)) {
        fail_msg("got %.12g, worked out %.12g", got, want);
    }
}

/* What the half with z < sides[2]/2 can send to the other at once, by max-flow over the links. */
static double bisection(const int sides[3])
{
    enum { LINKS_MOST = 512 };
    static struct nest_graph_link link[LINKS_MOST];
    static bool inside[LINKS_MOST];
    struct nest_graph graph = {.link = link};
    const int n = sides[0] * sides[1] * sides[2];
    for (int d = 0; d < n; d++) {
        int stride = 1;
        for (int k = 0; k < 3; k++) {
            const int at = d / stride % sides[k];
            if (sides[k] > 1) {
                const int next = d + ((at + 1) % sides[k] - at) * stride;
                link[graph.links++] = (struct nest_graph_link){d, next, LINK, 0.0, 1};
            }
            stride *= sides[k];
        }
        inside[d] = d < n / 2;
    }
    graph.devices = graph.nodes = n;
    struct nest_arena arena = NEST_ARENA_INIT;
    const double flow = nest_graph_outflow(&graph, inside, &arena);
    nest_arena_free(&arena);
    return flow;
}

/* 4x4 with wrap-around: each side is a ring of 4 with 2 * 50 = 100 GB/s a device.
 *   all-reduce   along x 2 * 3/4 of the buffer and half of an own quarter, (1.5 + 0.125) / 100 GB/s
 *                = 16.25 ps per byte; along y a quarter as much at the same time. The links of a
 *                device allow no less than 2 * 15/16 / 200 GB/s = 9.4 ps.
 *   bisection    4 rings are cut twice: 8 links, 400 GB/s
 *   all-to-all   8 devices send half of their buffers across: 4 / 400 GB/s = 10 ps per byte */
static void torus_4x4(void **state)
{
    (void)state;
    struct torus t;
    open_torus(&t, "shape: 4x4");
    assert_int_equal(t.tree.levels, 2);
    assert_int_equal(t.tree.level[0].kind, NEST_LEVEL_RING);
    near(t.tree.level[1].bandwidth, 2 * LINK);
    near(price(&t, NEST_ALL_REDUCE), 16.25);
    near(bisection((const int[]){4, 4, 1}), 8 * LINK);
    near(price(&t, NEST_ALL_TO_ALL), 10.0);
    close_torus(&t);
}

/* 4x4x8, two cubes of a TPU v4 pod: the long side is cut twice in 16 rings: 32 links, 1,600 GB/s.
 *   all-to-all   64 devices send half of their buffers across: 32 / 1600 GB/s = 20 ps per byte
 *   all-reduce   as on 4x4: the first side sets the pace, 16.25 ps; links allow 2/300 GB/s = 6.6 */
static void torus_4x4x8(void **state)
{
    (void)state;
    struct torus t;
    open_torus(&t, "shape: [4, 4, 8], wrap: true");
    assert_int_equal(t.tree.devices, 128);
    near(bisection((const int[]){4, 4, 8}), 32 * LINK);
    near(price(&t, NEST_ALL_TO_ALL), 20.0);
    near(price(&t, NEST_ALL_REDUCE), 16.25);
    close_torus(&t);
}

/* Without wrap-around a device at the end of a line has one link a side, 50 GB/s, and so has every
 * device in the model: twice 16.25 ps. With wrap on the second side only, the first one decides. */
static void open_sides_have_one_link(void **state)
{
    (void)state;
    struct torus t;
    open_torus(&t, "shape: 4x4, wrap: false");
    assert_int_equal(t.tree.level[0].kind, NEST_LEVEL_MESH);
    near(price(&t, NEST_ALL_REDUCE), 32.5);
    close_torus(&t);
    open_torus(&t, "shape: 4x4, wrap: [false, true]");
    assert_int_equal(t.tree.level[0].kind, NEST_LEVEL_MESH);
    assert_int_equal(t.tree.level[1].kind, NEST_LEVEL_RING);
    near(t.tree.level[0].bandwidth, LINK);
    near(t.tree.level[1].bandwidth, 2 * LINK);
    near(price(&t, NEST_ALL_REDUCE), 32.5);
    close_torus(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torus_4x4),
        cmocka_unit_test(torus_4x4x8),
        cmocka_unit_test(open_sides_have_one_link),
    };
    return cmocka_run_group_tests_name("torus", tests, NULL, NULL);
}
