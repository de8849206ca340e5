#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/records.h"

enum { NAME_MAX_BYTES = 60, SHAPE_MAX = 6, LARGEST_FANOUT = 1 << 24 };

/* One entry of `levels` as written; a torus becomes several level records. */
struct written_level {
    struct nest_level_spec level;
    int dimensions;
    int64_t shape[SHAPE_MAX];
    int wraps; /* dimensions that wrap is given for; 1: for all of them */
    bool wrap[SHAPE_MAX];
    int64_t planes; /* parallel networks that every device is joined to; 0: not said, one */
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

/* Other words that people use, lower-case and with dashes. A dragonfly's groups are joined all to
 * all; planes are told apart by their number alone. */
static const struct nest_choice kind_synonyms[] = {
    {"fat-tree", NEST_LEVEL_SWITCH},
    {"leaf-spine", NEST_LEVEL_SWITCH},
    {"spine-leaf", NEST_LEVEL_SWITCH},
    {"clos", NEST_LEVEL_SWITCH},
    {"tree", NEST_LEVEL_SWITCH},
    {"star", NEST_LEVEL_SWITCH},
    {"nvswitch", NEST_LEVEL_SWITCH},
    {"multi-plane", NEST_LEVEL_SWITCH},
    {"dual-plane", NEST_LEVEL_SWITCH},
    {"rail-optimized", NEST_LEVEL_RAIL},
    {"rail-optimised", NEST_LEVEL_RAIL},
    {"rails", NEST_LEVEL_RAIL},
    {"full-mesh", NEST_LEVEL_FULLY_CONNECTED},
    {"all-to-all", NEST_LEVEL_FULLY_CONNECTED},
    {"dragonfly", NEST_LEVEL_FULLY_CONNECTED},
    {"line", NEST_LEVEL_MESH},
    {"chain", NEST_LEVEL_MESH},
    {NULL, 0},
};

static const struct nest_field kind_field = {.key = "kind",
                                             .type = NEST_FIELD_CHOICE,
                                             .choice = kind_words,
                                             .offset = offsetof(struct written_level, level.kind)};

/* "Fully_Connected" → "fully-connected". */
static const char *plain_word(struct nest_arena *arena, const char *text)
{
    char *word = nest_arena_strdup(arena, text);
    for (char *c = word; c && *c; c++) {
        *c = *c == '_' || *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
    }
    return word;
}

static void read_kind(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct written_level *written = record;
    struct nest_node plain = *node;
    if (node->kind == NEST_NODE_SCALAR) {
        const char *word = plain_word(reader->arena, node->text);
        plain.text = word ? word : node->text;
        for (const struct nest_choice *known = kind_synonyms; known->word; known++) {
            if (strcmp(known->word, plain.text) == 0) {
                written->level.kind = (enum nest_level_kind)known->value;
                written->planes = strcmp(known->word, "dual-plane") == 0 && written->planes == 0
                                      ? 2
                                      : written->planes;
                return;
            }
        }
    }
    (void)nest_field_read(reader, &plain, &kind_field, record);
}

/* true, or one for each dimension: [true, true, false]. */
static void read_wrap(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct written_level *written = record;
    if (node->kind != NEST_NODE_SEQUENCE) {
        written->wraps = nest_node_flag(reader, node, &written->wrap[0]) ? 1 : written->wraps;
        return;
    }
    written->wraps = 0;
    for (const struct nest_node *child = node->first; child; child = child->next) {
        if (written->wraps == SHAPE_MAX) {
            nest_node_fault(reader, child, "one for each side of the shape",
                            "'wrap' has more than six entries");
            return;
        }
        if (!nest_node_flag(reader, child, &written->wrap[written->wraps++])) {
            return;
        }
    }
}

/* [4, 4, 8], the sides one by one. */
static void read_sides(struct nest_field_reader *reader, const struct nest_node *node,
                       struct written_level *written)
{
    int64_t product = 1;
    int count = 0;
    for (const struct nest_node *child = node->first; child; child = child->next) {
        int64_t side = 0;
        if (!nest_node_count(reader, child, &side)) {
            return;
        }
        if (count == SHAPE_MAX || side < 1 || side > LARGEST_FANOUT / product) {
            nest_node_fault(reader, child, "expected up to six sides, such as 4x4x8",
                            "this is not the side of a torus");
            return;
        }
        product *= side;
        written->shape[count++] = side;
    }
    written->dimensions = count;
}

/* "4x4x8" → its dimensions. */
static void read_shape(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct written_level *written = record;
    if (node->kind == NEST_NODE_SEQUENCE && node->count > 0) {
        read_sides(reader, node, written);
        return;
    }
    const char *text = node->text;
    int64_t product = 1;
    int count = 0;
    bool good = node->kind == NEST_NODE_SCALAR && *text;
    while (good && *text) {
        char *end = NULL;
        const long long side = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
        good = end && side >= 1 && side <= LARGEST_FANOUT && count < SHAPE_MAX &&
               (*end == '\0' || ((*end == 'x' || *end == 'X') && end[1])) &&
               product * side <= LARGEST_FANOUT;
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

static void read_group_device(struct nest_field_reader *reader, const struct nest_node *node,
                              void *record)
{
    ((struct nest_group_run *)record)->device = nest_device_of(reader, node);
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
    {.key = "kind", .type = NEST_FIELD_CUSTOM, .read = read_kind},
    {.key = "shape", .type = NEST_FIELD_CUSTOM, .read = read_shape},
    {.key = "wrap", .type = NEST_FIELD_CUSTOM, .read = read_wrap},
    {.key = "planes", .type = NEST_FIELD_COUNT, AT(planes), .low = 1, .high = 64},
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
        if (written->wraps > 1 && written->wraps != written->dimensions) {
            nest_node_fault(reader, wrap, "one for each side, or one for all",
                            "'wrap' has %d entries, the shape %d sides", written->wraps,
                            written->dimensions);
        }
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
        const bool wrap = written->wrap[written->wraps == 1 ? 0 : i];
        level->kind = wrap ? NEST_LEVEL_RING : NEST_LEVEL_MESH;
        level->bandwidth *= wrap ? 2 : 1;
        if (written->dimensions > 1) {
            const char *name =
                nest_arena_printf(reader->arena, "%s.%s", written->level.name, axis[i]);
            level->name = name ? name : level->name;
        }
    }
}

/* Every device has a port in each plane; its rate is that of all of them together. */
static void add_planes(struct nest_field_reader *reader, struct written_level *written,
                       struct nest_cluster_spec *out)
{
    char one[32];
    const double rate = written->level.bandwidth;
    const char *note = nest_arena_printf(
        reader->arena,
        "level %s: %" PRId64 " planes of %s a device; a transfer is priced as if it used all",
        written->level.name, written->planes,
        nest_unit_format(rate, NEST_UNIT_BANDWIDTH, one, sizeof one));
    written->level.bandwidth = rate * (double)written->planes;
    if (note && out->notes < NEST_CLUSTER_NOTES) {
        out->note[out->notes++] = note;
    }
}

static void read_level(struct nest_field_reader *reader, const struct nest_node *node,
                       struct nest_cluster_spec *out)
{
    const size_t faults = reader->errors->count;
    struct written_level written = {
        .level = {.name = "", .oversubscription = 1, .kind = NEST_LEVEL_SWITCH, .mark = node->mark},
        .wraps = 1,
        .wrap = {true},
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
    if (written.planes > 1) {
        add_planes(reader, &written, out);
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

void nest_levels_read(struct nest_field_reader *reader, const struct nest_node *node, void *record)
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
