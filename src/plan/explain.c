#include "plan/explain.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cost/framework.h"
#include "cost/operator.h"
#include "cost/pace.h"
#include "cost/roofline.h"
#include "model/measured.h"
#include "plan/explain_stage.h"

enum { TEXT = 32 };

/* "108.2 ms": rounded for reading; out holds TEXT bytes. */
static const char *time_text(nest_ps time, char out[TEXT])
{
    return nest_unit_format(nest_to_seconds(time), NEST_UNIT_SECONDS, out, TEXT);
}

static void explain_formula(const struct nest_plan *plan, const struct nest_prediction *p,
                            struct nest_strbuf *out)
{
    nest_ps sum = 0;
    for (int i = 0; i < p->stages; i++) {
        sum += p->stage[i].load;
    }
    const nest_ps most = p->stage[p->bottleneck].load;
    const nest_ps tied = p->step - p->pipeline - p->tail;
    char a[TEXT], b[TEXT], c[TEXT], d[TEXT];
    nest_strbuf_printf(out, "step = pipeline + tail + tied = %s + %s + %s = %s\n",
                       time_text(p->pipeline, a), time_text(p->tail, b), time_text(tied, c),
                       time_text(p->step, d));
    nest_strbuf_printf(
        out, "  pipeline = M * t + (T - t) / v = %" PRId64 " * %s + (%s - %s) / %" PRId64 "\n",
        plan->microbatches, time_text(most, a), time_text(sum, b), time_text(most, c),
        plan->strategy.virtual_stages);
    nest_strbuf_printf(
        out,
        "    M microbatches per replica = batch / (dp * micro batch); t largest load "
        "(stage %d);\n    T sum of the loads; v chunks per stage\n",
        p->bottleneck);
    nest_strbuf_add(out, "  tail = what gradient traffic and the optimizer still take when the "
                         "pipeline has drained\n");
}

static void explain_loads(const struct nest_plan *plan, const struct nest_prediction *p,
                          struct nest_strbuf *out)
{
    nest_strbuf_add(out, "\nload of a stage = forward + backward + boundary in + boundary out, per "
                         "microbatch\n");
    nest_strbuf_printf(out, "  %-6s %-12s %12s %12s %11s %11s %12s\n", "stage", "layers", "forward",
                       "backward", "in", "out", "load");
    for (int i = 0; i < p->stages; i++) {
        const struct nest_stage_cost *s = &p->stage[i];
        const struct nest_plan_stage *stage = &plan->stage[i];
        char layers[TEXT], a[TEXT], b[TEXT], c[TEXT], d[TEXT], e[TEXT];
        (void)snprintf(layers, sizeof layers, "%" PRId64 "-%" PRId64 "%s", stage->layers[0].low,
                       stage->layers[0].high, stage->ranges > 1 ? " ..." : "");
        nest_strbuf_printf(out, "  %-6d %-12s %12s %12s %11s %11s %12s\n", i, layers,
                           time_text(s->fw, a), time_text(s->bw, b), time_text(s->in, c),
                           time_text(s->out, d), time_text(s->load, e));
    }
}

static void explain_share(const char *name, nest_ps time, nest_ps step, const char *meaning,
                          struct nest_strbuf *out)
{
    char text[TEXT];
    nest_strbuf_printf(out, "  %-10s %12s %5.1f%%  %s\n", name, time_text(time, text),
                       step > 0 ? 100.0 * (double)time / (double)step : 0.0, meaning);
}

void nest_explain_step(const struct nest_plan *plan, const struct nest_prediction *prediction,
                       struct nest_strbuf *out)
{
    const struct nest_breakdown *b = &prediction->breakdown;
    const nest_ps step = prediction->step;
    explain_formula(plan, prediction, out);
    explain_loads(plan, prediction, out);
    nest_strbuf_add(out,
                    "\nwhere the step goes: M times the bottleneck stage's parts, then what is "
                    "left\n");
    explain_share("compute", b->compute, step, "the layers' own operators", out);
    explain_share("recompute", b->recompute, step, "forward done again in the backward", out);
    explain_share("tp", b->tp, step, "tensor-parallel collectives left exposed", out);
    explain_share("cp", b->cp, step, "ring attention left exposed", out);
    explain_share("ep", b->ep, step, "expert all-to-all left exposed", out);
    explain_share("pp", b->pp, step, "boundary tensors in and out", out);
    explain_share("bubble", b->bubble, step, "filling and draining the pipeline", out);
    explain_share("dp", b->dp, step, "gradient and weight traffic left exposed", out);
    explain_share("optimizer", b->optimizer, step, "the update, after the pipeline", out);
}

/* The forward time of one operator as a product and a quotient: what was bound by what. */
static void explain_op(const struct nest_op *op, const struct nest_op_work *w,
                       const struct nest_device_spec *device, struct nest_strbuf *out)
{
    const double bandwidth = device->memory_bandwidth * device->memory_efficiency;
    const bool compute = w->rate > 0.0 && w->flops / w->rate >= w->bytes / bandwidth;
    char how[160];
    if (!compute) {
        (void)snprintf(how, sizeof how, "%.4g MB / %.4g GB/s", w->bytes / 1e6, bandwidth / 1e9);
    } else if (op->kind == NEST_OP_GEMM) {
        (void)snprintf(how, sizeof how, "2 * %.0f * %.0f * %.0f = %.4g FLOP / %.4g TFLOP/s",
                       w->rows, w->n, w->k, w->flops, w->rate / 1e12);
    } else {
        const double width = (double)(op->k + op->v_dim);
        (void)snprintf(how, sizeof how,
                       "2 * %.0f * %.0f keys * %.0f heads * %.0f FLOP / %.4g TFLOP/s", w->rows,
                       w->flops / (2.0 * w->rows * w->batch * width), w->batch, width,
                       w->rate / 1e12);
    }
    nest_strbuf_printf(out, "    %-21s %9.3f %9.3f  %s\n", op->name, 1e3 * w->fw, 1e3 * w->bw, how);
    if (w->casts > 0.0) {
        nest_strbuf_printf(out, "    %-21s %9s %9s  + %.4g MB / %.4g GB/s\n", "  cast to fp8", "",
                           "", w->casts / 1e6, bandwidth / 1e9);
    }
}

static void explain_kind(const struct nest_problem *problem, const struct nest_strategy *strategy,
                         int index, int64_t count, struct nest_strbuf *out)
{
    const struct nest_layer_kind *kind = &problem->model->kind[index];
    nest_strbuf_printf(out,
                       "  %" PRId64 " x %s: forward ms, backward ms, and how the forward follows\n",
                       count, kind->name);
    if (kind->role == NEST_LAYER_PROFILED) {
        const struct nest_profile_entry *e = nest_profile_entry_at(kind->profile, strategy->tp);
        nest_strbuf_printf(out, "    %-21s %9.3f %9.3f  measured at tp %" PRId64 "\n", "measured",
                           1e3 * e->fw, 1e3 * e->bw, e->tp);
        return;
    }
    const struct nest_measured_time *time =
        nest_measured_at(kind, strategy->tp, strategy->micro_batch);
    if (time != NULL) {
        nest_strbuf_printf(out,
                           "    %-21s %9.3f %9.3f  measured at tp %" PRId64 ", micro batch %" PRId64
                           "; as computed it would be:\n",
                           "measured", 1e3 * time->fw, 1e3 * time->bw, time->tp, time->micro_batch);
    }
    for (int i = 0; i < kind->ops; i++) {
        struct nest_op_work work;
        nest_op_work(problem, kind, strategy, &kind->op[i], &work);
        explain_op(&kind->op[i], &work, problem->cluster->device, out);
    }
}

/* Where the rates come from, and the backward times. */
static void explain_kernels(const struct nest_problem *problem, struct nest_strbuf *out)
{
    const struct nest_device_spec *device = problem->cluster->device;
    const double bandwidth = device->memory_bandwidth * device->memory_efficiency;
    const double peak = nest_device_peak(device, NEST_BF16);
    char launch[TEXT];
    nest_strbuf_printf(out,
                       "  every kernel takes %s more to start; memory moves at %.4g = %g * %.4g "
                       "GB/s\n",
                       time_text(nest_to_ps(device->launch), launch), bandwidth / 1e9,
                       device->memory_efficiency, device->memory_bandwidth / 1e9);
    nest_strbuf_printf(out,
                       "  a GEMM's rate is its share of the peak, %.4g TFLOP/s (fp8 %.4g), by its "
                       "FLOP: the device's curve\n",
                       peak / 1e12, nest_device_peak(device, NEST_FP8) / 1e12);
    nest_strbuf_printf(out,
                       "  backward: of a GEMM two of the same FLOP, the second adding into %" PRId64
                       "-byte gradients;\n    of flash attention 2.5 times the forward; of the "
                       "rest 1.5 times the bytes\n",
                       problem->train.grad_bytes);
}

/* "2 all-gathers of 134 MB over 8 devices …: 0.31 ms each = 8 us + 134 MB / 440 GB/s, ring". */
static void explain_collective(const struct nest_problem *problem, const char *what,
                               enum nest_collective kind, const struct nest_comm *comm, int times,
                               double bytes, struct nest_strbuf *out)
{
    if (comm->size <= 1 || times == 0 || bytes <= 0.0) {
        return;
    }
    char one[TEXT], fixed[TEXT];
    nest_strbuf_printf(
        out, "    %d %s of %.4g MB over %" PRId64 " devices (up to level %s): %s each\n", times,
        what, bytes / 1e6, comm->size, problem->cluster->level[comm->top].name,
        time_text(nest_problem_collective(problem, kind, comm, bytes), one));
    if (!problem->overrides || !problem->overrides->collective) {
        const struct nest_collective_way way =
            nest_collective_way(problem->cluster, kind, comm, bytes);
        nest_strbuf_printf(out, "      = %s + %.4g MB / %.4g GB/s: %s, %s\n",
                           time_text(nest_to_ps(way.fixed), fixed), bytes / 1e6, 1e-9 / way.slope,
                           way.algorithm, way.protocol);
    }
}

static void explain_messages(const struct nest_problem *problem,
                             const struct nest_strategy *strategy, const struct nest_placement *at,
                             const struct nest_layer_kind *kind, struct nest_strbuf *out)
{
    struct nest_layer_work w;
    nest_layer_work(problem, kind, strategy, &w);
    const int gathers = w.gathers_fw + w.gathers_bw + 2 * w.moe_gathers;
    const int reduces = w.reduces_fw + w.reduces_bw;
    explain_collective(problem, "tp all-gathers", NEST_ALL_GATHER, &at->tp, gathers, w.tp_bytes,
                       out);
    explain_collective(problem, strategy->sp ? "tp reduce-scatters" : "tp all-reduces",
                       strategy->sp ? NEST_REDUCE_SCATTER : NEST_ALL_REDUCE, &at->tp, reduces,
                       w.tp_bytes, out);
    explain_collective(problem, "turns of the cp ring", NEST_ALL_GATHER, &at->cp, 3,
                       w.ring_bytes * (double)strategy->cp, out);
    explain_collective(problem, "ep all-to-alls", NEST_ALL_TO_ALL, &at->ep, 4, w.dispatch_bytes,
                       out);
    const struct nest_state_bytes bytes = nest_state_bytes(&problem->train);
    if (strategy->zero >= 3) {
        explain_collective(problem, "ZeRO gathers of weights", NEST_ALL_GATHER, &at->shard, 2,
                           (double)(bytes.gathered * w.dense), out);
        explain_collective(problem, "ZeRO gathers of experts", NEST_ALL_GATHER, &at->expert, 2,
                           (double)(bytes.gathered * w.expert), out);
    }
    if (strategy->zero >= 2) {
        explain_collective(problem, "ZeRO reductions of gradients", NEST_REDUCE_SCATTER, &at->shard,
                           1, (double)(bytes.gradient * w.dense), out);
        explain_collective(problem, "ZeRO reductions of experts' gradients", NEST_REDUCE_SCATTER,
                           &at->expert, 1, (double)(bytes.gradient * w.expert), out);
    }
}

/* Of a mixed cluster: whose pace the stage goes at. */
static void explain_pace(const struct nest_problem *whole, unsigned kinds,
                         const struct nest_problem *paced, struct nest_strbuf *out)
{
    char names[160];
    if (kinds != 0) {
        nest_strbuf_printf(out, "  on %s, at the pace of %s\n",
                           nest_kinds_format(whole->cluster, kinds, names, sizeof names),
                           paced->cluster->device->name);
    }
}

/* What a stage does once per step: gradients, weights, the update. */
static void explain_update(const struct nest_problem *problem, const struct nest_plan *plan,
                           const struct nest_placement *at, const struct nest_stage_cost *cost,
                           int stage, struct nest_strbuf *out)
{
    const struct nest_strategy s = nest_explain_strategy(plan, stage);
    const struct nest_device_spec *device = problem->cluster->device;
    const struct nest_state_bytes bytes = nest_state_bytes(&problem->train);
    int64_t dense, expert;
    nest_explain_parameters(problem, plan, stage, &dense, &expert);
    char a[TEXT], b[TEXT];
    nest_strbuf_printf(out, "  once per step: gradient and weight traffic left exposed %s\n",
                       time_text(cost->sync, a));
    const struct nest_comm *group = s.zero == 0 ? &at->dense : &at->shard;
    if (s.zero < 2) {
        const enum nest_collective kind = s.zero == 0 ? NEST_ALL_REDUCE : NEST_REDUCE_SCATTER;
        explain_collective(problem, "reductions of gradients", kind, group, 1,
                           (double)(bytes.gradient * dense), out);
        explain_collective(problem, "reductions of experts' gradients", kind, &at->expert, 1,
                           (double)(bytes.gradient * expert), out);
    }
    if (s.zero == 1 || s.zero == 2) {
        explain_collective(problem, "gathers of weights", NEST_ALL_GATHER, group, 1,
                           (double)(bytes.gathered * dense), out);
        explain_collective(problem, "gathers of experts", NEST_ALL_GATHER, &at->expert, 1,
                           (double)(bytes.gathered * expert), out);
    }
    const double bandwidth = device->memory_bandwidth * device->memory_efficiency;
    const double moved = nest_to_seconds(cost->optimizer) * bandwidth;
    nest_strbuf_printf(out,
                       "  the update %s = %.4g parameters * %g bytes / %.4g GB/s: gradient twice, "
                       "states twice, weight\n",
                       time_text(cost->optimizer, b), moved / nest_update_bytes(&problem->train),
                       nest_update_bytes(&problem->train), bandwidth / 1e9);
}

void nest_explain_time(const struct nest_problem *whole, const struct nest_plan *plan,
                       const struct nest_prediction *prediction, int stage, struct nest_strbuf *out)
{
    const struct nest_strategy strategy = nest_explain_strategy(plan, stage);
    const struct nest_stage_cost *cost = &prediction->stage[stage];
    struct nest_placement at;
    nest_placement_at(whole->cluster, &strategy, plan->stage[stage].first_device, &at);
    struct nest_pace pace;
    const struct nest_problem *problem = nest_pace_set(whole, strategy.selection, at.kinds, &pace);
    char a[TEXT], b[TEXT], c[TEXT], d[TEXT], e[TEXT], f[TEXT];
    nest_strbuf_printf(out, "stage %d, per microbatch: forward %s, backward %s\n", stage,
                       time_text(cost->fw, a), time_text(cost->bw, b));
    nest_strbuf_printf(out, "  = compute %s + recompute %s + tp %s + cp %s + ep %s + zero %s\n",
                       time_text(cost->compute, a), time_text(cost->recompute, b),
                       time_text(cost->tp, c), time_text(cost->cp, d), time_text(cost->ep, e),
                       time_text(cost->zero, f));
    explain_pace(whole, at.kinds, problem, out);
    for (int k = 0; k < problem->model->kinds; k++) {
        const int64_t count = nest_explain_count(problem->model, &plan->stage[stage], k);
        if (count > 0) {
            explain_kind(problem, &strategy, k, count, out);
            explain_messages(problem, &strategy, &at, &problem->model->kind[k], out);
        }
    }
    const struct nest_overlap_spec *o = &problem->overlap;
    nest_strbuf_printf(
        out,
        "  exposed = t - knob * min(t, what may hide it)\n  knobs: tp %g, cp %g, ep %g, "
        "zero %g, dp %g, pp %g\n",
        o->tp, o->cp, o->ep, o->zero, o->dp, o->pp);
    if (strategy.tp > 1 && nest_framework_traits(problem->train.framework).async_tp) {
        nest_strbuf_add(out, "  backward, the framework runs tp reductions beside the weight "
                             "gradients: t - min(t, half the GEMMs)\n");
    }
    explain_kernels(problem, out);
    explain_update(problem, plan, &at, cost, stage, out);
}

void nest_explain(const struct nest_problem *problem, const struct nest_plan *plan,
                  const struct nest_prediction *prediction, struct nest_strbuf *out)
{
    nest_explain_step(plan, prediction, out);
    nest_strbuf_add(out, "\n");
    nest_explain_time(problem, plan, prediction, prediction->bottleneck, out);
    nest_strbuf_add(out, "\n");
    nest_explain_memory(problem, plan, prediction, prediction->worst_stage, out);
}
