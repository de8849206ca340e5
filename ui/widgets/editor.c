#include "ui/widgets/editor.h"

#include <stdio.h>
#include <string.h>

#include "ui/input.h"
#include "ui/utf8.h"

/* ---- Text ---- */

void nest_editor_set(struct nest_editor *editor, const char *text)
{
    (void)snprintf(editor->text, sizeof editor->text, "%s", text);
    editor->length = editor->cursor = (int)strlen(editor->text);
}

static void remove_bytes(struct nest_editor *editor, int from, int to)
{
    memmove(editor->text + from, editor->text + to, (size_t)(editor->length - to + 1));
    editor->length -= to - from;
    editor->cursor = from;
}

bool nest_editor_insert(struct nest_editor *editor, const char *text)
{
    const int count = (int)strlen(text);
    if (count >= NEST_EDITOR_MAX - editor->length) {
        return false;
    }
    memmove(editor->text + editor->cursor + count, editor->text + editor->cursor,
            (size_t)(editor->length - editor->cursor + 1));
    memcpy(editor->text + editor->cursor, text, (size_t)count);
    editor->length += count;
    editor->cursor += count;
    return true;
}

void nest_editor_replace(struct nest_editor *editor, int from, const char *text)
{
    remove_bytes(editor, from, editor->cursor);
    (void)nest_editor_insert(editor, text);
}

/* ---- Places ---- */

static int before(const struct nest_editor *editor, int at)
{
    while (at > 0 && ((unsigned char)editor->text[--at] & 0xc0) == 0x80) {
    }
    return at;
}

static int after(const struct nest_editor *editor, int at)
{
    uint32_t code = 0;
    return at < editor->length ? at + (int)nest_utf8_decode(editor->text + at, &code) : at;
}

static int line_start(const struct nest_editor *editor, int at)
{
    while (at > 0 && editor->text[at - 1] != '\n') {
        at--;
    }
    return at;
}

static int line_end(const struct nest_editor *editor, int at)
{
    return at + (int)strcspn(editor->text + at, "\n");
}

static int word_start(const struct nest_editor *editor, int at)
{
    while (at > 0 && editor->text[at - 1] == ' ') {
        at--;
    }
    while (at > 0 && editor->text[at - 1] != ' ' && editor->text[at - 1] != '\n') {
        at--;
    }
    return at;
}

bool nest_editor_move_line(struct nest_editor *editor, int direction)
{
    const int start = line_start(editor, editor->cursor);
    const int end = line_end(editor, editor->cursor);
    if (direction < 0 ? start == 0 : end == editor->length) {
        return false;
    }
    int column = 0;
    for (int at = start; at < editor->cursor; at = after(editor, at)) {
        column++;
    }
    int at = direction < 0 ? line_start(editor, start - 1) : end + 1;
    const int last = line_end(editor, at);
    while (column-- > 0 && at < last) {
        at = after(editor, at);
    }
    editor->cursor = at;
    return true;
}

/* ---- Keys ---- */

static bool move(struct nest_editor *editor, uint32_t key)
{
    switch (key) {
    case NEST_KEY_LEFT:
    case 'B' - '@':
        editor->cursor = before(editor, editor->cursor);
        return true;
    case NEST_KEY_RIGHT:
    case 'F' - '@':
        editor->cursor = after(editor, editor->cursor);
        return true;
    case NEST_KEY_SHIFT_LEFT:
        editor->cursor = word_start(editor, editor->cursor);
        return true;
    case NEST_KEY_SHIFT_RIGHT:
        editor->cursor += (int)strspn(editor->text + editor->cursor, " \n");
        editor->cursor += (int)strcspn(editor->text + editor->cursor, " \n");
        return true;
    case NEST_KEY_HOME:
    case 'A' - '@':
        editor->cursor = line_start(editor, editor->cursor);
        return true;
    case NEST_KEY_END:
    case 'E' - '@':
        editor->cursor = line_end(editor, editor->cursor);
        return true;
    default:
        return false;
    }
}

static bool erase(struct nest_editor *editor, uint32_t key)
{
    const int at = editor->cursor;
    switch (key) {
    case NEST_KEY_BACKSPACE:
        remove_bytes(editor, before(editor, at), at);
        return true;
    case NEST_KEY_DELETE:
    case 'D' - '@':
        remove_bytes(editor, at, after(editor, at));
        return true;
    case 'U' - '@':
        remove_bytes(editor, line_start(editor, at), at);
        return true;
    case 'K' - '@': {
        const int end = line_end(editor, at);
        remove_bytes(editor, at, end == at ? after(editor, at) : end);
        return true;
    }
    case 'W' - '@':
        remove_bytes(editor, word_start(editor, at), at);
        return true;
    default:
        return false;
    }
}

bool nest_editor_key(struct nest_editor *editor, uint32_t key)
{
    char bytes[NEST_UTF8_MAX + 1];
    if (move(editor, key) || erase(editor, key)) {
        return true;
    }
    if (key < ' ' || key >= 0x110000 || key == NEST_KEY_BACKSPACE) {
        return false;
    }
    (void)nest_editor_insert(editor, nest_utf8_encode(key, bytes));
    return true;
}

/* ---- Drawing ---- */

/* Where the text is on its way over the rows. */
struct pen {
    const struct nest_canvas *canvas;
    int width;
    int row, column;
};

/* Moves over one character of text; returns its bytes. A wide character that does not fit stands
 * on the next row. */
static size_t step(struct pen *pen, const char *text, char piece[NEST_UTF8_MAX + 1])
{
    uint32_t code = 0;
    const size_t bytes = nest_utf8_decode(text, &code);
    (void)nest_utf8_encode(code, piece);
    if (*text == '\n') {
        pen->row++;
        pen->column = 0;
        return bytes;
    }
    const int columns = nest_canvas_columns(pen->canvas, piece);
    if (pen->column + columns > pen->width) {
        pen->row++;
        pen->column = 0;
    }
    pen->column += columns;
    return bytes;
}

static struct pen walk(const struct nest_editor *editor, const struct nest_canvas *canvas,
                       int width, int end)
{
    struct pen pen = {canvas, width > 1 ? width : 1, 0, 0};
    char piece[NEST_UTF8_MAX + 1];
    for (int at = 0; at < end;) {
        at += (int)step(&pen, editor->text + at, piece);
    }
    return pen;
}

int nest_editor_rows(const struct nest_editor *editor, const struct nest_canvas *canvas, int width)
{
    const struct pen pen = walk(editor, canvas, width, editor->length);
    return pen.row + 1 + (pen.column == pen.width); /* the cursor may stand behind a full row */
}

static void draw_text(const struct nest_editor *editor, struct nest_canvas *canvas,
                      struct nest_rect rect, int first_row, const char *next)
{
    const int margin = nest_canvas_columns(canvas, next);
    struct pen pen = {canvas, rect.width - margin, 0, 0};
    char piece[NEST_UTF8_MAX + 1];
    for (int at = 0; at < editor->length;) {
        const bool newline = editor->text[at] == '\n';
        at += (int)step(&pen, editor->text + at, piece);
        const int row = pen.row - first_row;
        if (row < 0 || row >= rect.height) {
            continue;
        }
        if (newline) {
            (void)nest_canvas_text(canvas, rect.x, rect.y + row, margin, NEST_ROLE_DIM, next);
        } else {
            const int columns = nest_canvas_columns(canvas, piece);
            (void)nest_canvas_text(canvas, rect.x + margin + pen.column - columns, rect.y + row,
                                   columns, NEST_ROLE_PROMPT, piece);
        }
    }
}

void nest_editor_draw(const struct nest_editor *editor, struct nest_canvas *canvas,
                      struct nest_rect rect, const char *first, const char *next)
{
    const int margin = nest_canvas_columns(canvas, first);
    struct pen pen = walk(editor, canvas, rect.width - margin, editor->cursor);
    if (pen.column == pen.width) {
        pen.row++;
        pen.column = 0;
    }
    const int first_row = pen.row < rect.height ? 0 : pen.row - rect.height + 1;
    if (first_row == 0) {
        (void)nest_canvas_text(canvas, rect.x, rect.y, margin, NEST_ROLE_PROMPT, first);
    }
    draw_text(editor, canvas, rect, first_row, next);
    canvas->cursor_x = rect.x + margin + pen.column;
    canvas->cursor_y = rect.y + pen.row - first_row;
}
