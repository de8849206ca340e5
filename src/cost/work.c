#include "cost/framework.h"
#include "cost/layer.h"
#include "cost/operator.h"
#include "model/measured.h"

/* Everything about one call that its helpers share. */
struct context {
    const struct nest_problem *problem;
    const struct nest_layer_kind *kind;
    const struct nest_strategy *strategy;
    double element;  /* bytes of one activation element */
    double dropped;  /* of kept: bytes that selective recompute does not keep */
    double attended; /* bytes of the attention's output */
    double outputs;  /* bytes of all GEMM outputs */
    double peak;     /* bytes of the widest operator's input and output gradients */
};

static void add_gemm(struct context *c, const struct nest_op *op, const struct nest_op_work *w,
                     struct nest_layer_work *out)
{
    const double both = c->element * w->rows * (w->n + w->k);
    c->peak = both > c->peak && !op->vocabulary ? both : c->peak;
    c->outputs += c->element * w->rows * w->n;
    if (op->split == NEST_SPLIT_TP_K && c->attended == 0.0) {
        c->attended = c->element * w->rows * w->k;
    }
    out->gemm_fw += w->fw;
    out->gemm_bw += w->bw;
}

static void add_op(struct context *c, const struct nest_op *op, struct nest_layer_work *out)
{
    struct nest_op_work w;
    nest_op_work(c->problem, c->kind, c->strategy, op, &w);
    out->fw += w.fw;
    out->bw += w.bw;
    out->logits += w.logits;
    out->kept[NEST_RECOMPUTE_NONE] += w.kept;
    c->dropped += w.dropped;
    *(w.expert ? &out->expert : &out->dense) += w.weights;
    if (op->shared_expert) {
        out->shared_fw += w.fw;
        out->shared_bw += w.bw;
    }
    if (op->kind == NEST_OP_GEMM) {
        add_gemm(c, op, &w, out);
    } else if (op->kind == NEST_OP_ATTENTION) {
        out->attention_fw += w.fw;
        out->attention_bw += w.bw;
        out->attention_redone = true;
    }
}

/* What tensor, context and expert parallelism must exchange, in bytes. */
static void set_messages(const struct context *c, struct nest_layer_work *out)
{
    const struct nest_strategy *s = c->strategy;
    const struct nest_layer_kind *kind = c->kind;
    const double hidden = (double)kind->width;
    const double tokens = out->tokens * kind->rows;
    out->tp_bytes = c->element * tokens * hidden;
    const bool block = kind->role == NEST_LAYER_BLOCK;
    const bool head = kind->role == NEST_LAYER_HEAD;
    if (kind->role == NEST_LAYER_TOWER) {
        return;
    }
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
        out->ring_bytes = c->element * tokens * (double)kind->kv_columns / cut;
    }
    if (kind->moe) {
        out->dispatch_bytes = c->element * out->tokens / (double)s->tp * (double)kind->top_k *
                              hidden * nest_expert_load(c->problem);
    }
}

/* What the three modes keep, redo and hold while the layer runs. */
static void set_modes(const struct context *c, struct nest_layer_work *out)
{
    const double everything = out->kept[NEST_RECOMPUTE_NONE] + c->dropped;
    const double boundary = out->tp_bytes / (c->strategy->sp ? (double)c->strategy->tp : 1.0);
    const double gathered = c->strategy->sp && c->strategy->tp > 1 ? out->tp_bytes : 0.0;
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
    if (nest_framework_traits(c->problem->train.framework).per_operator_selective) {
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

const struct nest_profile_entry *nest_profile_entry_at(const struct nest_profile_layer *layer,
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
    const struct nest_profile_entry *entry = nest_profile_entry_at(kind->profile, strategy->tp);
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

/* How long the operators take together; what they consist of keeps its shares. */
static void set_times(double fw, double bw, struct nest_layer_work *out)
{
    const double forward = out->fw > 0.0 ? fw / out->fw : 1.0;
    const double backward = out->bw > 0.0 ? bw / out->bw : 1.0;
    out->fw = fw;
    out->bw = bw;
    out->attention_fw *= forward;
    out->gemm_fw *= forward;
    out->shared_fw *= forward;
    out->attention_bw *= backward;
    out->gemm_bw *= backward;
    out->shared_bw *= backward;
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        out->redone[r] *= forward;
    }
}

/* A measured time of another micro batch counts by the sequence, and cp ranks share a sequence. */
static void measure_work(const struct nest_layer_kind *kind, const struct nest_strategy *strategy,
                         struct nest_layer_work *out)
{
    const struct nest_measured_time *time =
        nest_measured_at(kind, strategy->tp, strategy->micro_batch);
    if (time != NULL) {
        const double share =
            (double)strategy->micro_batch / ((double)time->micro_batch * (double)strategy->cp);
        set_times(time->fw * share, time->bw * share, out);
    }
}

static void override_work(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                          const struct nest_strategy *strategy, struct nest_layer_work *out)
{
    double fw = out->fw;
    double bw = out->bw;
    problem->overrides->compute(problem->overrides->context, kind, strategy, &fw, &bw);
    set_times(fw, bw, out);
}

static void described_work(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                           const struct nest_strategy *strategy, struct nest_layer_work *out)
{
    struct context c = {.problem = problem,
                        .kind = kind,
                        .strategy = strategy,
                        .element = nest_element_bytes(problem)};
    out->tokens = nest_local_tokens(problem, strategy);
    for (int i = 0; i < kind->ops; i++) {
        add_op(&c, &kind->op[i], out);
    }
    set_messages(&c, out);
    set_modes(&c, out);
}

void nest_layer_work(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                     const struct nest_strategy *strategy, struct nest_layer_work *out)
{
    *out = (struct nest_layer_work){.kind = kind};
    if (kind->role == NEST_LAYER_PROFILED) {
        measured_work(kind, strategy, out);
    } else {
        described_work(problem, kind, strategy, out);
        measure_work(kind, strategy, out);
    }
    if (problem->overrides != NULL && problem->overrides->compute != NULL) {
        override_work(problem, kind, strategy, out);
    }
}
