#include "ui/input.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "ui/utf8.h"

/* Codes of our own for sequences that curses has no name for. */
enum { CODE_ALT_ENTER = KEY_MAX + 1, CODE_PASTE_BEGIN, CODE_PASTE_END };

struct named {
    uint32_t key;
    const char *name;  /* in key tables */
    const char *shown; /* to people */
    int curses;        /* KEY_…, 0 for none */
};

static const struct named named[] = {
    {NEST_KEY_TAB, "Tab", "Tab", 0},
    {NEST_KEY_ENTER, "Enter", "Enter", KEY_ENTER},
    {NEST_KEY_ESCAPE, "Esc", "Esc", 0},
    {NEST_KEY_BACKSPACE, "Backspace", "Backspace", KEY_BACKSPACE},
    {NEST_KEY_UP, "Up", "↑", KEY_UP},
    {NEST_KEY_DOWN, "Down", "↓", KEY_DOWN},
    {NEST_KEY_LEFT, "Left", "←", KEY_LEFT},
    {NEST_KEY_RIGHT, "Right", "→", KEY_RIGHT},
    {NEST_KEY_SHIFT_LEFT, "S-Left", "Shift-←", KEY_SLEFT},
    {NEST_KEY_SHIFT_RIGHT, "S-Right", "Shift-→", KEY_SRIGHT},
    {NEST_KEY_SHIFT_TAB, "S-Tab", "Shift-Tab", KEY_BTAB},
    {NEST_KEY_PAGE_UP, "PgUp", "PgUp", KEY_PPAGE},
    {NEST_KEY_PAGE_DOWN, "PgDn", "PgDn", KEY_NPAGE},
    {NEST_KEY_HOME, "Home", "Home", KEY_HOME},
    {NEST_KEY_END, "End", "End", KEY_END},
    {NEST_KEY_DELETE, "Del", "Del", KEY_DC},
    {NEST_KEY_ALT_ENTER, "A-Enter", "Alt-Enter", CODE_ALT_ENTER},
    {' ', "Space", "Space", 0},
};
enum { NAMED = sizeof named / sizeof named[0] };

void nest_input_setup(void)
{
    /* Arrows come as CSI where the application cursor mode did not take hold, and as SS3 where it
     * did; shifted arrows are in few descriptions. */
    static const struct {
        const char *sequence;
        int key;
    } extra[] = {
        {"\033[A", KEY_UP},
        {"\033[B", KEY_DOWN},
        {"\033[C", KEY_RIGHT},
        {"\033[D", KEY_LEFT},
        {"\033OA", KEY_UP},
        {"\033OB", KEY_DOWN},
        {"\033OC", KEY_RIGHT},
        {"\033OD", KEY_LEFT},
        {"\033[1;2D", KEY_SLEFT},
        {"\033[1;2C", KEY_SRIGHT},
        {"\033[Z", KEY_BTAB},
        {"\033[H", KEY_HOME},
        {"\033[F", KEY_END},
        {"\033OH", KEY_HOME},
        {"\033OF", KEY_END},
        {"\033[1~", KEY_HOME},
        {"\033[4~", KEY_END},
        {"\033[5~", KEY_PPAGE},
        {"\033[6~", KEY_NPAGE},
        {"\033[3~", KEY_DC},
        {"\033OP", KEY_F(1)},
        {"\033[11~", KEY_F(1)},
        {"\033\r", CODE_ALT_ENTER},
        {"\033\n", CODE_ALT_ENTER},
        {"\033[200~", CODE_PASTE_BEGIN},
        {"\033[201~", CODE_PASTE_END},
    };
    for (size_t i = 0; i < sizeof extra / sizeof extra[0]; i++) {
        if (key_defined(extra[i].sequence) <= 0) {
            (void)define_key(extra[i].sequence, extra[i].key);
        }
    }
}

static struct nest_event key_event(uint32_t key)
{
    return (struct nest_event){.kind = NEST_EVENT_KEY, .key = key};
}

/* Press and release in one read arrive as a click, apart as a press: both count once. */
static struct nest_event mouse_event(void)
{
    struct nest_event event = {.kind = NEST_EVENT_KEY, .key = NEST_KEY_NONE};
    MEVENT mouse;
    if (getmouse(&mouse) != OK) {
        return event;
    }
    event.x = mouse.x;
    event.y = mouse.y;
    if (mouse.bstate & BUTTON4_PRESSED) {
        event.kind = NEST_EVENT_WHEEL_UP;
    } else if (mouse.bstate & BUTTON5_PRESSED) {
        event.kind = NEST_EVENT_WHEEL_DOWN;
    } else if (mouse.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON1_DOUBLE_CLICKED |
                               BUTTON1_TRIPLE_CLICKED)) {
        event.kind = NEST_EVENT_CLICK;
    }
    return event;
}

static struct nest_event curses_event(int code)
{
    if (code == KEY_RESIZE) {
        return (struct nest_event){.kind = NEST_EVENT_RESIZE};
    }
    if (code == CODE_PASTE_BEGIN || code == CODE_PASTE_END) {
        return (struct nest_event){.kind = code == CODE_PASTE_BEGIN ? NEST_EVENT_PASTE_BEGIN
                                                                    : NEST_EVENT_PASTE_END};
    }
    if (code == KEY_MOUSE) {
        return mouse_event();
    }
    for (size_t i = 0; i < NAMED; i++) {
        if (named[i].curses == code && code != 0) {
            return key_event(named[i].key);
        }
    }
    for (int n = 1; n <= 10; n++) {
        if (code == KEY_F(n)) {
            return key_event(NEST_KEY_F1 + (uint32_t)n - 1);
        }
    }
    return key_event(NEST_KEY_NONE);
}

struct nest_event nest_input_next(void)
{
    wint_t wide = 0;
    const int got = get_wch(&wide);
    if (got == ERR) {
        return (struct nest_event){.kind = NEST_EVENT_NONE};
    }
    if (got == KEY_CODE_YES) {
        return curses_event((int)wide);
    }
    if (wide == 8) {
        wide = NEST_KEY_BACKSPACE;
    }
    return key_event((uint32_t)wide);
}

uint32_t nest_key_parse(const char *name)
{
    for (size_t i = 0; i < NAMED; i++) {
        if (strcmp(named[i].name, name) == 0) {
            return named[i].key;
        }
    }
    int number = 0;
    if (sscanf(name, "F%d", &number) == 1 && number >= 1 && number <= 10) {
        return NEST_KEY_F1 + (uint32_t)number - 1;
    }
    if (strncmp(name, "C-", 2) == 0 && name[2] >= 'a' && name[2] <= 'z' && !name[3]) {
        return (uint32_t)(name[2] - 'a' + 1);
    }
    return name[0] && !name[1] ? (uint32_t)(unsigned char)name[0] : NEST_KEY_NONE;
}

char *nest_key_format(uint32_t key, char *out, int size)
{
    const size_t room = (size_t)size;
    for (size_t i = 0; i < NAMED; i++) {
        if (named[i].key == key) {
            (void)snprintf(out, room, "%s", named[i].shown);
            return out;
        }
    }
    char text[NEST_UTF8_MAX + 1];
    if (key >= NEST_KEY_F1 && key <= NEST_KEY_F10) {
        (void)snprintf(out, room, "F%d", (int)(key - NEST_KEY_F1 + 1));
    } else if (key < ' ') {
        (void)snprintf(out, room, "Ctrl-%c", (int)('A' + key - 1));
    } else {
        (void)snprintf(out, room, "%s", nest_utf8_encode(key, text));
    }
    return out;
}
