#include "ui/views/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "ui/views/plan_parts.h"

enum { TEXT = 256, STATE_WIDTH = 40, BRIEF_WIDTH = 18, WIDE = 100 };

/* ---- Title ---- */

static enum nest_role figures_text(const struct nest_frame *frame, bool brief, char *out,
                                   size_t size)
{
    const struct nest_snapshot *snapshot = frame->snapshot;
    const struct nest_solution *best = nest_plan_best(snapshot);
    char step[TEXT / 4];
    char rate[TEXT / 4];
    if (!best) {
        (void)snprintf(out, size, snapshot->result ? " no plan fits " : " searching … ");
        return snapshot->result ? NEST_ROLE_BAD : NEST_ROLE_DIM;
    }
    const struct nest_prediction *p = &best->prediction;
    const bool stale = nest_plan_is_stale(snapshot);
    if (stale && brief) {
        (void)snprintf(out, size, snapshot->solving ? " searching … " : " stopped ");
        return NEST_ROLE_DIM;
    }
    (void)nest_unit_format(nest_to_seconds(p->step), NEST_UNIT_SECONDS, step, sizeof step);
    /* The plan of the scenario before, priced anew: the one under way is at least as good. */
    const char *bound = snapshot->provisional && p->feasible ? "≤ " : "";
    const char *mark = snapshot->touched && snapshot->touched->step ? "*" : "";
    if (stale) {
        (void)snprintf(out, size, " %s · before: step %s ",
                       snapshot->solving ? "searching …" : "stopped", step);
        return NEST_ROLE_DIM;
    }
    if (brief) {
        (void)snprintf(out, size, " step %s%s%s ", bound, step, mark);
    } else {
        (void)snprintf(out, size, " step %s%s%s · %s tok/s · MFU %.1f%% ", bound, step, mark,
                       nest_count_format((int64_t)p->tokens_per_s, rate, sizeof rate),
                       p->mfu * 100);
    }
    return p->feasible ? NEST_ROLE_FIGURE : NEST_ROLE_BAD;
}

static void draw_title(const struct nest_frame *frame, struct nest_canvas *canvas)
{
    const struct nest_scenario_spec *scenario = frame->snapshot->scenario;
    const char *file = frame->snapshot->file;
    const char *base = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    const bool brief = canvas->width < NEST_LAYOUT_TWO_COLUMNS;
    char text[TEXT];
    char figures[TEXT];
    const enum nest_role role = figures_text(frame, brief, figures, sizeof figures);
    const int columns = nest_canvas_columns(canvas, figures);
    const int end = canvas->width - 1 - columns;
    nest_canvas_right(canvas, end, 0, columns, role, figures);
    (void)snprintf(text, sizeof text, " %s%s · %s%s%s ", frame->snapshot->dirty ? "* " : "",
                   scenario->model.name, scenario->cluster.name, base ? " · " : "",
                   base ? base : "");
    (void)nest_canvas_text(canvas, 1, 0, end - 2, NEST_ROLE_TITLE, text);
}

/* ---- Tabs and state ---- */

/* brief: without how the search went. */
static void search_text(const struct nest_frame *frame, bool brief, char *out, size_t size)
{
    const struct nest_snapshot *snapshot = frame->snapshot;
    const struct nest_progress *progress = &snapshot->progress;
    char solved[TEXT / 4];
    char all[TEXT / 4];
    char time[TEXT / 4];
    (void)nest_count_format(progress->solved, solved, sizeof solved);
    (void)nest_count_format(progress->strategies, all, sizeof all);
    (void)nest_unit_format(progress->seconds, NEST_UNIT_SECONDS, time, sizeof time);
    if (frame->doing) {
        (void)snprintf(out, size, " running %.60s … C-c stops it ", frame->doing);
    } else if (snapshot->cancelled) {
        (void)snprintf(out, size, " stopped: the plan is older than the values ");
    } else if (!snapshot->solving && brief) {
        (void)snprintf(out, size, " solved %s ", time);
    } else if (!snapshot->solving) {
        (void)snprintf(out, size, " solved %s (%s of %s σ) ", time, solved, all);
    } else if (progress->strategies > 0 && brief) {
        (void)snprintf(out, size, " solving %s σ ", solved);
    } else if (progress->strategies > 0) {
        (void)snprintf(out, size, " solving %s of %s σ ", solved, all);
    } else {
        (void)snprintf(out, size, " solving … ");
    }
}

/* Returns the column behind the last one. */
static int draw_tabs(const struct nest_frame *frame, struct nest_canvas *canvas, int x,
                     struct nest_hotspots *hotspots)
{
    static const struct {
        const char *text;
        enum nest_action action;
    } tabs[NEST_VIEWS] = {
        [NEST_VIEW_PLAN] = {" 1 Plan ", NEST_ACTION_VIEW_PLAN},
        [NEST_VIEW_LUA] = {" 2 Lua ", NEST_ACTION_VIEW_LUA},
        [NEST_VIEW_LESSON] = {" 3 Lesson ", NEST_ACTION_VIEW_LESSON},
    };
    const int y = frame->layout->status;
    /* Where there is room, the lessons can be seen before one is open. */
    const int count = frame->lesson || canvas->width >= WIDE ? NEST_VIEWS : NEST_VIEW_LESSON;
    for (int i = 0; i < count; i++) {
        const enum nest_role role = i == (int)frame->view ? NEST_ROLE_TAB : NEST_ROLE_DIM;
        const int width = nest_canvas_text(canvas, x, y, canvas->width - 1 - x, role, tabs[i].text);
        nest_hotspot_add(hotspots,
                         (struct nest_hotspot){.rect = {x, y, width, 1}, .action = tabs[i].action});
        x += width;
    }
    return x;
}

/* The plan belongs to the values shown, and nothing else is under way. */
static bool is_settled(const struct nest_frame *frame)
{
    return !frame->doing && !frame->snapshot->solving && !frame->snapshot->cancelled;
}

static void draw_status(const struct nest_frame *frame, struct nest_canvas *canvas,
                        struct nest_hotspots *hotspots)
{
    const int y = frame->layout->status;
    const int end = canvas->width - 1;
    int x = 1 + draw_tabs(frame, canvas, 2, hotspots);
    const int note = frame->note ? nest_canvas_columns(canvas, frame->note) + 3 : 0;
    /* How the search went makes room for a note that it would cut. */
    const bool brief = x + STATE_WIDTH + note >= end;
    char search[TEXT];
    search_text(frame, brief, search, sizeof search);
    const int columns = nest_canvas_columns(canvas, search);
    /* The state keeps its place, so that what stands before it does not move with every figure. */
    const int least = brief ? BRIEF_WIDTH : STATE_WIDTH;
    const int field = columns > least ? columns : least;
    const bool important = frame->note && frame->note_role != NEST_ROLE_DIM;
    const bool both = x + field + (important ? note : 0) < end;
    if (both) {
        nest_canvas_right(canvas, end - columns, y, columns,
                          is_settled(frame) ? NEST_ROLE_DIM : NEST_ROLE_WARN, search);
    }
    const int room = (both ? end - field : end) - x - 2;
    if (frame->note && room > 4) {
        (void)nest_canvas_printf(canvas, x, y, room, frame->note_role, " %s ", frame->note);
    }
}

/* ---- Keys ---- */

/* Draws one entry at x; returns its columns. With hotspots NULL it only measures. */
static int draw_key(const struct nest_action_entry *entry, struct nest_canvas *canvas, int x, int y,
                    struct nest_hotspots *hotspots)
{
    struct nest_strbuf key = NEST_STRBUF_INIT(TEXT);
    nest_action_first_key(entry, &key);
    const int width = nest_canvas_columns(canvas, nest_strbuf_text(&key)) +
                      nest_canvas_columns(canvas, entry->label) + 3;
    if (hotspots) {
        const int used =
            nest_canvas_printf(canvas, x, y, width, NEST_ROLE_KEY, " %s", nest_strbuf_text(&key));
        (void)nest_canvas_printf(canvas, x + used, y, width - used, NEST_ROLE_DIM, " %s ",
                                 entry->label);
        nest_hotspot_add(hotspots,
                         (struct nest_hotspot){.rect = {x, y, width, 1}, .action = entry->action});
    }
    nest_strbuf_free(&key);
    return width;
}

static bool is_valid(const struct nest_frame *frame, const struct nest_action_entry *entry)
{
    if (!entry->label || (entry->contexts & frame->contexts) == 0) {
        return false;
    }
    return !(entry->action == NEST_ACTION_UNDO && frame->snapshot->undo == 0) &&
           !(entry->action == NEST_ACTION_REDO && frame->snapshot->redo == 0);
}

/* Help and quit keep their place at the right end; the others go as far as there is room. */
static bool is_last(const struct nest_action_entry *entry)
{
    return entry->action == NEST_ACTION_HELP || entry->action == NEST_ACTION_QUIT;
}

static void draw_keys(const struct nest_frame *frame, struct nest_canvas *canvas,
                      struct nest_hotspots *hotspots)
{
    const int y = frame->layout->keys;
    int end = canvas->width - 2;
    for (const struct nest_action_entry *entry = nest_actions(); entry->name; entry++) {
        end -= is_valid(frame, entry) && is_last(entry) ? draw_key(entry, canvas, 0, y, NULL) : 0;
    }
    int x = 2;
    int last = end;
    for (const struct nest_action_entry *entry = nest_actions(); entry->name; entry++) {
        if (!is_valid(frame, entry)) {
            continue;
        }
        if (is_last(entry)) {
            last += draw_key(entry, canvas, last, y, hotspots);
        } else if (x + draw_key(entry, canvas, x, y, NULL) <= end) {
            x += draw_key(entry, canvas, x, y, hotspots);
        }
    }
}

void nest_frame_draw(const struct nest_frame *frame, struct nest_canvas *canvas,
                     struct nest_hotspots *hotspots)
{
    const struct nest_rect all = {0, 0, canvas->width, canvas->height};
    const struct nest_rect line = {1, frame->layout->status, canvas->width - 2, 1};
    nest_canvas_box(canvas, all, NEST_ROLE_FRAME);
    nest_canvas_fill(canvas, line, NEST_ROLE_FRAME, NEST_GLYPH_HLINE);
    nest_canvas_glyph(canvas, 0, line.y, NEST_ROLE_FRAME, NEST_GLYPH_TEE_LEFT);
    nest_canvas_glyph(canvas, canvas->width - 1, line.y, NEST_ROLE_FRAME, NEST_GLYPH_TEE_RIGHT);
    if (frame->layout->divider >= 0) {
        nest_canvas_glyph(canvas, frame->layout->divider, 0, NEST_ROLE_FRAME, NEST_GLYPH_TEE_DOWN);
        if (frame->layout->rule < 0) {
            nest_canvas_glyph(canvas, frame->layout->divider, line.y, NEST_ROLE_FRAME,
                              NEST_GLYPH_TEE_UP);
        }
    }
    if (frame->layout->rule >= 0) {
        nest_canvas_glyph(canvas, 0, frame->layout->rule, NEST_ROLE_FRAME, NEST_GLYPH_TEE_LEFT);
        nest_canvas_glyph(canvas, canvas->width - 1, frame->layout->rule, NEST_ROLE_FRAME,
                          NEST_GLYPH_TEE_RIGHT);
    }
    draw_title(frame, canvas);
    draw_status(frame, canvas, hotspots);
    if (frame->keys) {
        draw_keys(frame, canvas, hotspots);
    }
}

void nest_frame_draw_too_small(struct nest_canvas *canvas)
{
    char text[TEXT];
    (void)snprintf(text, sizeof text, "nest needs at least %d×%d, this is %d×%d; q quits",
                   NEST_LAYOUT_LEAST_WIDTH, NEST_LAYOUT_LEAST_HEIGHT, canvas->width,
                   canvas->height);
    (void)nest_canvas_wrap(canvas, (struct nest_rect){0, 0, canvas->width, canvas->height},
                           NEST_ROLE_TEXT, text);
}
