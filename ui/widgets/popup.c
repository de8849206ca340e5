#include "ui/widgets/popup.h"

#include <string.h>

#include "ui/widgets/scroll.h"

enum { FRAME = 2, PADDING = 4 };

static void start(struct nest_popup *popup, enum nest_popup_kind kind, const char *title)
{
    nest_popup_close(popup);
    popup->kind = kind;
    popup->title = nest_arena_strdup(&popup->arena, title);
}

/* Out of memory there is no window: the view stays as it is. */
static void finish(struct nest_popup *popup)
{
    if (!popup->title || !popup->line) {
        nest_popup_close(popup);
    }
}

void nest_popup_text(struct nest_popup *popup, const char *title, const char *text)
{
    int lines = 1;
    start(popup, NEST_POPUP_TEXT, title);
    for (const char *c = text; *c; c++) {
        lines += *c == '\n';
    }
    popup->line = NEST_NEW(&popup->arena, const char *, lines);
    while (popup->line && *text) {
        const size_t length = strcspn(text, "\n");
        popup->line[popup->count] = nest_arena_strndup(&popup->arena, text, length);
        popup->count += popup->line[popup->count] != NULL;
        text += length + (text[length] == '\n');
    }
    finish(popup);
}

void nest_popup_list(struct nest_popup *popup, const char *title, const char *const *names,
                     const char *current)
{
    int count = 0;
    start(popup, NEST_POPUP_LIST, title);
    while (names && names[count]) {
        count++;
    }
    popup->line = NEST_NEW(&popup->arena, const char *, count);
    for (int i = 0; popup->line && i < count; i++) {
        popup->line[popup->count] = nest_arena_strdup(&popup->arena, names[i]);
        if (popup->line[popup->count]) {
            popup->cursor = current && strcmp(names[i], current) == 0 ? i : popup->cursor;
            popup->count++;
        }
    }
    finish(popup);
}

void nest_popup_close(struct nest_popup *popup)
{
    nest_arena_free(&popup->arena);
    *popup = (struct nest_popup){0};
}

static int clamp(int value, int count)
{
    return value >= count ? count - 1 : value < 0 ? 0 : value;
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
    for (int i = 0; i < popup->count; i++) {
        const int columns = nest_canvas_columns(canvas, popup->line[i]) + PADDING;
        width = columns > width ? columns : width;
    }
    return width + FRAME;
}

static struct nest_rect place(const struct nest_popup *popup, const struct nest_canvas *canvas)
{
    const int most = canvas->width - 4;
    const int tall = canvas->height - 4;
    int width = widest(popup, canvas);
    int height = popup->count + FRAME;
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

void nest_popup_draw(struct nest_popup *popup, struct nest_canvas *canvas,
                     struct nest_hotspots *hotspots)
{
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
    if (popup->count > popup->page) {
        (void)nest_canvas_printf(canvas, rect.x + 2, rect.y + rect.height - 1, rect.width - 4,
                                 NEST_ROLE_DIM, " %d–%d of %d ", popup->first + 1,
                                 popup->first + popup->page, popup->count);
    }
}
