/* A picture in cells, made by the views and shown by the screen.
 *
 * Everything is clipped. Text is UTF-8; control characters become '?'; on an ASCII canvas signs are
 * spelled out ("→" as "->"). Text that does not fit ends in an ellipsis. Needs no terminal. */
#ifndef NEST_UI_CANVAS_H
#define NEST_UI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/theme.h"

struct nest_rect {
    int x, y, width, height;
};

struct nest_cell {
    uint32_t code;  /* 0: right half of the wide character before it */
    uint8_t role;   /* enum nest_role */
    bool highlight; /* drawn in the look of NEST_ROLE_FOCUS whatever its role */
};

struct nest_canvas {
    int width, height;
    bool ascii;
    struct nest_cell *cell; /* [height * width], rows */
    int cursor_x, cursor_y; /* -1: hidden */
};

/* Sets the size and clears. False when memory is out; the canvas is empty then. */
bool nest_canvas_resize(struct nest_canvas *canvas, int width, int height);
void nest_canvas_clear(struct nest_canvas *canvas);
void nest_canvas_free(struct nest_canvas *canvas);

/* Columns that the text takes on this canvas. */
int nest_canvas_columns(const struct nest_canvas *canvas, const char *text);

/* Draws text at x, y in at most width columns; returns the columns used. */
int nest_canvas_text(struct nest_canvas *canvas, int x, int y, int width, enum nest_role role,
                     const char *text);
int nest_canvas_printf(struct nest_canvas *canvas, int x, int y, int width, enum nest_role role,
                       const char *format, ...) __attribute__((format(printf, 6, 7)));

/* The same, ending at column x + width. */
void nest_canvas_right(struct nest_canvas *canvas, int x, int y, int width, enum nest_role role,
                       const char *text);

/* Bytes of text that one row of width columns takes: whole words, or a cut word if even one is too
 * long. */
size_t nest_canvas_line(const struct nest_canvas *canvas, const char *text, int width);

/* Breaks text at spaces into at most rect.height lines; returns the lines used. */
int nest_canvas_wrap(struct nest_canvas *canvas, struct nest_rect rect, enum nest_role role,
                     const char *text);

void nest_canvas_glyph(struct nest_canvas *canvas, int x, int y, enum nest_role role,
                       enum nest_glyph glyph);
void nest_canvas_fill(struct nest_canvas *canvas, struct nest_rect rect, enum nest_role role,
                      enum nest_glyph glyph);

/* Marks cells as the focus. */
/* Takes the colours from what was drawn there. */
void nest_canvas_fade(struct nest_canvas *canvas, struct nest_rect rect);

void nest_canvas_highlight(struct nest_canvas *canvas, struct nest_rect rect);

/* A frame around rect. */
void nest_canvas_box(struct nest_canvas *canvas, struct nest_rect rect, enum nest_role role);

bool nest_rect_contains(struct nest_rect rect, int x, int y);

#endif
