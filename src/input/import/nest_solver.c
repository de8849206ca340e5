/* The input of NEST's reference solver: layers measured per tp width, and a cluster of levels. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "input/import/cluster_text.h"
#include "input/records.h"

enum { WIDTHS_MAX = 16, LAYERS_MAX = 10000 };

/* Bytes: our devices keep a reserve of 1 GiB, so less leaves nothing to plan with. */
static const double LEAST_MEMORY = 0x1p31;

/* One layer at one width; the profile's record, with the layer's own id. */
struct layer {
    int64_t id;
    struct nest_profile_entry entry;
};

struct input {
    struct nest_job *job;
    const struct nest_node *root;
    int faults;
    int widths;
    int64_t tp[WIDTHS_MAX];
    int layers;
    struct layer *layer[WIDTHS_MAX]; /* [layers], by id */
    int64_t ep, micro_batch, batch;
    bool skips;      /* some edge between blocks passes over a block */
    double left_out; /* bytes of the largest edge that was left out */
};

static void fault(struct input *in, const struct nest_node *node, const char *hint,
                  const char *message)
{
    nest_job_fault_at(in->job, node, hint, "%s", message);
    in->faults++;
}

/* A number at a key, at least low; 0 after a fault. */
static double number(struct input *in, const struct nest_node *node, const char *key, double low)
{
    const struct nest_node *value = nest_node_get(node, key);
    double out = 0;
    if (!value) {
        fault(in, node, NULL, nest_arena_printf(in->job->arena, "no '%s'", key));
    } else if (value->kind != NEST_NODE_SCALAR || !nest_text_number(value->text, &out) ||
               out < low || out > 1e18) {
        fault(in, value, nest_arena_printf(in->job->arena, "a number from %g", low),
              nest_arena_printf(in->job->arena, "'%s' is not such a number", value->text));
        out = 0;
    }
    return out;
}

static int64_t whole(struct input *in, const struct nest_node *node, const char *key, int64_t low,
                     int64_t fallback)
{
    if (fallback > 0 && !nest_node_get(node, key)) {
        return fallback;
    }
    const double value = number(in, node, key, (double)low);
    if (value != floor(value)) {
        fault(in, nest_node_get(node, key), "a whole number", "a fraction");
        return low;
    }
    return (int64_t)value < low ? low : (int64_t)value;
}

/* ---- Layers -------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const int64_t x = ((const struct layer *)a)->id;
    const int64_t y = ((const struct layer *)b)->id;
    return (x > y) - (x < y);
}

static void read_layer(struct input *in, const struct nest_node *node, int64_t tp,
                       struct layer *out)
{
    const double unit = in->job->options->as_written ? 1.0 : 1e-3;
    const double share = 1.0 / (double)in->micro_batch;
    const double id = number(in, node, "id", -1);
    *out = (struct layer){
        .id = (int64_t)id,
        .entry = {.tp = tp,
                  .fw = number(in, node, "optimalLatencyFw", 0) * unit * share,
                  .bw = number(in, node, "optimalLatencyBw", 0) * unit * share,
                  .weight_bytes = number(in, node, "parameterSize", 0),
                  .activation_bytes = number(in, node, "activationSize", 0) * share}};
}

static void read_width(struct input *in, const struct nest_node *list)
{
    int64_t tp;
    if (!nest_text_int(list->key, &tp) || tp < 1 || list->kind != NEST_NODE_SEQUENCE ||
        list->count == 0 || list->count > LAYERS_MAX || in->widths == WIDTHS_MAX) {
        fault(in, list, "tp widths, each with its list of layers",
              nest_arena_printf(in->job->arena, "'%s' is no tp width with layers", list->key));
        return;
    }
    if (in->widths > 0 && (list->count != in->layers || tp <= in->tp[in->widths - 1])) {
        fault(in, list, "ascending widths of the same layers",
              tp <= in->tp[in->widths - 1] ? "the tp widths do not ascend"
                                           : "the tp widths have different numbers of layers");
        return;
    }
    struct layer *layer = NEST_NEW(in->job->arena, struct layer, list->count);
    if (!layer) {
        fault(in, list, NULL, "out of memory");
        return;
    }
    for (const struct nest_node *node = list->first; node; node = node->next) {
        read_layer(in, node, tp, &layer[node->index]);
    }
    qsort(layer, (size_t)list->count, sizeof *layer, by_id);
    for (int i = 1; i < list->count; i++) {
        if (layer[i].id == layer[i - 1].id) {
            fault(in, list, "every layer once",
                  nest_arena_printf(in->job->arena, "layer %" PRId64 " is listed twice",
                                    layer[i].id));
            return;
        }
    }
    in->layers = list->count;
    in->tp[in->widths] = tp;
    in->layer[in->widths++] = layer;
}

static int find_layer(const struct input *in, int width, int64_t id)
{
    const struct layer key = {.id = id};
    const struct layer *found =
        bsearch(&key, in->layer[width], (size_t)in->layers, sizeof key, by_id);
    return found ? (int)(found - in->layer[width]) : -1;
}

/* What an edge carries over every cut between its ends. Edges of one source carry one tensor, so
 * the largest counts. Edges that pass from before the blocks over some of them are no activations
 * but masks and tied weights, and are left out. */
static void read_edge(struct input *in, const struct nest_node *edge, int width, double *boundary)
{
    const int from = find_layer(in, width, (int64_t)number(in, edge, "sourceId", -1));
    const int to = find_layer(in, width, (int64_t)number(in, edge, "destId", -1));
    const double bytes = number(in, edge, "communicationCost", 0) / (double)in->micro_batch;
    if (from < 0 || to < 0 || to <= from) {
        fault(in, edge, "an edge runs from a layer to a later one",
              from < 0 || to < 0 ? "an edge to a layer that does not exist"
                                 : "an edge that runs backwards");
        return;
    }
    if (to == from + 1) {
        boundary[2 * from] += bytes;
        return;
    }
    if (in->layer[width][from].id < 0) {
        in->left_out = bytes > in->left_out ? bytes : in->left_out;
        return;
    }
    in->skips = true;
    for (int cut = from; cut < to; cut++) {
        double *passing = &boundary[2 * cut + 1];
        *passing = bytes > *passing ? bytes : *passing;
    }
}

static void read_edges(struct input *in, int width)
{
    const char *key = nest_arena_printf(in->job->arena, "%" PRId64, in->tp[width]);
    const struct nest_node *list = nest_node_get(nest_node_get(in->root, "edges"), key);
    double *boundary = NEST_NEW(in->job->arena, double, 2 * in->layers);
    if (!list || list->kind != NEST_NODE_SEQUENCE || !boundary) {
        const struct nest_node *edges = nest_node_get(in->root, "edges");
        fault(in, edges ? edges : in->root, "one list of edges per tp width",
              nest_arena_printf(in->job->arena, "no edges for tp %s", key));
        return;
    }
    for (const struct nest_node *edge = list->first; edge; edge = edge->next) {
        read_edge(in, edge, width, boundary);
    }
    for (int i = 0; i < in->layers; i++) {
        in->layer[width][i].entry.boundary_bytes = boundary[2 * i] + boundary[2 * i + 1];
    }
    if (in->layers > 1) {
        /* Nothing follows the last layer: let it look like the one before it. */
        struct nest_profile_entry *last = &in->layer[width][in->layers - 1].entry;
        last->boundary_bytes = in->layer[width][in->layers - 2].entry.boundary_bytes;
    }
}

static void read_model(struct input *in)
{
    const struct nest_node *nodes = nest_node_get(in->root, "nodes");
    if (!nodes || nodes->kind != NEST_NODE_MAPPING || nodes->count == 0) {
        fault(in, nodes ? nodes : in->root, "nodes by tp width, as NEST's solver.py writes them",
              "not an input of NEST's solver: no 'nodes'");
        return;
    }
    for (const struct nest_node *list = nodes->first; list; list = list->next) {
        read_width(in, list);
    }
    for (int w = 0; w < in->widths && in->faults == 0; w++) {
        for (int i = 0; i < in->layers; i++) {
            if (in->layer[w][i].id != in->layer[0][i].id) {
                fault(in, nodes, NULL, "the tp widths list different layers");
                return;
            }
        }
        read_edges(in, w);
    }
}

/* ---- Cluster ------------------------------------------------------------------------------- */

static const char *known_device(const char *text)
{
    static const struct {
        const char *word, *device;
    } words[] = {{"h100", "h100-sxm-80gb"},  {"tpuv4", "tpu-v4"},  {"a100", "a100-sxm-80gb"},
                 {"v100", "v100-sxm2-32gb"}, {"maia", "maia-100"}, {"h200", "h200-sxm-141gb"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(text, words[i].word)) {
            return words[i].device;
        }
    }
    return NULL;
}

static void read_cluster(struct input *in, struct nest_found_cluster *found)
{
    static const char *const name[NEST_MAX_LEVELS] = {"node",  "rack",   "cluster", "tier4",
                                                      "tier5", "tier6",  "tier7",   "tier8",
                                                      "tier9", "tier10", "tier11",  "tier12"};
    const struct nest_node *fanouts = nest_node_get(in->root, "devices_per_level");
    const struct nest_node *rates = nest_node_get(in->root, "bws");
    const struct nest_node *delays = nest_node_get(in->root, "latency_per_level");
    const struct nest_node *about = nest_node_get(in->root, "about");
    const struct nest_node *setup = nest_node_get(about, "setup");
    if (!fanouts || !rates || fanouts->kind != NEST_NODE_SEQUENCE || fanouts->count == 0 ||
        fanouts->count > NEST_MAX_LEVELS || rates->count != fanouts->count ||
        (delays && delays->count != fanouts->count)) {
        fault(in, fanouts ? fanouts : in->root,
              "devices_per_level, bws and latency_per_level, equally long",
              "the lists of levels do not fit together");
        return;
    }
    *found =
        (struct nest_found_cluster){.name = setup && *setup->text ? setup->text : "NEST cluster",
                                    .device = setup ? known_device(setup->text) : NULL};
    const struct nest_node *rate = rates->first;
    const struct nest_node *delay = delays ? delays->first : NULL;
    for (const struct nest_node *node = fanouts->first; node; node = node->next) {
        struct nest_found_level *level = nest_found_level_add(found, name[node->index], 1);
        int64_t fanout = 1;
        if (!nest_text_int(node->text, &fanout) || fanout < 1 || fanout > 1 << 24) {
            fault(in, node, "devices or groups per group", "no fan-out");
        }
        level->fanout = fanout;
        if (!nest_text_number(rate->text, &level->bandwidth) || level->bandwidth < 1e3 ||
            level->bandwidth > 1e15) {
            fault(in, rate, "bytes per second", "no bandwidth");
        }
        if (delay && (!nest_text_number(delay->text, &level->latency) || level->latency < 0 ||
                      level->latency > 10)) {
            fault(in, delay, "seconds", "no latency");
        }
        level->oversubscription = 1;
        rate = rate->next;
        delay = delay ? delay->next : NULL;
    }
}

/* ---- Printing ------------------------------------------------------------------------------ */

static bool alike(const struct input *in, int a, int b)
{
    for (int w = 0; w < in->widths; w++) {
        if (memcmp(&in->layer[w][a].entry, &in->layer[w][b].entry, sizeof in->layer[w][a].entry) !=
            0) {
            return false;
        }
    }
    return true;
}

static void print_profile(const struct input *in)
{
    struct nest_profile_layer *layer =
        NEST_NEW(in->job->arena, struct nest_profile_layer, in->layers);
    struct nest_profile_entry *entry =
        NEST_NEW(in->job->arena, struct nest_profile_entry, in->layers * in->widths);
    if (!layer || !entry) {
        in->job->out->failed = true;
        return;
    }
    int runs = 0;
    for (int i = 0; i < in->layers; i++) {
        if (i > 0 && alike(in, i, i - 1)) {
            layer[runs - 1].times++;
            continue;
        }
        struct nest_profile_entry *own = &entry[runs * in->widths];
        for (int w = 0; w < in->widths; w++) {
            own[w] = in->layer[w][i].entry;
        }
        layer[runs++] = (struct nest_profile_layer){
            .name = in->layer[0][i].id < 0 ? "before the blocks" : "block",
            .times = 1,
            .entries = in->widths,
            .entry = own};
    }
    const struct nest_model_spec model = {.profile_layers = runs, .profile = layer};
    nest_profile_write(&model, 4, in->job->out);
}

static void add_notes(struct input *in)
{
    struct nest_job *job = in->job;
    nest_job_note(job,
                  job->options->as_written
                      ? "layer times are kept as written: milliseconds, read as seconds beside a "
                        "network in true seconds, as the reference adds them"
                      : "layer times were milliseconds and are seconds here; the network was in "
                        "seconds already (the reference adds the two as they are: --as-written)");
    nest_job_note(job, "times contain the collectives of tp and ep, so none are added");
    nest_job_note(job,
                  "the reference pays transfers above level 0 twice and sees gradient sync of the "
                  "first stage only; ours are counted by our own model");
    nest_job_note(job, "activations are the sum of every operator's output, views included: high");
    nest_job_note(job,
                  "models traced with one block (Llama, GPT-3, Mixtral) repeat the output head in "
                  "every block; BERT lacks its head, and its tp graphs are not sharded");
    if (in->ep > 1) {
        nest_job_note(job,
                      "a stage of the reference takes tp x %" PRId64 " devices for ep = %" PRId64
                      ": our dp is its dp x %" PRId64 "; weights are those of one device",
                      in->ep, in->ep, in->ep);
    }
    if (in->left_out > 0) {
        nest_job_note(
            job,
            "edges from before the blocks over some of them (masks, tied weights; the largest "
            "has %.0f bytes) are left out of the boundaries",
            in->left_out);
    }
    if (in->skips) {
        nest_job_note(job, "edges that pass over layers ride along with the boundary between them");
    }
}

static void print_scenario(struct input *in, const struct nest_found_cluster *found)
{
    struct nest_job *job = in->job;
    struct nest_strbuf *out = job->out;
    const struct nest_node *about = nest_node_get(in->root, "about");
    const struct nest_node *name = nest_node_get(about, "model");
    const struct nest_node *seq = nest_node_get(about, "sequence_length");
    const struct nest_node *optimizer = nest_node_get(in->root, "optimizerAlgorithm");
    const bool adam = optimizer && strcasecmp(optimizer->text, "adam") == 0;
    int64_t tokens = 0;
    char memory[64];
    nest_strbuf_add(out, nest_strbuf_text(&job->notes));
    nest_strbuf_add(out, "model:\n  name: ");
    nest_yaml_text(name && *name->text ? name->text : "NEST model", out);
    if (seq && nest_text_int(seq->text, &tokens) && tokens > 0) {
        nest_strbuf_printf(out, "\n  seq: %" PRId64, tokens);
    }
    nest_strbuf_add(out, "\n  collectives: included\n  profile:\n");
    print_profile(in);
    nest_strbuf_add(out, "cluster:\n");
    nest_found_cluster_print(job, found, 2);
    nest_strbuf_printf(out, "train: {global_batch: %" PRId64 ", optimizer: %s, grad_bytes: 2}\n",
                       in->batch, adam ? "adam" : "sgd");
    nest_strbuf_printf(out, "pin: {micro_batch: %" PRId64 ", cp: 1, ep: 1, tp: ", in->micro_batch);
    for (int w = 0; w < in->widths; w++) {
        nest_strbuf_printf(out, "%s%" PRId64, w ? "|" : "", in->tp[w]);
    }
    nest_strbuf_printf(
        out, "}\nedits:\n  - {device.memory: %s}\n",
        nest_unit_format_exact(number(in, in->root, "maxMemoryPerDevice", LEAST_MEMORY),
                               NEST_UNIT_BYTES, memory, sizeof memory));
}

enum nest_status nest_import_nest(struct nest_job *job)
{
    struct input in = {.job = job};
    struct nest_found_cluster found = {.levels = 0};
    enum nest_status status = nest_job_document(job, &in.root);
    if (status != NEST_OK) {
        return status;
    }
    const struct nest_node *about = nest_node_get(in.root, "about");
    in.micro_batch = whole(&in, about ? about : in.root, "micro_batch_size", 1, 1);
    in.ep = whole(&in, in.root, "ep_degree", 1, 1);
    if (whole(&in, in.root, "cp_degree", 1, 1) > 1) {
        fault(&in, nest_node_get(in.root, "cp_degree"), "cp_degree 1",
              "times measured under context parallelism cannot be described");
    }
    read_model(&in);
    if (in.faults == 0) {
        in.batch = whole(&in, in.root, "mbsInBatch", 1, 0) * in.micro_batch * in.ep;
        if (number(&in, in.root, "maxMemoryPerDevice", LEAST_MEMORY) > 1e15) {
            fault(&in, nest_node_get(in.root, "maxMemoryPerDevice"), "up to 1000 TB",
                  "no device has such a memory");
        }
        read_cluster(&in, &found);
    }
    if (in.faults > 0) {
        return NEST_BAD_INPUT;
    }
    add_notes(&in);
    status = nest_found_cluster_complete(job, &found);
    if (status == NEST_OK) {
        print_scenario(&in, &found);
    }
    return status;
}
