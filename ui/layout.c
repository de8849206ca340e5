#include "ui/layout.h"

enum {
    GAP = 3,         /* space, divider, space */
    MARGIN = 2,      /* frame and space on each side */
    LEFT_LEAST = 39, /* fits a level's row */
    LEFT_MOST = 64,
    CLUSTER_LEAST = 2,
    STAGES_LEAST = 3,
    LEGEND = 2, /* an empty row and the letters' meaning */
    WHY_ROOMY = 5
};

static int at_most(int value, int limit)
{
    return value < limit ? value : limit;
}

static int at_least(int value, int limit)
{
    return value > limit ? value : limit;
}

int nest_layout_left_width(int width)
{
    const int inside = width - 2 * MARGIN;
    if (width < NEST_LAYOUT_TWO_COLUMNS) {
        return inside;
    }
    return at_most(at_least((inside - GAP) * 9 / 20, LEFT_LEAST), LEFT_MOST);
}

/* Hands out rows from the top of a column. */
struct column {
    int x, y, width, left;
};

static struct nest_rect take(struct column *column, int rows, int gap)
{
    if (rows <= 0 || column->left <= 0) {
        return (struct nest_rect){column->x, column->y, column->width, 0};
    }
    const int height = at_most(rows, column->left);
    const struct nest_rect rect = {column->x, column->y, column->width, height};
    const int used = at_most(height + gap, column->left);
    column->y += used;
    column->left -= used;
    return rect;
}

/* Cluster, settings, plan and alternatives share the left column. The alternatives give way first,
 * then the gaps, then the opened levels; where there is much room each keeps its share. */
static void stack_left(struct column column, const struct nest_layout_wants *wants,
                       struct nest_layout *out)
{
    const int fixed = wants->settings + wants->plan;
    const int gap = column.left >= fixed + wants->cluster + 2 || out->roomy ? 1 : 0;
    const int kept = out->roomy ? at_most(wants->alternatives, column.left / 4) + gap : 0;
    const int room = column.left - fixed - 2 * gap - kept;
    out->cluster = take(&column, at_least(at_most(wants->cluster, room), CLUSTER_LEAST), gap);
    out->settings = take(&column, wants->settings, gap);
    out->plan = take(&column, wants->plan, column.left >= wants->plan + 4 ? gap : 0);
    out->alternatives = take(&column, column.left >= 2 ? wants->alternatives : 0, 0);
}

/* Much room: the step and the reason stand below the stages, every part on a row of its own. */
static void stack_right(struct column column, const struct nest_layout_wants *wants,
                        struct nest_layout *out)
{
    const int step = 1 + wants->step_parts;
    const int stages = column.left - step - WHY_ROOMY - 2;
    out->stages = take(&column, at_most(wants->stages + LEGEND, stages), 1);
    out->step = take(&column, step, 1);
    out->why = take(&column, WHY_ROOMY - 1, 1);
    out->placement = take(&column, column.left, 0);
}

/* A strip below both columns for the step and the reason. */
static void stack_bottom(struct column column, struct nest_layout *out)
{
    out->step = take(&column, 2, 0);
    out->why = take(&column, column.left, 0);
}

static void side_by_side(int width, int top, int height, const struct nest_layout_wants *wants,
                         struct nest_layout *out)
{
    const int inside = width - 2 * MARGIN;
    const int left = nest_layout_left_width(width);
    const int bottom = out->roomy ? 0 : at_most(5, height / 4);
    const int upper = out->roomy ? height : height - bottom - 1;
    const struct column right = {MARGIN + left + GAP, top, inside - left - GAP, upper};
    out->columns = true;
    out->divider = MARGIN + left + 1;
    stack_left((struct column){MARGIN, top, left, upper}, wants, out);
    if (out->roomy) {
        stack_right(right, wants, out);
        return;
    }
    out->rule = top + upper;
    out->stages = (struct nest_rect){right.x, right.y, right.width, upper};
    stack_bottom((struct column){MARGIN, top + upper + 1, inside, bottom}, out);
}

/* Narrow: everything below each other; what does not fit is left out from the end. */
static void stacked(int width, int top, int height, const struct nest_layout_wants *wants,
                    struct nest_layout *out)
{
    struct column column = {MARGIN, top, width - 2 * MARGIN, height};
    const int why = height >= 14 ? 2 : 0;
    const int step = height >= 10 ? 2 : 0;
    const int settings = height >= 8 ? wants->settings : 0;
    const int rest = height - why - step - settings - STAGES_LEAST;
    const int plan = rest - wants->plan >= CLUSTER_LEAST + 1 ? wants->plan : 0;
    const int spare = rest - plan;
    out->cluster = take(&column, at_most(wants->cluster, at_least(spare, CLUSTER_LEAST)), 0);
    out->settings = take(&column, settings, 0);
    out->plan = take(&column, plan, 0);
    out->stages = take(&column, at_least(column.left - step - why, 0), 0);
    out->step = take(&column, step, 0);
    out->why = take(&column, why, 0);
}

void nest_layout_plain(int width, int height, struct nest_layout *out)
{
    *out = (struct nest_layout){.divider = -1, .rule = -1};
    if (width < NEST_LAYOUT_LEAST_WIDTH || height < NEST_LAYOUT_LEAST_HEIGHT) {
        out->too_small = true;
        return;
    }
    out->frame = (struct nest_rect){0, 0, width, height};
    out->status = height - 2;
    out->keys = height - 1;
}

void nest_layout_plan(int width, int height, const struct nest_layout_wants *wants,
                      struct nest_layout *out)
{
    nest_layout_plain(width, height, out);
    if (out->too_small) {
        return;
    }
    out->roomy = width >= NEST_LAYOUT_ROOMY_WIDTH && height >= NEST_LAYOUT_ROOMY_HEIGHT;
    if (width >= NEST_LAYOUT_TWO_COLUMNS && height >= 20) {
        side_by_side(width, 1, height - 3, wants, out);
    } else {
        stacked(width, 1, height - 3, wants, out);
    }
}

int nest_layout_right_width(int width)
{
    return width < NEST_LAYOUT_TWO_COLUMNS
               ? width - 2 * MARGIN
               : width - 2 * MARGIN - GAP - nest_layout_left_width(width);
}

/* The cluster on the left, settings and pins on the right. */
static int strip_of_two(int width, int height, const struct nest_layout_wants *wants,
                        struct nest_layout *out)
{
    const int left = nest_layout_left_width(width);
    const int rows = at_most(at_least(wants->cluster, wants->settings + wants->plan), height / 2);
    struct column cluster = {MARGIN, 1, left, rows};
    struct column choices = {MARGIN + left + GAP, 1, nest_layout_right_width(width), rows};
    out->columns = true;
    out->divider = MARGIN + left + 1;
    out->cluster = take(&cluster, wants->cluster, 0);
    out->settings = take(&choices, wants->settings, 0);
    out->plan = take(&choices, wants->plan, 0);
    return rows;
}

static int strip_of_one(int width, int height, const struct nest_layout_wants *wants,
                        struct nest_layout *out)
{
    struct column column = {MARGIN, 1, width - 2 * MARGIN, height / 2};
    out->cluster = take(&column, at_most(wants->cluster, CLUSTER_LEAST + 2), 0);
    out->settings = take(&column, 1, 0);
    out->plan = take(&column, wants->plan, 0);
    return height / 2 - column.left;
}

void nest_layout_lesson(int width, int height, const struct nest_layout_wants *wants,
                        struct nest_layout *out)
{
    nest_layout_plain(width, height, out);
    if (out->too_small) {
        return;
    }
    const int inside = height - 3;
    const bool two = width >= NEST_LAYOUT_TWO_COLUMNS;
    const int rows =
        two ? strip_of_two(width, inside, wants, out) : strip_of_one(width, inside, wants, out);
    out->rule = 1 + rows;
    out->lesson = (struct nest_rect){MARGIN, out->rule + 1, width - 2 * MARGIN, inside - rows - 1};
}
