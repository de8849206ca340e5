/* The tree of levels: shapes, limits, groups and where devices meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/cluster.h"

static void uniform_levels_multiply(void **state)
{
    (void)state;
    struct test_cluster c;
    const int64_t fanout[] = {8, 4, 32};
    test_cluster_of(&c, 3, fanout);
    assert_true(c.tree.uniform);
    assert_int_equal(c.tree.devices, 1024);
    assert_int_equal(c.tree.level[1].capacity, 32);
    assert_int_equal(c.tree.level[0].groups, 128);
    assert_int_equal(nest_cluster_group(&c.tree, 1, 33), 1);
    assert_int_equal(nest_cluster_group_start(&c.tree, 1, 2), 64);
    assert_int_equal(nest_cluster_meet(&c.tree, 5, 5), 0);
    assert_int_equal(nest_cluster_meet(&c.tree, 7, 8), 1);
    assert_int_equal(nest_cluster_meet(&c.tree, 31, 32), 2);
    test_cluster_free(&c);
}

/* 512 of 1,024: sixteen racks remain. 24: three nodes of one rack. 20: two nodes and a half. */
static void limits_cut_the_tree(void **state)
{
    (void)state;
    struct test_cluster c;
    const int64_t fanout[] = {8, 4, 32};
    test_cluster_of(&c, 3, fanout);
    test_cluster_rebuild(&c, 512);
    assert_true(c.tree.uniform);
    assert_int_equal(c.tree.level[2].fanout, 16);
    assert_int_equal(c.tree.level[1].groups, 16);
    test_cluster_rebuild(&c, 24);
    assert_true(c.tree.uniform);
    assert_int_equal(c.tree.level[1].fanout, 3);
    assert_int_equal(c.tree.level[2].fanout, 1);
    assert_int_equal(c.tree.level[2].capacity, 24);
    test_cluster_rebuild(&c, 20);
    assert_false(c.tree.uniform);
    assert_int_equal(c.tree.devices, 20);
    assert_int_equal(c.tree.level[0].groups, 3);
    assert_int_equal(nest_cluster_group_start(&c.tree, 0, 3), 20);
    assert_int_equal(nest_cluster_meet(&c.tree, 15, 16), 1);
    test_cluster_rebuild(&c, 5000);
    assert_int_equal(c.tree.devices, 1024);
    test_cluster_free(&c);
}

/* Two racks: the first of three nodes, the second of two, whose last node lost a device. */
static void irregular_groups_keep_their_shape(void **state)
{
    (void)state;
    struct test_cluster c;
    const int64_t fanout[] = {8, 1, 2};
    test_cluster_of(&c, 3, fanout);
    const struct nest_group_run nodes[] = {{.fanout = 8, .times = 4}, {.fanout = 7, .times = 1}};
    const struct nest_group_run racks[] = {{.fanout = 3, .times = 1}, {.fanout = 2, .times = 1}};
    c.spec.level[0].groups = c.spec.level[1].groups = 2;
    c.spec.level[0].group = nodes;
    c.spec.level[1].group = racks;
    test_cluster_rebuild(&c, 0);
    assert_false(c.tree.uniform);
    assert_int_equal(c.tree.devices, 39);
    assert_int_equal(c.tree.level[0].capacity, 8);
    assert_int_equal(c.tree.level[1].capacity, 24);
    assert_int_equal(c.tree.level[1].fanout, 3);
    assert_int_equal(nest_cluster_group(&c.tree, 0, 38), 4);
    assert_int_equal(nest_cluster_group(&c.tree, 1, 24), 1);
    assert_int_equal(nest_cluster_group_start(&c.tree, 1, 1), 24);
    assert_int_equal(nest_cluster_meet(&c.tree, 31, 32), 1);
    assert_int_equal(nest_cluster_meet(&c.tree, 23, 24), 2);
    test_cluster_free(&c);
}

static void equal_runs_are_uniform(void **state)
{
    (void)state;
    struct test_cluster c;
    const int64_t fanout[] = {1, 5};
    test_cluster_of(&c, 2, fanout);
    const struct nest_group_run nodes[] = {{.fanout = 8, .times = 3}, {.fanout = 8, .times = 2}};
    c.spec.level[0].groups = 2;
    c.spec.level[0].group = nodes;
    test_cluster_rebuild(&c, 0);
    assert_true(c.tree.uniform);
    assert_int_equal(c.tree.devices, 40);
    test_cluster_free(&c);
}

static void groups_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct test_cluster c;
    const int64_t fanout[] = {1, 5};
    test_cluster_of(&c, 2, fanout);
    const struct nest_group_run nodes[] = {{.fanout = 8, .times = 3}, {.fanout = 7, .times = 1}};
    c.spec.level[0].groups = 2;
    c.spec.level[0].group = nodes;
    struct nest_errors errors;
    nest_errors_init(&errors, &c.arena);
    assert_int_equal(nest_cluster_build(&c.spec, 0, &c.arena, &c.tree, &errors), NEST_BAD_INPUT);
    assert_int_equal(errors.count, 1);
    assert_string_equal(errors.item[0].message,
                        "4 groups are listed where the levels outside hold 5");
    test_cluster_free(&c);
}

static void too_many_devices_are_refused(void **state)
{
    (void)state;
    struct test_cluster c;
    const int64_t fanout[] = {1, 1};
    test_cluster_of(&c, 2, fanout);
    c.spec.level[0].fanout = c.spec.level[1].fanout = INT64_C(1) << 40;
    struct nest_errors errors;
    nest_errors_init(&errors, &c.arena);
    assert_int_equal(nest_cluster_build(&c.spec, 0, &c.arena, &c.tree, &errors), NEST_BAD_INPUT);
    assert_string_equal(errors.item[0].message, "the cluster is too large");
    test_cluster_free(&c);
}

/* Group ranges tile the devices at every level, and meeting is what equal groups say. */
static void groups_tile_the_devices(void **state)
{
    (void)state;
    struct test_random random = {20260410};
    print_message("seed %llu\n", (unsigned long long)random.state);
    for (int trial = 0; trial < 500; trial++) {
        struct test_cluster c;
        if (trial % 2 == 0) {
            test_cluster_uniform(&c, &random, 400);
        } else {
            test_cluster_irregular(&c, &random, 400);
        }
        for (int l = 0; l < c.tree.levels; l++) {
            const int64_t groups = c.tree.level[l].groups;
            assert_int_equal(nest_cluster_group_start(&c.tree, l, 0), 0);
            assert_int_equal(nest_cluster_group_start(&c.tree, l, groups), c.tree.devices);
            int64_t most = 0;
            for (int64_t g = 0; g < groups; g++) {
                const int64_t first = nest_cluster_group_start(&c.tree, l, g);
                const int64_t end = nest_cluster_group_start(&c.tree, l, g + 1);
                assert_true(first < end);
                assert_int_equal(nest_cluster_group(&c.tree, l, first), g);
                assert_int_equal(nest_cluster_group(&c.tree, l, end - 1), g);
                most = end - first > most ? end - first : most;
                if (g > 0) {
                    assert_true(nest_cluster_meet(&c.tree, first - 1, first) > l);
                }
            }
            assert_int_equal(most, c.tree.level[l].capacity);
        }
        assert_int_equal(c.tree.level[c.tree.levels - 1].groups, 1);
        test_cluster_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_levels_multiply),
        cmocka_unit_test(limits_cut_the_tree),
        cmocka_unit_test(irregular_groups_keep_their_shape),
        cmocka_unit_test(equal_runs_are_uniform),
        cmocka_unit_test(groups_that_do_not_fit_are_refused),
        cmocka_unit_test(too_many_devices_are_refused),
        cmocka_unit_test(groups_tile_the_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
