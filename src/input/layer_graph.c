#include "input/layer_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "input/records.h"

/* graph:
 *   layers: [{name: patches, measured: […]}, {name: image, times: 12, measured: […]}, …]
 *   edges: [[patches, image, join], [words, join], …]
 *
 * An edge entry is a path. The name of an entry with `times` means its first layer where a path
 * enters it, its last where one leaves it; NAME.3 means its third. */

/* An entry of `layers`, for looking names up. */
struct named {
    const char *name;
    int entry;
    int first; /* number of its first layer */
};

struct graph_reader {
    struct nest_field_reader *fields;
    struct nest_model_spec *model;
    struct named *name; /* sorted by name */
    struct nest_edge_spec *edge;
    const struct nest_node **at; /* [edges] where each is stated */
    int edges;
    int layers;
};

/* ---- Order ---- */

static int compare_edges(const void *a, const void *b)
{
    const struct nest_edge_spec *x = a;
    const struct nest_edge_spec *y = b;
    const int from = (x->from > y->from) - (x->from < y->from);
    return from ? from : (x->to > y->to) - (x->to < y->to);
}

const struct nest_edge_spec *nest_layer_edges(const struct nest_model_spec *model,
                                              struct nest_arena *arena, int *edges, int *layers)
{
    int64_t total = 0;
    for (int i = 0; i < model->profile_layers; i++) {
        total += model->profile[i].times;
    }
    struct nest_edge_spec *all = NEST_NEW(arena, struct nest_edge_spec, model->edges + total);
    if (!all) {
        return NULL;
    }
    int count = 0;
    int next = 0;
    for (int i = 0; i < model->profile_layers; i++) {
        for (int64_t j = 1; j < model->profile[i].times; j++) {
            all[count++] = (struct nest_edge_spec){next, next + 1};
            next++;
        }
        next++;
    }
    for (int i = 0; i < model->edges; i++) {
        all[count++] = model->edge[i];
    }
    qsort(all, (size_t)count, sizeof *all, compare_edges);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (kept == 0 || compare_edges(&all[i], &all[kept - 1]) != 0) {
            all[kept++] = all[i];
        }
    }
    *edges = kept;
    *layers = (int)total;
    return all;
}

/* The first edge that leaves a layer, or where it would stand. */
static int first_edge(const struct nest_edge_spec *edge, int edges, int layer)
{
    int low = 0;
    int high = edges;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (edge[middle].from < layer) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int nest_layer_order(const struct nest_edge_spec *edge, int edges, int layers, int *order,
                     int *waits)
{
    int count = 0;
    memset(waits, 0, (size_t)layers * sizeof *waits);
    for (int e = 0; e < edges; e++) {
        waits[edge[e].to]++;
    }
    for (int next = 0; next < layers;) {
        if (waits[next] != 0) {
            next++;
            continue;
        }
        order[count++] = next;
        waits[next] = -1;
        int back = next + 1;
        for (int e = first_edge(edge, edges, next); e < edges && edge[e].from == next; e++) {
            if (--waits[edge[e].to] == 0 && edge[e].to < back) {
                back = edge[e].to;
            }
        }
        next = back;
    }
    return count;
}

/* ---- Names ---- */

static int compare_names(const void *a, const void *b)
{
    const struct named *x = a;
    const struct named *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

static const struct named *find_name(const struct graph_reader *r, const char *text)
{
    int low = 0;
    int high = r->model->profile_layers;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int order = strcmp(r->name[middle].name, text);
        if (order == 0) {
            return &r->name[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

/* Sorts the names. False after a fault: one that is missing or listed twice. */
static bool list_names(struct graph_reader *r, const struct nest_node *list)
{
    const int entries = r->model->profile_layers;
    const size_t before = r->fields->errors->count + r->fields->errors->dropped;
    r->name = NEST_NEW(r->fields->arena, struct named, entries);
    if (!r->name) {
        return false;
    }
    for (const struct nest_node *node = list->first; node; node = node->next) {
        r->name[node->index] =
            (struct named){r->model->profile[node->index].name, node->index, r->layers};
        r->layers += (int)r->model->profile[node->index].times;
        if (node->kind == NEST_NODE_MAPPING && !nest_node_get(node, "name")) {
            nest_node_fault(r->fields, node, "edges refer to layers by name",
                            "a layer of a graph has no 'name'");
        }
    }
    if (r->fields->errors->count + r->fields->errors->dropped > before) {
        return false;
    }
    qsort(r->name, (size_t)entries, sizeof *r->name, compare_names);
    for (const struct nest_node *node = list->first; node; node = node->next) {
        const struct named *found = find_name(r, r->model->profile[node->index].name);
        while (found > r->name && strcmp(found[-1].name, found->name) == 0) {
            found--;
        }
        if (found->entry != node->index) {
            nest_node_fault(r->fields, node, "every layer has a name of its own",
                            "layers[%d] and layers[%d] are both called '%s'", found->entry,
                            node->index, found->name);
        }
    }
    return r->fields->errors->count + r->fields->errors->dropped == before;
}

/* NAME.3 as an entry and a number, or NULL. */
static const struct named *find_part(const struct graph_reader *r, const char *text,
                                     int64_t *number)
{
    const char *dot = strrchr(text, '.');
    char *end = NULL;
    if (!dot || dot[1] < '0' || dot[1] > '9') {
        return NULL;
    }
    *number = strtoll(dot + 1, &end, 10);
    if (*end != '\0') {
        return NULL;
    }
    const char *name = nest_arena_strndup(r->fields->arena, text, (size_t)(dot - text));
    return name ? find_name(r, name) : NULL;
}

static void fault_name(struct graph_reader *r, const struct nest_node *node, const char *text)
{
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, text);
    for (int i = 0; i < r->model->profile_layers; i++) {
        nest_suggest_offer(&suggest, r->model->profile[i].name);
    }
    const char *hint = suggest.best
                           ? nest_arena_printf(r->fields->arena, "did you mean '%s'?", suggest.best)
                           : "expected the name of one of the layers";
    nest_node_fault(r->fields, node, hint, "no layer is called '%s'", text);
}

/* Where a path enters what a text names, and where it leaves it. False after a fault. */
static bool find_layer(struct graph_reader *r, const struct nest_node *node, int *enter, int *leave)
{
    const char *text = NULL;
    int64_t number = 0;
    if (!nest_node_text(r->fields, node, &text)) {
        return false;
    }
    const struct named *found = find_name(r, text);
    if (found) {
        *enter = found->first;
        *leave = found->first + (int)r->model->profile[found->entry].times - 1;
        return true;
    }
    found = find_part(r, text, &number);
    if (!found) {
        fault_name(r, node, text);
        return false;
    }
    const int64_t times = r->model->profile[found->entry].times;
    if (number < 1 || number > times) {
        nest_node_fault(r->fields, node, NULL, "there are %" PRId64 " of '%s', and '%s' is none",
                        times, found->name, text);
        return false;
    }
    *enter = *leave = found->first + (int)number - 1;
    return true;
}

/* "image" or "image.3". */
static void print_layer(const struct nest_model_spec *model, int layer, bool first, bool last,
                        struct nest_strbuf *out)
{
    int entry = 0;
    while (layer >= model->profile[entry].times) {
        layer -= (int)model->profile[entry++].times;
    }
    const struct nest_profile_layer *at = &model->profile[entry];
    nest_strbuf_add(out, at->name);
    if (at->times > 1 && !(first && layer == 0) && !(last && layer + 1 == at->times)) {
        nest_strbuf_printf(out, ".%d", layer + 1);
    }
}

/* ---- Edges ---- */

static bool read_path(struct graph_reader *r, const struct nest_node *path)
{
    if (path->kind != NEST_NODE_SEQUENCE || path->count < 2) {
        nest_node_fault(r->fields, path, "expected [FROM, TO] or a longer path of layer names",
                        "%s is not an edge", nest_node_describe(path, r->fields->arena));
        return false;
    }
    int before = -1;
    bool known = true;
    for (const struct nest_node *node = path->first; node; node = node->next) {
        int enter = -1;
        int leave = -1;
        known = find_layer(r, node, &enter, &leave) && known;
        if (before >= 0 && enter >= 0) {
            r->at[r->edges] = node;
            r->edge[r->edges++] = (struct nest_edge_spec){before, enter};
        }
        before = leave;
    }
    return known;
}

static bool read_edges(struct graph_reader *r, const struct nest_node *list)
{
    int64_t room = 0;
    for (const struct nest_node *path = list->first; path; path = path->next) {
        room += path->count;
    }
    r->edge = NEST_NEW(r->fields->arena, struct nest_edge_spec, room + 1);
    r->at = NEST_NEW(r->fields->arena, const struct nest_node *, room + 1);
    bool known = r->edge && r->at;
    for (const struct nest_node *path = list->first; r->edge && r->at && path; path = path->next) {
        known = read_path(r, path) && known;
    }
    r->model->edge = r->edge;
    r->model->edges = r->edges;
    return known;
}

/* ---- Shape ---- */

/* What the checks of a graph's shape look at. */
struct shape {
    const struct nest_edge_spec *edge; /* all of them */
    int edges;
    int *waits; /* [layers] as nest_layer_order leaves it */
    int *order; /* [layers] */
    int ordered;
};

/* The circle through layer `at`, against the flow: feeder[i] is a layer that feeds i. Returns its
 * length. */
static int walk_circle(const int *feeder, int at, int *circle)
{
    int length = 0;
    do {
        circle[length++] = at;
        at = feeder[at];
    } while (at != circle[0]);
    return length;
}

static void print_circle(const struct nest_model_spec *model, const int *circle, int length,
                         struct nest_strbuf *out)
{
    enum { SHOWN = 6 };
    for (int i = length - 1; i >= 0 && length - i <= SHOWN; i--) {
        print_layer(model, circle[i], false, false, out);
        nest_strbuf_add(out, " → ");
    }
    nest_strbuf_add(out, length > SHOWN ? "… → " : "");
    print_layer(model, circle[length - 1], false, false, out);
}

/* The last stated edge of the circle. */
static const struct nest_node *closing_edge(const struct graph_reader *r, const int *circle,
                                            int length)
{
    const struct nest_node *found = r->at[0];
    for (int e = 0; e < r->edges; e++) {
        for (int i = 0; i < length; i++) {
            if (r->edge[e].to == circle[i] && r->edge[e].from == circle[(i + 1) % length]) {
                found = r->at[e];
            }
        }
    }
    return found;
}

/* Among the layers that wait for each other, goes back along inputs until one comes twice. */
static void fault_circle(struct graph_reader *r, const struct shape *shape)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(1 << 16);
    int *feeder = shape->order; /* the order is of no use any more */
    int at = 0;
    while (shape->waits[at] < 0) {
        at++;
    }
    for (int i = 0; i < r->layers; i++) {
        feeder[i] = -1;
    }
    for (int e = 0; e < shape->edges; e++) {
        if (shape->waits[shape->edge[e].from] >= 0) {
            feeder[shape->edge[e].to] = shape->edge[e].from;
        }
    }
    for (int i = 0; i < r->layers; i++) {
        at = feeder[at];
    }
    int *circle = shape->waits;
    const int length = walk_circle(feeder, at, circle);
    print_circle(r->model, circle, length, &text);
    nest_node_fault(r->fields, closing_edge(r, circle, length), "expected edges that never return",
                    "the layers feed each other in a circle: %s", nest_strbuf_text(&text));
    nest_strbuf_free(&text);
}

/* One fault for the first layer that no path, whatever its direction, joins to the first one. */
static void check_connected(struct graph_reader *r, const struct shape *shape,
                            const struct nest_node *node)
{
    int *part = shape->order; /* a layer of the same part with a smaller number, or itself */
    for (int i = 0; i < r->layers; i++) {
        part[i] = i;
    }
    for (int e = 0; e < shape->edges; e++) {
        int a = shape->edge[e].from;
        int b = shape->edge[e].to;
        while (part[a] != a) {
            a = part[a] = part[part[a]];
        }
        while (part[b] != b) {
            b = part[b] = part[part[b]];
        }
        part[a > b ? a : b] = a > b ? b : a;
    }
    int lost = 1;
    while (lost < r->layers && part[lost] != lost) {
        lost++;
    }
    if (lost < r->layers) {
        struct nest_strbuf text = NEST_STRBUF_INIT(1 << 12);
        print_layer(r->model, lost, true, true, &text);
        nest_node_fault(r->fields, node, "join the parts by an edge",
                        "no edges connect layer '%s' with '%s'", nest_strbuf_text(&text),
                        r->model->profile[0].name);
        nest_strbuf_free(&text);
    }
}

static void check_shape(struct graph_reader *r, const struct nest_node *node)
{
    struct shape shape = {0};
    shape.edge = nest_layer_edges(r->model, r->fields->arena, &shape.edges, &r->layers);
    shape.order = NEST_NEW(r->fields->arena, int, r->layers);
    shape.waits = NEST_NEW(r->fields->arena, int, r->layers);
    if (!shape.edge || !shape.order || !shape.waits) {
        return;
    }
    shape.ordered = nest_layer_order(shape.edge, shape.edges, r->layers, shape.order, shape.waits);
    if (shape.ordered < r->layers) {
        fault_circle(r, &shape);
    } else {
        check_connected(r, &shape, node);
    }
}

/* ---- The mapping ---- */

/* A list; what it lists is read once both keys are there. */
static void read_list(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    (void)record;
    if (node->kind != NEST_NODE_SEQUENCE) {
        nest_node_fault(reader, node, "expected [[FROM, TO], …]", "%s is not a list of edges",
                        nest_node_describe(node, reader->arena));
    }
}

static const struct nest_field graph_fields[] = {
    {.key = "layers", .type = NEST_FIELD_CUSTOM, .read = nest_profile_read, .required = true},
    {.key = "edges", .type = NEST_FIELD_CUSTOM, .read = read_list, .required = true},
    NEST_FIELD_END,
};

void nest_layer_graph_read(struct nest_field_reader *reader, const struct nest_node *node,
                           void *record)
{
    struct graph_reader r = {.fields = reader, .model = record};
    const size_t before = reader->errors->count + reader->errors->dropped;
    if (r.model->profile_layers > 0) {
        nest_node_fault(reader, node, "a profile is a chain, a graph has edges",
                        "a model has either 'profile' or 'graph'");
        return;
    }
    nest_fields_read(reader, node, graph_fields, "a layer graph", record);
    if (reader->errors->count + reader->errors->dropped > before) {
        return;
    }
    const struct nest_node *list = nest_node_get(node, "layers");
    r.model->graph = true;
    r.model->graph_mark = node->mark;
    if (!list_names(&r, list)) {
        return;
    }
    if (r.layers > NEST_LAYER_GRAPH_MAX) {
        nest_node_fault(reader, list, "merge layers, or give a chain as 'profile'",
                        "a graph of %d layers is more than %d", r.layers, NEST_LAYER_GRAPH_MAX);
        return;
    }
    if (read_edges(&r, nest_node_get(node, "edges"))) {
        check_shape(&r, nest_node_get(node, "edges"));
    }
}

void nest_layer_graph_write(const struct nest_model_spec *model, int indent,
                            struct nest_strbuf *out)
{
    nest_strbuf_printf(out, "%*slayers:\n", indent, "");
    nest_profile_write(model, indent + 2, out);
    nest_strbuf_printf(out, "%*sedges:\n", indent, "");
    for (int e = 0; e < model->edges; e++) {
        struct nest_strbuf name[2] = {NEST_STRBUF_INIT(1 << 12), NEST_STRBUF_INIT(1 << 12)};
        print_layer(model, model->edge[e].from, false, true, &name[0]);
        print_layer(model, model->edge[e].to, true, false, &name[1]);
        nest_strbuf_printf(out, "%*s- [", indent + 2, "");
        nest_yaml_text(nest_strbuf_text(&name[0]), out);
        nest_strbuf_add(out, ", ");
        nest_yaml_text(nest_strbuf_text(&name[1]), out);
        nest_strbuf_add(out, "]\n");
        nest_strbuf_free(&name[0]);
        nest_strbuf_free(&name[1]);
    }
}
