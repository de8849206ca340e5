/* NEST's own solver inputs, units repaired: the exact search is at least as good as every plan that
 * the published solver returned and every plan that is published of its peers, judged by one
 * evaluator, at every device count; and it finds plans where the published solver ran out of
 * memory. Skipped where the reference folder is not there.
 *
 * Of reference_runs.tsv every run that returned a plan is compared, and for the others our search
 * has to find one. Of published_results.tsv every configuration of a peer (pp, dp, tp, ep) is, in
 * its best version (whatever splits, orders and ZeRO stages our model has) and evenly split as it
 * was published. Not compared, and counted as such:
 *
 *   - configurations at micro batches of 2 to 8, of "bert-large (HF graph)" and of the small GPT-3:
 *     there is no input of these;
 *   - configurations of more devices than there are (GPT-3 by Manual on 64);
 *   - the results of Alpa-E: times without plans;
 *   - throughput ratios: they are of the plans above.
 *
 * The published solver rounds microbatches up where dp does not divide the batch; so do we, for
 * either side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/command.h"
#include "tests/support/importing.h"
#include "tests/support/scenario.h"

enum { STAGES_MAX = 128, COLUMNS = 27, LINE_MAX_BYTES = 4096, INPUTS_MAX = 64 };

/* Columns of reference_runs.tsv. */
enum run_column {
    RUN_MODEL,
    RUN_SETUP,
    RUN_DEVICES,
    RUN_INPUT,
    RUN_STATUS,
    RUN_DP = 8,
    RUN_TP,
    RUN_EP,
    RUN_PP,
    RUN_RECOMPUTE = 13,
    RUN_LAYERS = 15
};

/* Columns of published_results.tsv. */
enum result_column {
    RESULT_KIND,
    RESULT_SETUP,
    RESULT_MODEL,
    RESULT_DEVICES,
    RESULT_MICRO_BATCH,
    RESULT_METHOD,
    RESULT_PP = 8,
    RESULT_DP,
    RESULT_TP,
    RESULT_EP
};

struct row {
    char text[LINE_MAX_BYTES];
    char *cell[COLUMNS];
    int cells;
};

/* An input at a device count, and the best plan that our search finds for it. */
struct input {
    char name[96];
    char path[256];
    int devices;
    nest_ps ours;
};

/* A plan of others, in one split of the layers. */
struct shape {
    int64_t tp, dp; /* dp: ep times dp, whose weights are those of one expert as they are */
    int stages;
    struct nest_range range[STAGES_MAX];
    bool redone; /* every stage but the last recomputes its layers */
};

struct tests {
    struct importing in;
    int inputs, compared, without;
    struct input input[INPUTS_MAX];
};

static bool next_row(FILE *file, struct row *row)
{
    if (!fgets(row->text, sizeof row->text, file)) {
        return false;
    }
    row->text[strcspn(row->text, "\n")] = '\0';
    row->cells = 0;
    for (char *at = row->text; at && row->cells < COLUMNS;) {
        row->cell[row->cells++] = strsep(&at, "\t");
    }
    return true;
}

/* "6x7 5 6x7 8": seven stages of 6 layers, one of 5, seven of 6, one of 8. */
static int read_split(const char *text, struct nest_range *range)
{
    int stages = 0;
    int64_t next = 0;
    for (const char *at = text; *at != '\0';) {
        char *end;
        const int64_t layers = strtoll(at, &end, 10);
        int64_t times = 1;
        if (*end == 'x') {
            times = strtoll(end + 1, &end, 10);
        }
        for (int64_t i = 0; i < times; i++) {
            assert_true(stages < STAGES_MAX);
            range[stages++] = (struct nest_range){next, next + layers - 1};
            next += layers;
        }
        at = end + strspn(end, " ");
    }
    return stages;
}

/* Evenly: the first stages have one layer more. */
static void split_evenly(int layers, struct shape *shape)
{
    int64_t next = 0;
    for (int i = 0; i < shape->stages; i++) {
        const int64_t count = layers / shape->stages + (i < layers % shape->stages);
        shape->range[i] = (struct nest_range){next, next + count - 1};
        next += count;
    }
}

static void open_input(struct test_scenario *scenario, const struct input *input, const char *pins)
{
    char sets[64];
    (void)snprintf(sets, sizeof sets, "cluster.cluster.fanout=%d", input->devices / 32);
    test_scenario_open_file(scenario, input->path, sets, pins);
    scenario->problem.allow_ragged_batch = true;
    assert_int_equal(scenario->problem.cluster->devices, input->devices);
}

/* What a plan of that shape takes; NEST_PS_MAX where it does not fit. */
static nest_ps step_of(const struct input *input, const struct shape *shape)
{
    static struct nest_plan_stage_spec stage[STAGES_MAX];
    struct test_scenario scenario;
    struct nest_plan plan;
    struct nest_errors errors;
    struct nest_prediction prediction;
    struct nest_range range[STAGES_MAX];
    memcpy(range, shape->range, sizeof range);
    for (int i = 0; i < shape->stages; i++) {
        stage[i] = (struct nest_plan_stage_spec){
            .ranges = 1,
            .layers = &range[i],
            .recompute =
                shape->redone && i + 1 < shape->stages ? NEST_RECOMPUTE_FULL : NEST_RECOMPUTE_NONE,
            .zero = -1,
            .first_device = -1,
        };
    }
    const struct nest_plan_spec spec = {
        .tp = shape->tp,
        .pp = shape->stages,
        .dp = shape->dp,
        .micro_batch = 1,
        .order = {.kind = NEST_ORDER_NEST},
        .stages = shape->stages,
        .stage = stage,
    };
    open_input(&scenario, input, "");
    nest_errors_init(&errors, &scenario.arena);
    if (nest_plan_from_spec(&scenario.problem, &spec, &scenario.arena, &plan, &errors) != NEST_OK) {
        fail_msg("%s: %s", input->name, errors.item[0].message);
    }
    assert_true(nest_plan_evaluate(&scenario.problem, &plan, &scenario.arena, &prediction));
    const nest_ps step = prediction.feasible ? prediction.step : NEST_PS_MAX;
    test_scenario_close(&scenario);
    return step;
}

/* The H100 Llama 3 input is in no consistent unit (its README says so): 91 times faster than
 * Llama 2. With next to no compute every split is about as good and the search of all of them takes
 * a minute, so it is held to the plans of 16 stages: the whole search finds none that is slower. */
static const char *held_to(const char *model, const char *setup)
{
    const bool incredible =
        strcmp(model, "llama3-70b") == 0 && strcmp(setup, "h100_spineLeaf") == 0;
    return incredible ? "pp=16" : "";
}

static void solve_input(struct input *input, const char *pins)
{
    struct test_scenario scenario;
    open_input(&scenario, input, pins);
    input->ours = test_scenario_solve(&scenario).prediction.step;
    test_scenario_close(&scenario);
}

/* The input, imported and solved once; NULL where there is none of the model. */
static const struct input *input_of(struct tests *t, const char *model, const char *setup,
                                    const char *devices)
{
    char name[128];
    (void)snprintf(name, sizeof name, "%s %s %s", model, setup, devices);
    for (int i = 0; i < t->inputs; i++) {
        if (strcmp(t->input[i].name, name) == 0) {
            return &t->input[i];
        }
    }
    (void)snprintf(name, sizeof name, "nest/inputs/%s_%s.json", model, setup);
    const char *shared = importing_shared(&t->in, name);
    if (!shared) {
        return NULL;
    }
    assert_true(t->inputs < INPUTS_MAX);
    struct input *input = &t->input[t->inputs++];
    (void)snprintf(input->name, sizeof input->name, "%s %s %s", model, setup, devices);
    importing_files(&t->in, "nest", shared, NULL);
    (void)snprintf(name, sizeof name, "%s-%s.yaml", model, setup);
    (void)snprintf(input->path, sizeof input->path, "%s", command_file(name, t->in.yaml));
    input->devices = atoi(devices);
    solve_input(input, held_to(model, setup));
    return input;
}

static void compare(struct tests *t, const struct input *input, const char *whose, nest_ps theirs)
{
    print_message("%-32s ours %10.3f s, %s ", input->name, nest_to_seconds(input->ours), whose);
    if (theirs < NEST_PS_MAX) {
        print_message("%10.3f s\n", nest_to_seconds(theirs));
    } else {
        print_message("does not fit\n");
    }
    assert_true(input->ours <= theirs);
    t->compared++;
}

/* ---- Plans that the published solver returned ---- */

static void check_run(struct tests *t, const struct row *row)
{
    const struct input *input =
        input_of(t, row->cell[RUN_MODEL], row->cell[RUN_SETUP], row->cell[RUN_DEVICES]);
    assert_non_null(input);
    if (row->cells <= RUN_LAYERS || row->cell[RUN_LAYERS][0] == '\0') {
        print_message("%-32s ours %10.3f s, NEST: %s\n", input->name, nest_to_seconds(input->ours),
                      row->cell[RUN_STATUS]);
        t->without++;
        return;
    }
    struct shape shape = {.tp = atoi(row->cell[RUN_TP]),
                          .dp = (int64_t)atoi(row->cell[RUN_DP]) * atoi(row->cell[RUN_EP]),
                          .redone = strcmp(row->cell[RUN_RECOMPUTE], "none") != 0};
    shape.stages = read_split(row->cell[RUN_LAYERS], shape.range);
    assert_int_equal(shape.stages, atoi(row->cell[RUN_PP]));
    compare(t, input, "NEST", step_of(input, &shape));
}

/* ---- Configurations of its peers ---- */

/* The best plan of our search with their degrees. */
static nest_ps best_version(const struct input *input, const struct shape *shape)
{
    char pins[64];
    struct test_scenario scenario;
    struct nest_result result;
    const struct nest_solve_options options = {.top = 1, .threads = 1};
    (void)snprintf(pins, sizeof pins, "tp=%d,pp=%d,dp=%d,virtual_stages=1", (int)shape->tp,
                   shape->stages, (int)shape->dp);
    open_input(&scenario, input, pins);
    const enum nest_status status =
        nest_solve(&scenario.problem, &options, &scenario.arena, &result);
    assert_true(status == NEST_OK || status == NEST_NO);
    const nest_ps step = status == NEST_OK ? result.solution[0].prediction.step : NEST_PS_MAX;
    test_scenario_close(&scenario);
    return step;
}

static int layers_of(const struct input *input)
{
    struct test_scenario scenario;
    test_scenario_open_file(&scenario, input->path, "", "");
    const int layers = scenario.problem.model->layers;
    test_scenario_close(&scenario);
    return layers;
}

static void check_configuration(struct tests *t, const struct row *row)
{
    const struct input *input = strcmp(row->cell[RESULT_MICRO_BATCH], "1") == 0
                                    ? input_of(t, row->cell[RESULT_MODEL], row->cell[RESULT_SETUP],
                                               row->cell[RESULT_DEVICES])
                                    : NULL;
    if (!input) {
        t->without++;
        return;
    }
    struct shape shape = {.tp = atoi(row->cell[RESULT_TP]),
                          .dp = (int64_t)atoi(row->cell[RESULT_DP]) * atoi(row->cell[RESULT_EP]),
                          .stages = atoi(row->cell[RESULT_PP])};
    if (shape.tp * shape.dp * shape.stages > input->devices) {
        print_message("%-32s %s: tp %d x pp %d x dp %d is more than the devices\n", input->name,
                      row->cell[RESULT_METHOD], (int)shape.tp, shape.stages, (int)shape.dp);
        t->without++;
        return;
    }
    split_evenly(layers_of(input), &shape);
    const nest_ps plain = step_of(input, &shape);
    shape.redone = true;
    const nest_ps redone = step_of(input, &shape);
    const nest_ps best = best_version(input, &shape);
    assert_true(best <= plain && best <= redone);
    compare(t, input, row->cell[RESULT_METHOD], best);
    assert_true(input->ours <= plain && input->ours <= redone);
}

/* ---- */

/* Calls check for every row of the file behind its heading; false where there is no such file. */
static bool each_row(struct tests *t, const char *name,
                     void (*check)(struct tests *t, const struct row *row))
{
    static struct row row;
    const char *path = importing_shared(&t->in, name);
    FILE *file = path ? fopen(path, "r") : NULL;
    bool heading = true;
    while (file && next_row(file, &row)) {
        if (row.text[0] == '#') {
            continue;
        }
        if (!heading) {
            check(t, &row);
        }
        heading = false;
    }
    if (file) {
        (void)fclose(file);
    }
    return file != NULL;
}

static void check_result(struct tests *t, const struct row *row)
{
    if (strcmp(row->cell[RESULT_KIND], "configuration of a peer") == 0) {
        check_configuration(t, row);
    }
}

static void never_worse(const char *name, void (*check)(struct tests *t, const struct row *row),
                        int compared, int without)
{
    static struct tests t; /* inputs are solved once for all tests */
    t.compared = t.without = 0;
    importing_begin(&t.in);
    const bool there = each_row(&t, name, check);
    importing_end(&t.in);
    if (!there) {
        skip();
    }
    print_message("%d compared, %d not\n", t.compared, t.without);
    assert_int_equal(t.compared, compared);
    assert_int_equal(t.without, without);
}

static void never_worse_than_the_published_solver(void **state)
{
    (void)state;
    never_worse("nest/reference_runs.tsv", check_run, 45, 7);
}

static void never_worse_than_its_peers(void **state)
{
    (void)state;
    never_worse("nest/published_results.tsv", check_result, 97, 53);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_worse_than_the_published_solver),
        cmocka_unit_test(never_worse_than_its_peers),
    };
    return cmocka_run_group_tests_name("nest inputs", tests, NULL, NULL);
}
