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

static void fault(struct nest_hf *hf, const struct nest_node *node, const char *hint,
                  const char *message)
{
    nest_job_fault_at(hf->job, node, hint, "%s", message);
    hf->faults++;
}

int64_t nest_hf_int(struct nest_hf *hf, const struct nest_node *config, const char *keys,
                    int64_t fallback)
{
    const struct nest_node *node = nest_hf_get(config, keys);
    int64_t value;
    if (!node) {
        return fallback;
    }
    if (node->kind != NEST_NODE_SCALAR || !nest_text_int(node->text, &value) || value > 1 << 30) {
        fault(hf, node, "a whole number",
              nest_arena_printf(hf->job->arena, "%s is no size",
                                nest_node_describe(node, hf->job->arena)));
        return fallback > 0 ? fallback : 1;
    }
    return value;
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
    fault(hf, node, "true or false", "neither true nor false");
    return fallback;
}

const char *nest_hf_text(const struct nest_node *config, const char *keys, const char *fallback)
{
    const struct nest_node *node = nest_hf_get(config, keys);
    return node && node->kind == NEST_NODE_SCALAR ? node->text : fallback;
}

static bool has(const struct nest_hf *hf, unsigned trait)
{
    return (hf->family->traits & trait) != 0;
}

/* A size that must be there: in the file, or by the class's default, which is noted. */
static int64_t need(struct nest_hf *hf, const char *keys, int64_t class_default)
{
    if (!nest_hf_get(hf->config, keys)) {
        char name[64];
        const size_t n = strcspn(keys, " ");
        memcpy(name, keys, n);
        name[n] = 0;
        if (class_default <= 0) {
            fault(hf, hf->config, NULL,
                  nest_arena_printf(hf->job->arena, "the configuration has no '%s'", name));
            return 1;
        }
        nest_job_note(hf->job, "%s is not in the file: the class default %lld of %s was taken",
                      name, (long long)class_default, hf->type);
    }
    const int64_t value = nest_hf_int(hf, hf->config, keys, class_default);
    if (value < 1) {
        fault(hf, nest_hf_get(hf->config, keys), "1 or more", "a size of nothing");
        return 1;
    }
    return value;
}

/* ---- Attention ----------------------------------------------------------------------------- */

static int64_t read_kv_heads(struct nest_hf *hf)
{
    const struct nest_node *c = hf->config;
    const int64_t heads = hf->spec.heads;
    const bool falcon = strcmp(hf->type, "falcon") == 0 || strncmp(hf->type, "Refined", 7) == 0;
    if (falcon && nest_hf_flag(hf, c, "new_decoder_architecture", false)) {
        return nest_hf_int(hf, c, "num_kv_heads n_head_kv", heads);
    }
    if (has(hf, NEST_HF_MULTI_QUERY)) {
        return nest_hf_flag(hf, c, "multi_query", true) ? 1 : heads;
    }
    const char *grouping = nest_hf_text(c, "attn_config.attn_type", "");
    if (strcmp(grouping, "multiquery_attention") == 0) {
        return 1;
    }
    const int64_t fallback = hf->family->sizes.kv_heads;
    /* The class default of key/value heads belongs to the class default of heads. */
    const bool usual = fallback > 0 && heads == hf->family->sizes.heads &&
                       !nest_hf_get(c, "num_attention_heads n_heads");
    return nest_hf_int(hf, c,
                       "num_key_value_heads num_kv_heads n_head_kv multi_query_group_num "
                       "attn_config.kv_n_heads num_query_groups",
                       usual || (fallback > 0 && strncmp(hf->type, "gemma", 5) == 0) ? fallback
                                                                                     : heads);
}

static void read_mla(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    s->attention = NEST_ATTENTION_MLA;
    s->kv_lora_rank = nest_hf_int(hf, hf->config, "kv_lora_rank", 0);
    s->q_lora_rank = nest_hf_int(hf, hf->config, "q_lora_rank", 0);
    s->qk_nope_dim = need(hf, "qk_nope_head_dim", 128);
    s->qk_rope_dim = need(hf, "qk_rope_head_dim", 64);
    /* MiniCPM3 leaves it out: the even share of a head. */
    s->v_head_dim =
        need(hf, "v_head_dim", strcmp(hf->type, "minicpm3") == 0 ? s->hidden / s->heads : 128);
    s->kv_heads = s->heads;
}

static void read_window(struct nest_hf *hf)
{
    const int64_t window = nest_hf_int(hf, hf->config, "sliding_window", 0);
    const bool used = nest_hf_flag(hf, hf->config, "use_sliding_window", true);
    if (window == 0 || !used) {
        return;
    }
    if (has(hf, NEST_HF_WINDOW)) {
        hf->spec.attention = NEST_ATTENTION_WINDOW;
        hf->spec.window = window;
    } else if (has(hf, NEST_HF_SOME_WINDOW)) {
        nest_job_note(
            hf->job,
            "some layers see a window of %lld tokens only; every layer is priced with full "
            "attention",
            (long long)window);
    }
}

static void read_attention(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    s->heads = need(hf, "num_attention_heads n_head n_heads num_heads encoder_attention_heads",
                    hf->family->sizes.heads);
    s->kv_heads = read_kv_heads(hf);
    if (s->kv_heads < 1 || s->heads % s->kv_heads != 0) {
        fault(hf,
              nest_hf_get(c, "num_key_value_heads num_kv_heads")
                  ? nest_hf_get(c, "num_key_value_heads num_kv_heads")
                  : c,
              "a divisor of the number of heads",
              nest_arena_printf(hf->job->arena,
                                "%lld heads do not share %lld key/value heads evenly",
                                (long long)s->heads, (long long)s->kv_heads));
    }
    const struct nest_node *width = nest_hf_get(c, "head_dim d_kv kv_channels attention_head_dim");
    const int64_t even = s->hidden / s->heads;
    const int64_t class_width = hf->family->sizes.head_dim;
    s->head_dim = width ? nest_hf_int(hf, c, "head_dim d_kv kv_channels attention_head_dim", even)
                        : (class_width > 0 ? class_width : even);
    if (s->head_dim < 1 || (!width && class_width == 0 && s->hidden % s->heads != 0)) {
        fault(hf, c, "give head_dim",
              nest_arena_printf(hf->job->arena, "hidden size %lld does not divide into %lld heads",
                                (long long)s->hidden, (long long)s->heads));
    }
    if (nest_hf_get(c, "kv_lora_rank")) {
        read_mla(hf);
    } else {
        read_window(hf);
    }
    s->qk_norm = nest_hf_flag(hf, c, "use_qk_norm qk_layernorm", has(hf, NEST_HF_QK_NORM));
}

/* ---- The rest of a layer ------------------------------------------------------------------- */

static void read_mlp(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    const char *act = nest_hf_text(c,
                                   "hidden_activation hidden_act activation_function "
                                   "feed_forward_proj dense_act_fn activation ffn_act_fn.name "
                                   "ffn_config.ffn_act_fn.name",
                                   has(hf, NEST_HF_GATED) ? "silu" : "gelu");
    const bool gated = has(hf, NEST_HF_GATED) || strncmp(act, "gated", 5) == 0;
    const bool gelu = strstr(act, "gelu") != NULL;
    const bool relu = strncmp(act, "relu", 4) == 0;
    s->mlp =
        gated ? (gelu ? NEST_MLP_GEGLU : NEST_MLP_SWIGLU) : (relu ? NEST_MLP_RELU : NEST_MLP_GELU);
    const int64_t usual = hf->family->sizes.ffn;
    const int64_t factor = nest_hf_int(hf, c, "expansion_ratio", 4);
    s->ffn = nest_hf_int(hf, c,
                         "intermediate_size_mlp ffn_hidden_size intermediate_size n_inner ffn_dim "
                         "encoder_ffn_dim d_ff hidden_dim ffn_config.ffn_hidden_size",
                         usual > 0 ? usual : factor * s->hidden);
    if (strcmp(hf->type, "llama4") != 0 && strcmp(hf->type, "llama4_text") != 0 &&
        nest_hf_get(c, "intermediate_size")) {
        s->ffn = nest_hf_int(hf, c, "intermediate_size", s->ffn);
    }
    if (has(hf, NEST_HF_HALF_FFN)) {
        s->ffn /= 2;
        nest_job_note(hf->job, "intermediate_size counts gate and up projection together");
    }
    if (s->ffn < 1) {
        fault(hf, c, "1 or more", "the MLP has no width");
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
    if (has(hf, NEST_HF_ENC_DEC) && s->position == NEST_POSITION_ALIBI) {
        nest_job_note(hf->job, "relative position biases are priced like ALiBi");
    }
    const int64_t reach =
        nest_hf_int(hf, c,
                    "max_position_embeddings n_positions max_seq_len seq_length n_ctx max_length "
                    "max_sequence_length",
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
        need(hf, "encoder_layers num_layers num_hidden_layers", hf->family->sizes.layers);
    const int64_t decoder =
        nest_hf_int(hf, hf->config, "decoder_layers num_decoder_layers", encoder);
    s->encoder_layers = encoder;
    s->layers = encoder + decoder;
    const struct nest_node *heads = nest_hf_get(hf->config, "decoder_attention_heads");
    const struct nest_node *ffn = nest_hf_get(hf->config, "decoder_ffn_dim");
    if (heads && nest_hf_int(hf, hf->config, "decoder_attention_heads", 0) != s->heads) {
        fault(hf, heads, "equal heads on both sides", "encoder and decoder differ in heads");
    }
    if (ffn && nest_hf_int(hf, hf->config, "decoder_ffn_dim", 0) != s->ffn) {
        fault(hf, ffn, "equal widths on both sides", "encoder and decoder differ in MLP width");
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
        fault(hf, c, "an attn_layer_offset below attn_layer_period",
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
        fault(hf, c, "a patch_size up to image_size", "the image does not divide into patches");
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

/* ---- The file ------------------------------------------------------------------------------ */

static void read_trunk(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    const struct nest_hf_sizes *sizes = &hf->family->sizes;
    s->norm = hf->family->norm;
    s->causal = !has(hf, NEST_HF_ENCODER);
    s->hidden = need(hf, "hidden_size n_embd d_model dim", sizes->hidden);
    read_attention(hf);
    read_mlp(hf);
    read_bias(hf);
    read_position(hf);
    if (has(hf, NEST_HF_ENC_DEC)) {
        read_encoder_decoder(hf);
    } else {
        s->layers = need(hf, "num_hidden_layers n_layer n_layers num_layers", sizes->layers);
    }
    if (has(hf, NEST_HF_IMAGE)) {
        read_image(hf);
    } else {
        s->vocab = need(hf, "vocab_size padded_vocab_size", sizes->vocab);
    }
    if (has(hf, NEST_HF_MAMBA)) {
        read_mamba(hf);
    }
    const bool tied = has(hf, NEST_HF_TIED);
    const struct nest_node *holder = nest_hf_get(c, "tie_word_embeddings") ? c : hf->root;
    s->tied = nest_hf_flag(hf, holder, "tie_word_embeddings", tied);
    if (!nest_hf_get(holder, "tie_word_embeddings") && !has(hf, NEST_HF_IMAGE)) {
        nest_job_note(hf->job, "tie_word_embeddings is not in the file: %s by default of %s",
                      tied ? "tied" : "not tied", hf->type);
    }
    nest_hf_read_experts(hf);
    if (nest_hf_int(hf, c, "num_nextn_predict_layers num_mtp_modules", 0) > 0) {
        nest_job_note(hf->job, "multi-token prediction layers are left out and not counted");
    }
}

/* Grok's configurations carry another family's model_type. */
static const char *type_of(struct nest_hf *hf, const struct nest_node *config, const char *fallback)
{
    const struct nest_node *classes = nest_hf_get(hf->root, "architectures");
    const struct nest_node *first = classes ? classes->first : NULL;
    if (first && strncmp(first->text, "Grok1", 5) == 0) {
        return "grok-1";
    }
    const char *type = nest_hf_text(config, "model_type", "");
    return *type ? type : fallback;
}

/* Finds the text trunk: the file itself, or the part of it that a file of several towers nests. */
static enum nest_status find_trunk(struct nest_hf *hf)
{
    static const char *const nested = "text_config llm_config language_config";
    static const struct {
        const char *whole, *text;
    } defaults[] = {{"llava", "llama"},          {"gemma3", "gemma3_text"},
                    {"clip", "clip_text_model"}, {"llama4", "llama4_text"},
                    {"paligemma", "gemma"},      {"siglip", "siglip_text_model"},
                    {"mistral3", "mistral"},     {"llava_next", "llama"}};
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
    nest_hf_read_vision(&hf);
    nest_hf_check_sizes(&hf);
    if (hf.faults > 0) {
        return NEST_BAD_INPUT;
    }
    nest_hf_write(&hf);
    return NEST_OK;
}
