#include <inttypes.h>
#include <string.h>

#include "input/down.h"
#include "input/records.h"

#define LARGEST_CLUSTER ((int64_t)1 << 32)

const struct nest_device_spec *nest_device_of(struct nest_field_reader *reader,
                                              const struct nest_node *node)
{
    const struct nest_input *input = reader->context;
    struct nest_device_spec *device = NEST_NEW(reader->arena, struct nest_device_spec, 1);
    if (device && node->kind == NEST_NODE_MAPPING) {
        nest_device_read(reader, node, "device", device);
        return device;
    }
    const char *name = NULL;
    if (!device || !nest_node_text(reader, node, &name)) {
        return NULL;
    }
    nest_device_load(reader, name, node->mark, input->folder, device);
    return device;
}

/* The device: a shipped name, a path, or a mapping in place. */
static void read_device(struct nest_field_reader *reader, const struct nest_node *node,
                        void *record)
{
    ((struct nest_cluster_spec *)record)->device = nest_device_of(reader, node);
}

/* Appends "LEVEL NUMBERS"; a list of numbers becomes as many entries. */
static void add_down(struct nest_field_reader *reader, const struct nest_node *node,
                     const char *level, struct nest_strbuf *out)
{
    if (node->kind == NEST_NODE_SCALAR && *node->text) {
        nest_strbuf_printf(out, "%s%s%s%s", nest_strbuf_text(out)[0] ? ", " : "",
                           level ? level : "", level ? " " : "", node->text);
        return;
    }
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        nest_node_fault(reader, node, "expected {LEVEL: NUMBERS} or a list of 'LEVEL NUMBER'",
                        "%s does not say what is down", nest_node_describe(node, reader->arena));
        return;
    }
    for (const struct nest_node *child = node->first; child; child = child->next) {
        if (child->kind == NEST_NODE_SEQUENCE) {
            nest_node_fault(reader, child, NULL, "a list within a list does not say what is down");
            return;
        }
        add_down(reader, child, level, out);
    }
}

/* "node 13", [node 13, device 5] or {node: [13, 20..23], device: 5}. */
static void read_down(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(1 << 16);
    if (node->kind == NEST_NODE_MAPPING) {
        for (const struct nest_node *child = node->first; child; child = child->next) {
            add_down(reader, child, child->key, &text);
        }
    } else {
        add_down(reader, node, NULL, &text);
    }
    const char *kept = nest_arena_strdup(reader->arena, nest_strbuf_text(&text));
    ((struct nest_cluster_spec *)record)->down = kept && *kept ? kept : NULL;
    nest_strbuf_free(&text);
}

const struct nest_field nest_cluster_fields[] = {
    {.key = "name", .type = NEST_FIELD_TEXT, .offset = offsetof(struct nest_cluster_spec, name)},
    {.key = "aliases", .type = NEST_FIELD_IGNORED},
    {.key = "source",
     .type = NEST_FIELD_TEXT,
     .offset = offsetof(struct nest_cluster_spec, source)},
    {.key = "device", .type = NEST_FIELD_CUSTOM, .read = read_device, .required = true},
    {.key = "levels", .type = NEST_FIELD_CUSTOM, .read = nest_levels_read},
    {.key = "graph", .type = NEST_FIELD_CUSTOM, .read = nest_graph_read},
    {.key = "down", .type = NEST_FIELD_CUSTOM, .read = read_down},
    NEST_FIELD_END,
};

/* A fault after edits lies with the edits, not in the file that was good. */
static struct nest_mark level_mark(const struct nest_origin *origin,
                                   const struct nest_level_spec *level)
{
    return origin->root ? level->mark : nest_origin_mark(origin, "levels");
}

/* The groups below one irregular level follow each other, so every level's runs must use up the
 * groups of the level below it exactly. Counted from the innermost level outwards. */
static void check_groups(const struct nest_cluster_spec *cluster, const struct nest_origin *origin,
                         struct nest_errors *errors)
{
    int64_t below = -1; /* groups of the level below; -1 = as many as wanted */
    for (int i = 0; i < cluster->levels; i++) {
        const struct nest_level_spec *level = &cluster->level[i];
        int64_t groups = 0;
        int64_t children = 0;
        for (int j = 0; j < level->groups; j++) {
            groups += level->group[j].times;
            children += level->group[j].times * level->group[j].fanout;
        }
        if (level->groups == 0) {
            groups = below < 0 ? -1 : below / level->fanout;
            children = below < 0 ? -1 : groups * level->fanout;
        }
        if (below >= 0 && children != below) {
            nest_errors_add(errors, level_mark(origin, level),
                            nest_arena_printf(errors->arena, "levels[%d]", i),
                            "the fan-outs of a level add up to the groups of the level below",
                            "level %s joins %" PRId64 " groups, but %" PRId64 " lie below it",
                            level->name, level->groups ? children : level->fanout, below);
            return;
        }
        below = groups;
    }
    if (below > 1) {
        const struct nest_level_spec *top = &cluster->level[cluster->levels - 1];
        nest_errors_add(errors, level_mark(origin, top),
                        nest_arena_printf(errors->arena, "levels[%d]", cluster->levels - 1),
                        "the outermost level joins all of the cluster",
                        "level %s leaves %" PRId64 " separate groups", top->name, below);
    }
}

static void check_names(const struct nest_cluster_spec *cluster, const struct nest_origin *origin,
                        struct nest_errors *errors)
{
    for (int i = 0; i < cluster->levels; i++) {
        for (int j = 0; j < i; j++) {
            if (strcmp(cluster->level[i].name, cluster->level[j].name) == 0) {
                nest_errors_add(errors, level_mark(origin, &cluster->level[i]),
                                nest_arena_printf(errors->arena, "levels[%d].name", i),
                                "level names must differ", "a second level is called '%s'",
                                cluster->level[i].name);
                break;
            }
        }
    }
}

static void check_down(const struct nest_cluster_spec *cluster, const struct nest_origin *origin,
                       struct nest_errors *errors)
{
    int count = 0;
    (void)nest_down_parse(cluster, nest_origin_mark(origin, "down"), errors->arena, &count, errors);
}

void nest_cluster_check(const struct nest_cluster_spec *cluster, const struct nest_origin *origin,
                        struct nest_errors *errors)
{
    const size_t faults = errors->count;
    double devices = 1;
    for (int i = 0; i < cluster->levels; i++) {
        devices *= cluster->level[i].groups ? 1 : (double)cluster->level[i].fanout;
    }
    if (devices > (double)LARGEST_CLUSTER) {
        nest_origin_fault(origin, errors, "levels", "expected at most 4,294,967,296 devices",
                          "the fan-outs multiply to %.3g devices", devices);
    }
    check_names(cluster, origin, errors);
    check_groups(cluster, origin, errors);
    if (errors->count == faults) {
        check_down(cluster, origin, errors);
    }
}

/* A cluster is given as levels or as a graph. */
static void check_source(struct nest_field_reader *reader, const struct nest_node *root)
{
    if (root->kind != NEST_NODE_MAPPING) {
        return;
    }
    const bool levels = nest_fields_mean(root, nest_cluster_fields, "levels");
    const bool graph = nest_fields_mean(root, nest_cluster_fields, "graph");
    if (levels && graph) {
        nest_node_fault(reader, nest_node_get(root, "graph"), "keep one of them",
                        "a cluster has levels or a graph, not both");
    } else if (!levels && !graph) {
        nest_errors_add(reader->errors, root->mark, nest_node_path(root, reader->arena), NULL,
                        "a cluster has no 'levels'");
    }
}

void nest_cluster_read(struct nest_field_reader *reader, const struct nest_node *root,
                       const char *id, struct nest_cluster_spec *out)
{
    const size_t faults = reader->errors->count;
    *out = (struct nest_cluster_spec){.id = id, .name = id, .source = ""};
    nest_fields_read(reader, root, nest_cluster_fields, "a cluster", out);
    check_source(reader, root);
    if (reader->errors->count == faults) {
        const struct nest_origin origin = {.root = root};
        nest_cluster_check(out, &origin, reader->errors);
    }
}
