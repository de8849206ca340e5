/* Where every stage sits: one cell a device. */
#include <inttypes.h>

#include "ui/views/plan_parts.h"

enum { LABEL = 10, GAP = 3, PARTS_MOST = 64, CELLS_MOST = 96 };

void nest_plan_draw_seat(const struct nest_plan_draw *draw, int x, int y,
                         const struct nest_occupancy *part)
{
    static const char symbols[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    if (part->idle == part->devices) {
        nest_canvas_glyph(draw->canvas, x, y, NEST_ROLE_IDLE, NEST_GLYPH_IDLE);
    } else if (part->stage_low != part->stage_high || part->idle > 0) {
        nest_canvas_glyph(draw->canvas, x, y, NEST_ROLE_TEXT, NEST_GLYPH_MIXED);
    } else {
        const char text[2] = {symbols[part->stage_low % 36], '\0'};
        (void)nest_canvas_text(draw->canvas, x, y, 1,
                               NEST_ROLE_STAGE + (enum nest_role)(part->stage_low % 6), text);
    }
}

/* An entry of the map is a group of level 1 where a row can hold its devices, else of level 0. */
static int entry_level(const struct nest_cluster *cluster, int width)
{
    if (cluster->levels < 2) {
        return 0;
    }
    const struct nest_level *outer = &cluster->level[1];
    return outer->capacity <= CELLS_MOST && outer->capacity + outer->fanout + LABEL <= width;
}

/* Columns of an entry: its devices, a space between the groups inside. */
static int entry_width(const struct nest_cluster *cluster, int level)
{
    const int64_t cells = cluster->level[level].capacity;
    const int64_t inner = level == 1 ? cluster->level[1].fanout - 1 : 0;
    return LABEL + (int)(cells < CELLS_MOST ? cells : CELLS_MOST) + (int)inner;
}

static void draw_entry(const struct nest_plan_draw *draw, const struct nest_plan *plan, int x,
                       int y, int level, int64_t group)
{
    const struct nest_cluster *cluster = draw->snapshot->cluster;
    const int64_t first = nest_cluster_group_start(cluster, level, group);
    const int64_t end = nest_cluster_group_start(cluster, level, group + 1);
    (void)nest_canvas_printf(draw->canvas, x, y, LABEL - 1, NEST_ROLE_DIM, "%.5s %" PRId64,
                             cluster->level[level].name, group);
    x += LABEL;
    for (int64_t g = nest_cluster_group(cluster, 0, first);
         g < cluster->level[0].groups && nest_cluster_group_start(cluster, 0, g) < end; g++) {
        struct nest_occupancy part[PARTS_MOST];
        const int parts = nest_group_strip(cluster, plan, 0, g, PARTS_MOST, part);
        for (int i = 0; i < parts; i++) {
            nest_plan_draw_seat(draw, x + i, y, &part[i]);
        }
        x += parts + 1;
    }
}

void nest_plan_draw_placement(const struct nest_plan_draw *draw, struct nest_rect rect)
{
    const struct nest_cluster *cluster = draw->snapshot->cluster;
    const struct nest_plan *plan = nest_plan_seated(draw->snapshot);
    if (rect.height < 3 || !plan) {
        return;
    }
    const int level = entry_level(cluster, rect.width);
    const int width = entry_width(cluster, level);
    const int64_t columns =
        rect.width + GAP >= width + GAP ? (rect.width + GAP) / (width + GAP) : 1;
    const int64_t groups = cluster->level[level].groups;
    const int64_t shown =
        columns * (rect.height - 1) < groups ? columns * (rect.height - 1) : groups;
    const int64_t rows = (shown + columns - 1) / columns;
    const int used =
        nest_canvas_text(draw->canvas, rect.x, rect.y, rect.width, NEST_ROLE_HEADING, "PLACEMENT");
    (void)nest_canvas_printf(draw->canvas, rect.x + used + 2, rect.y, rect.width - used - 2,
                             NEST_ROLE_DIM,
                             "the stage on every device, %" PRId64 " of %" PRId64 " %ss", shown,
                             groups, cluster->level[level].name);
    for (int64_t i = 0; i < shown; i++) {
        draw_entry(draw, plan, rect.x + (int)(i / rows) * (width + GAP),
                   rect.y + 1 + (int)(i % rows), level, i);
    }
}
