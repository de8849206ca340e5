/* How the layers of a configuration attend: heads, latent projections, windows. */
#include <string.h>

#include "input/import/hf.h"

static int64_t read_kv_heads(struct nest_hf *hf)
{
    static const char *const keys = "num_key_value_heads num_kv_heads n_head_kv "
                                    "multi_query_group_num attn_config.kv_n_heads num_query_groups";
    const struct nest_node *c = hf->config;
    const int64_t heads = hf->spec.heads;
    /* Falcon 40B's first releases say RefinedWeb and have no new_decoder_architecture. */
    const bool old_falcon = strcmp(hf->type, "RefinedWeb") == 0 && nest_hf_get(c, "n_head_kv");
    const bool falcon = strcmp(hf->type, "falcon") == 0 || strncmp(hf->type, "Refined", 7) == 0;
    if (falcon && nest_hf_flag(hf, c, "new_decoder_architecture", old_falcon)) {
        return nest_hf_int(hf, c, "num_kv_heads n_head_kv", heads);
    }
    if (nest_hf_has(hf, NEST_HF_MULTI_QUERY)) {
        return nest_hf_flag(hf, c, "multi_query", true) ? 1 : heads;
    }
    const char *grouping = nest_hf_text(c, "attn_config.attn_type", "");
    if (strcmp(grouping, "multiquery_attention") == 0 ||
        (strcmp(hf->type, "hf_olmo") == 0 && nest_hf_flag(hf, c, "multi_query_attention", false))) {
        return 1;
    }
    const int64_t fallback = hf->family->sizes.kv_heads;
    /* The class default of key/value heads belongs to the class default of heads. */
    const bool usual = fallback > 0 && heads == hf->family->sizes.heads &&
                       !nest_hf_get(c, "num_attention_heads n_heads");
    const bool gemma = fallback > 0 && strncmp(hf->type, "gemma", 5) == 0;
    return nest_hf_int(hf, c, keys, usual || gemma ? fallback : heads);
}

static void read_mla(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    s->attention = NEST_ATTENTION_MLA;
    s->kv_lora_rank = nest_hf_int(hf, hf->config, "kv_lora_rank", 0);
    s->q_lora_rank = nest_hf_int(hf, hf->config, "q_lora_rank", 0);
    s->qk_nope_dim = nest_hf_need(hf, "qk_nope_head_dim", 128);
    s->qk_rope_dim = nest_hf_need(hf, "qk_rope_head_dim", 64);
    /* MiniCPM3 leaves it out: the even share of a head. */
    const bool even = strcmp(hf->type, "minicpm3") == 0;
    s->v_head_dim = nest_hf_need(hf, "v_head_dim", even ? s->hidden / s->heads : 128);
    s->kv_heads = s->heads;
    if (nest_hf_get(hf->config, "index_topk index_n_heads")) {
        nest_job_note(hf->job, "the indexer of sparse attention is left out (well under 1%% of the "
                               "parameters); attention is priced over the whole sequence");
    }
}

/* ---- Windows ------------------------------------------------------------------------------- */

/* Whether one word of layer_types means a layer that sees the whole sequence. */
static bool is_full(const char *word)
{
    return strstr(word, "full") || strstr(word, "global");
}

/* Of a list of full and windowed layers: one in so many is full. False where it is no such period.
 * every = 0: all are windowed, 1: all are full. */
static bool find_period(const bool *full, int64_t count, int64_t *every, int64_t *first)
{
    int64_t a = 0;
    while (a < count && !full[a]) {
        a++;
    }
    int64_t b = a + 1;
    while (b < count && !full[b]) {
        b++;
    }
    *first = a;
    *every = a == count ? 0 : b < count ? b - a : (b - a > a ? b - a : a + 1);
    for (int64_t i = 0; i<count && * every> 0; i++) {
        if (full[i] != (i % *every == a)) {
            return false;
        }
    }
    return true;
}

/* One word per layer, as layer_types has them. NULL where the file has none, or not such. */
static bool *read_layer_types(struct nest_hf *hf, int64_t *count)
{
    const struct nest_node *list = nest_hf_get(hf->config, "layer_types attention_layers");
    if (!list || list->kind != NEST_NODE_SEQUENCE || list->count == 0) {
        return NULL;
    }
    bool *full = NEST_NEW(hf->job->arena, bool, list->count);
    for (const struct nest_node *item = list->first; full && item; item = item->next) {
        const char *word = item->kind == NEST_NODE_SCALAR ? item->text : "";
        full[item->index] = is_full(word);
        if (!full[item->index] && !strstr(word, "sliding") && !strstr(word, "local") &&
            !strstr(word, "chunked")) {
            nest_hf_fault(
                hf, item, "full_attention, sliding_attention or chunked_attention",
                nest_arena_printf(hf->job->arena, "layers of type '%s' cannot be described", word));
            return NULL;
        }
    }
    *count = list->count;
    return full;
}

/* sliding_window_pattern: a number, or letters such as LLLG; else what the class does. */
static void read_period(struct nest_hf *hf, int64_t *every, int64_t *first)
{
    static const struct {
        const char *type;
        int64_t every, first;
    } usual[] = {{"gemma2", 2, 1},  {"gemma3", 6, 5},      {"gemma3_text", 6, 5}, {"cohere2", 4, 3},
                 {"gpt_oss", 2, 1}, {"llama4_text", 4, 3}, {"llama4", 4, 3},      {"olmo3", 4, 3},
                 {"gpt_neo", 2, 0}, {"modernbert", 3, 0}};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (strcmp(usual[i].type, hf->type) == 0) {
            *every = usual[i].every;
            *first = usual[i].first;
        }
    }
    static const char *const keys = "sliding_window_pattern _sliding_window_pattern";
    const struct nest_node *pattern = nest_hf_get(hf->config, keys);
    if (pattern && pattern->kind == NEST_NODE_SCALAR && strspn(pattern->text, "LG") > 0) {
        *every = (int64_t)strlen(pattern->text);
        *first = (int64_t)strcspn(pattern->text, "G");
    } else if (pattern) {
        *every = nest_hf_int(hf, hf->config, keys, *every);
        *first = *every - 1;
    }
    *every = nest_hf_int(hf, hf->config, "global_attn_every_n_layers", *every);
}

static void set_window(struct nest_hf *hf, int64_t window, int64_t every, int64_t first)
{
    if (every == 1) {
        return;
    }
    hf->spec.attention = NEST_ATTENTION_WINDOW;
    hf->spec.window = window;
    hf->spec.full_every = every;
    hf->spec.full_first = first;
}

static void read_some_windows(struct nest_hf *hf, int64_t window)
{
    int64_t every = 0, first = 0, count = 0;
    const bool *full = read_layer_types(hf, &count);
    if (full && !find_period(full, count, &every, &first)) {
        nest_job_note(hf->job,
                      "some layers see a window of %lld tokens only, in no regular order; every "
                      "layer is priced with full attention",
                      (long long)window);
        return;
    }
    if (!full) {
        read_period(hf, &every, &first);
    }
    if (every < 0 || (every > 0 && first >= every)) {
        nest_hf_fault(hf, hf->config, "one G among its letters, or a number",
                      "the pattern of windowed layers does not fit");
        return;
    }
    set_window(hf, window, every, first);
}

static void read_window(struct nest_hf *hf)
{
    const struct nest_node *c = hf->config;
    const bool llama4 = strncmp(hf->type, "llama4", 6) == 0;
    const bool neo = strcmp(hf->type, "gpt_neo") == 0;
    const int64_t window =
        nest_hf_int(hf, c, "sliding_window window_size local_attention attention_chunk_size",
                    llama4 ? 8192
                    : neo  ? 256
                           : 0);
    const int64_t layers = nest_hf_int(hf, c, "num_hidden_layers n_layer num_layers", 0);
    if (window == 0 || !nest_hf_flag(hf, c, "use_sliding_window", true)) {
        return;
    }
    if (nest_hf_has(hf, NEST_HF_SOME_WINDOW) ||
        (nest_hf_has(hf, NEST_HF_WINDOW) && nest_hf_get(c, "layer_types"))) {
        read_some_windows(hf, window);
    } else if (nest_hf_has(hf, NEST_HF_WINDOW)) {
        set_window(hf, window, 0, 0);
    } else if (nest_hf_get(c, "use_sliding_window")) {
        /* Qwen: the layers from max_window_layers on. */
        const int64_t from = nest_hf_int(hf, c, "max_window_layers", layers);
        if (from == 0) {
            set_window(hf, window, 0, 0);
        } else if (from < layers) {
            nest_job_note(hf->job,
                          "layers from %lld on see a window of %lld tokens only; every layer is "
                          "priced with full attention",
                          (long long)from, (long long)window);
        }
    }
}

/* ---- All of it ----------------------------------------------------------------------------- */

static void read_head_width(struct nest_hf *hf)
{
    static const char *const keys = "head_dim d_kv kv_channels attention_head_dim";
    struct nest_model_spec *s = &hf->spec;
    const bool given = nest_hf_get(hf->config, keys) != NULL;
    const int64_t even = s->hidden / s->heads;
    const int64_t class_width = hf->family->sizes.head_dim;
    s->head_dim =
        given ? nest_hf_int(hf, hf->config, keys, even) : (class_width > 0 ? class_width : even);
    const bool latent = nest_hf_get(hf->config, "kv_lora_rank") != NULL;
    if (!latent && (s->head_dim < 1 || (!given && class_width == 0 && s->hidden % s->heads != 0))) {
        nest_hf_fault(hf, hf->config, "give head_dim",
                      nest_arena_printf(hf->job->arena,
                                        "hidden size %lld does not divide into %lld heads",
                                        (long long)s->hidden, (long long)s->heads));
    }
}

void nest_hf_read_attention(struct nest_hf *hf)
{
    struct nest_model_spec *s = &hf->spec;
    const struct nest_node *c = hf->config;
    s->heads = nest_hf_need(hf,
                            "num_attention_heads n_head n_heads num_heads encoder_attention_heads "
                            "attention_heads",
                            hf->family->sizes.heads);
    s->kv_heads = read_kv_heads(hf);
    if (s->kv_heads < 1 || s->heads % s->kv_heads != 0) {
        const struct nest_node *place = nest_hf_get(c, "num_key_value_heads num_kv_heads");
        nest_hf_fault(hf, place ? place : c, "a divisor of the number of heads",
                      nest_arena_printf(hf->job->arena,
                                        "%lld heads do not share %lld key/value heads evenly",
                                        (long long)s->heads, (long long)s->kv_heads));
    }
    read_head_width(hf);
    if (nest_hf_get(c, "kv_lora_rank")) {
        read_mla(hf);
    } else {
        read_window(hf);
    }
    s->qk_norm = nest_hf_flag(hf, c, "use_qk_norm qk_layernorm", nest_hf_has(hf, NEST_HF_QK_NORM));
}
