#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/records.h"
#include "input/set.h"

/* ---- Text ---- */

/* Whether YAML reads the text back as itself without quotes, also between { and }. */
static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_./-+|: ()";
    const size_t length = strlen(text);
    if (length == 0 || strspn(text, letters) != length || strchr("-:|. ", text[0]) ||
        text[length - 1] == ' ' || text[length - 1] == ':' || strstr(text, ": ") ||
        strcmp(text, "null") == 0) {
        return false;
    }
    return true;
}

void nest_yaml_text(const char *text, struct nest_strbuf *out)
{
    if (is_plain(text)) {
        nest_strbuf_add(out, text);
        return;
    }
    nest_strbuf_add(out, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            nest_strbuf_printf(out, "\\%c", *c);
        } else if ((unsigned char)*c < ' ' || *c == 0x7f) {
            nest_strbuf_printf(out, "\\x%02x", (unsigned)*c);
        } else {
            nest_strbuf_add_bytes(out, c, 1);
        }
    }
    nest_strbuf_add(out, "\"");
}

/* ---- Records by their tables ---- */

static bool is_written(const struct nest_field *field)
{
    return field->type != NEST_FIELD_TABLE && field->type != NEST_FIELD_CUSTOM &&
           field->type != NEST_FIELD_IGNORED;
}

static bool differs(const struct nest_field *field, const void *a, const void *b)
{
    struct nest_strbuf x = NEST_STRBUF_INIT(1 << 20);
    struct nest_strbuf y = NEST_STRBUF_INIT(1 << 20);
    nest_field_write(field, a, &x);
    nest_field_write(field, b, &y);
    const bool differ = strcmp(nest_strbuf_text(&x), nest_strbuf_text(&y)) != 0;
    nest_strbuf_free(&x);
    nest_strbuf_free(&y);
    return differ;
}

static void write_value(const struct nest_field *field, const void *record, struct nest_strbuf *out)
{
    if (field->type == NEST_FIELD_TEXT) {
        nest_yaml_text(*(const char *const *)((const char *)record + field->offset), out);
    } else {
        nest_field_write(field, record, out);
    }
}

/* Begins "key: {" before the first entry of a flow mapping, ", " before the others. */
static void next_entry(bool *any, const char *key, struct nest_strbuf *out)
{
    if (*any) {
        nest_strbuf_add(out, ", ");
    } else {
        nest_strbuf_printf(out, "%s: {", key);
    }
    *any = true;
}

/* "key: {a: 1, b: 2}" with the wanted fields of a record; nothing where none is. */
static void write_flow(const char *key, const struct nest_field *table, const void *record,
                       const bool *wanted, struct nest_strbuf *out)
{
    bool any = false;
    for (int i = 0; table[i].key; i++) {
        if (wanted[i]) {
            next_entry(&any, key, out);
            nest_strbuf_printf(out, "%s: ", table[i].key);
            write_value(&table[i], record, out);
        }
    }
    nest_strbuf_add(out, any ? "}\n" : "");
}

/* A nested mapping, where anything in it differs from the defaults. */
static void write_nested(const struct nest_field *field, const void *record, const void *defaults,
                         int indent, struct nest_strbuf *out)
{
    enum { NESTED_MAX = 16 };
    bool wanted[NESTED_MAX] = {false};
    bool any = false;
    for (int i = 0; i < NESTED_MAX && field->table[i].key; i++) {
        wanted[i] = is_written(&field->table[i]) && differs(&field->table[i], record, defaults);
        any = any || wanted[i];
    }
    nest_strbuf_printf(out, "%*s", any ? indent : 0, "");
    write_flow(field->key, field->table, record, wanted, out);
}

/* One line a field, for those that differ from the defaults. */
static void write_block(const struct nest_field *table, const void *record, const void *defaults,
                        int indent, struct nest_strbuf *out)
{
    for (const struct nest_field *field = table; field->key; field++) {
        if (field->type == NEST_FIELD_TABLE) {
            write_nested(field, record, defaults, indent, out);
        }
        if (is_written(field) && differs(field, record, defaults)) {
            nest_strbuf_printf(out, "%*s%s: ", indent, "", field->key);
            write_value(field, record, out);
            nest_strbuf_add(out, "\n");
        }
    }
}

/* ---- Inline model, cluster and device ---- */

static void write_model(const struct nest_model_spec *model, int indent, struct nest_strbuf *out)
{
    struct nest_model_spec defaults;
    struct nest_model_spec shown = *model;
    nest_model_defaults(&defaults, "");
    shown.kv_heads = model->kv_heads_given ? model->kv_heads : 0;
    shown.head_dim = model->head_dim_given ? model->head_dim : 0;
    shown.moe_ffn = model->moe_ffn_given ? model->moe_ffn : 0;
    write_block(nest_model_fields, &shown, &defaults, indent, out);
    if (model->measured_ref && model->measured_own) {
        nest_strbuf_printf(out, "%*sprofile: ", indent, "");
        nest_yaml_text(model->measured_ref, out);
        nest_strbuf_add(out, "\n");
    }
    if (model->profile_layers > 0) {
        nest_strbuf_printf(out, "%*scollectives: %s\n%*s%s:\n", indent, "",
                           model->profile_collectives_included ? "included" : "separate", indent,
                           "", model->graph ? "graph" : "profile");
        if (model->graph) {
            nest_layer_graph_write(model, indent + 2, out);
        } else {
            nest_profile_write(model, indent + 2, out);
        }
    }
}

static void write_device(const struct nest_device_spec *device, int indent, struct nest_strbuf *out)
{
    struct nest_device_spec defaults;
    nest_device_defaults(&defaults, "");
    write_block(nest_device_fields, device, &defaults, indent, out);
}

/* A rate as one more entry of a flow mapping; nothing where it is not given. */
static void write_rate(const char *key, double rate, struct nest_strbuf *out)
{
    char number[96];
    if (rate > 0) {
        nest_strbuf_printf(
            out, ", %s: %s", key,
            nest_unit_format_exact(rate, NEST_UNIT_BANDWIDTH, number, sizeof number));
    }
}

static bool is_size_alone(const struct nest_group_run *run)
{
    return !run->device && run->bandwidth == 0 && run->uplink == 0;
}

/* A device in full does not go into a flow mapping. */
static void write_run(const struct nest_group_run *run, int indent, struct nest_strbuf *out)
{
    const bool in_full = run->device && !run->device->ref;
    nest_strbuf_printf(out, "%*s- %sfanout: %" PRId64, indent, "", in_full ? "" : "{", run->fanout);
    if (!in_full) {
        nest_strbuf_printf(out, ", times: %" PRId64, run->times);
        if (run->device) {
            nest_strbuf_add(out, ", device: ");
            nest_yaml_text(run->device->ref, out);
        }
        write_rate("bandwidth", run->bandwidth, out);
        write_rate("uplink", run->uplink, out);
        nest_strbuf_add(out, "}\n");
        return;
    }
    const struct {
        const char *key;
        double rate;
    } rate[] = {{"bandwidth", run->bandwidth}, {"uplink", run->uplink}};
    nest_strbuf_printf(out, "\n%*stimes: %" PRId64 "\n", indent + 2, "", run->times);
    for (size_t i = 0; i < sizeof rate / sizeof rate[0]; i++) {
        char number[96];
        if (rate[i].rate > 0) {
            nest_strbuf_printf(
                out, "%*s%s: %s\n", indent + 2, "", rate[i].key,
                nest_unit_format_exact(rate[i].rate, NEST_UNIT_BANDWIDTH, number, sizeof number));
        }
    }
    nest_strbuf_printf(out, "%*sdevice:\n", indent + 2, "");
    write_device(run->device, indent + 4, out);
}

/* Runs that are more than sizes get a line each. */
static void write_runs(const struct nest_level_spec *level, int indent, struct nest_strbuf *out)
{
    bool plain = true;
    for (int i = 0; i < level->groups; i++) {
        plain = plain && is_size_alone(&level->group[i]);
    }
    for (int i = 0; i < level->groups && plain; i++) {
        nest_strbuf_printf(out, "%s{fanout: %" PRId64 ", times: %" PRId64 "}%s",
                           i ? ", " : "groups: [", level->group[i].fanout, level->group[i].times,
                           i + 1 == level->groups ? "]" : "");
    }
    for (int i = 0; i < level->groups && !plain; i++) {
        nest_strbuf_printf(out, i ? "" : "groups:\n");
        write_run(&level->group[i], indent + 4, out);
    }
}

static void write_level(const struct nest_level_spec *level, int indent, struct nest_strbuf *out)
{
    char number[96];
    bool lines = false; /* instead of one flow mapping */
    for (int i = 0; i < level->groups; i++) {
        lines = lines || !is_size_alone(&level->group[i]);
    }
    char gap[64] = ", ";
    if (lines) {
        (void)snprintf(gap, sizeof gap, "\n%*s", indent + 2, "");
    }
    nest_strbuf_printf(out, "%*s- %sname: ", indent, "", lines ? "" : "{");
    nest_yaml_text(level->name, out);
    nest_strbuf_printf(
        out, "%sbandwidth: %s", gap,
        nest_unit_format_exact(level->bandwidth, NEST_UNIT_BANDWIDTH, number, sizeof number));
    nest_strbuf_printf(
        out, "%slatency: %s", gap,
        nest_unit_format_exact(level->latency, NEST_UNIT_SECONDS, number, sizeof number));
    if (level->oversubscription != 1) {
        nest_strbuf_printf(out, "%soversubscription: %s", gap,
                           nest_unit_format_exact(level->oversubscription, NEST_UNIT_RATIO, number,
                                                  sizeof number));
    }
    nest_strbuf_printf(out, "%skind: %s%s", gap, nest_level_kind_word(level->kind), gap);
    if (level->groups == 0) {
        nest_strbuf_printf(out, "fanout: %" PRId64, level->fanout);
    }
    write_runs(level, indent, out);
    nest_strbuf_add(out, lines ? "" : "}\n");
}

static void write_cluster(const struct nest_scenario_spec *scenario, int indent,
                          struct nest_strbuf *out)
{
    const struct nest_cluster_spec *cluster = &scenario->cluster;
    const struct nest_cluster_spec empty = {.name = "", .source = ""};
    write_block(nest_cluster_fields, cluster, &empty, indent, out);
    nest_strbuf_printf(out, "%*sdevice:", indent, "");
    if (scenario->device.ref) {
        nest_strbuf_add(out, " ");
        nest_yaml_text(scenario->device.ref, out);
        nest_strbuf_add(out, "\n");
    } else {
        nest_strbuf_add(out, "\n");
        write_device(&scenario->device, indent + 2, out);
    }
    if (cluster->down) {
        nest_strbuf_printf(out, "%*sdown: ", indent, "");
        nest_yaml_text(cluster->down, out);
        nest_strbuf_add(out, "\n");
    }
    nest_strbuf_printf(out, "%*slevels:\n", indent, "");
    for (int i = 0; i < cluster->levels; i++) {
        write_level(&cluster->level[i], indent + 2, out);
    }
}

/* ---- Pins ---- */

static void write_choice(int key, int64_t value, struct nest_strbuf *out)
{
    if (key == NEST_PIN_RECOMPUTE) {
        nest_strbuf_add(out, nest_recompute_word((enum nest_recompute)value));
    } else if (key == NEST_PIN_SP) {
        nest_strbuf_add(out, value ? "true" : "false");
    } else {
        nest_strbuf_printf(out, "%" PRId64, value);
    }
}

void nest_pin_write(const struct nest_pins_spec *pins, enum nest_pin_key key,
                    struct nest_strbuf *out)
{
    const struct nest_pin *pin = &pins->pin[key];
    for (int i = 0; i < pin->count; i++) {
        nest_strbuf_add(out, i ? "|" : "");
        write_choice((int)key, pin->range[i].low, out);
        if (pin->range[i].high > pin->range[i].low) {
            nest_strbuf_add(out, "..");
            write_choice((int)key, pin->range[i].high, out);
        }
    }
}

void nest_order_write(const struct nest_order_pin *order, struct nest_strbuf *out)
{
    switch (order->kind) {
    case NEST_ORDER_FREE:
        break;
    case NEST_ORDER_MEGATRON:
        nest_strbuf_add(out, "tp-cp-dp-pp");
        break;
    case NEST_ORDER_NEST:
        nest_strbuf_add(out, "tp-cp-pp-dp");
        break;
    case NEST_ORDER_SPLIT:
        nest_strbuf_printf(out, "tp-cp-dp:%" PRId64 "-pp-dp:%" PRId64, order->dp_in, order->dp_out);
        break;
    }
}

static void write_pins(const struct nest_pins_spec *pins, struct nest_strbuf *out)
{
    bool any = false;
    for (int key = 0; key < NEST_PINS; key++) {
        if (pins->pin[key].count > 0) {
            next_entry(&any, "pin", out);
            nest_strbuf_printf(out, "%s: ", nest_pin_key_word((enum nest_pin_key)key));
            nest_pin_write(pins, (enum nest_pin_key)key, out);
        }
    }
    if (pins->order.kind != NEST_ORDER_FREE) {
        next_entry(&any, "pin", out);
        nest_strbuf_add(out, "order: ");
        nest_order_write(&pins->order, out);
    }
    nest_strbuf_add(out, any ? "}\n" : "");
}

/* ---- The scenario ---- */

static void write_parts(const struct nest_scenario_spec *scenario, struct nest_strbuf *out)
{
    nest_strbuf_add(out, "model:");
    if (scenario->model.ref) {
        nest_strbuf_add(out, " ");
        nest_yaml_text(scenario->model.ref, out);
        nest_strbuf_add(out, "\n");
    } else {
        nest_strbuf_add(out, "\n");
        write_model(&scenario->model, 2, out);
    }
    nest_strbuf_add(out, "cluster:");
    if (scenario->cluster.ref) {
        nest_strbuf_add(out, " ");
        nest_yaml_text(scenario->cluster.ref, out);
        nest_strbuf_add(out, "\n");
    } else {
        nest_strbuf_add(out, "\n");
        write_cluster(scenario, 2, out);
    }
}

static void write_allowed(const struct nest_scenario_spec *scenario, struct nest_strbuf *out)
{
    const struct {
        bool allowed;
        const char *word;
    } item[] = {{scenario->allow_stage_zero, "stage_zero"},
                {scenario->allow_stage_tp, "stage_tp"},
                {scenario->allow_ragged_batch, "ragged_batch"}};
    int count = 0;
    for (size_t i = 0; i < sizeof item / sizeof item[0]; i++) {
        if (item[i].allowed) {
            nest_strbuf_printf(out, "%s%s", count++ ? ", " : "allow: [", item[i].word);
        }
    }
    nest_strbuf_add(out, count ? "]\n" : "");
}

static void write_settings(const struct nest_scenario_spec *scenario, struct nest_strbuf *out)
{
    struct nest_scenario_spec defaults;
    bool wanted[16] = {false};
    nest_scenario_defaults(&defaults);
    for (int i = 0; nest_train_fields[i].key; i++) {
        wanted[i] = strcmp(nest_train_fields[i].key, "precision") == 0
                        ? scenario->precision_given
                        : differs(&nest_train_fields[i], &scenario->train, &defaults.train);
    }
    write_flow("train", nest_train_fields, &scenario->train, wanted, out);
    for (int i = 0; nest_limits_fields[i].key; i++) {
        wanted[i] = differs(&nest_limits_fields[i], &scenario->limits, &defaults.limits);
    }
    write_flow("limits", nest_limits_fields, &scenario->limits, wanted, out);
    write_flow("overlap", nest_overlap_fields, &scenario->overlap, scenario->overlap_given, out);
    write_pins(&scenario->pins, out);
    write_allowed(scenario, out);
}

void nest_scenario_write(const struct nest_scenario_spec *scenario, struct nest_strbuf *out)
{
    if (scenario->name[0]) {
        nest_strbuf_add(out, "name: ");
        nest_yaml_text(scenario->name, out);
        nest_strbuf_add(out, "\n");
    }
    write_parts(scenario, out);
    if (scenario->model.measured_ref && !scenario->model.measured_own) {
        nest_strbuf_add(out, "profile: ");
        nest_yaml_text(scenario->model.measured_ref, out);
        nest_strbuf_add(out, "\n");
    }
    write_settings(scenario, out);
    for (int i = 0; i < scenario->edits; i++) {
        nest_strbuf_add(out, i ? "  - {" : "edits:\n  - {");
        nest_yaml_text(scenario->edit[i].path, out);
        nest_strbuf_add(out, ": ");
        nest_yaml_text(scenario->edit[i].value, out);
        nest_strbuf_add(out, "}\n");
    }
    for (int i = 0; i < scenario->scripts; i++) {
        nest_strbuf_add(out, i ? "  - " : "scripts:\n  - ");
        nest_yaml_text(scenario->script[i].path, out);
        nest_strbuf_add(out, "\n");
    }
}
