/* The settings, the planner's choices and the next best plans. */
#include <stdio.h>

#include "base/units.h"
#include "ui/views/plan_parts.h"
#include "ui/widgets/scroll.h"

enum { TEXT = 256, GAP = 2, TIME_WIDTH = 9 };

static enum nest_role role_of(const struct nest_snapshot *snapshot, const struct nest_knob *knob)
{
    const bool old = knob->kind == NEST_KNOB_PIN && nest_plan_is_stale(snapshot);
    return knob->pinned    ? NEST_ROLE_PINNED
           : old           ? NEST_ROLE_DIM
           : knob->changed ? NEST_ROLE_CHANGED
                           : NEST_ROLE_VALUE;
}

/* Columns of "label value"; a pinned choice is joined by '=' instead of a space. */
static int knob_columns(const struct nest_canvas *canvas, const struct nest_knob *knob)
{
    return nest_canvas_columns(canvas, knob->label) + 1 + nest_canvas_columns(canvas, knob->text);
}

/* Draws knobs of a kind one after the other, a new row where the width ends, equal columns where
 * they fit. Returns the rows used; draws nothing when draw is NULL. */
static int flow(const struct nest_plan_draw *draw, const struct nest_snapshot *snapshot,
                const struct nest_canvas *canvas, struct nest_rect rect, enum nest_knob_kind kind,
                enum nest_pane pane, int column)
{
    int x = rect.x;
    int row = 0;
    for (int i = 0; i < nest_plan_knob_count(snapshot, kind); i++) {
        const struct nest_knob *knob = nest_plan_knob(snapshot, kind, i);
        const int used = knob_columns(canvas, knob);
        if (x > rect.x && x + used > rect.x + rect.width) {
            x = rect.x;
            row++;
        }
        if (draw && row < rect.height) {
            const int label = nest_canvas_printf(draw->canvas, x, rect.y + row, rect.width,
                                                 knob->pinned ? NEST_ROLE_PINNED : NEST_ROLE_DIM,
                                                 "%s%s", knob->label, knob->pinned ? "=" : " ");
            const int value = nest_canvas_text(draw->canvas, x + label, rect.y + row,
                                               rect.x + rect.width - x - label,
                                               role_of(snapshot, knob), knob->text);
            nest_plan_draw_spot(draw, (struct nest_rect){x, rect.y + row, label + value, 1},
                                (struct nest_spot){.pane = pane, .index = i});
        }
        x += used + (column > 0 ? 1 : GAP);
        if (column > 0) {
            x = rect.x + (x - rect.x + column - 1) / column * column;
        }
    }
    return row + 1;
}

void nest_plan_draw_settings(const struct nest_plan_draw *draw, struct nest_rect rect)
{
    (void)flow(draw, draw->snapshot, draw->canvas, rect, NEST_KNOB_SETTING, NEST_PANE_SETTINGS, 0);
}

int nest_plan_setting_rows(const struct nest_snapshot *snapshot, const struct nest_canvas *canvas,
                           int width)
{
    const struct nest_rect rect = {0, 0, width, 0};
    return flow(NULL, snapshot, canvas, rect, NEST_KNOB_SETTING, NEST_PANE_SETTINGS, 0);
}

enum { PIN_COLUMN = 9 };

int nest_plan_pin_rows(const struct nest_snapshot *snapshot, const struct nest_canvas *canvas,
                       int width)
{
    const struct nest_rect rect = {0, 0, width, 0};
    return 1 + flow(NULL, snapshot, canvas, rect, NEST_KNOB_PIN, NEST_PANE_PINS, PIN_COLUMN);
}

void nest_plan_draw_pins(const struct nest_plan_draw *draw, struct nest_rect rect)
{
    if (rect.height < 1) {
        return;
    }
    int pinned = 0;
    for (int i = 0; i < draw->snapshot->knobs; i++) {
        pinned += draw->snapshot->knob[i].pinned;
    }
    const int used =
        nest_canvas_text(draw->canvas, rect.x, rect.y, rect.width, NEST_ROLE_HEADING, "PLAN");
    if (pinned > 0) {
        (void)nest_canvas_printf(draw->canvas, rect.x + used + 2, rect.y, rect.width - used - 2,
                                 NEST_ROLE_DIM, "= pinned (%d)", pinned);
    }
    (void)flow(draw, draw->snapshot, draw->canvas,
               (struct nest_rect){rect.x, rect.y + 1, rect.width, rect.height - 1}, NEST_KNOB_PIN,
               NEST_PANE_PINS, PIN_COLUMN);
}

static void draw_alternative(const struct nest_plan_draw *draw, struct nest_rect rect, int y,
                             int index)
{
    const struct nest_solution *solution = &draw->snapshot->result->solution[index];
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT);
    char time[TEXT];
    nest_canvas_right(draw->canvas, rect.x, y, TIME_WIDTH, NEST_ROLE_VALUE,
                      nest_unit_format(nest_to_seconds(solution->prediction.step),
                                       NEST_UNIT_SECONDS, time, sizeof time));
    nest_plan_difference(&solution->plan, &draw->best->plan, "  ", &text);
    (void)nest_canvas_text(draw->canvas, rect.x + TIME_WIDTH + 2, y, rect.width - TIME_WIDTH - 2,
                           NEST_ROLE_TEXT, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    nest_plan_draw_spot(draw, (struct nest_rect){rect.x, y, rect.width, 1},
                        (struct nest_spot){.pane = NEST_PANE_ALTERNATIVES, .index = index});
}

void nest_plan_draw_alternatives(const struct nest_plan_draw *draw, struct nest_rect rect)
{
    struct nest_plan_view *view = draw->view;
    const int count = draw->snapshot->result ? draw->snapshot->result->count : 0;
    if (rect.height < 2 || count < 2) {
        return;
    }
    (void)nest_canvas_text(draw->canvas, rect.x, rect.y, rect.width, NEST_ROLE_HEADING,
                           "ALTERNATIVES");
    const int cursor = view->focus.pane == NEST_PANE_ALTERNATIVES ? view->focus.index - 1 : -1;
    view->alternative_scroll =
        (int)nest_scroll_to(view->alternative_scroll, cursor, count - 1, rect.height - 1);
    for (int i = 0; i < rect.height - 1 && view->alternative_scroll + i < count - 1; i++) {
        draw_alternative(draw, rect, rect.y + 1 + i, view->alternative_scroll + i + 1);
    }
}
