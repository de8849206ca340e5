/* Where everything goes: a pure function of the screen's size and of how much there is to show. */
#ifndef NEST_UI_LAYOUT_H
#define NEST_UI_LAYOUT_H

#include "ui/canvas.h"

enum {
    NEST_LAYOUT_LEAST_WIDTH = 40,
    NEST_LAYOUT_LEAST_HEIGHT = 12,
    NEST_LAYOUT_TWO_COLUMNS = 76, /* from this width on */
    NEST_LAYOUT_ROOMY_WIDTH = 120,
    NEST_LAYOUT_ROOMY_HEIGHT = 36
};

/* Rows that the panes would like to have, headings included. */
struct nest_layout_wants {
    int cluster;  /* one heading, the levels, opened groups */
    int settings; /* of the settings at the width of the left column */
    int plan;     /* of the pins at the width of the left column */
    int stages;
    int step_parts;
    int alternatives;
};

/* A pane without room has height 0. Panes never overlap and never leave the frame. */
struct nest_layout {
    bool too_small; /* nothing else is set then */
    bool columns;   /* two side by side */
    bool roomy;
    struct nest_rect frame;
    struct nest_rect cluster, settings, plan, alternatives;
    struct nest_rect stages, step, why;
    struct nest_rect lesson;    /* only beside a lesson */
    struct nest_rect placement; /* only where there is much room */
    int divider;                /* column of the line between the columns, -1 without */
    int rule;   /* row of the line above step and why, -1 where they are in a column */
    int status; /* row */
    int keys;   /* row */
};

/* Columns that the left side has inside a screen of that width, to measure wants. */
int nest_layout_left_width(int width);

/* A view that uses everything inside the frame as it likes. */
void nest_layout_plain(int width, int height, struct nest_layout *out);

/* What can be changed above, a lesson below. wants.plan is for the narrower right column. */
int nest_layout_right_width(int width);
void nest_layout_lesson(int width, int height, const struct nest_layout_wants *wants,
                        struct nest_layout *out);

void nest_layout_plan(int width, int height, const struct nest_layout_wants *wants,
                      struct nest_layout *out);

#endif
