#include "input/import/hf.h"

#include <string.h>

enum { SEQ_ASSUMED = 8192 };

/* ---- Keys ---------------------------------------------------------------------------------- */

/* One key, perhaps with dots. */
static const struct nest_node *get_one(const struct nest_node *config, const char *key, size_t n)
{
    char name[96];
    while (config && n > 0) {
        const char *dot = memchr(key, '.', n);
        const size_t part = dot ? (size_t)(dot - key) : n;
        if (part >= sizeof name) {
            return NULL;
        }
        memcpy(name, key, part);
        name[part] = 0;
        config = nest_node_get(config, name);
        key += part + (dot ? 1 : 0);
        n -= part + (dot ? 1 : 0);
    }
    return config;
}

const struct nest_node *nest_hf_get(const struct nest_node *config, const char *keys)
{
    while (*keys) {
        const size_t n = strcspn(keys, " ");
        const struct nest_node *node = get_one(config, keys, n);
        if (node && !nest_node_is_null(node)) {
            return node;
        }
        keys += n + (keys[n] == ' ');
    }
    return NULL;
}

void nest_hf_fault(struct nest_hf *hf, const struct nest_node *node, const char *hint,
                   const char *message)
{
    nest_job_fault_at(hf->job, node, hint, "%s", message);
    hf->faults++;
}

/* A list that has one value per layer counts as that value where they are all equal. */
static const struct nest_node *same_in_all(struct nest_hf *hf, const struct nest_node *node)
{
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        return node;
    }
    for (const struct nest_node *item = node->first; item; item = item->next) {
        if (item->kind != NEST_NODE_SCALAR || strcmp(item->text, node->first->text) != 0) {
            nest_hf_fault(hf, item, "one value for all layers",
                          "a size that differs from layer to layer cannot be described");
            return NULL;
        }
    }
    return node->first;
}

/* "4" and "4.0". */
static bool read_whole(const char *text, int64_t *value)
{
    double number;
    if (nest_text_int(text, value)) {
        return true;
    }
    if (!nest_text_number(text, &number) || !(number >= 0.0 && number <= 1e15)) {
        return false;
    }
    *value = (int64_t)number;
    return (double)*value == number;
}

int64_t nest_hf_int(struct nest_hf *hf, const struct nest_node *config, const char *keys,
                    int64_t fallback)
{
    const struct nest_node *node = nest_hf_get(config, keys);
    int64_t value;
    if (!node) {
        return fallback;
    }
    node = same_in_all(hf, node);
    if (node && node->kind == NEST_NODE_SCALAR && read_whole(node->text, &value) &&
        value <= 1 << 30) {
        return value;
    }
    if (node) {
        nest_hf_fault(hf, node, "a whole number",
                      nest_arena_printf(hf->job->arena, "%s is no size",
                                        nest_node_describe(node, hf->job->arena)));
    }
    return fallback > 0 ? fallback : 1;
}

bool nest_hf_flag(struct nest_hf *hf, const struct nest_node *config, const char *keys,
                  bool fallback)
{
    const struct nest_node *node = nest_hf_get(config, keys);
    if (!node) {
        return fallback;
    }
    if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0) {
        return node->text[0] == 't';
    }
    nest_hf_fault(hf, node, "true or false", "neither true nor false");
    return fallback;
}

const char *nest_hf_text(const struct nest_node *config, const char *keys, const char *fallback)
{
    const struct nest_node *node = nest_hf_get(config, keys);
    return node && node->kind == NEST_NODE_SCALAR ? node->text : fallback;
}

bool nest_hf_has(const struct nest_hf *hf, unsigned trait)
{
    return (hf->family->traits & trait) != 0;
}

int64_t nest_hf_need(struct nest_hf *hf, const char *keys, int64_t class_default)
{
    if (!nest_hf_get(hf->config, keys)) {
        char name[64];
        const size_t n = strcspn(keys, " ");
        memcpy(name, keys, n);
        name[n] = 0;
        if (class_default <= 0) {
            nest_hf_fault(hf, hf->config, NULL,
                          nest_arena_printf(hf->job->arena, "the configuration has no '%s'", name));
            return 1;
        }
        nest_job_note(hf->job, "%s is not in the file: the class default %lld of %s was taken",
                      name, (long long)class_default, hf->type);
    }
    const int64_t value = nest_hf_int(hf, hf->config, keys, class_default);
    if (value < 1) {
        nest_hf_fault(hf, nest_hf_get(hf->config, keys), "1 or more", "a size of nothing");
        return 1;
    }
    return value;
}

/* ---- The rest of a layer ------------------------------------------------------------------- */

static void read_mlp(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    const char *act = nest_hf_text(c,
                                   "hidden_activation hidden_act activation_function "
                                   "feed_forward_proj dense_act_fn activation activation_type "
                                   "ffn_act_fn.name ffn_config.ffn_act_fn.name",
                                   nest_hf_has(hf, NEST_HF_GATED) ? "silu" : "gelu");
    const bool gated = nest_hf_has(hf, NEST_HF_GATED) || strncmp(act, "gated", 5) == 0;
    const bool gelu = strstr(act, "gelu") != NULL;
    const bool relu = strncmp(act, "relu", 4) == 0;
    s->mlp =
        gated ? (gelu ? NEST_MLP_GEGLU : NEST_MLP_SWIGLU) : (relu ? NEST_MLP_RELU : NEST_MLP_GELU);
    const int64_t usual = hf->family->sizes.ffn;
    const int64_t factor = nest_hf_int(hf, c, "expansion_ratio mlp_ratio", 4);
    s->ffn = nest_hf_int(hf, c,
                         "intermediate_size_mlp ffn_hidden_size intermediate_size n_inner ffn_dim "
                         "encoder_ffn_dim d_ff hidden_dim ffn_config.ffn_hidden_size "
                         "ff_intermediate_size mlp_hidden_size inner_hidden_size",
                         usual > 0 ? usual : factor * s->hidden);
    if (strcmp(hf->type, "llama4") != 0 && strcmp(hf->type, "llama4_text") != 0 &&
        nest_hf_get(c, "intermediate_size")) {
        s->ffn = nest_hf_int(hf, c, "intermediate_size", s->ffn);
    }
    if (nest_hf_has(hf, NEST_HF_HALF_FFN)) {
        s->ffn /= 2;
        nest_job_note(hf->job, "the MLP's width counts gate and up projection together");
    }
    if (nest_hf_flag(hf, c, "use_swiglu_ffn", false)) { /* DINOv2: two thirds, in eights */
        s->mlp = NEST_MLP_SWIGLU;
        s->ffn = (s->ffn * 2 / 3 + 7) / 8 * 8;
    }
    if (s->ffn < 1) {
        nest_hf_fault(hf, c, "1 or more", "the MLP has no width");
    }
}

static void read_bias(struct nest_hf *hf)
{
    enum nest_hf_bias bias = hf->family->bias;
    const char *key = hf->family->bias_key;
    if (key && nest_hf_get(hf->config, key)) {
        const bool given = nest_hf_flag(hf, hf->config, key, false);
        const bool attention_only = strstr(key, "attention") || strstr(key, "qkv");
        bias = !given ? NEST_HF_NO_BIAS : attention_only ? NEST_HF_QKV_BIAS : NEST_HF_BIAS;
    }
    if (nest_hf_flag(hf, hf->config, "mlp_bias", false)) {
        bias = NEST_HF_BIAS;
    }
    hf->spec.bias = bias == NEST_HF_BIAS;
    hf->spec.qkv_bias = bias == NEST_HF_QKV_BIAS;
}

static void read_position(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    s->position = hf->family->position;
    if (nest_hf_flag(hf, c, "alibi", false)) {
        s->position = NEST_POSITION_ALIBI;
    }
    if (strcmp(hf->type, "mpt") == 0) {
        s->position = nest_hf_flag(hf, c, "attn_config.alibi", false) ? NEST_POSITION_ALIBI
                                                                      : NEST_POSITION_LEARNED;
    }
    if (nest_hf_has(hf, NEST_HF_ENC_DEC) && s->position == NEST_POSITION_ALIBI) {
        nest_job_note(hf->job, "relative position biases are priced like ALiBi");
    }
    const int64_t reach =
        nest_hf_int(hf, c,
                    "max_position_embeddings n_positions max_seq_len seq_length n_ctx max_length "
                    "max_sequence_length max_source_positions model_max_length",
                    hf->family->sizes.seq > 0 ? hf->family->sizes.seq : SEQ_ASSUMED);
    s->seq = reach < 1 ? 1 : reach;
    if (s->position != NEST_POSITION_LEARNED && reach > SEQ_ASSUMED) {
        s->seq = SEQ_ASSUMED;
        nest_job_note(hf->job,
                      "the model takes up to %lld tokens; training sequences of %d are assumed",
                      (long long)reach, (int)SEQ_ASSUMED);
    }
}

/* ---- Models of more than one kind of layer ------------------------------------------------- */

static void read_encoder_decoder(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const int64_t encoder =
        nest_hf_need(hf, "encoder_layers num_layers num_hidden_layers", hf->family->sizes.layers);
    const int64_t decoder =
        nest_hf_int(hf, hf->config, "decoder_layers num_decoder_layers", encoder);
    s->encoder_layers = encoder;
    s->layers = encoder + decoder;
    const struct nest_node *heads = nest_hf_get(hf->config, "decoder_attention_heads");
    const struct nest_node *ffn = nest_hf_get(hf->config, "decoder_ffn_dim");
    if (heads && nest_hf_int(hf, hf->config, "decoder_attention_heads", 0) != s->heads) {
        nest_hf_fault(hf, heads, "equal heads on both sides",
                      "encoder and decoder differ in heads");
    }
    if (ffn && nest_hf_int(hf, hf->config, "decoder_ffn_dim", 0) != s->ffn) {
        nest_hf_fault(hf, ffn, "equal widths on both sides",
                      "encoder and decoder differ in MLP width");
    }
    nest_job_note(hf->job, "encoder and decoder sequences are taken as equally long");
}

static void read_mamba(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    s->mamba.state = nest_hf_int(hf, c, "mamba_d_state", 16);
    s->mamba.conv = nest_hf_int(hf, c, "mamba_d_conv", 4);
    s->mamba.inner = nest_hf_int(hf, c, "mamba_expand", 2) * s->hidden;
    const struct nest_node *rank = nest_hf_get(c, "mamba_dt_rank");
    s->mamba.rank = rank && strcmp(rank->text, "auto") != 0 ? nest_hf_int(hf, c, "mamba_dt_rank", 0)
                                                            : (s->hidden + 15) / 16;
    s->mamba.attention_every = nest_hf_int(hf, c, "attn_layer_period", 8);
    s->mamba.attention_first = nest_hf_int(hf, c, "attn_layer_offset", 4);
    if (s->mamba.attention_every < 1 || s->mamba.attention_first >= s->mamba.attention_every) {
        nest_hf_fault(hf, c, "an attn_layer_offset below attn_layer_period",
                      "the period of attention layers does not fit");
    }
}

/* An encoder of images: patches are its vocabulary, and as many tokens as there are patches. */
static void read_image(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    const int64_t image = nest_hf_int(hf, c, "image_size", 224);
    const int64_t patch = nest_hf_int(hf, c, "patch_size", 16);
    const int64_t channels = nest_hf_int(hf, c, "num_channels", 3);
    if (patch < 1 || patch > image || channels < 1) {
        nest_hf_fault(hf, c, "a patch_size up to image_size",
                      "the image does not divide into patches");
        return;
    }
    s->vocab = channels * patch * patch;
    s->seq = image / patch * (image / patch) + 1;
    nest_job_note(
        hf->job,
        "an encoder of images: vocab is the %lld values of a patch, seq its %lld patches and "
        "one class token",
        (long long)s->vocab, (long long)s->seq - 1);
}

/* The vocabulary, and the width of its table where that is not the trunk's. */
static void read_vocabulary(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    if (strcmp(hf->type, "hf_olmo") == 0) {
        s->vocab = nest_hf_need(hf, "embedding_size vocab_size", 0);
        return;
    }
    s->vocab = nest_hf_need(hf, "vocab_size padded_vocab_size", hf->family->sizes.vocab);
    const int64_t width = nest_hf_int(hf, hf->config, "word_embed_proj_dim embedding_size", 0);
    s->embed_dim = width == s->hidden ? 0 : width;
}

/* ---- The file ------------------------------------------------------------------------------ */

static void read_trunk(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    const struct nest_hf_sizes *sizes = &hf->family->sizes;
    s->norm = hf->family->norm;
    s->causal = !nest_hf_has(hf, NEST_HF_ENCODER);
    s->hidden = nest_hf_need(hf, "hidden_size n_embd d_model dim", sizes->hidden);
    nest_hf_read_attention(hf);
    read_mlp(hf);
    read_bias(hf);
    read_position(hf);
    if (nest_hf_has(hf, NEST_HF_ENC_DEC)) {
        read_encoder_decoder(hf);
    } else {
        s->layers =
            nest_hf_need(hf, "num_hidden_layers n_layer n_layers num_layers", sizes->layers);
    }
    if (nest_hf_has(hf, NEST_HF_IMAGE)) {
        read_image(hf);
    } else {
        read_vocabulary(hf);
    }
    if (nest_hf_has(hf, NEST_HF_MAMBA)) {
        read_mamba(hf);
    }
    const bool tied = nest_hf_has(hf, NEST_HF_TIED);
    static const char *const tie = "tie_word_embeddings weight_tying";
    const struct nest_node *holder = nest_hf_get(c, tie) ? c : hf->root;
    s->tied = nest_hf_flag(hf, holder, tie, tied);
    if (!nest_hf_get(holder, tie) && !nest_hf_has(hf, NEST_HF_IMAGE)) {
        nest_job_note(hf->job, "tie_word_embeddings is not in the file: %s by default of %s",
                      tied ? "tied" : "not tied", hf->type);
    }
    nest_hf_read_experts(hf);
    if (nest_hf_int(hf, c, "num_nextn_predict_layers num_mtp_modules", 0) > 0) {
        nest_job_note(hf->job, "multi-token prediction layers are left out and not counted");
    }
}

/* "LlamaForCausalLM" → "llama", where a file has no model_type: the known type that is the class's
 * name without what follows For, Model or LMHead, its letters alone compared. */
static const char *type_of_class(const char *class, struct nest_arena *arena)
{
    static const char *const ends[] = {"For", "LMHead", "Model", "PreTrained"};
    const char *end = class + strlen(class);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const char *found = strstr(class + (*class != 0), ends[i]);
        end = found && found < end ? found : end;
    }
    return nest_hf_family_like(nest_arena_strndup(arena, class, (size_t)(end - class)), arena);
}

/* Grok's configurations carry another family's model_type, ChatGLM's first generation its
 * successors'. */
static const char *type_of(struct nest_hf *hf, const struct nest_node *config, const char *fallback)
{
    const struct nest_node *classes = nest_hf_get(hf->root, "architectures");
    const struct nest_node *first = classes ? classes->first : NULL;
    if (first && strncmp(first->text, "Grok1", 5) == 0) {
        return "grok-1";
    }
    const char *type = nest_hf_text(config, "model_type", "");
    if (strcmp(type, "chatglm") == 0 && nest_hf_get(config, "inner_hidden_size")) {
        return "chatglm-6b";
    }
    if (!*type && !*fallback && first && config == hf->root) {
        const char *like = type_of_class(first->text, hf->job->arena);
        if (like) {
            nest_job_note(hf->job, "the file has no model_type: %s is taken for %s", first->text,
                          like);
            return like;
        }
    }
    return *type ? type : fallback;
}

/* Finds the text trunk: the file itself, or the part of it that a file of several towers nests. */
static enum nest_status find_trunk(struct nest_hf *hf)
{
    static const char *const nested = "text_config llm_config language_config";
    static const struct {
        const char *whole, *text;
    } defaults[] = {
        {"llava", "llama"},           {"gemma3", "gemma3_text"}, {"clip", "clip_text_model"},
        {"llama4", "llama4_text"},    {"paligemma", "gemma"},    {"siglip", "siglip_text_model"},
        {"mistral3", "mistral"},      {"llava_next", "llama"},   {"idefics2", "mistral"},
        {"idefics3", "llama"},        {"smolvlm", "llama"},      {"llava_onevision", "qwen2"},
        {"internvl", "qwen2"},        {"aya_vision", "cohere2"}, {"qwen2_vl", "qwen2_vl"},
        {"qwen2_5_vl", "qwen2_5_vl"}, {"qwen3_vl", "qwen3"},     {"qwen3_vl_moe", "qwen3_moe"}};
    const char *whole = type_of(hf, hf->root, "");
    const struct nest_node *text = nest_hf_get(hf->root, nested);
    hf->config = text && text->kind == NEST_NODE_MAPPING ? text : hf->root;
    const char *fallback = whole;
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0] && text; i++) {
        fallback = strcmp(defaults[i].whole, whole) == 0 ? defaults[i].text : fallback;
    }
    hf->type = type_of(hf, hf->config, fallback);
    const struct nest_node *type = nest_hf_get(hf->config, "model_type");
    const struct nest_node *place = type ? type : hf->config;
    if (!*hf->type) {
        return nest_job_fault_at(hf->job, hf->config, "a config.json as transformers writes it",
                                 "the configuration has no 'model_type'");
    }
    const char *reason =
        nest_hf_refusal(*whole && text && nest_hf_refusal(whole) ? whole : hf->type);
    if (reason) {
        return nest_job_fault_at(hf->job, place, NULL, "model type '%s' cannot be imported: %s",
                                 hf->type, reason);
    }
    hf->family = nest_hf_family_find(hf->type);
    if (!hf->family) {
        return nest_job_fault_at(hf->job, place,
                                 "describe it in our own keys, see an example in models/",
                                 "model type '%s' is not known", hf->type);
    }
    return NEST_OK;
}

/* "llama-2-7b" of "…/llama-2-7b.json"; the type where the file is called config.json. */
static const char *name_of(const struct nest_hf *hf)
{
    const char *given = nest_hf_text(hf->root, "_name_or_path", "");
    const char *path = *given ? given : hf->job->file[0].name;
    const char *slash = strrchr(path, '/');
    const char *stem = slash ? slash + 1 : path;
    const char *end = strstr(stem, ".json");
    const char *name =
        nest_arena_strndup(hf->job->arena, stem, end ? (size_t)(end - stem) : strlen(stem));
    return !name || !*name || strcmp(name, "config") == 0 || strcmp(name, "standard input") == 0
               ? hf->type
               : name;
}

enum nest_status nest_import_hf(struct nest_job *job)
{
    struct nest_hf hf = {.job = job};
    enum nest_status status = nest_job_document(job, &hf.root);
    if (status != NEST_OK) {
        return status;
    }
    if (hf.root->kind != NEST_NODE_MAPPING) {
        return nest_job_fault_at(job, hf.root, "a config.json as transformers writes it",
                                 "not a mapping of keys");
    }
    status = find_trunk(&hf);
    if (status != NEST_OK) {
        return status;
    }
    hf.spec.name = name_of(&hf);
    hf.spec.source =
        nest_arena_printf(job->arena, "Hugging Face configuration of type %s", hf.type);
    read_trunk(&hf);
    nest_hf_note_parts(&hf);
    nest_hf_read_vision(&hf);
    nest_hf_check_sizes(&hf);
    if (hf.faults > 0) {
        return NEST_BAD_INPUT;
    }
    nest_hf_write(&hf);
    return NEST_OK;
}
