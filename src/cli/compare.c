/* `nest compare`: our plan beside those of other planners, all judged by this one cost model. */
#include "cli/commands.h"
#include "cli/output.h"
#include "plan/words.h"
#include "solve/peers/peer.h"

#include <inttypes.h>

static int run(struct nest_cli *cli);

static const struct nest_option options[] = {
    {NEST_OPT_JSON, "json", 'j', NULL, "Print JSON", NULL},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_compare = {
    .name = "compare",
    .operands = "[SCENARIO]",
    .summary = "Set the plan beside those of other planners",
    .text =
        "Every planner proposes a plan for the scenario; one cost model prices them all on the\n"
        "real network and checks their memory. Manual is an expert's Megatron-LM recipe, Phaze\n"
        "a dynamic program on a flat network that looks at memory afterwards.\n"
        "\n"
        "Example:\n"
        "  nest compare --model gpt3-175b --cluster h100-spine-leaf",
    .options = options,
    .scenario = true,
    .complete = NEST_COMPLETE_FILE,
    .least = 0,
    .most = 1,
    .run = run,
};

enum { PLANNERS_MAX = 8, WIDTH = 160 };

/* One planner's answer. */
struct entry {
    const char *name;
    const char *what;
    enum nest_status status;
    struct nest_plan plan;
    struct nest_prediction prediction;
    const char *why; /* no plan: the reason */
};

static bool ask_peer(struct nest_cli *cli, const struct nest_problem *problem,
                     const struct nest_peer *peer, struct entry *entry)
{
    struct nest_errors errors;
    nest_errors_init(&errors, &cli->arena);
    *entry = (struct entry){.name = peer->name, .what = peer->what};
    entry->status = peer->propose(problem, NULL, &cli->arena, &entry->plan, &errors);
    if (entry->status == NEST_OK) {
        return nest_plan_evaluate(problem, &entry->plan, &cli->arena, &entry->prediction);
    }
    entry->why = errors.count > 0 ? errors.item[0].message : "it finds no plan";
    return entry->status == NEST_NO;
}

static bool ask_us(struct nest_cli *cli, const struct nest_problem *problem, struct entry *entry)
{
    struct nest_result result;
    *entry = (struct entry){
        .name = "nest",
        .what = "exact search, memory and network inside the recurrence",
    };
    entry->status = nest_cli_solve(cli, problem, 1, &cli->arena, &result);
    if (entry->status == NEST_OK) {
        entry->plan = result.solution[0].plan;
        entry->prediction = result.solution[0].prediction;
    } else {
        entry->why = result.errors.count > 0 ? result.errors.item[0].message : "no plan fits";
    }
    return entry->status == NEST_OK || entry->status == NEST_NO;
}

/* How many times slower than ours; 0 where either has no plan. */
static double ratio(const struct entry *ours, const struct entry *entry)
{
    if (ours->status != NEST_OK || entry->status != NEST_OK) {
        return 0.0;
    }
    return (double)entry->prediction.step / (double)ours->prediction.step;
}

static void print_table(struct nest_cli *cli, const struct nest_loaded *loaded,
                        const struct entry *entry, int count)
{
    (void)fprintf(cli->out, "%s on %s, %" PRId64 " devices\n\n", loaded->scenario.model.name,
                  loaded->scenario.cluster.name, loaded->problem.cluster->devices);
    (void)fprintf(cli->out, "%-8s %12s %8s  %s\n", "planner", "step", "ratio", "plan");
    for (int i = 0; i < count; i++) {
        if (entry[i].status != NEST_OK) {
            (void)fprintf(cli->out, "%-8s %12s %8s  %s\n", entry[i].name, "-", "-", entry[i].why);
            continue;
        }
        char plan[WIDTH];
        (void)nest_plan_format(&entry[i].plan, plan, sizeof plan);
        (void)fprintf(cli->out, "%-8s %10.4f s %8.3f  %s\n", entry[i].name,
                      nest_to_seconds(entry[i].prediction.step), ratio(&entry[0], &entry[i]), plan);
    }
    (void)fputc('\n', cli->out);
    for (int i = 0; i < count; i++) {
        (void)fprintf(cli->out, "%-8s %s\n", entry[i].name, entry[i].what);
    }
}

static void write_entry(struct nest_json *json, const struct nest_problem *problem,
                        const struct entry *ours, const struct entry *entry)
{
    nest_json_object(json, NULL);
    nest_json_text(json, "planner", entry->name);
    nest_json_bool(json, "feasible", entry->status == NEST_OK);
    if (entry->status == NEST_OK) {
        nest_json_figures(json, &entry->prediction);
        if (ours->status == NEST_OK) {
            nest_json_number(json, "ratio", ratio(ours, entry));
        }
        nest_json_plan(json, problem, &entry->plan, &entry->prediction);
    } else {
        nest_json_text(json, "why", entry->why);
    }
    nest_json_end(json);
}

static bool print_json(struct nest_cli *cli, const struct nest_loaded *loaded,
                       const struct entry *entry, int count)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(64 << 20);
    struct nest_json json;
    nest_json_start(&json, &text);
    nest_json_object(&json, NULL);
    nest_json_integer(&json, "schema", NEST_JSON_SCHEMA);
    nest_json_text(&json, "model", loaded->scenario.model.id);
    nest_json_text(&json, "cluster", loaded->scenario.cluster.id);
    nest_json_integer(&json, "devices", loaded->problem.cluster->devices);
    nest_json_array(&json, "planners");
    for (int i = 0; i < count; i++) {
        write_entry(&json, &loaded->problem, &entry[0], &entry[i]);
    }
    nest_json_end(&json);
    nest_json_end(&json);
    const bool whole = !text.failed;
    (void)fputs(nest_strbuf_text(&text), cli->out);
    nest_strbuf_free(&text);
    return whole;
}

static int run(struct nest_cli *cli)
{
    struct nest_loaded loaded;
    const enum nest_status status = nest_cli_load(cli, true, &loaded);
    if (status != NEST_OK) {
        return nest_cli_fail(cli, status);
    }
    struct entry entry[PLANNERS_MAX];
    int count = 1;
    bool fine = ask_us(cli, &loaded.problem, &entry[0]);
    for (const struct nest_peer *peer = nest_peers; fine && peer->name; peer++) {
        fine = ask_peer(cli, &loaded.problem, peer, &entry[count++]);
    }
    const enum nest_status fault = nest_problem_fault(&loaded.problem, fine ? &cli->errors : NULL);
    if (!fine || fault != NEST_OK) {
        return nest_cli_fail(cli, fine ? fault : entry[count - 1].status);
    }
    if (nest_args_has(&cli->args, NEST_OPT_JSON)) {
        fine = print_json(cli, &loaded, entry, count);
    } else {
        print_table(cli, &loaded, entry, count);
    }
    if (!fine) {
        return nest_cli_fail(cli, NEST_NO_MEMORY);
    }
    return entry[0].status == NEST_OK ? NEST_EXIT_DONE : NEST_EXIT_NO;
}
