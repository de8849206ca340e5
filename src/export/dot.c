/* Stages and the links between them as a Graphviz graph. */
#include <inttypes.h>

#include "export/export.h"
#include "input/set.h"
#include "plan/words.h"

static void add_stage(const struct nest_export *in, int i, struct nest_strbuf *out)
{
    const struct nest_plan_stage *stage = &in->plan->stage[i];
    const struct nest_stage_cost *cost = &in->prediction->stage[i];
    char layers[256];
    nest_strbuf_printf(out,
                       "    s%d [label=\"stage %d: %s\\n%" PRId64 " devices x %" PRId64
                       " replicas from device %" PRId64 "\\n%.4g ms, %.1f GiB, recompute %s\"];\n",
                       i, i, nest_layers_format(stage, in->problem->model, layers, sizeof layers),
                       stage->tp * in->plan->strategy.cp, nest_strategy_dp(&in->plan->strategy),
                       stage->first_device, 1e3 * nest_to_seconds(cost->load),
                       (double)cost->memory.total / (1024.0 * 1024.0 * 1024.0),
                       nest_recompute_word(stage->recompute));
}

enum nest_status nest_export_dot(const struct nest_export *in, struct nest_strbuf *out,
                                 struct nest_notes *notes, struct nest_errors *errors)
{
    (void)notes;
    (void)errors;
    nest_strbuf_add(out, "digraph plan {\n    rankdir=LR;\n    node [shape=box];\n");
    for (int i = 0; i < in->plan->stages; i++) {
        add_stage(in, i, out);
    }
    for (int i = 0; i + 1 < in->plan->stages; i++) {
        const struct nest_level *level = &in->problem->cluster->level[in->plan->stage[i].out_level];
        nest_strbuf_printf(out, "    s%d -> s%d [label=\"%s, %.4g us\"];\n", i, i + 1, level->name,
                           1e6 * nest_to_seconds(in->prediction->stage[i].out));
    }
    nest_strbuf_add(out, "}\n");
    return out->failed ? NEST_NO_MEMORY : NEST_OK;
}
