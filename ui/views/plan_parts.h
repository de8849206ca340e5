/* The panes of the Plan view, one function each, and what they share. Private to ui/views. */
#ifndef NEST_UI_VIEWS_PLAN_PARTS_H
#define NEST_UI_VIEWS_PLAN_PARTS_H

#include "session/report.h"
#include "ui/views/plan.h"

/* What the panes draw with. */
struct nest_plan_draw {
    struct nest_plan_view *view;
    const struct nest_snapshot *snapshot;
    struct nest_canvas *canvas;
    const struct nest_solution *best; /* NULL without a plan */
};

/* Notes that spot is drawn in rect, and highlights it if it has the focus. */
void nest_plan_draw_spot(const struct nest_plan_draw *draw, struct nest_rect rect,
                         struct nest_spot spot);

/* The best plan as far as it belongs to the cluster on the screen, else NULL. */
const struct nest_plan *nest_plan_seated(const struct nest_snapshot *snapshot);

const struct nest_solution *nest_plan_best(const struct nest_snapshot *snapshot);

/* Whether the figures are those of values that were there before, for longer than a moment: another
 * model's, for example, whose plan is none for this one. */
bool nest_plan_is_stale(const struct nest_snapshot *snapshot);

/* The knob of a kind: level for the first three kinds, else the index within the kind. */
const struct nest_knob *nest_plan_knob(const struct nest_snapshot *snapshot,
                                       enum nest_knob_kind kind, int at);
int nest_plan_knob_count(const struct nest_snapshot *snapshot, enum nest_knob_kind kind);

/* ---- Rows of the cluster: levels outermost first, the groups of opened ones below them ------- */

int64_t nest_plan_rows(const struct nest_plan_view *view, const struct nest_snapshot *snapshot);
/* The level and group (-1: the level itself) of a row. */
void nest_plan_row_at(const struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                      int64_t row, int *level, int64_t *group);
int64_t nest_plan_row_of(const struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                         int level, int64_t group);

/* ---- Panes ------------------------------------------------------------------------------------
 */

void nest_plan_draw_cluster(const struct nest_plan_draw *draw, struct nest_rect rect);
void nest_plan_draw_settings(const struct nest_plan_draw *draw, struct nest_rect rect);
void nest_plan_draw_pins(const struct nest_plan_draw *draw, struct nest_rect rect);
/* Rows the pins need at that width, heading included. */
int nest_plan_setting_rows(const struct nest_snapshot *snapshot, const struct nest_canvas *canvas,
                           int width);
int nest_plan_pin_rows(const struct nest_snapshot *snapshot, const struct nest_canvas *canvas,
                       int width);
void nest_plan_draw_alternatives(const struct nest_plan_draw *draw, struct nest_rect rect);
void nest_plan_draw_stages(const struct nest_plan_draw *draw, struct nest_rect rect);
void nest_plan_draw_step(const struct nest_plan_draw *draw, struct nest_rect rect);
void nest_plan_draw_why(const struct nest_plan_draw *draw, struct nest_rect rect);
/* A map of the whole cluster, one cell a device. */
void nest_plan_draw_placement(const struct nest_plan_draw *draw, struct nest_rect rect);
/* One stretch of devices as a cell: its stage, several or none. */
void nest_plan_draw_seat(const struct nest_plan_draw *draw, int x, int y,
                         const struct nest_occupancy *part);
/* Parts of the step that take any time. */
int nest_plan_step_parts(const struct nest_snapshot *snapshot);

#endif
