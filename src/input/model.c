#include <inttypes.h>
#include <string.h>

#include "input/records.h"

#define AT(member) .offset = offsetof(struct nest_model_spec, member)
#define SIZE(word, member, least, most)                                                            \
    {                                                                                              \
        .key = (word), .type = NEST_FIELD_COUNT, AT(member), .low = (least), .high = (most)        \
    }
#define FLAG(word, member)                                                                         \
    {                                                                                              \
        .key = (word), .type = NEST_FIELD_FLAG, AT(member)                                         \
    }
#define CHOICE(word, member, words)                                                                \
    {                                                                                              \
        .key = (word), .type = NEST_FIELD_CHOICE, AT(member), .choice = (words)                    \
    }

static const struct nest_choice mlp_words[] = {
    {"swiglu", NEST_MLP_SWIGLU},
    {"geglu", NEST_MLP_GEGLU},
    {"gelu", NEST_MLP_GELU},
    {"relu", NEST_MLP_RELU},
    {NULL, 0},
};
static const struct nest_choice norm_words[] = {
    {"rms", NEST_NORM_RMS}, {"layer", NEST_NORM_LAYER}, {NULL, 0}};
static const struct nest_choice position_words[] = {
    {"rope", NEST_POSITION_ROPE},
    {"learned", NEST_POSITION_LEARNED},
    {"alibi", NEST_POSITION_ALIBI},
    {NULL, 0},
};
static const struct nest_choice attention_words[] = {
    {"full", NEST_ATTENTION_FULL},
    {"mla", NEST_ATTENTION_MLA},
    {"window", NEST_ATTENTION_WINDOW},
    {NULL, 0},
};

/* Of a profile: whether its times contain the TP and EP collectives. */
static void read_collectives(struct nest_field_reader *reader, const struct nest_node *node,
                             void *record)
{
    struct nest_model_spec *model = record;
    if (strcmp(node->text, "included") != 0 && strcmp(node->text, "separate") != 0) {
        nest_node_fault(reader, node, "expected included or separate", "collectives cannot be %s",
                        nest_node_describe(node, reader->arena));
        return;
    }
    model->profile_collectives_included = node->text[0] == 'i';
}

static const struct nest_field vision_fields[] = {
    SIZE("layers", vision.layers, 1, 100000),
    SIZE("hidden", vision.hidden, 1, 1 << 20),
    SIZE("ffn", vision.ffn, 1, 1 << 24),
    SIZE("heads", vision.heads, 1, 1 << 16),
    SIZE("tokens", vision.tokens, 1, 1 << 28),
    SIZE("patch", vision.patch, 1, 1 << 12),
    SIZE("projection", vision.projection, 1, 2),
    SIZE("projection_hidden", vision.projection_hidden, 0, 1 << 20),
    SIZE("projectors", vision.projectors, 0, 4),
    SIZE("resampler", vision.resampler, 0, 1e12),
    SIZE("merge", vision.merge, 0, 1 << 10),
    FLAG("gated", vision.gated),
    NEST_FIELD_END,
};

static const struct nest_field mamba_fields[] = {
    SIZE("state", mamba.state, 1, 1 << 16),
    SIZE("conv", mamba.conv, 1, 1 << 10),
    SIZE("inner", mamba.inner, 1, 1 << 24),
    SIZE("rank", mamba.rank, 1, 1 << 20),
    SIZE("attention_every", mamba.attention_every, 1, 100000),
    {.key = "attention_first", .type = NEST_FIELD_COUNT, AT(mamba.attention_first), .high = 100000},
    NEST_FIELD_END,
};

const struct nest_field nest_model_fields[] = {
    {.key = "name", .type = NEST_FIELD_TEXT, AT(name)},
    {.key = "aliases", .type = NEST_FIELD_IGNORED},
    {.key = "source", .type = NEST_FIELD_TEXT, AT(source)},
    SIZE("layers", layers, 1, 100000),
    SIZE("hidden", hidden, 1, 1 << 20),
    SIZE("ffn", ffn, 1, 1 << 24),
    SIZE("heads", heads, 1, 1 << 16),
    SIZE("kv_heads", kv_heads, 1, 1 << 16),
    SIZE("head_dim", head_dim, 1, 1 << 16),
    SIZE("vocab", vocab, 1, 1 << 28),
    SIZE("embed_dim", embed_dim, 0, 1 << 20),
    SIZE("seq", seq, 1, 1 << 28),
    CHOICE("mlp", mlp, mlp_words),
    CHOICE("norm", norm, norm_words),
    FLAG("bias", bias),
    FLAG("qkv_bias", qkv_bias),
    FLAG("qk_norm", qk_norm),
    FLAG("tied", tied),
    CHOICE("position", position, position_words),
    CHOICE("attention", attention, attention_words),
    SIZE("window", window, 1, 1 << 28),
    SIZE("full_every", full_every, 0, 100000),
    SIZE("full_first", full_first, 0, 100000),
    SIZE("q_lora_rank", q_lora_rank, 1, 1 << 20),
    SIZE("kv_lora_rank", kv_lora_rank, 1, 1 << 20),
    SIZE("qk_nope_dim", qk_nope_dim, 1, 1 << 16),
    SIZE("qk_rope_dim", qk_rope_dim, 1, 1 << 16),
    SIZE("v_head_dim", v_head_dim, 1, 1 << 16),
    SIZE("experts", experts, 1, 1 << 16),
    SIZE("top_k", top_k, 1, 1 << 16),
    SIZE("moe_ffn", moe_ffn, 1, 1 << 24),
    SIZE("shared_experts", shared_experts, 0, 1 << 10),
    SIZE("shared_ffn", shared_ffn, 0, 1 << 24),
    {.key = "dense_layers", .type = NEST_FIELD_COUNT, AT(dense_layers), .high = 100000},
    SIZE("moe_every", moe_every, 1, 1000),
    FLAG("router_bias", router_bias),
    {.key = "capacity", .type = NEST_FIELD_NUMBER, AT(capacity), .high = 1000},
    FLAG("causal", causal),
    {.key = "encoder_layers", .type = NEST_FIELD_COUNT, AT(encoder_layers), .high = 100000},
    {.key = "vision", .type = NEST_FIELD_TABLE, .table = vision_fields},
    {.key = "mamba", .type = NEST_FIELD_TABLE, .table = mamba_fields},
    {.key = "params", .type = NEST_FIELD_NUMBER, AT(params_published), .low = 1, .high = 1e16},
    {.key = "active_params",
     .type = NEST_FIELD_NUMBER,
     AT(params_active_published),
     .low = 1,
     .high = 1e16},
    {.key = "profile", .type = NEST_FIELD_CUSTOM, .read = nest_profile_read},
    {.key = "graph", .type = NEST_FIELD_CUSTOM, .read = nest_layer_graph_read},
    {.key = "collectives", .type = NEST_FIELD_CUSTOM, .read = read_collectives},
    NEST_FIELD_END,
};

void nest_model_derive(struct nest_model_spec *model)
{
    if (!model->kv_heads_given) {
        model->kv_heads = model->heads;
    }
    if (!model->head_dim_given && model->heads > 0) {
        model->head_dim = model->hidden / model->heads;
    }
    if (!model->moe_ffn_given) {
        model->moe_ffn = model->experts > 0 ? model->ffn : 0;
    }
}

/* Whether a value takes part in the checks across keys: one that could not be read is 0, and its
 * own fault is enough. */
static bool is_read(const struct nest_origin *origin, const char *key, int64_t value)
{
    return value != 0 || !nest_node_get(origin->root, key);
}

/* The divisor of n that is nearest to value, the smaller of two. */
static int64_t nearest_divisor(int64_t n, int64_t value)
{
    int64_t best = 1;
    for (int64_t d = 1; d <= n / d; d++) {
        const int64_t pair[] = {d, n / d};
        for (int i = 0; n % d == 0 && i < 2; i++) {
            const int64_t off = pair[i] > value ? pair[i] - value : value - pair[i];
            const int64_t least = best > value ? best - value : value - best;
            best = off < least || (off == least && pair[i] < best) ? pair[i] : best;
        }
    }
    return best;
}

static int64_t nearest_multiple(int64_t n, int64_t value)
{
    const int64_t below = value / n * n;
    return below > 0 && value - below <= below + n - value ? below : below + n;
}

static void check_heads(const struct nest_model_spec *model, const struct nest_origin *origin,
                        struct nest_errors *errors)
{
    if (model->heads == 0) {
        return;
    }
    if (!model->head_dim_given && model->attention != NEST_ATTENTION_MLA &&
        model->hidden % model->heads != 0) {
        const char *hint =
            nest_arena_printf(errors->arena,
                              "expected a divisor of hidden, or give head_dim; nearest are %" PRId64
                              " heads, or a hidden size of %" PRId64,
                              nearest_divisor(model->hidden, model->heads),
                              nearest_multiple(model->heads, model->hidden));
        nest_origin_fault(origin, errors, "heads", hint,
                          "hidden %" PRId64 " does not divide into %" PRId64 " heads",
                          model->hidden, model->heads);
    }
    if (model->kv_heads > 0 && model->heads % model->kv_heads != 0) {
        const char *hint = nest_arena_printf(errors->arena,
                                             "expected a divisor of heads; nearest are %" PRId64
                                             " key/value heads, or %" PRId64 " heads",
                                             nearest_divisor(model->heads, model->kv_heads),
                                             nearest_multiple(model->kv_heads, model->heads));
        nest_origin_fault(origin, errors, "kv_heads", hint,
                          "%" PRId64 " heads do not share %" PRId64 " key/value heads evenly",
                          model->heads, model->kv_heads);
    }
}

static void check_attention(const struct nest_model_spec *model, const struct nest_origin *origin,
                            struct nest_errors *errors)
{
    const struct {
        const char *key;
        int64_t value;
    } needed[] = {{"kv_lora_rank", model->kv_lora_rank},
                  {"qk_nope_dim", model->qk_nope_dim},
                  {"qk_rope_dim", model->qk_rope_dim},
                  {"v_head_dim", model->v_head_dim}};
    const size_t count = sizeof needed / sizeof needed[0];
    if (model->attention == NEST_ATTENTION_WINDOW && model->window == 0 &&
        is_read(origin, "window", 0)) {
        nest_origin_fault(origin, errors, "attention", "add window: TOKENS",
                          "window attention has no 'window'");
    }
    if (model->full_every > 0 && model->attention != NEST_ATTENTION_WINDOW) {
        nest_origin_fault(origin, errors, "full_every", "add attention: window and window: TOKENS",
                          "full_every without window attention");
    }
    if (model->full_first > 0 && model->full_first >= model->full_every) {
        nest_origin_fault(origin, errors, "full_first", "expected less than full_every",
                          "full_first %" PRId64 " is outside a period of %" PRId64 " layers",
                          model->full_first, model->full_every);
    }
    for (size_t i = 0; model->attention == NEST_ATTENTION_MLA && i < count; i++) {
        if (needed[i].value == 0 && is_read(origin, needed[i].key, 0)) {
            nest_origin_fault(origin, errors, "attention",
                              "MLA needs kv_lora_rank, qk_nope_dim, qk_rope_dim and v_head_dim",
                              "mla attention has no '%s'", needed[i].key);
        }
    }
}

static void check_experts(const struct nest_model_spec *model, const struct nest_origin *origin,
                          struct nest_errors *errors)
{
    if (model->experts > 0 && model->top_k == 0 && is_read(origin, "top_k", 0)) {
        nest_origin_fault(origin, errors, "experts", "add top_k: experts that one token uses",
                          "a model of experts has no 'top_k'");
    }
    if (model->top_k > model->experts && is_read(origin, "experts", model->experts)) {
        nest_origin_fault(origin, errors, "top_k",
                          model->experts > 0 ? "expected at most the number of experts"
                                             : "add experts: how many there are",
                          "top_k %" PRId64 " exceeds %" PRId64 " experts", model->top_k,
                          model->experts);
    }
    if (model->dense_layers > model->layers && model->layers > 0) {
        nest_origin_fault(origin, errors, "dense_layers", "expected at most the number of layers",
                          "dense_layers %" PRId64 " exceeds %" PRId64 " layers",
                          model->dense_layers, model->layers);
    }
}

static int64_t part_size(const struct nest_field *field, const struct nest_model_spec *model)
{
    const void *place = (const char *)model + field->offset;
    return field->type == NEST_FIELD_FLAG ? *(const bool *)place : *(const int64_t *)place;
}

/* A part that is there at all has all of its sizes. Parts hold counts and flags only. */
static void check_part(const char *key, const struct nest_field *table,
                       const struct nest_model_spec *model, const struct nest_origin *origin,
                       struct nest_errors *errors)
{
    const struct nest_node *part = nest_node_get(origin->root, key);
    bool there = part != NULL;
    for (const struct nest_field *field = table; field->key; field++) {
        there = there || part_size(field, model) != 0;
    }
    for (const struct nest_field *field = table; there && field->key; field++) {
        if (field->type == NEST_FIELD_COUNT && field->low > 0 && part_size(field, model) == 0 &&
            !nest_fields_mean(part, table, field->key)) {
            nest_origin_fault(origin, errors, key, NULL, "%s has no '%s'", key, field->key);
        }
    }
}

static void check_parts(const struct nest_model_spec *model, const struct nest_origin *origin,
                        struct nest_errors *errors)
{
    check_part("vision", vision_fields, model, origin, errors);
    check_part("mamba", mamba_fields, model, origin, errors);
    if (model->vision.heads > 0 && model->vision.hidden % model->vision.heads != 0) {
        nest_origin_fault(origin, errors, "vision", "expected a divisor of hidden",
                          "hidden %" PRId64 " does not divide into %" PRId64 " heads",
                          model->vision.hidden, model->vision.heads);
    }
    if (model->encoder_layers > model->layers && model->layers > 0) {
        nest_origin_fault(origin, errors, "encoder_layers", "they are the first of the layers",
                          "encoder_layers %" PRId64 " exceeds %" PRId64 " layers",
                          model->encoder_layers, model->layers);
    }
}

void nest_model_check(const struct nest_model_spec *model, const struct nest_origin *origin,
                      struct nest_errors *errors)
{
    if (model->profile_layers == 0) {
        check_heads(model, origin, errors);
        check_attention(model, origin, errors);
        check_experts(model, origin, errors);
        check_parts(model, origin, errors);
    }
}

static void require_shape(struct nest_field_reader *reader, const struct nest_node *root)
{
    static const char *const needed[] = {"layers", "hidden", "ffn", "heads", "vocab", "seq"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (!nest_fields_mean(root, nest_model_fields, needed[i])) {
            nest_errors_add(reader->errors, root->mark, nest_node_path(root, reader->arena), NULL,
                            "a model has no '%s'", needed[i]);
        }
    }
}

void nest_model_defaults(struct nest_model_spec *out, const char *id)
{
    *out = (struct nest_model_spec){
        .id = id,
        .name = id,
        .source = "",
        .mlp = NEST_MLP_SWIGLU,
        .norm = NEST_NORM_RMS,
        .position = NEST_POSITION_ROPE,
        .attention = NEST_ATTENTION_FULL,
        .causal = true,
        .moe_every = 1,
    };
}

void nest_model_read(struct nest_field_reader *reader, const struct nest_node *root, const char *id,
                     struct nest_model_spec *out)
{
    nest_model_defaults(out, id);
    out->kv_heads_given = nest_node_get(root, "kv_heads") != NULL;
    out->head_dim_given = nest_node_get(root, "head_dim") != NULL;
    out->moe_ffn_given = nest_node_get(root, "moe_ffn") != NULL;
    nest_fields_read(reader, root, nest_model_fields, "a model", out);
    if (root->kind != NEST_NODE_MAPPING) {
        return;
    }
    const struct nest_node *profile = nest_node_get(root, "profile");
    const bool times = profile && profile->kind == NEST_NODE_SCALAR && !nest_node_is_null(profile);
    const size_t before = reader->errors->count + reader->errors->dropped;
    if (times || (!profile && !nest_node_get(root, "graph"))) {
        require_shape(reader, root);
    }
    const struct nest_origin origin = {.root = root};
    nest_model_derive(out);
    nest_model_check(out, &origin, reader->errors);
    if (times && reader->errors->count + reader->errors->dropped == before) {
        const struct nest_input *input = reader->context;
        nest_measured_load(reader, profile->text, profile->mark, input ? input->folder : NULL, out);
        out->measured_own = true;
    }
}
