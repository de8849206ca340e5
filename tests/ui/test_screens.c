/* What the built explorer shows, character by character and attribute by attribute. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "support/terminal.h"

#define SMALL "tests/ui/data/small.yaml"

static struct terminal *start(int width, int height)
{
    struct terminal *t = terminal_start(
        &(struct terminal_options){.width = width, .height = height, .arguments = SMALL});
    terminal_expect_solved(t);
    return t;
}

static void quit(struct terminal *t)
{
    terminal_keys(t, "q");
    assert_int_equal(terminal_end(t), 0);
    assert_false(terminal_on_alternate_screen(t));
    terminal_close(t);
}

/* Quits although something was changed. */
static void quit_anyway(struct terminal *t)
{
    terminal_keys(t, "q");
    terminal_expect(t, "Changes are not saved");
    quit(t);
}

static void start_fits_80_by_24(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_expect_golden(t, "start-80x24");
    quit(t);
}

static void every_size_uses_its_room(void **state)
{
    (void)state;
    static const struct {
        int width, height;
        const char *name;
    } size[] = {{40, 12, "start-40x12"},
                {60, 20, "start-60x20"},
                {100, 37, "start-100x37"},
                {120, 40, "start-120x40"},
                {200, 60, "start-200x60"}};
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        struct terminal *t = start(size[i].width, size[i].height);
        terminal_expect_golden(t, size[i].name);
        quit(t);
    }
}

static void an_edit_shows_what_changed_and_undo_takes_it_back(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_keys(t, "Tab Enter");
    terminal_expect(t, "spine oversubscription:");
    terminal_type(t, "16\r");
    terminal_expect(t, "2:1 → 16:1");
    terminal_expect_solved(t);
    terminal_expect_golden(t, "edit");
    terminal_keys(t, "u");
    terminal_expect(t, "16:1 → 2:1");
    terminal_expect_solved(t);
    terminal_expect_golden(t, "undo");
    terminal_keys(t, "U");
    terminal_expect(t, "2:1 → 16:1");
    terminal_expect_solved(t);
    terminal_expect_golden(t, "edit"); /* redone, to the last cell */
    quit_anyway(t);
}

static void help_lists_the_keys(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_keys(t, "?");
    terminal_expect(t, "HERE");
    terminal_expect_golden(t, "help");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "HERE");
    quit(t);
}

static void resizing_redraws_and_comes_back(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_resize(t, 120, 40);
    terminal_expect(t, "latency");
    terminal_expect_solved(t);
    terminal_expect_golden(t, "start-120x40");
    terminal_resize(t, 30, 8);
    terminal_expect(t, "needs at least");
    terminal_expect_golden(t, "too-small");
    terminal_resize(t, 80, 24);
    terminal_expect(t, "CLUSTER");
    terminal_expect_solved(t);
    terminal_expect_golden(t, "start-80x24");
    quit(t);
}

/* Keys that wait behind a change of size: the program sees both at once, as on a busy machine. */
static void keys_behind_a_resize_mean_the_new_screen(void **state)
{
    (void)state;
    struct terminal *t = start(120, 40);
    terminal_keys(t, "?");
    terminal_expect(t, "─ Keys ─");
    terminal_resize(t, 30, 8);
    terminal_expect(t, "needs at least");
    terminal_signal(t, SIGSTOP);
    terminal_resize(t, 120, 40);
    terminal_keys(t, "Esc");
    terminal_signal(t, SIGCONT);
    terminal_expect(t, "CLUSTER");
    terminal_expect_gone(t, "─ Keys ─");
    quit(t);
}

static void ascii_spells_every_sign(void **state)
{
    (void)state;
    /* Without UTF-8 curses repeats characters where the terminal can, and libvterm 0.1.4 then wraps
     * one column early: screen's description has no repetition. */
    static const struct terminal_options options[] = {
        {.width = 80, .height = 24, .type = "screen-256color", .locale = "C", .arguments = SMALL},
        {.width = 80, .height = 24, .arguments = SMALL " --ascii"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct terminal *t = terminal_start(&options[i]);
        terminal_expect_solved(t);
        terminal_expect_golden(t, "ascii");
        for (const char *c = terminal_screen(t); *c; c++) {
            assert_true((unsigned char)*c < 0x80);
        }
        quit(t);
    }
}

static void no_color_and_vt100_have_no_color(void **state)
{
    (void)state;
    static const struct terminal_options options[] = {
        {.width = 80, .height = 24, .no_color = "1", .arguments = SMALL},
        {.width = 80, .height = 24, .type = "vt100", .arguments = SMALL " --color always"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct terminal *t = terminal_start(&options[i]);
        terminal_expect_solved(t);
        terminal_expect_golden(t, "monochrome");
        quit(t);
    }
}

static void eight_colors_are_enough(void **state)
{
    (void)state;
    struct terminal *t = terminal_start(
        &(struct terminal_options){.width = 80, .height = 24, .type = "linux", .arguments = SMALL});
    terminal_expect_solved(t);
    terminal_expect_golden(t, "linux");
    quit(t);
}

static void opened_levels_show_who_sits_where(void **state)
{
    (void)state;
    struct terminal *t = start(120, 40);
    terminal_keys(t, "+");
    terminal_expect(t, "node 7");
    terminal_expect_golden(t, "opened");
    terminal_type(t, ":pin dp 6\r");
    terminal_expect(t, "dp=6");
    terminal_expect_solved(t);
    terminal_expect(t, "idle");
    terminal_expect_golden(t, "idle");
    quit_anyway(t);
}

static void a_picker_exchanges_the_model(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_keys(t, "c");
    terminal_expect(t, "─ Cluster ─");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "─ Cluster ─");
    terminal_keys(t, "m");
    terminal_expect(t, "─ Model ─");
    terminal_type(t, "g");
    terminal_expect(t, "▸ ");
    terminal_keys(t, "Enter");
    terminal_expect_gone(t, "Measured 16");
    terminal_keys(t, "u");
    terminal_expect(t, "Measured 16");
    quit(t);
}

static void a_window_shows_only_what_is_looked_for(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_type(t, "m");
    terminal_expect(t, "─ Model ─");
    terminal_type(t, "/");
    terminal_expect_gone(t, "Enter choose");
    terminal_type(t, "NEOX");
    terminal_expect(t, "▸ gpt-neox-20b");
    terminal_expect_gone(t, "llama3-70b");
    terminal_expect(t, " /NEOX ");
    terminal_type(t, "zz");
    terminal_expect(t, "nothing fits");
    terminal_type(t, "\r");
    terminal_expect(t, "Enter choose");
    /* Nothing to choose; the filter goes first, then the window. */
    terminal_type(t, "\r");
    terminal_type(t, "c/dragon");
    terminal_expect(t, "▸ dragonfly");
    terminal_keys(t, "Down");
    terminal_expect(t, "▸ dragonfly-2304");
    terminal_keys(t, "Esc");
    terminal_expect(t, "Enter choose");
    terminal_expect(t, "dual-plane-pod");
    terminal_expect(t, "▸ dragonfly-2304");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "─ Cluster ─");
    terminal_type(t, "?/redo");
    terminal_expect(t, "Redo what was undone");
    terminal_expect_gone(t, "Move up");
    terminal_type(t, "\r");
    terminal_expect(t, "/ filter");
    terminal_keys(t, "Esc");
    terminal_expect(t, "Move up");
    terminal_keys(t, "Esc");
    terminal_type(t, "m/neox\r");
    terminal_expect(t, "GPT-NeoX");
    terminal_type(t, ":q!\r");
    assert_int_equal(terminal_end(t), 0);
    terminal_close(t);
}

static void the_legend_names_every_part(void **state)
{
    (void)state;
    for (int columns = 80; columns <= 140; columns += 6) {
        struct terminal *t = start(columns, 40);
        terminal_expect(t, "x other");
        quit(t);
    }
}

static void other_values_are_tried_and_taken(void **state)
{
    (void)state;
    struct terminal *t = start(100, 37);
    terminal_type(t, "w");
    terminal_expect(t, "─ What if: spine bandwidth ─");
    terminal_expect(t, "   now");
    terminal_expect_gone(t, " …  ");
    terminal_expect_golden(t, "what-if");
    terminal_keys(t, "Up Enter");
    terminal_expect(t, "20GB/s");
    terminal_expect(t, "spine bandwidth 25 GB/s → 20 GB/s");
    terminal_type(t, "u");
    terminal_expect(t, "25GB/s");
    terminal_type(t, "/dp\rw");
    terminal_expect(t, "─ What if: data parallel replicas ─");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "What if");
    quit(t);
}

/* Long enough for what is under way to be drawn; how long decides what a fault is seen by, not what
 * passes. */
static void let_it_work(struct terminal *t)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < 30; i++) {
        (void)nanosleep(&moment, NULL);
        terminal_pump(t);
    }
}

/* The second key is read together with the one that asks for the window. What is typed next must
 * not go to a window that came meanwhile. */
static void a_window_not_yet_open_gives_way_to_keys(void **state)
{
    (void)state;
    struct terminal *t = start(100, 37);
    terminal_type(t, "wn");
    let_it_work(t);
    terminal_type(t, ":q!\r");
    assert_int_equal(terminal_end(t), 0);
    terminal_close(t);
}

static void a_wrong_value_stays_to_be_corrected(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_keys(t, "Enter");
    terminal_expect(t, "spine bandwidth:");
    terminal_type(t, "10 parsec\r");
    terminal_expect(t, "parsec'");
    terminal_expect_golden(t, "prompt-error");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "spine bandwidth: 1");
    quit(t);
}

static void quitting_asks_only_when_something_would_be_lost(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_keys(t, "Right");
    terminal_expect(t, "* Measured");
    terminal_expect_solved(t);
    terminal_keys(t, "q");
    terminal_expect(t, "Changes are not saved");
    terminal_expect_golden(t, "quit-question");
    terminal_keys(t, "n");
    terminal_expect_gone(t, "Changes are not saved");
    terminal_keys(t, "u");
    terminal_expect_gone(t, "* Measured");
    quit(t); /* nothing would be lost any more */
}

static void details_give_the_figures(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_type(t, "/stage 0\r");
    terminal_expect(t, "Enter details");
    terminal_keys(t, "Enter");
    terminal_expect(t, "One microbatch");
    terminal_expect_golden(t, "detail-stage");
    terminal_keys(t, "q");
    terminal_expect_gone(t, "One microbatch");
    quit(t);
}

/* Memory of every stage is doubled; the step and the rack only where links cross it. */
static void overridden_figures_are_marked(void **state)
{
    (void)state;
    struct terminal *t = terminal_start(&(struct terminal_options){
        .width = 120, .height = 40, .arguments = "tests/ui/data/scripted.yaml"});
    terminal_expect_solved(t);
    terminal_expect(t, "rack ×4*");
    terminal_expect(t, "  0*0–3 ");
    terminal_expect(t, "15.5*");
    terminal_expect(t, "STEP*");
    terminal_expect(t, "* script");
    terminal_type(t, "/stage 0\r");
    terminal_expect(t, "Enter details");
    terminal_keys(t, "Enter");
    terminal_expect(t, "One microbatch");
    terminal_keys(t, "End");
    terminal_expect(t, "by default");
    terminal_keys(t, "q");
    quit(t);
}

static void the_command_line_is_shown_and_copied(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    terminal_type(t, ":set spine.oversubscription 16\r");
    terminal_expect(t, "2:1 → 16:1:  step");
    terminal_expect_solved(t);
    terminal_type(t, ":pin pp 4\r");
    terminal_expect(t, "pp free → 4:  step");
    terminal_expect_solved(t);
    terminal_keys(t, "y");
    terminal_expect(t, "The same plan");
    terminal_expect_golden(t, "command-line");
    /* OSC 52 with "nest solve" in base64 */
    assert_true(terminal_wrote(t, "\033]52;c;bmVzdCBzb2x2ZS"));
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "The same plan");
    quit_anyway(t);
}

static void the_mouse_selects_opens_and_scrolls(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24);
    int x = 0;
    int y = 0;
    assert_true(terminal_find(t, "seq 4096", &x, &y));
    terminal_click(t, x + 1, y);
    terminal_expect(t, "sequence length");
    terminal_click(t, x + 1, y);
    terminal_expect(t, "sequence length, tokens: 4096");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "tokens: 4096");
    assert_true(terminal_find(t, "? help", &x, &y));
    terminal_click(t, x, y);
    terminal_expect(t, "HERE");
    terminal_wheel(t, 40, 12, false);
    terminal_expect_gone(t, "HERE");
    terminal_keys(t, "q");
    terminal_expect(t, "CLUSTER  ");
    quit(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_fits_80_by_24),
        cmocka_unit_test(every_size_uses_its_room),
        cmocka_unit_test(an_edit_shows_what_changed_and_undo_takes_it_back),
        cmocka_unit_test(help_lists_the_keys),
        cmocka_unit_test(resizing_redraws_and_comes_back),
        cmocka_unit_test(keys_behind_a_resize_mean_the_new_screen),
        cmocka_unit_test(ascii_spells_every_sign),
        cmocka_unit_test(no_color_and_vt100_have_no_color),
        cmocka_unit_test(eight_colors_are_enough),
        cmocka_unit_test(opened_levels_show_who_sits_where),
        cmocka_unit_test(a_picker_exchanges_the_model),
        cmocka_unit_test(a_window_shows_only_what_is_looked_for),
        cmocka_unit_test(the_legend_names_every_part),
        cmocka_unit_test(other_values_are_tried_and_taken),
        cmocka_unit_test(a_window_not_yet_open_gives_way_to_keys),
        cmocka_unit_test(a_wrong_value_stays_to_be_corrected),
        cmocka_unit_test(quitting_asks_only_when_something_would_be_lost),
        cmocka_unit_test(details_give_the_figures),
        cmocka_unit_test(overridden_figures_are_marked),
        cmocka_unit_test(the_command_line_is_shown_and_copied),
        cmocka_unit_test(the_mouse_selects_opens_and_scrolls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
