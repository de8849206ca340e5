/* The explorer's parts without a terminal: actions, canvas, prompt, scrolling. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/session.h"
#include "ui/action.h"
#include "ui/canvas.h"
#include "ui/input.h"
#include "ui/theme.h"
#include "ui/views/frame.h"
#include "ui/views/plan.h"
#include "ui/widgets/popup.h"
#include "ui/widgets/prompt.h"
#include "ui/widgets/scroll.h"

enum { README_MAX = 1 << 20 };

/* ---- Colours ---- */

/* Relative luminance of a colour of the 256 that all terminals agree on (WCAG 2). */
static double luminance(int index)
{
    static const int step[] = {0, 95, 135, 175, 215, 255};
    static const double weight[] = {0.2126, 0.7152, 0.0722};
    const int grey = 8 + (index - 232) * 10;
    const int at = index - 16;
    const int part[] = {index >= 232 ? grey : step[at / 36], index >= 232 ? grey : step[at / 6 % 6],
                        index >= 232 ? grey : step[at % 6]};
    double sum = 0;
    assert_true(index >= 16 && index < 256);
    for (int i = 0; i < 3; i++) {
        const double value = part[i] / 255.0;
        sum += weight[i] * (value <= 0.03928 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static void colours_are_legible_on_black_and_on_white(void **state)
{
    (void)state;
    for (int role = 0; role < NEST_ROLES; role++) {
        const struct nest_look look = nest_theme_look(NEST_SCHEME_256, (enum nest_role)role);
        const double ink = look.foreground < 0 ? -1 : luminance(look.foreground);
        if (look.background >= 0) {
            assert_true(ink >= 0);
            assert_true((ink + 0.05) / (luminance(look.background) + 0.05) >= 3);
        } else if (ink >= 0 && ((ink + 0.05) / 0.05 < 3 || 1.05 / (ink + 0.05) < 3)) {
            fail_msg("colour %d of '%s' is hard to read", look.foreground,
                     nest_role_name((enum nest_role)role));
        }
    }
}

/* ---- Actions ---- */

static void no_key_means_two_things(void **state)
{
    (void)state;
    char list[128];
    for (const struct nest_action_entry *a = nest_actions(); a->name; a++) {
        char *rest = list;
        (void)snprintf(list, sizeof list, "%s", a->keys);
        for (char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
            const uint32_t key = nest_key_parse(name);
            assert_int_not_equal(key, NEST_KEY_NONE);
            for (unsigned context = 1; context <= NEST_CONTEXT_TEXT; context *= 2) {
                if (a->contexts & context) {
                    assert_int_equal(nest_action_of_key(key, context), a->action);
                }
            }
        }
        assert_true(a->help[0] >= 'A' && a->help[0] <= 'Z');
    }
}

static void every_key_is_in_the_readme(void **state)
{
    (void)state;
    struct nest_strbuf table = NEST_STRBUF_INIT(README_MAX);
    char *readme = calloc(1, README_MAX);
    FILE *file = fopen("README.md", "r");
    assert_non_null(readme);
    assert_non_null(file);
    (void)!fread(readme, 1, README_MAX - 1, file);
    (void)fclose(file);
    nest_actions_markdown(&table);
    if (!strstr(readme, nest_strbuf_text(&table))) {
        fail_msg("README.md lacks this table:\n%s", nest_strbuf_text(&table));
    }
    nest_strbuf_free(&table);
    free(readme);
}

static void every_action_is_in_the_manual(void **state)
{
    (void)state;
    struct command_result manual = command_run("man");
    assert_int_equal(manual.status, 0);
    for (const struct nest_action_entry *a = nest_actions(); a->name; a++) {
        /* Up to the first sign that roff writes in its own way. */
        char start[256];
        (void)snprintf(start, sizeof start, "%.*s", (int)strcspn(a->help, "-\\"), a->help);
        assert_non_null(strstr(manual.out, start));
    }
    command_free(&manual);
}

/* ---- Canvas ---- */

static const char *row(const struct nest_canvas *canvas, int y)
{
    static char text[512];
    int at = 0;
    for (int x = 0; x < canvas->width; x++) {
        const struct nest_cell *cell = &canvas->cell[y * canvas->width + x];
        text[at++] = (char)(cell->code == 0x2026 ? '~' : cell->code > 0x7e ? '#' : cell->code);
    }
    text[at] = '\0';
    return text;
}

static void text_is_clipped_on_all_sides(void **state)
{
    (void)state;
    struct nest_canvas canvas = {0};
    assert_true(nest_canvas_resize(&canvas, 8, 2));
    assert_int_equal(nest_canvas_text(&canvas, 0, 0, 8, NEST_ROLE_TEXT, "abcdefghij"), 8);
    assert_string_equal(row(&canvas, 0), "abcdefg~");
    (void)nest_canvas_text(&canvas, -2, 1, 6, NEST_ROLE_TEXT, "uvwxyz");
    assert_string_equal(row(&canvas, 1), "wxyz    ");
    (void)nest_canvas_text(&canvas, 3, 5, 6, NEST_ROLE_TEXT, "nowhere");
    (void)nest_canvas_text(&canvas, 6, 1, 10, NEST_ROLE_TEXT, "12345");
    assert_string_equal(row(&canvas, 1), "wxyz  12");
    nest_canvas_right(&canvas, 0, 0, 8, NEST_ROLE_TEXT, "42");
    assert_string_equal(row(&canvas, 0), "abcdef42");
    nest_canvas_free(&canvas);
}

static void control_characters_and_broken_bytes_are_harmless(void **state)
{
    (void)state;
    struct nest_canvas canvas = {0};
    assert_true(nest_canvas_resize(&canvas, 8, 1));
    (void)nest_canvas_text(&canvas, 0, 0, 8, NEST_ROLE_TEXT, "a\033[1mb\tc");
    assert_string_equal(row(&canvas, 0), "a?[1mb?c");
    nest_canvas_clear(&canvas);
    (void)nest_canvas_text(&canvas, 0, 0, 8, NEST_ROLE_TEXT, "x\xff\xc3y\xe2\x82");
    assert_string_equal(row(&canvas, 0), "x##y##  ");
    nest_canvas_free(&canvas);
}

static void wide_characters_take_two_columns(void **state)
{
    (void)state;
    struct nest_canvas canvas = {0};
    assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
    assert_true(nest_canvas_resize(&canvas, 6, 1));
    assert_int_equal(nest_canvas_columns(&canvas, "漢字"), 4);
    assert_int_equal(nest_canvas_text(&canvas, 0, 0, 6, NEST_ROLE_TEXT, "漢字漢字"), 5);
    assert_int_equal(canvas.cell[1].code, 0);
    assert_int_equal(canvas.cell[4].code, 0x2026);
    (void)nest_canvas_text(&canvas, 5, 0, 2, NEST_ROLE_TEXT, "漢"); /* half of it is outside */
    assert_int_equal(canvas.cell[5].code, '?');
    nest_canvas_free(&canvas);
}

static void ascii_spells_signs(void **state)
{
    (void)state;
    struct nest_canvas canvas = {.ascii = true};
    assert_true(nest_canvas_resize(&canvas, 20, 1));
    (void)nest_canvas_text(&canvas, 0, 0, 20, NEST_ROLE_TEXT, "2:1 → 4:1 · 3µs");
    assert_string_equal(row(&canvas, 0), "2:1 -> 4:1 - 3us    ");
    nest_canvas_free(&canvas);
}

static void text_wraps_at_spaces(void **state)
{
    (void)state;
    struct nest_canvas canvas = {0};
    assert_true(nest_canvas_resize(&canvas, 8, 3));
    const struct nest_rect rect = {0, 0, 8, 3};
    assert_int_equal(nest_canvas_wrap(&canvas, rect, NEST_ROLE_TEXT, "one two three four"), 3);
    assert_string_equal(row(&canvas, 0), "one two ");
    assert_string_equal(row(&canvas, 1), "three   ");
    assert_string_equal(row(&canvas, 2), "four    ");
    nest_canvas_free(&canvas);
}

/* ---- Prompt ---- */

static void keys(struct nest_prompt *prompt, const char *text)
{
    for (; *text; text++) {
        (void)nest_prompt_key(prompt, (unsigned char)*text);
    }
}

static void typing_replaces_what_was_offered(void **state)
{
    (void)state;
    struct nest_prompt prompt;
    nest_prompt_open(&prompt, "x: ", "50GB/s", NULL);
    keys(&prompt, "4");
    assert_string_equal(prompt.text, "4");
    nest_prompt_open(&prompt, "x: ", "50GB/s", NULL);
    (void)nest_prompt_key(&prompt, NEST_KEY_HOME);
    keys(&prompt, "1");
    assert_string_equal(prompt.text, "150GB/s");
    (void)nest_prompt_key(&prompt, NEST_KEY_END);
    (void)nest_prompt_key(&prompt, NEST_KEY_BACKSPACE);
    assert_string_equal(prompt.text, "150GB/");
    (void)nest_prompt_key(&prompt, 'U' - '@');
    assert_string_equal(prompt.text, "");
    assert_int_equal(nest_prompt_key(&prompt, NEST_KEY_BACKSPACE), NEST_PROMPT_CLOSED);
}

static void whole_characters_are_erased(void **state)
{
    (void)state;
    struct nest_prompt prompt;
    nest_prompt_open(&prompt, "", "", NULL);
    (void)nest_prompt_key(&prompt, 0xe9);
    (void)nest_prompt_key(&prompt, 0x6f22);
    assert_int_equal(prompt.length, 5);
    (void)nest_prompt_key(&prompt, NEST_KEY_BACKSPACE);
    assert_int_equal(prompt.length, 2);
    (void)nest_prompt_key(&prompt, NEST_KEY_LEFT);
    (void)nest_prompt_key(&prompt, NEST_KEY_DELETE);
    assert_int_equal(prompt.length, 0);
}

static void history_comes_back_newest_first(void **state)
{
    (void)state;
    struct nest_history history = {0};
    struct nest_prompt prompt;
    nest_history_add(&history, "one");
    nest_history_add(&history, "two");
    nest_history_add(&history, "one");
    assert_int_equal(history.count, 2);
    nest_prompt_open(&prompt, ":", "", &history);
    keys(&prompt, "typed");
    (void)nest_prompt_key(&prompt, NEST_KEY_UP);
    assert_string_equal(prompt.text, "one");
    (void)nest_prompt_key(&prompt, NEST_KEY_UP);
    (void)nest_prompt_key(&prompt, NEST_KEY_UP);
    assert_string_equal(prompt.text, "two");
    (void)nest_prompt_key(&prompt, NEST_KEY_DOWN);
    (void)nest_prompt_key(&prompt, NEST_KEY_DOWN);
    assert_string_equal(prompt.text, "typed");
    nest_history_free(&history);
}

static void completion_goes_as_far_as_it_is_sure(void **state)
{
    (void)state;
    static const char *const words[] = {"cluster.node.latency", "cluster.spine.latency",
                                        "train.global_batch", NULL};
    struct nest_prompt prompt;
    nest_prompt_open(&prompt, ":", "", NULL);
    keys(&prompt, "set cl");
    assert_int_equal(nest_prompt_complete(&prompt, words), 2);
    assert_string_equal(prompt.text, "set cluster.");
    keys(&prompt, "s");
    assert_int_equal(nest_prompt_complete(&prompt, words), 1);
    assert_string_equal(prompt.text, "set cluster.spine.latency ");
    assert_int_equal(nest_prompt_complete(&prompt, NULL), 0);
    nest_prompt_open(&prompt, ":", "", NULL);
    keys(&prompt, "set ");
    assert_int_equal(nest_prompt_complete(&prompt, words), 3);
}

static void a_line_has_an_end(void **state)
{
    (void)state;
    struct nest_prompt prompt;
    nest_prompt_open(&prompt, ":", "", NULL);
    for (int i = 0; i < 2 * NEST_PROMPT_MAX; i++) {
        (void)nest_prompt_key(&prompt, 0x6f22);
    }
    assert_true(prompt.length < NEST_PROMPT_MAX);
    assert_int_equal(strlen(prompt.text), prompt.length);
}

/* ---- Scrolling ---- */

static void the_cursor_is_always_seen(void **state)
{
    (void)state;
    for (int64_t rows = 0; rows < 12; rows++) {
        for (int64_t height = 1; height < 12; height++) {
            for (int64_t cursor = 0; cursor < rows; cursor++) {
                for (int64_t first = 0; first < 14; first++) {
                    const int64_t to = nest_scroll_to(first, cursor, rows, height);
                    assert_true(to >= 0 && to <= cursor && cursor < to + height);
                    assert_true(rows < height ? to == 0 : to + height <= rows);
                }
            }
        }
    }
}

/* ---- Frame ---- */

/* The title while the plan of the values before still stands there, and when the search is over. */
static void a_plan_that_is_only_a_bound_says_so(void **state)
{
    (void)state;
    struct test_session test;
    test_session_open_small(&test);
    const struct nest_snapshot *settled = nest_session_snapshot(test.session);
    struct nest_snapshot passing = *settled;
    struct nest_canvas canvas = {.ascii = true};
    struct nest_layout layout;
    struct nest_hotspots hotspots = {0};
    struct nest_frame frame = {.snapshot = &passing, .layout = &layout, .keys = true};
    assert_true(nest_canvas_resize(&canvas, 120, 30));
    nest_layout_plan(120, 30, &(struct nest_layout_wants){.cluster = 3, .plan = 3, .stages = 2},
                     &layout);
    nest_frame_draw(&frame, &canvas, &hotspots);
    assert_null(strstr(row(&canvas, 0), "step <="));
    passing.provisional = true;
    nest_canvas_clear(&canvas);
    nest_frame_draw(&frame, &canvas, &hotspots);
    assert_non_null(strstr(row(&canvas, 0), "step <="));
    nest_canvas_free(&canvas);
    nest_snapshot_release(settled);
    test_session_close(&test);
}

static void expect_faded(const struct nest_canvas *canvas, struct nest_rect rect, bool faded)
{
    bool coloured = false;
    for (int y = rect.y; y < rect.y + rect.height; y++) {
        for (int x = rect.x; x < rect.x + rect.width; x++) {
            const struct nest_cell *cell = &canvas->cell[y * canvas->width + x];
            coloured |= cell->role != NEST_ROLE_DIM && cell->role != NEST_ROLE_TEXT;
        }
    }
    assert_int_equal(coloured, !faded);
}

/* Where the plan before is none for the new values, its figures must not pass for theirs. */
static void figures_of_other_values_are_told_from_new_ones(void **state)
{
    (void)state;
    struct test_session test;
    test_session_open_small(&test);
    const struct nest_snapshot *settled = nest_session_snapshot(test.session);
    const struct nest_problem other = *settled->problem;
    struct nest_snapshot passing = *settled;
    struct nest_canvas canvas = {.ascii = true};
    struct nest_hotspots hotspots = {0};
    struct nest_plan_view view;
    static const struct {
        bool other, solving, cancelled, stale;
        double seconds;
        const char *title;
    } cases[] = {{false, false, false, false, 0.1, " step "},
                 {true, true, false, false, 0.01, " step "},
                 {true, true, false, true, 0.2, "searching ... - before: step "},
                 {true, false, true, true, 0.01, "stopped - before: step "}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        passing.solving = cases[i].solving;
        passing.cancelled = cases[i].cancelled;
        passing.progress.seconds = cases[i].seconds;
        passing.solved = cases[i].other ? &other : settled->problem;
        assert_true(nest_canvas_resize(&canvas, 120, 30));
        nest_canvas_clear(&canvas);
        nest_plan_view_init(&view);
        nest_plan_view_draw(&view, &passing, &canvas);
        const struct nest_frame frame = {
            .snapshot = &passing, .layout = &view.layout, .keys = true};
        nest_frame_draw(&frame, &canvas, &hotspots);
        if (!strstr(row(&canvas, 0), cases[i].title)) {
            fail_msg("%s", row(&canvas, 0));
        }
        expect_faded(&canvas, view.layout.stages, cases[i].stale);
        expect_faded(&canvas, view.layout.step, cases[i].stale);
    }
    nest_canvas_free(&canvas);
    nest_snapshot_release(settled);
    test_session_close(&test);
}

/* ---- Windows ---- */

/* Every word of text is on the canvas, whole, and no row reaches over the frame. */
static void expect_words(const struct nest_popup *popup, const char *text)
{
    char list[256];
    char *rest = list;
    (void)snprintf(list, sizeof list, "%s", text);
    for (char *word = strtok_r(list, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        bool seen = false;
        for (int i = 0; i < popup->count; i++) {
            seen |= strstr(popup->line[i], word) != NULL;
        }
        assert_true(seen);
    }
}

static void a_window_shows_all_its_text_at_any_width(void **state)
{
    (void)state;
    static const char text[] = "key       what the key does, in some more words than a row has\n"
                               "\n"
                               "  a list entry that is long as well, and is broken too\n"
                               "short";
    struct nest_popup popup = {0};
    struct nest_canvas canvas = {0};
    struct nest_hotspots hotspots = {0};
    nest_popup_text(&popup, "Title", text);
    static const int widths[] = {80, 50, 36, 120, 40};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        assert_true(nest_canvas_resize(&canvas, widths[i], 30));
        nest_canvas_clear(&canvas);
        nest_popup_draw(&popup, &canvas, &hotspots);
        expect_words(&popup, text);
        for (int k = 0; k < popup.count; k++) {
            assert_true(nest_canvas_columns(&canvas, popup.line[k]) <= widths[i] - 10);
        }
        assert_true(popup.count >= 4);
        assert_int_equal(popup.count == 4, widths[i] >= 80);
        /* A second row of the first line stands below its second column. */
        assert_true(popup.count == 4 || strncmp(popup.line[1], "          ", 10) == 0);
    }
    nest_popup_close(&popup);
    nest_canvas_free(&canvas);
}

static void unbreakable_text_is_broken_anywhere(void **state)
{
    (void)state;
    char text[2048];
    struct nest_popup popup = {0};
    struct nest_canvas canvas = {0};
    struct nest_hotspots hotspots = {0};
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    nest_popup_text(&popup, "Title", text);
    assert_true(nest_canvas_resize(&canvas, 40, 10));
    nest_popup_draw(&popup, &canvas, &hotspots);
    size_t seen = 0;
    for (int i = 0; i < popup.count; i++) {
        seen += strlen(popup.line[i]);
    }
    assert_int_equal(seen, strlen(text));
    nest_popup_close(&popup);
    nest_canvas_free(&canvas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_are_legible_on_black_and_on_white),
        cmocka_unit_test(no_key_means_two_things),
        cmocka_unit_test(every_key_is_in_the_readme),
        cmocka_unit_test(every_action_is_in_the_manual),
        cmocka_unit_test(text_is_clipped_on_all_sides),
        cmocka_unit_test(control_characters_and_broken_bytes_are_harmless),
        cmocka_unit_test(wide_characters_take_two_columns),
        cmocka_unit_test(ascii_spells_signs),
        cmocka_unit_test(text_wraps_at_spaces),
        cmocka_unit_test(typing_replaces_what_was_offered),
        cmocka_unit_test(whole_characters_are_erased),
        cmocka_unit_test(history_comes_back_newest_first),
        cmocka_unit_test(completion_goes_as_far_as_it_is_sure),
        cmocka_unit_test(a_line_has_an_end),
        cmocka_unit_test(the_cursor_is_always_seen),
        cmocka_unit_test(a_plan_that_is_only_a_bound_says_so),
        cmocka_unit_test(figures_of_other_values_are_told_from_new_ones),
        cmocka_unit_test(a_window_shows_all_its_text_at_any_width),
        cmocka_unit_test(unbreakable_text_is_broken_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
