#include "ui/widgets/popup.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ui/utf8.h"
#include "ui/widgets/scroll.h"

enum { FRAME = 2, PADDING = 4, MARGINS = 10, WIDEST = 100, LEAST = 8, LINE_MAX = 512 };

/* Out of memory there is no window: the view stays as it is. */
static void start(struct nest_popup *popup, enum nest_popup_kind kind, const char *title)
{
    nest_popup_close(popup);
    popup->kind = kind;
    popup->title = nest_arena_strdup(&popup->arena, title);
}

void nest_popup_text(struct nest_popup *popup, const char *title, const char *text)
{
    start(popup, NEST_POPUP_TEXT, title);
    popup->text = nest_arena_strdup(&popup->arena, text);
    if (!popup->title || !popup->text) {
        nest_popup_close(popup);
    }
}

/* The bytes of the line that fit, up to a space where there is one. */
static size_t fitting(const struct nest_canvas *canvas, const char *line, size_t length, int room)
{
    char head[LINE_MAX];
    size_t fits = 0;
    size_t word = 0;
    for (size_t at = 0; at < length && at < sizeof head - NEST_UTF8_MAX;) {
        uint32_t code = 0;
        const size_t next = at + nest_utf8_decode(line + at, &code);
        memcpy(head, line, next);
        head[next] = '\0';
        if (nest_canvas_columns(canvas, head) > room) {
            break;
        }
        at = fits = next;
        word = next == length || line[next] == ' ' ? next : word;
    }
    return word > 0 ? word : fits > 0 ? fits : 1;
}

/* Where the second column of a line begins: after the first gap of two spaces within it. */
static int hanging_indent(const struct nest_canvas *canvas, const char *line, size_t length)
{
    char head[LINE_MAX];
    size_t at = 0;
    while (at < length && line[at] == ' ') {
        at++;
    }
    const size_t margin = at;
    while (at + 1 < length && (line[at] != ' ' || line[at + 1] != ' ')) {
        at++;
    }
    while (at < length && line[at] == ' ') {
        at++;
    }
    (void)snprintf(head, sizeof head, "%.*s", (int)(at + 1 < length ? at : margin), line);
    return nest_canvas_columns(canvas, head);
}

/* of: the line of the text that it is a part of. */
static void add_line(struct nest_popup *popup, const char *of, int indent, const char *bytes,
                     size_t length)
{
    const int at = popup->all;
    popup->whole[at] = of;
    popup->every[at] = nest_arena_printf(&popup->lines, "%*s%.*s", indent, "", (int)length, bytes);
    popup->all += popup->every[at] != NULL;
}

/* Whether a line of the length holds the filter, in whatever case. */
static bool holds(const char *line, size_t length, const char *filter)
{
    const size_t wanted = strlen(filter);
    for (size_t at = 0; at + wanted <= length; at++) {
        if (strncasecmp(line + at, filter, wanted) == 0) {
            return true;
        }
    }
    return false;
}

/* The lines that the filter leaves, the mark on the same one as before where that is there. */
static void choose_lines(struct nest_popup *popup)
{
    const char *marked = popup->count > 0 ? popup->line[popup->cursor] : NULL;
    popup->count = popup->cursor = 0;
    for (int i = 0; i < popup->all; i++) {
        if (holds(popup->whole[i], strcspn(popup->whole[i], "\n"), popup->filter)) {
            popup->cursor = popup->every[i] == marked ? popup->count : popup->cursor;
            popup->line[popup->count++] = popup->every[i];
        }
    }
}

/* Room for so many lines; false without memory. */
static bool make_lines(struct nest_popup *popup, struct nest_arena *arena, size_t count)
{
    popup->all = popup->count = 0;
    popup->line = NEST_NEW(arena, const char *, count);
    popup->every = NEST_NEW(arena, const char *, count);
    popup->whole = NEST_NEW(arena, const char *, count);
    return popup->line && popup->every && popup->whole;
}

/* Breaks the text anew where the screen's width is another than before. */
static void break_text(struct nest_popup *popup, const struct nest_canvas *canvas)
{
    const int width = canvas->width < WIDEST ? canvas->width : WIDEST;
    const int room = width - MARGINS > LEAST ? width - MARGINS : LEAST;
    if (!popup->text || popup->columns == canvas->width) {
        return;
    }
    nest_arena_reset(&popup->lines);
    popup->columns = canvas->width;
    const bool made = make_lines(popup, &popup->lines, strlen(popup->text) + 1);
    for (const char *text = popup->text; made && *text;) {
        const char *whole = text;
        size_t length = strcspn(text, "\n");
        const char *next = text + length + (text[length] == '\n');
        int indent = hanging_indent(canvas, text, length);
        indent = indent < room / 2 ? indent : 0;
        size_t used = fitting(canvas, text, length, room);
        add_line(popup, whole, 0, text, length > 0 ? used : 0);
        while (used < length) {
            text += used;
            length -= used;
            for (; length > 0 && *text == ' '; length--) {
                text++;
            }
            used = fitting(canvas, text, length, room - indent);
            add_line(popup, whole, indent, text, used);
        }
        text = next;
    }
    choose_lines(popup);
}

int nest_popup_marked(const struct nest_popup *popup)
{
    int at = 0;
    while (popup->count > 0 && at < popup->all - 1 &&
           popup->every[at] != popup->line[popup->cursor]) {
        at++;
    }
    return at;
}

void nest_popup_filter(struct nest_popup *popup, const char *text)
{
    (void)snprintf(popup->filter, sizeof popup->filter, "%s", text);
    popup->first = 0;
    choose_lines(popup);
}

void nest_popup_list(struct nest_popup *popup, const char *title, const char *const *names,
                     const char *current)
{
    int count = 0;
    start(popup, NEST_POPUP_LIST, title);
    while (names && names[count]) {
        count++;
    }
    if (!popup->title || !make_lines(popup, &popup->arena, (size_t)count)) {
        nest_popup_close(popup);
        return;
    }
    for (int i = 0; i < count; i++) {
        const char *name = nest_arena_strdup(&popup->arena, names[i]);
        if (name) {
            popup->whole[popup->all] = name;
            popup->every[popup->all++] = name;
        }
    }
    choose_lines(popup);
    for (int i = 0; i < popup->count && current; i++) {
        popup->cursor = strcmp(popup->line[i], current) == 0 ? i : popup->cursor;
    }
}

void nest_popup_close(struct nest_popup *popup)
{
    nest_arena_free(&popup->arena);
    nest_arena_free(&popup->lines);
    *popup = (struct nest_popup){0};
}

static int clamp(int value, int count)
{
    value = value >= count ? count - 1 : value;
    return value < 0 ? 0 : value;
}

bool nest_popup_act(struct nest_popup *popup, enum nest_action action)
{
    int step = 0;
    switch (action) {
    case NEST_ACTION_CURSOR_UP:
        step = -1;
        break;
    case NEST_ACTION_CURSOR_DOWN:
        step = 1;
        break;
    case NEST_ACTION_PAGE_UP:
        step = -popup->page;
        break;
    case NEST_ACTION_PAGE_DOWN:
        step = popup->page;
        break;
    case NEST_ACTION_FIRST:
        step = -popup->count;
        break;
    case NEST_ACTION_LAST:
        step = popup->count;
        break;
    default:
        return false;
    }
    if (popup->kind == NEST_POPUP_LIST) {
        popup->cursor = clamp(popup->cursor + step, popup->count);
    } else {
        popup->first = clamp(popup->first + step, popup->count);
    }
    return true;
}

static int widest(const struct nest_popup *popup, const struct nest_canvas *canvas)
{
    int width = nest_canvas_columns(canvas, popup->title) + 4;
    for (int i = 0; i < popup->all; i++) {
        const int columns = nest_canvas_columns(canvas, popup->every[i]) + PADDING;
        width = columns > width ? columns : width;
    }
    return width + FRAME;
}

/* A window keeps its size while its lines are filtered. */
static struct nest_rect place(const struct nest_popup *popup, const struct nest_canvas *canvas)
{
    const int most = canvas->width - 4;
    const int tall = canvas->height - 4;
    int width = widest(popup, canvas);
    int height = popup->all + FRAME;
    width = width > most ? most : width;
    height = height > tall ? tall : height;
    return (struct nest_rect){(canvas->width - width) / 2, (canvas->height - height) / 2, width,
                              height};
}

static void draw_line(const struct nest_popup *popup, struct nest_canvas *canvas,
                      struct nest_hotspots *hotspots, struct nest_rect rect, int row)
{
    const int index = popup->first + row;
    const struct nest_rect line = {rect.x + 1, rect.y + 1 + row, rect.width - 2, 1};
    const bool list = popup->kind == NEST_POPUP_LIST;
    /* A line that starts flush is a heading of the text. */
    const char *text = popup->line[index];
    const bool heading = !list && text[0] == '\1';
    (void)nest_canvas_text(canvas, line.x + 2, line.y, line.width - 3,
                           heading ? NEST_ROLE_HEADING : NEST_ROLE_TEXT, text + heading);
    if (list && index == popup->cursor) {
        nest_canvas_glyph(canvas, line.x, line.y, NEST_ROLE_TEXT, NEST_GLYPH_MARK);
        nest_canvas_highlight(canvas, line);
    }
    if (list) {
        nest_hotspot_add(hotspots, (struct nest_hotspot){.rect = line,
                                                         .spot = {.index = index},
                                                         .action = NEST_ACTION_ACCEPT});
    }
}

/* In the lower edge: the filter, and which part of the lines is seen. */
static void draw_foot(const struct nest_popup *popup, struct nest_canvas *canvas,
                      struct nest_rect rect)
{
    const int y = rect.y + rect.height - 1;
    int x = rect.x + 2;
    if (popup->filter[0]) {
        x += nest_canvas_printf(canvas, x, y, rect.width - 4, NEST_ROLE_PROMPT, " /%s ",
                                popup->filter);
    }
    if (popup->count > popup->page) {
        (void)nest_canvas_printf(canvas, x, y, rect.x + rect.width - 2 - x, NEST_ROLE_DIM,
                                 " %d–%d of %d ", popup->first + 1, popup->first + popup->page,
                                 popup->count);
    }
}

void nest_popup_draw(struct nest_popup *popup, struct nest_canvas *canvas,
                     struct nest_hotspots *hotspots)
{
    break_text(popup, canvas);
    const struct nest_rect rect = place(popup, canvas);
    if (rect.width < 6 || rect.height < 3) {
        return;
    }
    popup->page = rect.height - FRAME;
    popup->first =
        (int)nest_scroll_to(popup->first, popup->kind == NEST_POPUP_LIST ? popup->cursor : -1,
                            popup->count, popup->page);
    for (int y = rect.y; y < rect.y + rect.height; y++) {
        for (int x = rect.x; x < rect.x + rect.width; x++) {
            canvas->cell[y * canvas->width + x] =
                (struct nest_cell){.code = ' ', .role = NEST_ROLE_TEXT};
        }
    }
    hotspots->count = 0; /* what lies below cannot be clicked */
    nest_canvas_box(canvas, rect, NEST_ROLE_HEADING);
    (void)nest_canvas_printf(canvas, rect.x + 2, rect.y, rect.width - 4, NEST_ROLE_TITLE, " %s ",
                             popup->title);
    for (int row = 0; row < popup->page && popup->first + row < popup->count; row++) {
        draw_line(popup, canvas, hotspots, rect, row);
    }
    if (popup->count == 0) {
        (void)nest_canvas_text(canvas, rect.x + 3, rect.y + 1, rect.width - 5, NEST_ROLE_DIM,
                               "nothing fits");
    }
    draw_foot(popup, canvas, rect);
}
