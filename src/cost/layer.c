#include "cost/layer.h"

#include "cost/framework.h"

/* Times of one layer's communications at one place, seconds before overlap. */
struct messages {
    const struct nest_problem *problem;
    const struct nest_layer_work *work;
    const struct nest_strategy *strategy;
    const struct nest_placement *placement;
};

static double collective(const struct messages *m, enum nest_collective kind,
                         const struct nest_comm *comm, double bytes)
{
    if (comm->size <= 1 || bytes <= 0.0) {
        return 0.0;
    }
    return nest_to_seconds(nest_problem_collective(m->problem, kind, comm, bytes));
}

/* exposed = t - knob * min(t, hide) */
static double exposed(double time, double knob, double hide)
{
    return time - knob * (time < hide ? time : hide);
}

struct direction {
    double compute, tp, cp, ep, zero;
};

/* What each communication of a pass takes once, seconds before overlap; both passes have the same.
 */
struct once {
    double gather, reduce, loss; /* over tp */
    double ring;                 /* of one tensor of keys or values */
    double experts;              /* there and back */
};

static void time_once(const struct messages *m, struct once *out)
{
    const struct nest_layer_work *w = m->work;
    const struct nest_placement *at = m->placement;
    const double whole = w->dispatch_bytes * (double)m->strategy->etp;
    *out = (struct once){0};
    if (w->gathers_fw + w->gathers_bw + w->moe_gathers > 0) {
        out->gather = collective(m, NEST_ALL_GATHER, &at->tp, w->tp_bytes);
    }
    if (w->reduces_fw + w->reduces_bw > 0) {
        const enum nest_collective kind = m->strategy->sp ? NEST_REDUCE_SCATTER : NEST_ALL_REDUCE;
        out->reduce = collective(m, kind, &at->tp, w->tp_bytes);
    }
    out->loss = 2.0 * collective(m, NEST_ALL_REDUCE, &at->tp, w->loss_bytes);
    out->ring = collective(m, NEST_ALL_GATHER, &at->cp, w->ring_bytes * (double)m->strategy->cp);
    out->experts = 2.0 * collective(m, NEST_ALL_TO_ALL, &at->ep, w->dispatch_bytes) +
                   collective(m, NEST_ALL_GATHER, &at->etp, whole) +
                   collective(m, NEST_REDUCE_SCATTER, &at->etp, whole);
}

static double tp_time(const struct once *once, int gathers, int reduces, bool loss)
{
    return gathers * once->gather + reduces * once->reduce + (loss ? once->loss : 0.0);
}

/* Ring attention passes keys and values around the ring while they are used: as much as an
 * all-gather of them. The first of cp parts needs no transfer to wait for. */
static double ring_time(const struct messages *m, const struct once *once, double tensors,
                        double attention)
{
    const double cp = (double)m->strategy->cp;
    return exposed(tensors * once->ring, m->problem->overlap.cp, attention * (cp - 1.0) / cp);
}

/* Tokens to their experts and back; inside an expert that is cut, gathered and reduced. */
static double expert_time(const struct messages *m, const struct once *once, double hide)
{
    return exposed(once->experts, m->problem->overlap.ep, hide);
}

static double sharded(const struct messages *m, enum nest_collective kind, double bytes_each)
{
    const struct nest_layer_work *w = m->work;
    return collective(m, kind, &m->placement->shard, bytes_each * (double)w->dense) +
           collective(m, kind, &m->placement->expert, bytes_each * (double)w->expert);
}

static void forward(const struct messages *m, const struct once *once, struct direction *out)
{
    const struct nest_layer_work *w = m->work;
    const struct nest_overlap_spec *knob = &m->problem->overlap;
    out->compute = w->fw;
    out->tp = exposed(tp_time(once, w->gathers_fw + w->moe_gathers, w->reduces_fw, true), knob->tp,
                      w->gemm_fw);
    out->cp = ring_time(m, once, 1.0, w->attention_fw);
    out->ep = expert_time(m, once, w->shared_fw);
}

static void backward(const struct messages *m, const struct once *once, struct direction *out)
{
    const struct nest_layer_work *w = m->work;
    const struct nest_overlap_spec *knob = &m->problem->overlap;
    out->compute = w->bw;
    const double gathers = tp_time(once, w->gathers_bw + w->moe_gathers, 0, false);
    const double reduces = tp_time(once, 0, w->reduces_bw, false);
    const bool async = nest_framework_traits(m->problem->train.framework).async_tp;
    /* Half of the backward GEMMs' time is the weight gradient's. */
    const double beside = exposed(reduces, async ? 1.0 : 0.0, 0.5 * w->gemm_bw);
    out->tp = exposed(gathers + beside, knob->tp, w->gemm_bw);
    out->cp = ring_time(m, once, 2.0, w->attention_bw);
    out->ep = expert_time(m, once, w->shared_bw);
}

/* Per-microbatch traffic of ZeRO 2 and 3, before overlap. */
struct sharding {
    double before; /* gathers before either pass */
    double after;  /* and after the backward one */
};

static struct sharding zero_time(const struct messages *m)
{
    const struct nest_state_bytes bytes = nest_state_bytes(&m->problem->train);
    struct sharding zero = {0};
    if (m->strategy->zero >= 3) {
        zero.before = sharded(m, NEST_ALL_GATHER, (double)bytes.gathered);
        zero.after = zero.before;
    }
    if (m->strategy->zero >= 2) {
        zero.after += sharded(m, NEST_REDUCE_SCATTER, (double)bytes.gradient);
    }
    return zero;
}

static int64_t divided(int64_t bytes, int64_t parts)
{
    return (bytes + parts - 1) / parts;
}

/* Parameters gathered at a time: a layer; DeepSpeed holds no more than 1e9 live ones and reduces in
 * buckets (stage3_max_live_parameters, reduce_bucket_size). */
static int64_t live_unit(const struct nest_problem *problem, int64_t layer)
{
    const int64_t most = 500000000;
    return problem->train.framework == NEST_DEEPSPEED && layer > most ? most : layer;
}

void nest_layer_state(const struct nest_problem *problem, int64_t dense_params,
                      int64_t expert_params, const struct nest_strategy *s,
                      struct nest_layer_cost *out)
{
    const struct nest_state_bytes bytes = nest_state_bytes(&problem->train);
    const int64_t dense = nest_dense_shard(s);
    const int64_t expert = nest_expert_shard(s);
    const int64_t whole = dense_params + expert_params;
    const int64_t part = divided(dense_params, dense) + divided(expert_params, expert);
    out->weights = bytes.weight * (s->zero >= 3 ? part : whole);
    out->gradients = bytes.gradient * (s->zero >= 2 ? part : whole);
    out->optimizer = bytes.optimizer * (s->zero >= 1 ? part : whole);
    out->optimized = s->zero >= 1 ? part : whole;
    out->dense_sync = dense_params;
    out->expert_sync = expert_params;
    /* One unit is live unsharded: its gradients, and under ZeRO 3 its weights and the next one's,
     * which are fetched ahead. */
    if (dense * expert > 1) {
        const int64_t unit = live_unit(problem, whole);
        out->gathered = s->zero >= 2 ? bytes.gradient * unit : 0;
        out->gathered += s->zero >= 3 ? 2 * bytes.gathered * unit : 0;
    }
}

/* Puts a script's terms in place of the layer's own. */
static void override_memory(const struct nest_problem *problem, const struct nest_layer_work *work,
                            const struct nest_strategy *s, enum nest_recompute recompute,
                            struct nest_layer_cost *out)
{
    struct nest_layer_memory m = {
        .weights = out->weights,
        .gradients = out->gradients,
        .optimizer = out->optimizer,
        .logits = out->logits,
        .activations = out->activations,
        .working = out->working,
        .gathered = out->gathered,
    };
    problem->overrides->memory(problem->overrides->context, work->kind, s, recompute, &m);
    out->weights = m.weights;
    out->gradients = m.gradients;
    out->optimizer = m.optimizer;
    out->logits = m.logits;
    out->activations = m.activations;
    out->working = m.working;
    out->gathered = m.gathered;
    out->resident = m.resident;
    out->waiting = m.waiting;
    out->entering = m.entering;
}

/* The bytes that depend on the mode, and the script's. */
static void set_memory(const struct nest_problem *problem, const struct nest_layer_work *work,
                       const struct nest_strategy *strategy, enum nest_recompute recompute,
                       struct nest_layer_cost *out)
{
    const struct nest_model *model = problem->model;
    out->activations = nest_layer_bytes(model, work->kept[recompute]);
    out->working = nest_layer_bytes(model, work->live[recompute]);
    out->logits = nest_layer_bytes(model, work->logits);
    if (problem->overrides != NULL && problem->overrides->memory != NULL) {
        override_memory(problem, work, strategy, recompute, out);
    }
}

void nest_layer_memory(const struct nest_problem *problem, const struct nest_layer_work *work,
                       const struct nest_strategy *strategy, enum nest_recompute recompute,
                       struct nest_layer_cost *out)
{
    *out = (struct nest_layer_cost){0};
    nest_layer_state(problem, work->dense, work->expert, strategy, out);
    set_memory(problem, work, strategy, recompute, out);
}

/* What both passes of a layer take whatever the recompute mode. */
struct passes {
    struct direction fw, bw;
    struct sharding zero;
    struct nest_layer_cost state; /* the parameters' part of the answer */
};

static void price_passes(const struct messages *m, struct passes *out)
{
    *out = (struct passes){0};
    struct once once;
    time_once(m, &once);
    forward(m, &once, &out->fw);
    backward(m, &once, &out->bw);
    out->zero = zero_time(m);
    nest_layer_state(m->problem, m->work->dense, m->work->expert, m->strategy, &out->state);
}

nest_ps nest_layer_longest(const struct nest_model *model)
{
    return NEST_PS_MAX / 2 / model->layers;
}

int64_t nest_layer_bytes(const struct nest_model *model, double bytes)
{
    const int64_t most = NEST_BYTES_MAX / model->layers;
    return bytes + 0.5 < (double)most ? (int64_t)(bytes + 0.5) : most;
}

static double total_of(const struct direction *way)
{
    return way->compute + way->tp + way->cp + way->ep + way->zero;
}

static void price_mode(const struct messages *m, const struct passes *passes,
                       enum nest_recompute recompute, struct nest_layer_cost *out)
{
    const struct nest_layer_work *work = m->work;
    const struct nest_model *model = m->problem->model;
    const double redone = work->redone[recompute];
    const double knob = m->problem->overlap.zero;
    struct direction fw = passes->fw;
    struct direction bw = passes->bw;
    fw.zero = exposed(passes->zero.before, knob, fw.compute);
    bw.zero = exposed(passes->zero.after, knob, bw.compute + redone);
    if (recompute == NEST_RECOMPUTE_FULL && redone > 0.0) {
        bw.tp += fw.tp;
        bw.cp += fw.cp;
        bw.ep += fw.ep;
    } else if (recompute == NEST_RECOMPUTE_SELECTIVE && work->attention_redone) {
        bw.cp += fw.cp;
    }
    *out = passes->state;
    if (!(total_of(&fw) + total_of(&bw) + redone < nest_to_seconds(nest_layer_longest(model)))) {
        out->endless = true;
        out->fw = out->compute = nest_layer_longest(model);
        set_memory(m->problem, work, m->strategy, recompute, out);
        return;
    }
    const nest_ps fw_tp = nest_to_ps(fw.tp);
    const nest_ps fw_cp = nest_to_ps(fw.cp);
    const nest_ps fw_ep = nest_to_ps(fw.ep);
    const nest_ps fw_zero = nest_to_ps(fw.zero);
    const nest_ps fw_compute = nest_to_ps(fw.compute);
    out->tp = fw_tp + nest_to_ps(bw.tp);
    out->cp = fw_cp + nest_to_ps(bw.cp);
    out->ep = fw_ep + nest_to_ps(bw.ep);
    out->zero = fw_zero + nest_to_ps(bw.zero);
    out->compute = fw_compute + nest_to_ps(bw.compute);
    out->recompute = nest_to_ps(redone);
    out->fw = fw_compute + fw_tp + fw_cp + fw_ep + fw_zero;
    out->bw = out->compute + out->recompute + out->tp + out->cp + out->ep + out->zero - out->fw;
    set_memory(m->problem, work, m->strategy, recompute, out);
}

void nest_layer_price(const struct nest_problem *problem, const struct nest_layer_work *work,
                      const struct nest_strategy *strategy, const struct nest_placement *placement,
                      enum nest_recompute recompute, struct nest_layer_cost *out)
{
    const struct messages m = {problem, work, strategy, placement};
    struct passes passes;
    price_passes(&m, &passes);
    price_mode(&m, &passes, recompute, out);
}

void nest_layer_price_modes(const struct nest_problem *problem, const struct nest_layer_work *work,
                            const struct nest_strategy *strategy,
                            const struct nest_placement *placement,
                            struct nest_layer_cost out[NEST_RECOMPUTES])
{
    const struct messages m = {problem, work, strategy, placement};
    struct passes passes;
    price_passes(&m, &passes);
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        price_mode(&m, &passes, (enum nest_recompute)r, &out[r]);
    }
}

void nest_layer_cost(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                     const struct nest_strategy *strategy, const struct nest_placement *placement,
                     enum nest_recompute recompute, struct nest_layer_cost *out)
{
    struct nest_layer_work work;
    nest_layer_work(problem, kind, strategy, &work);
    nest_layer_price(problem, &work, strategy, placement, recompute, out);
}

int64_t nest_boundary_bytes(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                            const struct nest_strategy *strategy)
{
    const double sequences = (double)strategy->micro_batch / (double)strategy->cp;
    if (kind->role == NEST_LAYER_PROFILED) {
        const struct nest_profile_entry *entry = nest_profile_entry_at(kind->profile, strategy->tp);
        return nest_layer_bytes(problem->model, entry->boundary_bytes * sequences);
    }
    const struct nest_model_spec *spec = problem->model->spec;
    const double element = problem->train.precision == NEST_FP32 ? 4.0 : 2.0;
    const double bytes = element * sequences * (double)spec->seq * kind->rows * (double)kind->width;
    return nest_layer_bytes(problem->model, bytes / (strategy->sp ? (double)strategy->tp : 1.0));
}
