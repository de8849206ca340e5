/* Stopped with Ctrl-Z or a signal and brought back: the shell gets its terminal, then the screen is
 * as it was. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/terminal.h"

#define SMALL   "tests/ui/data/small.yaml"
#define STOPPED "the job has stopped"

static struct terminal *start(void)
{
    struct terminal *t = terminal_start(
        &(struct terminal_options){.width = 80, .height = 24, .arguments = SMALL, .job = true});
    terminal_expect_solved(t);
    assert_true(terminal_on_alternate_screen(t));
    return t;
}

static void expect_stopped(struct terminal *t)
{
    terminal_expect(t, STOPPED);
    assert_false(terminal_on_alternate_screen(t));
    assert_true(terminal_cursor_shown(t));
    assert_true(terminal_modes_restored(t));
}

static void come_back(struct terminal *t)
{
    terminal_type(t, "fg\r");
    terminal_expect(t, "CLUSTER");
    assert_true(terminal_on_alternate_screen(t));
    assert_false(terminal_modes_restored(t));
}

static void quit(struct terminal *t)
{
    terminal_keys(t, "q");
    assert_int_equal(terminal_end(t), 0);
    assert_true(terminal_modes_restored(t));
    assert_false(terminal_on_alternate_screen(t));
    terminal_close(t);
}

static void control_z_stops_and_fg_comes_back(void **state)
{
    (void)state;
    struct terminal *t = start();
    for (int i = 0; i < 3; i++) {
        terminal_keys(t, "C-z");
        expect_stopped(t);
        come_back(t);
        terminal_expect_golden(t, "start-80x24");
    }
    quit(t);
}

static void a_stop_signal_from_outside_does_the_same(void **state)
{
    (void)state;
    struct terminal *t = start();
    terminal_signal(t, SIGTSTP);
    expect_stopped(t);
    come_back(t);
    terminal_expect_golden(t, "start-80x24");
    quit(t);
}

static void whatever_is_open_is_still_open(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *shows, *leave;
    } cases[] = {
        {"?", "─ Keys ─", "Esc"},
        {"m", "─ Model ─", "Esc"},
        {"Enter 1 2", "spine bandwidth: 12", "Esc"},
        {": s e t", ":set", "Esc"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct terminal *t = start();
        terminal_keys(t, cases[i].keys);
        terminal_expect(t, cases[i].shows);
        terminal_keys(t, "C-z");
        expect_stopped(t);
        come_back(t);
        terminal_expect(t, cases[i].shows);
        terminal_keys(t, cases[i].leave);
        terminal_expect_gone(t, cases[i].shows);
        quit(t);
    }
}

static void a_resize_while_stopped_is_noticed(void **state)
{
    (void)state;
    struct terminal *t = start();
    terminal_keys(t, "C-z");
    expect_stopped(t);
    terminal_resize(t, 120, 40);
    come_back(t);
    terminal_expect_golden(t, "start-120x40");
    quit(t);
}

static void keys_and_mouse_work_again(void **state)
{
    (void)state;
    int x = 0;
    int y = 0;
    struct terminal *t = start();
    terminal_keys(t, "C-z");
    expect_stopped(t);
    come_back(t);
    terminal_expect_golden(t, "start-80x24");
    assert_true(terminal_find(t, "seq 4096", &x, &y));
    terminal_click(t, x + 1, y);
    terminal_expect(t, "sequence length");
    terminal_keys(t, "Right");
    terminal_expect(t, "* Measured");
    terminal_keys(t, "u");
    terminal_expect_gone(t, "* Measured");
    quit(t);
}

static void an_edit_before_the_stop_is_answered_after_it(void **state)
{
    (void)state;
    struct terminal *t = start();
    terminal_type(t, ":set spine.oversubscription 16\r\032");
    expect_stopped(t);
    come_back(t);
    terminal_expect(t, "2:1 → 16:1:  step");
    terminal_keys(t, "u");
    terminal_expect_gone(t, "* Measured");
    quit(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_z_stops_and_fg_comes_back),
        cmocka_unit_test(a_stop_signal_from_outside_does_the_same),
        cmocka_unit_test(whatever_is_open_is_still_open),
        cmocka_unit_test(a_resize_while_stopped_is_noticed),
        cmocka_unit_test(keys_and_mouse_work_again),
        cmocka_unit_test(an_edit_before_the_stop_is_answered_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
