#include <string.h>

#include "base/suggest.h"
#include "input/records.h"
#include "input/set.h"

static const struct nest_choice precision_words[] = {
    {"bf16", NEST_BF16}, {"fp16", NEST_FP16}, {"fp8", NEST_FP8}, {"fp32", NEST_FP32}, {NULL, 0}};
static const struct nest_choice optimizer_words[] = {
    {"adam", NEST_ADAM}, {"sgd", NEST_SGD}, {"adam8bit", NEST_ADAM8BIT}, {NULL, 0}};
static const struct nest_choice framework_words[] = {{"megatron", NEST_MEGATRON},
                                                     {"deepspeed", NEST_DEEPSPEED},
                                                     {"torchtitan", NEST_TORCHTITAN},
                                                     {NULL, 0}};

#define TRAIN(member) .offset = offsetof(struct nest_train_spec, member)
const struct nest_field nest_train_fields[] = {
    {.key = "global_batch",
     .type = NEST_FIELD_COUNT,
     TRAIN(global_batch),
     .low = 1,
     .high = 1 << 30},
    {.key = "precision", .type = NEST_FIELD_CHOICE, TRAIN(precision), .choice = precision_words},
    {.key = "optimizer", .type = NEST_FIELD_CHOICE, TRAIN(optimizer), .choice = optimizer_words},
    {.key = "grad_bytes", .type = NEST_FIELD_COUNT, TRAIN(grad_bytes), .low = 1, .high = 8},
    {.key = "weight_bytes", .type = NEST_FIELD_COUNT, TRAIN(weight_bytes), .low = 0, .high = 4},
    {.key = "flash", .type = NEST_FIELD_FLAG, TRAIN(flash)},
    {.key = "fused_loss", .type = NEST_FIELD_FLAG, TRAIN(fused_loss)},
    {.key = "vocab_multiple",
     .type = NEST_FIELD_COUNT,
     TRAIN(vocab_multiple),
     .low = 1,
     .high = 1 << 20},
    {.key = "imbalance", .type = NEST_FIELD_NUMBER, TRAIN(imbalance), .low = 1, .high = 1000},
    {.key = "framework", .type = NEST_FIELD_CHOICE, TRAIN(framework), .choice = framework_words},
    NEST_FIELD_END,
};

const struct nest_field nest_limits_fields[] = {
    {.key = "memory",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BYTES,
     .offset = offsetof(struct nest_limits_spec, memory),
     .low = 1048576,
     .high = 1e15},
    {.key = "devices",
     .type = NEST_FIELD_COUNT,
     .offset = offsetof(struct nest_limits_spec, devices),
     .low = 1,
     .high = 4294967296.0},
    {.key = "span",
     .type = NEST_FIELD_COUNT,
     .offset = offsetof(struct nest_limits_spec, span),
     .low = 1,
     .high = 1e9},
    {.key = "packed", .type = NEST_FIELD_FLAG, .offset = offsetof(struct nest_limits_spec, packed)},
    NEST_FIELD_END,
};

#define KNOB(word)                                                                                 \
    {                                                                                              \
        .key = #word, .type = NEST_FIELD_NUMBER,                                                   \
        .offset = offsetof(struct nest_overlap_spec, word), .low = 0, .high = 1                    \
    }
const struct nest_field nest_overlap_fields[] = {
    KNOB(dp), KNOB(zero), KNOB(tp), KNOB(cp), KNOB(ep), KNOB(pp), NEST_FIELD_END,
};

/* What each framework hides by default. DeepSpeed overlaps gradient traffic only under ZeRO 3
 * (overlap_comm) and has no interleaved schedule. */
void nest_overlap_defaults(struct nest_scenario_spec *scenario)
{
    static const struct nest_overlap_spec defaults[] = {
        [NEST_MEGATRON] = {.dp = 1, .zero = 1, .cp = 1, .pp = 1},
        [NEST_DEEPSPEED] = {.zero = 1, .cp = 1},
        [NEST_TORCHTITAN] = {.dp = 1, .zero = 1, .cp = 1, .pp = 1},
    };
    const struct nest_overlap_spec *of = &defaults[scenario->train.framework];
    const double value[] = {of->dp, of->zero, of->tp, of->cp, of->ep, of->pp};
    struct nest_overlap_spec *own = &scenario->overlap;
    double *const knob[] = {&own->dp, &own->zero, &own->tp, &own->cp, &own->ep, &own->pp};
    for (int i = 0; i < 6; i++) {
        if (!scenario->overlap_given[i]) {
            *knob[i] = value[i];
        }
    }
}

void nest_train_check(const struct nest_scenario_spec *scenario, const struct nest_origin *origin,
                      struct nest_errors *errors)
{
    if (scenario->device.peak[scenario->train.precision] > 0) {
        return;
    }
    struct nest_strbuf hint = NEST_STRBUF_INIT(128);
    for (const struct nest_choice *word = precision_words; word->word; word++) {
        if (scenario->device.peak[word->value] > 0) {
            nest_strbuf_printf(&hint, "%s%s", hint.length > 0 ? ", " : "it has ", word->word);
        }
    }
    nest_origin_fault(origin, errors, "precision", nest_strbuf_text(&hint),
                      "device %s has no %s rate", scenario->device.id,
                      precision_words[scenario->train.precision].word);
    nest_strbuf_free(&hint);
}

/* ---- Reading the parts of a scenario ---- */

/* Read after everything else, in the order that they depend on each other. */
static void read_later(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    (void)reader;
    (void)node;
    (void)record;
}

static void read_train(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct nest_scenario_spec *scenario = record;
    nest_fields_read(reader, node, nest_train_fields, "train", &scenario->train);
    scenario->precision_given = nest_node_get(node, "precision") != NULL;
}

static void read_limits(struct nest_field_reader *reader, const struct nest_node *node,
                        void *record)
{
    nest_fields_read(reader, node, nest_limits_fields, "limits",
                     &((struct nest_scenario_spec *)record)->limits);
}

static void read_overlap(struct nest_field_reader *reader, const struct nest_node *node,
                         void *record)
{
    struct nest_scenario_spec *scenario = record;
    nest_fields_read(reader, node, nest_overlap_fields, "overlap", &scenario->overlap);
    for (int i = 0; nest_overlap_fields[i].key; i++) {
        scenario->overlap_given[i] = nest_node_get(node, nest_overlap_fields[i].key) != NULL;
    }
}

static void read_pin(struct nest_field_reader *reader, const struct nest_node *pin,
                     struct nest_pins_spec *pins)
{
    const int key = nest_pin_key_find(pin->key);
    const bool known = key >= 0 || strcmp(pin->key, "order") == 0;
    if (pin->broken) {
        return;
    }
    if (known && (pin->kind != NEST_NODE_SCALAR || nest_node_is_null(pin))) {
        nest_node_fault(reader, pin, nest_pin_expected(key), "%s cannot be pinned to %s", pin->key,
                        nest_node_describe(pin, reader->arena));
        return;
    }
    (void)nest_pin_set(pins, pin->key, pin->text, known ? pin->mark : pin->key_mark,
                       reader->errors);
}

static void read_pins(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    if (node->kind != NEST_NODE_MAPPING) {
        nest_node_fault(reader, node, "expected a mapping such as {tp: 8, zero: 1}",
                        "%s is not a set of pins", nest_node_describe(node, reader->arena));
        return;
    }
    for (const struct nest_node *pin = node->first; pin; pin = pin->next) {
        read_pin(reader, pin, &((struct nest_scenario_spec *)record)->pins);
    }
}

static void read_allow(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct nest_scenario_spec *scenario = record;
    if (node->kind != NEST_NODE_SEQUENCE) {
        nest_node_fault(reader, node, "expected a list such as [stage_zero, stage_tp]",
                        "%s is not a list", nest_node_describe(node, reader->arena));
        return;
    }
    for (const struct nest_node *word = node->first; word; word = word->next) {
        if (strcmp(word->text, "stage_zero") == 0) {
            scenario->allow_stage_zero = true;
        } else if (strcmp(word->text, "stage_tp") == 0) {
            scenario->allow_stage_tp = true;
        } else if (strcmp(word->text, "ragged_batch") == 0) {
            scenario->allow_ragged_batch = true;
        } else {
            nest_node_fault(reader, word, "expected stage_zero, stage_tp or ragged_batch",
                            "nothing called %s can be allowed",
                            nest_node_describe(word, reader->arena));
        }
    }
}

static void read_scripts(struct nest_field_reader *reader, const struct nest_node *node,
                         void *record)
{
    struct nest_scenario_spec *scenario = record;
    if (node->kind != NEST_NODE_SEQUENCE) {
        nest_node_fault(reader, node, "expected a list of Lua files", "%s is not a list",
                        nest_node_describe(node, reader->arena));
        return;
    }
    struct nest_script_spec *scripts =
        NEST_NEW(reader->arena, struct nest_script_spec, node->count);
    const struct nest_input *input = reader->context;
    int count = 0;
    for (const struct nest_node *script = node->first; scripts && script; script = script->next) {
        const char *name = NULL;
        if (nest_node_text(reader, script, &name)) {
            scripts[count++] = (struct nest_script_spec){
                nest_script_find(reader, name, input->folder), script->mark};
        }
    }
    scenario->script = scripts;
    scenario->scripts = count;
}

/* Those of the command line come after the file's. */
static void add_scripts(struct nest_field_reader *reader,
                        const struct nest_scenario_request *request, struct nest_scenario_spec *out)
{
    if (request->scripts == 0) {
        return;
    }
    const int count = out->scripts + request->scripts;
    struct nest_script_spec *scripts = NEST_NEW(reader->arena, struct nest_script_spec, count);
    for (int i = 0; scripts && i < count; i++) {
        const int own = i - out->scripts;
        scripts[i] =
            own < 0 ? out->script[i]
                    : (struct nest_script_spec){
                          nest_script_find(reader, request->script[own], NULL), {"--script", 1, 1}};
    }
    out->script = scripts;
    out->scripts = scripts ? count : 0;
}

const struct nest_field nest_scenario_fields[] = {
    {.key = "name", .type = NEST_FIELD_TEXT, .offset = offsetof(struct nest_scenario_spec, name)},
    {.key = "model", .type = NEST_FIELD_CUSTOM, .read = read_later},
    {.key = "cluster", .type = NEST_FIELD_CUSTOM, .read = read_later},
    {.key = "profile", .type = NEST_FIELD_CUSTOM, .read = read_later},
    {.key = "train", .type = NEST_FIELD_CUSTOM, .read = read_train},
    {.key = "limits", .type = NEST_FIELD_CUSTOM, .read = read_limits},
    {.key = "overlap", .type = NEST_FIELD_CUSTOM, .read = read_overlap},
    {.key = "pin", .type = NEST_FIELD_CUSTOM, .read = read_pins},
    {.key = "allow", .type = NEST_FIELD_CUSTOM, .read = read_allow},
    {.key = "edits", .type = NEST_FIELD_CUSTOM, .read = read_later},
    {.key = "scripts", .type = NEST_FIELD_CUSTOM, .read = read_scripts},
    NEST_FIELD_END,
};

/* ---- Model and cluster ---- */

struct part {
    struct nest_field_reader *reader;
    const struct nest_node *root; /* the scenario file, or NULL */
    const char *named;            /* from the command line, or NULL */
    const char *option;
    const char *key;
    const char *fallback;
};

/* The name to load, and where it was written; NULL for an inline mapping, a fault or nothing. */
static const char *part_name(const struct part *part, const struct nest_node **inline_node,
                             struct nest_mark *mark)
{
    const struct nest_node *node = nest_node_get(part->root, part->key);
    const char *name = NULL;
    *inline_node = NULL;
    if (part->named) {
        *mark = (struct nest_mark){part->option, 1, 1};
        return part->named;
    }
    if (!part->root) {
        *mark = (struct nest_mark){0};
        return part->fallback;
    }
    if (!node) {
        nest_errors_add(part->reader->errors, part->root->mark, NULL,
                        "give a shipped name, a path or a mapping", "a scenario has no '%s'",
                        part->key);
        return NULL;
    }
    *mark = node->mark;
    if (node->kind == NEST_NODE_MAPPING) {
        *inline_node = node;
        return NULL;
    }
    return nest_node_text(part->reader, node, &name) ? name : NULL;
}

static const char *inline_id(const struct nest_node *node, const char *fallback)
{
    const struct nest_node *name = nest_node_get(node, "name");
    return name && name->text[0] ? name->text : fallback;
}

static void load_model(const struct part *part, struct nest_scenario_spec *out)
{
    const struct nest_input *input = part->reader->context;
    const struct nest_node *node = NULL;
    struct nest_mark mark = {0};
    const char *name = part_name(part, &node, &mark);
    if (node) {
        nest_model_read(part->reader, node, inline_id(node, "model"), &out->model);
    } else if (name) {
        nest_model_load(part->reader, name, mark, part->named ? NULL : input->folder, &out->model);
    }
}

static void load_cluster(const struct part *part, struct nest_scenario_spec *out)
{
    const struct nest_input *input = part->reader->context;
    const struct nest_node *node = NULL;
    struct nest_mark mark = {0};
    const char *name = part_name(part, &node, &mark);
    if (node) {
        nest_cluster_read(part->reader, node, inline_id(node, "cluster"), &out->cluster);
    } else if (name) {
        nest_cluster_load(part->reader, name, mark, part->named ? NULL : input->folder,
                          &out->cluster);
    }
    if (out->cluster.device) {
        out->device = *out->cluster.device;
        out->cluster.device = &out->device;
    }
}

/* ---- Edits ---- */

/* Edits are applied one after the other and checked together, because some make sense only with
 * others (heads and hidden); touched tells where each came from. */
struct edit_list {
    struct nest_field_reader *reader;
    struct nest_scenario_spec *scenario;
    struct nest_touched *touched;
    int count, room;
};

static void note_touched(struct edit_list *list, const char *full, struct nest_mark mark)
{
    if (list->count == list->room) {
        const int room = list->room ? 2 * list->room : 16;
        struct nest_touched *larger = NEST_NEW(list->reader->arena, struct nest_touched, room);
        if (!larger) {
            return;
        }
        if (list->count > 0) {
            memcpy(larger, list->touched, (size_t)list->count * sizeof *larger);
        }
        list->touched = larger;
        list->room = room;
    }
    list->touched[list->count++] = (struct nest_touched){full, mark};
}

static void apply(struct edit_list *list, const char *path, const char *value,
                  struct nest_mark mark, struct nest_mark value_mark)
{
    const char *full = nest_set_deferred(list->scenario, path, value, mark, value_mark,
                                         list->reader->arena, list->reader->errors);
    if (full) {
        note_touched(list, full, value_mark);
    }
}

static bool edit_value(struct nest_field_reader *reader, const struct nest_node *node,
                       const char **out)
{
    if (node->kind == NEST_NODE_SCALAR && !nest_node_is_null(node)) {
        *out = node->text;
        return !node->broken;
    }
    nest_node_fault(reader, node, "expected a value", "%s cannot be set",
                    nest_node_describe(node, reader->arena));
    return false;
}

static bool has_level(struct edit_list *list, const struct nest_node *level)
{
    const struct nest_cluster_spec *cluster = &list->scenario->cluster;
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, level->text);
    for (int i = 0; i < cluster->levels; i++) {
        if (strcmp(cluster->level[i].name, level->text) == 0) {
            return true;
        }
        nest_suggest_offer(&suggest, cluster->level[i].name);
    }
    const char *hint =
        suggest.best ? nest_arena_printf(list->reader->arena, "did you mean '%s'?", suggest.best)
                     : "expected the name of a level of the cluster";
    nest_node_fault(list->reader, level, hint, "there is no level %s",
                    nest_node_describe(level, list->reader->arena));
    return false;
}

/* {PATH: value, …} or {level: NAME, FIELD: value, …}. */
static void apply_edit(struct edit_list *list, const struct nest_node *edit)
{
    const struct nest_node *level = nest_node_get(edit, "level");
    if (edit->kind != NEST_NODE_MAPPING) {
        nest_node_fault(list->reader, edit, "expected {PATH: value} or {level: NAME, FIELD: value}",
                        "%s is not an edit", nest_node_describe(edit, list->reader->arena));
        return;
    }
    if (level && !has_level(list, level)) {
        return;
    }
    if (edit->count == (level != NULL)) {
        nest_node_fault(list->reader, edit, "expected {PATH: value} or {level: NAME, FIELD: value}",
                        "this edit changes nothing");
    }
    for (const struct nest_node *child = edit->first; child; child = child->next) {
        const char *value = NULL;
        const char *path = child->key;
        if (child == level) {
            continue;
        }
        if (level) {
            path = nest_arena_printf(list->reader->arena, "cluster.%s.%s", level->text, child->key);
        }
        if (path && edit_value(list->reader, child, &value)) {
            apply(list, path, value, child->key_mark, child->mark);
        }
    }
}

static void apply_file_edits(struct edit_list *list, const struct nest_node *edits)
{
    if (!edits) {
        return;
    }
    if (edits->kind != NEST_NODE_SEQUENCE) {
        nest_node_fault(list->reader, edits, "expected a list such as [{limits.memory: 76GiB}]",
                        "%s is not a list of edits",
                        nest_node_describe(edits, list->reader->arena));
        return;
    }
    for (const struct nest_node *edit = edits->first; edit; edit = edit->next) {
        apply_edit(list, edit);
    }
}

static void apply_set(struct edit_list *list, const char *text)
{
    const char *equals = strchr(text, '=');
    struct nest_mark mark = {"--set", 1, 1};
    if (!equals || equals == text) {
        nest_errors_add(list->reader->errors, mark, NULL,
                        "expected PATH=VALUE, such as spine.bandwidth=400Gb/s",
                        "'%.80s' sets nothing", text);
        return;
    }
    const char *path = nest_arena_strndup(list->reader->arena, text, (size_t)(equals - text));
    struct nest_mark value_mark = {"--set", 1, (int)(equals - text) + 2};
    if (path) {
        apply(list, path, equals + 1, mark, value_mark);
    }
}

static void apply_pins(struct edit_list *list, const char *text)
{
    for (const char *item = text; item;) {
        const char *comma = strchr(item, ',');
        const size_t length = comma ? (size_t)(comma - item) : strlen(item);
        const char *equals = memchr(item, '=', length);
        struct nest_mark mark = {"--pin", 1, (int)(item - text) + 1};
        char *pair = nest_arena_strndup(list->reader->arena, item, length);
        if (!pair) {
            return;
        }
        if (!equals || equals == item) {
            nest_errors_add(list->reader->errors, mark, NULL, "expected KEY=VALUE, such as tp=8",
                            "'%.80s' pins nothing", pair);
        } else {
            const size_t key = (size_t)(equals - item);
            pair[key] = '\0';
            if (nest_pin_key_find(pair) >= 0 || strcmp(pair, "order") == 0) {
                mark.column += (int)key + 1;
            }
            (void)nest_pin_set(&list->scenario->pins, pair, pair + key + 1, mark,
                               list->reader->errors);
        }
        item = comma ? comma + 1 : NULL;
    }
}

void nest_scenario_defaults(struct nest_scenario_spec *out)
{
    *out = (struct nest_scenario_spec){
        .name = "",
        .train = {.global_batch = 1024,
                  .precision = NEST_BF16,
                  .optimizer = NEST_ADAM,
                  .grad_bytes = 4,
                  .flash = true,
                  .fused_loss = true,
                  .vocab_multiple = 128,
                  .imbalance = 1,
                  .framework = NEST_MEGATRON},
    };
}

/* A fault of an untouched key lies in the file. */
static void check_whole(const struct edit_list *list, const struct nest_node *root)
{
    const struct nest_node *train = nest_node_get(root, "train");
    const struct nest_node *precision = nest_node_get(train, "precision");
    struct nest_mark fallback = list->count > 0 ? list->touched[list->count - 1].mark
                                : root          ? root->mark
                                                : (struct nest_mark){0};
    if (precision) {
        fallback = precision->mark;
    }
    nest_scenario_check(list->scenario, list->touched, list->count, fallback, list->reader->errors);
}

static size_t fault_count(const struct nest_errors *errors)
{
    return errors->count + errors->dropped;
}

/* Measured times in place of those the model's own file names: the command line's, else the
 * scenario's. */
static void load_times(struct nest_field_reader *reader, const struct nest_node *root,
                       const struct nest_scenario_request *request, struct nest_scenario_spec *out)
{
    const struct nest_input *input = reader->context;
    const struct nest_node *node = nest_node_get(root, "profile");
    const char *name = NULL;
    nest_model_derive(&out->model);
    if (request->profile) {
        nest_measured_load(reader, request->profile, (struct nest_mark){"--profile", 1, 1}, NULL,
                           &out->model);
    } else if (node && nest_node_text(reader, node, &name)) {
        nest_measured_load(reader, name, node->mark, input->folder, &out->model);
    } else {
        return;
    }
    out->model.measured_own = false;
}

/* Model and cluster must stand before anything of them can be edited. */
static bool load_parts(struct nest_field_reader *reader, const struct nest_node *root,
                       const struct nest_scenario_request *request, struct nest_scenario_spec *out)
{
    const struct part model = {reader, root, request->model, "--model", "model", "llama3-70b"};
    const struct part cluster = {reader,      root,      request->cluster,
                                 "--cluster", "cluster", "h100-spine-leaf"};
    const size_t before = fault_count(reader->errors);
    load_model(&model, out);
    load_cluster(&cluster, out);
    return fault_count(reader->errors) == before && out->model.id && out->cluster.device;
}

void nest_scenario_read(struct nest_field_reader *reader, const struct nest_node *root,
                        const struct nest_scenario_request *request, struct nest_scenario_spec *out)
{
    nest_scenario_defaults(out);
    if (root) {
        nest_fields_read(reader, root, nest_scenario_fields, "a scenario", out);
        if (root->kind != NEST_NODE_MAPPING) {
            return;
        }
    }
    const bool whole = load_parts(reader, root, request, out);
    const size_t before = fault_count(reader->errors);
    if (whole) {
        load_times(reader, root, request, out);
    }
    struct edit_list list = {.reader = reader, .scenario = out};
    if (whole) {
        nest_scenario_settle(out);
        apply_file_edits(&list, nest_node_get(root, "edits"));
        for (int i = 0; i < request->sets; i++) {
            apply_set(&list, request->set[i]);
        }
    }
    if (whole && fault_count(reader->errors) == before) {
        nest_scenario_settle(out);
        check_whole(&list, root);
    }
    add_scripts(reader, request, out);
    for (int i = 0; i < request->pins; i++) {
        apply_pins(&list, request->pin[i]);
    }
}

enum nest_status nest_load_scenario(const struct nest_library *library,
                                    const struct nest_scenario_request *request,
                                    struct nest_arena *arena, struct nest_scenario_spec *out,
                                    struct nest_errors *errors)
{
    struct nest_input input = {library, NULL};
    struct nest_field_reader reader = {arena, errors, &input};
    const struct nest_node *root = NULL;
    const size_t before = errors->count + errors->dropped;
    if (request->scenario) {
        root = nest_document_load(&reader, request->scenario);
        input.folder = nest_folder_of(arena, request->scenario);
    }
    if (root || !request->scenario) {
        nest_scenario_read(&reader, root, request, out);
    }
    return nest_input_outcome(errors, before);
}

enum nest_status nest_scenario_from_tree(const struct nest_library *library,
                                         const struct nest_node *root, struct nest_arena *arena,
                                         struct nest_scenario_spec *out, struct nest_errors *errors)
{
    const struct nest_scenario_request nothing = {0};
    struct nest_input input = {library, NULL};
    struct nest_field_reader reader = {arena, errors, &input};
    const size_t before = errors->count + errors->dropped;
    nest_scenario_read(&reader, root, &nothing, out);
    nest_errors_sort(errors);
    return errors->count + errors->dropped > before ? NEST_BAD_INPUT : NEST_OK;
}
