#include "cost/operator.h"

#include <math.h>

#include "cost/framework.h"
#include "cost/roofline.h"

/* Everything about one call that its helpers share. */
struct context {
    const struct nest_problem *problem;
    const struct nest_device_spec *device;
    const struct nest_layer_kind *kind;
    const struct nest_strategy *strategy;
    const struct nest_op *op;
    struct nest_framework_traits traits;
    double element; /* bytes of one activation element */
};

double nest_local_tokens(const struct nest_problem *problem, const struct nest_strategy *strategy)
{
    const double sequences = (double)strategy->micro_batch / (double)strategy->cp;
    return sequences * (double)problem->model->spec->seq;
}

double nest_element_bytes(const struct nest_problem *problem)
{
    return problem->train.precision == NEST_FP32 ? 4.0 : 2.0;
}

int64_t nest_padded_vocabulary(const struct nest_train_spec *train, int64_t words, int64_t tp)
{
    const int64_t unit = (train->vocab_multiple > 0 ? train->vocab_multiple : 1) * tp;
    return (words + unit - 1) / unit * unit;
}

double nest_expert_load(const struct nest_problem *problem)
{
    const double capacity = problem->model->spec->capacity;
    return capacity > 0.0 ? capacity : problem->train.imbalance;
}

static bool is_expert(const struct nest_op *op)
{
    return op->split == NEST_SPLIT_EXPERT_N || op->split == NEST_SPLIT_EXPERT_K;
}

static double rows_of(const struct context *c)
{
    const struct nest_strategy *s = c->strategy;
    const double rows = nest_local_tokens(c->problem, s) * c->op->rows;
    switch (c->op->split) {
    case NEST_SPLIT_SEQUENCE:
        return s->sp ? rows / (double)s->tp : rows;
    case NEST_SPLIT_ROWS:
        return rows / (double)s->tp;
    case NEST_SPLIT_EXPERT_N:
    case NEST_SPLIT_EXPERT_K:
        return rows / (double)s->tp * (double)s->etp * nest_expert_load(c->problem);
    case NEST_SPLIT_NONE:
    case NEST_SPLIT_TP_N:
    case NEST_SPLIT_TP_K:
    case NEST_SPLIT_TP_HEADS:
        break;
    }
    return rows;
}

/* Columns of a column-parallel GEMM on one rank: key and value heads are never cut. */
static double columns_of(const struct context *c)
{
    const struct nest_op *op = c->op;
    const double tp = (double)c->strategy->tp;
    const int64_t n =
        op->vocabulary ? nest_padded_vocabulary(&c->problem->train, op->n, c->strategy->tp) : op->n;
    if (op->kv_n == 0) {
        return (double)n / tp;
    }
    const double heads = (double)c->kind->kv_heads;
    return (double)(n - op->kv_n) / tp + (double)op->kv_n / (tp < heads ? tp : heads);
}

/* The part of the operator's columns that one rank has; sets n and k. */
static double divide(const struct context *c, struct nest_op_work *out)
{
    const struct nest_op *op = c->op;
    const double tp = (double)c->strategy->tp;
    double part = 1.0;
    out->n = (double)op->n;
    out->k = (double)op->k;
    switch (op->split) {
    case NEST_SPLIT_TP_N:
        out->n = columns_of(c);
        part = op->n > 0 ? out->n / (double)op->n : 1.0 / tp;
        break;
    case NEST_SPLIT_TP_K:
        part = 1.0 / tp;
        out->k *= part;
        break;
    case NEST_SPLIT_TP_HEADS:
        part = 1.0 / tp;
        break;
    case NEST_SPLIT_EXPERT_N:
        part = 1.0 / (double)c->strategy->etp;
        out->n *= part;
        break;
    case NEST_SPLIT_EXPERT_K:
        part = 1.0 / (double)c->strategy->etp;
        out->k *= part;
        break;
    case NEST_SPLIT_NONE:
    case NEST_SPLIT_SEQUENCE:
    case NEST_SPLIT_ROWS:
        break;
    }
    return part;
}

static int64_t weights_of(const struct context *c, const struct nest_op_work *w, double part)
{
    const struct nest_op *op = c->op;
    if (op->vocabulary) {
        return op->weights > 0 ? (int64_t)(w->n + 0.5) * op->k : 0;
    }
    const int64_t local = w->expert ? op->weights / c->strategy->ep : op->weights;
    const bool whole = op->split == NEST_SPLIT_TP_HEADS;
    return whole ? local : (int64_t)ceil((double)local * part - 1e-6);
}

static bool in_fp8(const struct context *c)
{
    return c->problem->train.precision == NEST_FP8 && !c->op->vocabulary && !c->op->wide &&
           c->device->peak[NEST_FP8] > 0.0;
}

static void set_gemm(const struct context *c, struct nest_op_work *w)
{
    const bool fp8 = in_fp8(c);
    const enum nest_precision wide =
        c->problem->train.precision == NEST_FP8 ? NEST_BF16 : c->problem->train.precision;
    const enum nest_precision precision = fp8 ? NEST_FP8 : wide;
    const double m = w->rows / w->batch;
    const struct nest_gemm forward = {w->batch, m, w->n, w->k, precision};
    const struct nest_gemm data = {w->batch, m, w->k, w->n, precision};
    const struct nest_gemm weight = {w->batch, w->k, w->n, m, precision};
    const double accumulate = 2.0 * (double)c->problem->train.grad_bytes * w->batch * w->n * w->k;
    w->flops = 2.0 * w->rows * w->n * w->k;
    const double speed = c->traits.gemm;
    const double rate = nest_gemm_rate(c->device, &forward);
    w->rate = rate * speed;
    w->bytes = nest_gemm_bytes(&forward) / speed;
    w->fw = nest_gemm_time(c->device, &forward, rate, 0.0) / speed;
    w->bw = (nest_gemm_time(c->device, &data, rate, 0.0) +
             nest_gemm_time(c->device, &weight, rate, accumulate)) /
            speed;
    if (fp8) {
        /* Both operands are read in 16 bits and written twice in 8, as they are and transposed. */
        w->casts = 4.0 * w->rows * w->k;
        w->fw += nest_memory_time(c->device, w->casts);
        w->bw += nest_memory_time(c->device, 4.0 * w->rows * w->n);
    }
}

/* Keys that one query sees on average: with a causal mask half of the square, or of the first
 * window, is masked. */
static double mean_context(const struct context *c)
{
    const double seq = (double)c->problem->model->spec->seq;
    const double context = (double)c->op->context;
    const bool masked = c->problem->model->spec->causal && !c->op->whole;
    return masked ? context - context * context / (2.0 * seq) : context;
}

/* Flash attention: the masked half is skipped, scores never leave the chip; the backward pass
 * computes five products for the forward's two (Dao et al. 2022). Keeps a float per head and row.
 */
static void set_flash(const struct context *c, struct nest_op_work *w)
{
    const double width = (double)(c->op->k + c->op->v_dim);
    w->flops = 2.0 * w->rows * mean_context(c) * w->batch * width;
    w->rate = nest_device_peak(c->device, NEST_BF16) * c->device->attention * c->traits.attention;
    w->bytes = c->element * w->rows * w->batch * 2.0 * width;
    const double memory = nest_memory_time(c->device, w->bytes);
    const double busy = w->flops / w->rate + c->device->launch;
    w->fw = busy > memory ? busy : memory;
    w->bw = 2.5 * w->fw;
    w->dropped = 4.0 * w->rows * w->batch;
}

/* Plain attention writes every score: two batched GEMMs (which move the scores themselves), a fused
 * scale-mask-softmax and, where trained with it, dropout. Bytes per score beyond the GEMMs,
 * forward: softmax 4, dropout 5; backward: softmax 6, dropout 5. Kept: softmax output 2, dropout
 * output 2 and mask 1 (Korthikanti et al. 2022: 5 a s^2 b). */
static void set_plain(const struct context *c, struct nest_op_work *w)
{
    const double context = (double)c->op->context;
    const double scores = w->rows * context * w->batch * c->element / 2.0;
    const struct nest_gemm product = {w->batch, w->rows, context, (double)c->op->k, NEST_BF16};
    const bool dropout = c->kind->dropout;
    const double rate = nest_gemm_rate(c->device, &product);
    const double gemms = 2.0 * nest_gemm_time(c->device, &product, rate, 0.0);
    const double softmax = scores * (dropout ? 9.0 : 4.0);
    w->flops = 2.0 * w->rows * context * w->batch * (double)(c->op->k + c->op->v_dim);
    w->rate = rate;
    w->bytes = 2.0 * nest_gemm_bytes(&product) + softmax;
    w->fw = gemms + nest_memory_time(c->device, softmax);
    w->bw = 2.0 * gemms + nest_memory_time(c->device, scores * (dropout ? 11.0 : 6.0));
    w->dropped = scores * (dropout ? 5.0 : 2.0);
}

/* Loss over fp32 logits: cast, maximum, exponentials; then the gradient in 16 bits. Held: 16-bit
 * logits, whose place the gradient takes, and an fp32 copy that becomes the softmax; unfused, the
 * copy, its log-softmax and its gradient exist side by side. */
static void set_loss(const struct context *c, struct nest_op_work *w)
{
    const double logits = w->rows * w->n;
    w->bytes = 18.0 * logits;
    w->fw = nest_memory_time(c->device, w->bytes);
    w->bw = nest_memory_time(c->device, 8.0 * logits);
    w->logits = (c->problem->train.fused_loss ? 6.0 : 14.0) * logits;
}

/* Embedding rows; the backward pass adds them into the gradient. */
static void set_lookup(const struct context *c, struct nest_op_work *w)
{
    const double width = (double)c->op->k;
    const double gradient = c->element + 2.0 * (double)c->problem->train.grad_bytes;
    w->bytes = c->element * c->op->traffic * w->rows;
    w->fw = nest_memory_time(c->device, w->bytes);
    w->bw = nest_memory_time(c->device, gradient * w->rows * width);
}

/* Memory-bound; the backward pass reads the gradient, too. */
static void set_elementwise(const struct context *c, double part, struct nest_op_work *w)
{
    w->bytes = c->element * c->op->traffic * part * w->rows * c->traits.traffic;
    w->fw = nest_memory_time(c->device, w->bytes);
    w->bw = nest_memory_time(c->device, 1.5 * w->bytes);
}

void nest_op_work(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                  const struct nest_strategy *strategy, const struct nest_op *op,
                  struct nest_op_work *out)
{
    const struct context c = {.problem = problem,
                              .device = problem->cluster->device,
                              .kind = kind,
                              .strategy = strategy,
                              .op = op,
                              .traits = nest_framework_traits(problem->train.framework),
                              .element = nest_element_bytes(problem)};
    *out = (struct nest_op_work){.expert = is_expert(op), .batch = 1.0};
    out->rows = rows_of(&c);
    const double part = divide(&c, out);
    out->weights = weights_of(&c, out, part);
    out->kept = out->rows * op->saved * part * op->saved_bytes * c.element / 2.0;
    if (!c.traits.fused) {
        out->kept += out->rows * op->saved_unfused * part * c.element;
    }
    if (c.traits.keeps_fp8 && in_fp8(&c)) {
        out->kept += out->rows * op->saved_fp8 * part;
    }
    switch (op->kind) {
    case NEST_OP_GEMM:
        out->batch = out->expert ? (double)kind->experts / (double)strategy->ep : 1.0;
        set_gemm(&c, out);
        break;
    case NEST_OP_ATTENTION:
        out->batch = out->n;
        if (problem->train.flash) {
            set_flash(&c, out);
        } else {
            set_plain(&c, out);
        }
        break;
    case NEST_OP_LOOKUP:
        set_lookup(&c, out);
        break;
    case NEST_OP_ELEMENTWISE:
        if (op->vocabulary) {
            set_loss(&c, out);
        } else {
            set_elementwise(&c, part, out);
        }
        break;
    }
}
