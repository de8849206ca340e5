/* `nest show`: what a model or a cluster is. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/suggest.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cluster/describe.h"
#include "model/model.h"

static int run(struct nest_cli *cli);

static const struct nest_option options[] = {
    {NEST_OPT_JSON, "json", 'j', NULL, "Print JSON", NULL},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_show = {
    .name = "show",
    .operands = "MODEL|CLUSTER",
    .summary = "Show a model's layers and parameters, or a cluster's tree",
    .text =
        "Layers are numbered as plans number them. Where a model branches (graph: with layers and\n"
        "edges, an image tower, an encoder), the layers that a run follows are listed, and how\n"
        "many downsets, which is how many boundaries a pipeline may have.\n"
        "\n"
        "A cluster is drawn as a tree, outermost level first: how many groups a level joins, a\n"
        "device's bandwidth, latency, oversubscription and kind; below it the sizes and devices\n"
        "of groups that differ, then the kinds of a mixed cluster, what is down, and what the\n"
        "levels of a graph cannot say.\n"
        "\n"
        "Example:\n"
        "  nest show three-sites",
    .options = options,
    .complete = NEST_COMPLETE_MODEL,
    .least = 1,
    .most = 1,
    .run = run,
};

enum { DOCUMENT_MAX = 1 << 24 };

static int print_text(struct nest_cli *cli, struct nest_strbuf *text)
{
    const bool whole = !text->failed;
    if (whole) {
        (void)fputs(nest_strbuf_text(text), cli->out);
    }
    nest_strbuf_free(text);
    return whole ? NEST_EXIT_DONE : nest_cli_fail(cli, NEST_NO_MEMORY);
}

static void graph_json(const struct nest_model *model, struct nest_json *json)
{
    nest_json_integer(json, "downsets", model->cuts ? model->cuts->count : model->layers + 1);
    nest_json_array(json, "edges");
    for (int e = 0; e < model->edges; e++) {
        nest_json_array(json, NULL);
        nest_json_integer(json, NULL, model->edge[e].from);
        nest_json_integer(json, NULL, model->edge[e].to);
        nest_json_end(json);
    }
    nest_json_end(json);
}

static int model_json(struct nest_cli *cli, const struct nest_model *model)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(DOCUMENT_MAX);
    struct nest_json json;
    nest_json_start(&json, &text);
    nest_json_object(&json, NULL);
    nest_json_text(&json, "name", model->spec->name);
    nest_json_integer(&json, "params", model->params);
    nest_json_integer(&json, "active_params", model->active_params);
    nest_json_integer(&json, "layers",
                      model->spec->layers > 0 ? model->spec->layers : model->layers);
    nest_json_number(&json, "flops_per_sequence", model->flops_per_sequence);
    nest_json_array(&json, "runs");
    for (int i = 0; i < model->runs; i++) {
        const struct nest_layer_kind *kind = &model->kind[model->run[i].kind];
        nest_json_object(&json, NULL);
        nest_json_text(&json, "kind", kind->name);
        nest_json_integer(&json, "first", model->run[i].first);
        nest_json_integer(&json, "count", model->run[i].count);
        nest_json_integer(&json, "params", kind->dense_params + kind->expert_params);
        nest_json_integer(&json, "active_params", kind->active_params);
        nest_json_end(&json);
    }
    nest_json_end(&json);
    if (model->edges > 0) {
        graph_json(model, &json);
    }
    nest_json_end(&json);
    return print_text(cli, &text);
}

/* Where a run's inputs come from, unless that is just the layer before it. */
static void print_inputs(FILE *out, const struct nest_model *model, int layer)
{
    bool usual = true;
    int inputs = 0;
    for (int e = 0; e < model->edges; e++) {
        inputs += model->edge[e].to == layer;
        usual = usual && (model->edge[e].to != layer || model->edge[e].from == layer - 1);
    }
    if (layer == 0 || model->edges == 0 || (usual && inputs > 0)) {
        return;
    }
    (void)fputs(inputs > 0 ? "  after" : "  a source", out);
    for (int e = 0; e < model->edges; e++) {
        if (model->edge[e].to == layer) {
            (void)fprintf(out, " %d", model->edge[e].from);
        }
    }
}

static void model_text(FILE *out, const struct nest_model *model)
{
    char params[32], active[32];
    (void)fprintf(out, "%s: %s parameters", model->spec->name,
                  nest_count_format(model->params, params, sizeof params));
    if (model->active_params != model->params) {
        (void)fprintf(out, ", %s active per token",
                      nest_count_format(model->active_params, active, sizeof active));
    }
    (void)fprintf(out, "\n%.4g TFLOP per sequence of %" PRId64 " tokens, forward and backward\n\n",
                  model->flops_per_sequence * 1e-12, model->spec->seq);
    (void)fputs("  layers       kind                parameters each      active\n", out);
    for (int i = 0; i < model->runs; i++) {
        const struct nest_run *part = &model->run[i];
        const struct nest_layer_kind *kind = &model->kind[part->kind];
        char layers[32];
        (void)snprintf(layers, sizeof layers, part->count > 1 ? "%d-%d" : "%d", part->first,
                       part->first + part->count - 1);
        (void)fprintf(
            out, "  %-12s %-18s %16s  %10s", layers, kind->name,
            nest_count_format(kind->dense_params + kind->expert_params, params, sizeof params),
            nest_count_format(kind->active_params, active, sizeof active));
        print_inputs(out, model, part->first);
        (void)fputc('\n', out);
    }
    if (model->cuts) {
        (void)fprintf(out,
                      "\nThe graph branches: a stage boundary may leave any of %d downsets "
                      "behind it\n",
                      model->cuts->count);
    }
}

static int cluster_json(struct nest_cli *cli, const struct nest_cluster *cluster)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(DOCUMENT_MAX);
    struct nest_json json;
    nest_json_start(&json, &text);
    nest_json_object(&json, NULL);
    nest_cluster_json(cluster, &json);
    nest_json_end(&json);
    return print_text(cli, &text);
}

static int cluster_text(struct nest_cli *cli, const struct nest_cluster *cluster)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(DOCUMENT_MAX);
    nest_cluster_describe(cluster, &text);
    return print_text(cli, &text);
}

static int show_model(struct nest_cli *cli, const struct nest_model_spec *spec)
{
    struct nest_model model;
    const enum nest_status status = nest_model_expand(spec, &cli->arena, &model, &cli->errors);
    if (status != NEST_OK) {
        return nest_cli_fail(cli, status);
    }
    if (nest_args_has(&cli->args, NEST_OPT_JSON)) {
        return model_json(cli, &model);
    }
    model_text(cli->out, &model);
    return NEST_EXIT_DONE;
}

static int show_cluster(struct nest_cli *cli, const struct nest_cluster_spec *spec)
{
    struct nest_cluster cluster;
    const enum nest_status status =
        nest_cluster_build(spec, 0, &cli->arena, &cluster, &cli->errors);
    if (status != NEST_OK) {
        return nest_cli_fail(cli, status);
    }
    if (nest_args_has(&cli->args, NEST_OPT_JSON)) {
        return cluster_json(cli, &cluster);
    }
    return cluster_text(cli, &cluster);
}

/* Neither loads: the faults of the file if it is one, else that there is nothing of that name. */
static int show_nothing(struct nest_cli *cli, const char *name)
{
    enum nest_file_kind kind;
    nest_errors_init(&cli->errors, &cli->arena);
    if (access(name, F_OK) == 0) {
        const enum nest_status status =
            nest_check_file(&cli->library, name, &cli->arena, &kind, &cli->errors);
        if (status != NEST_OK) {
            return nest_cli_fail(cli, status);
        }
        return nest_cli_usage(cli, NULL, "'%s' is neither a model nor a cluster", name);
    }
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, name);
    static const char *const folder[] = {"models", "topologies"};
    for (size_t i = 0; i < sizeof folder / sizeof folder[0]; i++) {
        const char **known = nest_library_list(&cli->library, folder[i], &cli->arena);
        for (; known != NULL && *known != NULL; known++) {
            nest_suggest_offer(&suggest, *known);
        }
    }
    const char *hint = suggest.best == NULL
                           ? NULL
                           : nest_arena_printf(&cli->arena, "did you mean '%s'?", suggest.best);
    return nest_cli_usage(cli, hint, "no model or cluster '%s'", name);
}

/* Standard input under a name that can be read twice, once as each kind; NULL if it cannot be kept.
 * The file behind it goes with the process. */
static const char *keep_input(struct nest_cli *cli)
{
    FILE *copy = tmpfile();
    if (copy == NULL) {
        return NULL;
    }
    char block[4096];
    for (size_t got = fread(block, 1, sizeof block, stdin); got > 0;
         got = fread(block, 1, sizeof block, stdin)) {
        if (fwrite(block, 1, got, copy) != got) {
            return NULL;
        }
    }
    return fflush(copy) == 0 ? nest_arena_printf(&cli->arena, "/dev/fd/%d", fileno(copy)) : NULL;
}

static int run(struct nest_cli *cli)
{
    const char *name = cli->args.operand[0];
    if (strcmp(name, "-") == 0) {
        name = keep_input(cli);
        if (name == NULL) {
            return nest_cli_usage(cli, NULL, "cannot keep standard input");
        }
    }
    struct nest_model_spec model;
    if (nest_load_model(&cli->library, name, &cli->arena, &model, &cli->errors) == NEST_OK) {
        return show_model(cli, &model);
    }
    nest_errors_init(&cli->errors, &cli->arena);
    struct nest_cluster_spec cluster;
    if (nest_load_cluster(&cli->library, name, &cli->arena, &cluster, &cli->errors) == NEST_OK) {
        return show_cluster(cli, &cluster);
    }
    return show_nothing(cli, name);
}
