#include <stdio.h>

#include "base/units.h"
#include "input/set.h"
#include "plan/words.h"
#include "ui/views/plan_parts.h"
#include "ui/widgets/bar.h"
#include "ui/widgets/scroll.h"

enum { TEXT = 64, LABEL = 9, LABEL_WIDE = 18, TOTAL = 7, MODES = 7, MODES_WIDE = 32, WIDE = 70 };

static const char *short_recompute(enum nest_recompute mode)
{
    static const char *const names[NEST_RECOMPUTES] = {"-", "sel", "full"};
    return names[mode];
}

/* The scale of all bars: the limit, or the fullest stage where a plan breaks it. */
static double whole_of(const struct nest_prediction *prediction)
{
    double most = 1;
    for (int i = 0; i < prediction->stages; i++) {
        const int64_t limit = nest_stage_limit(prediction, i);
        const double share =
            (double)prediction->stage[i].memory.total / (double)(limit > 0 ? limit : 1);
        most = share > most ? share : most;
    }
    return most;
}

static void draw_modes(const struct nest_plan_draw *draw, int x, int y, int width, int stage)
{
    const struct nest_plan_stage *at = &draw->best->plan.stage[stage];
    const struct nest_stage_cost *cost = &draw->best->prediction.stage[stage];
    char load[TEXT];
    if (width < MODES_WIDE) {
        (void)nest_canvas_printf(draw->canvas, x, y, width, NEST_ROLE_TEXT, "Z%d %s", at->zero,
                                 short_recompute(at->recompute));
        return;
    }
    (void)nest_canvas_printf(
        draw->canvas, x, y, width, NEST_ROLE_TEXT, "ZeRO %d  %-9s", at->zero,
        at->recompute == NEST_RECOMPUTE_NONE ? "" : nest_recompute_word(at->recompute));
    nest_canvas_right(
        draw->canvas, x, y, width,
        stage == draw->best->prediction.bottleneck ? NEST_ROLE_WARN : NEST_ROLE_DIM,
        nest_unit_format(nest_to_seconds(cost->load), NEST_UNIT_SECONDS, load, sizeof load));
}

static int label_width(struct nest_rect rect)
{
    return rect.width >= WIDE ? LABEL_WIDE : LABEL;
}

static void draw_label(const struct nest_plan_draw *draw, int x, int y, int width, int stage)
{
    const struct nest_plan_stage *at = &draw->best->plan.stage[stage];
    struct nest_strbuf range = NEST_STRBUF_INIT(TEXT);
    char layers[TEXT];
    nest_stage_text(at, &range);
    const char *text =
        width > LABEL ? nest_layers_format(at, draw->snapshot->solved->model, layers, sizeof layers)
                      : nest_strbuf_text(&range);
    (void)nest_canvas_printf(draw->canvas, x, y, 3, NEST_ROLE_TEXT, "%2d", stage);
    (void)nest_canvas_text(draw->canvas, x + 3, y, width - 4, NEST_ROLE_DIM, text);
    nest_strbuf_free(&range);
}

/* A star behind the number of a stage whose time an override changed, and behind its memory. */
static void draw_marks(const struct nest_plan_draw *draw, int time, int memory, int y, int stage)
{
    const struct nest_touched *touched = draw->snapshot->touched;
    if (touched && touched->time[stage]) {
        (void)nest_canvas_text(draw->canvas, time, y, 1, NEST_ROLE_WARN, "*");
    }
    if (touched && touched->memory[stage]) {
        (void)nest_canvas_text(draw->canvas, memory, y, 1, NEST_ROLE_WARN, "*");
    }
}

static void draw_stage(const struct nest_plan_draw *draw, struct nest_rect rect, int y, int stage,
                       double whole)
{
    const struct nest_prediction *prediction = &draw->best->prediction;
    const struct nest_memory *memory = &prediction->stage[stage].memory;
    const int modes = rect.width >= WIDE ? MODES_WIDE : MODES;
    const int label = label_width(rect);
    const int bar = rect.width - label - TOTAL - modes - 1;
    struct nest_part part[NEST_MEMORY_PARTS];
    draw_label(draw, rect.x, y, label, stage);
    nest_memory_parts(memory, nest_stage_limit(prediction, stage), part);
    if (bar > 0) {
        nest_bar_draw(draw->canvas, rect.x + label, y, bar, part, NEST_MEMORY_PARTS,
                      NEST_ROLE_WEIGHTS, whole, true);
    }
    const int total = rect.x + label + (bar > 0 ? bar : 0) + 1;
    char gib[TEXT];
    (void)snprintf(gib, sizeof gib, "%.1f", (double)memory->total / 1073741824.0);
    nest_canvas_right(
        draw->canvas, total, y, TOTAL - 1,
        memory->total > nest_stage_limit(prediction, stage) ? NEST_ROLE_BAD : NEST_ROLE_VALUE, gib);
    draw_modes(draw, total + TOTAL, y, modes, stage);
    draw_marks(draw, rect.x + 2, total + TOTAL - 1, y, stage);
    nest_plan_draw_spot(draw, (struct nest_rect){rect.x, y, rect.width, 1},
                        (struct nest_spot){.pane = NEST_PANE_STAGES, .index = stage});
}

/* The letters of the bars; where it is narrow they begin the words themselves. */
static void draw_legend(const struct nest_plan_draw *draw, int x, int y, int width)
{
    static const char *const rest[NEST_MEMORY_PARTS] = {"eights", "rads", "ptim", "ctiv", " other"};
    static const struct nest_memory none;
    struct nest_part part[NEST_MEMORY_PARTS];
    const bool wide = width >= (draw->snapshot->touched ? 77 : 65);
    const int end = x + width;
    nest_memory_parts(&none, 1, part);
    for (int i = 0; i < NEST_MEMORY_PARTS && x < end; i++) {
        x += nest_canvas_text(draw->canvas, x, y, end - x, NEST_ROLE_WEIGHTS + (enum nest_role)i,
                              part[i].letter);
        x += nest_canvas_printf(draw->canvas, x, y, end - x, NEST_ROLE_DIM, wide ? " %s   " : "%s ",
                                wide ? part[i].name : rest[i]);
    }
    if (draw->snapshot->touched && x < end) {
        (void)nest_canvas_text(draw->canvas, x, y, end - x, NEST_ROLE_WARN,
                               wide ? "* overridden" : "* script");
    }
}

/* Why there is nothing to draw. */
static void draw_nothing(const struct nest_plan_draw *draw, struct nest_rect rect)
{
    const struct nest_snapshot *snapshot = draw->snapshot;
    struct nest_rect line = rect;
    if (!snapshot->result) {
        (void)nest_canvas_text(draw->canvas, rect.x, rect.y, rect.width, NEST_ROLE_DIM,
                               snapshot->cancelled ? "search stopped" : "searching …");
        return;
    }
    (void)nest_canvas_text(draw->canvas, line.x, line.y, line.width, NEST_ROLE_BAD,
                           "no plan fits this scenario");
    line.y += 2;
    line.height -= 2;
    const struct nest_errors *errors = &snapshot->result->errors;
    for (size_t i = 0; i < errors->count && line.height > 0; i++) {
        const int used =
            nest_canvas_wrap(draw->canvas, line, NEST_ROLE_TEXT, errors->item[i].message);
        line.y += used;
        line.height -= used;
        if (errors->item[i].hint && line.height > 0) {
            const int more =
                nest_canvas_wrap(draw->canvas, line, NEST_ROLE_WARN, errors->item[i].hint);
            line.y += more;
            line.height -= more;
        }
        line.y++;
        line.height--;
    }
}

static void draw_heading(const struct nest_plan_draw *draw, struct nest_rect rect, int first,
                         int rows)
{
    char limit[TEXT];
    const int stages = draw->best ? draw->best->plan.stages : 0;
    const int64_t bytes =
        draw->best ? draw->best->prediction.memory_limit : draw->snapshot->problem->memory_limit;
    int x = rect.x;
    x += nest_canvas_text(draw->canvas, x, rect.y, rect.width, NEST_ROLE_HEADING, "STAGES");
    if (stages > rows) {
        (void)nest_canvas_printf(draw->canvas, x + 1, rect.y, rect.width, NEST_ROLE_DIM,
                                 "%d–%d of %d", first, first + rows - 1, stages);
    } else if (rect.width >= 42) {
        (void)nest_canvas_text(draw->canvas, rect.x + label_width(rect), rect.y, rect.width,
                               NEST_ROLE_DIM, "memory per device, GiB");
    }
    char text[TEXT + 8];
    (void)snprintf(text, sizeof text, "limit %s",
                   nest_unit_format((double)bytes, NEST_UNIT_BYTES, limit, sizeof limit));
    nest_canvas_right(draw->canvas, rect.x + rect.width - 16, rect.y, 16, NEST_ROLE_DIM, text);
}

void nest_plan_draw_stages(const struct nest_plan_draw *draw, struct nest_rect rect)
{
    struct nest_plan_view *view = draw->view;
    const int stages = draw->best ? draw->best->plan.stages : 0;
    if (rect.height < 2) {
        return;
    }
    const bool legend = rect.height >= 6 || (stages > 0 && rect.height >= stages + 3);
    const int height = rect.height - 1 - legend;
    const int cursor = view->focus.pane == NEST_PANE_STAGES ? view->focus.index : -1;
    view->stage_scroll = (int)nest_scroll_to(view->stage_scroll, cursor, stages, height);
    draw_heading(draw, rect, view->stage_scroll, height);
    if (!draw->best) {
        draw_nothing(draw, (struct nest_rect){rect.x, rect.y + 1, rect.width, rect.height - 1});
        return;
    }
    const double whole = whole_of(&draw->best->prediction);
    int drawn = 0;
    for (; drawn < height && view->stage_scroll + drawn < stages; drawn++) {
        draw_stage(draw, rect, rect.y + 1 + drawn, view->stage_scroll + drawn, whole);
    }
    if (legend) {
        draw_legend(draw, rect.x, rect.y + 1 + drawn + (drawn < height), rect.width);
    }
}
