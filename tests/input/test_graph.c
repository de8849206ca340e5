/* Graphs that become levels: worked examples, and that the levels never promise more than the
 * fabric carries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "input/graph.h"
#include "support/cluster.h"

enum { MOST = 24, LINKS = 200 };
static const double GB = 1e9;

struct fabric {
    struct nest_graph graph;
    struct nest_graph_link link[LINKS];
    struct nest_arena arena;
    struct nest_device_spec device;
    struct nest_cluster_spec spec;
    struct nest_cluster tree;
    int order[MOST];
    int lost;
};

static void begin(struct fabric *f, int devices, int switches)
{
    memset(f, 0, sizeof *f);
    f->graph =
        (struct nest_graph){.devices = devices, .nodes = devices + switches, .link = f->link};
    f->spec.device = &f->device;
    f->device.network_efficiency = 1.0;
}

static void join(struct fabric *f, int from, int to, double bandwidth, double latency)
{
    assert_true(f->graph.links < LINKS);
    f->link[f->graph.links++] = (struct nest_graph_link){from, to, bandwidth, latency, 1};
}

static enum nest_status settle(struct fabric *f)
{
    const enum nest_status status =
        nest_graph_levels(&f->graph, &f->arena, &f->spec, f->order, &f->lost);
    if (status == NEST_OK) {
        struct nest_errors errors;
        nest_errors_init(&errors, &f->arena);
        assert_int_equal(nest_cluster_build(&f->spec, 0, &f->arena, &f->tree, &errors), NEST_OK);
        assert_int_equal(f->tree.devices, f->graph.devices);
    }
    return status;
}

static void end(struct fabric *f)
{
    nest_arena_free(&f->arena);
}

/* Two leaves of 4 devices at 50 GB/s, one 100 GB/s link from each leaf to a spine. Four devices
 * could send 200 GB/s, the leaf passes on 100: 2:1. Latency: 2 hops of 1 us inside, 2 more outside.
 * Devices are listed by turns, so that the order must be found. */
static void leaf_and_spine(void **state)
{
    (void)state;
    struct fabric f;
    begin(&f, 8, 3);
    for (int d = 0; d < 8; d++) {
        join(&f, d, 8 + d % 2, 50 * GB, 1e-6);
    }
    join(&f, 8, 10, 100 * GB, 1e-6);
    join(&f, 10, 9, 100 * GB, 1e-6);
    assert_int_equal(settle(&f), NEST_OK);
    assert_int_equal(f.spec.levels, 2);
    assert_int_equal(f.spec.level[0].fanout, 4);
    assert_int_equal(f.spec.level[1].fanout, 2);
    assert_true(f.spec.level[0].bandwidth == 50 * GB && f.spec.level[1].bandwidth == 50 * GB);
    assert_true(fabs(f.spec.level[0].latency - 2e-6) < 1e-12);
    assert_true(fabs(f.spec.level[1].latency - 4e-6) < 1e-12);
    assert_true(fabs(f.spec.level[1].oversubscription - 2.0) < 1e-9);
    const int want[] = {0, 2, 4, 6, 1, 3, 5, 7};
    assert_memory_equal(f.order, want, sizeof want);
    assert_int_equal(f.spec.notes, 0);
    end(&f);
}

/* Two datacenters: switches of 4 devices each at 100 GB/s, one 10 GB/s line of 5 ms between. One
 * flow gets 10 GB/s; four share it: 4 * 10 / 10 = 4:1. */
static void two_datacenters(void **state)
{
    (void)state;
    struct fabric f;
    begin(&f, 8, 2);
    for (int d = 0; d < 8; d++) {
        join(&f, d, 8 + d / 4, 100 * GB, 1e-6);
    }
    join(&f, 8, 9, 10 * GB, 5e-3);
    assert_int_equal(settle(&f), NEST_OK);
    assert_int_equal(f.spec.levels, 2);
    assert_true(f.spec.level[1].bandwidth == 10 * GB);
    assert_true(fabs(f.spec.level[1].oversubscription - 4.0) < 1e-9);
    assert_true(fabs(f.spec.level[1].latency - 5.002e-3) < 1e-9);
    end(&f);
}

/* Dragonfly of 4 routers with 2 devices each at 50 GB/s, every two routers joined at 25 GB/s. Two
 * devices can send 2 * 25 on one path each; the router passes on 75: no oversubscription. */
static void dragonfly(void **state)
{
    (void)state;
    struct fabric f;
    begin(&f, 8, 4);
    for (int d = 0; d < 8; d++) {
        join(&f, d, 8 + d / 2, 50 * GB, 1e-6);
    }
    for (int a = 0; a < 4; a++) {
        for (int b = a + 1; b < 4; b++) {
            join(&f, 8 + a, 8 + b, 25 * GB, 2e-6);
        }
    }
    assert_int_equal(settle(&f), NEST_OK);
    assert_int_equal(f.spec.level[0].fanout, 2);
    assert_int_equal(f.spec.level[1].fanout, 4);
    assert_true(f.spec.level[1].bandwidth == 25 * GB);
    assert_true(f.spec.level[1].oversubscription == 1.0);
    assert_int_equal(f.spec.notes, 1);
    assert_string_equal(f.spec.note[0], "below level1, a device has 37.5 GB/s over parallel paths; "
                                        "one flow takes one path, 25 GB/s");
    end(&f);
}

/* Two planes: every one of 4 devices has a 25 GB/s port at the switch of either plane. One flow
 * takes one plane; all together have both, which is a note. Cut one plane off and nothing else
 * changes. */
static void dual_plane(void **state)
{
    (void)state;
    for (int planes = 1; planes <= 2; planes++) {
        struct fabric f;
        begin(&f, 4, planes);
        for (int d = 0; d < 4; d++) {
            for (int p = 0; p < planes; p++) {
                join(&f, d, 4 + p, 25 * GB, 1e-6);
            }
        }
        assert_int_equal(settle(&f), NEST_OK);
        assert_int_equal(f.spec.levels, 1);
        assert_true(f.spec.level[0].bandwidth == 25 * GB);
        assert_int_equal(f.spec.notes, planes - 1);
        end(&f);
    }
}

/* Worked by hand. Devices 0, 1, 2 hang at switch a and 3, 4 at b, with 100 GB/s each; a and b are
 * joined at 40 GB/s and over c at 30; device 5 hangs at both a and b with 25 GB/s.
 *   widest paths: 100 below a switch, 40 between a's and b's, 25 to device 5: three levels
 *   out of a's three devices: 40 + 30 + 25 = 95 GB/s, where three flows of 40 want 120: 120/95
 *   out of b's two: 95 GB/s too, and they want 80
 *   out of all five: 2 * 25 = 50 GB/s to device 5, where five flows of 25 want 125: 2.5 */
static void a_graph_worked_by_hand(void **state)
{
    (void)state;
    enum { A = 6, B, C };
    struct fabric f;
    begin(&f, 6, 3);
    for (int d = 0; d < 5; d++) {
        join(&f, d, d < 3 ? A : B, 100 * GB, 1e-6);
    }
    join(&f, A, B, 40 * GB, 1e-6);
    join(&f, A, C, 30 * GB, 1e-6);
    join(&f, C, B, 30 * GB, 1e-6);
    join(&f, 5, A, 25 * GB, 1e-6);
    join(&f, 5, B, 25 * GB, 1e-6);
    assert_int_equal(settle(&f), NEST_OK);
    assert_int_equal(f.tree.levels, 3);
    assert_int_equal(f.tree.devices, 6);
    assert_true(f.tree.level[0].bandwidth == 100 * GB);
    assert_true(f.tree.level[1].bandwidth == 40 * GB);
    assert_true(f.tree.level[2].bandwidth == 25 * GB);
    assert_true(fabs(f.tree.level[1].oversubscription - 120.0 / 95.0) < 1e-9);
    assert_true(fabs(f.tree.level[2].oversubscription - 2.5) < 1e-9);
    assert_true(fabs(f.tree.level[0].latency - 2e-6) < 1e-12);
    assert_true(fabs(f.tree.level[1].latency - 3e-6) < 1e-12);
    assert_int_equal(nest_cluster_meet(&f.tree, 0, 2), 0);
    assert_int_equal(nest_cluster_meet(&f.tree, 2, 3), 1);
    assert_int_equal(nest_cluster_meet(&f.tree, 0, 5), 2);
    end(&f);
}

/* Devices joined directly: a ring of 6, every pair of 4, a line of 3. */
static void direct_links_become_rings_and_meshes(void **state)
{
    (void)state;
    struct fabric f;
    begin(&f, 6, 0);
    for (int d = 0; d < 6; d++) {
        join(&f, d, (d + 1) % 6, 10 * GB, 1e-6);
    }
    assert_int_equal(settle(&f), NEST_OK);
    assert_int_equal(f.spec.level[0].kind, NEST_LEVEL_RING);
    assert_true(f.spec.level[0].bandwidth == 20 * GB);
    assert_true(fabs(f.spec.level[0].latency - 3e-6) < 1e-12);
    end(&f);
    begin(&f, 4, 0);
    for (int a = 0; a < 4; a++) {
        for (int b = a + 1; b < 4; b++) {
            join(&f, a, b, 10 * GB, 1e-6);
        }
    }
    assert_int_equal(settle(&f), NEST_OK);
    assert_int_equal(f.spec.level[0].kind, NEST_LEVEL_FULLY_CONNECTED);
    assert_true(f.spec.level[0].bandwidth == 30 * GB);
    end(&f);
    begin(&f, 3, 0);
    join(&f, 0, 1, 10 * GB, 1e-6);
    join(&f, 1, 2, 10 * GB, 1e-6);
    assert_int_equal(settle(&f), NEST_OK);
    assert_int_equal(f.spec.level[0].kind, NEST_LEVEL_MESH);
    assert_true(f.spec.level[0].bandwidth == 10 * GB);
    end(&f);
}

/* A node that lost a device keeps the tree irregular. Four devices send to three at 50 GB/s each,
 * so only 150 of their 200 GB/s arrive: 4 * 50 / 150. */
static void uneven_leaves_stay_uneven(void **state)
{
    (void)state;
    struct fabric f;
    begin(&f, 7, 3);
    for (int d = 0; d < 7; d++) {
        join(&f, d, 7 + d / 4, 50 * GB, 1e-6);
    }
    join(&f, 7, 9, 200 * GB, 1e-6);
    join(&f, 8, 9, 200 * GB, 1e-6);
    assert_int_equal(settle(&f), NEST_OK);
    assert_false(f.tree.uniform);
    assert_int_equal(f.spec.level[0].groups, 2);
    assert_int_equal(f.spec.level[0].group[0].fanout, 4);
    assert_int_equal(f.spec.level[0].group[1].fanout, 3);
    assert_true(fabs(f.spec.level[1].oversubscription - 4.0 / 3.0) < 1e-9);
    end(&f);
}

static void unreachable_devices_are_named(void **state)
{
    (void)state;
    struct fabric f;
    begin(&f, 4, 1);
    join(&f, 0, 4, GB, 1e-6);
    join(&f, 1, 4, GB, 1e-6);
    join(&f, 2, 3, GB, 1e-6);
    assert_int_equal(settle(&f), NEST_NO);
    assert_int_equal(f.lost, 2);
    end(&f);
}

static void one_device_is_a_cluster(void **state)
{
    (void)state;
    struct fabric f;
    begin(&f, 1, 0);
    assert_int_equal(settle(&f), NEST_OK);
    assert_int_equal(f.tree.devices, 1);
    end(&f);
}

/* More steps of bandwidth than levels: the coarser tree keeps the least bandwidth. */
static void many_steps_become_twelve_levels(void **state)
{
    (void)state;
    struct fabric f;
    begin(&f, 20, 0);
    for (int d = 1; d < 20; d++) {
        join(&f, d - 1, d, (40.0 - d) * GB, 1e-6);
    }
    assert_int_equal(settle(&f), NEST_OK);
    assert_int_equal(f.spec.levels, NEST_MAX_LEVELS);
    assert_true(f.spec.level[NEST_MAX_LEVELS - 1].bandwidth == 21 * GB);
    assert_true(strstr(f.spec.note[0], "19 steps of bandwidth and distance became 12 levels"));
    end(&f);
}

/* ---- Never optimistic ---- */

/* Max-flow by plain augmenting paths over a capacity matrix: shares nothing with the product. */
static double slow_flow(const struct nest_graph *g, const bool *inside)
{
    static double room[MOST + 2][MOST + 2];
    const int source = g->nodes;
    const int sink = g->nodes + 1;
    memset(room, 0, sizeof room);
    for (int i = 0; i < g->links; i++) {
        const double bandwidth = g->link[i].bandwidth * (double)g->link[i].times;
        room[g->link[i].from][g->link[i].to] += bandwidth;
        room[g->link[i].to][g->link[i].from] += bandwidth;
    }
    for (int d = 0; d < g->devices; d++) {
        room[inside[d] ? source : d][inside[d] ? d : sink] = 1e15;
    }
    double sum = 0.0;
    for (;;) {
        int from[MOST + 2];
        int queue[MOST + 2];
        int tail = 0;
        memset(from, -1, sizeof from);
        from[source] = source;
        queue[tail++] = source;
        for (int head = 0; head < tail; head++) {
            for (int v = 0; v < g->nodes + 2; v++) {
                if (from[v] < 0 && room[queue[head]][v] > 1.0) {
                    from[v] = queue[head];
                    queue[tail++] = v;
                }
            }
        }
        if (from[sink] < 0) {
            return sum;
        }
        double amount = INFINITY;
        for (int v = sink; v != source; v = from[v]) {
            amount = fmin(amount, room[from[v]][v]);
        }
        for (int v = sink; v != source; v = from[v]) {
            room[from[v]][v] -= amount;
            room[v][from[v]] += amount;
        }
        sum += amount;
    }
}

/* Widest path between every two nodes. */
static void widest_paths(const struct nest_graph *g, double width[MOST][MOST])
{
    memset(width, 0, sizeof(double) * MOST * MOST);
    for (int i = 0; i < g->links; i++) {
        const struct nest_graph_link *l = &g->link[i];
        width[l->from][l->to] = fmax(width[l->from][l->to], l->bandwidth);
        width[l->to][l->from] = fmax(width[l->to][l->from], l->bandwidth);
    }
    for (int k = 0; k < g->nodes; k++) {
        for (int a = 0; a < g->nodes; a++) {
            for (int b = 0; b < g->nodes; b++) {
                width[a][b] = fmax(width[a][b], fmin(width[a][k], width[k][b]));
            }
        }
    }
}

static double some_rate(struct test_random *random)
{
    static const double RATE[] = {10, 10, 25, 50, 100};
    return RATE[test_random_below(random, 5)] * GB;
}

/* Groups of routers joined all to all, and a link or two between any two groups. */
static void draw_dragonfly(struct fabric *f, struct test_random *random)
{
    const int groups = 2 + (int)test_random_below(random, 2);
    const int routers = 1 + (int)test_random_below(random, 2);
    const int hosts = 1 + (int)test_random_below(random, 2);
    const int devices = groups * routers * hosts;
    begin(f, devices, groups * routers);
    for (int d = 0; d < devices; d++) {
        join(f, d, devices + d / hosts, some_rate(random), 1e-6);
    }
    for (int a = 0; a < groups * routers; a++) {
        for (int b = a + 1; b < groups * routers && b / routers == a / routers; b++) {
            join(f, devices + a, devices + b, some_rate(random), 1e-6);
        }
    }
    for (int a = 0; a < groups; a++) {
        for (int b = a + 1; b < groups; b++) {
            const int64_t links = 1 + test_random_below(random, 2);
            for (int64_t i = 0; i < links; i++) {
                join(f, devices + a * routers + (int)test_random_below(random, routers),
                     devices + b * routers + (int)test_random_below(random, routers),
                     some_rate(random), 2e-6);
            }
        }
    }
}

/* Two planes of leaves and a spine; every device has a port in each, not always as fast. */
static void draw_planes(struct fabric *f, struct test_random *random)
{
    const int leaves = 1 + (int)test_random_below(random, 2);
    const int hosts = 2 + (int)test_random_below(random, 3);
    const int devices = leaves * hosts;
    begin(f, devices, 2 * (leaves + 1));
    for (int p = 0; p < 2; p++) {
        const int first = devices + p * (leaves + 1);
        for (int d = 0; d < devices; d++) {
            join(f, d, first + d / hosts, some_rate(random), 1e-6);
        }
        for (int i = 0; i < leaves; i++) {
            join(f, first + i, first + leaves, some_rate(random), 1e-6);
        }
    }
}

static void draw(struct fabric *f, struct test_random *random)
{
    static const double RATE[] = {10, 10, 25, 50, 100};
    const int devices = 2 + (int)test_random_below(random, 10);
    const int switches = (int)test_random_below(random, 7);
    begin(f, devices, switches);
    const int nodes = devices + switches;
    for (int v = 1; v < nodes; v++) { /* a tree, so that all are reached */
        join(f, v, (int)test_random_below(random, v), RATE[test_random_below(random, 5)] * GB,
             1e-6);
    }
    const int more = (int)test_random_below(random, 2 * nodes);
    for (int i = 0; i < more; i++) {
        const int a = (int)test_random_below(random, nodes);
        const int b = (int)test_random_below(random, nodes);
        if (a != b) {
            join(f, a, b, RATE[test_random_below(random, 5)] * GB, 1e-6);
            f->link[f->graph.links - 1].times = 1 + test_random_below(random, 3);
        }
    }
}

/* What the model lets a group of level l-1 send out at once. */
static double promised(const struct fabric *f, int l, int64_t devices)
{
    const struct nest_level *level = &f->tree.level[l];
    const double uplink =
        (double)f->tree.level[l - 1].capacity * level->bandwidth / level->oversubscription;
    return fmin((double)devices * level->bandwidth, uplink);
}

static void check_groups(const struct fabric *f)
{
    for (int l = 1; l < f->tree.levels; l++) {
        for (int64_t g = 0; g < f->tree.level[l - 1].groups; g++) {
            const int64_t first = nest_cluster_group_start(&f->tree, l - 1, g);
            const int64_t last = nest_cluster_group_start(&f->tree, l - 1, g + 1);
            bool inside[MOST] = {false};
            for (int64_t i = first; i < last; i++) {
                inside[f->order[i]] = true;
            }
            if (last - first == f->tree.devices) {
                continue;
            }
            const double flow = slow_flow(&f->graph, inside);
            assert_true(promised(f, l, last - first) <= flow * (1.0 + 1e-9));
            struct nest_arena arena = NEST_ARENA_INIT;
            const double fast = nest_graph_outflow(&f->graph, inside, &arena);
            nest_arena_free(&arena);
            assert_true(fabs(fast - flow) <= 1e-6 * flow);
        }
    }
}

static void check_pairs(const struct fabric *f)
{
    static double width[MOST][MOST];
    widest_paths(&f->graph, width);
    for (int64_t i = 0; i < f->tree.devices; i++) {
        for (int64_t j = 0; j < i; j++) {
            const struct nest_level *level = &f->tree.level[nest_cluster_meet(&f->tree, i, j)];
            double one = level->bandwidth;
            if (level->kind == NEST_LEVEL_RING) {
                one /= 2.0;
            } else if (level->kind == NEST_LEVEL_FULLY_CONNECTED) {
                one /= (double)(level->fanout - 1);
            }
            const double widest = width[f->order[i]][f->order[j]];
            assert_true(fabs(one - widest) <= 1e-9 * widest);
        }
    }
}

static void levels_are_never_optimistic(void **state)
{
    (void)state;
    struct test_random random = {20260430};
    print_message("seed %llu\n", (unsigned long long)random.state);
    for (int trial = 0; trial < 4000; trial++) {
        struct fabric f;
        if (trial % 4 == 2) {
            draw_dragonfly(&f, &random);
        } else if (trial % 4 == 3) {
            draw_planes(&f, &random);
        } else {
            draw(&f, &random);
        }
        assert_int_equal(settle(&f), NEST_OK);
        check_groups(&f);
        check_pairs(&f);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaf_and_spine),
        cmocka_unit_test(two_datacenters),
        cmocka_unit_test(dragonfly),
        cmocka_unit_test(dual_plane),
        cmocka_unit_test(a_graph_worked_by_hand),
        cmocka_unit_test(direct_links_become_rings_and_meshes),
        cmocka_unit_test(uneven_leaves_stay_uneven),
        cmocka_unit_test(unreachable_devices_are_named),
        cmocka_unit_test(one_device_is_a_cluster),
        cmocka_unit_test(many_steps_become_twelve_levels),
        cmocka_unit_test(levels_are_never_optimistic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
