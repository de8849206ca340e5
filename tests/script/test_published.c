/* scripts/paper/nest_as_published.lua: with the published cost arithmetic as overrides, our search
 * finds the optimum of every published input, and that with the units repaired. */
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

/* Few devices, and for BERT, whose every dp is possible, the fewest. NEST_ALL_ROWS=1 takes them
 * all, which needs minutes. */
static bool is_chosen(char *field[FIELDS])
{
    const int devices = atoi(field[COL_DEVICES]);
    return getenv("NEST_ALL_ROWS") || devices <= 64 ||
           (devices <= 128 && strncmp(field[COL_MODEL], "bert", 4) != 0);
}

/* The network as the repository has it, or in the layers' unit. */
static const char *unit_of(const char *input)
{
    return strcmp(input, "as the repository") == 0    ? "1"
           : strncmp(input, "network in ms", 13) == 0 ? "1000"
                                                      : NULL;
}

static void check_row(const char *folder, char *field[FIELDS], int optimum)
{
    char line[1024];
    snprintf(line, sizeof(line),
             "lua scripts/paper/nest_as_published.lua %s/inputs/%s_%s.json %s %s", folder,
             field[COL_MODEL], field[COL_SETUP], field[COL_DEVICES], unit_of(field[COL_INPUT]));
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
        if (optimum > 0 && count > optimum && unit_of(field[COL_INPUT]) && is_chosen(field) &&
            atof(field[optimum]) > 0) {
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
