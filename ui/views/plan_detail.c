/* The figures behind a stage, a bar, a group or an alternative, as lines of text. */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "input/set.h"
#include "plan/explain.h"
#include "plan/words.h"
#include "ui/views/plan_parts.h"

enum { TEXT = 256, EXPLANATION_MAX = 1 << 20, EXPLANATION_WIDTH = 68, HANGING = 6 };

/* The first bytes of a line that fit, broken at a space where there is one. */
static size_t fitting(const char *line, size_t length, size_t width)
{
    if (length <= width) {
        return length;
    }
    size_t at = width;
    while (at > width / 2 && line[at] != ' ') {
        at--;
    }
    return line[at] == ' ' ? at : width;
}

/* The explanation is written for a wide page; on the smallest screen its lines are folded. */
static void add_folded(struct nest_strbuf *out, const struct nest_strbuf *page)
{
    for (const char *line = nest_strbuf_text(page); *line != '\0';) {
        size_t left = strcspn(line, "\n");
        size_t width = EXPLANATION_WIDTH;
        for (bool again = false; left > 0 || !again; again = true) {
            const size_t part = fitting(line, left, width);
            nest_strbuf_printf(out, "%*s%.*s\n", again ? HANGING : 0, "", (int)part, line);
            line += part;
            left -= part;
            const size_t spaces = strspn(line, " ");
            const size_t skipped = spaces < left ? spaces : left;
            line += skipped;
            left -= skipped;
            width = EXPLANATION_WIDTH - HANGING;
        }
        line += *line == '\n';
    }
}

static void add_time(struct nest_strbuf *out, const char *name, nest_ps time, nest_ps whole)
{
    char text[TEXT];
    nest_strbuf_printf(
        out, "%-18s %10s", name,
        nest_unit_format(nest_to_seconds(time), NEST_UNIT_SECONDS, text, sizeof text));
    if (whole > 0) {
        nest_strbuf_printf(out, "  %5.1f%%", 100 * nest_to_seconds(time) / nest_to_seconds(whole));
    }
    nest_strbuf_add(out, "\n");
}

static void stage_memory(const struct nest_memory *memory, int64_t limit, struct nest_strbuf *out)
{
    struct nest_part term[NEST_MEMORY_TERMS];
    char text[TEXT];
    nest_memory_terms(memory, term);
    for (int i = 0; i < NEST_MEMORY_TERMS; i++) {
        nest_strbuf_printf(out, "%-18s %10s  %5.1f%%\n", term[i].name,
                           nest_unit_format(term[i].value, NEST_UNIT_BYTES, text, sizeof text),
                           term[i].share * 100);
    }
    nest_strbuf_printf(out, "%-18s %10s", "total",
                       nest_unit_format((double)memory->total, NEST_UNIT_BYTES, text, sizeof text));
    nest_strbuf_printf(out, "  of %s\n",
                       nest_unit_format((double)limit, NEST_UNIT_BYTES, text, sizeof text));
}

/* What a star beside a figure stands for. */
static void add_overrides(const struct nest_snapshot *snapshot, struct nest_strbuf *out)
{
    const struct nest_solution *best = nest_plan_best(snapshot);
    if (!best || !snapshot->touched) {
        return;
    }
    struct nest_strbuf page = NEST_STRBUF_INIT(EXPLANATION_MAX);
    nest_strbuf_add(out, "\n\1What overrides changed\n");
    nest_explain_touched(snapshot->solved, &best->plan, &best->prediction, snapshot->touched,
                         &page);
    add_folded(out, &page);
    nest_strbuf_free(&page);
}

static void stage_detail(const struct nest_solution *best, const struct nest_snapshot *snapshot,
                         int index, struct nest_strbuf *out)
{
    const struct nest_plan_stage *stage = &best->plan.stage[index];
    const struct nest_stage_cost *cost = &best->prediction.stage[index];
    char text[TEXT];
    nest_strbuf_printf(out, "layers %s\n",
                       nest_layers_format(stage, snapshot->solved->model, text, sizeof text));
    nest_strbuf_printf(out, "tp %" PRId64 ", ZeRO %d, recompute %s, from device %" PRId64 "\n\n",
                       stage->tp, stage->zero, nest_recompute_word(stage->recompute),
                       stage->first_device);
    nest_strbuf_add(out, "\1Memory per device\n");
    stage_memory(&cost->memory, nest_stage_limit(&best->prediction, index), out);
    nest_strbuf_add(out, "\n\1One microbatch\n");
    add_time(out, "forward", cost->fw, cost->load);
    add_time(out, "backward", cost->bw, cost->load);
    add_time(out, "receive", cost->in + cost->out, cost->load);
    add_time(out, "load", cost->load, 0);
    nest_strbuf_add(out, "\1of which\n");
    add_time(out, "compute", cost->compute, cost->load);
    add_time(out, "recompute", cost->recompute, cost->load);
    add_time(out, "tp", cost->tp, cost->load);
    add_time(out, "cp", cost->cp, cost->load);
    add_time(out, "ep", cost->ep, cost->load);
    add_time(out, "zero", cost->zero, cost->load);
    nest_strbuf_add(out, "\n\1Once a step\n");
    add_time(out, "gradient sync", cost->sync, 0);
    add_time(out, "optimizer", cost->optimizer, 0);
    struct nest_strbuf page = NEST_STRBUF_INIT(EXPLANATION_MAX);
    nest_strbuf_add(out, "\n\1Where it comes from\n");
    nest_explain_time(snapshot->solved, &best->plan, &best->prediction, index, &page);
    nest_explain_memory(snapshot->solved, &best->plan, &best->prediction, index, &page);
    add_folded(out, &page);
    nest_strbuf_free(&page);
    add_overrides(snapshot, out);
}

static void figures(const struct nest_solution *solution, struct nest_strbuf *out)
{
    const struct nest_prediction *prediction = &solution->prediction;
    struct nest_part part[NEST_STEP_PARTS];
    char text[TEXT];
    nest_step_parts(prediction, part);
    for (int i = 0; i < NEST_STEP_PARTS; i++) {
        nest_strbuf_printf(out, "%-18s %10s  %5.1f%%\n", part[i].name,
                           nest_unit_format(part[i].value, NEST_UNIT_SECONDS, text, sizeof text),
                           part[i].share * 100);
    }
    add_time(out, "step", prediction->step, 0);
    nest_strbuf_printf(out, "\n%-18s %10s\n", "tokens/s",
                       nest_count_format((int64_t)prediction->tokens_per_s, text, sizeof text));
    nest_strbuf_printf(out, "%-18s %10.1f\n", "TFLOP/s per device", prediction->tflops_per_device);
    nest_strbuf_printf(out, "%-18s %9.1f%%\n", "MFU", prediction->mfu * 100);
    nest_strbuf_printf(out, "%-18s %10" PRId64 "\n", "devices used", solution->plan.devices_used);
    nest_strbuf_printf(out, "%-18s %10" PRId64 "\n", "microbatches", solution->plan.microbatches);
}

static void group_detail(const struct nest_snapshot *snapshot, const struct nest_plan *plan,
                         const struct nest_spot *spot, struct nest_strbuf *out)
{
    const struct nest_cluster *cluster = snapshot->cluster;
    const int64_t first = nest_cluster_group_start(cluster, spot->level, spot->group);
    const int64_t end = nest_cluster_group_start(cluster, spot->level, spot->group + 1);
    int64_t from = first;
    char names[TEXT];
    nest_strbuf_printf(out, "devices %" PRId64 " to %" PRId64 "\n", first, end - 1);
    if (cluster->mixed) {
        nest_strbuf_printf(out, "%s\n",
                           nest_kinds_format(cluster, nest_cluster_kinds(cluster, first, end),
                                             names, sizeof names));
    }
    nest_strbuf_add(out, "\n");
    while (from < end) {
        const struct nest_seat seat = nest_seat_of(cluster, plan, from);
        int64_t to = from + 1;
        for (; to < end; to++) {
            const struct nest_seat next = nest_seat_of(cluster, plan, to);
            if (next.stage != seat.stage || next.replica != seat.replica) {
                break;
            }
        }
        if (seat.stage < 0) {
            nest_strbuf_printf(out, "%6" PRId64 " … %-6" PRId64 "  idle\n", from, to - 1);
        } else {
            nest_strbuf_printf(out, "%6" PRId64 " … %-6" PRId64 "  stage %d  replica %" PRId64 "\n",
                               from, to - 1, seat.stage, seat.replica);
        }
        from = to;
    }
}

static void plan_detail(const struct nest_solution *solution, struct nest_strbuf *out)
{
    char text[TEXT];
    nest_strbuf_printf(out, "%s\n", nest_plan_format(&solution->plan, text, sizeof text));
    nest_strbuf_printf(out, "order %s\n\n",
                       nest_order_format(&solution->plan.strategy, text, sizeof text));
    figures(solution, out);
}

static void step_explanation(const struct nest_snapshot *snapshot,
                             const struct nest_solution *solution, struct nest_strbuf *out)
{
    struct nest_strbuf page = NEST_STRBUF_INIT(EXPLANATION_MAX);
    nest_strbuf_add(out, "\n\1Where it comes from\n");
    nest_explain_step(&solution->plan, &solution->prediction, &page);
    add_folded(out, &page);
    nest_strbuf_free(&page);
    add_overrides(snapshot, out);
}

void nest_plan_view_detail(const struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                           struct nest_strbuf *title, struct nest_strbuf *text)
{
    const struct nest_spot *spot = &view->focus;
    const struct nest_solution *best = nest_plan_best(snapshot);
    const struct nest_plan *seated = nest_plan_seated(snapshot);
    if (!best) {
        return;
    }
    switch (spot->pane) {
    case NEST_PANE_STAGES:
        nest_strbuf_printf(title, "Stage %d", spot->index);
        stage_detail(best, snapshot, spot->index, text);
        break;
    case NEST_PANE_STEP:
        nest_strbuf_add(title, "Step");
        plan_detail(best, text);
        step_explanation(snapshot, best, text);
        break;
    case NEST_PANE_ALTERNATIVES:
        nest_strbuf_printf(title, "Plan number %d", spot->index + 1);
        plan_detail(&snapshot->result->solution[spot->index], text);
        break;
    default:
        if (spot->group >= 0 && seated) {
            nest_strbuf_printf(title, "%s %" PRId64, snapshot->cluster->level[spot->level].name,
                               spot->group);
            group_detail(snapshot, seated, spot, text);
        }
    }
}
