#include <inttypes.h>
#include <string.h>

#include "input/records.h"
#include "input/set.h"

/* What a plan file says of one stage, before its layer ranges are put together. */
struct written_stage {
    struct nest_plan_stage_spec stage;
    int64_t first_layer, last_layer; /* -1 = not given */
    int64_t devices;                 /* follows from tp and cp, see check_devices */
};

static const struct nest_choice zero_words[] = {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {NULL, 0}};
static const struct nest_choice recompute_words[] = {{"none", NEST_RECOMPUTE_NONE},
                                                     {"selective", NEST_RECOMPUTE_SELECTIVE},
                                                     {"full", NEST_RECOMPUTE_FULL},
                                                     {NULL, 0}};

#define LARGEST 1e12

static bool read_range(struct nest_field_reader *reader, const struct nest_node *node,
                       struct nest_range *out)
{
    if (node->kind != NEST_NODE_SEQUENCE || node->count != 2) {
        nest_node_fault(reader, node, "expected [first, last]", "%s is not a range of layers",
                        nest_node_describe(node, reader->arena));
        return false;
    }
    if (!nest_node_count(reader, node->first, &out->low) ||
        !nest_node_count(reader, node->first->next, &out->high)) {
        return false;
    }
    if (out->low < 0 || out->high < out->low) {
        nest_node_fault(reader, node, "expected [first, last], ascending from 0",
                        "layers %" PRId64 " to %" PRId64 " are not a range", out->low, out->high);
        return false;
    }
    return true;
}

static void read_ranges(struct nest_field_reader *reader, const struct nest_node *node,
                        void *record)
{
    struct nest_plan_stage_spec *stage = &((struct written_stage *)record)->stage;
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        nest_node_fault(reader, node, "expected a list of ranges such as [[0, 10]]",
                        "%s is not a list of layers", nest_node_describe(node, reader->arena));
        return;
    }
    struct nest_range *ranges = NEST_NEW(reader->arena, struct nest_range, node->count);
    int count = 0;
    for (const struct nest_node *range = node->first; ranges && range; range = range->next) {
        count += read_range(reader, range, &ranges[count]);
    }
    stage->layers = ranges;
    stage->ranges = count;
}

#define STAGE(member) .offset = offsetof(struct written_stage, member)
static const struct nest_field stage_fields[] = {
    {.key = "layers", .type = NEST_FIELD_CUSTOM, .read = read_ranges},
    {.key = "first_layer", .type = NEST_FIELD_COUNT, STAGE(first_layer), .high = LARGEST},
    {.key = "last_layer", .type = NEST_FIELD_COUNT, STAGE(last_layer), .high = LARGEST},
    {.key = "recompute",
     .type = NEST_FIELD_CHOICE,
     STAGE(stage.recompute),
     .choice = recompute_words},
    {.key = "zero", .type = NEST_FIELD_CHOICE, STAGE(stage.zero), .choice = zero_words},
    {.key = "tp", .type = NEST_FIELD_COUNT, STAGE(stage.tp), .low = 1, .high = LARGEST},
    {.key = "runs_on", .type = NEST_FIELD_IGNORED},
    {.key = "first_device", .type = NEST_FIELD_COUNT, STAGE(stage.first_device), .high = LARGEST},
    {.key = "devices", .type = NEST_FIELD_COUNT, STAGE(devices), .low = 1, .high = LARGEST},
    {.key = "in_level", .type = NEST_FIELD_IGNORED},
    {.key = "out_level", .type = NEST_FIELD_IGNORED},
    {.key = "load_s", .type = NEST_FIELD_IGNORED},
    NEST_FIELD_END,
};

/* Where both are given, first_layer and last_layer are the ends of the ranges. */
static void check_ends(struct nest_field_reader *reader, const struct nest_node *node,
                       const struct written_stage *written)
{
    const struct nest_range *layers = written->stage.layers;
    const int64_t first = layers[0].low;
    const int64_t last = layers[written->stage.ranges - 1].high;
    if (written->first_layer >= 0 && written->first_layer != first) {
        nest_node_fault(reader, nest_node_get(node, "first_layer"),
                        "expected the first of layers, or only one of the two",
                        "first_layer is %" PRId64 ", but layers begin with %" PRId64,
                        written->first_layer, first);
    }
    if (written->last_layer >= 0 && written->last_layer != last) {
        nest_node_fault(reader, nest_node_get(node, "last_layer"),
                        "expected the last of layers, or only one of the two",
                        "last_layer is %" PRId64 ", but layers end with %" PRId64,
                        written->last_layer, last);
    }
}

/* first_layer and last_layer are the short form of one range. */
static void settle_ranges(struct nest_field_reader *reader, const struct nest_node *node,
                          struct written_stage *written)
{
    if (written->stage.ranges > 0) {
        check_ends(reader, node, written);
        return;
    }
    if (written->first_layer < 0 || written->last_layer < 0) {
        nest_node_fault(reader, node, "expected layers, or first_layer and last_layer",
                        "a stage does not say which layers it holds");
        return;
    }
    struct nest_range *range = NEST_NEW(reader->arena, struct nest_range, 1);
    if (!range) {
        return;
    }
    *range = (struct nest_range){written->first_layer, written->last_layer};
    if (range->high < range->low) {
        nest_node_fault(reader, nest_node_get(node, "last_layer"), "expected at least first_layer",
                        "layers %" PRId64 " to %" PRId64 " are not a range", range->low,
                        range->high);
    }
    written->stage.layers = range;
    written->stage.ranges = 1;
}

static void read_stages(struct nest_field_reader *reader, const struct nest_node *node,
                        void *record)
{
    struct nest_plan_spec *plan = record;
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        nest_node_fault(reader, node, "expected a list of stages, first stage first",
                        "%s is not a list of stages", nest_node_describe(node, reader->arena));
        return;
    }
    struct nest_plan_stage_spec *stages =
        NEST_NEW(reader->arena, struct nest_plan_stage_spec, node->count);
    if (!stages) {
        return;
    }
    for (const struct nest_node *child = node->first; child; child = child->next) {
        const size_t before = reader->errors->count;
        struct written_stage written = {
            .stage = {.zero = -1, .first_device = -1, .mark = child->mark},
            .first_layer = -1,
            .last_layer = -1,
        };
        nest_fields_read(reader, child, stage_fields, "a stage", &written);
        if (reader->errors->count == before) {
            settle_ranges(reader, child, &written);
        }
        stages[child->index] = written.stage;
    }
    plan->stage = stages;
    plan->stages = node->count;
}

static void read_order(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct nest_plan_spec *plan = record;
    const char *text = NULL;
    if (!nest_node_text(reader, node, &text)) {
        return;
    }
    if (!nest_order_parse(text, &plan->order)) {
        nest_node_fault(reader, node, "expected tp-cp-dp-pp, tp-cp-pp-dp or tp-cp-dp:4-pp-dp:8",
                        "unknown order '%.60s'", text);
    }
    plan->order.mark = node->mark;
}

static void read_kinds(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct nest_plan_spec *plan = record;
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        nest_node_fault(reader, node, "expected a list of names of devices",
                        "%s is not a list of kinds of devices",
                        nest_node_describe(node, reader->arena));
        return;
    }
    const char **kind = NEST_NEW(reader->arena, const char *, node->count);
    for (const struct nest_node *child = node->first; kind && child; child = child->next) {
        if (!nest_node_text(reader, child, &kind[child->index])) {
            return;
        }
    }
    plan->kind = kind;
    plan->kinds = kind ? node->count : 0;
    plan->kinds_mark = node->mark;
}

#define AT(member) .offset = offsetof(struct nest_plan_spec, member)
#define DEGREE(word)                                                                               \
    {                                                                                              \
        .key = #word, .type = NEST_FIELD_COUNT, AT(word), .low = 1, .high = LARGEST                \
    }
const struct nest_field nest_plan_fields[] = {
    {.key = "tp", .type = NEST_FIELD_COUNT, AT(tp), .low = 1, .high = LARGEST, .required = true},
    {.key = "pp", .type = NEST_FIELD_COUNT, AT(pp), .low = 1, .high = LARGEST, .required = true},
    {.key = "dp", .type = NEST_FIELD_COUNT, AT(dp), .low = 1, .high = LARGEST, .required = true},
    DEGREE(cp),
    DEGREE(ep),
    DEGREE(etp),
    DEGREE(micro_batch),
    DEGREE(virtual_stages),
    DEGREE(shard),
    DEGREE(span),
    {.key = "sp", .type = NEST_FIELD_FLAG, AT(sp)},
    {.key = "zero", .type = NEST_FIELD_CHOICE, AT(zero), .choice = zero_words, .required = true},
    {.key = "order", .type = NEST_FIELD_CUSTOM, .read = read_order},
    {.key = "kinds", .type = NEST_FIELD_CUSTOM, .read = read_kinds},
    {.key = "stages", .type = NEST_FIELD_CUSTOM, .read = read_stages, .required = true},
    DEGREE(microbatches),
    NEST_FIELD_END,
};

/* A stage's devices follow from its widths. */
static void check_devices(struct nest_field_reader *reader, const struct nest_node *plan,
                          const struct nest_plan_spec *spec)
{
    const struct nest_node *node = nest_node_get(plan, "stages")->first;
    const int64_t cp = spec->cp > 0 ? spec->cp : 1;
    for (int i = 0; i < spec->stages; i++, node = node->next) {
        const struct nest_node *given = nest_node_get(node, "devices");
        const int64_t tp = spec->stage[i].tp > 0 ? spec->stage[i].tp : spec->tp;
        int64_t devices = 0;
        if (given && nest_node_count(reader, given, &devices) && devices != tp * cp) {
            nest_node_fault(reader, given, "expected tp times cp, or leave it out",
                            "devices is %" PRId64 ", but tp %" PRId64 " and cp %" PRId64
                            " make %" PRId64,
                            devices, tp, cp, tp * cp);
        }
    }
}

void nest_plan_read(struct nest_field_reader *reader, const struct nest_node *root,
                    struct nest_plan_spec *out)
{
    const size_t before = reader->errors->count;
    const struct nest_node *inner = nest_node_get(root, "plan");
    const struct nest_node *plan = inner ? inner : root;
    const struct nest_node *sp = nest_node_get(plan, "sp");
    *out = (struct nest_plan_spec){0};
    nest_fields_read(reader, plan, nest_plan_fields, "a plan", out);
    if (!sp) {
        out->sp = out->tp > 1;
    }
    const struct nest_node *microbatches = nest_node_get(plan, "microbatches");
    out->microbatches_mark = microbatches ? microbatches->mark : (struct nest_mark){0};
    if (reader->errors->count == before) {
        check_devices(reader, plan, out);
    }
    if (reader->errors->count == before && out->pp != out->stages) {
        nest_node_fault(reader, nest_node_get(plan, "pp"), "expected the number of stages",
                        "pp is %" PRId64 ", but %d stages are listed", out->pp, out->stages);
    }
}

enum nest_status nest_load_plan(const char *path, struct nest_arena *arena,
                                struct nest_plan_spec *out, struct nest_errors *errors)
{
    struct nest_input input = {NULL, NULL};
    struct nest_field_reader reader = {arena, errors, &input};
    const size_t before = errors->count + errors->dropped;
    const struct nest_node *root = nest_document_load(&reader, path);
    if (root) {
        nest_plan_read(&reader, root, out);
    }
    return nest_input_outcome(errors, before);
}

enum nest_status nest_plan_from_tree(const struct nest_node *root, struct nest_arena *arena,
                                     struct nest_plan_spec *out, struct nest_errors *errors)
{
    struct nest_input input = {NULL, NULL};
    struct nest_field_reader reader = {arena, errors, &input};
    const size_t before = errors->count + errors->dropped;
    nest_plan_read(&reader, root, out);
    nest_errors_sort(errors);
    return errors->count + errors->dropped > before ? NEST_BAD_INPUT : NEST_OK;
}
