/* Changes that run a script, made while everything else goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/maker.h"
#include "support/folder.h"

enum { TEXT = 1 << 16 };

struct world {
    struct nest_arena arena;
    struct nest_errors errors;
    struct nest_session *session;
    struct nest_console *console;
    struct nest_maker *maker;
    struct nest_notice notice;
    struct test_folder folder;
};

/* mood 7 runs until it is stopped, 8 fails. */
#define FABRIC                                                                                     \
    "local mood = param('mood', 1, 1, 9)\n"                                                        \
    "local racks = param('racks', 2, 1, 64)\n"                                                     \
    "while mood == 7 do end\n"                                                                     \
    "if mood == 8 then error('not today') end\n"                                                   \
    "return cluster { name = 'Mine', device = 'h100-sxm',\n"                                       \
    "  level { name = 'spine', bandwidth = '25GB/s', latency = '6us',\n"                           \
    "    node { fanout = 8, bandwidth = '450GB/s', latency = '1us' }:times(racks) } }\n"

static void open_session(struct world *world)
{
    struct nest_session_options options = {
        .request = {.scenario = test_folder_path(&world->folder, "scenario.yaml")},
        .top = 1,
        .threads = 1};
    nest_errors_init(&world->errors, &world->arena);
    assert_int_equal(nest_library_find(&world->arena, &options.library), NEST_OK);
    assert_int_equal(nest_session_open(&options, &world->session, &world->errors), NEST_OK);
    assert_int_equal(nest_console_open(world->session, &world->console), NEST_OK);
    assert_int_equal(nest_maker_open(world->session, world->console, &world->maker), NEST_OK);
}

static void open_world(struct world *world)
{
    *world = (struct world){0};
    test_folder_open(&world->folder);
    test_folder_write(&world->folder, "mine.lua", FABRIC);
    test_folder_write(&world->folder, "endless.lua", "while true do end\n");
    test_folder_write(&world->folder, "scenario.yaml",
                      "model: llama3-8b\ncluster: mine.lua\ntrain: {global_batch: 64}\n");
    test_folder_write(&world->folder, "other.yaml",
                      "model: llama3-8b\ncluster: mine.lua\ntrain: {global_batch: 32}\n");
    test_folder_write(&world->folder, "never.yaml", "model: llama3-8b\ncluster: endless.lua\n");
    open_session(world);
    nest_session_wait(world->session);
}

static void close_world(struct world *world)
{
    nest_maker_close(world->maker);
    nest_console_close(world->console);
    nest_session_close(world->session);
    test_folder_close(&world->folder);
    nest_arena_free(&world->arena);
}

static void settle(struct world *world)
{
    world->notice.text[0] = '\0';
    nest_maker_wait(world->maker, &world->notice);
    nest_session_wait(world->session);
}

static const struct nest_knob *knob(struct world *world, const struct nest_snapshot *snapshot,
                                    const char *path)
{
    (void)world;
    for (int i = 0; i < snapshot->knobs; i++) {
        if (strcmp(snapshot->knob[i].path, path) == 0) {
            return &snapshot->knob[i];
        }
    }
    fail_msg("there is no knob %s", path);
    return NULL;
}

static void expect(struct world *world, const char *path, const char *value)
{
    const struct nest_snapshot *snapshot = nest_session_snapshot(world->session);
    assert_string_equal(knob(world, snapshot, path)->exact, value);
    nest_snapshot_release(snapshot);
}

static void expect_steps(struct world *world, int undo)
{
    const struct nest_snapshot *snapshot = nest_session_snapshot(world->session);
    assert_int_equal(snapshot->undo, undo);
    nest_snapshot_release(snapshot);
}

static void set(struct world *world, const char *path, const char *value)
{
    assert_int_equal(nest_maker_set(world->maker, path, value, &world->errors), NEST_OK);
}

static void a_script_that_does_not_end_holds_nothing_up(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    set(&world, "mood", "7");
    assert_string_equal(nest_maker_doing(world.maker), "mood of mine.lua");
    expect(&world, "cluster.mood", "1");
    set(&world, "spine.bandwidth", "50GB/s");
    nest_session_wait(world.session);
    expect(&world, "cluster.spine.bandwidth", "50GB/s");
    assert_non_null(nest_maker_doing(world.maker));
    assert_true(nest_maker_cancel(world.maker));
    settle(&world);
    assert_string_equal(world.notice.text, "mood of mine.lua: stopped, nothing has changed");
    assert_null(nest_maker_doing(world.maker));
    assert_false(nest_maker_cancel(world.maker));
    expect(&world, "cluster.mood", "1");
    expect(&world, "cluster.spine.bandwidth", "50GB/s");
    expect_steps(&world, 1);
    close_world(&world);
}

static void closing_stops_the_script(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    set(&world, "mood", "7");
    set(&world, "racks", "3");
    close_world(&world);
}

static void a_change_goes_over_what_was_changed_meanwhile(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    set(&world, "racks", "4");
    set(&world, "spine.bandwidth", "50GB/s");
    settle(&world);
    assert_string_equal(world.notice.text, "");
    expect(&world, "cluster.racks", "4");
    expect(&world, "cluster.spine.bandwidth", "50GB/s");
    const struct nest_snapshot *snapshot = nest_session_snapshot(world.session);
    assert_int_equal(snapshot->cluster->devices, 4 * 8);
    assert_true(snapshot->result->count > 0);
    nest_snapshot_release(snapshot);
    expect_steps(&world, 2);
    assert_true(nest_session_undo(world.session));
    expect(&world, "cluster.racks", "2");
    expect(&world, "cluster.spine.bandwidth", "50GB/s");
    close_world(&world);
}

static void a_fault_keeps_the_last_good_state(void **state)
{
    (void)state;
    struct world world;
    struct nest_strbuf said = NEST_STRBUF_INIT(TEXT);
    open_world(&world);
    set(&world, "mood", "8");
    settle(&world);
    assert_true(world.notice.bad);
    assert_non_null(strstr(world.notice.text, "mine.lua:4: not today"));
    const struct nest_log *log = nest_console_log(world.console);
    for (int i = 0; i < log->count; i++) {
        nest_strbuf_printf(&said, "%s\n", log->line[i].text);
    }
    assert_non_null(strstr(nest_strbuf_text(&said), "mine.lua:4: in main chunk"));
    nest_strbuf_free(&said);
    set(&world, "mood", "99");
    settle(&world);
    assert_true(world.notice.bad);
    expect(&world, "cluster.mood", "1");
    expect_steps(&world, 0);
    close_world(&world);
}

static void nudges_add_up_while_a_script_runs(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    set(&world, "mood", "2");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nest_maker_nudge(world.maker, "cluster.racks", 1, false, &world.errors),
                         NEST_OK);
    }
    settle(&world);
    expect(&world, "cluster.mood", "2");
    expect(&world, "cluster.racks", "5");
    expect_steps(&world, 2);
    /* Never out of the range that the script declares. */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(nest_maker_nudge(world.maker, "cluster.racks", -1, true, &world.errors),
                         NEST_OK);
    }
    settle(&world);
    expect(&world, "cluster.racks", "1");
    assert_int_equal(nest_maker_nudge(world.maker, "cluster.racks", -1, false, &world.errors),
                     NEST_OK);
    settle(&world);
    assert_non_null(strstr(world.notice.text, "as low as it can be"));
    close_world(&world);
}

static void clusters_and_scenarios_are_read_in_the_background(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    assert_int_equal(nest_maker_cluster(world.maker, test_folder_path(&world.folder, "endless.lua"),
                                        &world.errors),
                     NEST_OK);
    assert_string_equal(nest_maker_doing(world.maker), "endless.lua");
    assert_true(nest_maker_cancel(world.maker));
    settle(&world);
    assert_int_equal(
        nest_maker_load(world.maker, test_folder_path(&world.folder, "never.yaml"), &world.errors),
        NEST_OK);
    assert_true(nest_maker_cancel(world.maker));
    settle(&world);
    expect(&world, "train.global_batch", "64");
    expect_steps(&world, 0);
    assert_int_equal(
        nest_maker_load(world.maker, test_folder_path(&world.folder, "other.yaml"), &world.errors),
        NEST_OK);
    assert_int_equal(nest_maker_cluster(world.maker, "dragonfly", &world.errors), NEST_OK);
    settle(&world);
    expect(&world, "train.global_batch", "32");
    expect(&world, "cluster.groups", "9");
    expect_steps(&world, 2);
    /* What is not there is said at once. */
    assert_int_equal(
        nest_maker_load(world.maker, test_folder_path(&world.folder, "none.yaml"), &world.errors),
        NEST_BAD_INPUT);
    assert_null(nest_maker_doing(world.maker));
    close_world(&world);
}

static void the_command_line_waits_for_its_script(void **state)
{
    (void)state;
    struct world world;
    struct nest_strbuf line = NEST_STRBUF_INIT(TEXT);
    open_world(&world);
    set(&world, "racks", "4");
    settle(&world);
    assert_int_equal(nest_maker_command(world.maker, &line, &world.errors), NEST_OK);
    assert_int_equal(line.length, 0);
    assert_null(nest_maker_line(world.maker));
    settle(&world);
    const char *told = nest_maker_line(world.maker);
    assert_non_null(told);
    assert_non_null(strstr(told, "--set cluster.racks=4"));
    assert_null(strstr(told, "fanout")); /* it follows from the racks */
    assert_null(nest_maker_line(world.maker));
    nest_strbuf_free(&line);
    close_world(&world);
}

/* The first call of the hook runs until it is stopped: the next solve asks it again. */
static void a_stopped_override_is_asked_again(void **state)
{
    (void)state;
    struct world world = {0};
    test_folder_open(&world.folder);
    test_folder_write(&world.folder, "hooks.lua",
                      "local calls = 0\n"
                      "return { compute = function(layer, default)\n"
                      "  calls = calls + 1\n"
                      "  while calls == 1 do end\n"
                      "  return default()\n"
                      "end }\n");
    test_folder_write(&world.folder, "scenario.yaml",
                      "model: llama3-8b\ncluster: h100-spine-leaf\nlimits: {devices: 64}\n"
                      "train: {global_batch: 64}\nscripts: [hooks.lua]\n");
    open_session(&world);
    assert_true(nest_session_cancel(world.session));
    nest_session_wait(world.session);
    const struct nest_snapshot *snapshot = nest_session_snapshot(world.session);
    assert_true(snapshot->cancelled);
    assert_null(snapshot->result);
    nest_snapshot_release(snapshot);
    set(&world, "global_batch", "32");
    nest_session_wait(world.session);
    assert_true(nest_session_undo(world.session));
    nest_session_wait(world.session);
    snapshot = nest_session_snapshot(world.session);
    assert_false(snapshot->cancelled);
    assert_int_equal(snapshot->status, NEST_OK);
    assert_true(snapshot->result->count > 0);
    nest_snapshot_release(snapshot);
    close_world(&world);
}

int main(void)
{
    (void)setenv("XDG_STATE_HOME", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_that_does_not_end_holds_nothing_up),
        cmocka_unit_test(closing_stops_the_script),
        cmocka_unit_test(a_change_goes_over_what_was_changed_meanwhile),
        cmocka_unit_test(a_fault_keeps_the_last_good_state),
        cmocka_unit_test(nudges_add_up_while_a_script_runs),
        cmocka_unit_test(clusters_and_scenarios_are_read_in_the_background),
        cmocka_unit_test(the_command_line_waits_for_its_script),
        cmocka_unit_test(a_stopped_override_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
