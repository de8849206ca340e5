#include "ui/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "ui/utf8.h"

enum { TEXT_MAX = 4096 };

/* ---- Life ---- */

bool nest_canvas_resize(struct nest_canvas *canvas, int width, int height)
{
    if (width != canvas->width || height != canvas->height) {
        free(canvas->cell);
        canvas->cell = calloc((size_t)width * (size_t)height + 1, sizeof *canvas->cell);
        canvas->width = canvas->cell ? width : 0;
        canvas->height = canvas->cell ? height : 0;
    }
    nest_canvas_clear(canvas);
    return canvas->cell != NULL;
}

void nest_canvas_clear(struct nest_canvas *canvas)
{
    for (int i = 0; i < canvas->width * canvas->height; i++) {
        canvas->cell[i] = (struct nest_cell){.code = ' ', .role = NEST_ROLE_TEXT};
    }
    canvas->cursor_x = canvas->cursor_y = -1;
}

void nest_canvas_free(struct nest_canvas *canvas)
{
    free(canvas->cell);
    *canvas = (struct nest_canvas){0};
}

/* ---- Text ---- */

/* How a sign is spelled without UTF-8. */
static const char *spelled(uint32_t code)
{
    static const struct {
        uint32_t code;
        const char *text;
    } signs[] = {{0x2192, "->"}, {0x2190, "<-"}, {0x2191, "Up"},    {0x2193, "Down"},
                 {0x2212, "-"},  {0x00b7, "-"},  {0x00d7, "x"},     {0x2026, "..."},
                 {0x00b5, "u"},  {0x03bc, "u"},  {0x03c3, "sigma"}, {0x2013, "-"},
                 {0x2014, "-"},  {0x2265, ">="}, {0x2264, "<="},    {0x0394, "d"},
                 {0x2587, "="}};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (signs[i].code == code) {
            return signs[i].text;
        }
    }
    return "?";
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

/* One drawable piece: a character, or the spelling of a sign. */
struct piece {
    uint32_t code;
    const char *spelling; /* ASCII, or NULL */
    int columns;
    size_t bytes;
};

static struct piece next_piece(const struct nest_canvas *canvas, const char *text)
{
    struct piece piece = {.columns = 1};
    piece.bytes = nest_utf8_decode(text, &piece.code);
    if (is_control(piece.code)) {
        piece.code = '?';
    } else if (canvas->ascii && piece.code > 0x7e) {
        piece.spelling = spelled(piece.code);
        piece.columns = (int)strlen(piece.spelling);
    } else if (piece.code > 0x7e) {
        piece.columns = wcwidth((wchar_t)piece.code);
        if (piece.columns < 0) {
            piece.code = 0xfffd;
            piece.columns = 1;
        }
    }
    return piece;
}

int nest_canvas_columns(const struct nest_canvas *canvas, const char *text)
{
    int columns = 0;
    while (*text) {
        const struct piece piece = next_piece(canvas, text);
        columns += piece.columns;
        text += piece.bytes;
    }
    return columns;
}

static struct nest_cell *cell_at(const struct nest_canvas *canvas, int x, int y)
{
    if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height) {
        return NULL;
    }
    return &canvas->cell[y * canvas->width + x];
}

static void put(struct nest_canvas *canvas, int x, int y, enum nest_role role, uint32_t code)
{
    struct nest_cell *cell = cell_at(canvas, x, y);
    if (cell) {
        cell->code = code;
        cell->role = (uint8_t)role;
    }
}

static void put_piece(struct nest_canvas *canvas, int x, int y, enum nest_role role,
                      const struct piece *piece)
{
    if (piece->spelling) {
        for (int i = 0; i < piece->columns; i++) {
            put(canvas, x + i, y, role, (unsigned char)piece->spelling[i]);
        }
    } else if (piece->columns == 2 && (x < 0 || x + 1 >= canvas->width)) {
        put(canvas, x, y, role, '?'); /* half a wide character cannot be shown */
    } else if (piece->columns > 0) {
        put(canvas, x, y, role, piece->code);
        if (piece->columns == 2) {
            put(canvas, x + 1, y, role, 0);
        }
    }
}

int nest_canvas_text(struct nest_canvas *canvas, int x, int y, int width, enum nest_role role,
                     const char *text)
{
    const bool cut = nest_canvas_columns(canvas, text) > width;
    const int ellipsis = canvas->ascii ? (width > 4 ? 2 : 0) : (width > 2 ? 1 : 0);
    const int room = cut ? width - ellipsis : width;
    int used = 0;
    while (*text) {
        const struct piece piece = next_piece(canvas, text);
        if (used + piece.columns > room) {
            break;
        }
        put_piece(canvas, x + used, y, role, &piece);
        used += piece.columns;
        text += piece.bytes;
    }
    if (cut && ellipsis > 0) {
        for (int i = 0; i < ellipsis; i++) {
            put(canvas, x + used + i, y, role, canvas->ascii ? '.' : 0x2026);
        }
        used += ellipsis;
    }
    return used;
}

int nest_canvas_printf(struct nest_canvas *canvas, int x, int y, int width, enum nest_role role,
                       const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return nest_canvas_text(canvas, x, y, width, role, text);
}

void nest_canvas_right(struct nest_canvas *canvas, int x, int y, int width, enum nest_role role,
                       const char *text)
{
    const int columns = nest_canvas_columns(canvas, text);
    const int shift = columns < width ? width - columns : 0;
    (void)nest_canvas_text(canvas, x + shift, y, width - shift, role, text);
}

size_t nest_canvas_line(const struct nest_canvas *canvas, const char *text, int width)
{
    size_t fits = 0;
    size_t at = 0;
    int columns = 0;
    while (text[at]) {
        const struct piece piece = next_piece(canvas, text + at);
        if (text[at] == ' ') {
            fits = at;
        }
        if (columns + piece.columns > width) {
            return fits > 0 ? fits : (at > 0 ? at : piece.bytes);
        }
        columns += piece.columns;
        at += piece.bytes;
    }
    return at;
}

int nest_canvas_wrap(struct nest_canvas *canvas, struct nest_rect rect, enum nest_role role,
                     const char *text)
{
    int lines = 0;
    char line[TEXT_MAX];
    while (*text && lines < rect.height && rect.width > 0) {
        const size_t length = nest_canvas_line(canvas, text, rect.width);
        const bool last = lines == rect.height - 1;
        (void)snprintf(line, sizeof line, "%.*s", last ? TEXT_MAX - 1 : (int)length, text);
        (void)nest_canvas_text(canvas, rect.x, rect.y + lines, rect.width, role, line);
        lines++;
        text += length;
        text += strspn(text, " ");
    }
    return lines;
}

/* ---- Shapes ---- */

void nest_canvas_glyph(struct nest_canvas *canvas, int x, int y, enum nest_role role,
                       enum nest_glyph glyph)
{
    put(canvas, x, y, role, nest_glyph(glyph, canvas->ascii));
}

void nest_canvas_fill(struct nest_canvas *canvas, struct nest_rect rect, enum nest_role role,
                      enum nest_glyph glyph)
{
    for (int y = rect.y; y < rect.y + rect.height; y++) {
        for (int x = rect.x; x < rect.x + rect.width; x++) {
            nest_canvas_glyph(canvas, x, y, role, glyph);
        }
    }
}

void nest_canvas_fade(struct nest_canvas *canvas, struct nest_rect rect)
{
    for (int y = rect.y; y < rect.y + rect.height; y++) {
        for (int x = rect.x; x < rect.x + rect.width; x++) {
            struct nest_cell *cell = cell_at(canvas, x, y);
            if (cell) {
                cell->role = NEST_ROLE_DIM;
            }
        }
    }
}

void nest_canvas_highlight(struct nest_canvas *canvas, struct nest_rect rect)
{
    for (int y = rect.y; y < rect.y + rect.height; y++) {
        for (int x = rect.x; x < rect.x + rect.width; x++) {
            struct nest_cell *cell = cell_at(canvas, x, y);
            if (cell) {
                cell->highlight = true;
            }
        }
    }
}

void nest_canvas_box(struct nest_canvas *canvas, struct nest_rect rect, enum nest_role role)
{
    const int right = rect.x + rect.width - 1;
    const int bottom = rect.y + rect.height - 1;
    nest_canvas_fill(canvas, (struct nest_rect){rect.x, rect.y, rect.width, 1}, role,
                     NEST_GLYPH_HLINE);
    nest_canvas_fill(canvas, (struct nest_rect){rect.x, bottom, rect.width, 1}, role,
                     NEST_GLYPH_HLINE);
    nest_canvas_fill(canvas, (struct nest_rect){rect.x, rect.y, 1, rect.height}, role,
                     NEST_GLYPH_VLINE);
    nest_canvas_fill(canvas, (struct nest_rect){right, rect.y, 1, rect.height}, role,
                     NEST_GLYPH_VLINE);
    nest_canvas_glyph(canvas, rect.x, rect.y, role, NEST_GLYPH_TOP_LEFT);
    nest_canvas_glyph(canvas, right, rect.y, role, NEST_GLYPH_TOP_RIGHT);
    nest_canvas_glyph(canvas, rect.x, bottom, role, NEST_GLYPH_BOTTOM_LEFT);
    nest_canvas_glyph(canvas, right, bottom, role, NEST_GLYPH_BOTTOM_RIGHT);
}

bool nest_rect_contains(struct nest_rect rect, int x, int y)
{
    return x >= rect.x && y >= rect.y && x < rect.x + rect.width && y < rect.y + rect.height;
}
