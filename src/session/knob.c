#include "session/knob.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "input/set.h"
#include "plan/words.h"
#include "session/report.h"

enum { TEXT = 64, LEVEL_KNOBS = 3, SETTINGS = 6 };

static const char *format(struct nest_arena *arena, double value, enum nest_unit unit)
{
    char text[TEXT];
    return nest_arena_strdup(arena, nest_unit_format(value, unit, text, sizeof text));
}

static const char *format_exact(struct nest_arena *arena, double value, enum nest_unit unit)
{
    char text[TEXT];
    return nest_arena_strdup(arena, nest_unit_format_exact(value, unit, text, sizeof text));
}

static bool complete(const struct nest_knob *knob)
{
    return knob->path && knob->name && knob->text && knob->exact;
}

/* ---- Levels and settings ---- */

struct level_knob {
    const char *label;
    enum nest_unit unit;
};

static const struct level_knob level_knob[LEVEL_KNOBS] = {
    [NEST_KNOB_BANDWIDTH] = {"bandwidth", NEST_UNIT_BANDWIDTH},
    [NEST_KNOB_OVERSUBSCRIPTION] = {"oversubscription", NEST_UNIT_RATIO},
    [NEST_KNOB_LATENCY] = {"latency", NEST_UNIT_SECONDS},
};

static double level_value(const struct nest_level_spec *level, enum nest_knob_kind kind)
{
    switch (kind) {
    case NEST_KNOB_BANDWIDTH:
        return level->bandwidth;
    case NEST_KNOB_OVERSUBSCRIPTION:
        return level->oversubscription;
    default:
        return level->latency;
    }
}

static void add_level(struct nest_knob *out, const struct nest_document *document,
                      enum nest_knob_kind kind, int level, struct nest_arena *arena)
{
    const struct nest_level_spec *spec = &document->scenario.cluster.level[level];
    const struct level_knob *how = &level_knob[kind];
    const double value = level_value(spec, kind);
    *out = (struct nest_knob){
        .kind = kind,
        .level = level,
        .pin = -1,
        .path = nest_arena_printf(arena, "cluster.%s.%s", spec->name, how->label),
        .label = how->label,
        .name = nest_arena_printf(arena, "%s %s", spec->name, how->label),
        .text = format(arena, value, how->unit),
        .exact = format_exact(arena, value, how->unit),
    };
}

/* The memory limit, the batch and the model's sizes; a size that the model does not have (experts
 * of a dense one, the shape of measured layers) is left out. Returns how many. */
static int add_settings(struct nest_knob *out, const struct nest_document *document,
                        struct nest_arena *arena)
{
    const double limit = (double)document->problem.memory_limit;
    const struct nest_model_spec *model = &document->scenario.model;
    const bool shaped = model->profile_layers == 0;
    const struct {
        const char *path, *label, *name;
        int64_t value;
    } counts[SETTINGS - 1] = {
        {"train.global_batch", "batch", "global batch, sequences per step",
         document->scenario.train.global_batch},
        {"model.seq", "seq", "sequence length, tokens", model->seq},
        {"model.layers", "layers", "layers of the model", shaped ? model->layers : 0},
        {"model.hidden", "hidden", "hidden size of the model", shaped ? model->hidden : 0},
        {"model.experts", "experts", "routed experts of a layer", shaped ? model->experts : 0},
    };
    int n = 0;
    out[n++] = (struct nest_knob){.path = "limits.memory",
                                  .label = "limit",
                                  .name = "memory limit per device",
                                  .text = format(arena, limit, NEST_UNIT_BYTES),
                                  .exact = format_exact(arena, limit, NEST_UNIT_BYTES)};
    for (int i = 0; i < SETTINGS - 1; i++) {
        if (counts[i].value > 0) {
            const char *text = nest_arena_printf(arena, "%" PRId64, counts[i].value);
            out[n++] = (struct nest_knob){.path = counts[i].path,
                                          .label = counts[i].label,
                                          .name = counts[i].name,
                                          .text = text,
                                          .exact = text};
        }
    }
    for (int i = 0; i < n; i++) {
        out[i].kind = NEST_KNOB_SETTING;
        out[i].level = out[i].pin = -1;
    }
    return n;
}

/* ---- Knobs of the cluster's script ---- */

static void add_param(struct nest_knob *out, const struct nest_param_spec *param,
                      struct nest_arena *arena)
{
    *out = (struct nest_knob){
        .kind = NEST_KNOB_SETTING,
        .level = -1,
        .pin = -1,
        .path = nest_arena_printf(arena, "cluster.%s", param->name),
        .label = param->name,
        .name = nest_arena_printf(arena, "%s of the cluster's script", param->name),
        .text = param->whole ? nest_arena_printf(arena, "%.0f", param->value)
                             : format(arena, param->value, param->unit),
        .exact = format_exact(arena, param->value, param->unit),
    };
}

bool nest_knob_of_script(const struct nest_document *document, const char *path,
                         struct nest_knob *out, struct nest_arena *arena)
{
    const struct nest_cluster_spec *cluster = &document->scenario.cluster;
    for (int i = 0; i < cluster->params; i++) {
        add_param(out, &cluster->param[i], arena);
        if (complete(out) && strcmp(out->path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- Pins ---- */

static const char *pin_path(int pin);

/* In the order of the plan line. */
struct choice {
    int pin;
    const char *label;
    const char *name;
};
static const struct choice choices[] = {
    {NEST_PIN_TP, "tp", "tensor parallel"},
    {NEST_PIN_PP, "pp", "pipeline stages"},
    {NEST_PIN_DP, "dp", "data parallel replicas"},
    {NEST_PIN_CP, "cp", "context parallel"},
    {NEST_PIN_EP, "ep", "expert parallel"},
    {NEST_PIN_ETP, "etp", "tensor parallel of experts"},
    {NEST_PIN_SP, "sp", "sequence parallel"},
    {NEST_PIN_ZERO, "zero", "ZeRO stage"},
    {NEST_PIN_SHARD, "shard", "devices that share one copy of the ZeRO state"},
    {NEST_PIN_MICRO_BATCH, "mb", "micro batch, sequences"},
    {NEST_PIN_VIRTUAL_STAGES, "v", "virtual stages"},
    {NEST_PIN_RECOMPUTE, "rc", "activation recompute"},
    {NEST_PINS, "order", "device order"},
};
enum { CHOICES = sizeof choices / sizeof choices[0] };

const char *nest_knob_label(int pin)
{
    for (int i = 0; i < CHOICES; i++) {
        if (choices[i].pin == pin) {
            return choices[i].label;
        }
    }
    return pin_path(pin);
}

static const char *pin_path(int pin)
{
    return pin == NEST_PINS ? "order" : nest_pin_key_word((enum nest_pin_key)pin);
}

static void pin_value_text(int pin, int64_t value, struct nest_strbuf *out)
{
    if (pin == NEST_PIN_RECOMPUTE) {
        nest_strbuf_add(out, nest_recompute_word((enum nest_recompute)value));
    } else {
        nest_strbuf_printf(out, "%" PRId64, value);
    }
}

static void pinned_text(const struct nest_pins_spec *pins, int pin, struct nest_strbuf *out)
{
    if (pin == NEST_PINS) {
        const struct nest_order_pin *order = &pins->order;
        const struct nest_strategy strategy = {.dp_in = order->dp_in, .dp_out = order->dp_out};
        char text[TEXT];
        if (order->kind == NEST_ORDER_SPLIT) {
            nest_strbuf_add(out, nest_order_format(&strategy, text, sizeof text));
        } else if (order->kind != NEST_ORDER_FREE) {
            nest_strbuf_add(out, order->kind == NEST_ORDER_NEST ? "tp-cp-pp-dp" : "tp-cp-dp-pp");
        }
        return;
    }
    const struct nest_pin *of = &pins->pin[pin];
    for (int i = 0; i < of->count; i++) {
        nest_strbuf_add(out, i > 0 ? "|" : "");
        pin_value_text(pin, of->range[i].low, out);
        if (of->range[i].high != of->range[i].low) {
            nest_strbuf_add(out, "..");
            pin_value_text(pin, of->range[i].high, out);
        }
    }
}

static void add_pin(struct nest_knob *out, const struct choice *choice,
                    const struct nest_document *document, const struct nest_plan *plan,
                    struct nest_arena *arena)
{
    struct nest_strbuf pinned = NEST_STRBUF_INIT(1024);
    struct nest_strbuf value = NEST_STRBUF_INIT(256);
    pinned_text(&document->scenario.pins, choice->pin, &pinned);
    if (plan) {
        nest_plan_choice(plan, choice->pin, &value);
    }
    const bool is_pinned = pinned.length > 0;
    const char *shown = value.length > 0 ? nest_strbuf_text(&value)
                        : is_pinned      ? nest_strbuf_text(&pinned)
                                         : "-";
    *out = (struct nest_knob){
        .kind = NEST_KNOB_PIN,
        .level = -1,
        .pin = choice->pin,
        .path = pin_path(choice->pin),
        .label = choice->label,
        .name = choice->name,
        .text = nest_arena_strdup(arena, shown),
        .exact = nest_arena_strdup(arena, nest_strbuf_text(&pinned)),
        .pinned = is_pinned,
    };
    nest_strbuf_free(&pinned);
    nest_strbuf_free(&value);
}

/* ---- The list ---- */

static const struct nest_knob *list(const struct nest_document *document,
                                    const struct nest_plan *plan, struct nest_arena *arena,
                                    int *count)
{
    const int levels = document->scenario.cluster.levels;
    const int params = document->scenario.cluster.params;
    const int total = LEVEL_KNOBS * levels + SETTINGS + params + CHOICES;
    struct nest_knob *knob = NEST_NEW(arena, struct nest_knob, total);
    *count = 0;
    if (!knob) {
        return NULL;
    }
    int n = 0;
    for (int kind = 0; kind < LEVEL_KNOBS; kind++) {
        for (int level = levels - 1; level >= 0; level--) {
            add_level(&knob[n++], document, (enum nest_knob_kind)kind, level, arena);
        }
    }
    n += add_settings(&knob[n], document, arena);
    for (int i = 0; i < params; i++) {
        add_param(&knob[n++], &document->scenario.cluster.param[i], arena);
    }
    for (int i = 0; i < CHOICES; i++) {
        add_pin(&knob[n++], &choices[i], document, plan, arena);
    }
    for (int i = 0; i < n; i++) {
        if (!complete(&knob[i])) {
            return NULL;
        }
    }
    *count = n;
    return knob;
}

const struct nest_knob *nest_knob_find(const struct nest_knob *knob, int count, const char *path)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(knob[i].path, path) == 0) {
            return &knob[i];
        }
    }
    return NULL;
}

const struct nest_knob *nest_knobs(const struct nest_document *document,
                                   const struct nest_plan *plan, const struct nest_document *saved,
                                   struct nest_arena *arena, int *count)
{
    /* Written to only here, before anyone sees it. */
    struct nest_knob *knob = (struct nest_knob *)list(document, plan, arena, count);
    int others = 0;
    const struct nest_knob *other =
        knob && saved && saved != document ? list(saved, NULL, arena, &others) : NULL;
    for (int i = 0; i < *count && other; i++) {
        const struct nest_knob *was = nest_knob_find(other, others, knob[i].path);
        knob[i].changed = !was || strcmp(was->exact, knob[i].exact) != 0;
    }
    return knob;
}
