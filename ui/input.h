/* What the user did: keys and mouse as events, from curses. */
#ifndef NEST_UI_INPUT_H
#define NEST_UI_INPUT_H

#include <stdbool.h>
#include <stdint.h>

/* Keys are Unicode code points (control keys are 1 … 31), or one of these. */
enum nest_key {
    NEST_KEY_NONE = 0,
    NEST_KEY_TAB = 9,
    NEST_KEY_NEW_LINE = 10, /* Ctrl-J */
    NEST_KEY_ENTER = 13,
    NEST_KEY_ESCAPE = 27,
    NEST_KEY_BACKSPACE = 127,
    NEST_KEY_UP = 0x200000,
    NEST_KEY_DOWN,
    NEST_KEY_LEFT,
    NEST_KEY_RIGHT,
    NEST_KEY_SHIFT_LEFT,
    NEST_KEY_SHIFT_RIGHT,
    NEST_KEY_SHIFT_TAB,
    NEST_KEY_PAGE_UP,
    NEST_KEY_PAGE_DOWN,
    NEST_KEY_HOME,
    NEST_KEY_END,
    NEST_KEY_DELETE,
    NEST_KEY_ALT_ENTER,
    NEST_KEY_F1,
    NEST_KEY_F2,
    NEST_KEY_F3,
    NEST_KEY_F4,
    NEST_KEY_F5,
    NEST_KEY_F6,
    NEST_KEY_F7,
    NEST_KEY_F8,
    NEST_KEY_F9,
    NEST_KEY_F10
};

enum nest_event_kind {
    NEST_EVENT_NONE, /* nothing is waiting */
    NEST_EVENT_KEY,
    NEST_EVENT_CLICK,
    NEST_EVENT_WHEEL_UP,
    NEST_EVENT_WHEEL_DOWN,
    NEST_EVENT_PASTE_BEGIN, /* the keys that follow are pasted text … */
    NEST_EVENT_PASTE_END,   /* … up to here */
    NEST_EVENT_RESIZE
};

struct nest_event {
    enum nest_event_kind kind;
    uint32_t key;
    int x, y; /* of the mouse */
};

/* Teaches curses the key sequences that terminal descriptions leave out. After newterm. */
void nest_input_setup(void);

/* The next event that is already there; never waits. */
struct nest_event nest_input_next(void);

/* "Left", "S-Left", "C-r", "F10", "x" → its key; NEST_KEY_NONE if there is none of that name. */
uint32_t nest_key_parse(const char *name);

/* The way a key is written for people: "←", "Ctrl-R", "Enter", "x". Returns out. */
char *nest_key_format(uint32_t key, char *out, int size);

#endif
