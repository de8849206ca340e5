/* Files that are saved while the session has them open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/watch.h"
#include "support/folder.h"

enum { TEXT = 1 << 16 };

struct world {
    struct nest_arena arena;
    struct nest_session *session;
    struct nest_console *console;
    struct nest_watch *watch;
    struct nest_notice notice;
    struct test_folder folder;
};

static const char *fabric(struct world *world, const char *spine)
{
    return nest_arena_printf(&world->arena,
                             "local racks = param('racks', 2, 1, 64)\n"
                             "return cluster {\n"
                             "  name = 'Mine', device = 'h100-sxm',\n"
                             "  level { name = 'spine', bandwidth = '%s', latency = '6us',\n"
                             "    level { name = 'rack', bandwidth = '50GB/s', latency = '3us',\n"
                             "      node { fanout = 8, bandwidth = '450GB/s', latency = '1us' "
                             "}:times(4) }:times(racks) }\n"
                             "}\n",
                             spine);
}

/* request: what is asked for beside the scenario's file. */
static void open_world_with(struct world *world, const struct nest_scenario_request *request)
{
    struct nest_errors errors;
    *world = (struct world){0};
    test_folder_open(&world->folder);
    test_folder_write(&world->folder, "mine.lua", fabric(world, "25GB/s"));
    test_folder_write(&world->folder, "scenario.yaml",
                      "model: llama3-8b\ncluster: mine.lua\ntrain: {global_batch: 64}\n");
    struct nest_session_options options = {.request = *request, .top = 1, .threads = 1};
    options.request.scenario = test_folder_path(&world->folder, "scenario.yaml");
    nest_errors_init(&errors, &world->arena);
    assert_int_equal(nest_library_find(&world->arena, &options.library), NEST_OK);
    assert_int_equal(nest_session_open(&options, &world->session, &errors), NEST_OK);
    assert_int_equal(nest_console_open(world->session, &world->console), NEST_OK);
    assert_int_equal(nest_watch_open(world->session, world->console, &world->watch), NEST_OK);
    nest_session_wait(world->session);
}

static void open_world(struct world *world)
{
    open_world_with(world, &(struct nest_scenario_request){0});
}

static void close_world(struct world *world)
{
    nest_watch_close(world->watch);
    nest_console_close(world->console);
    nest_session_close(world->session);
    test_folder_close(&world->folder);
    nest_arena_free(&world->arena);
}

/* Looks as the explorer does when it is told of a change. */
static void look(struct world *world)
{
    nest_watch_look(world->watch, &world->notice);
    nest_watch_wait(world->watch, &world->notice);
}

static const char *value(struct world *world, const char *path)
{
    const struct nest_snapshot *snapshot = nest_session_snapshot(world->session);
    const char *text = NULL;
    for (int i = 0; i < snapshot->knobs; i++) {
        text = strcmp(snapshot->knob[i].path, path) == 0
                   ? nest_arena_strdup(&world->arena, snapshot->knob[i].exact)
                   : text;
    }
    nest_snapshot_release(snapshot);
    assert_non_null(text);
    return text;
}

static const char *log_text(struct world *world)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT);
    const struct nest_log *log = nest_console_log(world->console);
    for (int i = 0; i < log->count; i++) {
        nest_strbuf_printf(&text, "%s\n", log->line[i].text);
    }
    const char *copy = nest_arena_strdup(&world->arena, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    return copy;
}

static void set(struct world *world, const char *path, const char *text)
{
    struct nest_errors errors;
    nest_errors_init(&errors, &world->arena);
    assert_int_equal(nest_session_set(world->session, path, text, &errors), NEST_OK);
    nest_session_wait(world->session);
}

static void a_saved_script_is_read_again_with_edits_kept(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    set(&world, "racks", "4");
    set(&world, "rack.bandwidth", "40GB/s");
    test_folder_write(&world.folder, "mine.lua", fabric(&world, "12GB/s"));
    look(&world);
    assert_false(world.notice.bad);
    assert_non_null(strstr(world.notice.text, "mine.lua was saved"));
    assert_string_equal(value(&world, "cluster.spine.bandwidth"), "12GB/s");
    assert_string_equal(value(&world, "cluster.rack.bandwidth"), "40GB/s");
    const struct nest_snapshot *snapshot = nest_session_snapshot(world.session);
    assert_int_equal(snapshot->cluster->devices, 4 * 32);
    assert_int_equal(snapshot->undo, 3);
    nest_snapshot_release(snapshot);
    nest_session_wait(world.session);
    snapshot = nest_session_snapshot(world.session);
    assert_true(snapshot->result->count > 0);
    assert_non_null(strstr(snapshot->change->edit, "12"));
    nest_snapshot_release(snapshot);
    assert_true(nest_session_undo(world.session));
    assert_string_equal(value(&world, "cluster.spine.bandwidth"), "25GB/s");
    /* Nothing has changed on the disk since. */
    look(&world);
    assert_string_equal(world.notice.text, "");
    assert_string_equal(value(&world, "cluster.spine.bandwidth"), "25GB/s");
    close_world(&world);
}

static void a_broken_script_keeps_the_last_good_state(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "return cluster {\n  name = \n}\n",
        "local function deep()\n  error('not today')\nend\nlocal x = 1\ndeep()\n",
        "return 5\n",
        "",
    };
    struct world world;
    open_world(&world);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        test_folder_replace(&world.folder, "mine.lua", broken[i]);
        look(&world);
        assert_true(world.notice.bad);
        assert_non_null(strstr(world.notice.text, "mine.lua"));
        assert_string_equal(value(&world, "cluster.spine.bandwidth"), "25GB/s");
    }
    const char *said = log_text(&world);
    assert_non_null(strstr(said, "mine.lua:2: not today"));
    assert_non_null(strstr(said, "mine.lua:5: in main chunk"));
    test_folder_replace(&world.folder, "mine.lua", fabric(&world, "10GB/s"));
    look(&world);
    assert_false(world.notice.bad);
    assert_string_equal(value(&world, "cluster.spine.bandwidth"), "10GB/s");
    close_world(&world);
}

static void edits_that_no_longer_apply_are_not_lost(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    set(&world, "racks", "4");
    test_folder_write(&world.folder, "mine.lua",
                      "return cluster { name = 'Other', device = 'h100-sxm',\n"
                      "  node { fanout = 8, bandwidth = '450GB/s', latency = '1us' } }\n");
    look(&world);
    assert_true(world.notice.bad);
    assert_non_null(strstr(world.notice.text, "racks"));
    const struct nest_snapshot *snapshot = nest_session_snapshot(world.session);
    assert_int_equal(snapshot->cluster->devices, 4 * 32);
    nest_snapshot_release(snapshot);
    close_world(&world);
}

static void a_saved_scenario_is_taken_only_without_changes_here(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    test_folder_write(&world.folder, "scenario.yaml",
                      "model: llama3-8b\ncluster: mine.lua\ntrain: {global_batch: 128}\n");
    look(&world);
    assert_false(world.notice.bad);
    assert_string_equal(value(&world, "train.global_batch"), "128");
    set(&world, "global_batch", "32");
    test_folder_write(&world.folder, "scenario.yaml",
                      "model: llama3-8b\ncluster: mine.lua\ntrain: {global_batch: 256}\n");
    look(&world);
    assert_true(world.notice.bad);
    assert_non_null(strstr(world.notice.text, "scenario.yaml was changed outside"));
    assert_string_equal(value(&world, "train.global_batch"), "32");
    close_world(&world);
}

/* Asks for all that a command line can, in words that are gone once the session is open. */
static void open_asked_world(struct world *world)
{
    char set[2][32] = {"seq=4096", "spine.bandwidth=12GB/s"};
    char pin[] = "tp=4,zero=1";
    char model[] = "llama3-70b";
    const char *const sets[] = {set[0], set[1]};
    const char *const pins[] = {pin};
    const struct nest_scenario_request request = {
        .model = model, .sets = 2, .set = sets, .pins = 1, .pin = pins};
    open_world_with(world, &request);
    memset(set, 'x', sizeof set);
    memset(pin, 'x', sizeof pin);
    memset(model, 'x', sizeof model);
}

static void expect_asked(struct world *world, const char *batch)
{
    const struct nest_snapshot *snapshot = nest_session_snapshot(world->session);
    assert_string_equal(value(world, "train.global_batch"), batch);
    assert_string_equal(value(world, "model.seq"), "4096");
    assert_string_equal(value(world, "cluster.spine.bandwidth"), "12GB/s");
    assert_string_equal(value(world, "tp"), "4");
    assert_string_equal(value(world, "zero"), "1");
    assert_string_equal(snapshot->scenario->model.id, "llama3-70b");
    assert_false(snapshot->dirty);
    nest_snapshot_release(snapshot);
}

static void what_was_asked_for_goes_over_a_saved_scenario(void **state)
{
    (void)state;
    struct world world;
    struct nest_errors errors;
    open_asked_world(&world);
    expect_asked(&world, "64");
    test_folder_replace(&world.folder, "scenario.yaml",
                        "model: llama3-8b\ncluster: mine.lua\ntrain: {global_batch: 128}\n");
    look(&world);
    expect_asked(&world, "128");
    /* A script in between makes no difference. */
    test_folder_replace(&world.folder, "mine.lua", fabric(&world, "10GB/s"));
    look(&world);
    test_folder_replace(&world.folder, "scenario.yaml",
                        "model: llama3-8b\ncluster: mine.lua\ntrain: {global_batch: 256}\n");
    look(&world);
    expect_asked(&world, "256");
    /* Once it is saved it is the file's, and the next change of the file is as good as any. */
    nest_errors_init(&errors, &world.arena);
    set(&world, "global_batch", "512");
    assert_int_equal(nest_session_save(world.session, NULL, &errors), NEST_OK);
    test_folder_replace(&world.folder, "scenario.yaml", "model: llama3-8b\ncluster: mine.lua\n");
    look(&world);
    assert_false(world.notice.bad);
    assert_string_equal(value(&world, "cluster.spine.bandwidth"), "10GB/s");
    assert_string_equal(value(&world, "tp"), "");
    close_world(&world);
}

static void what_was_asked_for_and_no_longer_applies_is_a_fault(void **state)
{
    (void)state;
    struct world world;
    open_asked_world(&world);
    test_folder_replace(&world.folder, "scenario.yaml", "model: llama3-8b\ncluster: hgx-h100-8\n");
    look(&world);
    assert_true(world.notice.bad);
    assert_non_null(strstr(world.notice.text, "spine"));
    expect_asked(&world, "64");
    close_world(&world);
}

static void what_the_session_saves_is_no_news(void **state)
{
    (void)state;
    struct world world;
    struct nest_errors errors;
    open_world(&world);
    nest_errors_init(&errors, &world.arena);
    set(&world, "global_batch", "32");
    assert_int_equal(nest_session_save(world.session, NULL, &errors), NEST_OK);
    look(&world);
    assert_string_equal(world.notice.text, "");
    set(&world, "global_batch", "64");
    look(&world);
    assert_string_equal(world.notice.text, "");
    close_world(&world);
}

static void overrides_are_read_again_too(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    test_folder_write(&world.folder, "hooks.lua", "return {}\n");
    test_folder_replace(&world.folder, "scenario.yaml",
                        "model: llama3-8b\ncluster: mine.lua\nscripts: [hooks.lua]\n");
    look(&world);
    assert_false(world.notice.bad);
    test_folder_write(&world.folder, "hooks.lua", "return {nothing = function() end}\n");
    look(&world);
    assert_true(world.notice.bad);
    assert_non_null(strstr(world.notice.text, "hooks.lua"));
    test_folder_write(&world.folder, "hooks.lua", "return { }\n");
    look(&world);
    assert_false(world.notice.bad);
    assert_non_null(strstr(world.notice.text, "hooks.lua was saved"));
    close_world(&world);
}

int main(void)
{
    (void)setenv("XDG_STATE_HOME", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saved_script_is_read_again_with_edits_kept),
        cmocka_unit_test(a_broken_script_keeps_the_last_good_state),
        cmocka_unit_test(edits_that_no_longer_apply_are_not_lost),
        cmocka_unit_test(a_saved_scenario_is_taken_only_without_changes_here),
        cmocka_unit_test(what_was_asked_for_goes_over_a_saved_scenario),
        cmocka_unit_test(what_was_asked_for_and_no_longer_applies_is_a_fault),
        cmocka_unit_test(what_the_session_saves_is_no_news),
        cmocka_unit_test(overrides_are_read_again_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
