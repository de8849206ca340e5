/* The Plan view: the cluster and who sits where, every value that can be changed, the stages'
 * memory, the parts of the step, and why the plan is what it is.
 *
 * It draws a snapshot and keeps nothing of it: its own state is the focus, what is opened and how
 * far panes are scrolled. */
#ifndef NEST_UI_VIEWS_PLAN_H
#define NEST_UI_VIEWS_PLAN_H

#include "session/session.h"
#include "ui/hotspot.h"
#include "ui/layout.h"

struct nest_plan_view {
    bool lesson; /* leave the lower part of the screen to one: layout.lesson */
    struct nest_spot focus;
    bool open[NEST_MAX_LEVELS];
    int64_t cluster_scroll;
    int stage_scroll, alternative_scroll;
    struct nest_layout layout;     /* of the last drawing */
    struct nest_hotspots hotspots; /* of the last drawing */
};

void nest_plan_view_init(struct nest_plan_view *view);

/* Draws everything inside the frame (frame.h draws the frame). */
void nest_plan_view_draw(struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                         struct nest_canvas *canvas);

/* Puts the focus on something that exists; after a snapshot has changed. */
void nest_plan_view_settle(struct nest_plan_view *view, const struct nest_snapshot *snapshot);

/* Moves, folds and unfolds; false when the action is none of these. */
bool nest_plan_view_act(struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                        enum nest_action action);

/* enum nest_context of what has the focus. */
unsigned nest_plan_view_contexts(const struct nest_plan_view *view);

/* The value that has the focus, or NULL. */
const struct nest_knob *nest_plan_view_knob(const struct nest_plan_view *view,
                                            const struct nest_snapshot *snapshot);

/* One line on what has the focus. */
void nest_plan_view_describe(const struct nest_plan_view *view,
                             const struct nest_snapshot *snapshot, struct nest_strbuf *out);

/* Title and lines with the figures behind what has the focus. */
void nest_plan_view_detail(const struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                           struct nest_strbuf *title, struct nest_strbuf *text);

/* Moves the focus to the next (1) or previous (-1) thing whose name contains text; with 0 it may
 * stay. False when there is none. */
bool nest_plan_view_find(struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                         const char *text, int direction);

#endif
