#include "export/megatron_model.h"

#include <inttypes.h>

#include "plan/words.h"

const struct nest_dialect nest_dialect_megatron = {
    .name = "Megatron-LM",
    .interleaving = true,
    .order_nest = true,
    .moe_needs_sp = true,
    .zero1 = true,
    .shard_groups_from = 1,
    .etp = true,
    .zero_with_pipeline = 1,
};

static void add_blocks(const struct nest_problem *problem, const struct nest_range *range,
                       struct nest_strbuf *out)
{
    const int64_t blocks = nest_range_blocks(problem, range);
    nest_strbuf_add(out, range->low == 0 ? "E" : "");
    if (blocks == 1) {
        nest_strbuf_add(out, "t");
    } else if (blocks > 1) {
        nest_strbuf_printf(out, "t*%" PRId64, blocks);
    }
    nest_strbuf_add(out, range->high == problem->model->layers - 1 ? "L" : "");
}

void nest_megatron_layout(const struct nest_problem *problem, const struct nest_plan *plan,
                          struct nest_strbuf *out)
{
    for (int chunk = 0; chunk < plan->stage[0].ranges; chunk++) {
        for (int i = 0; i < plan->stages; i++) {
            nest_strbuf_add(out, chunk + i > 0 ? "|" : "");
            add_blocks(problem, &plan->stage[i].layers[chunk], out);
        }
    }
}

void nest_megatron_moe_layers(const struct nest_model *model, struct nest_strbuf *out)
{
    nest_strbuf_add(out, "(");
    for (int first = 1; first < model->layers - 1;) {
        const bool moe = model->kind[model->kind_of[first]].moe;
        int end = first + 1;
        while (end < model->layers - 1 && model->kind[model->kind_of[end]].moe == moe) {
            end++;
        }
        nest_strbuf_printf(out, "%s[%d]*%d", first > 1 ? "+" : "", moe ? 1 : 0, end - first);
        first = end;
    }
    nest_strbuf_add(out, ")");
}

int64_t nest_ranks_per_node(const struct nest_problem *problem, const struct nest_plan *plan)
{
    const int64_t node = problem->cluster->level[0].capacity;
    return plan->devices_used < node ? plan->devices_used : node;
}

void nest_megatron_notes(const struct nest_problem *problem, const struct nest_plan *plan,
                         struct nest_notes *notes)
{
    const struct nest_model_spec *model = problem->model->spec;
    const struct nest_strategy *s = &plan->strategy;
    if (model->attention != NEST_ATTENTION_MLA && s->tp > model->kv_heads) {
        nest_note(notes,
                  "tp %" PRId64 " is more than the %" PRId64
                  " key/value heads: needs Megatron Core 0.16 or later, which replicates them",
                  s->tp, model->kv_heads);
    }
    if (!nest_plan_even(problem, plan)) {
        nest_note(notes, "the pipeline layout needs Megatron Core 0.13 or later");
    }
    const int64_t node = nest_ranks_per_node(problem, plan);
    if (!problem->cluster->uniform || plan->devices_used % node != 0) {
        nest_note(notes,
                  "nodes do not hold the same number of ranks: a launcher that starts %" PRId64
                  " on each does not fit; place them by the rank map",
                  node);
    }
    if (problem->train.optimizer == NEST_ADAM8BIT) {
        nest_note(notes,
                  "8-bit Adam has no argument here: states will take 12 bytes per parameter");
    }
    if (nest_plan_heaviest(plan) == NEST_RECOMPUTE_SELECTIVE && problem->train.flash) {
        nest_note(notes, "selective recompute saves almost nothing with flash attention");
    }
}

void nest_export_preamble(const struct nest_export *in, const struct nest_plan *plan,
                          const struct nest_prediction *prediction, const struct nest_notes *notes,
                          const char *mark, struct nest_strbuf *out)
{
    char text[256];
    nest_strbuf_printf(out, "%s%s on %s: %" PRId64 " of %" PRId64 " devices\n", mark,
                       in->scenario->model.name, in->scenario->cluster.name, plan->devices_used,
                       in->problem->cluster->devices);
    nest_strbuf_printf(out, "%s%s\n", mark, nest_plan_format(plan, text, sizeof text));
    nest_strbuf_printf(out, "%spredicted: step %.4g s, %.4g tokens/s, MFU %.1f%%\n", mark,
                       nest_to_seconds(prediction->step), prediction->tokens_per_s,
                       100 * prediction->mfu);
    for (int i = 0; i < notes->count; i++) {
        nest_strbuf_printf(out, "%snote: %s\n", mark, notes->text[i]);
    }
}
