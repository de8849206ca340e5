#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/down.h"
#include "input/records.h"

enum { NAME_MAX_BYTES = 60, SHAPE_MAX = 6, LARGEST_FANOUT = 1 << 24 };
#define LARGEST_CLUSTER ((int64_t)1 << 32)

/* One entry of `levels` as written; a torus becomes several level records. */
struct written_level {
    struct nest_level_spec level;
    int dimensions;
    int64_t shape[SHAPE_MAX];
    bool wrap;
};

#define AT(member) .offset = offsetof(struct written_level, member)

static const struct nest_choice kind_words[] = {
    {"switch", NEST_LEVEL_SWITCH},
    {"ring", NEST_LEVEL_RING},
    {"torus", NEST_LEVEL_TORUS},
    {"mesh", NEST_LEVEL_MESH},
    {"fully-connected", NEST_LEVEL_FULLY_CONNECTED},
    {"rail", NEST_LEVEL_RAIL},
    {NULL, 0},
};

const char *nest_level_kind_word(enum nest_level_kind kind)
{
    for (const struct nest_choice *word = kind_words; word->word; word++) {
        if (word->value == (int)kind) {
            return word->word;
        }
    }
    return "switch";
}

/* "4x4x8" → its dimensions. */
static void read_shape(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct written_level *written = record;
    const char *text = node->text;
    int64_t product = 1;
    int count = 0;
    bool good = node->kind == NEST_NODE_SCALAR && *text;
    while (good && *text) {
        char *end = NULL;
        const long long side = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
        good = end && side >= 1 && side <= LARGEST_FANOUT && count < SHAPE_MAX &&
               (*end == '\0' || (*end == 'x' && end[1])) && product * side <= LARGEST_FANOUT;
        if (good) {
            product *= side;
            written->shape[count++] = side;
            text = *end ? end + 1 : end;
        }
    }
    if (!good) {
        nest_node_fault(reader, node, "expected up to six sides, such as 4x4x8",
                        "%s is not the shape of a torus", nest_node_describe(node, reader->arena));
        return;
    }
    written->dimensions = count;
}

static const struct nest_device_spec *load_device(struct nest_field_reader *reader,
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

static void read_group_device(struct nest_field_reader *reader, const struct nest_node *node,
                              void *record)
{
    ((struct nest_group_run *)record)->device = load_device(reader, node);
}

static const struct nest_field run_fields[] = {
    {.key = "fanout",
     .type = NEST_FIELD_COUNT,
     .offset = offsetof(struct nest_group_run, fanout),
     .low = 1,
     .high = LARGEST_FANOUT,
     .required = true},
    {.key = "times",
     .type = NEST_FIELD_COUNT,
     .offset = offsetof(struct nest_group_run, times),
     .low = 1,
     .high = LARGEST_FANOUT},
    {.key = "device", .type = NEST_FIELD_CUSTOM, .read = read_group_device},
    {.key = "bandwidth",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BANDWIDTH,
     .offset = offsetof(struct nest_group_run, bandwidth),
     .low = 1e3,
     .high = 1e15},
    {.key = "uplink",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BANDWIDTH,
     .offset = offsetof(struct nest_group_run, uplink),
     .low = 1e3,
     .high = 1e15},
    NEST_FIELD_END,
};

static void read_groups(struct nest_field_reader *reader, const struct nest_node *node,
                        void *record)
{
    struct nest_level_spec *level = &((struct written_level *)record)->level;
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        nest_node_fault(reader, node,
                        "expected a list such as [{fanout: 8, times: 3}, {fanout: 7}]",
                        "%s is not a list of groups", nest_node_describe(node, reader->arena));
        return;
    }
    struct nest_group_run *run = NEST_NEW(reader->arena, struct nest_group_run, node->count);
    if (!run) {
        return;
    }
    int count = 0;
    for (const struct nest_node *child = node->first; child; child = child->next) {
        run[count].times = 1;
        nest_fields_read(reader, child, run_fields, "a group", &run[count++]);
    }
    level->group = run;
    level->groups = count;
}

const struct nest_field nest_level_fields[] = {
    {.key = "name", .type = NEST_FIELD_TEXT, AT(level.name), .required = true},
    {.key = "fanout", .type = NEST_FIELD_COUNT, AT(level.fanout), .low = 1, .high = LARGEST_FANOUT},
    {.key = "groups", .type = NEST_FIELD_CUSTOM, .read = read_groups},
    {.key = "bandwidth",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BANDWIDTH,
     AT(level.bandwidth),
     .low = 1e3,
     .high = 1e15,
     .required = true},
    {.key = "latency",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_SECONDS,
     AT(level.latency),
     .low = 0,
     .high = 10,
     .required = true},
    {.key = "oversubscription",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_RATIO,
     AT(level.oversubscription),
     .low = 1,
     .high = 1e6},
    {.key = "kind", .type = NEST_FIELD_CHOICE, AT(level.kind), .choice = kind_words},
    {.key = "shape", .type = NEST_FIELD_CUSTOM, .read = read_shape},
    {.key = "wrap", .type = NEST_FIELD_FLAG, AT(wrap)},
    NEST_FIELD_END,
};

static void check_extent(struct nest_field_reader *reader, const struct nest_node *node,
                         const struct written_level *written)
{
    const struct nest_node *shape = nest_node_get(node, "shape");
    const struct nest_node *wrap = nest_node_get(node, "wrap");
    const struct nest_node *fanout = nest_node_get(node, "fanout");
    const struct nest_node *groups = nest_node_get(node, "groups");
    if (written->level.kind == NEST_LEVEL_TORUS) {
        if (!nest_fields_mean(node, nest_level_fields, "shape")) {
            nest_node_fault(reader, node, "add shape, such as 4x4x8", "a torus has no 'shape'");
        }
        if (fanout || groups) {
            nest_node_fault(reader, fanout ? fanout : groups, "its shape says it",
                            "a torus takes no '%s'", fanout ? "fanout" : "groups");
        }
        return;
    }
    if (shape || wrap) {
        nest_node_fault(reader, shape ? shape : wrap, "only a level of kind: torus has it",
                        "'%s' does not fit this level", shape ? "shape" : "wrap");
    }
    if (fanout && groups) {
        nest_node_fault(reader, groups, "give one of them", "both 'fanout' and 'groups' are given");
    } else if (!groups && !shape && !nest_fields_mean(node, nest_level_fields, "fanout")) {
        nest_node_fault(reader, node, "add fanout: GROUPS it joins",
                        "a level has no 'fanout' or 'groups'");
    }
}

static struct nest_level_spec *next_level(struct nest_field_reader *reader,
                                          const struct nest_node *node,
                                          struct nest_cluster_spec *out)
{
    if (out->levels == NEST_MAX_LEVELS) {
        nest_node_fault(reader, node, "expected at most 12; a torus counts one per dimension",
                        "the cluster has too many levels");
        return NULL;
    }
    return &out->level[out->levels++];
}

/* A torus is one ring per dimension. A device's links of one dimension add up: two with wrap, one
 * at the ends of an open line, and B_l must not promise more than the worst device has. */
static void add_torus(struct nest_field_reader *reader, const struct nest_node *node,
                      const struct written_level *written, struct nest_cluster_spec *out)
{
    static const char *const axis[SHAPE_MAX] = {"x", "y", "z", "u", "v", "w"};
    for (int i = 0; i < written->dimensions; i++) {
        struct nest_level_spec *level = next_level(reader, node, out);
        if (!level) {
            return;
        }
        *level = written->level;
        level->fanout = written->shape[i];
        level->kind = written->wrap ? NEST_LEVEL_RING : NEST_LEVEL_MESH;
        level->bandwidth *= written->wrap ? 2 : 1;
        if (written->dimensions > 1) {
            const char *name =
                nest_arena_printf(reader->arena, "%s.%s", written->level.name, axis[i]);
            level->name = name ? name : level->name;
        }
    }
}

static void read_level(struct nest_field_reader *reader, const struct nest_node *node,
                       struct nest_cluster_spec *out)
{
    const size_t faults = reader->errors->count;
    struct written_level written = {
        .level = {.name = "", .oversubscription = 1, .kind = NEST_LEVEL_SWITCH, .mark = node->mark},
        .wrap = true,
    };
    nest_fields_read(reader, node, nest_level_fields, "a level", &written);
    if (node->kind == NEST_NODE_MAPPING) {
        check_extent(reader, node, &written);
    }
    if (strlen(written.level.name) > NAME_MAX_BYTES) {
        nest_node_fault(reader, nest_node_get(node, "name"), "expected at most 60 bytes",
                        "the name of a level is too long");
    }
    if (reader->errors->count > faults) {
        return;
    }
    if (written.level.kind == NEST_LEVEL_TORUS) {
        add_torus(reader, node, &written, out);
        return;
    }
    struct nest_level_spec *level = next_level(reader, node, out);
    if (level) {
        *level = written.level;
    }
}

static void read_levels(struct nest_field_reader *reader, const struct nest_node *node,
                        void *record)
{
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        nest_node_fault(reader, node, "expected a list of levels, innermost first",
                        "%s is not a list of levels", nest_node_describe(node, reader->arena));
        return;
    }
    for (const struct nest_node *child = node->first; child; child = child->next) {
        read_level(reader, child, record);
    }
}

/* The device: a shipped name, a path, or a mapping in place. */
static void read_device(struct nest_field_reader *reader, const struct nest_node *node,
                        void *record)
{
    ((struct nest_cluster_spec *)record)->device = load_device(reader, node);
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
    {.key = "levels", .type = NEST_FIELD_CUSTOM, .read = read_levels},
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
