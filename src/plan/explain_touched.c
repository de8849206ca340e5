#include <stdio.h>

#include "base/units.h"
#include "plan/explain.h"

enum { TEXT = 32 };

static const char *time_text(nest_ps time, char out[TEXT])
{
    return nest_unit_format(nest_to_seconds(time), NEST_UNIT_SECONDS, out, TEXT);
}

static void explain_stage(const struct nest_prediction *prediction,
                          const struct nest_touched *touched, int i, struct nest_strbuf *out)
{
    const struct nest_stage_cost *is = &prediction->stage[i];
    const struct nest_stage_cost *was = &touched->plain.stage[i];
    char a[TEXT], b[TEXT];
    if (touched->time[i]) {
        nest_strbuf_printf(out, "  stage %-4d load %s, by default %s (", i, time_text(is->load, a),
                           time_text(was->load, b));
        nest_hooks_format(touched->time[i], out);
        nest_strbuf_add(out, ")\n");
    }
    if (touched->memory[i]) {
        nest_strbuf_printf(
            out, "  stage %-4d memory %s, by default %s (", i,
            nest_unit_format((double)is->memory.total, NEST_UNIT_BYTES, a, sizeof a),
            nest_unit_format((double)was->memory.total, NEST_UNIT_BYTES, b, sizeof b));
        nest_hooks_format(touched->memory[i], out);
        nest_strbuf_add(out, ")\n");
    }
}

void nest_explain_touched(const struct nest_problem *problem, const struct nest_plan *plan,
                          const struct nest_prediction *prediction,
                          const struct nest_touched *touched, struct nest_strbuf *out)
{
    char a[TEXT], b[TEXT];
    nest_strbuf_printf(out, "overrides: step %s, by default %s\n", time_text(prediction->step, a),
                       time_text(touched->plain.step, b));
    for (int i = 0; i < NEST_HOOKS; i++) {
        if (touched->hooks & (1u << i)) {
            nest_strbuf_printf(out, "  %-10s step %s without it%s\n",
                               nest_hook_name((enum nest_hook)i), time_text(touched->without[i], a),
                               touched->step & (1u << i) ? "" : ": it does not matter here");
        }
    }
    for (int i = 0; i < plan->stages; i++) {
        explain_stage(prediction, touched, i, out);
    }
    for (int l = 0; l < problem->cluster->levels; l++) {
        if (touched->level[l]) {
            nest_strbuf_printf(out, "  level %s: priced otherwise (",
                               problem->cluster->level[l].name);
            nest_hooks_format(touched->level[l], out);
            nest_strbuf_add(out, ")\n");
        }
    }
}
