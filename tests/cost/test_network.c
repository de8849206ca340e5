/* Prices of collectives and transfers: hand-worked values, and what must hold for every cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost/strategy.h"
#include "support/cluster.h"

static const double GB = 1e9;

/* Two levels without latency, launch or losses, so that only bandwidth is left. */
static void start(struct test_cluster *c, int64_t node, int64_t nodes, double inside,
                  double outside)
{
    const int64_t fanout[] = {node, nodes};
    test_cluster_of(c, 2, fanout);
    c->spec.level[0].bandwidth = inside;
    c->spec.level[1].bandwidth = outside;
    c->spec.level[0].latency = c->spec.level[1].latency = 0.0;
    test_cluster_rebuild(c, 0);
}

/* The data-parallel group of a stage that fills the cluster with tp. */
static struct nest_placement place(const struct test_cluster *c, int64_t tp)
{
    const struct nest_strategy s = {.tp = tp,
                                    .cp = 1,
                                    .ep = 1,
                                    .etp = 1,
                                    .dp_in = c->tree.devices / tp,
                                    .dp_out = 1,
                                    .span = c->tree.devices};
    struct nest_placement at;
    nest_placement_at(&c->tree, &s, 0, &at);
    return at;
}

static double seconds(const struct test_cluster *c, enum nest_collective kind,
                      const struct nest_comm *comm, double bytes)
{
    return nest_to_seconds(nest_collective_time(&c->tree, kind, comm, bytes));
}

static void near(double got, double want)
{
    if (got < want * (1.0 - 1e-9) - 1e-12 || got > want * (1.0 + 1e-9) + 1e-12) {
        fail_msg("got %.12g, worked out %.12g", got, want);
    }
}

/* Ring over 8 at 400 GB/s: all-gather sends 7/8 of the buffer and copies 1/8 at double rate:
 * (7 + 0.5)/8 / 400e9 = 2.34375 ps per byte; all-reduce (14 + 0.5)/8 / 400e9 = 4.53125 ps. */
static void ring_inside_a_node(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 1, 400 * GB, 50 * GB);
    const struct nest_placement at = place(&c, 8);
    near(seconds(&c, NEST_ALL_GATHER, &at.tp, 1e9), 2.34375e-3);
    near(seconds(&c, NEST_REDUCE_SCATTER, &at.tp, 1e9), 2.34375e-3);
    near(seconds(&c, NEST_ALL_REDUCE, &at.tp, 1e9), 4.53125e-3);
    test_cluster_free(&c);
}

/* Two nodes of 8 at 450 and 50 GB/s: inside (14 + 0.5)/8 / 450e9 = 4.0278 ps per byte, across
 * 2 * 1/2 / 8 / 50e9 = 2.5 ps at the same time: the node sets the pace. Sum would be 6.5 ps. (Two
 * nodes of 8 H100 reach 487 GB/s bus bandwidth, 15/8 / 487e9 = 3.85 ps, in awslabs' nccl-tests.) */
static void phases_overlap(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 2, 450 * GB, 50 * GB);
    const struct nest_placement at = place(&c, 1);
    near(seconds(&c, NEST_ALL_REDUCE, &at.dense, 1e9), 14.5 / 8.0 / 450.0);
    test_cluster_free(&c);
}

/* tp 8 fills each of 4 nodes: a gradient group has one member per node and eight groups share the
 * node's 8 links: 50 GB/s each. All-reduce over 4: 2 * 3/4 / 50e9 = 30 ps per byte. At 4:1
 * oversubscription each gets a quarter: 120 ps. */
static void groups_share_the_uplink(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 4, 450 * GB, 50 * GB);
    struct nest_placement at = place(&c, 8);
    near(seconds(&c, NEST_ALL_REDUCE, &at.dense, 1e9), 0.030);
    c.spec.level[1].oversubscription = 4.0;
    test_cluster_rebuild(&c, 0);
    near(seconds(&c, NEST_ALL_REDUCE, &at.dense, 1e9), 0.120);
    test_cluster_free(&c);
}

/* One of eight devices sends: a 4:1 uplink still carries its 50 GB/s in full. */
static void one_sender_feels_no_oversubscription(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 4, 450 * GB, 50 * GB);
    c.spec.level[1].oversubscription = 4.0;
    test_cluster_rebuild(&c, 0);
    near(nest_to_seconds(nest_transfer_time(&c.tree, 1, 1, 1e9)), 0.020);
    near(nest_to_seconds(nest_transfer_time(&c.tree, 1, 2, 1e9)), 0.020);
    near(nest_to_seconds(nest_transfer_time(&c.tree, 1, 8, 1e9)), 0.080);
    near(nest_to_seconds(nest_transfer_time(&c.tree, 0, 8, 1e9)), 1.0 / 450.0);
    test_cluster_free(&c);
}

/* All-to-all of 16 in two nodes: half of a member's buffer leaves the node at 50 GB/s: 10 ps per
 * byte; inside 7.5/16 / 450e9 = 1.04 ps. */
static void all_to_all_leaves_the_node(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 2, 450 * GB, 50 * GB);
    const struct nest_strategy s = {
        .tp = 1, .cp = 1, .ep = 16, .etp = 1, .dp_in = 16, .dp_out = 1, .span = 16};
    struct nest_placement at;
    nest_placement_at(&c.tree, &s, 0, &at);
    near(seconds(&c, NEST_ALL_TO_ALL, &at.ep, 1e9), 0.010);
    test_cluster_free(&c);
}

/* A ring of 8 with 100 GB/s of both links together: all-to-all bytes travel 8*8/(4*7) = 16/7 hops,
 * so (7/8 * 16/7 + 0.5/8) / 100e9 = 20.625 ps per byte. Half of the ring is a line with one link:
 * all-gather over 4 takes (3 + 0.5)/4 / 50e9 = 17.5 ps. Neighbours have one link: 20 ps. */
static void rings_have_two_links(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 1, 100 * GB, 50 * GB);
    c.spec.level[0].kind = NEST_LEVEL_RING;
    test_cluster_rebuild(&c, 0);
    const struct nest_strategy s = {
        .tp = 4, .cp = 1, .ep = 8, .etp = 1, .dp_in = 2, .dp_out = 1, .span = 8};
    struct nest_placement at;
    nest_placement_at(&c.tree, &s, 0, &at);
    near(seconds(&c, NEST_ALL_TO_ALL, &at.ep, 1e9), 20.625e-3);
    near(seconds(&c, NEST_ALL_GATHER, &at.tp, 1e9), 17.5e-3);
    near(nest_to_seconds(nest_transfer_time(&c.tree, 0, 1, 1e9)), 0.020);
    test_cluster_free(&c);
}

/* Full mesh of 8 whose links add up to 70 GB/s: a pair has 10 GB/s, a group of 4 has 30 GB/s. */
static void full_meshes_have_a_link_per_pair(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 1, 70 * GB, 50 * GB);
    c.spec.level[0].kind = NEST_LEVEL_FULLY_CONNECTED;
    test_cluster_rebuild(&c, 0);
    const struct nest_placement at = place(&c, 4);
    near(nest_to_seconds(nest_transfer_time(&c.tree, 0, 1, 1e9)), 0.100);
    near(seconds(&c, NEST_ALL_GATHER, &at.tp, 1e9), 3.5 / 4.0 / 30.0);
    test_cluster_free(&c);
}

/* H100, 8 in a node, a few bytes: launch 4.7 us and 14 hops of 0.83 us; nccl-tests measure 15.6. */
static void small_messages_pay_latency(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 1, 450 * GB, 50 * GB);
    c.device.collective_launch = 4.7e-6;
    c.spec.level[0].latency = 0.83e-6;
    test_cluster_rebuild(&c, 0);
    const struct nest_placement at = place(&c, 8);
    const double got = seconds(&c, NEST_ALL_REDUCE, &at.tp, 8.0);
    assert_true(got > 16.3e-6 && got < 16.35e-6);
    test_cluster_free(&c);
}

/* 64 nodes, one member each: a ring has 126 hops of 5 us, a tree 12. */
static void trees_serve_small_messages(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 64, 450 * GB, 50 * GB);
    c.spec.level[1].latency = 5e-6;
    test_cluster_rebuild(&c, 0);
    const struct nest_placement at = place(&c, 8);
    const double got = seconds(&c, NEST_ALL_REDUCE, &at.dense, 8.0);
    assert_true(got > 60e-6 && got < 61e-6);
    test_cluster_free(&c);
}

static void one_member_costs_nothing(void **state)
{
    (void)state;
    struct test_cluster c;
    start(&c, 8, 4, 450 * GB, 50 * GB);
    const struct nest_placement at = place(&c, 1);
    for (int kind = 0; kind < NEST_COLLECTIVES; kind++) {
        assert_int_equal(nest_collective_time(&c.tree, (enum nest_collective)kind, &at.tp, 1e9), 0);
        assert_int_equal(nest_collective_time(&c.tree, (enum nest_collective)kind, &at.dense, 0.0),
                         0);
    }
    assert_int_equal(nest_transfer_time(&c.tree, 1, 8, 0.0), 0);
    test_cluster_free(&c);
}

static void time_is_whole_and_bounded(void **state)
{
    (void)state;
    assert_int_equal(nest_to_ps(1.5e-12), 2);
    assert_int_equal(nest_to_ps(1e30), NEST_PS_MAX);
    near(nest_to_seconds(nest_to_ps(0.125)), 0.125);
}

/* Different ranks of two nodes do not meet at a rail leaf but one level further out. */
static void rails_join_equal_ranks(void **state)
{
    (void)state;
    struct test_cluster c;
    const int64_t fanout[] = {8, 4, 2};
    test_cluster_of(&c, 3, fanout);
    c.spec.level[1].kind = NEST_LEVEL_RAIL;
    test_cluster_rebuild(&c, 0);
    const struct nest_strategy s = {
        .tp = 4, .cp = 1, .ep = 1, .etp = 1, .dp_in = 1, .dp_out = 1, .span = 64};
    assert_int_equal(nest_link_level(&c.tree, &s, 0, 8), 1);
    assert_int_equal(nest_link_level(&c.tree, &s, 4, 8), 2);
    assert_int_equal(nest_link_level(&c.tree, &s, 0, 4), 0);
    test_cluster_free(&c);
}

/* ---- What must hold for every cluster ---- */

struct question {
    struct test_cluster cluster;
    struct nest_placement at;
    int64_t block;
    double bytes;
};

static void draw(struct question *q, struct test_random *random)
{
    static const enum nest_level_kind KIND[] = {NEST_LEVEL_SWITCH, NEST_LEVEL_SWITCH,
                                                NEST_LEVEL_RING,   NEST_LEVEL_MESH,
                                                NEST_LEVEL_RAIL,   NEST_LEVEL_FULLY_CONNECTED};
    test_cluster_uniform(&q->cluster, random, 2000);
    q->cluster.device.collective_launch = 1e-6 * (double)test_random_below(random, 12);
    q->cluster.device.network_efficiency = 0.5 + 0.5 * test_random_unit(random);
    q->cluster.device.scale_up_efficiency = 0.5 + 0.5 * test_random_unit(random);
    q->cluster.device.scale_up_reduction = test_random_below(random, 2) == 1;
    for (int l = 0; l < q->cluster.spec.levels; l++) {
        q->cluster.spec.level[l].kind = KIND[test_random_below(random, l == 0 ? 4 : 6)];
    }
    test_cluster_rebuild(&q->cluster, 0);
    const int64_t devices = q->cluster.tree.devices;
    struct nest_strategy s = {.tp = 1, .cp = 1, .ep = 1, .etp = 1, .dp_in = 1, .dp_out = 1};
    s.tp = 1 + test_random_below(random, devices < 8 ? devices : 8);
    s.cp = 1 + test_random_below(random, devices / s.tp < 3 ? devices / s.tp : 3);
    s.dp_in = 1 + test_random_below(random, devices / (s.tp * s.cp));
    q->block = s.tp * s.cp * s.dp_in;
    s.ep = q->block;
    s.span = devices;
    nest_placement_at(&q->cluster.tree, &s, test_random_below(random, devices - q->block + 1),
                      &q->at);
    q->bytes = 1.0 + 1e9 * test_random_unit(random) * test_random_unit(random);
    q->bytes = test_random_below(random, 2) == 0 ? q->bytes : 1.0 + q->bytes * 1e-5;
}

enum { PRICES = 4 * NEST_COLLECTIVES + NEST_MAX_LEVELS };

static void price_all(const struct question *q, nest_ps *price)
{
    const struct nest_comm *comm[] = {&q->at.tp, &q->at.cp, &q->at.dense, &q->at.ep};
    int n = 0;
    memset(price, 0, PRICES * sizeof *price);
    for (int i = 0; i < 4; i++) {
        for (int kind = 0; kind < NEST_COLLECTIVES; kind++) {
            price[n++] = nest_collective_time(&q->cluster.tree, (enum nest_collective)kind, comm[i],
                                              q->bytes);
        }
    }
    for (int l = 0; l < q->cluster.tree.levels; l++) {
        price[n++] = nest_transfer_time(&q->cluster.tree, l, q->block, q->bytes);
    }
}

static void improve(struct question *q, int what, struct test_random *random)
{
    struct nest_level_spec *level =
        &q->cluster.spec.level[test_random_below(random, q->cluster.spec.levels)];
    const double by = 1.0 + 3.0 * test_random_unit(random);
    switch (what) {
    case 0:
        level->bandwidth *= by;
        break;
    case 1:
        level->latency /= by;
        break;
    case 2:
        level->oversubscription = 1.0 + (level->oversubscription - 1.0) / by;
        break;
    case 3:
        q->bytes /= by;
        break;
    default:
        q->cluster.device.collective_launch /= by;
        break;
    }
    test_cluster_rebuild(&q->cluster, 0);
}

/* More bandwidth, less latency, less oversubscription, fewer bytes, a quicker launch. */
static void better_is_never_slower(void **state)
{
    (void)state;
    struct test_random random = {20260420};
    print_message("seed %llu\n", (unsigned long long)random.state);
    for (int trial = 0; trial < 3000; trial++) {
        struct question q;
        nest_ps before[PRICES];
        nest_ps after[PRICES];
        draw(&q, &random);
        price_all(&q, before);
        improve(&q, trial % 5, &random);
        price_all(&q, after);
        for (int i = 0; i < PRICES; i++) {
            assert_true(after[i] <= before[i]);
        }
        test_cluster_free(&q.cluster);
    }
}

/* Twice the bandwidth and half of every latency: half of the time. Twice bandwidth and bytes: the
 * same time. */
static void units_have_no_scale(void **state)
{
    (void)state;
    struct test_random random = {20260421};
    for (int trial = 0; trial < 1000; trial++) {
        struct question q;
        nest_ps before[PRICES];
        nest_ps after[PRICES];
        draw(&q, &random);
        price_all(&q, before);
        for (int l = 0; l < q.cluster.spec.levels; l++) {
            q.cluster.spec.level[l].bandwidth *= 2.0;
        }
        test_cluster_rebuild(&q.cluster, 0);
        q.bytes *= 2.0;
        price_all(&q, after);
        for (int i = 0; i < PRICES; i++) {
            assert_in_range(after[i] - before[i] + 1, 0, 2);
        }
        q.bytes /= 2.0;
        for (int l = 0; l < q.cluster.spec.levels; l++) {
            q.cluster.spec.level[l].latency /= 2.0;
        }
        q.cluster.device.collective_launch /= 2.0;
        test_cluster_rebuild(&q.cluster, 0);
        price_all(&q, after);
        for (int i = 0; i < PRICES; i++) {
            assert_in_range(2 * after[i] - before[i] + 2, 0, 4);
        }
        test_cluster_free(&q.cluster);
    }
}

/* Reduce-scatter and then all-gather is one way to all-reduce, so the latter never costs more. */
static void all_reduce_is_at_most_its_halves(void **state)
{
    (void)state;
    struct test_random random = {20260422};
    for (int trial = 0; trial < 1000; trial++) {
        struct question q;
        draw(&q, &random);
        const struct nest_comm *comm = &q.at.dense;
        const nest_ps whole = nest_collective_time(&q.cluster.tree, NEST_ALL_REDUCE, comm, q.bytes);
        const nest_ps half =
            nest_collective_time(&q.cluster.tree, NEST_REDUCE_SCATTER, comm, q.bytes);
        assert_int_equal(half,
                         nest_collective_time(&q.cluster.tree, NEST_ALL_GATHER, comm, q.bytes));
        assert_true(whole <= 2 * half + 1);
        test_cluster_free(&q.cluster);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_inside_a_node),
        cmocka_unit_test(phases_overlap),
        cmocka_unit_test(groups_share_the_uplink),
        cmocka_unit_test(one_sender_feels_no_oversubscription),
        cmocka_unit_test(all_to_all_leaves_the_node),
        cmocka_unit_test(rings_have_two_links),
        cmocka_unit_test(full_meshes_have_a_link_per_pair),
        cmocka_unit_test(small_messages_pay_latency),
        cmocka_unit_test(trees_serve_small_messages),
        cmocka_unit_test(one_member_costs_nothing),
        cmocka_unit_test(time_is_whole_and_bounded),
        cmocka_unit_test(rails_join_equal_ranks),
        cmocka_unit_test(better_is_never_slower),
        cmocka_unit_test(units_have_no_scale),
        cmocka_unit_test(all_reduce_is_at_most_its_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
