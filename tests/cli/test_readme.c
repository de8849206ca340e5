/* The README tells the truth: its examples run, its key table is the explorer's, no command is
 * missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/context.h"
#include "support/command.h"
#include "ui/action.h"

static char *read_readme(void)
{
    FILE *file = fopen("README.md", "rb");
    assert_non_null(file);
    enum { SIZE = 1 << 18 };
    char *text = calloc(1, SIZE);
    assert_non_null(text);
    assert_in_range(fread(text, 1, SIZE - 1, file), 1, SIZE - 2);
    (void)fclose(file);
    return text;
}

/* Every line of a ```sh block runs with status 0, in order, in the private folder's company. */
static void test_examples(void **state)
{
    (void)state;
    char *text = read_readme();
    bool inside = false;
    int ran = 0;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "```", 3) == 0) {
            inside = !inside && strcmp(line, "```sh") == 0;
            continue;
        }
        if (!inside) {
            continue;
        }
        assert_memory_equal(line, "nest ", 5);
        struct command_result result = shell_run(
            "--version >/dev/null; HERE=$PWD; for f in models topologies; do "
            "ln -sfn \"$HERE/$f\" \"$DIR/$f\"; done; cd \"$DIR\"; nest() { \"$NEST\" \"$@\"; }; %s",
            line);
        assert_status(&result, 0);
        command_free(&result);
        ran++;
    }
    assert_true(ran >= 10);
    free(text);
}

static void test_keys(void **state)
{
    (void)state;
    char *text = read_readme();
    struct nest_strbuf table = NEST_STRBUF_INIT(1 << 16);
    nest_actions_markdown(&table);
    if (strstr(text, nest_strbuf_text(&table)) == NULL) {
        fail_msg("README.md: the key table should be\n%s", nest_strbuf_text(&table));
    }
    nest_strbuf_free(&table);
    free(text);
}

static void test_commands(void **state)
{
    (void)state;
    char *text = read_readme();
    for (int i = 1; nest_commands[i] != NULL; i++) {
        char row[64];
        (void)snprintf(row, sizeof row, "| `nest %s", nest_commands[i]->name);
        if (!nest_commands[i]->hidden) {
            assert_contains(text, row);
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_commands),
    };
    return cmocka_run_group_tests_name("readme", tests, NULL, NULL);
}
