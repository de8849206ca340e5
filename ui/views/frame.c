#include "ui/views/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "ui/views/plan_parts.h"

enum { TEXT = 256 };

/* ---- Title ---- */

static int draw_figures(const struct nest_frame *frame, struct nest_canvas *canvas, int right)
{
    const struct nest_snapshot *snapshot = frame->snapshot;
    const struct nest_solution *best = nest_plan_best(snapshot);
    char text[TEXT];
    char step[TEXT / 4];
    char rate[TEXT / 4];
    enum nest_role role = NEST_ROLE_FIGURE;
    if (best) {
        const struct nest_prediction *p = &best->prediction;
        (void)snprintf(
            text, sizeof text, " step %s · %s tok/s · MFU %.1f%% ",
            nest_unit_format(nest_to_seconds(p->step), NEST_UNIT_SECONDS, step, sizeof step),
            nest_count_format((int64_t)p->tokens_per_s, rate, sizeof rate), p->mfu * 100);
        role = p->feasible ? role : NEST_ROLE_BAD;
    } else if (snapshot->result) {
        (void)snprintf(text, sizeof text, " no plan fits ");
        role = NEST_ROLE_BAD;
    } else {
        (void)snprintf(text, sizeof text, " searching … ");
        role = NEST_ROLE_DIM;
    }
    int columns = nest_canvas_columns(canvas, text);
    if (columns > right - 24 && best) {
        (void)snprintf(text, sizeof text, " step %s ", step);
        columns = nest_canvas_columns(canvas, text);
    }
    nest_canvas_right(canvas, right - columns, 0, columns, role, text);
    return right - columns;
}

static void draw_title(const struct nest_frame *frame, struct nest_canvas *canvas)
{
    const struct nest_scenario_spec *scenario = frame->snapshot->scenario;
    const char *file = frame->snapshot->file;
    const char *base = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    char text[TEXT];
    const int end = draw_figures(frame, canvas, canvas->width - 1) - 1;
    (void)snprintf(text, sizeof text, " %s · %s%s%s%s ", scenario->model.name,
                   scenario->cluster.name, base ? " · " : "", base ? base : "",
                   frame->snapshot->dirty ? " *" : "");
    (void)nest_canvas_text(canvas, 1, 0, end - 1, NEST_ROLE_TITLE, text);
}

/* ---- Tabs and state ---- */

static void search_text(const struct nest_snapshot *snapshot, char *out, size_t size)
{
    const struct nest_progress *progress = &snapshot->progress;
    char solved[TEXT / 4];
    char all[TEXT / 4];
    char time[TEXT / 4];
    (void)nest_count_format(progress->solved, solved, sizeof solved);
    (void)nest_count_format(progress->strategies, all, sizeof all);
    (void)nest_unit_format(progress->seconds, NEST_UNIT_SECONDS, time, sizeof time);
    if (snapshot->cancelled) {
        (void)snprintf(out, size, " stopped: the plan is older than the values ");
    } else if (!snapshot->solving) {
        (void)snprintf(out, size, " solved %s (%s of %s σ) ", time, solved, all);
    } else if (progress->strategies > 0) {
        (void)snprintf(out, size, " solving %s of %s σ ", solved, all);
    } else {
        (void)snprintf(out, size, " solving … ");
    }
}

static void draw_status(const struct nest_frame *frame, struct nest_canvas *canvas,
                        struct nest_hotspots *hotspots)
{
    const int y = frame->layout->status;
    const int end = canvas->width - 1;
    int x = 2;
    const int tab = nest_canvas_text(canvas, x, y, end - x, NEST_ROLE_TAB, " 1 Plan ");
    nest_hotspot_add(
        hotspots, (struct nest_hotspot){.rect = {x, y, tab, 1}, .action = NEST_ACTION_VIEW_PLAN});
    x += tab + 1;
    char search[TEXT];
    search_text(frame->snapshot, search, sizeof search);
    const int columns = nest_canvas_columns(canvas, search);
    const bool fits =
        x + columns + (frame->note ? nest_canvas_columns(canvas, frame->note) + 3 : 0) < end;
    const bool important = frame->note && frame->note_role != NEST_ROLE_DIM;
    const bool both = fits || (!important && x + columns < end);
    if (both) {
        nest_canvas_right(canvas, end - columns, y, columns,
                          frame->snapshot->solving || frame->snapshot->cancelled ? NEST_ROLE_WARN
                                                                                 : NEST_ROLE_DIM,
                          search);
    }
    const int room = (both ? end - columns : end) - x - 2;
    if (frame->note && room > 4) {
        (void)nest_canvas_printf(canvas, x, y, room, frame->note_role, " %s ", frame->note);
    }
}

/* ---- Keys ---- */

static void draw_keys(const struct nest_frame *frame, struct nest_canvas *canvas,
                      struct nest_hotspots *hotspots)
{
    const int y = frame->layout->keys;
    const int end = canvas->width - 2;
    int x = 2;
    for (const struct nest_action_entry *entry = nest_actions(); entry->name; entry++) {
        struct nest_strbuf key = NEST_STRBUF_INIT(TEXT);
        if (!entry->label || (entry->contexts & frame->contexts) == 0) {
            continue;
        }
        nest_action_first_key(entry, &key);
        const int columns = nest_canvas_columns(canvas, nest_strbuf_text(&key)) + 1 +
                            nest_canvas_columns(canvas, entry->label);
        if (x + columns + 2 <= end) {
            const int from = x;
            x += nest_canvas_printf(canvas, x, y, end - x, NEST_ROLE_KEY, " %s",
                                    nest_strbuf_text(&key));
            x += nest_canvas_printf(canvas, x, y, end - x, NEST_ROLE_DIM, " %s", entry->label);
            nest_hotspot_add(hotspots, (struct nest_hotspot){.rect = {from, y, x - from, 1},
                                                             .action = entry->action});
            x += nest_canvas_text(canvas, x, y, 1, NEST_ROLE_DIM, " ");
        }
        nest_strbuf_free(&key);
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
