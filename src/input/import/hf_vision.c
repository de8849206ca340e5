/* The image tower of a configuration that has one: what its patches, layers and projections weigh,
 * in our keys; and what else a configuration has that ours leave out. */
#include <string.h>

#include "input/import/hf.h"

/* Class defaults of towers. */
static const struct tower {
    const char *types;
    int64_t layers, hidden, heads, ffn, image, patch;
    bool gated;
} towers[] = {
    {"clip_vision_model", 12, 768, 12, 3072, 224, 32, false},
    {"siglip_vision_model siglip idefics2 idefics3_vision smolvlm_vision", 12, 768, 12, 3072, 224,
     16, false},
    {"pixtral", 24, 1024, 16, 4096, 1024, 16, true},
    {"qwen2_vl", 32, 1280, 16, 5120, 224, 14, false},
    {"qwen2_5_vl", 32, 1280, 16, 3420, 224, 14, true},
    {"qwen3_vl qwen3_vl_moe", 27, 1152, 16, 4304, 768, 16, false},
    {"llama4_vision_model", 34, 768, 16, 5632, 448, 14, false},
    {"intern_vit_6b internvl_vision", 24, 1024, 16, 4096, 448, 14, false},
};

static const struct tower *find_tower(const char *type)
{
    for (size_t i = 0; i < sizeof towers / sizeof towers[0]; i++) {
        if (nest_hf_is_one_of(type, towers[i].types)) {
            return &towers[i];
        }
    }
    return &towers[0];
}

/* Neighbouring tokens that are projected together: the square of how many in a row. */
static int64_t read_merge(struct nest_hf *hf, const struct nest_node *c)
{
    const struct nest_node *ratio = nest_hf_get(c, "pixel_shuffle_ratio");
    ratio = ratio ? ratio : nest_hf_get(hf->root, "downsample_ratio");
    double share;
    int64_t side = nest_hf_int(hf, c, "spatial_merge_size", 0);
    side = side > 0 ? side : nest_hf_int(hf, hf->root, "spatial_merge_size scale_factor", 1);
    if (ratio && nest_text_number(ratio->text, &share) && share > 0.01 && share < 1.0) {
        side = (int64_t)(1.0 / share + 0.5);
    }
    return side > 1 ? side * side : 0;
}

/* What stands between tower and trunk, by the kind of the whole model. */
static void read_projection(struct nest_hf *hf, const struct nest_node *c, const char *type)
{
    static const char *const two =
        "llava llava_next llava_onevision video_llava vipllava mistral3 internvl internvl_chat "
        "phi3_v llama4 aya_vision kimi_vl kimi_k25 qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe";
    struct nest_vision_spec *v = &hf->spec.vision;
    const char *whole = nest_hf_text(hf->root, "model_type", "");
    v->merge = read_merge(hf, c);
    v->projection = nest_hf_is_one_of(whole, two) ? 2 : 1;
    if (strncmp(type, "qwen", 4) == 0) {
        const struct nest_node *deep = nest_hf_get(c, "deepstack_visual_indexes");
        v->merge = v->merge > 0 ? v->merge : 4;
        v->projection_hidden = v->hidden * v->merge;
        v->projectors = deep && deep->count > 0 && deep->count < 4 ? deep->count + 1 : 0;
    } else if (strcmp(type, "pixtral") == 0 && v->merge > 0) {
        v->projection_hidden = v->hidden;
    } else if (strcmp(whole, "llama4") == 0) {
        v->projection_hidden = nest_hf_int(hf, c, "projector_output_dim vision_output_dim", 4096);
    } else if (strcmp(whole, "phi3_v") == 0) {
        v->merge = 4;
    }
}

/* Idefics2: a gated projection as wide as the trunk's MLP, then layers whose few latents attend to
 * the image, with MLPs four times as wide as the trunk. */
static void read_resampler(struct nest_hf *hf)
{
    const struct nest_node *c = nest_hf_get(hf->root, "perceiver_config");
    const int64_t h = hf->spec.hidden;
    if (!c || c->kind != NEST_NODE_MAPPING) {
        return;
    }
    const int64_t width = nest_hf_int(hf, c, "resampler_head_dim", 96);
    const int64_t heads = nest_hf_int(hf, c, "resampler_n_heads", 16);
    const int64_t kv_heads = nest_hf_int(hf, c, "num_key_value_heads", 4);
    const int64_t layer = 2 * h * width * (heads + kv_heads) + 12 * h * h;
    const int64_t depth = nest_hf_int(hf, c, "resampler_depth", 3);
    const int64_t projection = hf->spec.ffn * (2 * hf->spec.vision.hidden + h);
    if (depth < 1 << 10 && width < 1 << 16 && heads < 1 << 16 && kv_heads < 1 << 16 &&
        h < 1 << 20 && hf->spec.ffn < 1 << 24) {
        hf->spec.vision.resampler = depth * layer + projection;
    }
}

static void read_sizes(struct nest_hf *hf, const struct nest_node *c, const struct tower *tower)
{
    struct nest_vision_spec *v = &hf->spec.vision;
    /* Qwen2-VL names its own width embed_dim and the trunk's hidden_size. */
    const char *width =
        nest_hf_get(c, "embed_dim") ? "embed_dim" : "hidden_size width vt_hidden_size";
    v->layers = nest_hf_int(hf, c, "num_hidden_layers depth num_layers vt_num_hidden_layers",
                            tower->layers);
    v->hidden = nest_hf_int(hf, c, width, tower->hidden);
    v->heads =
        nest_hf_int(hf, c, "num_attention_heads num_heads vt_num_attention_heads", tower->heads);
    const int64_t ratio = nest_hf_int(hf, c, "mlp_ratio", 0);
    v->ffn = nest_hf_int(hf, c, "intermediate_size vt_intermediate_size",
                         ratio > 0 ? ratio * v->hidden : tower->ffn);
    v->patch = nest_hf_int(hf, c, "patch_size", tower->patch);
    v->gated = tower->gated;
}

void nest_hf_read_vision(struct nest_hf *hf)
{
    struct nest_vision_spec *v = &hf->spec.vision;
    const struct nest_node *c = nest_hf_get(hf->root, "vision_config img_processor");
    if (!c || c->kind != NEST_NODE_MAPPING) {
        return;
    }
    const bool phi = nest_hf_get(hf->root, "vision_config") == NULL;
    const char *type = nest_hf_text(c, "model_type", nest_hf_text(hf->root, "model_type", ""));
    static const struct tower phi_tower = {"", 24, 1024, 16, 4096, 336, 14, false};
    const struct tower *tower = phi ? &phi_tower : find_tower(type);
    read_sizes(hf, c, tower);
    const int64_t image = nest_hf_int(hf, c, "image_size", tower->image);
    if (v->layers < 1 || v->hidden < 1 || v->heads < 1 || v->ffn < 1 || v->patch < 1 ||
        v->patch > image) {
        nest_hf_fault(hf, c, "layers, widths and a patch size up to the image size",
                      "the image tower has a size of nothing");
        return;
    }
    v->tokens = image / v->patch * (image / v->patch) + 1;
    read_projection(hf, c, type);
    read_resampler(hf);
    if (strcmp(type, "siglip_vision_model") == 0 && strcmp(hf->type, "siglip_text_model") == 0 &&
        nest_hf_flag(hf, c, "vision_use_head", true)) {
        v->layers++;
        nest_job_note(hf->job, "the pooling head of the image tower is taken as one layer more");
    }
    nest_job_note(hf->job, "the image tower (%s): one image of %lld tokens per sequence",
                  *type ? type : "clip_vision_model", (long long)v->tokens);
}

void nest_hf_note_parts(struct nest_hf *hf)
{
    static const struct {
        const char *type, *note;
    } parts[] = {
        {"whisper", "two convolutions over sound before the encoder are left out, and its sequence "
                    "is taken as long as the decoder's"},
        {"deberta-v2", "relative positions are priced like ALiBi; their table is left out"},
        {"phi3small", "block-sparse attention is priced over the whole sequence"},
        {"chatglm-6b", "prefixes see each other; every token is priced as causal"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i].type, hf->type) == 0) {
            nest_job_note(hf->job, "%s", parts[i].note);
        }
    }
    if (nest_hf_get(hf->root, "resampler_config")) {
        nest_job_note(hf->job, "the resampler between image tower and trunk is left out and not "
                               "counted");
    }
    if (nest_hf_get(hf->root, "audio_config")) {
        nest_job_note(hf->job, "the tower for sound is left out and not counted");
    }
    if (strcmp(hf->type, "deberta-v2") == 0 &&
        !nest_hf_flag(hf, hf->config, "share_att_key", false)) {
        nest_hf_fault(hf, hf->config, "share_att_key: true, as in DeBERTa v2 and v3",
                      "positions with projections of their own cannot be described");
    }
}
