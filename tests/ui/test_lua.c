/* The Lua view as a user sees it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/terminal.h"

#define SMALL "tests/ui/data/small.yaml"

static struct terminal *start(int width, int height)
{
    struct terminal *t = terminal_start(
        &(struct terminal_options){.width = width, .height = height, .arguments = SMALL});
    terminal_expect_solved(t);
    terminal_keys(t, "2");
    terminal_expect(t, "s is the scenario");
    return t;
}

static void quit(struct terminal *t)
{
    terminal_keys(t, "Esc");
    terminal_expect(t, "CLUSTER  ");
    terminal_type(t, ":q!\r");
    assert_int_equal(terminal_end(t), 0);
    assert_false(terminal_on_alternate_screen(t));
    assert_true(terminal_cursor_shown(t));
    assert_true(terminal_modes_restored(t));
    assert_true(terminal_wrote(t, "\033[?2004l"));
    terminal_close(t);
}

/* A session with everything in it: values, tables, several lines, an edit, a fault. */
static void work(struct terminal *t)
{
    terminal_expect(t, "Some chunks to begin with");
    terminal_type(t, "1 + 2\r");
    terminal_expect(t, "│ 3 ");
    terminal_type(t, "s:set('batch', 64)\r");
    terminal_expect(t, "there is no 'batch'");
    terminal_type(t, "s:set('global_batch', 64)\r");
    terminal_expect(t, ":  step ");
    terminal_expect_solved(t);
    terminal_type(t, "for i = 1, 2 do\r");
    terminal_expect(t, "│ + ");
    terminal_type(t, "nest.bars({'pp ' .. i}, {i}, 20)\rend\r");
    terminal_expect(t, "pp 2");
    terminal_type(t, "local function f() error('no') end f()\r");
    terminal_expect(t, "in main chunk");
}

static void the_console_fits_80_by_24(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_expect_golden(t, "lua-welcome-80x24");
    work(t);
    terminal_expect_golden(t, "lua-80x24");
    quit(t);
}

static void the_console_fits_60_by_20(void **state)
{
    (void)state;
    struct terminal *t =
        terminal_start(&(struct terminal_options){.width = 60, .height = 20, .arguments = SMALL});
    terminal_expect_solved(t);
    terminal_keys(t, "2");
    terminal_expect_golden(t, "lua-welcome-60x20");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "Lua over");
    terminal_type(t, ":q!\r");
    assert_int_equal(terminal_end(t), 0);
    terminal_close(t);
}

static void the_console_fits_120_by_40(void **state)
{
    (void)state;
    struct terminal *t = start(120, 40);
    work(t);
    terminal_expect_golden(t, "lua-120x40");
    quit(t);
}

static void edits_undo_like_any_other(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_type(t, "s:set('spine.oversubscription', 16); s:pin{pp = 4}\r");
    terminal_expect(t, "* Measured");
    terminal_expect(t, ":  step ");
    terminal_keys(t, "Esc");
    terminal_expect(t, "16:1");
    terminal_keys(t, "u");
    terminal_expect_gone(t, "* Measured");
    terminal_expect(t, "16:1 → 2:1");
    quit(t);
}

static void overrides_act_on_what_is_shown(void **state)
{
    (void)state;
    struct terminal *t = start(120, 40);
    terminal_type(t, "s:override{compute = function(l, d) local f, b = d() return 2*f, 2*b end}\r");
    terminal_expect(t, "overrides none → compute:  step ");
    terminal_expect(t, "overrides: compute");
    terminal_expect(t, "* Measured");
    terminal_expect_solved(t);
    terminal_type(t, "s:override{}\r");
    terminal_expect(t, "s is the scenario");
    terminal_expect_gone(t, " s* ");
    terminal_keys(t, "Esc");
    terminal_expect(t, "overrides compute → none");
    terminal_keys(t, "u");
    terminal_expect(t, " s* ");
    terminal_expect(t, "overrides none → compute");
    terminal_keys(t, "u");
    terminal_expect_gone(t, " s* ");
    terminal_expect_gone(t, "* Measured");
    terminal_expect(t, "overrides compute → none");
    quit(t);
}

static void what_hangs_is_stopped_and_the_screen_lives(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_type(t, "while true do end\r");
    terminal_expect(t, "running; Ctrl-C stops it");
    terminal_type(t, "typed meanwhile");
    terminal_expect(t, "> typed meanwhile");
    terminal_resize(t, 100, 30);
    terminal_keys(t, "F1");
    terminal_expect(t, "HERE");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "HERE");
    terminal_keys(t, "C-c");
    terminal_expect(t, "stopped");
    terminal_expect_gone(t, "running; Ctrl-C stops it");
    terminal_keys(t, "C-c");
    terminal_expect_gone(t, "typed meanwhile");
    terminal_type(t, "t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end\r");
    terminal_expect(t, "more than its 128 MiB");
    terminal_type(t, "40 + 2\r");
    terminal_expect(t, "│ 42 ");
    quit(t);
}

static void typing_is_helped(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_type(t, "nest.sched\t");
    terminal_expect(t, "> nest.schedule");
    terminal_keys(t, "C-c");
    terminal_expect_gone(t, "> nest.schedule");
    terminal_type(t, "s:\t");
    terminal_expect(t, "copy  eval  get  override  paths");
    terminal_type(t, "set('spine.overs\t', 2)");
    terminal_expect(t, "s:set('spine.oversubscription', 2)");
    terminal_keys(t, "C-u");
    terminal_expect_gone(t, "s:set(");
    terminal_type(t, "first = 1\r");
    terminal_expect(t, "> first = 1");
    terminal_type(t, "second = 2\r");
    terminal_expect(t, "> second = 2");
    terminal_type(t, "unfinished");
    terminal_keys(t, "Up Up");
    terminal_expect(
        t, "│ > second = 2                                                                 │\n"
           "│ > first = 1 ");
    terminal_keys(t, "Down Down");
    terminal_expect(t, "> unfinished");
    terminal_keys(t, "C-r");
    terminal_expect(t, "typed before");
    terminal_type(t, "fir");
    terminal_expect(t, "'fir' in it");
    terminal_expect(t, "│ ? first = 1 ");
    terminal_keys(t, "Enter");
    terminal_expect(
        t, "│ > second = 2                                                                 │\n"
           "│ > first = 1 ");
    terminal_keys(t, "C-c");
    terminal_type(t, "one()");
    terminal_keys(t, "A-Enter");
    terminal_expect(t, "│ + ");
    terminal_type(t, "two()");
    terminal_keys(t, "C-j");
    terminal_type(t, "three()");
    terminal_expect(t, "│ + three()");
    terminal_keys(t, "C-c");
    quit(t);
}

static void pasted_text_runs_only_when_asked(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_type(t, "\033[200~for i = 1, 3 do\r\tprint('line ' .. i)\rend\rprint('q')\033[201~");
    terminal_expect(t, "│ + print('q')");
    assert_false(terminal_shows(t, "│ line 1"));
    terminal_type(t, "\r");
    terminal_expect(t, "│ line 3");
    terminal_keys(t, "Esc");
    terminal_expect(t, "CLUSTER  ");
    /* Where nothing takes text, pasted text is no keys. */
    terminal_type(t, "\033[200~q:q!\r2\033[201~?");
    terminal_expect(t, "HERE");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "HERE");
    /* A prompt takes it as one line. */
    terminal_type(t, ":\033[200~set\rmemory 30GiB\033[201~");
    terminal_expect(t, ":set memory 30GiB");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, ":set memory");
    terminal_type(t, "2");
    terminal_expect(t, "s is the scenario");
    quit(t);
}

static void what_was_printed_is_scrolled(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_type(t, "for i = 1, 100 do print('row ' .. i) end\r");
    terminal_expect(t, "│ row 100 ");
    terminal_keys(t, "PgUp PgUp");
    terminal_expect_gone(t, "│ row 100 ");
    terminal_expect(t, "more lines below");
    terminal_wheel(t, 40, 10, true);
    terminal_resize(t, 60, 16);
    terminal_expect(t, "more lines below");
    terminal_keys(t, "PgDn PgDn PgDn PgDn PgDn PgDn PgDn");
    terminal_expect(t, "│ row 100 ");
    terminal_type(t, "x");
    terminal_expect(t, "│ > x ");
    terminal_resize(t, 30, 8);
    terminal_expect(t, "needs at least");
    terminal_resize(t, 80, 24);
    terminal_expect(t, "│ > x ");
    quit(t);
}

/* Keys that come in one go are meant for the screen as it will be. */
static void a_view_that_was_not_drawn_yet_takes_keys(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_keys(t, "Esc");
    terminal_expect(t, "CLUSTER  ");
    terminal_resize(t, 30, 8);
    terminal_expect(t, "needs at least");
    terminal_resize(t, 80, 24);
    terminal_expect(t, "CLUSTER  ");
    terminal_type(t, "240 + 2\r");
    terminal_expect(t, "│ 42 ");
    terminal_resize(t, 30, 8);
    terminal_expect(t, "needs at least");
    terminal_resize(t, 80, 24);
    terminal_expect(t, "│ 42 ");
    terminal_keys(t, "Esc F1");
    terminal_expect(t, "HERE");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "HERE");
    quit(t);
}

static void tabs_are_clicked(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    int x = 0;
    int y = 0;
    assert_true(terminal_find(t, "1 Plan", &x, &y));
    terminal_click(t, x, y);
    terminal_expect(t, "CLUSTER  ");
    assert_true(terminal_find(t, "2 Lua", &x, &y));
    terminal_click(t, x, y);
    terminal_expect(t, "s is the scenario");
    quit(t);
}

static void a_cluster_in_lua_opens_in_the_explorer(void **state)
{
    (void)state;
    struct terminal *t = terminal_start(&(struct terminal_options){
        .width = 80, .height = 24, .arguments = "--cluster fat-tree --model llama3-8b"});
    terminal_expect(t, "TPU v4 fat tree");
    terminal_expect_solved(t);
    terminal_type(t, "2s:set('edges', 8)\r");
    terminal_expect(t, ":  step ");
    quit(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_console_fits_80_by_24),
        cmocka_unit_test(the_console_fits_60_by_20),
        cmocka_unit_test(the_console_fits_120_by_40),
        cmocka_unit_test(edits_undo_like_any_other),
        cmocka_unit_test(overrides_act_on_what_is_shown),
        cmocka_unit_test(what_hangs_is_stopped_and_the_screen_lives),
        cmocka_unit_test(typing_is_helped),
        cmocka_unit_test(pasted_text_runs_only_when_asked),
        cmocka_unit_test(what_was_printed_is_scrolled),
        cmocka_unit_test(a_view_that_was_not_drawn_yet_takes_keys),
        cmocka_unit_test(tabs_are_clicked),
        cmocka_unit_test(a_cluster_in_lua_opens_in_the_explorer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
