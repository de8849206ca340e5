#include "ui/views/plan.h"

#include "ui/views/plan_parts.h"

void nest_plan_view_init(struct nest_plan_view *view)
{
    *view = (struct nest_plan_view){.focus = {.pane = NEST_PANE_BANDWIDTH, .group = -1}};
}

bool nest_plan_is_stale(const struct nest_snapshot *snapshot)
{
    /* What is over before an eye could tell would only flicker. */
    const bool lasts = !snapshot->solving || snapshot->progress.seconds >= 0.15;
    return snapshot->result && !snapshot->provisional && snapshot->solved != snapshot->problem &&
           lasts;
}

const struct nest_solution *nest_plan_best(const struct nest_snapshot *snapshot)
{
    return snapshot->result && snapshot->result->count > 0 ? &snapshot->result->solution[0] : NULL;
}

/* While a solve is under way the plan may belong to another cluster. */
const struct nest_plan *nest_plan_seated(const struct nest_snapshot *snapshot)
{
    const struct nest_solution *best = nest_plan_best(snapshot);
    if (!best || snapshot->solved->cluster->devices != snapshot->cluster->devices ||
        snapshot->solved->cluster->levels != snapshot->cluster->levels ||
        snapshot->solved->cluster->selections != snapshot->cluster->selections) {
        return NULL;
    }
    return &best->plan;
}

int nest_plan_knob_count(const struct nest_snapshot *snapshot, enum nest_knob_kind kind)
{
    int count = 0;
    for (int i = 0; i < snapshot->knobs; i++) {
        count += snapshot->knob[i].kind == kind;
    }
    return count;
}

const struct nest_knob *nest_plan_knob(const struct nest_snapshot *snapshot,
                                       enum nest_knob_kind kind, int at)
{
    int index = 0;
    for (int i = 0; i < snapshot->knobs; i++) {
        const struct nest_knob *knob = &snapshot->knob[i];
        if (knob->kind == kind && (knob->level >= 0 ? knob->level == at : index == at)) {
            return knob;
        }
        index += knob->kind == kind;
    }
    return NULL;
}

void nest_plan_draw_spot(const struct nest_plan_draw *draw, struct nest_rect rect,
                         struct nest_spot spot)
{
    nest_hotspot_add(&draw->view->hotspots, (struct nest_hotspot){.rect = rect, .spot = spot});
    if (nest_spot_equal(spot, draw->view->focus)) {
        nest_canvas_highlight(draw->canvas, rect);
    }
}

static struct nest_layout_wants measure(const struct nest_plan_view *view,
                                        const struct nest_snapshot *snapshot,
                                        const struct nest_canvas *canvas)
{
    const struct nest_solution *best = nest_plan_best(snapshot);
    const int64_t rows = 1 + nest_plan_rows(view, snapshot);
    const int width = view->lesson ? nest_layout_right_width(canvas->width)
                                   : nest_layout_left_width(canvas->width);
    return (struct nest_layout_wants){
        .cluster = rows < canvas->height ? (int)rows : canvas->height,
        .settings = nest_plan_setting_rows(snapshot, canvas, width),
        .plan = nest_plan_pin_rows(snapshot, canvas, width),
        .stages = best ? 1 + best->plan.stages : 1,
        .step_parts = nest_plan_step_parts(snapshot),
        .alternatives = snapshot->result ? snapshot->result->count : 0,
    };
}

static void draw_lines(const struct nest_layout *layout, struct nest_canvas *canvas)
{
    const int end = layout->rule >= 0 ? layout->rule : layout->status;
    if (layout->divider >= 0) {
        nest_canvas_fill(canvas, (struct nest_rect){layout->divider, 1, 1, end - 1},
                         NEST_ROLE_FRAME, NEST_GLYPH_VLINE);
    }
    if (layout->rule < 0) {
        return;
    }
    nest_canvas_fill(canvas, (struct nest_rect){1, layout->rule, layout->frame.width - 2, 1},
                     NEST_ROLE_FRAME, NEST_GLYPH_HLINE);
    if (layout->divider >= 0) {
        nest_canvas_glyph(canvas, layout->divider, layout->rule, NEST_ROLE_FRAME,
                          NEST_GLYPH_TEE_UP);
    }
}

void nest_plan_view_draw(struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                         struct nest_canvas *canvas)
{
    const struct nest_layout_wants wants = measure(view, snapshot, canvas);
    const struct nest_plan_draw draw = {view, snapshot, canvas, nest_plan_best(snapshot)};
    struct nest_layout *layout = &view->layout;
    if (view->lesson) {
        nest_layout_lesson(canvas->width, canvas->height, &wants, layout);
    } else {
        nest_layout_plan(canvas->width, canvas->height, &wants, layout);
    }
    view->hotspots.count = 0;
    if (layout->too_small) {
        return;
    }
    draw_lines(layout, canvas);
    nest_plan_draw_cluster(&draw, layout->cluster);
    nest_plan_draw_settings(&draw, layout->settings);
    nest_plan_draw_pins(&draw, layout->plan);
    nest_plan_draw_alternatives(&draw, layout->alternatives);
    nest_plan_draw_stages(&draw, layout->stages);
    nest_plan_draw_step(&draw, layout->step);
    nest_plan_draw_why(&draw, layout->why);
    nest_plan_draw_placement(&draw, layout->placement);
    if (nest_plan_is_stale(snapshot)) {
        const struct nest_rect old[] = {layout->alternatives, layout->stages, layout->step,
                                        layout->why, layout->placement};
        for (size_t i = 0; i < sizeof old / sizeof old[0]; i++) {
            nest_canvas_fade(canvas, old[i]);
        }
    }
}
