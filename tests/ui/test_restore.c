/* However the explorer ends, the terminal is as it was. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/terminal.h"

#define SMALL "tests/ui/data/small.yaml"

static struct terminal *start(const char *type)
{
    struct terminal *t = terminal_start(
        &(struct terminal_options){.width = 80, .height = 24, .type = type, .arguments = SMALL});
    terminal_expect_solved(t);
    assert_false(terminal_modes_restored(t));
    return t;
}

static void expect_restored(struct terminal *t)
{
    assert_false(terminal_on_alternate_screen(t));
    assert_true(terminal_cursor_shown(t));
    assert_true(terminal_modes_restored(t));
    terminal_close(t);
}

static void quitting_restores(void **state)
{
    (void)state;
    static const char *const types[] = {"xterm-256color", "linux", "screen-256color", "vt100"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct terminal *t = start(types[i]);
        terminal_keys(t, "q");
        assert_int_equal(terminal_end(t), 0);
        expect_restored(t);
    }
}

static void control_c_quits(void **state)
{
    (void)state;
    struct terminal *t = start(NULL);
    terminal_keys(t, "C-c");
    assert_int_equal(terminal_end(t), 130);
    expect_restored(t);
}

static void the_mouse_is_switched_on_and_off(void **state)
{
    (void)state;
    struct terminal *t = start(NULL);
    assert_true(terminal_wrote(t, "1000h"));
    terminal_keys(t, "q");
    (void)terminal_end(t);
    assert_true(terminal_wrote(t, "1000l"));
    expect_restored(t);
}

static void ordinary_signals_end_in_order(void **state)
{
    (void)state;
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct terminal *t = start(NULL);
        terminal_signal(t, numbers[i]);
        assert_int_equal(terminal_end(t), 128 + numbers[i]);
        expect_restored(t);
    }
}

static void frames_are_marked_where_the_terminal_may_know(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        bool marked;
    } cases[] = {{"xterm-256color", true}, {"screen-256color", true}, {"vt100", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct terminal *t = start(cases[i].type);
        assert_int_equal(terminal_wrote(t, "\033[?2026h"), cases[i].marked);
        terminal_keys(t, "q");
        (void)terminal_end(t);
        assert_int_equal(terminal_wrote(t, "\033[?2026l"), cases[i].marked);
        expect_restored(t);
    }
}

static void a_signal_ends_even_a_question(void **state)
{
    (void)state;
    struct terminal *t = start(NULL);
    terminal_keys(t, "Right :");
    terminal_expect(t, "* Measured");
    terminal_signal(t, SIGTERM);
    assert_int_equal(terminal_end(t), 128 + SIGTERM);
    expect_restored(t);
}

static struct terminal *start_endless(void)
{
    struct terminal *t = terminal_start(&(struct terminal_options){
        .width = 80,
        .height = 24,
        .arguments = "--model llama3-8b --cluster hgx-h100-8 --script tests/ui/data/endless.lua"});
    terminal_expect(t, "solving");
    return t;
}

/* Inside a hook of the search, too. */
static void a_search_keeps_nobody(void **state)
{
    (void)state;
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct terminal *t = start_endless();
    terminal_keys(t, "C-c");
    terminal_expect(t, "stopped");
    terminal_type(t, ":set seq 4096\r");
    terminal_expect(t, "seq 4096");
    terminal_type(t, ":q!\r");
    assert_int_equal(terminal_end(t), 0);
    expect_restored(t);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        t = start_endless();
        terminal_signal(t, numbers[i]);
        assert_int_equal(terminal_end(t), 128 + numbers[i]);
        expect_restored(t);
    }
    t = start_endless();
    terminal_keys(t, "q");
    assert_int_equal(terminal_end(t), 0);
    expect_restored(t);
}

static void crashes_restore_and_still_crash(void **state)
{
    (void)state;
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct terminal *t = start(NULL);
        terminal_signal(t, numbers[i]);
        assert_int_equal(terminal_end(t), 128 + numbers[i]);
        expect_restored(t);
    }
}

static void a_terminal_that_cannot_is_told_so(void **state)
{
    (void)state;
    static const struct {
        const char *type, *says;
    } cases[] = {{"dumb", "cannot place the cursor"}, {"", "TERM is not set"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct terminal *t = terminal_start(&(struct terminal_options){
            .width = 100, .height = 60, .type = cases[i].type, .arguments = SMALL});
        assert_int_equal(terminal_end(t), 0);
        assert_true(terminal_wrote(t, cases[i].says));
        assert_true(terminal_wrote(t, "Plan")); /* the report instead */
        assert_false(terminal_wrote(t, "\033["));
        expect_restored(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quitting_restores),
        cmocka_unit_test(control_c_quits),
        cmocka_unit_test(the_mouse_is_switched_on_and_off),
        cmocka_unit_test(ordinary_signals_end_in_order),
        cmocka_unit_test(frames_are_marked_where_the_terminal_may_know),
        cmocka_unit_test(a_signal_ends_even_a_question),
        cmocka_unit_test(a_search_keeps_nobody),
        cmocka_unit_test(crashes_restore_and_still_crash),
        cmocka_unit_test(a_terminal_that_cannot_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
