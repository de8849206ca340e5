#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/graph.h"
#include "input/records.h"

/* A node's name and number, for looking names up. */
struct named {
    const char *name;
    const struct nest_node *node; /* where it is listed */
    int number;
};

struct written_link {
    const char *from, *to;
    double bandwidth, latency;
    int64_t times;
    bool pairwise;
};

struct graph_reader {
    struct nest_field_reader *fields;
    struct nest_graph graph;
    struct named *name; /* [nodes], sorted once all are listed */
    int room;
    struct nest_graph_link *link;
    int link_room;
};

#define AT(member) .offset = offsetof(struct written_link, member)

static const struct nest_field link_fields[] = {
    {.key = "from", .type = NEST_FIELD_TEXT, AT(from), .required = true},
    {.key = "to", .type = NEST_FIELD_TEXT, AT(to), .required = true},
    {.key = "bandwidth",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BANDWIDTH,
     AT(bandwidth),
     .low = 1e3,
     .high = 1e15,
     .required = true},
    {.key = "latency",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_SECONDS,
     AT(latency),
     .low = 0,
     .high = 10,
     .required = true},
    {.key = "times", .type = NEST_FIELD_COUNT, AT(times), .low = 1, .high = 65536},
    {.key = "pairwise", .type = NEST_FIELD_FLAG, AT(pairwise)},
    NEST_FIELD_END,
};

/* "gpu0..7" → gpu and 0 to 7; any other text is one name. */
struct range {
    size_t prefix; /* bytes before the number */
    long low, high;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct range find_range(const char *text)
{
    const char *dots = strstr(text, "..");
    struct range range = {strlen(text), 0, 0};
    if (!dots || !is_digit(dots[2])) {
        return range;
    }
    const char *first = dots;
    while (first > text && is_digit(first[-1])) {
        first--;
    }
    char *end = NULL;
    const long high = strtol(dots + 2, &end, 10);
    if (first == dots || *end != '\0') {
        return range;
    }
    range.prefix = (size_t)(first - text);
    range.low = strtol(first, NULL, 10);
    range.high = high;
    return range;
}

static const char *range_name(struct graph_reader *r, const char *text, struct range range, long i)
{
    return range.prefix == strlen(text)
               ? text
               : nest_arena_printf(r->fields->arena, "%.*s%ld", (int)range.prefix, text, i);
}

static bool add_name(struct graph_reader *r, const struct nest_node *node, const char *name)
{
    if (r->graph.nodes == r->room) {
        const int room = r->room > 0 ? 2 * r->room : 64;
        struct named *grown = NEST_NEW(r->fields->arena, struct named, room);
        if (!grown) {
            return false;
        }
        if (r->room > 0) {
            memcpy(grown, r->name, (size_t)r->room * sizeof *grown);
        }
        r->name = grown;
        r->room = room;
    }
    r->name[r->graph.nodes] = (struct named){name, node, r->graph.nodes};
    r->graph.nodes++;
    return name != NULL;
}

/* One entry of devices or switches. */
static bool list_names(struct graph_reader *r, const struct nest_node *node, int most)
{
    const char *text = NULL;
    if (!nest_node_text(r->fields, node, &text)) {
        return false;
    }
    const struct range range = find_range(text);
    if (range.high < range.low || range.high - range.low >= most - r->graph.nodes) {
        const bool down = range.high < range.low;
        nest_node_fault(r->fields, node,
                        down ? "expected first..last, such as gpu0..7"
                             : "expected at most 4,096 devices and 16,384 nodes in all",
                        down ? "'%s' counts down" : "'%s' are too many nodes", text);
        return false;
    }
    for (long i = range.low; i <= range.high; i++) {
        if (!add_name(r, node, range_name(r, text, range, i))) {
            return false;
        }
    }
    return true;
}

static bool read_nodes(struct graph_reader *r, const struct nest_node *node, const char *what,
                       int most)
{
    if (node->kind == NEST_NODE_SCALAR) {
        return list_names(r, node, most);
    }
    if (node->kind != NEST_NODE_SEQUENCE) {
        nest_node_fault(r->fields, node, "expected a list of names, such as [gpu0..7]",
                        "%s is not a list of %s", nest_node_describe(node, r->fields->arena), what);
        return false;
    }
    bool good = true;
    for (const struct nest_node *child = node->first; child; child = child->next) {
        good = list_names(r, child, most) && good;
    }
    return good;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static bool sort_names(struct graph_reader *r)
{
    qsort(r->name, (size_t)r->graph.nodes, sizeof *r->name, by_name);
    for (int i = 1; i < r->graph.nodes; i++) {
        if (strcmp(r->name[i].name, r->name[i - 1].name) == 0) {
            nest_node_fault(r->fields, r->name[i].node, "every device and switch has its own name",
                            "'%s' is listed twice", r->name[i].name);
            return false;
        }
    }
    return true;
}

static int find_node(struct graph_reader *r, const struct nest_node *link, const char *key,
                     const char *name)
{
    const struct named wanted = {.name = name};
    const struct named *found =
        name ? bsearch(&wanted, r->name, (size_t)r->graph.nodes, sizeof *r->name, by_name) : NULL;
    if (!found) {
        nest_node_fault(r->fields, nest_node_get(link, key), "list it under devices or switches",
                        "there is no '%s'", name ? name : "");
        return -1;
    }
    return found->number;
}

static bool add_link(struct graph_reader *r, const struct nest_node *node, int from, int to,
                     const struct written_link *written)
{
    if (from == to) {
        nest_node_fault(r->fields, node, "a link joins two nodes",
                        "this link ends where it begins");
        return false;
    }
    if (r->graph.links == NEST_GRAPH_LINKS) {
        nest_node_fault(r->fields, node, "expected at most 262,144", "there are too many links");
        return false;
    }
    if (r->graph.links == r->link_room) {
        const int room = r->link_room > 0 ? 2 * r->link_room : 256;
        struct nest_graph_link *grown = NEST_NEW(r->fields->arena, struct nest_graph_link, room);
        if (!grown) {
            return false;
        }
        if (r->link_room > 0) {
            memcpy(grown, r->link, (size_t)r->link_room * sizeof *grown);
        }
        r->link = grown;
        r->link_room = room;
    }
    r->link[r->graph.links++] =
        (struct nest_graph_link){from, to, written->bandwidth, written->latency, written->times};
    return true;
}

/* Every node of from to every one of to; pairwise: the first to the first, and so on. */
static bool read_link(struct graph_reader *r, const struct nest_node *node)
{
    struct written_link written = {.times = 1};
    const size_t faults = r->fields->errors->count;
    nest_fields_read(r->fields, node, link_fields, "a link", &written);
    if (r->fields->errors->count > faults) {
        return false;
    }
    const struct range from = find_range(written.from);
    const struct range to = find_range(written.to);
    if (written.pairwise && from.high - from.low != to.high - to.low) {
        nest_node_fault(r->fields, node, "pairwise links need as many nodes on both sides",
                        "%s and %s do not pair up", written.from, written.to);
        return false;
    }
    for (long i = from.low; i <= from.high; i++) {
        const int a = find_node(r, node, "from", range_name(r, written.from, from, i));
        const long first = written.pairwise ? to.low + (i - from.low) : to.low;
        const long last = written.pairwise ? first : to.high;
        for (long j = first; a >= 0 && j <= last; j++) {
            const int b = find_node(r, node, "to", range_name(r, written.to, to, j));
            if (b < 0 || !add_link(r, node, a, b, &written)) {
                return false;
            }
        }
        if (a < 0) {
            return false;
        }
    }
    return true;
}

static bool read_links(struct graph_reader *r, const struct nest_node *node)
{
    if (node->kind != NEST_NODE_SEQUENCE) {
        nest_node_fault(r->fields, node, "expected a list of links", "%s is not a list of links",
                        nest_node_describe(node, r->fields->arena));
        return false;
    }
    bool good = true;
    for (const struct nest_node *child = node->first; child; child = child->next) {
        good = read_link(r, child) && good;
    }
    r->graph.link = r->link;
    return good;
}

/* Names for the levels, innermost first; false when they are none. */
static bool read_level_names(struct graph_reader *r, const struct nest_node *names)
{
    const int count = names->kind == NEST_NODE_SEQUENCE ? (int)names->count : 0;
    const char **name = NEST_NEW(r->fields->arena, const char *, count + 1);
    const struct nest_node *child = names->first;
    for (int l = 0; name && l < count; l++, child = child->next) {
        if (!nest_node_text(r->fields, child, &name[l])) {
            return false;
        }
    }
    r->graph.name = name;
    r->graph.names = name ? count : 0;
    return name != NULL;
}

/* As many as there are levels. */
static void check_level_names(struct graph_reader *r, const struct nest_node *names,
                              const struct nest_cluster_spec *out)
{
    if (names->kind != NEST_NODE_SEQUENCE || r->graph.names != out->levels) {
        nest_node_fault(r->fields, names, "one name for each level, innermost first",
                        "the graph becomes %d %s", out->levels,
                        out->levels == 1 ? "level" : "levels");
    }
}

static void become_levels(struct graph_reader *r, const struct nest_node *node,
                          struct nest_cluster_spec *out)
{
    int lost = 0;
    const struct nest_node *names = nest_node_get(node, "names");
    if (names && !read_level_names(r, names)) {
        return;
    }
    const enum nest_status status =
        nest_graph_levels(&r->graph, r->fields->arena, out, NULL, &lost);
    if (status == NEST_NO) {
        const char *name = "";
        const char *origin = "";
        for (int i = 0; i < r->graph.nodes; i++) {
            name = r->name[i].number == lost ? r->name[i].name : name;
            origin = r->name[i].number == 0 ? r->name[i].name : origin;
        }
        nest_node_fault(r->fields, node, "every device reaches every other one over links",
                        "no links lead from '%s' to '%s'", origin, name);
        return;
    }
    for (int l = 0; l < out->levels; l++) {
        out->level[l].mark = node->mark;
    }
    if (status == NEST_OK && names) {
        check_level_names(r, names, out);
    }
}

static const struct nest_field graph_fields[] = {
    {.key = "devices", .type = NEST_FIELD_IGNORED, .required = true},
    {.key = "switches", .type = NEST_FIELD_IGNORED},
    {.key = "links", .type = NEST_FIELD_IGNORED, .required = true},
    {.key = "names", .type = NEST_FIELD_IGNORED},
    NEST_FIELD_END,
};

void nest_graph_read(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct graph_reader r = {.fields = reader};
    const size_t faults = reader->errors->count;
    nest_fields_read(reader, node, graph_fields, "a graph", NULL);
    if (reader->errors->count > faults) {
        return;
    }
    const struct nest_node *switches = nest_node_get(node, "switches");
    bool good = read_nodes(&r, nest_node_get(node, "devices"), "devices", NEST_GRAPH_DEVICES);
    r.graph.devices = r.graph.nodes;
    good = (!switches || read_nodes(&r, switches, "switches", NEST_GRAPH_NODES)) && good;
    if (good && r.graph.devices == 0) {
        nest_node_fault(reader, node, "list at least one device", "the graph has no devices");
        return;
    }
    if (good && sort_names(&r) && read_links(&r, nest_node_get(node, "links"))) {
        become_levels(&r, node, record);
    }
}
