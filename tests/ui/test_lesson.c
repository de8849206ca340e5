/* Guided lessons on the screen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/terminal.h"

static struct terminal *start(int width, int height, const char *arguments)
{
    struct terminal *t = terminal_start(
        &(struct terminal_options){.width = width, .height = height, .arguments = arguments});
    terminal_expect(t, "3 Lesson");
    terminal_expect_solved(t);
    return t;
}

static void quit(struct terminal *t)
{
    terminal_type(t, ":q!\r");
    assert_int_equal(terminal_end(t), 0);
    assert_false(terminal_on_alternate_screen(t));
    terminal_close(t);
}

static void the_lesson_on_bubbles_draws_its_schedule(void **state)
{
    (void)state;
    static const struct {
        int width, height;
        const char *name;
    } size[] = {{80, 24, "lesson-80x24"}, {120, 40, "lesson-120x40"}, {200, 60, "lesson-200x60"}};
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        struct terminal *t = start(size[i].width, size[i].height, "--lesson 2");
        terminal_expect(t, "stage  3 |");
        terminal_expect_golden(t, size[i].name);
        quit(t);
    }
}

static void doing_it_ticks_the_lesson(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24, "--lesson 2");
    terminal_expect(t, "[ ] 2 of 6");
    terminal_type(t, ":set global_batch 256\r");
    terminal_expect(t, "Not yet: the bubble is");
    terminal_expect_solved(t);
    terminal_type(t, ":set global_batch 2048\r");
    terminal_expect(t, "Done: the bubble is");
    terminal_expect(t, "[x] done  2 of 6");
    terminal_expect_solved(t);
    terminal_expect_golden(t, "lesson-done");
    terminal_keys(t, "PgDn");
    terminal_expect(t, "of the chart is idle");
    terminal_keys(t, "PgUp");
    terminal_expect(t, "Try: ");
    terminal_wheel(t, 40, 18, false);
    terminal_keys(t, "2");
    terminal_expect(t, "Some chunks to begin with");
    terminal_type(t, "s:get('global_batch')\r");
    terminal_expect(t, "│ 2048 ");
    terminal_keys(t, "Esc");
    terminal_expect(t, "[x] done  2 of 6");
    terminal_keys(t, ">");
    terminal_expect(t, "[ ] 3 of 6");
    terminal_keys(t, "<");
    terminal_expect(t, "2 of 6");
    terminal_keys(t, "1");
    terminal_expect(t, "STAGES");
    terminal_keys(t, "3");
    terminal_expect(t, "2 of 6");
    terminal_keys(t, "3");
    terminal_expect(t, "─ Lesson ─");
    terminal_keys(t, "j j Enter");
    terminal_expect(t, "3 of 6");
    quit(t);
}

static void the_first_and_last_lesson_are_the_ends(void **state)
{
    (void)state;
    struct terminal *t = start(80, 24, "--lesson 6");
    terminal_keys(t, ">");
    terminal_expect(t, "there is no lesson 7");
    terminal_expect(t, "6 of 6");
    quit(t);
}

static void edits_of_the_command_line_are_tried(void **state)
{
    (void)state;
    struct terminal *t = start(100, 30,
                               "--lesson 5 --set spine.oversubscription=64 --pin "
                               "order=tp-cp-pp-dp");
    terminal_expect(t, "[x] done  5 of 6");
    terminal_resize(t, 60, 20);
    terminal_expect(t, "5 of 6");
    terminal_resize(t, 30, 10);
    terminal_expect(t, "needs at least");
    terminal_resize(t, 80, 24);
    terminal_expect(t, "[x] done  5 of 6");
    quit(t);
}

static void lessons_are_chosen_from_the_explorer(void **state)
{
    (void)state;
    struct terminal *t = terminal_start(&(struct terminal_options){
        .width = 80, .height = 24, .arguments = "tests/ui/data/small.yaml"});
    terminal_expect_solved(t);
    terminal_keys(t, "3");
    terminal_expect(t, "4-recompute");
    terminal_keys(t, "Enter");
    terminal_expect(t, "1 of 6");
    terminal_type(t, ":lesson 4\r");
    terminal_expect(t, "4 of 6");
    terminal_type(t, "uu");
    terminal_expect(t, "Measured 16");
    quit(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lesson_on_bubbles_draws_its_schedule),
        cmocka_unit_test(doing_it_ticks_the_lesson),
        cmocka_unit_test(the_first_and_last_lesson_are_the_ends),
        cmocka_unit_test(edits_of_the_command_line_are_tried),
        cmocka_unit_test(lessons_are_chosen_from_the_explorer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
