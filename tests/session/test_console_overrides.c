/* Cost overrides that chunks of the console put on the live scenario. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/console.h"
#include "session/watch.h"
#include "support/folder.h"

#define SMALL "tests/ui/data/small.yaml"
#define SLOWER                                                                                     \
    "s:override {compute = function(layer, default)\n"                                             \
    "  local forward, backward = default()\n"                                                      \
    "  return 3 * forward, 3 * backward\n"                                                         \
    "end}"

enum { WIDTH = 60 };

struct world {
    struct nest_arena arena;
    struct nest_session *session;
    struct nest_console *console;
    struct nest_errors errors;
};

static void open_world(struct world *world, const char *scenario)
{
    *world = (struct world){.arena = NEST_ARENA_INIT};
    struct nest_session_options options = {
        .request = {.scenario = scenario}, .top = 2, .threads = 2};
    nest_errors_init(&world->errors, &world->arena);
    assert_int_equal(nest_library_find(&world->arena, &options.library), NEST_OK);
    assert_int_equal(nest_session_open(&options, &world->session, &world->errors), NEST_OK);
    nest_session_wait(world->session);
    assert_int_equal(nest_console_open(world->session, &world->console), NEST_OK);
}

static void close_world(struct world *world)
{
    nest_console_close(world->console);
    nest_session_close(world->session);
    nest_arena_free(&world->arena);
}

/* The newest line of the log once the chunk has ended and what it made is solved. */
static const char *run(struct world *world, const char *chunk)
{
    nest_console_submit(world->console, chunk, WIDTH);
    nest_console_wait(world->console);
    nest_session_wait(world->session);
    (void)nest_console_collect(world->console);
    const struct nest_log *log = nest_console_log(world->console);
    return log->line[log->count - 1].text;
}

/* What the session says of its scenario. */
struct state {
    nest_ps step;
    unsigned hooks, touched; /* on the scenario; that change the step */
    int undo;
    bool dirty;
    enum nest_status status;
};

static struct state look(struct world *world)
{
    nest_session_wait(world->session);
    const struct nest_snapshot *s = nest_session_snapshot(world->session);
    const struct state state = {
        .step = s->result->count ? s->result->solution[0].prediction.step : 0,
        .hooks = s->overrides,
        .touched = s->touched ? s->touched->step : 0,
        .undo = s->undo,
        .dirty = s->dirty,
        .status = s->status,
    };
    nest_snapshot_release(s);
    return state;
}

static const unsigned COMPUTE = 1U << NEST_HOOK_COMPUTE;

static void an_override_is_a_step_like_any_edit(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    const struct state plain = look(&world);
    const char *told = run(&world, SLOWER);
    assert_non_null(strstr(told, "overrides none → compute:  step "));
    struct state now = look(&world);
    assert_int_equal(now.hooks, COMPUTE);
    assert_int_equal(now.touched, COMPUTE);
    assert_true(now.step > 2 * plain.step);
    assert_int_equal(now.undo, 1);
    assert_true(now.dirty);
    const nest_ps slower = now.step;

    /* What the console solves is what the explorer shows. */
    char chunk[256];
    (void)snprintf(chunk, sizeof chunk, "math.abs(s:solve().step_time_s - %.12f) < 1e-9",
                   nest_to_seconds(slower));
    assert_string_equal(run(&world, chunk), "true");
    assert_int_equal(look(&world).undo, 1);

    /* Edits build on it, from wherever they come. */
    assert_int_equal(nest_session_set(world.session, "global_batch", "32", &world.errors), NEST_OK);
    assert_int_equal(look(&world).hooks, COMPUTE);
    (void)run(&world, "s:set('global_batch', 64)");
    assert_int_equal(look(&world).touched, COMPUTE);
    assert_int_equal(look(&world).undo, 3);

    for (int i = 0; i < 3; i++) {
        assert_true(nest_session_undo(world.session));
    }
    now = look(&world);
    assert_int_equal(now.step, plain.step);
    assert_int_equal(now.hooks, 0);
    assert_false(now.dirty);
    assert_string_equal(run(&world, "s:solve().overrides"), "nil");
    assert_true(nest_session_redo(world.session));
    assert_int_equal(look(&world).step, slower);
    close_world(&world);
}

static void it_is_taken_away_again(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    const struct state plain = look(&world);
    (void)run(&world, SLOWER);
    const char *told = run(&world, "s:override {}");
    assert_non_null(strstr(told, "overrides compute → none:  step "));
    struct state now = look(&world);
    assert_int_equal(now.step, plain.step);
    assert_int_equal(now.hooks, 0);
    assert_int_equal(now.undo, 2);
    /* Nothing to take away is no step. */
    (void)run(&world, "s:override {}");
    assert_int_equal(look(&world).undo, 2);
    /* What a chunk puts there for itself alone is none either. */
    (void)run(&world, "local mine = s:copy() mine:override {compute = function() return 1, 1 end}");
    assert_int_equal(look(&world).undo, 2);
    assert_true(nest_session_undo(world.session));
    assert_true(look(&world).step > 2 * plain.step);
    close_world(&world);
}

/* What the script does to the table later is its own. */
static void it_stays_as_it_was_given(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    (void)run(&world, "t = {compute = function(l, d) local f, b = d() return 2 * f, 2 * b end}\n"
                      "s:override(t)");
    const struct state given = look(&world);
    (void)run(&world, "t.compute = nil t.memory = function() error('never') end");
    assert_int_equal(look(&world).undo, given.undo);
    assert_int_equal(nest_session_set(world.session, "global_batch", "32", &world.errors), NEST_OK);
    assert_int_equal(nest_session_set(world.session, "global_batch", "64", &world.errors), NEST_OK);
    assert_int_equal(look(&world).hooks, COMPUTE);
    assert_int_equal(look(&world).status, NEST_OK);
    close_world(&world);
}

static void a_chunk_that_fails_leaves_it(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    (void)run(&world, SLOWER);
    const struct state before = look(&world);
    (void)run(&world, "s:override {} error('no')");
    (void)run(&world, "s:override {compute = 5}");
    (void)run(&world, "s:override {compte = print}");
    const struct state after = look(&world);
    assert_int_equal(after.undo, before.undo);
    assert_int_equal(after.step, before.step);
    close_world(&world);
}

/* Its fault is the live scenario's; undo leads back. */
static void a_fault_of_it_has_its_place(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    const struct state plain = look(&world);
    (void)run(&world, "s:override {\n  compute = function() error('no more') end}");
    nest_session_wait(world.session);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    assert_int_equal(s->status, NEST_BAD_INPUT);
    assert_true(s->result->errors.count > 0);
    assert_string_equal(s->result->errors.item[0].message, "no more");
    assert_string_equal(s->result->errors.item[0].mark.file, "console");
    assert_int_equal(s->result->errors.item[0].mark.line, 2);
    nest_snapshot_release(s);
    assert_true(nest_session_undo(world.session));
    assert_int_equal(look(&world).step, plain.step);
    close_world(&world);
}

/* One that does not end is stopped with the search, and by its own limits. */
static void one_without_end_is_stopped(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    nest_console_submit(world.console, "s:override {compute = function() while true do end end}",
                        WIDTH);
    nest_console_wait(world.console);
    assert_true(nest_session_cancel(world.session));
    nest_session_wait(world.session);
    assert_true(nest_session_undo(world.session));
    assert_int_equal(look(&world).status, NEST_OK);
    /* The console stays usable, with limits of its own. */
    assert_string_equal(run(&world, "1 + 1"), "2");
    close_world(&world);
}

/* A chunk that runs keeps the solver waiting, and nothing else. */
static void a_busy_console_is_waited_for(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    (void)run(&world, SLOWER);
    const struct state slower = look(&world);
    assert_int_equal(nest_session_set(world.session, "global_batch", "32", &world.errors), NEST_OK);
    nest_session_wait(world.session);
    nest_console_submit(world.console, "while true do end", WIDTH);
    assert_int_equal(nest_session_set(world.session, "global_batch", "64", &world.errors), NEST_OK);
    (void)nest_session_cancel(world.session);
    nest_session_wait(world.session); /* stopped, though the chunk runs on */
    assert_int_equal(nest_session_set(world.session, "global_batch", "16", &world.errors), NEST_OK);
    assert_true(nest_session_undo(world.session));
    assert_true(nest_console_cancel(world.console));
    nest_console_wait(world.console);
    assert_int_equal(look(&world).hooks, COMPUTE);
    assert_true(nest_session_undo(world.session));
    assert_true(nest_session_undo(world.session));
    assert_int_equal(look(&world).step, slower.step);
    close_world(&world);
}

/* The console's own solves beside those of the session, which ask the same functions. */
static void chunks_solve_beside_the_session(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    for (int i = 0; i < 6; i++) {
        char chunk[512];
        (void)snprintf(chunk, sizeof chunk,
                       "s:override {memory = function(l, d) local m = d()\n"
                       "  m.activations = (1 + %d / 8) * m.activations return m end}\n"
                       "local a, b = s:solve(), s:copy():solve()\n"
                       "assert(a.step_time_s == b.step_time_s)",
                       i);
        nest_console_submit(world.console, chunk, WIDTH);
    }
    nest_console_wait(world.console);
    assert_int_equal(look(&world).hooks, 1U << NEST_HOOK_MEMORY);
    assert_int_equal(look(&world).undo, 6);
    close_world(&world);
}

/* Many of them, of which the history keeps few: together they would be too large. */
static void what_nobody_holds_is_swept(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    for (int i = 0; i < 200; i++) {
        nest_console_submit(world.console,
                            "local big = ('x'):rep(1 << 20)\n"
                            "s:override {compute = function(l, d) assert(#big > 0) return d() end}",
                            WIDTH);
        nest_console_wait(world.console);
        assert_true(nest_session_undo(world.session));
    }
    close_world(&world);
}

static void they_go_with_the_variables(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    const struct state plain = look(&world);
    (void)run(&world, SLOWER);
    (void)run(&world, "t = {} while true do t[#t + 1] = ('y'):rep(100000) .. #t end");
    const struct state after = look(&world);
    assert_int_equal(after.hooks, 0);
    assert_int_equal(after.step, plain.step);
    /* Back where they were, they are missed. */
    assert_true(nest_session_undo(world.session));
    assert_int_equal(nest_session_set(world.session, "global_batch", "16", &world.errors), NEST_OK);
    nest_session_wait(world.session);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    assert_int_equal(s->status, NEST_BAD_INPUT);
    assert_non_null(strstr(s->result->errors.item[0].message, "gone"));
    nest_snapshot_release(s);
    close_world(&world);
}

static const char *fabric(struct test_folder *folder, const char *bandwidth)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "return cluster {name = 'Mine', device = 'h100-sxm',\n"
                   "  node {fanout = 8, bandwidth = '%s', latency = '1us'}}\n",
                   bandwidth);
    test_folder_write(folder, "mine.lua", text);
    return test_folder_path(folder, "scenario.yaml");
}

/* A saved file is read again with the overrides still there. */
static void files_that_are_read_again_keep_it(void **state)
{
    (void)state;
    struct test_folder folder;
    test_folder_open(&folder);
    test_folder_write(&folder, "scenario.yaml",
                      "model: llama3-8b\ncluster: mine.lua\npin: {tp: 8}\n");
    struct world world;
    open_world(&world, fabric(&folder, "450GB/s"));
    struct nest_watch *watch = NULL;
    struct nest_notice notice;
    assert_int_equal(nest_watch_open(world.session, world.console, &watch), NEST_OK);
    (void)run(&world, SLOWER);
    const struct state before = look(&world);
    (void)fabric(&folder, "45GB/s");
    nest_watch_look(watch, &notice);
    nest_watch_wait(watch, &notice);
    const struct state after = look(&world);
    assert_true(after.step > before.step);
    assert_int_equal(after.hooks, COMPUTE);
    assert_int_equal(after.touched, COMPUTE);
    assert_int_equal(after.undo, before.undo + 1);
    nest_watch_close(watch);
    close_world(&world);
    test_folder_close(&folder);
}

static void the_command_line_says_what_it_lacks(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, SMALL);
    (void)run(&world, SLOWER);
    struct nest_strbuf text = NEST_STRBUF_INIT(1 << 16);
    assert_int_equal(nest_session_command(world.session, &text, &world.errors), NEST_OK);
    assert_non_null(strstr(nest_strbuf_text(&text), " # without the overrides of the console"));
    nest_strbuf_free(&text);
    close_world(&world);
}

/* While the solver is inside of one. */
static void everything_closes_around_it(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct world world;
        open_world(&world, SMALL);
        nest_console_submit(world.console,
                            "s:override {compute = function(l, d)\n"
                            "  for i = 1, 1e5 do end print(l.name) return d() end}",
                            WIDTH);
        nest_console_wait(world.console);
        const struct nest_snapshot *held = nest_session_snapshot(world.session);
        close_world(&world);
        nest_snapshot_release(held);
    }
}

int main(void)
{
    (void)setenv("XDG_STATE_HOME", "/dev/null", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_override_is_a_step_like_any_edit),
        cmocka_unit_test(it_is_taken_away_again),
        cmocka_unit_test(it_stays_as_it_was_given),
        cmocka_unit_test(a_chunk_that_fails_leaves_it),
        cmocka_unit_test(a_fault_of_it_has_its_place),
        cmocka_unit_test(one_without_end_is_stopped),
        cmocka_unit_test(a_busy_console_is_waited_for),
        cmocka_unit_test(chunks_solve_beside_the_session),
        cmocka_unit_test(what_nobody_holds_is_swept),
        cmocka_unit_test(they_go_with_the_variables),
        cmocka_unit_test(files_that_are_read_again_keep_it),
        cmocka_unit_test(the_command_line_says_what_it_lacks),
        cmocka_unit_test(everything_closes_around_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
