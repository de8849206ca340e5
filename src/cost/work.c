#include <math.h>

#include "cost/framework.h"
#include "cost/layer.h"
#include "cost/roofline.h"

/* Everything about one call that its helpers share. */
struct context {
    const struct nest_problem *problem;
    const struct nest_device_spec *device;
    const struct nest_layer_kind *kind;
    const struct nest_strategy *strategy;
    struct nest_framework_traits traits;
    double element;  /* bytes of one activation element */
    double dropped;  /* of kept: bytes that selective recompute does not keep */
    double attended; /* bytes of the attention's output */
    double outputs;  /* bytes of all GEMM outputs */
    double peak;     /* bytes of the widest operator's input and output gradients */
};

/* One operator as one device sees it. */
struct share {
    double rows;    /* for experts: all rows of the device's experts */
    double batch;   /* GEMMs in one kernel: the device's experts */
    double n, k;    /* columns out and in */
    double saved;   /* elements kept per row */
    double traffic; /* elements moved per row */
    int64_t weights;
};

int64_t nest_padded_vocabulary(const struct nest_train_spec *train, int64_t words, int64_t tp)
{
    const int64_t unit = (train->vocab_multiple > 0 ? train->vocab_multiple : 1) * tp;
    return (words + unit - 1) / unit * unit;
}

static double expert_load(const struct context *c)
{
    const double capacity = c->problem->model->spec->capacity;
    return capacity > 0.0 ? capacity : c->problem->train.imbalance;
}

static double rows_of(const struct context *c, const struct nest_op *op, double tokens)
{
    const struct nest_strategy *s = c->strategy;
    const double rows = tokens * op->rows;
    switch (op->split) {
    case NEST_SPLIT_SEQUENCE:
        return s->sp ? rows / (double)s->tp : rows;
    case NEST_SPLIT_ROWS:
        return rows / (double)s->tp;
    case NEST_SPLIT_EXPERT_N:
    case NEST_SPLIT_EXPERT_K:
        return rows / (double)s->tp * (double)s->etp * expert_load(c);
    case NEST_SPLIT_NONE:
    case NEST_SPLIT_TP_N:
    case NEST_SPLIT_TP_K:
    case NEST_SPLIT_TP_HEADS:
        break;
    }
    return rows;
}

/* Columns of a column-parallel GEMM on one rank: key and value heads are never cut. */
static double columns_of(const struct context *c, const struct nest_op *op, int64_t n)
{
    const double tp = (double)c->strategy->tp;
    if (op->kv_n == 0) {
        return (double)n / tp;
    }
    const double heads = (double)c->kind->kv_heads;
    return (double)(n - op->kv_n) / tp + (double)op->kv_n / (tp < heads ? tp : heads);
}

static struct share share_of(const struct context *c, const struct nest_op *op, double tokens)
{
    const struct nest_strategy *s = c->strategy;
    const int64_t n =
        op->vocabulary ? nest_padded_vocabulary(&c->problem->train, op->n, s->tp) : op->n;
    struct share out = {.rows = rows_of(c, op, tokens),
                        .batch = 1.0,
                        .n = (double)n,
                        .k = (double)op->k,
                        .saved = op->saved,
                        .traffic = op->traffic,
                        .weights = op->weights};
    double part = 1.0;
    if (op->split == NEST_SPLIT_TP_N) {
        out.n = columns_of(c, op, n);
        part = op->n > 0 ? out.n / (double)op->n : 1.0 / (double)s->tp;
    } else if (op->split == NEST_SPLIT_TP_K) {
        part = 1.0 / (double)s->tp;
        out.k *= part;
    } else if (op->split == NEST_SPLIT_TP_HEADS) {
        out.saved /= (double)s->tp;
        out.traffic /= (double)s->tp;
    } else if (op->split == NEST_SPLIT_EXPERT_N || op->split == NEST_SPLIT_EXPERT_K) {
        part = 1.0 / (double)s->etp;
        out.n *= op->split == NEST_SPLIT_EXPERT_N ? part : 1.0;
        out.k *= op->split == NEST_SPLIT_EXPERT_K ? part : 1.0;
        out.batch = (double)c->kind->experts / (double)s->ep;
        out.weights /= s->ep;
    }
    out.saved *= part;
    out.traffic *= part;
    out.weights = (int64_t)ceil((double)out.weights * part - 1e-6);
    return out;
}

static bool in_fp8(const struct context *c, const struct nest_op *op)
{
    return c->problem->train.precision == NEST_FP8 && !op->vocabulary &&
           c->device->peak[NEST_FP8] > 0.0;
}

static void add_gemm(struct context *c, const struct nest_op *op, const struct share *s,
                     struct nest_layer_work *out)
{
    const bool fp8 = in_fp8(c, op);
    const enum nest_precision wide =
        c->problem->train.precision == NEST_FP8 ? NEST_BF16 : c->problem->train.precision;
    const enum nest_precision precision = fp8 ? NEST_FP8 : wide;
    const double m = s->rows / s->batch;
    const struct nest_gemm forward = {s->batch, m, s->n, s->k, precision};
    const struct nest_gemm data = {s->batch, m, s->k, s->n, precision};
    const struct nest_gemm weight = {s->batch, s->k, s->n, m, precision};
    const double accumulate = 2.0 * (double)c->problem->train.grad_bytes * s->batch * s->n * s->k;
    double fw = nest_gemm_time(c->device, &forward, 0.0);
    double bw =
        nest_gemm_time(c->device, &data, 0.0) + nest_gemm_time(c->device, &weight, accumulate);
    if (fp8) {
        /* Both operands are read in 16 bits and written twice in 8, as they are and transposed. */
        fw += nest_memory_time(c->device, 4.0 * s->rows * s->k);
        bw += nest_memory_time(c->device, 4.0 * s->rows * s->n);
    }
    out->fw += fw;
    out->bw += bw;
    out->gemm_fw += fw;
    out->gemm_bw += bw;
    if (op->shared_expert) {
        out->shared_fw += fw;
        out->shared_bw += bw;
    }
}

/* Keys that one query sees on average: with a causal mask half of the square, or of the first
 * window, is masked. */
static double mean_context(const struct context *c, const struct nest_op *op)
{
    const double seq = (double)c->problem->model->spec->seq;
    const double context = (double)op->context;
    if (!c->problem->model->spec->causal || op->whole) {
        return context;
    }
    return context - context * context / (2.0 * seq);
}

/* Flash attention: the masked half is skipped, scores never leave the chip; the backward pass
 * computes five products for the forward's two (Dao et al. 2022). Keeps a float per head and row.
 */
static void add_flash(struct context *c, const struct nest_op *op, const struct share *s,
                      double heads, struct nest_layer_work *out)
{
    const double width = (double)(op->k + op->v_dim);
    const double flops = 2.0 * s->rows * mean_context(c, op) * heads * width;
    const double rate =
        nest_device_peak(c->device, NEST_BF16) * c->device->attention * c->traits.attention;
    const double moved = c->element * s->rows * heads * 2.0 * width;
    const double memory = nest_memory_time(c->device, moved);
    const double busy = flops / rate + c->device->launch;
    out->attention_fw = busy > memory ? busy : memory;
    out->attention_bw = 2.5 * out->attention_fw;
    c->dropped += 4.0 * s->rows * heads;
}

/* Plain attention writes every score: two batched GEMMs, scale-mask-softmax and, where trained
 * with it, dropout. Bytes per score, forward: 2 written, 4 softmax, 5 dropout, 2 read; backward 13
 * and 5 for dropout. Kept: softmax output 2, dropout output 2 and mask 1 (Korthikanti et al. 2022:
 * 5 a s^2 b). */
static void add_plain(struct context *c, const struct nest_op *op, const struct share *s,
                      double heads, struct nest_layer_work *out)
{
    const double scores = s->rows * (double)op->context * heads;
    const struct nest_gemm product = {heads, s->rows, (double)op->context, (double)op->k,
                                      NEST_BF16};
    const bool dropout = c->kind->dropout;
    const double gemms = 2.0 * nest_gemm_time(c->device, &product, 0.0);
    out->attention_fw =
        gemms + nest_memory_time(c->device, c->element / 2.0 * scores * (dropout ? 9.0 : 4.0));
    out->attention_bw = 2.0 * gemms + nest_memory_time(c->device, c->element / 2.0 * scores *
                                                                      (dropout ? 11.0 : 6.0));
    c->dropped += scores * (dropout ? 5.0 : 2.0) * c->element / 2.0;
}

static void add_attention(struct context *c, const struct nest_op *op, const struct share *s,
                          struct nest_layer_work *out)
{
    const double heads = (double)op->n / (double)c->strategy->tp;
    if (c->problem->train.flash) {
        add_flash(c, op, s, heads, out);
    } else {
        add_plain(c, op, s, heads, out);
    }
    out->fw += out->attention_fw;
    out->bw += out->attention_bw;
    out->attention_redone = true;
}

/* Memory-bound: the backward pass reads the gradient too. */
static void add_elementwise(struct context *c, const struct nest_op *op, const struct share *s,
                            struct nest_layer_work *out)
{
    double forward = c->element * s->traffic * s->rows;
    forward *= c->traits.traffic;
    double backward = 1.5 * forward;
    if (op->vocabulary) {
        /* Loss over fp32 logits: cast, maximum, exponentials; then the gradient in 16 bits. */
        forward = 18.0 * s->rows * s->n;
        backward = 8.0 * s->rows * s->n;
        /* 16-bit logits, whose place the gradient takes, and an fp32 copy that becomes the softmax;
         * unfused, the copy, its log-softmax and its gradient exist side by side. */
        out->logits = (c->problem->train.fused_loss ? 6.0 : 14.0) * s->rows * s->n;
    }
    if (op->kind == NEST_OP_LOOKUP) {
        backward =
            (c->element + 2.0 * (double)c->problem->train.grad_bytes) * s->rows * (double)op->k;
    }
    const double fw = nest_memory_time(c->device, forward);
    const double bw = nest_memory_time(c->device, backward);
    out->fw += fw;
    out->bw += bw;
    if (op->shared_expert) {
        out->shared_fw += fw;
        out->shared_bw += bw;
    }
}

static void add_op(struct context *c, const struct nest_op *op, struct nest_layer_work *out)
{
    const struct share s = share_of(c, op, out->tokens);
    if (op->kind == NEST_OP_GEMM) {
        add_gemm(c, op, &s, out);
        const double both = c->element * s.rows * (s.n + s.k);
        c->peak = both > c->peak && !op->vocabulary ? both : c->peak;
        c->outputs += c->element * s.rows * s.n;
        if (op->split == NEST_SPLIT_TP_K && c->attended == 0.0) {
            c->attended = c->element * s.rows * s.k;
        }
    } else if (op->kind == NEST_OP_ATTENTION) {
        add_attention(c, op, &s, out);
    } else {
        add_elementwise(c, op, &s, out);
    }
    if (op->split == NEST_SPLIT_EXPERT_N || op->split == NEST_SPLIT_EXPERT_K) {
        out->expert += s.weights;
    } else {
        out->dense += op->vocabulary && op->weights > 0 ? (int64_t)(s.n + 0.5) * op->k : s.weights;
    }
    out->kept[NEST_RECOMPUTE_NONE] += s.rows * s.saved * op->saved_bytes * c->element / 2.0;
}

/* What tensor, context and expert parallelism must exchange, in bytes. */
static void set_messages(const struct context *c, struct nest_layer_work *out)
{
    const struct nest_strategy *s = c->strategy;
    const struct nest_layer_kind *kind = c->kind;
    const double hidden = (double)c->problem->model->spec->hidden;
    out->tp_bytes = c->element * out->tokens * hidden;
    const bool block = kind->role == NEST_LAYER_BLOCK;
    const bool head = kind->role == NEST_LAYER_HEAD;
    /* Regions between a column-parallel and a row-parallel GEMM. */
    const int regions = !block ? 0 : kind->moe && !kind->has_shared_expert ? 1 : 2;
    out->reduces_fw = block ? regions : head ? 0 : 1;
    out->reduces_bw = block ? regions : head ? 1 : 0;
    if (s->sp) {
        out->gathers_fw = block ? regions : head ? 1 : 0;
        out->gathers_bw = block ? regions : head ? 0 : 1;
        out->hidden_gathers = block ? regions : head ? 1 : 0;
    } else if (kind->moe && s->tp > 1) {
        out->moe_gathers = 1;
    }
    out->loss_bytes = head ? 4.0 * out->tokens : 0.0;
    if (block) {
        const double cut = (double)(s->tp < kind->kv_heads ? s->tp : kind->kv_heads);
        out->ring_bytes = c->element * out->tokens * (double)kind->kv_columns / cut;
    }
    if (kind->moe) {
        out->dispatch_bytes = c->element * out->tokens / (double)s->tp * (double)kind->top_k *
                              hidden * expert_load(c);
    }
}

/* What the three modes keep, redo and hold while the layer runs. */
static void set_modes(const struct context *c, struct nest_layer_work *out)
{
    const double everything = out->kept[NEST_RECOMPUTE_NONE] + c->dropped;
    const double boundary = out->tp_bytes / (c->strategy->sp ? (double)c->strategy->tp : 1.0);
    const double gathered = c->strategy->sp ? out->tp_bytes : 0.0;
    const double live = c->peak + gathered;
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        out->kept[r] = everything;
        out->live[r] = live;
        out->redone[r] = 0.0;
    }
    if (c->kind->role != NEST_LAYER_BLOCK) {
        return;
    }
    out->kept[NEST_RECOMPUTE_SELECTIVE] = everything - c->dropped;
    out->live[NEST_RECOMPUTE_SELECTIVE] = live + c->dropped;
    out->redone[NEST_RECOMPUTE_SELECTIVE] = out->attention_fw;
    if (c->traits.per_operator_selective) {
        /* Per-operator policy: attention and every second GEMM keep their outputs. */
        out->kept[NEST_RECOMPUTE_SELECTIVE] = boundary + c->attended + 0.5 * c->outputs;
        out->live[NEST_RECOMPUTE_SELECTIVE] =
            live + everything - out->kept[NEST_RECOMPUTE_SELECTIVE];
        out->redone[NEST_RECOMPUTE_SELECTIVE] = out->fw - out->attention_fw - 0.5 * out->gemm_fw;
        out->attention_redone = false;
    }
    out->kept[NEST_RECOMPUTE_FULL] = boundary;
    out->live[NEST_RECOMPUTE_FULL] = live + everything;
    out->redone[NEST_RECOMPUTE_FULL] = out->fw;
}

static const struct nest_profile_entry *profile_entry(const struct nest_profile_layer *layer,
                                                      int64_t tp)
{
    int best = 0;
    for (int i = 1; i < layer->entries; i++) {
        if (layer->entry[i].tp <= tp) {
            best = i;
        }
    }
    return &layer->entry[best];
}

/* A measured layer: its collectives are in its times, so none are added. */
static void measured_work(const struct nest_layer_kind *kind, const struct nest_strategy *strategy,
                          struct nest_layer_work *out)
{
    const struct nest_profile_entry *entry = profile_entry(kind->profile, strategy->tp);
    const double sequences = (double)strategy->micro_batch / (double)strategy->cp;
    out->fw = entry->fw * sequences;
    out->bw = entry->bw * sequences;
    out->dense = (int64_t)(entry->weight_bytes / 2.0 + 0.5);
    const double kept = entry->activation_bytes * sequences;
    const double boundary = entry->boundary_bytes * sequences;
    out->kept[NEST_RECOMPUTE_NONE] = kept;
    out->kept[NEST_RECOMPUTE_SELECTIVE] = kept;
    out->kept[NEST_RECOMPUTE_FULL] = boundary < kept ? boundary : kept;
    out->live[NEST_RECOMPUTE_FULL] = kept;
    out->redone[NEST_RECOMPUTE_FULL] = out->fw;
}

void nest_layer_work(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                     const struct nest_strategy *strategy, struct nest_layer_work *out)
{
    *out = (struct nest_layer_work){0};
    if (kind->role == NEST_LAYER_PROFILED) {
        measured_work(kind, strategy, out);
        return;
    }
    struct context c = {.problem = problem,
                        .device = problem->cluster->device,
                        .kind = kind,
                        .strategy = strategy,
                        .traits = nest_framework_traits(problem->train.framework),
                        .element = problem->train.precision == NEST_FP32 ? 4.0 : 2.0};
    const double sequences = (double)strategy->micro_batch / (double)strategy->cp;
    out->tokens = sequences * (double)problem->model->spec->seq;
    for (int i = 0; i < kind->ops; i++) {
        add_op(&c, &kind->op[i], out);
    }
    set_messages(&c, out);
    set_modes(&c, out);
}
