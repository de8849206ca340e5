#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/records.h"

/* profile: [{name: block, times: 24, measured: [{tp: 1, fw: 0.86ms, bw: 0.73ms, weights: 25MB,
 * activations: 169MB, boundary: 1MB}, …]}, …] */

enum { MOST_LAYERS = 100000, MOST_WIDTH = 1 << 20 };

#define ENTRY(member) .offset = offsetof(struct nest_profile_entry, member)
static const struct nest_field entry_fields[] = {
    {.key = "tp",
     .type = NEST_FIELD_COUNT,
     ENTRY(tp),
     .low = 1,
     .high = MOST_WIDTH,
     .required = true},
    {.key = "fw",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_SECONDS,
     ENTRY(fw),
     .low = 0,
     .high = 1e5,
     .required = true},
    {.key = "bw",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_SECONDS,
     ENTRY(bw),
     .low = 0,
     .high = 1e5,
     .required = true},
    {.key = "weights",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BYTES,
     ENTRY(weight_bytes),
     .low = 0,
     .high = 1e16,
     .required = true},
    {.key = "activations",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BYTES,
     ENTRY(activation_bytes),
     .low = 0,
     .high = 1e16,
     .required = true},
    {.key = "boundary",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BYTES,
     ENTRY(boundary_bytes),
     .low = 0,
     .high = 1e16,
     .required = true},
    NEST_FIELD_END,
};

static void read_entries(struct nest_field_reader *reader, const struct nest_node *node,
                         void *record)
{
    struct nest_profile_layer *layer = record;
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        nest_node_fault(reader, node, "expected one entry per tp width",
                        "%s is not a list of measurements",
                        nest_node_describe(node, reader->arena));
        return;
    }
    struct nest_profile_entry *entries =
        NEST_NEW(reader->arena, struct nest_profile_entry, node->count);
    int count = 0;
    for (const struct nest_node *child = node->first; entries && child; child = child->next) {
        const size_t before = reader->errors->count;
        nest_fields_read(reader, child, entry_fields, "a measurement", &entries[count]);
        if (reader->errors->count == before && count > 0 &&
            entries[count].tp <= entries[count - 1].tp) {
            nest_node_fault(reader, child, "widths must ascend",
                            "tp %" PRId64 " does not follow tp %" PRId64, entries[count].tp,
                            entries[count - 1].tp);
        }
        count++;
    }
    layer->entry = entries;
    layer->entries = count;
}

static const struct nest_field layer_fields[] = {
    {.key = "name", .type = NEST_FIELD_TEXT, .offset = offsetof(struct nest_profile_layer, name)},
    {.key = "times",
     .type = NEST_FIELD_COUNT,
     .offset = offsetof(struct nest_profile_layer, times),
     .low = 1,
     .high = MOST_LAYERS},
    {.key = "measured", .type = NEST_FIELD_CUSTOM, .read = read_entries, .required = true},
    NEST_FIELD_END,
};

void nest_profile_read(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct nest_model_spec *model = record;
    if (node->kind == NEST_NODE_SCALAR && !nest_node_is_null(node)) {
        return; /* a file of measured times, read when the shape is known */
    }
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        nest_node_fault(reader, node,
                        "expected a list of layers, first layer first, or a file of measured times",
                        "%s is not a profile", nest_node_describe(node, reader->arena));
        return;
    }
    struct nest_profile_layer *layers =
        NEST_NEW(reader->arena, struct nest_profile_layer, node->count);
    int64_t total = 0;
    for (const struct nest_node *child = node->first; layers && child; child = child->next) {
        struct nest_profile_layer *layer = &layers[child->index];
        *layer = (struct nest_profile_layer){.name = "layer", .times = 1};
        nest_fields_read(reader, child, layer_fields, "a layer", layer);
        total += layer->times;
    }
    if (total > MOST_LAYERS) {
        nest_node_fault(reader, node, "expected at most 100,000 layers",
                        "the profile has %" PRId64 " layers", total);
    }
    model->profile = layers;
    model->profile_layers = layers ? node->count : 0;
}

static void write_number(struct nest_strbuf *out, const char *key, double value,
                         enum nest_unit unit)
{
    char number[96];
    nest_strbuf_printf(out, ", %s: %s", key,
                       nest_unit_format_exact(value, unit, number, sizeof number));
}

void nest_profile_write(const struct nest_model_spec *model, int indent, struct nest_strbuf *out)
{
    for (int i = 0; i < model->profile_layers; i++) {
        const struct nest_profile_layer *layer = &model->profile[i];
        nest_strbuf_printf(out, "%*s- name: ", indent, "");
        nest_yaml_text(layer->name, out);
        nest_strbuf_printf(out, "\n%*stimes: %" PRId64 "\n%*smeasured:\n", indent + 2, "",
                           layer->times, indent + 2, "");
        for (int e = 0; e < layer->entries; e++) {
            const struct nest_profile_entry *entry = &layer->entry[e];
            nest_strbuf_printf(out, "%*s- {tp: %" PRId64, indent + 4, "", entry->tp);
            write_number(out, "fw", entry->fw, NEST_UNIT_SECONDS);
            write_number(out, "bw", entry->bw, NEST_UNIT_SECONDS);
            write_number(out, "weights", entry->weight_bytes, NEST_UNIT_BYTES);
            write_number(out, "activations", entry->activation_bytes, NEST_UNIT_BYTES);
            write_number(out, "boundary", entry->boundary_bytes, NEST_UNIT_BYTES);
            nest_strbuf_add(out, "}\n");
        }
    }
}
