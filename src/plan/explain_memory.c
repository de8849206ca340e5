#include "plan/explain.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cost/interleave.h"
#include "plan/explain_stage.h"

enum { TEXT = 32, HOW = 160 };
static const double MIB = 1048576.0;

static const char *bytes_text(int64_t bytes, char out[TEXT])
{
    return nest_unit_format((double)bytes, NEST_UNIT_BYTES, out, TEXT);
}

struct nest_strategy nest_explain_strategy(const struct nest_plan *plan, int stage)
{
    struct nest_strategy strategy = plan->strategy;
    strategy.zero = plan->stage[stage].zero;
    strategy.tp = plan->stage[stage].tp;
    return strategy;
}

int64_t nest_explain_count(const struct nest_model *model, const struct nest_plan_stage *stage,
                           int kind)
{
    int64_t count = 0;
    for (int r = 0; r < stage->ranges; r++) {
        for (int64_t i = stage->layers[r].low; i <= stage->layers[r].high; i++) {
            count += model->kind_of[i] == kind;
        }
    }
    return count;
}

void nest_explain_parameters(const struct nest_problem *problem, const struct nest_plan *plan,
                             int stage, int64_t *dense, int64_t *expert)
{
    const struct nest_strategy strategy = nest_explain_strategy(plan, stage);
    *dense = *expert = 0;
    for (int k = 0; k < problem->model->kinds; k++) {
        const int64_t count = nest_explain_count(problem->model, &plan->stage[stage], k);
        struct nest_layer_work work;
        if (count > 0) {
            nest_layer_work(problem, &problem->model->kind[k], &strategy, &work);
            *dense += count * work.dense;
            *expert += count * work.expert;
        }
    }
}

static void explain_term(const char *name, int64_t bytes, const char *how, struct nest_strbuf *out)
{
    char text[TEXT];
    if (bytes > 0) {
        nest_strbuf_printf(out, "  %-12s %10s  %s\n", name, bytes_text(bytes, text), how);
    }
}

static void explain_state(const struct nest_problem *problem, const struct nest_plan *plan,
                          int stage, const struct nest_memory *m, struct nest_strbuf *out)
{
    const struct nest_strategy s = nest_explain_strategy(plan, stage);
    const struct nest_state_bytes bytes = nest_state_bytes(&problem->train);
    const int64_t n = nest_dense_shard(&s);
    const int64_t each[] = {bytes.weight, bytes.gradient, bytes.optimizer};
    const int64_t term[] = {m->weights, m->gradients, m->optimizer};
    static const char *const name[] = {"weights", "gradients", "optimizer"};
    static const int sharded_from[] = {3, 2, 1};
    int64_t dense, expert;
    nest_explain_parameters(problem, plan, stage, &dense, &expert);
    nest_strbuf_printf(out, "  parameters on it: %.4g", (double)dense);
    if (expert > 0) {
        nest_strbuf_printf(out, " and %.4g of its experts", (double)expert);
    }
    nest_strbuf_add(out, "\n");
    for (int i = 0; i < 3; i++) {
        const bool sharded = s.zero >= sharded_from[i] && n > 1;
        char how[HOW];
        int used = snprintf(how, sizeof how, "%" PRId64 " bytes a parameter", each[i]);
        if (sharded) {
            used += snprintf(how + used, sizeof how - (size_t)used, " / %" PRId64 " devices", n);
        }
        if (sharded && expert > 0) {
            (void)snprintf(how + used, sizeof how - (size_t)used, " (experts: / %" PRId64 ")",
                           nest_expert_shard(&s));
        }
        explain_term(name[i], term[i], how, out);
    }
}

/* "3 microbatches in flight * 8 layers of 271 MiB, no recompute". */
static void explain_activations(const struct nest_problem *problem, const struct nest_plan *plan,
                                int stage, const struct nest_memory *m, struct nest_strbuf *out)
{
    static const char *const mode[] = {"no recompute", "selective recompute", "full recompute"};
    const struct nest_plan_stage *own = &plan->stage[stage];
    const int64_t v = plan->strategy.virtual_stages;
    char how[HOW];
    if (v > 1) {
        const int64_t chunks = nest_chunks_in_flight(stage, plan->stages, v, plan->microbatches);
        (void)snprintf(how, sizeof how,
                       "%" PRId64 " chunks in flight * %.4g MiB of the largest, %s", chunks,
                       (double)m->activations / (double)chunks / MIB, mode[own->recompute]);
        explain_term("activations", m->activations, how, out);
        return;
    }
    const int64_t behind = plan->stages - stage;
    const struct nest_strategy strategy = nest_explain_strategy(plan, stage);
    int used = snprintf(how, sizeof how, "%" PRId64 " microbatches in flight",
                        behind < plan->microbatches ? behind : plan->microbatches);
    const char *sign = " *";
    for (int k = 0; k < problem->model->kinds && used < HOW - 60; k++) {
        const struct nest_layer_kind *kind = &problem->model->kind[k];
        const int64_t count = nest_explain_count(problem->model, own, k);
        struct nest_layer_work work;
        if (count > 0) {
            nest_layer_work(problem, kind, &strategy, &work);
            const int64_t kept = nest_layer_bytes(problem->model, work.kept[own->recompute]);
            if (kept > 0) {
                used += snprintf(how + used, sizeof how - (size_t)used, "%s %" PRId64 " x %.4g MiB",
                                 sign, count, (double)kept / MIB);
                sign = " +";
            }
        }
    }
    (void)snprintf(how + used, sizeof how - (size_t)used, ", %s", mode[own->recompute]);
    explain_term("activations", m->activations, how, out);
}

void nest_explain_memory(const struct nest_problem *problem, const struct nest_plan *plan,
                         const struct nest_prediction *prediction, int stage,
                         struct nest_strbuf *out)
{
    const struct nest_memory *m = &prediction->stage[stage].memory;
    char total[TEXT], limit[TEXT];
    nest_strbuf_printf(out, "stage %d, each device: %s of %s\n", stage, bytes_text(m->total, total),
                       bytes_text(nest_stage_limit(prediction, stage), limit));
    explain_state(problem, plan, stage, m, out);
    explain_activations(problem, plan, stage, m, out);
    explain_term("logits", m->logits,
                 problem->train.fused_loss
                     ? "tokens * padded vocabulary / tp * (2 + 4): 16-bit logits, fp32 softmax"
                     : "tokens * padded vocabulary / tp * (2 + 12): 16-bit logits, three in fp32",
                 out);
    explain_term("working", m->working, "live only while the fullest layer runs", out);
    explain_term("gathered", m->gathered, "one unit of gathered weights and unsharded gradients",
                 out);
    explain_term("buffers", m->buffers, "communication buffers", out);
    explain_term("reserve", m->reserve, "context and libraries, and a share for each kind of group",
                 out);
}
