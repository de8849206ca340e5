/* Random keys, clicks and sizes: the explorer stays alive and in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/seed.h"
#include "support/terminal.h"

#define SMALL "tests/ui/data/small.yaml"

enum { STEPS = 400, PATH = 64, FILE_MAX = 1 << 16 };

/* Its copy: among random keys there may be those that save. */
static void copy_small(const char *path)
{
    static char text[FILE_MAX];
    FILE *file = fopen(SMALL, "r");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text, file);
    assert_true(length > 0 && length < sizeof text);
    assert_int_equal(fclose(file), 0);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static uint64_t next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

/* Everything but what ends the program or stops it: q, F10, C-c, C-z, y and s of the question. */
static const char *const keys[] = {
    "Up",   "Down", "Left",    "Right",     "S-Left", "S-Right", "Tab", "S-Tab", "Enter", "Esc",
    "PgUp", "PgDn", "Home",    "End",       "Space",  "+",       "-",   "p",     "u",     "U",
    "C-r",  "h",    "j",       "k",         "l",      "H",       "L",   "g",     "G",     "/",
    "n",    "N",    "?",       "F1",        ":",      "1",       "2",   "8",     ".",     "x",
    "m",    "c",    "C-l",     "Backspace", "Del",    "a",       "C-u", "C-d",   "F2",    "F3",
    "F5",   "C-j",  "A-Enter", "(",         "_",      "w",       "3",   ">",     "<",
};

static void step(struct terminal *t, uint64_t *random, int *width, int *height)
{
    const uint64_t what = next(random) % 100;
    if (what < 4) {
        *width = (int)(next(random) % 200) + 1;
        *height = (int)(next(random) % 60) + 1;
        terminal_resize(t, *width, *height);
    } else if (what < 12) {
        terminal_click(t, (int)(next(random) % (uint64_t)*width),
                       (int)(next(random) % (uint64_t)*height));
    } else if (what < 15) {
        terminal_wheel(t, (int)(next(random) % (uint64_t)*width),
                       (int)(next(random) % (uint64_t)*height), what == 12);
    } else {
        terminal_keys(t, keys[next(random) % (sizeof keys / sizeof keys[0])]);
    }
}

static void anything_goes(void **state)
{
    (void)state;
    char folder[] = "/tmp/nest-monkey-XXXXXX";
    char path[PATH];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/small.yaml", folder);
    for (int run = 0; run < test_instances(3); run++) {
        copy_small(path);
        uint64_t random = test_seed() + (uint64_t)run * 7919;
        int width = 80;
        int height = 24;
        print_message("seed %llu\n", (unsigned long long)random);
        struct terminal *t = terminal_start(
            &(struct terminal_options){.width = width, .height = height, .arguments = path});
        terminal_expect_solved(t);
        for (int i = 0; i < STEPS; i++) {
            step(t, &random, &width, &height);
            terminal_pump(t);
            assert_true(terminal_alive(t));
            int x = 0;
            int y = 0;
            terminal_cursor(t, &x, &y);
            assert_true(x >= 0 && y >= 0 && x < width && y < height);
        }
        /* Whatever is open: leave it, enlarge, and the view is back. */
        terminal_resize(t, 120, 40);
        terminal_keys(t, "Esc Esc Esc Esc");
        terminal_type(t, "n");
        terminal_expect(t, "CLUSTER");
        terminal_expect(t, "? help");
        terminal_type(t, ":q!\r");
        assert_int_equal(terminal_end(t), 0);
        assert_false(terminal_on_alternate_screen(t));
        assert_true(terminal_cursor_shown(t));
        assert_true(terminal_modes_restored(t));
        terminal_close(t);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(anything_goes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
