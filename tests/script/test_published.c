/* scripts/paper/nest_as_published.lua reproduces the optimum of the published cost arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/importing.h"

enum { FIELDS = 32, COL_MODEL = 0, COL_SETUP = 1, COL_DEVICES = 2, COL_INPUT = 3 };

/* Cuts a line at tabs. */
static int split(char *line, char *field[FIELDS])
{
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && count < FIELDS; count++) {
        field[count] = at;
        at = strchr(at, '\t');
        if (at) {
            *at++ = '\0';
        }
    }
    return count;
}

/* Models of at most 33 layers: the larger ones take seconds each. */
static bool is_small(const char *model)
{
    return strncmp(model, "llama3", 6) != 0 && strncmp(model, "gpt3", 4) != 0;
}

static void check_row(const char *folder, char *field[FIELDS], int optimum)
{
    char line[1024];
    snprintf(line, sizeof(line), "lua scripts/paper/nest_as_published.lua %s/inputs/%s_%s.json %s",
             folder, field[COL_MODEL], field[COL_SETUP], field[COL_DEVICES]);
    struct command_result result = command_run(line);
    assert_int_equal(result.status, 0);
    const double found = strtod(result.out, NULL), expected = strtod(field[optimum], NULL);
    if (!(fabs(found / expected - 1) < 1e-6)) {
        fail_msg("%s %s %s: expected %.9g, found %.9g", field[COL_MODEL], field[COL_SETUP],
                 field[COL_DEVICES], expected, found);
    }
    command_free(&result);
}

static void test_published_optima_are_reproduced(void **state)
{
    (void)state;
    struct importing in = {.arena = NEST_ARENA_INIT};
    const char *runs = importing_shared(&in, "nest/reference_runs.tsv");
    const char *folder = importing_shared(&in, "nest");
    if (!runs || !folder) {
        skip();
    }
    char line[4096], *field[FIELDS];
    FILE *file = fopen(runs, "r");
    assert_non_null(file);
    int optimum = -1, rows = 0;
    while (fgets(line, sizeof(line), file)) {
        const int count = line[0] == '#' ? 0 : split(line, field);
        for (int i = 0; i < count && optimum < 0; i++) {
            optimum = strcmp(field[i], "exact_optimum_ms") == 0 ? i : -1;
        }
        if (optimum > 0 && count > optimum && is_small(field[COL_MODEL]) &&
            strcmp(field[COL_INPUT], "as the repository") == 0 && atof(field[optimum]) > 0) {
            check_row(folder, field, optimum);
            rows++;
        }
    }
    fclose(file);
    nest_arena_free(&in.arena);
    assert_true(rows >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published_optima_are_reproduced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
