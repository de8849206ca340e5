#include "ui/views/lua.h"

#include <stdio.h>
#include <string.h>

#include "ui/input.h"
#include "ui/utf8.h"

enum { MARGIN = 2, SPACES = 2, LISTED = 60, SCROLLED = 3 };
enum { WELCOME_CHUNK = 33, WELCOME_DOES = 37 }; /* columns */

#define PROMPT "> "
#define MORE   "+ "

void nest_lua_view_init(struct nest_lua_view *view, struct nest_console *console)
{
    *view = (struct nest_lua_view){.console = console, .recalled = -1, .found = -1, .width = 76};
}

/* ---- The past ---- */

static void leave_past(struct nest_lua_view *view)
{
    view->recalled = -1;
    view->searching = false;
}

static void recall(struct nest_lua_view *view, int direction)
{
    const struct nest_past *past = nest_console_past(view->console);
    const int from = view->recalled < 0 ? past->count : view->recalled;
    const int to = from + direction;
    if (to < 0 || to > past->count || (view->recalled < 0 && direction > 0)) {
        return;
    }
    if (view->recalled < 0) {
        (void)snprintf(view->kept, sizeof view->kept, "%s", view->editor.text);
    }
    view->recalled = to < past->count ? to : -1;
    nest_editor_set(&view->editor, to < past->count ? past->entry[to] : view->kept);
}

/* Looks for the typed part in entries older than `before`; what is found is shown. */
static void search(struct nest_lua_view *view, int before)
{
    const struct nest_past *past = nest_console_past(view->console);
    const int found = nest_past_find(past, view->search, before);
    if (found >= 0) {
        view->found = found;
        nest_editor_set(&view->editor, past->entry[found]);
    }
}

static void start_search(struct nest_lua_view *view)
{
    const struct nest_past *past = nest_console_past(view->console);
    if (view->searching) {
        search(view, view->found);
        return;
    }
    if (view->recalled < 0) {
        (void)snprintf(view->kept, sizeof view->kept, "%s", view->editor.text);
    }
    view->searching = true;
    view->search[0] = '\0';
    view->found = past->count;
}

/* A key while searching; false when it ends the search and means something by itself. */
static bool search_key(struct nest_lua_view *view, uint32_t key)
{
    char bytes[NEST_UTF8_MAX + 1];
    size_t length = strlen(view->search);
    if (key == NEST_KEY_BACKSPACE) {
        while (length > 0 && ((unsigned char)view->search[--length] & 0xc0) == 0x80) {
        }
        view->search[length] = '\0';
    } else if (key >= ' ' && key < 0x110000) {
        (void)nest_utf8_encode(key, bytes);
        if (length + strlen(bytes) < sizeof view->search) {
            (void)strcat(view->search, bytes);
        }
    } else {
        leave_past(view);
        return false;
    }
    search(view, nest_console_past(view->console)->count);
    return true;
}

/* ---- Completing ---- */

/* The bytes that all names have in common. */
static size_t common_start(const char *const *name)
{
    size_t length = strlen(*name);
    for (const char *const *other = name + 1; *other; other++) {
        while (strncmp(*name, *other, length) != 0) {
            length--;
        }
    }
    return length;
}

static void list_names(struct nest_lua_view *view, const char *const *name)
{
    struct nest_strbuf list = NEST_STRBUF_INIT(1 << 16);
    for (int i = 0; *name && i < LISTED; i++, name++) {
        nest_strbuf_printf(&list, "%s%s", i > 0 ? "  " : "", *name);
    }
    nest_strbuf_add(&list, *name ? "  …" : "");
    nest_console_note(view->console, nest_strbuf_text(&list));
    nest_strbuf_free(&list);
}

static void complete(struct nest_lua_view *view)
{
    struct nest_editor *editor = &view->editor;
    int start = editor->cursor;
    while (start > 0 && editor->text[start - 1] != '\n') {
        start--;
    }
    if ((int)strspn(editor->text + start, " ") >= editor->cursor - start) {
        (void)nest_editor_insert(editor, "  ");
        return;
    }
    struct nest_arena arena = NEST_ARENA_INIT;
    const char *line =
        nest_arena_strndup(&arena, editor->text + start, (size_t)(editor->cursor - start));
    size_t word = 0;
    const char *const *name =
        line ? nest_console_complete(view->console, line, &arena, &word) : NULL;
    if (name) {
        const size_t length = common_start(name);
        char *text = nest_arena_strndup(&arena, *name, length);
        const bool longer = length > strlen(line + word);
        if (text && longer) {
            nest_editor_replace(editor, start + (int)word, text);
        } else if (name[1]) {
            list_names(view, name);
        }
    }
    nest_arena_free(&arena);
}

/* ---- Actions ---- */

static void run(struct nest_lua_view *view)
{
    struct nest_editor *editor = &view->editor;
    leave_past(view);
    view->back = 0;
    if (nest_console_is_incomplete(editor->text)) {
        editor->cursor = editor->length;
        (void)nest_editor_insert(editor, "\n");
        return;
    }
    if (editor->text[strspn(editor->text, " \n")]) {
        nest_console_submit(view->console, editor->text, view->width);
    }
    nest_editor_set(editor, "");
}

static void scroll(struct nest_lua_view *view, int lines)
{
    const int last = nest_console_log(view->console)->count - 1;
    view->back += lines;
    view->back = view->back > last ? last : view->back;
    view->back = view->back < 0 ? 0 : view->back;
}

/* Stops the chunk, ends the search, or forgets what is typed; false when there is none of them. */
static bool cancel(struct nest_lua_view *view)
{
    if (nest_console_cancel(view->console)) {
        return true;
    }
    if (view->searching || view->recalled >= 0) {
        leave_past(view);
        nest_editor_set(&view->editor, view->kept);
        return true;
    }
    const bool typed = view->editor.length > 0;
    nest_editor_set(&view->editor, "");
    return typed;
}

bool nest_lua_view_act(struct nest_lua_view *view, enum nest_action action)
{
    const bool searching = view->searching;
    switch (action) {
    case NEST_ACTION_RUN:
        if (searching) {
            leave_past(view);
        } else {
            run(view);
        }
        return true;
    case NEST_ACTION_NEW_LINE:
        leave_past(view);
        (void)nest_editor_insert(&view->editor, "\n");
        return true;
    case NEST_ACTION_COMPLETE:
        leave_past(view);
        complete(view);
        return true;
    case NEST_ACTION_OLDER:
        view->searching = false;
        if (view->recalled >= 0 || !nest_editor_move_line(&view->editor, -1)) {
            recall(view, -1);
        }
        return true;
    case NEST_ACTION_NEWER:
        view->searching = false;
        if (view->recalled >= 0 || !nest_editor_move_line(&view->editor, 1)) {
            recall(view, 1);
        }
        return true;
    case NEST_ACTION_SEARCH_PAST:
        start_search(view);
        return true;
    case NEST_ACTION_PAGE_UP:
        scroll(view, view->page > 1 ? view->page - 1 : 1);
        return true;
    case NEST_ACTION_PAGE_DOWN:
        scroll(view, view->page > 1 ? 1 - view->page : -1);
        return true;
    case NEST_ACTION_CURSOR_UP: /* the wheel */
        scroll(view, SCROLLED);
        return true;
    case NEST_ACTION_CURSOR_DOWN:
        scroll(view, -SCROLLED);
        return true;
    case NEST_ACTION_CANCEL:
        return cancel(view);
    case NEST_ACTION_BACK:
        leave_past(view);
        return searching;
    default:
        return false;
    }
}

void nest_lua_view_key(struct nest_lua_view *view, uint32_t key)
{
    if (view->searching && search_key(view, key)) {
        return;
    }
    if (nest_editor_key(&view->editor, key)) {
        leave_past(view);
        view->back = 0;
    }
}

void nest_lua_view_paste(struct nest_lua_view *view, uint32_t key)
{
    if (key == NEST_KEY_ENTER || key == '\n') {
        leave_past(view);
        (void)nest_editor_insert(&view->editor, "\n");
    } else if (key == NEST_KEY_TAB) {
        (void)nest_editor_insert(&view->editor, "  ");
    } else if (key >= ' ') {
        nest_lua_view_key(view, key);
    }
}

enum nest_role nest_lua_view_describe(const struct nest_lua_view *view,
                                      const struct nest_snapshot *snapshot, struct nest_strbuf *out)
{
    if (view->searching) {
        nest_strbuf_printf(out, "typed before, with '%s' in it", view->search);
    } else if (nest_console_busy(view->console)) {
        nest_strbuf_add(out, "running; Ctrl-C stops it");
    } else if (view->back > 0) {
        nest_strbuf_printf(out, "%d more lines below", view->back);
    } else {
        nest_strbuf_add(out, snapshot->overrides ? "overrides: " : "s is the scenario");
        nest_hooks_format(snapshot->overrides, out);
        return NEST_ROLE_DIM;
    }
    return NEST_ROLE_WARN;
}

/* ---- Drawing ---- */

struct look {
    enum nest_role role;
    bool words;               /* rows end between words */
    const char *first, *next; /* before the first row and those below */
};

static struct look look_of(const struct nest_log *log, int index)
{
    static const struct look looks[] = {
        [NEST_LINE_INPUT] = {NEST_ROLE_PROMPT, false, PROMPT, MORE},
        [NEST_LINE_MORE] = {NEST_ROLE_PROMPT, false, MORE, MORE},
        [NEST_LINE_OUTPUT] = {NEST_ROLE_TEXT, false, "", ""},
        [NEST_LINE_ERROR] = {NEST_ROLE_BAD, true, "", "  "},
        [NEST_LINE_TRACE] = {NEST_ROLE_DIM, false, "  ", "    "},
        [NEST_LINE_NOTE] = {NEST_ROLE_DIM, true, "", ""},
    };
    return looks[log->line[index].kind];
}

/* Bytes of text that fit width columns, at least one character. */
static size_t fitting(const struct nest_canvas *canvas, const char *text, int width, bool words)
{
    if (words) {
        return nest_canvas_line(canvas, text, width);
    }
    char piece[NEST_UTF8_MAX + 1];
    size_t at = 0;
    int columns = 0;
    while (text[at]) {
        uint32_t code = 0;
        const size_t bytes = nest_utf8_decode(text + at, &code);
        columns += nest_canvas_columns(canvas, nest_utf8_encode(code, piece));
        if (columns > width && at > 0) {
            break;
        }
        at += bytes;
    }
    return at;
}

static int rows_of(const struct nest_canvas *canvas, const struct nest_log *log, int index,
                   int width)
{
    const struct look look = look_of(log, index);
    const char *text = log->line[index].text;
    int rows = 0;
    do {
        const char *before = rows == 0 ? look.first : look.next;
        text += fitting(canvas, text, width - nest_canvas_columns(canvas, before), look.words);
        text += look.words ? strspn(text, " ") : 0;
        rows++;
    } while (*text);
    return rows;
}

/* Draws one line of the log whose first row is at y; rows above rect are left out. */
static void draw_line(struct nest_lua_view *view, struct nest_canvas *canvas, struct nest_rect rect,
                      int index, int y)
{
    const struct nest_log *log = nest_console_log(view->console);
    const struct look look = look_of(log, index);
    const char *text = log->line[index].text;
    char row[NEST_LOG_LINE_MAX + 1];
    const char *before = look.first;
    do {
        const int margin = nest_canvas_columns(canvas, before);
        const size_t bytes = fitting(canvas, text, rect.width - margin, look.words);
        if (y >= rect.y) {
            (void)snprintf(row, sizeof row, "%.*s", (int)bytes, text);
            (void)nest_canvas_text(canvas, rect.x, y, margin, NEST_ROLE_DIM, before);
            (void)nest_canvas_text(canvas, rect.x + margin, y, rect.width - margin, look.role, row);
        }
        before = look.next;
        text += bytes + (look.words ? strspn(text + bytes, " ") : 0);
        y++;
    } while (*text);
}

/* The lines above view->back, the last one at the bottom of rect or where it fits; returns the rows
 * used. */
static int draw_log(struct nest_lua_view *view, struct nest_canvas *canvas, struct nest_rect rect)
{
    const struct nest_log *log = nest_console_log(view->console);
    const int end = log->count - view->back;
    int first = end;
    int rows = 0;
    while (first > 0 && rows < rect.height) {
        rows += rows_of(canvas, log, --first, rect.width);
    }
    int y = rows < rect.height ? rect.y : rect.y + rect.height - rows;
    for (int i = first; i < end; i++) {
        draw_line(view, canvas, rect, i, y);
        y += rows_of(canvas, log, i, rect.width);
    }
    return rows < rect.height ? rows : rect.height;
}

static int draw_welcome(struct nest_canvas *canvas, struct nest_rect rect)
{
    static const struct {
        const char *chunk, *does;
    } line[] = {
        {"s:set(\"memory\", \"60GiB\")", "changes it; the plan is searched again"},
        {"s:pin{tp = 8, zero = 1}", "pins choices"},
        {"s:solve().step_time_s", "searches here and prints"},
        {"nest.bars({\"a\", \"b\"}, {1, 2})", "draws; man nest-lua has more"},
    };
    /* What a chunk does stands beside it, or below where there is no room. */
    const bool beside = rect.width >= 2 + WELCOME_CHUNK + WELCOME_DOES;
    int y = nest_canvas_wrap(canvas, rect, NEST_ROLE_DIM,
                             "Lua over the live scenario, which is s. Some chunks to begin with:");
    for (int i = 0; i < (int)(sizeof line / sizeof line[0]); i++) {
        if (y < rect.height) {
            (void)nest_canvas_text(canvas, rect.x + 2, rect.y + y, rect.width - 2, NEST_ROLE_DIM,
                                   line[i].chunk);
        }
        y += !beside;
        const int x = beside ? 2 + WELCOME_CHUNK : 6;
        if (y < rect.height) {
            (void)nest_canvas_text(canvas, rect.x + x, rect.y + y, rect.width - x, NEST_ROLE_DIM,
                                   line[i].does);
        }
        y++;
    }
    return y < rect.height ? y : rect.height;
}

/* Scrolled back, what is seen stays while lines come in below. */
static void follow(struct nest_lua_view *view)
{
    const int count = nest_console_log(view->console)->count;
    if (view->back > 0 && count > view->lines) {
        view->back += count - view->lines;
    }
    view->lines = count;
    scroll(view, 0);
}

void nest_lua_view_draw(struct nest_lua_view *view, struct nest_canvas *canvas)
{
    nest_layout_plain(canvas->width, canvas->height, &view->layout);
    view->hotspots.count = 0;
    if (view->layout.too_small) {
        return;
    }
    const struct nest_rect inside = {MARGIN, 1, canvas->width - 2 * MARGIN, canvas->height - 3};
    view->width = inside.width;
    follow(view);
    const int margin = nest_canvas_columns(canvas, PROMPT);
    int typed = nest_editor_rows(&view->editor, canvas, inside.width - margin);
    const int most = inside.height > 3 ? inside.height / 2 + 1 : inside.height;
    typed = typed > most ? most : typed;
    view->page = inside.height - typed;
    struct nest_rect upper = inside;
    upper.height = view->page;
    const int used = view->lines > 0 ? draw_log(view, canvas, upper) : draw_welcome(canvas, upper);
    const struct nest_rect lower = {inside.x, inside.y + used, inside.width, typed};
    nest_editor_draw(&view->editor, canvas, lower, view->searching ? "? " : PROMPT, MORE);
}
