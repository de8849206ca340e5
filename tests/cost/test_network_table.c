/* Collectives against measurements: median error at most 15%, 90th percentile at most 40%, by
 * collective, size and span. The table of tests/data always, the shared one where it is present. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "input/load.h"
#include "plan/timing.h"
#include "support/input.h"

enum { ROWS = 4096, DEVICES = 32 };

struct table {
    struct test_input input;
    int devices;
    struct nest_device_spec device[DEVICES];
    int rows;
    const struct nest_timing *timing;
    double error[ROWS]; /* predicted / measured - 1 */
};

static const struct nest_device_spec *find_device(struct table *table, const char *id)
{
    for (int i = 0; i < table->devices; i++) {
        if (strcmp(table->device[i].id, id) == 0) {
            return &table->device[i];
        }
    }
    struct nest_device_spec *device = &table->device[table->devices++];
    assert_int_equal(nest_load_device(&table->input.library, id, &table->input.arena, device,
                                      &table->input.errors),
                     NEST_OK);
    device->id = id;
    return device;
}

/* False where the file is not there. */
static bool predict_all(struct table *table, const char *path)
{
    memset(table, 0, sizeof *table);
    test_input_begin(&table->input);
    FILE *file = fopen(path, "r");
    if (!file) {
        return false;
    }
    fclose(file);
    struct nest_timing *timing;
    const struct nest_node *root = NULL;
    enum nest_status status = nest_doc_load(path, &table->input.arena, &root, &table->input.errors);
    assert_int_equal(status, NEST_OK);
    status = nest_timings_read(root, "network", &table->input.arena, &timing, &table->rows,
                               &table->input.errors);
    assert_string_equal(test_input_faults(&table->input), "");
    assert_int_equal(status, NEST_OK);
    assert_in_range(table->rows, 300, ROWS);
    table->timing = timing;
    for (int i = 0; i < table->rows; i++) {
        assert_non_null(timing[i].device);
        const double predicted = nest_timing_predict(
            &timing[i], find_device(table, timing[i].device), &table->input.arena);
        table->error[i] = predicted / timing[i].seconds - 1.0;
    }
    return true;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Which rows: negative = any. */
struct filter {
    int kind;
    int decade;
    int across; /* 1: more than one scale-up domain */
};

static bool passes(const struct nest_timing *t, const struct filter *filter)
{
    return (filter->kind < 0 || (int)t->kind == filter->kind) &&
           (filter->decade < 0 || (int)log10(t->bytes) == filter->decade) &&
           (filter->across < 0 || (t->ranks > t->per_domain) == (filter->across == 1));
}

/* Prints a line and returns how many rows it stands for. */
static int measure(const struct table *table, const char *name, struct filter filter,
                   double *median, double *high)
{
    static double size[ROWS];
    int n = 0;
    for (int i = 0; i < table->rows; i++) {
        if (passes(&table->timing[i], &filter)) {
            size[n++] = fabs(table->error[i]);
        }
    }
    if (n == 0) {
        return 0;
    }
    qsort(size, (size_t)n, sizeof *size, ascending);
    *median = n % 2 == 1 ? size[n / 2] : 0.5 * (size[n / 2 - 1] + size[n / 2]);
    *high = size[(9 * (n - 1) + 9) / 10];
    print_message("  %-28s %5d rows  median %5.1f%%  p90 %5.1f%%  max %6.1f%%\n", name, n,
                  100.0 * *median, 100.0 * *high, 100.0 * size[n - 1]);
    return n;
}

/* Few rows of one source say nothing about the model: groups of ten or more are judged. */
static void judge(const struct table *table, const char *name, struct filter filter)
{
    double median = 0.0;
    double high = 0.0;
    if (measure(table, name, filter, &median, &high) >= 10) {
        assert_true(median <= 0.15);
        assert_true(high <= 0.40);
    }
}

static void judge_all(const struct table *table)
{
    static const char *const KIND[] = {"all-reduce", "reduce-scatter", "all-gather",
                                       "all-to-all", "broadcast",      "transfer"};
    static const char *const SPAN[] = {"inside a node", "across nodes"};
    char name[64];
    judge(table, "all", (struct filter){-1, -1, -1});
    for (int across = 0; across < 2; across++) {
        judge(table, SPAN[across], (struct filter){-1, -1, across});
    }
    for (int kind = 0; kind < NEST_TIMING_KINDS; kind++) {
        judge(table, KIND[kind], (struct filter){kind, -1, -1});
    }
    for (int decade = 0; decade < 12; decade++) {
        snprintf(name, sizeof name, "1e%d bytes", decade);
        judge(table, name, (struct filter){-1, decade, -1});
    }
    for (int kind = 0; kind < NEST_TIMING_KINDS; kind++) {
        for (int decade = 0; decade < 12; decade++) {
            snprintf(name, sizeof name, "%s, 1e%d bytes", KIND[kind], decade);
            double median;
            double high;
            measure(table, name, (struct filter){kind, decade, -1}, &median, &high);
        }
    }
}

static void own_table(void **state)
{
    (void)state;
    static struct table table;
    assert_true(predict_all(&table, "tests/data/network.yaml"));
    judge_all(&table);
    test_input_end(&table.input);
}

static void shared_table(void **state)
{
    (void)state;
    static struct table table;
    const char *shared = getenv("NEST_SHARED");
    const char *const folder[] = {shared ? shared : "../shared", "../shared", "../../shared"};
    for (int i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/reference/published/network.yaml", folder[i]);
        const bool found = predict_all(&table, path);
        if (found) {
            judge_all(&table);
        }
        test_input_end(&table.input);
        if (found) {
            return;
        }
    }
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_table),
        cmocka_unit_test(shared_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
