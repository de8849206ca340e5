/* How fast the search is: cold over cluster sizes, after edits, and as models grow deeper. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/units.h"
#include "input/load.h"
#include "plan/problem.h"
#include "session/session.h"
#include "solve/solve.h"

enum { REPEATS = 5, EDITS = 200, RACK = 32, RETAINED = 16 << 20, ALTERNATIVES = 12 };

struct bench {
    struct nest_arena arena; /* library and the scenario as loaded */
    struct nest_library library;
    struct nest_scenario_spec scenario;
    struct nest_solver *solver;
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void die(const struct nest_errors *errors)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(4096);
    for (size_t i = 0; i < errors->count; i++) {
        nest_error_format(&errors->item[i], &text);
    }
    fputs(nest_strbuf_text(&text), stderr);
    exit(2);
}

static void load(struct bench *bench, const char *model)
{
    struct nest_errors errors;
    *bench = (struct bench){.arena = NEST_ARENA_INIT};
    nest_errors_init(&errors, &bench->arena);
    const struct nest_scenario_request request = {.model = model, .cluster = "h100-spine-leaf"};
    if (nest_library_find(&bench->arena, &bench->library) != NEST_OK ||
        nest_load_scenario(&bench->library, &request, &bench->arena, &bench->scenario, &errors) !=
            NEST_OK) {
        die(&errors);
    }
}

static void unload(struct bench *bench)
{
    nest_solver_free(bench->solver);
    nest_arena_free(&bench->arena);
}

/* CPU seconds of one solve, cold without a solver; the model is expanded and the cluster built
 * beforehand. */
static double solve(struct bench *bench, struct nest_result *out, double *step)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    struct nest_problem problem;
    const struct nest_solve_options options = {.top = 1, .threads = 1};
    nest_errors_init(&errors, &arena);
    if (nest_problem_build(&bench->scenario, &arena, &problem, &errors) != NEST_OK) {
        die(&errors);
    }
    const double start = cpu_seconds();
    if (bench->solver) {
        (void)nest_solver_solve(bench->solver, &problem, &options, &arena, out);
    } else {
        (void)nest_solve(&problem, &options, &arena, out);
    }
    const double seconds = cpu_seconds() - start;
    *step = out->count > 0 ? nest_to_seconds(out->solution[0].prediction.step) : 0.0;
    nest_arena_free(&arena);
    return seconds;
}

static void scale(struct bench *bench, int64_t devices)
{
    bench->scenario.cluster.level[2].fanout = devices / RACK;
    bench->scenario.train.global_batch = devices / 8 > 1024 ? devices / 8 : 1024;
}

static void cold_row(const char *model, int64_t devices)
{
    struct bench bench;
    struct nest_result result;
    double best = 1e30;
    double step = 0.0;
    load(&bench, model);
    scale(&bench, devices);
    for (int i = 0; i < REPEATS && (i == 0 || best < 1.0); i++) {
        const double seconds = solve(&bench, &result, &step);
        best = seconds < best ? seconds : best;
    }
    printf("%-14s %8" PRId64 " %11.2f %10.3f %12" PRId64 " %12" PRId64 " %9" PRId64 " %10" PRId64
           " %8.1f\n",
           model, devices, best * 1e3, step, result.progress.strategies, result.progress.bounded,
           result.progress.solved, result.progress.states, peak_mib());
    fflush(stdout);
    unload(&bench);
}

static void cold_table(void)
{
    static const char *const model[] = {"llama3-70b", "llama3-405b", "gpt3-175b", "mixtral-8x7b",
                                        "deepseek-v3"};
    static const int64_t devices[] = {64, 1024, 16384, 131072};
    printf("Cold solve, whole space, one thread, CPU time, best of %d (slow ones once)\n", REPEATS);
    printf("%-14s %8s %11s %10s %12s %12s %9s %10s %8s\n", "model", "devices", "ms", "step s",
           "strategies", "bounded", "solved", "states", "MiB");
    for (size_t m = 0; m < sizeof model / sizeof model[0]; m++) {
        for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++) {
            cold_row(model[m], devices[d]);
        }
    }
}

/* ---- Edits ---- */

static void pin(struct nest_scenario_spec *s, enum nest_pin_key key, int64_t value)
{
    s->pins.pin[key].count = value > 0;
    s->pins.pin[key].range[0] = (struct nest_range){value, value};
}

/* Edit number i of a typical session; every fifth is an undo of the one before. */
static void edit(struct nest_scenario_spec *s, struct nest_scenario_spec *before, int i)
{
    if (i % 5 == 4) {
        *s = *before;
        return;
    }
    *before = *s;
    struct nest_level_spec *level = &s->cluster.level[i / 7 % s->cluster.levels];
    switch (i % 11) {
    case 0:
    case 6:
        level->bandwidth *= i % 2 ? 1.1 : 1.0 / 1.1;
        break;
    case 1:
    case 7:
        level->oversubscription = 1.0 + i % 4;
        break;
    case 2:
    case 8:
        level->latency *= i % 2 ? 1.2 : 1.0 / 1.2;
        break;
    case 3:
    case 9:
        s->limits.memory = (double)(60 + i % 6 * 4) * 1024.0 * 1024.0 * 1024.0;
        break;
    case 5:
        s->train.global_batch = i % 2 ? 1024 : 2048;
        break;
    case 10:
        s->model.seq = i % 2 ? 8192 : 4096;
        break;
    default:
        pin(s, i % 2 ? NEST_PIN_TP : NEST_PIN_PP, i % 3 ? 8 : 0);
        break;
    }
}

static void edit_row(const char *model)
{
    static double seconds[EDITS];
    double median = 1e30;
    double slow = 1e30;
    for (int trace = 0; trace < REPEATS && (trace == 0 || median < 0.05); trace++) {
        struct bench bench;
        struct nest_result result;
        double step;
        load(&bench, model);
        scale(&bench, 1024);
        bench.solver = nest_solver_create();
        struct nest_scenario_spec before = bench.scenario;
        (void)solve(&bench, &result, &step);
        for (int i = 0; i < EDITS; i++) {
            edit(&bench.scenario, &before, i);
            seconds[i] = solve(&bench, &result, &step);
        }
        unload(&bench);
        qsort(seconds, EDITS, sizeof seconds[0], compare_doubles);
        if (seconds[EDITS / 2] < median) {
            median = seconds[EDITS / 2];
            slow = seconds[EDITS * 99 / 100];
        }
    }
    printf("%-14s %8d %11.2f %11.2f %8.1f\n", model, EDITS, median * 1e3, slow * 1e3, peak_mib());
    fflush(stdout);
}

/* What the explorer does for an edit: the plan before priced anew, twelve alternatives searched,
 * what changed worked out. */
static double explore(struct nest_session *session, int i)
{
    static const char *const edit[][2] = {
        {"spine.bandwidth", "40GB/s"},
        {"spine.oversubscription", "6:1"},
        {"memory", "70GiB"},
        {"undo", NULL},
        {"rack.latency", "6us"},
        {"global_batch", "2048"},
        {"spine.bandwidth", "60GB/s"},
        {"undo", NULL},
        {"node.bandwidth", "400GB/s"},
        {"seq", "4096"},
        {"memory", "76GiB"},
        {"undo", NULL},
        {"spine.oversubscription", "4:1"},
        {"seq", "8192"},
        {"global_batch", "1024"},
        {"undo", NULL},
        {"memory", "80GiB"},
        {"spine.bandwidth", "50GB/s"},
        {"rack.latency", "4us"},
        {"node.bandwidth", "450GB/s"},
    };
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    const char *const *one = edit[(size_t)i % (sizeof edit / sizeof edit[0])];
    const double start = cpu_seconds();
    if (one[1] == NULL) {
        (void)nest_session_undo(session);
    } else if (nest_session_set(session, one[0], one[1], &errors) == NEST_BAD_INPUT) {
        die(&errors);
    }
    nest_session_wait(session);
    nest_arena_free(&arena);
    return cpu_seconds() - start;
}

static void explorer_row(const char *model)
{
    static double seconds[EDITS];
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    struct nest_session *session = NULL;
    struct nest_session_options options = {
        .request = {.model = model, .cluster = "h100-spine-leaf"},
        .top = ALTERNATIVES,
        .threads = 1,
    };
    nest_errors_init(&errors, &arena);
    if (nest_library_find(&arena, &options.library) != NEST_OK ||
        nest_session_open(&options, &session, &errors) != NEST_OK) {
        die(&errors);
    }
    nest_session_wait(session);
    for (int i = 0; i < EDITS; i++) {
        seconds[i] = explore(session, i);
    }
    nest_session_close(session);
    nest_arena_free(&arena);
    qsort(seconds, EDITS, sizeof seconds[0], compare_doubles);
    printf("%-14s %8d %11.2f %11.2f %8.1f\n", model, EDITS, seconds[EDITS / 2] * 1e3,
           seconds[EDITS * 99 / 100] * 1e3, peak_mib());
    fflush(stdout);
}

/* ---- Growth with layers ---- */

static void growth_row(int layers, bool different)
{
    struct bench bench;
    struct nest_result result;
    double step = 0.0;
    double best = 1e30;
    load(&bench, "llama3-70b");
    scale(&bench, 1024);
    struct nest_profile_layer *layer = NEST_NEW(&bench.arena, struct nest_profile_layer, layers);
    struct nest_profile_entry *entry = NEST_NEW(&bench.arena, struct nest_profile_entry, layers);
    const int kinds = different ? layers : 1;
    for (int i = 0; i < kinds; i++) {
        const double size = 1.0 + (different ? 0.5 * (double)(i * 37 % 101) / 101.0 : 0.0);
        entry[i] = (struct nest_profile_entry){8, 1e-3 * size, 2e-3 * size, 1e8, 1e8, 1e7};
        layer[i] = (struct nest_profile_layer){"layer", different ? 1 : layers, 1, &entry[i]};
    }
    bench.scenario.model.profile = layer;
    bench.scenario.model.profile_layers = kinds;
    bench.scenario.model.layers = layers;
    bench.scenario.model.heads = 0;
    bench.scenario.model.kv_heads = 0;
    bench.scenario.model.ffn = 0;
    for (int i = 0; i < REPEATS && (i == 0 || best < 1.0); i++) {
        const double seconds = solve(&bench, &result, &step);
        best = seconds < best ? seconds : best;
    }
    printf("%-14s %8d %11.2f %10.3f %9" PRId64 " %10" PRId64 "\n",
           different ? "all different" : "equal", layers, best * 1e3, step, result.progress.solved,
           result.progress.states);
    fflush(stdout);
    unload(&bench);
}

static void edit_table(void)
{
    printf("\nEdits of a solved scenario at 1,024 devices, CPU time, best of %d traces\n", REPEATS);
    printf("%-14s %8s %11s %11s %8s\n", "model", "edits", "median ms", "99% ms", "MiB");
    edit_row("llama3-70b");
    edit_row("gpt3-175b");
    printf("\nIn the explorer, with %d alternatives, undo and redo\n", ALTERNATIVES);
    explorer_row("llama3-70b");
    explorer_row("gpt3-175b");
}

static void growth_table(void)
{
    static const int layers[] = {10, 32, 100, 320, 1000};
    printf("\nGrowth with layers: a measured chain, tp 8, 1,024 devices\n");
    printf("%-14s %8s %11s %10s %9s %10s\n", "layers", "count", "ms", "step s", "solved", "states");
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        growth_row(layers[i], false);
        growth_row(layers[i], true);
    }
}

/* Everything; or one part by name: `cold [MODEL DEVICES]`, `edits [MODEL]`, `growth`. */
int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    nest_arena_retain(RETAINED);
    if (argc > 3 && strcmp(part, "warm") == 0) {
        struct bench b;
        struct nest_result r;
        double step;
        load(&b, argv[2]);
        scale(&b, atoll(argv[3]));
        b.solver = nest_solver_create();
        for (int i = 0; i < 4; i++)
            printf("%f ms\n", 1e3 * solve(&b, &r, &step));
        unload(&b);
    } else if (argc > 3 && strcmp(part, "cold") == 0) {
        cold_row(argv[2], atoll(argv[3]));
    } else if (argc > 2 && strcmp(part, "edits") == 0) {
        edit_row(argv[2]);
    } else {
        const bool all = argc == 1;
        if (all || strcmp(part, "cold") == 0) {
            cold_table();
        }
        if (all || strcmp(part, "edits") == 0) {
            edit_table();
        }
        if (all || strcmp(part, "growth") == 0) {
            growth_table();
        }
    }
    return 0;
}
