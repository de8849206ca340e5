/* Clusters whose devices or links are not all alike, and clusters of which something is down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost/strategy.h"
#include "support/cluster.h"

/* Four nodes of 4 in two racks; the second rack's devices are slower, and the last node's links
 * reach a quarter. */
static void open_mixed(struct test_cluster *c)
{
    static const int64_t fanout[] = {4, 2, 2};
    static struct nest_group_run racks[2];
    static struct nest_group_run nodes[2];
    test_cluster_of(c, 3, fanout);
    c->device.name = "fast";
    c->device.memory = 80;
    c->other = c->device;
    c->other.name = "slow";
    c->other.memory = 40;
    c->other.peak[NEST_BF16] = 5;
    c->device.peak[NEST_BF16] = 9;
    racks[0] = (struct nest_group_run){.fanout = 2, .times = 1};
    racks[1] = (struct nest_group_run){.fanout = 2, .times = 1, .device = &c->other};
    nodes[0] = (struct nest_group_run){.fanout = 4, .times = 3};
    nodes[1] = (struct nest_group_run){.fanout = 4, .times = 1, .uplink = 12.5e9};
    c->spec.level[0].groups = c->spec.level[1].groups = 2;
    c->spec.level[0].group = nodes;
    c->spec.level[1].group = racks;
    test_cluster_rebuild(c, 0);
}

static void kinds_follow_the_groups(void **state)
{
    (void)state;
    struct test_cluster c;
    open_mixed(&c);
    char name[64];
    assert_true(c.tree.mixed);
    assert_true(c.tree.uniform);
    assert_int_equal(c.tree.kinds, 3);
    assert_int_equal(c.tree.stretches, 3);
    assert_int_equal(c.tree.stretch[1].first, 8);
    assert_int_equal(c.tree.stretch[2].first, 12);
    assert_string_equal(nest_kind_format(&c.tree, 0, name, sizeof name), "fast");
    assert_string_equal(nest_kind_format(&c.tree, 1, name, sizeof name), "slow");
    assert_string_equal(nest_kind_format(&c.tree, 2, name, sizeof name), "slow (rack 12.5 GB/s)");
    /* 100 GB/s in the node, 50 in the rack, 25 outside: the uplink caps both of the latter. */
    assert_true(c.tree.kind[2].share[0] == 1.0);
    assert_true(c.tree.kind[2].share[1] == 0.25);
    assert_true(c.tree.kind[2].share[2] == 0.5);
    assert_true(c.tree.device->memory == 80);
    assert_true(c.tree.device->peak[NEST_BF16] == 9);
    assert_int_equal(nest_cluster_kinds(&c.tree, 0, 8), 1);
    assert_int_equal(nest_cluster_kinds(&c.tree, 7, 9), 3);
    assert_int_equal(nest_cluster_kinds(&c.tree, 0, 16), 7);
    test_cluster_free(&c);
}

/* Leaving kinds out renumbers what is left, and both ways lead back. */
static void selections_are_clusters_of_their_own(void **state)
{
    (void)state;
    struct test_cluster c;
    open_mixed(&c);
    assert_int_equal(c.tree.selections, 6);
    assert_ptr_equal(nest_cluster_selected(&c.tree, 0), &c.tree);
    const struct nest_cluster *ends = nest_cluster_selected(&c.tree, 1 | 4);
    assert_int_equal(ends->devices, 12);
    assert_false(ends->uniform);
    assert_int_equal(ends->level[1].groups, 2);
    assert_int_equal(nest_cluster_group_start(ends, 1, 1), 8);
    assert_int_equal(nest_cluster_origin(ends, 7), 7);
    assert_int_equal(nest_cluster_origin(ends, 8), 12);
    assert_int_equal(nest_cluster_position(ends, 12), 8);
    assert_int_equal(nest_cluster_position(ends, 9), -1);
    assert_true(nest_cluster_selected(&c.tree, 1)->uniform);
    assert_int_equal(nest_cluster_selected(&c.tree, 1)->level[2].groups, 1);
    test_cluster_free(&c);
}

/* A block's kinds are those of all its copies. */
static void placements_know_whom_they_touch(void **state)
{
    (void)state;
    struct test_cluster c;
    struct nest_placement at;
    open_mixed(&c);
    struct nest_strategy s = {.tp = 2,
                              .cp = 1,
                              .ep = 1,
                              .etp = 1,
                              .dp_in = 1,
                              .dp_out = 2,
                              .span = 4,
                              .shard = 2,
                              .micro_batch = 1,
                              .virtual_stages = 1};
    nest_placement_at(&c.tree, &s, 0, &at);
    assert_int_equal(at.kinds, 1);
    assert_int_equal(at.reach, 1);
    s.span = 8;
    nest_placement_at(&c.tree, &s, 2, &at);
    assert_int_equal(at.kinds, 3);
    assert_int_equal(at.reach, 7);
    s.selection = 1;
    s.span = 4;
    nest_placement_at(&c.tree, &s, 2, &at);
    assert_int_equal(at.kinds, 1);
    test_cluster_free(&c);
}

static void what_is_down_leaves_the_tree(void **state)
{
    (void)state;
    struct test_cluster c;
    static const int64_t fanout[] = {4, 2, 2};
    test_cluster_of(&c, 3, fanout);
    c.spec.down = "node 1, devices 8..11, device 9";
    test_cluster_rebuild(&c, 0);
    assert_int_equal(c.tree.devices, 8);
    assert_true(c.tree.uniform); /* one node in each rack */
    assert_int_equal(c.tree.level[1].fanout, 1);
    assert_int_equal(c.tree.level[1].groups, 2);
    assert_int_equal(c.tree.kinds, 1);
    assert_non_null(c.tree.intact);
    assert_int_equal(c.tree.intact->devices, 16);
    c.spec.down = "device 5";
    test_cluster_rebuild(&c, 0);
    assert_int_equal(c.tree.devices, 15);
    assert_false(c.tree.mixed);
    /* Whole racks, the whole node beside the short one, and the short one itself. */
    assert_int_equal(c.tree.kinds, 3);
    assert_int_equal(nest_cluster_kinds(&c.tree, 0, 4), 1);
    assert_int_equal(nest_cluster_kinds(&c.tree, 4, 7), 2);
    assert_int_equal(nest_cluster_kinds(&c.tree, 7, 15), 4);
    test_cluster_rebuild(&c, 6);
    assert_int_equal(c.tree.devices, 6);
    assert_int_equal(c.tree.intact->devices, 6);
    c.spec.down = "none";
    test_cluster_rebuild(&c, 0);
    assert_null(c.tree.intact);
    test_cluster_free(&c);
}

static void down_is_checked(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"node 4", "there is no node 4"},
        {"rack 1..0", "the range of rack 0 runs backwards"},
        {"shelf 1", "'shelf 1' names nothing of this cluster"},
        {"node", "'node' names nothing of this cluster"},
        {"node 1,", "'' names nothing of this cluster"},
        {"pod 0", "every device of the cluster is down"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct test_cluster c;
        static const int64_t fanout[] = {4, 2, 2};
        test_cluster_of(&c, 3, fanout);
        struct nest_errors errors;
        nest_errors_init(&errors, &c.arena);
        c.spec.down = wrong[i][0];
        assert_int_equal(nest_cluster_build(&c.spec, 0, &c.arena, &c.tree, &errors),
                         NEST_BAD_INPUT);
        assert_int_equal(errors.count, 1);
        assert_string_equal(errors.item[0].message, wrong[i][1]);
        test_cluster_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_follow_the_groups),
        cmocka_unit_test(selections_are_clusters_of_their_own),
        cmocka_unit_test(placements_know_whom_they_touch),
        cmocka_unit_test(what_is_down_leaves_the_tree),
        cmocka_unit_test(down_is_checked),
    };
    return cmocka_run_group_tests_name("mixed", tests, NULL, NULL);
}
