/* What the tests of the explorer do when a screen does not come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/terminal.h"

enum { TEXT = 1 << 18 };

static const char *self;

static struct terminal *start(void)
{
    struct terminal *t = terminal_start(&(struct terminal_options){
        .width = 80, .height = 24, .arguments = "tests/ui/data/small.yaml"});
    terminal_expect_solved(t);
    return t;
}

/* ---- Tests that fail, for those below ---- */

static void waits_for_another_screen(void **state)
{
    (void)state;
    terminal_expect_golden(start(), "lua-welcome-80x24");
}

static void waits_for_a_text(void **state)
{
    (void)state;
    terminal_expect(start(), "no such text");
}

static void waits_for_an_end(void **state)
{
    (void)state;
    (void)terminal_end(start());
}

static int run_failing(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_another_screen),
        cmocka_unit_test(waits_for_a_text),
        cmocka_unit_test(waits_for_an_end),
    };
    cmocka_set_test_filter(name);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* ---- Tests ---- */

/* What the test of that name says when it fails; owned by the caller. */
static char *failure_of(const char *name)
{
    char command[1024];
    char *text = calloc(1, TEXT);
    size_t length = 0;
    size_t count = 0;
    assert_non_null(text);
    (void)snprintf(command, sizeof command, "%s %s 2>&1", self, name);
    FILE *output = popen(command, "r"); /* NOLINT(cert-env33-c): its own name */
    assert_non_null(output);
    while ((count = fread(text + length, 1, TEXT - 1 - length, output)) > 0) {
        length += count;
    }
    const int status = pclose(output);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    return text;
}

static void expect_failure(const char *name, const char *what)
{
    char *text = failure_of(name);
    assert_non_null(strstr(text, what));
#ifdef __linux__
    assert_non_null(strstr(text, "the program waits for something else"));
#endif
    free(text);
}

static void another_screen_is_told_when_nothing_more_comes(void **state)
{
    (void)state;
    char *text = failure_of("waits_for_another_screen");
    assert_non_null(strstr(text, "lua-welcome-80x24.txt differs"));
    assert_non_null(strstr(text, "  2 - "));
    assert_non_null(strstr(text, "  2 + "));
    free(text);
}

static void a_missing_text_is_told_when_nothing_more_comes(void **state)
{
    (void)state;
    expect_failure("waits_for_a_text", "'no such text' did not happen");
}

static void a_missing_end_is_told_when_nothing_more_comes(void **state)
{
    (void)state;
    expect_failure("waits_for_an_end", "the program does not end");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_screen_is_told_when_nothing_more_comes),
        cmocka_unit_test(a_missing_text_is_told_when_nothing_more_comes),
        cmocka_unit_test(a_missing_end_is_told_when_nothing_more_comes),
    };
    self = argv[0];
    return argc > 1 ? run_failing(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
