#include "input/measurement.h"

#include <stdlib.h>
#include <string.h>

#include "input/doc.h"

/* One record being read, and where its faults go. */
struct reader {
    struct nest_arena *arena;
    struct nest_errors *errors;
    const struct nest_node *record, *model, *platform, *measured;
    bool failed;
};

static const char *text(const struct nest_node *mapping, const char *key)
{
    const struct nest_node *node = mapping ? nest_node_get(mapping, key) : NULL;
    return node && node->kind == NEST_NODE_SCALAR && !nest_node_is_null(node) ? node->text : "";
}

static void fault(struct reader *r, const struct nest_node *node, const char *key, const char *hint)
{
    nest_errors_add(r->errors, node->mark, key, hint, "'%s' is not a number", node->text);
    r->failed = true;
}

static double number(struct reader *r, const struct nest_node *mapping, const char *key)
{
    const struct nest_node *node = mapping ? nest_node_get(mapping, key) : NULL;
    if (!node || nest_node_is_null(node)) {
        return 0.0;
    }
    char *end = NULL;
    const double value = strtod(node->text, &end);
    if (end == node->text || *end != '\0' || !(value >= 0.0 && value < 1e18)) {
        fault(r, node, key, "a number that is not negative, or null");
        return 0.0;
    }
    return value;
}

static int64_t count(struct reader *r, const struct nest_node *mapping, const char *key)
{
    return (int64_t)number(r, mapping, key);
}

static int64_t degree(struct reader *r, const char *key)
{
    const int64_t value = count(r, r->record, key);
    return value > 0 ? value : 1;
}

static bool is(const char *value, const char *word)
{
    return strcmp(value, word) == 0;
}

static void read_model(struct reader *r, struct nest_measurement *m)
{
    const struct nest_node *model = r->model;
    m->model = text(model, "name");
    m->attention = text(model, "attention");
    m->layers = count(r, model, "layers");
    m->hidden = count(r, model, "hidden");
    m->ffn = count(r, model, "ffn");
    m->heads = count(r, model, "heads");
    m->kv_heads = count(r, model, "kv_heads");
    m->head_dim = count(r, model, "head_dim");
    m->vocab = count(r, model, "vocab");
    m->seq = count(r, model, "seq");
    m->experts = count(r, model, "experts");
    m->top_k = count(r, model, "topk");
    m->moe_ffn = count(r, model, "moe_ffn");
    m->shared_experts = count(r, model, "shared_experts");
    m->dense_layers = count(r, model, "dense_layers");
    m->window = count(r, model, "sliding_window");
}

static void read_layout(struct reader *r, struct nest_measurement *m)
{
    m->hardware = text(r->record, "hardware");
    m->device = text(r->platform, "device");
    m->per_node = count(r, r->platform, "per_node");
    m->nic = number(r, r->platform, "nic_gbit_per_device") * 1e9 / 8.0;
    m->devices = count(r, r->record, "gpus");
    m->tp = degree(r, "tp");
    m->pp = degree(r, "pp");
    m->dp = degree(r, "dp");
    m->cp = degree(r, "cp");
    m->ep = degree(r, "ep");
    m->virtual_stages = degree(r, "vpp");
    const char *sp = text(r->record, "sp");
    m->sp = *sp ? is(sp, "true") : -1;
    m->zero = *text(r->record, "zero") ? (int)count(r, r->record, "zero") : -1;
    const char *recompute = text(r->record, "recompute");
    m->recompute = is(recompute, "none")        ? NEST_RECOMPUTE_NONE
                   : is(recompute, "selective") ? NEST_RECOMPUTE_SELECTIVE
                   : is(recompute, "full")      ? NEST_RECOMPUTE_FULL
                                                : -1;
    m->micro_batch = degree(r, "micro_batch");
    m->global_batch = count(r, r->record, "global_batch");
    m->precision = text(r->record, "precision");
}

/* "all" or a number of devices. */
static int64_t shard_group(struct reader *r)
{
    const char *group = text(r->measured, "zero1_shard_group");
    if (*group && !is(group, "all")) {
        return strtoll(group, NULL, 10);
    }
    return count(r, r->measured, "fsdp_shard");
}

static void read_figures(struct reader *r, struct nest_measurement *m)
{
    const struct nest_node *measured = r->measured;
    m->step_time = number(r, measured, "step_time_s");
    m->tokens = number(r, measured, "tokens_per_s_per_gpu");
    m->tflops = number(r, measured, "tflops_per_gpu");
    m->mfu = number(r, measured, "mfu");
    m->hfu = number(r, measured, "hfu");
    m->hardware_tflops = number(r, measured, "hardware_tflops_per_gpu");
    m->memory = number(r, measured, "memory_gib") * 1073741824.0;
    m->memory_allocated = strstr(m->notes, "max_memory_allocated") != NULL;
    m->counts_recompute = strncmp(text(measured, "tflops_kind"), "hardware", 8) == 0;
    m->shard = shard_group(r);
    m->shard_in_node = is(text(measured, "fsdp_mode"), "hybrid");
}

static bool read_record(struct reader *r, const char *table, struct nest_measurement *m)
{
    const struct nest_node *record = r->record;
    r->model = nest_node_get(record, "model");
    r->platform = nest_node_get(record, "platform");
    r->measured = nest_node_get(record, "measured");
    if (record->kind != NEST_NODE_MAPPING || !r->model || !r->measured || !*text(record, "id")) {
        nest_errors_add(r->errors, record->mark, NULL,
                        "id, model, platform, the degrees and measured",
                        "this is not a record of a published run");
        return false;
    }
    const char *family = text(record, "family");
    *m = (struct nest_measurement){.id = text(record, "id"),
                                   .source = text(record, "source"),
                                   .notes = text(record, "notes"),
                                   .table = *family ? family : table,
                                   .mark = record->mark};
    const char *kind = text(record, "kind");
    m->kind = is(kind, "measured")       ? NEST_RUN_MEASURED
              : is(kind, "measured_oom") ? NEST_RUN_OUT_OF_MEMORY
                                         : NEST_RUN_OTHER;
    const char *scored = text(record, "scored");
    m->scored = is(scored, "full")      ? NEST_SCORED_FULL
                : is(scored, "partial") ? NEST_SCORED_PARTIAL
                                        : NEST_SCORED_NO;
    read_model(r, m);
    read_layout(r, m);
    read_figures(r, m);
    return !r->failed;
}

enum nest_status nest_measurements_read(const struct nest_node *root, const char *table,
                                        struct nest_arena *arena, struct nest_measurement **out,
                                        int *total, struct nest_errors *errors)
{
    enum nest_status status = NEST_OK;
    *total = 0;
    if (root->kind != NEST_NODE_SEQUENCE) {
        nest_errors_add(errors, root->mark, NULL, "a list of records", "this is no table of runs");
        return NEST_BAD_INPUT;
    }
    *out = NEST_NEW(arena, struct nest_measurement, root->count);
    if (!*out) {
        return NEST_NO_MEMORY;
    }
    for (const struct nest_node *node = root->first; node; node = node->next) {
        struct reader r = {.arena = arena, .errors = errors, .record = node};
        if (!read_record(&r, table, &(*out)[*total])) {
            status = NEST_BAD_INPUT;
        }
        (*total)++;
    }
    return status;
}
