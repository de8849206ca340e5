#include "plan/rebuild.h"

#include <ctype.h>
#include <string.h>

#include "input/timing.h"

/* Latency of a whole crossing of a scale-up switch, where the device states none. */
static const double NODE_LATENCY = 2e-6;

/* True if text holds word, whatever the case. */
static bool mentions(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == word[i]) {
            i++;
        }
        if (i == length) {
            return true;
        }
    }
    return false;
}

/* nanotron's benchmarks are Llama-shaped, with tied embeddings, whatever the MLP's width. */
static bool is_nanotron(const struct nest_measurement *run)
{
    return mentions(run->source, "nanotron");
}

/* GPT, BLOOM, MPT, OPT, NeoX: MLP of four times the hidden size without a gate. */
static bool is_gpt_family(const struct nest_measurement *run)
{
    return run->ffn == 4 * run->hidden && run->experts == 0 && !is_nanotron(run);
}

static bool is_mpt(const struct nest_measurement *run)
{
    return mentions(run->model, "mpt");
}

/* Stage 2 and 3 without a pipeline is PyTorch FSDP or a relative of it. */
static bool is_fsdp(const struct nest_measurement *run)
{
    return run->zero >= 2 && run->pp == 1;
}

/* Which framework's fusion and overlap a run had; Megatron's where the source names none. */
static enum nest_framework framework_of(const struct nest_measurement *run)
{
    static const char *const torch[] = {"internevo", "nanotron", "torchtitan", "automodel"};
    if (mentions(run->source, "bigscience") || mentions(run->source, "using deepspeed") ||
        mentions(run->model, "neox") || mentions(run->notes, "zero-3")) {
        return NEST_DEEPSPEED;
    }
    for (size_t i = 0; i < sizeof torch / sizeof *torch; i++) {
        if (mentions(run->source, torch[i])) {
            return NEST_TORCHTITAN;
        }
    }
    /* XLA fuses as Megatron's kernels do. */
    static const char *const fused[] = {"maxtext", "paxml", "megatron", "nemo"};
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++) {
        if (mentions(run->source, fused[i]) || mentions(run->notes, fused[i])) {
            return NEST_MEGATRON;
        }
    }
    return is_fsdp(run) ? NEST_TORCHTITAN : NEST_MEGATRON;
}

/* DeepSeek's latent attention: the widths are the family's; only V2 Lite (hidden 2048) has a full
 * query projection (arXiv 2405.04434, 2412.19437). */
static void set_latent_attention(struct nest_model_spec *out)
{
    out->attention = NEST_ATTENTION_MLA;
    out->q_lora_rank = out->hidden > 2048 ? 1536 : 0;
    out->kv_lora_rank = 512;
    out->qk_nope_dim = 128;
    out->qk_rope_dim = 64;
    out->v_head_dim = 128;
}

void nest_rebuild_model(const struct nest_measurement *run, struct nest_model_spec *out)
{
    const bool gpt = is_gpt_family(run);
    const bool alibi = is_mpt(run) || mentions(run->model, "bloom");
    *out = (struct nest_model_spec){
        .id = run->model,
        .name = run->model,
        .layers = run->layers,
        .hidden = run->hidden,
        .ffn = run->ffn,
        .heads = run->heads,
        .kv_heads = run->kv_heads > 0 ? run->kv_heads : run->heads,
        .head_dim = run->head_dim > 0 ? run->head_dim : run->hidden / run->heads,
        .vocab = run->vocab,
        .seq = run->seq,
        .mlp = gpt ? NEST_MLP_GELU : NEST_MLP_SWIGLU,
        .norm = gpt ? NEST_NORM_LAYER : NEST_NORM_RMS,
        .position = !gpt    ? NEST_POSITION_ROPE
                    : alibi ? NEST_POSITION_ALIBI
                            : NEST_POSITION_LEARNED,
        .bias = gpt && !is_mpt(run),
        .qkv_bias = gpt && !is_mpt(run),
        .tied = gpt || is_nanotron(run),
        .causal = true,
        .window = run->window,
        .experts = run->experts,
        .top_k = run->top_k,
        .moe_ffn = run->moe_ffn > 0 ? run->moe_ffn : run->ffn,
        .shared_experts = run->shared_experts,
        .dense_layers = run->dense_layers,
        .moe_every = 1,
    };
    if (strcmp(run->attention, "mla") == 0) {
        set_latent_attention(out);
    }
}

/* Jobs on NVL72 racks take the same number of devices of each: the largest that divides them all.
 */
static int64_t whole_node(const struct nest_measurement *run)
{
    int64_t node = run->per_node > 0 && run->per_node < run->devices ? run->per_node : run->devices;
    while (run->devices % node != 0 && node > run->per_node / 2) {
        node--;
    }
    return run->devices % node == 0 ? node : run->per_node;
}

void nest_rebuild_cluster(const struct nest_measurement *run, const struct nest_device_spec *device,
                          struct nest_cluster_spec *out)
{
    const int64_t node = whole_node(run);
    double nic = run->nic > 0.0 ? run->nic : device->scale_out;
    if (framework_of(run) == NEST_DEEPSPEED && run->zero == 3) {
        /* Stage 3 of 2021 fetched one parameter after the other, over one NIC of each node. */
        nic /= (double)node;
    }
    *out = (struct nest_cluster_spec){.id = run->id, .name = run->id, .device = device};
    out->level[out->levels++] = (struct nest_level_spec){
        .name = "node",
        .mark = run->mark,
        .fanout = node,
        .bandwidth = device->scale_up,
        .latency = device->scale_up_latency > 0.0 ? device->scale_up_latency : NODE_LATENCY,
        .oversubscription = 1.0};
    if (node < run->devices) {
        out->level[out->levels++] =
            (struct nest_level_spec){.name = "network",
                                     .mark = run->mark,
                                     .fanout = (run->devices + node - 1) / node,
                                     .bandwidth = nic,
                                     .latency = nest_network_latency(run->hardware),
                                     .oversubscription = 1.0};
    }
}

static enum nest_precision precision_of(const struct nest_measurement *run)
{
    /* Row-wise scaling had no fused casts when these tables were made: what the GEMMs gain, the
     * casts lose, and the runs are as fast as their bf16 neighbours. */
    if (mentions(run->precision, "fp8") && !mentions(run->precision, "rowwise")) {
        return NEST_FP8;
    }
    if (mentions(run->precision, "fp16")) {
        return NEST_FP16;
    }
    return mentions(run->precision, "fp32") ? NEST_FP32 : NEST_BF16;
}

/* Megatron-DeepSpeed and GPT-NeoX log Narayanan's formula with a factor of four for checkpoints. */
bool nest_rebuild_counts_recompute(const struct nest_measurement *run)
{
    return run->counts_recompute || framework_of(run) == NEST_DEEPSPEED;
}

/* A paper from before flash attention reached the frameworks, in 2023. */
static bool is_early(const struct nest_measurement *run)
{
    static const char *const year[] = {"et al. 2019", "et al. 2020", "et al. 2021", "et al. 2022"};
    for (size_t i = 0; i < sizeof year / sizeof *year; i++) {
        if (mentions(run->source, year[i])) {
            return true;
        }
    }
    return false;
}

/* Before 2023 scores were stored. Then GPT-style models were trained in fp16, or were BLOOM, and
 * Megatron's selective recompute is of use only where scores are stored. */
static bool has_flash(const struct nest_measurement *run)
{
    if (!is_gpt_family(run) || mentions(run->notes, "flash") || mentions(run->notes, "window")) {
        return true;
    }
    const bool selective =
        run->recompute == NEST_RECOMPUTE_SELECTIVE && framework_of(run) == NEST_MEGATRON;
    return !is_early(run) && precision_of(run) != NEST_FP16 && !mentions(run->model, "bloom") &&
           !selective;
}

bool nest_rebuild_names_modules(const struct nest_measurement *run)
{
    return run->recompute == NEST_RECOMPUTE_SELECTIVE && mentions(run->notes, "recompute modules");
}

const char *nest_rebuild_obstacle(const struct nest_measurement *run)
{
    static const char *const offload[] = {"zero-offload",   "zero offload",      "cpu offload",
                                          "cpu-offload",    "optimizer offload", "offloaded to cpu",
                                          "offload to cpu", "zero-infinity"};
    static const char *const adapter[] = {"lora", "peft", "adapters only"};
    for (size_t i = 0; i < sizeof offload / sizeof *offload; i++) {
        if (mentions(run->notes, offload[i])) {
            return "it keeps state in the host's memory, which is not modelled";
        }
    }
    for (size_t i = 0; i < sizeof adapter / sizeof *adapter; i++) {
        if (mentions(run->notes, adapter[i]) || mentions(run->model, adapter[i])) {
            return "it trains adapters alone, which is not modelled";
        }
    }
    return NULL;
}

/* What the two utilisations of a run say wins over the word for it: a fifth or more between them
 * is a forward pass done twice. */
enum nest_recompute nest_rebuild_recompute(const struct nest_measurement *run)
{
    if (run->hfu > 0.0 && run->mfu > 0.0 && run->hfu > 1.2 * run->mfu) {
        return NEST_RECOMPUTE_FULL;
    }
    /* MaxText's selective policies keep, or offload, little more than the layers' inputs. */
    if (mentions(run->notes, "maxtext") && run->recompute == NEST_RECOMPUTE_SELECTIVE) {
        return NEST_RECOMPUTE_FULL;
    }
    return run->recompute >= 0 ? (enum nest_recompute)run->recompute : NEST_RECOMPUTE_NONE;
}

/* NVIDIA's performance recipes, MLPerf's among them: gradients in 16 bits (grad_reduce_in_fp32
 * off), tensor-parallel communication under the GEMMs (tp_comm_overlap), parameters in fp8 where
 * the GEMMs are (fp8_param). */
static bool is_tuned_recipe(const struct nest_measurement *run)
{
    static const char *const recipe[] = {"mlperf", "megatron-bridge", "nemo", "dgxc"};
    bool found = false;
    for (size_t i = 0; i < sizeof recipe / sizeof *recipe; i++) {
        found = found || mentions(run->source, recipe[i]);
    }
    return found && framework_of(run) == NEST_MEGATRON;
}

static void set_overlap(const struct nest_measurement *run, struct nest_overlap_spec *out)
{
    *out = (struct nest_overlap_spec){.dp = 1.0, .zero = 1.0, .cp = 1.0, .pp = 1.0};
    if (framework_of(run) == NEST_DEEPSPEED) {
        out->dp = out->zero = 0.0;
    }
    if (mentions(run->notes, "async") || is_tuned_recipe(run)) {
        out->tp = 0.5;
    }
    /* nanotron synchronises fp32 gradients after the backward pass once their states are sharded.
     */
    if (is_nanotron(run) && run->zero > 0) {
        out->dp = 0.0;
    }
    if (mentions(run->notes, "no tp, dp or pp overlap")) {
        *out = (struct nest_overlap_spec){.cp = 1.0};
    }
}

static void pin(struct nest_pins_spec *pins, enum nest_pin_key key, int64_t value)
{
    pins->pin[key].count = 1;
    pins->pin[key].range[0] = (struct nest_range){value, value};
}

static void set_pins(const struct nest_measurement *run, struct nest_pins_spec *out)
{
    /* With a pipeline, frameworks reduce accumulated gradients once per step whatever they call it:
     * the distributed optimizer is stage 1. */
    const int stated = run->zero >= 0 ? run->zero : run->dp * run->cp > 1;
    const int zero = stated == 2 && run->pp > 1 ? 1 : stated;
    pin(out, NEST_PIN_TP, run->tp);
    pin(out, NEST_PIN_PP, run->pp);
    pin(out, NEST_PIN_DP, run->dp);
    pin(out, NEST_PIN_CP, run->cp);
    pin(out, NEST_PIN_EP, run->ep);
    pin(out, NEST_PIN_ETP, 1);
    /* Where it is not stated: recipes have it on since flash attention made the rest small. */
    pin(out, NEST_PIN_SP, run->tp > 1 && (run->sp >= 0 ? run->sp == 1 : has_flash(run)));
    pin(out, NEST_PIN_ZERO, zero);
    pin(out, NEST_PIN_MICRO_BATCH, run->micro_batch);
    pin(out, NEST_PIN_VIRTUAL_STAGES, run->pp > 1 ? run->virtual_stages : 1);
    pin(out, NEST_PIN_RECOMPUTE, nest_rebuild_recompute(run));
    const int64_t replicas = run->dp * run->cp;
    const int64_t shard = run->shard_in_node ? run->per_node : run->shard;
    if (shard > 1 && shard < replicas && replicas % shard == 0) {
        pin(out, NEST_PIN_SHARD, shard);
    }
}

/* Gradients travel in 16 bits under Composer's PURE mode, IBM's FSDP and NVIDIA's recipes. */
static bool reduces_narrow(const struct nest_measurement *run)
{
    return mentions(run->notes, "mode pure") || mentions(run->source, "fms-fsdp") ||
           is_tuned_recipe(run) || mentions(run->notes, "zero-3");
}

void nest_rebuild_settings(const struct nest_measurement *run, struct nest_problem *out)
{
    const int64_t replica = run->micro_batch * run->dp;
    const int64_t whole = run->global_batch - run->global_batch % replica;
    out->train = (struct nest_train_spec){
        .global_batch = whole > 0 ? whole : run->global_batch,
        .precision = precision_of(run),
        .optimizer = NEST_ADAM,
        .grad_bytes = reduces_narrow(run) ? 2 : 4,
        .weight_bytes = precision_of(run) == NEST_FP8 && is_tuned_recipe(run) ? 1 : 0,
        .flash = has_flash(run),
        .fused_loss = !mentions(run->source, "torchtitan") && !is_nanotron(run),
        .vocab_multiple = is_fsdp(run) ? 1 : 128,
        .imbalance = 1.0,
        .framework = framework_of(run),
    };
    set_overlap(run, &out->overlap);
    set_pins(run, &out->pins);
}
