/* The console over the live scenario: what chunks print, what they change, and how they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/console.h"

#define SMALL "tests/ui/data/small.yaml"

enum { WIDTH = 60 };

struct world {
    struct nest_arena arena;
    struct nest_session *session;
    struct nest_console *console;
    int seen; /* lines of the log that were looked at */
};

static struct world open_world(void)
{
    struct world world = {.arena = NEST_ARENA_INIT};
    struct nest_errors errors;
    struct nest_session_options options = {.request = {.scenario = SMALL}, .top = 2, .threads = 1};
    nest_errors_init(&errors, &world.arena);
    assert_int_equal(nest_library_find(&world.arena, &options.library), NEST_OK);
    assert_int_equal(nest_session_open(&options, &world.session, &errors), NEST_OK);
    nest_session_wait(world.session);
    assert_int_equal(nest_console_open(world.session, &world.console), NEST_OK);
    return world;
}

static void close_world(struct world *world)
{
    nest_console_close(world->console);
    nest_session_close(world->session);
    nest_arena_free(&world->arena);
}

/* What a solve came to is told whenever it is known. */
static bool is_outcome(const struct nest_line *line)
{
    return line->kind == NEST_LINE_NOTE && strstr(line->text, ":  step ");
}

static bool is_echo(const struct nest_line *line)
{
    return line->kind == NEST_LINE_INPUT || line->kind == NEST_LINE_MORE;
}

/* Everything that came since the last call but chunks and outcomes, joined by newlines. */
static const char *collected(struct world *world)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(1 << 20);
    const struct nest_log *log = nest_console_log(world->console);
    for (; world->seen < log->count; world->seen++) {
        const struct nest_line *line = &log->line[world->seen];
        if (!is_echo(line) && !is_outcome(line)) {
            nest_strbuf_printf(&text, "%s%s", text.length > 0 ? "\n" : "", line->text);
        }
    }
    const char *kept = nest_arena_strdup(&world->arena, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    return kept;
}

static const char *run(struct world *world, const char *chunk)
{
    nest_console_submit(world->console, chunk, WIDTH);
    nest_console_wait(world->console);
    return collected(world);
}

static int undo_steps(struct world *world)
{
    const struct nest_snapshot *snapshot = nest_session_snapshot(world->session);
    const int steps = snapshot->undo;
    nest_snapshot_release(snapshot);
    return steps;
}

static void chunks_print_their_values(void **state)
{
    (void)state;
    static const struct {
        const char *chunk, *shown;
    } cases[] = {
        {"1 + 2", "3"},
        {"'a', 2, nil", "a\n2\nnil"},
        {"x = 5", ""},
        {"x * 2", "10"},
        {"print('one'); print('two')", "one\ntwo"},
        {"{}", "{}"},
        {"{3, 1, name = 'n', [7.5] = true}", "{3, 1, [7.5] = true, name = \"n\"}"},
        {"{first = ('long '):rep(6), second = ('long '):rep(6)}",
         "{\n  first = \"long long long long long long \",\n"
         "  second = \"long long long long long long \"\n}"},
        {"local a = 1\nreturn a + 1", "2"},
        {"setmetatable({}, {__tostring = function() return 'mine' end})", "mine"},
        {"s", "scenario: Measured 16 on Two racks"},
    };
    struct world world = open_world();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(run(&world, cases[i].chunk), cases[i].shown);
    }
    close_world(&world);
}

static void a_chunk_is_one_step_of_the_history(void **state)
{
    (void)state;
    struct world world = open_world();
    const char *before = run(&world, "s:get('limits.memory')");
    assert_string_equal(run(&world, "s:set('limits.memory', '30GiB'); s:set('global_batch', 64)\n"
                                    "s:pin('tp', 2)"),
                        "");
    assert_int_equal(undo_steps(&world), 1);
    assert_string_equal(run(&world, "s:get('limits.memory')"), "30GiB");
    assert_string_equal(run(&world, "print(s:get('global_batch'))"), "64");
    assert_int_equal(undo_steps(&world), 1);
    assert_true(nest_session_undo(world.session));
    assert_string_equal(run(&world, "s:get('limits.memory')"), before);
    close_world(&world);
}

static void the_session_solves_what_a_chunk_changed(void **state)
{
    (void)state;
    struct world world = open_world();
    (void)run(&world, "s:pin('pp', 2)");
    nest_session_wait(world.session);
    const struct nest_snapshot *snapshot = nest_session_snapshot(world.session);
    assert_int_equal(snapshot->result->solution[0].plan.stages, 2);
    nest_snapshot_release(snapshot);
    (void)nest_console_collect(world.console);
    const struct nest_log *log = nest_console_log(world.console);
    assert_true(is_outcome(&log->line[log->count - 1]));
    assert_non_null(strstr(log->line[log->count - 1].text, "pp free → 2:  step "));
    close_world(&world);
}

static void a_chunk_that_fails_changes_nothing(void **state)
{
    (void)state;
    struct world world = open_world();
    const char *said = run(&world, "local function deep()\n  error('no more')\nend\n"
                                   "s:set('global_batch', 64)\ndeep()");
    assert_non_null(strstr(said, "console:2: no more"));
    assert_non_null(strstr(said, "console:5: in main chunk"));
    assert_int_equal(undo_steps(&world), 0);
    said = run(&world, "s:set('spine.bandwith', '1GB/s')");
    assert_non_null(strstr(said, "console:1: "));
    assert_non_null(strstr(said, "bandwidth"));
    assert_string_equal(run(&world, "x = = 1"), "console:1: unexpected symbol near '='");
    close_world(&world);
}

static void what_cannot_end_is_stopped(void **state)
{
    (void)state;
    static const char *const endless[] = {
        "while true do end",
        "while true do pcall(error) end",
        "coroutine.wrap(function() while true do end end)()",
        "setmetatable({}, {__tostring = function() while true do end end})",
        "s:set('global_batch', 64); repeat until false",
    };
    struct world world = open_world();
    for (size_t i = 0; i < sizeof endless / sizeof endless[0]; i++) {
        nest_console_submit(world.console, endless[i], WIDTH);
        nest_console_submit(world.console, "print('never')", WIDTH);
        assert_true(nest_console_busy(world.console));
        assert_true(nest_console_cancel(world.console));
        nest_console_wait(world.console);
        assert_string_equal(collected(&world), "stopped");
        size_t start = 0;
        assert_non_null(nest_console_complete(world.console, "prin", &world.arena, &start));
        assert_string_equal(run(&world, "1 + 1"), "2");
    }
    assert_int_equal(undo_steps(&world), 0);
    assert_false(nest_console_cancel(world.console));
    close_world(&world);
}

static void what_needs_too_much_memory_ends(void **state)
{
    (void)state;
    struct world world = open_world();
    assert_non_null(strstr(run(&world, "x = ('x'):rep(1 << 30)"), "console:1: "));
    const char *said = run(&world, "t = {} while true do t[#t + 1] = ('y'):rep(100000) .. #t end");
    assert_non_null(strstr(said, "MiB"));
    assert_non_null(strstr(said, "they are gone now"));
    assert_string_equal(run(&world, "type(t), s ~= nil"), "nil\ntrue");
    said = run(&world, "for i = 1, 1e9 do print(i) end");
    assert_non_null(strstr(said, "printed more than"));
    close_world(&world);
}

static void changes_made_meanwhile_win(void **state)
{
    (void)state;
    struct world world = open_world();
    struct nest_errors errors;
    nest_errors_init(&errors, &world.arena);
    nest_console_submit(world.console, "s:set('global_batch', 64)", WIDTH);
    assert_int_equal(nest_session_set(world.session, "global_batch", "32", &errors), NEST_OK);
    nest_console_wait(world.console);
    assert_non_null(strstr(collected(&world), "changed elsewhere"));
    assert_int_equal(undo_steps(&world), 1);
    assert_string_equal(run(&world, "s:get('global_batch')"), "32");
    close_world(&world);
}

/* The history drops what a copy's texts came from. */
static void copies_outlive_the_history(void **state)
{
    (void)state;
    struct world world = open_world();
    (void)run(&world, "s:set('limits.memory', '30GiB')");
    (void)run(&world, "old = s:copy()");
    assert_true(nest_session_undo(world.session));
    (void)run(&world, "s:set('limits.memory', '31GiB')");
    assert_string_equal(run(&world, "old:get('limits.memory'), s:get('limits.memory')"),
                        "30GiB\n31GiB");
    assert_non_null(strstr(run(&world, "old:solve().feasible"), "true"));
    close_world(&world);
}

static void unfinished_chunks_are_known(void **state)
{
    (void)state;
    static const char *const unfinished[] = {
        "for i = 1, 3 do",   "f(", "{1,", "x = [[text", "function f()\n  return 1",
        "if a then b() else"};
    static const char *const finished[] = {
        "",          "x = 1",   "1 + 1",    "for i = 1, 3 do end",
        "x = 'open", "x = = 1", "end",      "print(1)",
        "{1, 2}",    "s",       "return 1", "-- words"};
    for (size_t i = 0; i < sizeof unfinished / sizeof unfinished[0]; i++) {
        assert_true(nest_console_is_incomplete(unfinished[i]));
    }
    for (size_t i = 0; i < sizeof finished / sizeof finished[0]; i++) {
        assert_false(nest_console_is_incomplete(finished[i]));
    }
}

static void names_are_completed(void **state)
{
    (void)state;
    static const struct {
        const char *line, *first;
        size_t start;
    } cases[] = {
        {"prin", "print", 0},
        {"x = nest.sched", "schedule", 9},
        {"s:so", "solve", 2},
        {"return s:", "copy", 9},
        {"mine.inner.de", "deep", 11},
        {"('x'):re", NULL, 6},
        {"s:set('spine.ban", "spine.bandwidth", 7},
        {"s:pin(\"micro", "micro_batch", 7},
        {"whi", "while", 0},
        {"nothing.here.", NULL, 13},
        {"inherited.fr", "from_above", 10},
    };
    struct world world = open_world();
    (void)run(&world, "mine = {inner = {deep = 1}}; inherited = setmetatable({}, {__index = "
                      "{from_above = 1}})");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t start = 99;
        const char *const *name =
            nest_console_complete(world.console, cases[i].line, &world.arena, &start);
        print_message("%s\n", cases[i].line);
        assert_int_equal(start, cases[i].start);
        if (cases[i].first) {
            bool found = false;
            for (; name && *name && !found; name++) {
                found = strcmp(*name, cases[i].first) == 0;
            }
            assert_true(found);
        } else {
            assert_null(name);
        }
    }
    close_world(&world);
}

static void what_was_typed_is_found_again(void **state)
{
    (void)state;
    char folder[] = "/tmp/nest-console-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("XDG_STATE_HOME", folder, 1), 0);
    struct world world = open_world();
    (void)run(&world, "one = 1");
    (void)run(&world, "two = 'back\\\\slash'\nthree = 3");
    (void)run(&world, "one = 1");
    (void)run(&world, "one = 1");
    close_world(&world);
    world = open_world();
    const struct nest_past *past = nest_console_past(world.console);
    assert_int_equal(past->count, 3);
    assert_string_equal(past->entry[1], "two = 'back\\\\slash'\nthree = 3");
    assert_int_equal(nest_past_find(past, "one", past->count), 2);
    assert_int_equal(nest_past_find(past, "one", 2), 0);
    assert_int_equal(nest_past_find(past, "four", past->count), -1);
    assert_int_equal(unlink(past->file), 0);
    close_world(&world);
    char inner[64];
    (void)snprintf(inner, sizeof inner, "%s/nest", folder);
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", "/dev/null", 1), 0);
}

int main(void)
{
    /* The history of whoever runs the tests is none of their business. */
    (void)setenv("XDG_STATE_HOME", "/dev/null", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_print_their_values),
        cmocka_unit_test(a_chunk_is_one_step_of_the_history),
        cmocka_unit_test(the_session_solves_what_a_chunk_changed),
        cmocka_unit_test(a_chunk_that_fails_changes_nothing),
        cmocka_unit_test(what_cannot_end_is_stopped),
        cmocka_unit_test(what_needs_too_much_memory_ends),
        cmocka_unit_test(changes_made_meanwhile_win),
        cmocka_unit_test(copies_outlive_the_history),
        cmocka_unit_test(unfinished_chunks_are_known),
        cmocka_unit_test(names_are_completed),
        cmocka_unit_test(what_was_typed_is_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
