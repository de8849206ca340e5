/* A cluster's script is saved while the explorer shows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/terminal.h"

enum { PATH = 128, ARGUMENTS = 256 };

static void save(const char *path, const char *text)
{
    char other[PATH + 8];
    (void)snprintf(other, sizeof other, "%s~", path);
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(other, path), 0);
}

#define FABRIC(name, bandwidth)                                                                    \
    "return cluster { name = '" name "', device = 'h100-sxm',\n"                                   \
    "  level { name = 'spine', bandwidth = '" bandwidth "', latency = '6us',\n"                    \
    "    node { fanout = 8, bandwidth = '450GB/s', latency = '1us' }:times(4) } }\n"

static void saving_solves_again_and_errors_keep_the_last_good_state(void **state)
{
    (void)state;
    char folder[] = "/tmp/nest-reload-XXXXXX";
    char path[PATH];
    char arguments[ARGUMENTS];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/fabric.lua", folder);
    (void)snprintf(arguments, sizeof arguments, "--model llama3-8b --cluster %s", path);
    save(path, FABRIC("First fabric", "50GB/s"));
    struct terminal *t = terminal_start(
        &(struct terminal_options){.width = 100, .height = 30, .arguments = arguments});
    terminal_expect(t, "First fabric");
    terminal_expect_solved(t);
    save(path, FABRIC("Second fabric", "25GB/s"));
    terminal_expect(t, "fabric.lua was saved: read again");
    terminal_expect(t, "Second fabric");
    terminal_expect(t, "25GB/s");
    terminal_expect(t, ":  step ");
    terminal_expect_solved(t);
    save(path, "local x = 1\nreturn cluster { name = x.y.z }\n");
    terminal_expect(t, "fabric.lua:2: attempt to index");
    terminal_expect(t, "Second fabric");
    terminal_keys(t, "2");
    terminal_expect(t, "fabric.lua:2: in main chunk");
    save(path, FABRIC("Third fabric", "12GB/s"));
    terminal_expect(t, "Third fabric");
    terminal_expect(t, "fabric.lua was saved: read again");
    terminal_keys(t, "Esc");
    terminal_expect(t, "12GB/s");
    terminal_expect_solved(t);
    terminal_type(t, "u");
    terminal_expect(t, "Second fabric");
    terminal_type(t, ":q!\r");
    assert_int_equal(terminal_end(t), 0);
    terminal_close(t);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A knob whose script does not end: the screen goes on, and Ctrl-C leads back. */
static void keys_are_answered_while_a_script_runs(void **state)
{
    (void)state;
    char folder[] = "/tmp/nest-reload-XXXXXX";
    char path[PATH];
    char arguments[ARGUMENTS];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/fabric.lua", folder);
    (void)snprintf(arguments, sizeof arguments, "--model llama3-8b --cluster %s", path);
    save(path, "local mood = param('mood', 1, 1, 9)\nwhile mood == 7 do end\n" FABRIC(
                   "Moody fabric", "50GB/s"));
    struct terminal *t = terminal_start(
        &(struct terminal_options){.width = 100, .height = 30, .arguments = arguments});
    terminal_expect_solved(t);
    terminal_expect(t, "mood 1");
    terminal_type(t, ":set mood 7\r");
    terminal_expect(t, "running mood of fabric.lua … C-c stops it");
    terminal_type(t, "?");
    terminal_expect(t, "Keys");
    terminal_keys(t, "Esc");
    terminal_expect_gone(t, "Keys");
    terminal_keys(t, "C-c");
    terminal_expect(t, "mood of fabric.lua: stopped, nothing has changed");
    terminal_expect(t, "mood 1");
    /* Undo takes back what is under way, not what was there before. */
    terminal_type(t, ":set spine.latency 9us\r");
    terminal_expect(t, "9us");
    terminal_type(t, ":set mood 7\r");
    terminal_expect(t, "running mood of fabric.lua");
    terminal_type(t, "u");
    terminal_expect(t, "mood of fabric.lua: stopped, nothing has changed");
    terminal_expect(t, "9us");
    /* A script that runs does not keep the program. */
    terminal_type(t, ":set mood 7\r");
    terminal_expect(t, "running mood of fabric.lua");
    terminal_type(t, ":q!\r");
    assert_int_equal(terminal_end(t), 0);
    terminal_close(t);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saving_solves_again_and_errors_keep_the_last_good_state),
        cmocka_unit_test(keys_are_answered_while_a_script_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
