/* What other values would bring is what they bring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session/whatif.h"
#include "support/folder.h"
#include "support/session.h"

static nest_ps solved_step(struct nest_session *session)
{
    nest_session_wait(session);
    const struct nest_snapshot *s = nest_session_snapshot(session);
    const nest_ps step = s->result->count > 0 ? s->result->solution[0].prediction.step : 0;
    nest_snapshot_release(s);
    return step;
}

static int start(struct test_session *test, struct nest_whatif *whatif, const char *path)
{
    int count = 0;
    assert_int_equal(nest_whatif_start(whatif, path, &test->errors), NEST_OK);
    nest_whatif_wait(whatif);
    (void)nest_whatif_points(whatif, &count);
    return count;
}

/* Every value is solved as the session solves it, and one of them is the present one. */
static void expect_answers(const char *path, bool pin, int least)
{
    struct test_session test;
    struct nest_whatif *whatif = NULL;
    int present = 0;
    test_session_open_small(&test);
    assert_int_equal(nest_whatif_open(test.session, &whatif), NEST_OK);
    const nest_ps now = solved_step(test.session);
    const int count = start(&test, whatif, path);
    assert_true(count >= least);
    for (int i = 0; i < count; i++) {
        const struct nest_whatif_point point = nest_whatif_points(whatif, &present)[i];
        assert_true(point.done);
        if (point.present) {
            assert_int_equal(point.step, now);
            continue;
        }
        assert_int_equal((pin ? test_session_pin : test_session_set)(&test, path, point.value),
                         NEST_OK);
        assert_int_equal(point.step, solved_step(test.session));
        assert_true(nest_session_undo(test.session));
        nest_session_wait(test.session);
    }
    nest_whatif_close(whatif);
    test_session_close(&test);
}

static void neighbours_of_values_and_choices_are_solved(void **state)
{
    (void)state;
    expect_answers("cluster.spine.bandwidth", false, 9);
    expect_answers("cluster.rack.oversubscription", false, 5);
    expect_answers("limits.memory", false, 5);
    expect_answers("train.global_batch", false, 5);
    expect_answers("tp", true, 3);
    expect_answers("zero", true, 4);
    expect_answers("recompute", true, 2);
    expect_answers("order", true, 1);
}

static void the_scenario_stays_as_it_is(void **state)
{
    (void)state;
    struct test_session test;
    struct nest_whatif *whatif = NULL;
    test_session_open_small(&test);
    assert_int_equal(nest_whatif_open(test.session, &whatif), NEST_OK);
    const int count = start(&test, whatif, "cluster.spine.bandwidth");
    const struct nest_snapshot *s = nest_session_snapshot(test.session);
    assert_int_equal(s->undo, 0);
    assert_false(s->dirty);
    nest_snapshot_release(s);
    /* Started anew, stopped, or closed while it runs. */
    assert_int_equal(nest_whatif_start(whatif, "tp", &test.errors), NEST_OK);
    assert_int_equal(start(&test, whatif, "cluster.spine.bandwidth"), count);
    assert_int_equal(nest_whatif_start(whatif, "tp", &test.errors), NEST_OK);
    (void)nest_whatif_cancel(whatif);
    nest_whatif_wait(whatif);
    assert_false(nest_whatif_cancel(whatif));
    assert_int_equal(nest_whatif_start(whatif, "tp", &test.errors), NEST_OK);
    nest_whatif_close(whatif);
    test_session_close(&test);
}

/* The knobs of a cluster's script are tried by running it; what does not build is no value. */
static void scripts_are_run_for_their_knobs(void **state)
{
    (void)state;
    struct test_folder folder;
    struct test_session test;
    struct nest_whatif *whatif = NULL;
    int present = 0;
    test_folder_open(&folder);
    test_folder_write(&folder, "c.lua",
                      "local racks = param('racks', 4, 1, 64)\n"
                      "if racks == 6 then error('never six') end\n"
                      "return cluster { name = 'Mine', device = 'h100-sxm',\n"
                      "  level { name = 'spine', bandwidth = '25GB/s', latency = '6us',\n"
                      "    node { fanout = 2, bandwidth = '450GB/s', latency = '1us' }"
                      ":times(racks) } }\n");
    const struct nest_scenario_request request = {.model = "gpt2",
                                                  .cluster = test_folder_path(&folder, "c.lua")};
    test_session_open(&test, &request);
    nest_session_wait(test.session);
    assert_int_equal(nest_whatif_open(test.session, &whatif), NEST_OK);
    assert_int_equal(start(&test, whatif, "cluster.racks"), 5);
    const struct nest_whatif_point *point = nest_whatif_points(whatif, &present);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(point[i].text[0], '1' + i);
        assert_int_equal(point[i].present, i == 3);
        assert_true(point[i].step > 0);
    }
    nest_whatif_close(whatif);
    test_session_close(&test);
    test_folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_of_values_and_choices_are_solved),
        cmocka_unit_test(the_scenario_stays_as_it_is),
        cmocka_unit_test(scripts_are_run_for_their_knobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
