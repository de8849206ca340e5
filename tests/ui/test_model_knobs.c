/* The model's sizes as knobs of the explorer: what if it were twice as deep, wider, with more
 * experts; refused where no such model exists, and undone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/terminal.h"

static struct terminal *start(const char *arguments)
{
    struct terminal *t = terminal_start(
        &(struct terminal_options){.width = 100, .height = 34, .arguments = arguments});
    terminal_expect_solved(t);
    return t;
}

static void quit_anyway(struct terminal *t)
{
    terminal_keys(t, "q");
    terminal_expect(t, "Changes are not saved");
    terminal_keys(t, "q");
    assert_int_equal(terminal_end(t), 0);
    terminal_close(t);
}

static void twice_as_deep_is_one_command_and_one_undo(void **state)
{
    (void)state;
    struct terminal *t = start("--model gpt2 --cluster hgx-h100-8");
    terminal_expect(t, "layers 12  hidden 768");
    terminal_type(t, ":deeper\r");
    terminal_expect(t, "layers 12 → 24");
    terminal_expect_solved(t);
    terminal_expect(t, "layers 24");
    terminal_type(t, ":scale hidden 2\r");
    terminal_expect(t, "hidden 768 → 1536");
    terminal_expect_solved(t);
    terminal_keys(t, "u");
    terminal_expect(t, "hidden 768");
    terminal_keys(t, "u");
    terminal_expect(t, "layers 12  hidden 768");
    terminal_expect_solved(t);
    terminal_keys(t, "U");
    terminal_expect(t, "layers 24");
    quit_anyway(t);
}

static void what_is_no_model_is_refused_with_the_nearest(void **state)
{
    (void)state;
    struct terminal *t = start("--model gpt2 --cluster hgx-h100-8");
    terminal_type(t, ":set hidden 770\r");
    terminal_expect(t, "hidden 770 does not divide into 12 heads");
    terminal_keys(t, "Esc");
    terminal_type(t, ":set layers 3x\r");
    terminal_expect(t, "layers 12 → 36");
    terminal_expect_solved(t);
    quit_anyway(t);
}

/* By keys: from the batch to the layers, one step up. */
static void sizes_are_stepped_like_any_value(void **state)
{
    (void)state;
    struct terminal *t = start("--model mixtral-8x7b --cluster hgx-h100-8 --pin tp=8,pp=1");
    terminal_expect(t, "experts 8");
    terminal_type(t, "/layers\r");
    terminal_keys(t, "Right");
    terminal_expect(t, "layers 32 → 40");
    terminal_type(t, "/experts\r");
    terminal_keys(t, "Right");
    terminal_expect(t, "experts 16");
    quit_anyway(t);
}

/* The figures behind a stage say what is measured, and the command line keeps the file. */
static void measured_times_are_told_in_the_explorer(void **state)
{
    (void)state;
    char arguments[512];
    const char *path = command_file("times.csv", "layer,tp,fw_ms,bw_ms\nblock,1,0.5,1\n");
    (void)snprintf(arguments, sizeof arguments,
                   "--model gpt2 --cluster hgx-h100-8 --pin tp=1,pp=1 --profile %s", path);
    struct terminal *t = start(arguments);
    terminal_type(t, "/stage 0\r");
    terminal_keys(t, "Enter");
    terminal_expect(t, "Stage 0");
    terminal_keys(t, "PgDn");
    terminal_expect(t, "measured at tp 1");
    terminal_keys(t, "Esc");
    terminal_keys(t, "y");
    terminal_expect(t, "--profile");
    terminal_keys(t, "Esc");
    terminal_keys(t, "q");
    assert_int_equal(terminal_end(t), 0);
    terminal_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twice_as_deep_is_one_command_and_one_undo),
        cmocka_unit_test(what_is_no_model_is_refused_with_the_nearest),
        cmocka_unit_test(sizes_are_stepped_like_any_value),
        cmocka_unit_test(measured_times_are_told_in_the_explorer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
