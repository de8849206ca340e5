/* The focus of the Plan view: where it may go, what it is on, what can be said about that. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "plan/words.h"
#include "ui/views/plan_parts.h"

enum { PAGE = 10, TEXT = 256 };

static bool in_cluster(enum nest_pane pane)
{
    return pane == NEST_PANE_BANDWIDTH || pane == NEST_PANE_OVERSUBSCRIPTION ||
           pane == NEST_PANE_LATENCY;
}

/* ---- Rows of a pane ---- */

static int64_t rows_of(const struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                       enum nest_pane pane)
{
    const struct nest_solution *best = nest_plan_best(snapshot);
    switch (pane) {
    case NEST_PANE_SETTINGS:
        return nest_plan_knob_count(snapshot, NEST_KNOB_SETTING);
    case NEST_PANE_PINS:
        return nest_plan_knob_count(snapshot, NEST_KNOB_PIN);
    case NEST_PANE_ALTERNATIVES:
        return snapshot->result && snapshot->result->count > 1 ? snapshot->result->count - 1 : 0;
    case NEST_PANE_STAGES:
        return best ? best->plan.stages : 0;
    case NEST_PANE_STEP:
        return best ? 1 : 0;
    default:
        return nest_plan_rows(view, snapshot);
    }
}

/* Alternatives are numbered from 1: 0 is the plan itself. */
static int64_t row_of(const struct nest_plan_view *view, const struct nest_snapshot *snapshot)
{
    const struct nest_spot *focus = &view->focus;
    if (in_cluster(focus->pane)) {
        return nest_plan_row_of(view, snapshot, focus->level, focus->group);
    }
    return focus->pane == NEST_PANE_ALTERNATIVES ? focus->index - 1 : focus->index;
}

static struct nest_spot spot_at(const struct nest_plan_view *view,
                                const struct nest_snapshot *snapshot, enum nest_pane pane,
                                int64_t row)
{
    struct nest_spot spot = {.pane = pane};
    if (in_cluster(pane)) {
        nest_plan_row_at(view, snapshot, row, &spot.level, &spot.group);
    } else {
        spot.index = (int)row + (pane == NEST_PANE_ALTERNATIVES);
    }
    return spot;
}

/* ---- Moving ---- */

/* Down a column of the screen and on into the next pane below; NEST_PANE_NONE ends it. */
static enum nest_pane pane_below(enum nest_pane pane)
{
    switch (pane) {
    case NEST_PANE_SETTINGS:
        return NEST_PANE_PINS;
    case NEST_PANE_PINS:
        return NEST_PANE_ALTERNATIVES;
    case NEST_PANE_STAGES:
        return NEST_PANE_STEP;
    case NEST_PANE_ALTERNATIVES:
    case NEST_PANE_STEP:
        return NEST_PANE_NONE;
    default:
        return NEST_PANE_SETTINGS;
    }
}

static enum nest_pane pane_above(enum nest_pane pane)
{
    switch (pane) {
    case NEST_PANE_SETTINGS:
        return NEST_PANE_BANDWIDTH;
    case NEST_PANE_PINS:
        return NEST_PANE_SETTINGS;
    case NEST_PANE_ALTERNATIVES:
        return NEST_PANE_PINS;
    case NEST_PANE_STEP:
        return NEST_PANE_STAGES;
    default:
        return NEST_PANE_NONE;
    }
}

/* A pane that the screen has no room for cannot have the focus. */
static bool is_shown(const struct nest_plan_view *view, enum nest_pane pane)
{
    const struct nest_layout *layout = &view->layout;
    switch (pane) {
    case NEST_PANE_SETTINGS:
        return layout->settings.height > 0;
    case NEST_PANE_PINS:
        return layout->plan.height > 0;
    case NEST_PANE_ALTERNATIVES:
        return layout->alternatives.height > 1;
    case NEST_PANE_STAGES:
        return layout->stages.height > 1;
    case NEST_PANE_STEP:
        return layout->step.height > 0;
    default:
        return layout->cluster.height > 1;
    }
}

static bool can_enter(const struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                      enum nest_pane pane)
{
    return pane != NEST_PANE_NONE && is_shown(view, pane) && rows_of(view, snapshot, pane) > 0;
}

static void step(struct nest_plan_view *view, const struct nest_snapshot *snapshot, int direction)
{
    const int64_t row = row_of(view, snapshot) + direction;
    enum nest_pane pane = view->focus.pane;
    if (row >= 0 && row < rows_of(view, snapshot, pane)) {
        view->focus = spot_at(view, snapshot, pane, row);
        return;
    }
    do {
        pane = direction > 0 ? pane_below(pane) : pane_above(pane);
    } while (pane != NEST_PANE_NONE && !can_enter(view, snapshot, pane));
    if (pane != NEST_PANE_NONE) {
        view->focus =
            spot_at(view, snapshot, pane, direction > 0 ? 0 : rows_of(view, snapshot, pane) - 1);
    }
}

static void jump(struct nest_plan_view *view, const struct nest_snapshot *snapshot, int64_t row)
{
    const int64_t rows = rows_of(view, snapshot, view->focus.pane);
    const int64_t to = row < 0 ? 0 : row >= rows ? rows - 1 : row;
    view->focus = spot_at(view, snapshot, view->focus.pane, to);
}

static void cycle(struct nest_plan_view *view, const struct nest_snapshot *snapshot, int direction)
{
    enum { PANES = NEST_PANE_STEP };
    int pane = (int)view->focus.pane;
    for (int i = 0; i < PANES; i++) {
        pane = (pane - 1 + direction + PANES) % PANES + 1;
        if (can_enter(view, snapshot, (enum nest_pane)pane)) {
            break;
        }
    }
    if (in_cluster((enum nest_pane)pane) && in_cluster(view->focus.pane)) {
        view->focus.pane = (enum nest_pane)pane;
    } else {
        view->focus = spot_at(view, snapshot, (enum nest_pane)pane, 0);
    }
}

static void fold(struct nest_plan_view *view)
{
    view->open[view->focus.level] = !view->open[view->focus.level];
    view->focus.group = -1;
}

static void open_all(struct nest_plan_view *view, bool open)
{
    for (int i = 0; i < NEST_MAX_LEVELS; i++) {
        view->open[i] = open;
    }
    if (!open) {
        view->focus.group = -1;
    }
}

bool nest_plan_view_act(struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                        enum nest_action action)
{
    switch (action) {
    case NEST_ACTION_CURSOR_UP:
        step(view, snapshot, -1);
        return true;
    case NEST_ACTION_CURSOR_DOWN:
        step(view, snapshot, 1);
        return true;
    case NEST_ACTION_PAGE_UP:
        jump(view, snapshot, row_of(view, snapshot) - PAGE);
        return true;
    case NEST_ACTION_PAGE_DOWN:
        jump(view, snapshot, row_of(view, snapshot) + PAGE);
        return true;
    case NEST_ACTION_FIRST:
        jump(view, snapshot, 0);
        return true;
    case NEST_ACTION_LAST:
        jump(view, snapshot, INT64_MAX);
        return true;
    case NEST_ACTION_NEXT_PANE:
        cycle(view, snapshot, 1);
        return true;
    case NEST_ACTION_PREVIOUS_PANE:
        cycle(view, snapshot, -1);
        return true;
    case NEST_ACTION_FOLD:
        fold(view);
        return true;
    case NEST_ACTION_UNFOLD_ALL:
    case NEST_ACTION_FOLD_ALL:
        open_all(view, action == NEST_ACTION_UNFOLD_ALL);
        return true;
    default:
        return false;
    }
}

void nest_plan_view_settle(struct nest_plan_view *view, const struct nest_snapshot *snapshot)
{
    struct nest_spot *focus = &view->focus;
    if (in_cluster(focus->pane)) {
        const int levels = snapshot->cluster->levels;
        focus->level = focus->level < levels ? focus->level : levels - 1;
        if (focus->group >= snapshot->cluster->level[focus->level].groups ||
            !view->open[focus->level]) {
            focus->group = -1;
        }
    }
    if (view->layout.frame.width > 0 && !can_enter(view, snapshot, focus->pane)) {
        *focus = (struct nest_spot){.pane = NEST_PANE_BANDWIDTH, .group = -1};
    } else {
        jump(view, snapshot, row_of(view, snapshot));
    }
}

/* ---- What the focus is on ---- */

unsigned nest_plan_view_contexts(const struct nest_plan_view *view)
{
    switch (view->focus.pane) {
    case NEST_PANE_SETTINGS:
        return NEST_CONTEXT_VALUE;
    case NEST_PANE_PINS:
        return NEST_CONTEXT_PIN;
    case NEST_PANE_ALTERNATIVES:
        return NEST_CONTEXT_ALTERNATIVE;
    case NEST_PANE_STAGES:
        return NEST_CONTEXT_STAGE;
    case NEST_PANE_STEP:
        return NEST_CONTEXT_STEP;
    default:
        return view->focus.group < 0 ? NEST_CONTEXT_VALUE | NEST_CONTEXT_LEVEL : NEST_CONTEXT_GROUP;
    }
}

const struct nest_knob *nest_plan_view_knob(const struct nest_plan_view *view,
                                            const struct nest_snapshot *snapshot)
{
    const struct nest_spot *focus = &view->focus;
    if (focus->pane == NEST_PANE_SETTINGS) {
        return nest_plan_knob(snapshot, NEST_KNOB_SETTING, focus->index);
    }
    if (focus->pane == NEST_PANE_PINS) {
        return nest_plan_knob(snapshot, NEST_KNOB_PIN, focus->index);
    }
    if (in_cluster(focus->pane) && focus->group < 0) {
        const enum nest_knob_kind kind =
            (enum nest_knob_kind)((int)focus->pane - (int)NEST_PANE_BANDWIDTH);
        return nest_plan_knob(snapshot, kind, focus->level);
    }
    return NULL;
}

static void describe_level(const struct nest_snapshot *snapshot, int level, struct nest_strbuf *out)
{
    if (snapshot->use && nest_plan_seated(snapshot) && !nest_plan_is_stale(snapshot) &&
        snapshot->use[level].waits > 0) {
        char time[TEXT];
        nest_strbuf_printf(out, ": the step waits %s (%s)",
                           nest_unit_format(nest_to_seconds(snapshot->use[level].waits),
                                            NEST_UNIT_SECONDS, time, sizeof time),
                           snapshot->use[level].kinds);
    }
}

void nest_plan_view_describe(const struct nest_plan_view *view,
                             const struct nest_snapshot *snapshot, struct nest_strbuf *out)
{
    const struct nest_knob *knob = nest_plan_view_knob(view, snapshot);
    const struct nest_spot *focus = &view->focus;
    if (knob) {
        nest_strbuf_add(out, knob->name);
        if (knob->pinned) {
            nest_strbuf_printf(out, ", pinned to %s", knob->exact);
        } else if (knob->level >= 0) {
            describe_level(snapshot, knob->level, out);
        }
    } else if (focus->pane == NEST_PANE_ALTERNATIVES) {
        nest_strbuf_printf(out, "plan number %d", focus->index + 1);
    } else if (focus->pane == NEST_PANE_STAGES) {
        nest_strbuf_printf(out, "stage %d", focus->index);
    } else if (in_cluster(focus->pane)) {
        const struct nest_level *level = &snapshot->cluster->level[focus->level];
        nest_strbuf_printf(out, "%s %" PRId64 " of %" PRId64, level->name, focus->group,
                           level->groups);
    }
}

/* ---- Finding ---- */

static bool contains(const char *text, const char *part)
{
    const size_t length = strlen(part);
    for (; *text; text++) {
        if (strncasecmp(text, part, length) == 0) {
            return true;
        }
    }
    return length == 0;
}

/* Every spot has a number; the order is that of the panes on the screen. */
static int64_t spot_count(const struct nest_plan_view *view, const struct nest_snapshot *snapshot)
{
    int64_t count = 0;
    for (int pane = NEST_PANE_BANDWIDTH; pane <= NEST_PANE_STEP; pane++) {
        count += can_enter(view, snapshot, (enum nest_pane)pane)
                     ? rows_of(view, snapshot, (enum nest_pane)pane)
                     : 0;
    }
    return count;
}

static struct nest_spot spot_number(const struct nest_plan_view *view,
                                    const struct nest_snapshot *snapshot, int64_t number)
{
    for (int pane = NEST_PANE_BANDWIDTH; pane <= NEST_PANE_STEP; pane++) {
        const enum nest_pane at = (enum nest_pane)pane;
        const int64_t rows = can_enter(view, snapshot, at) ? rows_of(view, snapshot, at) : 0;
        if (number < rows) {
            return spot_at(view, snapshot, at, number);
        }
        number -= rows;
    }
    return view->focus;
}

static bool spot_matches(const struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                         struct nest_spot spot, const char *text)
{
    struct nest_plan_view there = {.focus = spot};
    struct nest_strbuf name = NEST_STRBUF_INIT(TEXT);
    const struct nest_knob *knob = nest_plan_view_knob(&there, snapshot);
    if (knob) {
        nest_strbuf_printf(&name, "%s %s %s", knob->label, knob->name, knob->path);
    } else {
        nest_plan_view_describe(&there, snapshot, &name);
    }
    const bool found = contains(nest_strbuf_text(&name), text);
    nest_strbuf_free(&name);
    (void)view;
    return found;
}

bool nest_plan_view_find(struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                         const char *text, int direction)
{
    const int64_t count = spot_count(view, snapshot);
    int64_t at = 0;
    while (at < count && !nest_spot_equal(spot_number(view, snapshot, at), view->focus)) {
        at++;
    }
    const int64_t way = direction < 0 ? -1 : 1;
    for (int64_t i = direction == 0 ? 0 : 1; i <= count && count > 0; i++) {
        const int64_t number = ((at + way * i) % count + count) % count;
        const struct nest_spot spot = spot_number(view, snapshot, number);
        if (spot_matches(view, snapshot, spot, text)) {
            view->focus = spot;
            return true;
        }
    }
    return false;
}
