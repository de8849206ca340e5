#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/views/plan_parts.h"
#include "ui/widgets/scroll.h"

enum { TEXT = 128, STRIP_MOST = 64, ROOMY = 48 };

/* ---- Rows ---- */

int64_t nest_plan_rows(const struct nest_plan_view *view, const struct nest_snapshot *snapshot)
{
    int64_t rows = 0;
    for (int level = 0; level < snapshot->cluster->levels; level++) {
        rows += 1 + (view->open[level] ? snapshot->cluster->level[level].groups : 0);
    }
    return rows;
}

void nest_plan_row_at(const struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                      int64_t row, int *level, int64_t *group)
{
    for (int l = snapshot->cluster->levels - 1; l >= 0; l--) {
        const int64_t rows = 1 + (view->open[l] ? snapshot->cluster->level[l].groups : 0);
        if (row < rows) {
            *level = l;
            *group = row - 1;
            return;
        }
        row -= rows;
    }
    *level = 0;
    *group = -1;
}

int64_t nest_plan_row_of(const struct nest_plan_view *view, const struct nest_snapshot *snapshot,
                         int level, int64_t group)
{
    int64_t row = 0;
    for (int l = snapshot->cluster->levels - 1; l > level; l--) {
        row += 1 + (view->open[l] ? snapshot->cluster->level[l].groups : 0);
    }
    return row + group + 1;
}

/* ---- Columns ---- */

enum { BANDWIDTH, OVER, LATENCY, USE, COLUMNS };

struct columns {
    bool roomy;
    int name;           /* width of the name, indent and marker included */
    int x[COLUMNS];     /* left edge of each */
    int width[COLUMNS]; /* texts are right-aligned in it */
};

static struct columns columns_of(struct nest_rect rect)
{
    static const int narrow[COLUMNS] = {9, 6, 7, 5};
    static const int wide[COLUMNS] = {12, 9, 10, 7};
    const bool roomy = rect.width >= ROOMY;
    struct columns columns = {.roomy = roomy, .name = rect.width};
    for (int i = 0; i < COLUMNS; i++) {
        columns.width[i] = roomy ? wide[i] : narrow[i];
        columns.name -= columns.width[i];
    }
    int x = rect.x + columns.name;
    for (int i = 0; i < COLUMNS; i++) {
        columns.x[i] = x;
        x += columns.width[i];
    }
    return columns;
}

static void draw_heading(const struct nest_plan_draw *draw, struct nest_rect rect,
                         const struct columns *columns)
{
    static const char *const narrow[COLUMNS] = {"bandw.", "over", "lat.", "use"};
    static const char *const wide[COLUMNS] = {"bandwidth", "over", "latency", "use"};
    const struct nest_cluster *cluster = draw->snapshot->cluster;
    const int used =
        nest_canvas_text(draw->canvas, rect.x, rect.y, columns->name, NEST_ROLE_HEADING, "CLUSTER");
    if (cluster->intact) {
        const int64_t down = cluster->intact->devices - cluster->devices;
        const int room = columns->name - used - 1;
        char text[TEXT];
        const int length = snprintf(text, sizeof text, "%" PRId64 " down", down);
        if (length > room) {
            (void)snprintf(text, sizeof text, "-%" PRId64, down);
        }
        (void)nest_canvas_text(draw->canvas, rect.x + used + 1, rect.y, room, NEST_ROLE_WARN, text);
    }
    for (int i = 0; i < COLUMNS; i++) {
        nest_canvas_right(draw->canvas, columns->x[i], rect.y, columns->width[i], NEST_ROLE_DIM,
                          rect.width >= ROOMY ? wide[i] : narrow[i]);
    }
}

/* Where columns are narrow, "450 GB/s" is written "450GB/s". */
static void value_text(const char *text, bool narrow, char *out, size_t size)
{
    size_t length = 0;
    for (; *text && length + 1 < size; text++) {
        if (*text != ' ' || !narrow) {
            out[length++] = *text;
        }
    }
    out[length] = '\0';
}

static enum nest_role role_of(const struct nest_knob *knob)
{
    return knob->changed ? NEST_ROLE_CHANGED : NEST_ROLE_VALUE;
}

static void draw_level_values(const struct nest_plan_draw *draw, int y, int level,
                              const struct columns *columns)
{
    for (int kind = NEST_KNOB_BANDWIDTH; kind <= NEST_KNOB_LATENCY; kind++) {
        const struct nest_knob *knob =
            nest_plan_knob(draw->snapshot, (enum nest_knob_kind)kind, level);
        const int at = BANDWIDTH + kind;
        if (!knob) {
            continue;
        }
        /* One column of space stays before the value, so that two values never touch. */
        const struct nest_rect cell = {columns->x[at], y, columns->width[at], 1};
        char text[TEXT];
        value_text(knob->text, !columns->roomy, text, sizeof text);
        const int used = nest_canvas_columns(draw->canvas, text);
        const int shown = used < cell.width ? used : cell.width - 1;
        nest_canvas_right(draw->canvas, cell.x + 1, y, cell.width - 1, role_of(knob), text);
        nest_plan_draw_spot(draw, (struct nest_rect){cell.x + cell.width - shown, y, shown, 1},
                            (struct nest_spot){.pane = NEST_PANE_BANDWIDTH + (enum nest_pane)kind,
                                               .level = level,
                                               .group = -1});
    }
}

static void draw_level(const struct nest_plan_draw *draw, struct nest_rect rect, int y, int level,
                       const struct columns *columns)
{
    const struct nest_cluster *cluster = draw->snapshot->cluster;
    const struct nest_level *at = &cluster->level[level];
    const int indent = (rect.width >= ROOMY + 8 ? 2 : 1) * (cluster->levels - 1 - level);
    const bool open = draw->view->open[level];
    char text[TEXT];
    const int marker = rect.x + indent;
    nest_canvas_glyph(draw->canvas, marker, y, NEST_ROLE_DIM,
                      open ? NEST_GLYPH_OPEN : NEST_GLYPH_CLOSED);
    const int room = columns->name - indent - 2;
    const int name = nest_canvas_text(draw->canvas, marker + 2, y, room, NEST_ROLE_TEXT, at->name);
    (void)snprintf(text, sizeof text, " ×%" PRId64, at->fanout);
    /* Half a number is worse than none. */
    const bool fits = nest_canvas_columns(draw->canvas, text) <= room - name;
    const int fanout = fits ? nest_canvas_text(draw->canvas, marker + 2 + name, y, room - name,
                                               NEST_ROLE_DIM, text)
                            : 0;
    if (draw->snapshot->touched && nest_plan_seated(draw->snapshot) &&
        draw->snapshot->touched->level[level]) {
        (void)nest_canvas_text(draw->canvas, marker + 2 + name + fanout, y, room - name - fanout,
                               NEST_ROLE_WARN, "*");
    }
    nest_hotspot_add(
        &draw->view->hotspots,
        (struct nest_hotspot){.rect = {rect.x, y, columns->name, 1},
                              .spot = {.pane = NEST_PANE_BANDWIDTH, .level = level, .group = -1},
                              .action = NEST_ACTION_FOLD});
    draw_level_values(draw, y, level, columns);
    if (draw->snapshot->use && nest_plan_seated(draw->snapshot)) {
        const struct nest_level_use *use = &draw->snapshot->use[level];
        (void)snprintf(text, sizeof text, "%.0f%%", use->share * 100);
        nest_canvas_right(draw->canvas, columns->x[USE], y, columns->width[USE],
                          use->share >= 0.1 ? NEST_ROLE_WARN : NEST_ROLE_DIM, text);
    }
}

/* ---- Groups ---- */

static void add_range(char *out, size_t size, const char *name, int64_t low, int64_t high)
{
    if (low == high) {
        (void)snprintf(out, size, "%s%" PRId64, name, low);
    } else {
        (void)snprintf(out, size, "%s%" PRId64 "–%" PRId64, name, low, high);
    }
}

static void group_text(const struct nest_occupancy *group, char *out, size_t size)
{
    char stages[TEXT / 4];
    char replicas[TEXT / 4];
    if (group->idle == group->devices) {
        (void)snprintf(out, size, "idle");
        return;
    }
    add_range(stages, sizeof stages, "stage ", group->stage_low, group->stage_high);
    add_range(replicas, sizeof replicas, "r", group->replica_low, group->replica_high);
    if (group->idle > 0) {
        (void)snprintf(out, size, "%s %s, %" PRId64 " idle", stages, replicas, group->idle);
    } else {
        (void)snprintf(out, size, "%s %s", stages, replicas);
    }
}

/* The devices of a group of a mixed cluster, behind what they do. */
static void add_kinds(const struct nest_cluster *cluster, const struct nest_occupancy *group,
                      char *out, size_t size)
{
    const size_t used = strlen(out);
    char names[TEXT];
    if (cluster->mixed) {
        const unsigned kinds =
            nest_cluster_kinds(cluster, group->first, group->first + group->devices);
        (void)snprintf(out + used, size - used, "  %s",
                       nest_devices_format(cluster, kinds, names, sizeof names));
    }
}

static void draw_group(const struct nest_plan_draw *draw, struct nest_rect rect, int y, int level,
                       int64_t group, enum nest_pane pane)
{
    const struct nest_cluster *cluster = draw->snapshot->cluster;
    const struct nest_plan *plan = nest_plan_seated(draw->snapshot);
    const int indent = (cluster->levels - 1 - level) + 2;
    const int name = 9;
    const int text_width = rect.width >= ROOMY ? 26 : 17;
    int strip = rect.width - indent - name - text_width - 1;
    strip = strip > STRIP_MOST ? STRIP_MOST : strip < 1 ? 1 : strip;
    (void)nest_canvas_printf(draw->canvas, rect.x + indent, y, name - 1, NEST_ROLE_DIM,
                             "%.5s %" PRId64, cluster->level[level].name, group);
    if (plan) {
        struct nest_occupancy part[STRIP_MOST];
        struct nest_occupancy whole;
        char text[TEXT];
        const int parts = nest_group_strip(cluster, plan, level, group, strip, part);
        for (int i = 0; i < parts; i++) {
            nest_plan_draw_seat(draw, rect.x + indent + name + i, y, &part[i]);
        }
        nest_group_occupancy(cluster, plan, level, group, &whole);
        group_text(&whole, text, sizeof text);
        add_kinds(cluster, &whole, text, sizeof text);
        (void)nest_canvas_text(draw->canvas, rect.x + indent + name + parts + 1, y,
                               rect.width - indent - name - parts - 1, NEST_ROLE_TEXT, text);
    }
    nest_plan_draw_spot(draw, (struct nest_rect){rect.x + indent, y, rect.width - indent, 1},
                        (struct nest_spot){.pane = pane, .level = level, .group = group});
}

/* ---- The pane ---- */

static bool in_cluster(enum nest_pane pane)
{
    return pane == NEST_PANE_BANDWIDTH || pane == NEST_PANE_OVERSUBSCRIPTION ||
           pane == NEST_PANE_LATENCY;
}

void nest_plan_draw_cluster(const struct nest_plan_draw *draw, struct nest_rect rect)
{
    struct nest_plan_view *view = draw->view;
    if (rect.height < 1) {
        return;
    }
    const struct columns columns = columns_of(rect);
    draw_heading(draw, rect, &columns);
    const bool focused = in_cluster(view->focus.pane);
    const int64_t rows = nest_plan_rows(view, draw->snapshot);
    const int64_t cursor =
        focused ? nest_plan_row_of(view, draw->snapshot, view->focus.level, view->focus.group) : -1;
    const int height = rect.height - 1;
    view->cluster_scroll = nest_scroll_to(view->cluster_scroll, cursor, rows, height);
    for (int i = 0; i < height && view->cluster_scroll + i < rows; i++) {
        int level = 0;
        int64_t group = -1;
        nest_plan_row_at(view, draw->snapshot, view->cluster_scroll + i, &level, &group);
        if (group < 0) {
            draw_level(draw, rect, rect.y + 1 + i, level, &columns);
        } else {
            draw_group(draw, rect, rect.y + 1 + i, level, group,
                       focused ? view->focus.pane : NEST_PANE_BANDWIDTH);
        }
    }
}
