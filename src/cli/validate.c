#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

#include "cli/validation.h"
#include "plan/judge.h"

/* Devices are loaded once each. */
struct device_cache {
    struct nest_cli *cli;
    int count;
    struct nest_device_spec device[64];
};

static const struct nest_device_spec *find_device(struct device_cache *cache, const char *name)
{
    for (int i = 0; i < cache->count; i++) {
        if (strcmp(cache->device[i].id, name) == 0) {
            return &cache->device[i];
        }
    }
    if (cache->count == (int)(sizeof cache->device / sizeof *cache->device)) {
        return NULL;
    }
    struct nest_errors faults;
    nest_errors_init(&faults, &cache->cli->arena);
    struct nest_device_spec *added = &cache->device[cache->count];
    if (nest_load_device(&cache->cli->library, name, &cache->cli->arena, added, &faults) !=
        NEST_OK) {
        return NULL;
    }
    added->id = name;
    cache->count++;
    return added;
}

/* A table of timings, predicted. NEST_NO if it holds something else. */
static enum nest_status add_timings(struct nest_cli *cli, struct device_cache *cache,
                                    const struct nest_node *root, const char *table,
                                    struct nest_validation *report)
{
    struct nest_timing *timing = NULL;
    int count = 0;
    const enum nest_status status =
        nest_timings_read(root, table, &cli->arena, &timing, &count, &cli->errors);
    if (status != NEST_OK) {
        return status;
    }
    if (!nest_collectives_reserve(&report->collectives, count)) {
        return NEST_NO_MEMORY;
    }
    for (int i = 0; i < count; i++) {
        const struct nest_device_spec *device =
            timing[i].device ? find_device(cache, timing[i].device) : NULL;
        const double predicted =
            device ? nest_timing_predict(&timing[i], device, &cli->arena) : -1.0;
        if (predicted >= 0.0) {
            nest_collectives_record(&report->collectives, &timing[i], predicted);
        } else {
            fprintf(cli->err, "nest validate: %s is not predicted: its device is not known\n",
                    timing[i].id);
        }
    }
    return NEST_OK;
}

/* A table of other models' predictions. NEST_NO if it holds something else. */
static enum nest_status add_peers(struct nest_cli *cli, const struct nest_node *root,
                                  struct nest_validation *report)
{
    struct nest_peer_prediction *peer = NULL;
    int count = 0;
    const enum nest_status status = nest_peers_read(root, &cli->arena, &peer, &count, &cli->errors);
    if (status == NEST_OK && !nest_validation_add_peers(report, peer, count)) {
        return NEST_NO_MEMORY;
    }
    return status;
}

/* The file's name without folder and extension. */
static const char *table_name(const char *path, struct nest_arena *arena)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return nest_arena_strndup(arena, name, dot ? (size_t)(dot - name) : strlen(name));
}

/* One table, whatever it holds, into the report. */
static enum nest_status read_table(struct nest_cli *cli, struct device_cache *cache,
                                   const char *path, struct nest_validation *report)
{
    const struct nest_node *root = NULL;
    const char *table = table_name(path, &cli->arena);
    enum nest_status status =
        table ? nest_doc_load(path, &cli->arena, &root, &cli->errors) : NEST_NO_MEMORY;
    if (status != NEST_OK) {
        return status;
    }
    status = add_timings(cli, cache, root, table, report);
    if (status == NEST_NO) {
        status = add_peers(cli, root, report);
    }
    if (status == NEST_NO) {
        struct nest_measurement *runs = NULL;
        int count = 0;
        status = nest_measurements_read(root, table, &cli->arena, &runs, &count, &cli->errors);
        if (status == NEST_OK && !nest_validation_add(report, runs, count)) {
            return NEST_NO_MEMORY;
        }
    }
    return status;
}

/* A table, or all of a folder's; what is read after a fault may show more of them. */
static enum nest_status read_path(struct nest_cli *cli, struct device_cache *cache,
                                  const char *path, struct nest_validation *report)
{
    const char **tables = nest_folder_list(path, &cli->arena);
    if (!tables) {
        return read_table(cli, cache, path, report);
    }
    if (!tables[0]) {
        fprintf(cli->err, "nest validate: %s holds no .yaml files\n", path);
    }
    enum nest_status status = NEST_OK;
    for (int i = 0; tables[i] && status != NEST_NO_MEMORY; i++) {
        const enum nest_status read = read_table(cli, cache, tables[i], report);
        status = read == NEST_OK ? status : read;
    }
    return status;
}

/* The named tables, or those that the source tree carries. */
static enum nest_status read_tables(struct nest_cli *cli, struct device_cache *cache,
                                    struct nest_validation *report)
{
    const char *own = nest_arena_printf(&cli->arena, "%s/tests/data", cli->library.root);
    enum nest_status status = NEST_OK;
    const int count = cli->args.operand_count;
    for (int i = 0; i < (count > 0 ? count : 1) && status != NEST_NO_MEMORY; i++) {
        const char *path = count > 0 ? cli->args.operand[i] : own;
        const enum nest_status read = path ? read_path(cli, cache, path, report) : NEST_NO_MEMORY;
        status = read == NEST_OK ? status : read;
    }
    return status;
}

/* Runs that are not to be judged are predicted as well where their layout is complete, for whoever
 * reads the rows; no summary counts them. */
static bool is_predicted(const struct nest_measurement *run)
{
    const double layout = (double)run->tp * (double)run->pp * (double)run->dp * (double)run->cp;
    const bool whole = layout == (double)run->devices && run->layers > 0 && run->heads > 0 &&
                       run->global_batch > 0 && run->vocab > 0;
    return run->kind == NEST_RUN_OUT_OF_MEMORY ||
           (run->kind == NEST_RUN_MEASURED && (run->scored != NEST_SCORED_NO || whole));
}

/* Why a run was not predicted, on standard error. */
static void report_skipped(struct nest_cli *cli, const struct nest_measurement *run,
                           const struct nest_errors *faults)
{
    struct nest_strbuf line = NEST_STRBUF_INIT(4096);
    if (faults->count > 0) {
        nest_error_format(&faults->item[0], &line);
    } else {
        nest_strbuf_printf(&line, "device '%s' is not known\n", run->device);
    }
    fprintf(cli->err, "nest validate: %s is not predicted: %s", run->id, nest_strbuf_text(&line));
    nest_strbuf_free(&line);
}

static void judge_all(struct nest_cli *cli, struct device_cache *cache,
                      struct nest_validation *report)
{
    struct nest_arena scratch = NEST_ARENA_INIT;
    for (int i = 0; i < report->runs; i++) {
        const struct nest_measurement *run = report->run[i];
        struct nest_errors faults;
        struct nest_judged judged = {0};
        nest_errors_init(&faults, &scratch);
        if (!is_predicted(run)) {
            continue;
        }
        const struct nest_device_spec *device = find_device(cache, run->device);
        if (!device || nest_judge(run, device, &scratch, &judged, &faults) != NEST_OK) {
            if (run->scored != NEST_SCORED_NO) {
                report_skipped(cli, run, &faults);
                report->skipped++;
            }
        } else {
            nest_validation_record(report, run, &judged);
        }
        nest_arena_reset(&scratch);
    }
    nest_arena_free(&scratch);
}

static int run_validate(struct nest_cli *cli)
{
    struct nest_validation report = {.arena = &cli->arena, .collectives.arena = &cli->arena};
    struct device_cache *cache = NEST_NEW(&cli->arena, struct device_cache, 1);
    if (!cache) {
        return nest_cli_fail(cli, NEST_NO_MEMORY);
    }
    cache->cli = cli;
    if (!cli->library.root && nest_library_find(&cli->arena, &cli->library) != NEST_OK) {
        return nest_cli_usage(cli, "set NEST_DATA to the folder that holds topologies/",
                              "the shipped devices are not found");
    }
    const enum nest_status status = read_tables(cli, cache, &report);
    if (status != NEST_OK) {
        return nest_cli_fail(cli, status);
    }
    judge_all(cli, cache, &report);
    if (nest_args_has(&cli->args, NEST_OPT_JSON)) {
        return nest_validation_json(&report, cli->out) ? NEST_EXIT_DONE
                                                       : nest_cli_fail(cli, NEST_NO_MEMORY);
    }
    if (nest_args_has(&cli->args, NEST_OPT_MARKDOWN)) {
        nest_validation_markdown(&report, cli->out);
        return NEST_EXIT_DONE;
    }
    nest_validation_print(&report, cli->out);
    return NEST_EXIT_DONE;
}

static const struct nest_option options[] = {
    {NEST_OPT_JSON, "json", 'j', NULL, "Print JSON", NULL},
    {NEST_OPT_MARKDOWN, "markdown", 0, NULL, "Print the tables of the README", NULL},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_validate = {
    .name = "validate",
    .operands = "[FILE|FOLDER…]",
    .summary = "Predict published training runs and print the errors",
    .text =
        "Reads tables of measured runs, rebuilds each run's cluster and configuration, predicts "
        "it, and prints prediction, measurement and error for every row, with mean, median, "
        "90th percentile and maximum by source, device and quantity. Rows whose source leaves "
        "recomputation or sharding open are reported apart. Tables of measured collectives are "
        "predicted as well; tables of other models' predictions are set beside ours. A folder "
        "stands for its .yaml files. Without a file, the tables of the source tree, tests/data, "
        "are taken.",
    .options = options,
    .complete = NEST_COMPLETE_FILE,
    .least = 0,
    .most = -1,
    .run = run_validate,
};
