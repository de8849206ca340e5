/* `nest sweep`: many solves along one or two knobs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "input/set.h"
#include "plan/problem.h"
#include "plan/words.h"

static int run(struct nest_cli *cli);

static const struct nest_option options[] = {
    {NEST_OPT_VARY, "vary", 0, "KEY=V1,V2,…",
     "A knob, as --set or --pin name it, and its values; once or twice", NULL},
    {NEST_OPT_JSON, "json", 'j', NULL, "Print JSON instead of CSV", NULL},
    {NEST_OPT_SHARD, "shard", 0, "I/N", "Do only every N-th point, beginning with I (0 … N)", NULL},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_sweep = {
    .name = "sweep",
    .operands = "[SCENARIO]",
    .summary = "Solve along one or two knobs",
    .text =
        "Examples:\n"
        "  nest sweep --vary spine.oversubscription=1,2,4,8\n"
        "  nest sweep --vary tp=1,2,4,8 --vary memory=40GiB,80GiB,141GiB --json\n"
        "\n"
        "One line per point, the first knob slowest; where a knob is a column of the plan as\n"
        "well, that column is plan_KEY. --shard $SLURM_ARRAY_TASK_ID/COUNT shares the points\n"
        "among the tasks of an array, whether it counts from 0 or from 1. Status 1 if there were\n"
        "points and none has a feasible plan.",
    .options = options,
    .scenario = true,
    .complete = NEST_COMPLETE_FILE,
    .least = 0,
    .most = 1,
    .run = run,
};

enum { KNOBS_MAX = 2, VALUES_MAX = 4096, ROW_MAX = 1 << 24 };

struct knob {
    const char *key;
    const char **value;
    int values;
};

struct sweep {
    struct nest_cli *cli;
    struct nest_loaded loaded;
    int knobs;
    struct knob knob[KNOBS_MAX];
    int64_t shard, shards; /* point p is done when p mod shards is shard */
    bool json;
    struct nest_strbuf out;
    struct nest_json writer;
    int64_t done, feasible; /* of this share */
    int64_t points;         /* in all */
};

/* Splits "KEY=V1,V2" into a knob; adds an error where it is not of that form. */
static void parse_knob(struct nest_cli *cli, const char *text, struct knob *out)
{
    const struct nest_mark nowhere = {NULL, 0, 0};
    const char *equal = strchr(text, '=');
    if (equal == NULL || equal == text || equal[1] == '\0') {
        nest_errors_add(&cli->errors, nowhere, NULL, "KEY=V1,V2,…", "--vary: '%s' is not valid",
                        text);
        return;
    }
    char *copy = nest_arena_strdup(&cli->arena, equal + 1);
    out->key = nest_arena_strndup(&cli->arena, text, (size_t)(equal - text));
    out->value = NEST_NEW(&cli->arena, const char *, VALUES_MAX);
    out->values = 0;
    if (copy == NULL || out->key == NULL || out->value == NULL) {
        return;
    }
    for (char *at = copy; at != NULL;) {
        if (out->values == VALUES_MAX) {
            nest_errors_add(&cli->errors, nowhere, NULL, NULL, "--vary: %s has more than %d values",
                            out->key, VALUES_MAX);
            return;
        }
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (*at == '\0') {
            nest_errors_add(&cli->errors, nowhere, NULL, NULL, "--vary: '%s' has an empty value",
                            text);
        }
        out->value[out->values++] = at;
        at = comma != NULL ? comma + 1 : NULL;
    }
}

/* "I/N" with 0 <= I <= N, N >= 1; I = N is the same share as 0, so both ways of counting work. */
static void parse_shard(struct sweep *sweep)
{
    const char *text = nest_args_value(&sweep->cli->args, NEST_OPT_SHARD);
    sweep->shards = 1;
    if (text == NULL) {
        return;
    }
    char *end = NULL;
    const long long index = strtoll(text, &end, 10);
    const bool slash = end != text && *end == '/';
    const char *second = slash ? end + 1 : text;
    const long long count = slash ? strtoll(second, &end, 10) : 0;
    if (!slash || end == second || *end != '\0' || index < 0 || count < 1 || index > count) {
        nest_errors_add(&sweep->cli->errors, (struct nest_mark){NULL, 0, 0}, NULL,
                        "I/N, such as 0/8 … 7/8 or 1/8 … 8/8", "--shard: '%s' is not valid", text);
        return;
    }
    sweep->shard = index % count;
    sweep->shards = count;
}

static void parse_options(struct sweep *sweep)
{
    struct nest_cli *cli = sweep->cli;
    int count = 0;
    const char **text = nest_args_values(&cli->args, NEST_OPT_VARY, &cli->arena, &count);
    if (text == NULL || count < 1 || count > KNOBS_MAX) {
        nest_errors_add(&cli->errors, (struct nest_mark){NULL, 0, 0}, NULL,
                        "--vary KEY=V1,V2,… once or twice", "%s",
                        count < 1 ? "no --vary given" : "more than two --vary given");
        return;
    }
    for (int i = 0; i < count; i++) {
        parse_knob(cli, text[i], &sweep->knob[sweep->knobs++]);
    }
    const struct knob *knob = sweep->knob;
    if (count == KNOBS_MAX && knob[0].key && knob[1].key && !strcmp(knob[0].key, knob[1].key)) {
        nest_errors_add(&cli->errors, (struct nest_mark){NULL, 0, 0}, NULL,
                        "give all its values at once", "--vary: %s is varied twice", knob[0].key);
    }
    parse_shard(sweep);
    sweep->json = nest_args_has(&cli->args, NEST_OPT_JSON);
}

/* Puts one knob to one of its values. A key is a pin if it is one of their words. */
static enum nest_status turn(struct sweep *sweep, struct nest_scenario_spec *scenario,
                             const struct knob *knob, int value, struct nest_arena *arena)
{
    const ptrdiff_t before = knob->value[value] - knob->value[0];
    const struct nest_mark mark = {"--vary", 1, (int)strlen(knob->key) + 2 + (int)before};
    struct nest_errors *errors = &sweep->cli->errors;
    if (nest_pin_key_find(knob->key) >= 0 || strcmp(knob->key, "order") == 0) {
        return nest_pin_set(&scenario->pins, knob->key, knob->value[value], mark, errors);
    }
    return nest_set(scenario, knob->key, knob->value[value], mark, arena, errors);
}

static int64_t most_memory(const struct nest_prediction *prediction)
{
    int64_t most = 0;
    for (int i = 0; i < prediction->stages; i++) {
        most = prediction->stage[i].memory.total > most ? prediction->stage[i].memory.total : most;
    }
    return most;
}

/* A knob that is a column of the plan as well: what was asked for and what came out are two. */
static bool is_varied(const struct sweep *sweep, const char *column)
{
    bool varied = false;
    for (int k = 0; k < sweep->knobs; k++) {
        varied |= strcmp(sweep->knob[k].key, column) == 0;
    }
    return varied;
}

static void csv_header(struct sweep *sweep)
{
    static const char *const columns[] = {
        "feasible",     "step_time_s", "tokens_per_s", "mfu",         "devices_used",
        "tp",           "pp",          "dp",           "cp",          "ep",
        "etp",          "sp",          "zero",         "micro_batch", "virtual_stages",
        "microbatches", "recompute",   "order",        "memory_bytes"};
    for (int k = 0; k < sweep->knobs; k++) {
        nest_strbuf_printf(&sweep->out, "%s,", sweep->knob[k].key);
    }
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        nest_strbuf_printf(&sweep->out, "%s%s%s", i > 0 ? "," : "",
                           is_varied(sweep, columns[i]) ? "plan_" : "", columns[i]);
    }
    nest_strbuf_add(&sweep->out, "\n");
}

static void csv_row(struct sweep *sweep, const struct nest_problem *problem, const int *value,
                    const struct nest_solution *best)
{
    (void)problem;
    struct nest_strbuf *out = &sweep->out;
    for (int k = 0; k < sweep->knobs; k++) {
        nest_strbuf_printf(out, "%s,", sweep->knob[k].value[value[k]]);
    }
    if (best == NULL) {
        nest_strbuf_add(out, "false,,,,,,,,,,,,,,,,,,\n");
        return;
    }
    const struct nest_strategy *s = &best->plan.strategy;
    char step[40], tokens[40], mfu[40], order[64];
    nest_strbuf_printf(
        out, "true,%s,%s,%s,",
        nest_number_format(nest_to_seconds(best->prediction.step), step, sizeof step),
        nest_number_format(best->prediction.tokens_per_s, tokens, sizeof tokens),
        nest_number_format(best->prediction.mfu, mfu, sizeof mfu));
    const int64_t number[] = {best->plan.devices_used,
                              s->tp,
                              best->plan.stages,
                              nest_strategy_dp(s),
                              s->cp,
                              s->ep,
                              s->etp};
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        nest_strbuf_printf(out, "%" PRId64 ",", number[i]);
    }
    nest_strbuf_printf(out, "%s,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%" PRId64 "\n",
                       s->sp ? "true" : "false", s->zero, s->micro_batch, s->virtual_stages,
                       best->plan.microbatches,
                       nest_recompute_word(nest_plan_heaviest(&best->plan)),
                       nest_order_format(s, order, sizeof order), most_memory(&best->prediction));
}

static void json_row(struct sweep *sweep, const struct nest_problem *problem, const int *value,
                     const struct nest_solution *best)
{
    struct nest_json *json = &sweep->writer;
    nest_json_object(json, NULL);
    nest_json_object(json, "vary");
    for (int k = 0; k < sweep->knobs; k++) {
        nest_json_text(json, sweep->knob[k].key, sweep->knob[k].value[value[k]]);
    }
    nest_json_end(json);
    nest_json_bool(json, "feasible", best != NULL);
    if (best != NULL) {
        nest_json_integer(json, "devices_used", best->plan.devices_used);
        nest_json_figures(json, &best->prediction);
        nest_json_plan(json, problem, &best->plan, &best->prediction);
        nest_json_integer(json, "memory_bytes", most_memory(&best->prediction));
    }
    nest_json_end(json);
}

/* Every value must be one before the first point is solved; all that are wrong are told. */
static enum nest_status check_values(struct sweep *sweep)
{
    enum nest_status worst = NEST_OK;
    for (int k = 0; k < sweep->knobs; k++) {
        for (int v = 0; v < sweep->knob[k].values; v++) {
            struct nest_scenario_spec scenario = sweep->loaded.scenario;
            struct nest_arena arena = NEST_ARENA_INIT;
            scenario.cluster.device = &scenario.device;
            const enum nest_status status = turn(sweep, &scenario, &sweep->knob[k], v, &arena);
            worst = status != NEST_OK ? status : worst;
            nest_arena_free(&arena);
        }
    }
    return worst;
}

/* CSV rows go out as they are found; JSON is one document. False when nobody can read them. */
static bool flush_rows(struct sweep *sweep)
{
    if (sweep->json) {
        return true;
    }
    (void)fputs(nest_strbuf_text(&sweep->out), sweep->cli->out);
    nest_strbuf_clear(&sweep->out);
    return nest_cli_flush(sweep->cli);
}

static void tell_progress(const struct sweep *sweep, int64_t point)
{
    if (isatty(fileno(sweep->cli->err)) == 1) {
        (void)fprintf(sweep->cli->err, "\rsweep: %" PRId64 " of %" PRId64 "%s", point,
                      sweep->points, point == sweep->points ? "\n" : "");
    }
}

static enum nest_status solve_point(struct sweep *sweep, const int *value, struct nest_arena *arena)
{
    struct nest_scenario_spec scenario = sweep->loaded.scenario;
    scenario.cluster.device = &scenario.device;
    enum nest_status status = NEST_OK;
    for (int k = 0; k < sweep->knobs && status == NEST_OK; k++) {
        status = turn(sweep, &scenario, &sweep->knob[k], value[k], arena);
    }
    struct nest_problem problem;
    if (status == NEST_OK) {
        status = nest_cli_build(sweep->cli, &scenario, arena, &problem);
    }
    if (status != NEST_OK) {
        return status;
    }
    struct nest_result result;
    status = nest_cli_solve(sweep->cli, &problem, 1, arena, &result);
    if (status != NEST_OK && status != NEST_NO) {
        return status;
    }
    const struct nest_solution *best = status == NEST_OK ? result.solution : NULL;
    sweep->done++;
    sweep->feasible += best != NULL;
    (sweep->json ? json_row : csv_row)(sweep, &problem, value, best);
    return NEST_OK;
}

static enum nest_status solve_points(struct sweep *sweep)
{
    const int inner = sweep->knobs > 1 ? sweep->knob[1].values : 1;
    sweep->points = (int64_t)sweep->knob[0].values * inner;
    for (int64_t p = 0; p < sweep->points; p++) {
        if (p % sweep->shards != sweep->shard) {
            continue;
        }
        const int value[KNOBS_MAX] = {(int)(p / inner), (int)(p % inner)};
        struct nest_arena arena = NEST_ARENA_INIT;
        const enum nest_status status = solve_point(sweep, value, &arena);
        nest_arena_free(&arena);
        if (status != NEST_OK || !flush_rows(sweep)) {
            return status;
        }
        tell_progress(sweep, p + 1);
    }
    return NEST_OK;
}

static int finish(struct sweep *sweep, enum nest_status status)
{
    if (status == NEST_OK && sweep->json) {
        nest_json_end(&sweep->writer);
        nest_json_end(&sweep->writer);
    }
    if (sweep->out.failed) {
        status = NEST_NO_MEMORY;
    } else if (status == NEST_OK) {
        (void)fputs(nest_strbuf_text(&sweep->out), sweep->cli->out);
    }
    nest_strbuf_free(&sweep->out);
    if (status != NEST_OK) {
        return nest_cli_fail(sweep->cli, status);
    }
    return sweep->done > 0 && sweep->feasible == 0 ? NEST_EXIT_NO : NEST_EXIT_DONE;
}

static int run(struct nest_cli *cli)
{
    struct sweep sweep = {.cli = cli, .out = NEST_STRBUF_INIT(ROW_MAX)};
    parse_options(&sweep);
    if (cli->errors.count > 0) {
        return nest_cli_usage_failure(cli);
    }
    enum nest_status status = nest_cli_load(cli, true, &sweep.loaded);
    if (status == NEST_OK) {
        status = check_values(&sweep);
    }
    if (status != NEST_OK) {
        return nest_cli_fail(cli, status);
    }
    if (sweep.json) {
        nest_json_start(&sweep.writer, &sweep.out);
        nest_json_object(&sweep.writer, NULL);
        nest_json_integer(&sweep.writer, "schema", NEST_JSON_SCHEMA);
        nest_json_text(&sweep.writer, "model", sweep.loaded.scenario.model.id);
        nest_json_text(&sweep.writer, "cluster", sweep.loaded.scenario.cluster.id);
        nest_json_array(&sweep.writer, "points");
    } else {
        csv_header(&sweep);
    }
    return finish(&sweep, solve_points(&sweep));
}
