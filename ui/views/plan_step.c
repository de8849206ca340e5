/* The parts of the step, and why the plan is what it is. */
#include <stdio.h>

#include "base/units.h"
#include "ui/views/plan_parts.h"
#include "ui/widgets/bar.h"

enum { TEXT = 1024, LABEL = 6, NAME = 11, TIME = 11, SHARE = 7 };

int nest_plan_step_parts(const struct nest_snapshot *snapshot)
{
    const struct nest_solution *best = nest_plan_best(snapshot);
    struct nest_part part[NEST_STEP_PARTS];
    int count = 0;
    if (best) {
        nest_step_parts(&best->prediction, part);
    }
    for (int i = 0; i < NEST_STEP_PARTS && best; i++) {
        count += part[i].value > 0;
    }
    return count;
}

static void draw_legend(const struct nest_plan_draw *draw, struct nest_rect rect,
                        const struct nest_part part[NEST_STEP_PARTS])
{
    int x = rect.x;
    const int end = rect.x + rect.width;
    for (int i = 0; i < NEST_STEP_PARTS; i++) {
        char time[TEXT];
        char text[TEXT + 32];
        if (part[i].value <= 0) {
            continue;
        }
        (void)snprintf(text, sizeof text, " %s %s", part[i].name,
                       nest_unit_format(part[i].value, NEST_UNIT_SECONDS, time, sizeof time));
        if (x + 1 + nest_canvas_columns(draw->canvas, text) > end) {
            break;
        }
        x += nest_canvas_text(draw->canvas, x, rect.y, end - x,
                              NEST_ROLE_COMPUTE + (enum nest_role)i, part[i].letter);
        x += nest_canvas_text(draw->canvas, x, rect.y, end - x, NEST_ROLE_DIM, text) + 2;
    }
}

/* One row a part: name, seconds, share and a bar of its own. */
static void draw_rows(const struct nest_plan_draw *draw, struct nest_rect rect,
                      const struct nest_part part[NEST_STEP_PARTS])
{
    int y = rect.y;
    for (int i = 0; i < NEST_STEP_PARTS && y < rect.y + rect.height; i++) {
        const enum nest_role role = NEST_ROLE_COMPUTE + (enum nest_role)i;
        char text[TEXT];
        if (part[i].value <= 0) {
            continue;
        }
        int x = rect.x;
        (void)nest_canvas_text(draw->canvas, x, y, NAME, NEST_ROLE_TEXT, part[i].name);
        x += NAME;
        nest_canvas_right(draw->canvas, x, y, TIME, NEST_ROLE_VALUE,
                          nest_unit_format(part[i].value, NEST_UNIT_SECONDS, text, sizeof text));
        x += TIME;
        (void)snprintf(text, sizeof text, "%.1f%%", part[i].share * 100);
        nest_canvas_right(draw->canvas, x, y, SHARE, NEST_ROLE_DIM, text);
        x += SHARE + 2;
        nest_bar_draw(draw->canvas, x, y, rect.x + rect.width - x, &part[i], 1, role, 1, false);
        y++;
    }
}

void nest_plan_draw_step(const struct nest_plan_draw *draw, struct nest_rect rect)
{
    if (rect.height < 1) {
        return;
    }
    const int title =
        nest_canvas_text(draw->canvas, rect.x, rect.y, rect.width, NEST_ROLE_HEADING, "STEP");
    if (draw->snapshot->touched && draw->snapshot->touched->step) {
        (void)nest_canvas_text(draw->canvas, rect.x + title, rect.y, 1, NEST_ROLE_WARN, "*");
    }
    if (!draw->best) {
        return;
    }
    struct nest_part part[NEST_STEP_PARTS];
    nest_step_parts(&draw->best->prediction, part);
    const int x = rect.x + LABEL;
    const int width = rect.width - LABEL;
    nest_bar_draw(draw->canvas, x, rect.y, width, part, NEST_STEP_PARTS, NEST_ROLE_COMPUTE, 1,
                  false);
    nest_plan_draw_spot(draw, (struct nest_rect){rect.x, rect.y, LABEL - 2, 1},
                        (struct nest_spot){.pane = NEST_PANE_STEP});
    const struct nest_rect rest = {x, rect.y + 1, width, rect.height - 1};
    if (rest.height >= 3) {
        draw_rows(draw, rest, part);
    } else if (rest.height > 0) {
        draw_legend(draw, rest, part);
    }
}

void nest_plan_draw_why(const struct nest_plan_draw *draw, struct nest_rect rect)
{
    const struct nest_change *change = draw->snapshot->change;
    if (rect.height < 1) {
        return;
    }
    (void)nest_canvas_text(draw->canvas, rect.x, rect.y, rect.width, NEST_ROLE_HEADING, "WHY");
    struct nest_rect line = {rect.x + LABEL, rect.y, rect.width - LABEL, 1};
    if (change->edit) {
        struct nest_strbuf outcome = NEST_STRBUF_INIT(TEXT);
        const enum nest_role role = change->after == 0 ? NEST_ROLE_BAD
                                    : change->before && change->after > change->before
                                        ? NEST_ROLE_WARN
                                        : NEST_ROLE_GOOD;
        nest_strbuf_add(&outcome, ":  step ");
        nest_change_outcome(change, &outcome);
        /* Long edits give way: what came of them is to be seen. */
        const int columns = nest_canvas_columns(draw->canvas, nest_strbuf_text(&outcome));
        const int used = nest_canvas_text(draw->canvas, line.x, line.y, line.width - columns,
                                          NEST_ROLE_TEXT, change->edit);
        (void)nest_canvas_text(draw->canvas, line.x + used, line.y, columns, role,
                               nest_strbuf_text(&outcome));
        nest_strbuf_free(&outcome);
        line.y++;
        line.height = rect.height - 1;
    } else {
        line.height = rect.height;
    }
    if (change->why && line.height > 0) {
        char text[TEXT];
        (void)snprintf(text, sizeof text, "%s%s%s", change->why, change->plan ? "; " : "",
                       change->plan ? change->plan : "");
        (void)nest_canvas_wrap(draw->canvas, line, NEST_ROLE_TEXT, text);
    }
}
