/* Several lines to type in. */
#ifndef NEST_UI_WIDGETS_EDITOR_H
#define NEST_UI_WIDGETS_EDITOR_H

#include "ui/canvas.h"

enum { NEST_EDITOR_MAX = 16384 };

/* Empty is all zeroes. */
struct nest_editor {
    char text[NEST_EDITOR_MAX]; /* UTF-8 with newlines */
    int length, cursor;         /* bytes */
};

void nest_editor_set(struct nest_editor *editor, const char *text);

/* At the cursor; false, and nothing is inserted, when there is no room. */
bool nest_editor_insert(struct nest_editor *editor, const char *text);

/* Replaces what stands between byte `from` and the cursor. */
void nest_editor_replace(struct nest_editor *editor, int from, const char *text);

/* Types or moves; false for keys that mean something else: Enter, Tab, Esc and the like. */
bool nest_editor_key(struct nest_editor *editor, uint32_t key);

/* One line up (-1) or down (1), keeping the column; false at the first and the last line. */
bool nest_editor_move_line(struct nest_editor *editor, int direction);

/* Rows that the text takes when lines longer than width go on below. */
int nest_editor_rows(const struct nest_editor *editor, const struct nest_canvas *canvas, int width);

/* Draws the text behind prompts (first before the first line, next before the others; equally
 * wide), the cursor's row in sight, and places the cursor. */
void nest_editor_draw(const struct nest_editor *editor, struct nest_canvas *canvas,
                      struct nest_rect rect, const char *first, const char *next);

#endif
