/* The terminal: the one file that calls curses, and the one that promises to give it back.
 *
 * nest_screen_close runs on every orderly way out. A crash restores the terminal from a signal
 * handler that only writes a prepared string and resets the line discipline. */
#ifndef NEST_UI_SCREEN_H
#define NEST_UI_SCREEN_H

#include "ui/canvas.h"

struct nest_screen_options {
    bool no_color;
    bool ascii; /* asked for; also chosen when the locale is not UTF-8 */
    bool no_mouse;
};

struct nest_screen {
    enum nest_scheme scheme;
    bool ascii;
    bool mouse;
    bool whole_frames; /* the terminal is told where a frame begins and ends */
    int width, height;
    int signals; /* descriptor: one byte per caught signal */
};

/* Opens the screen. Returns NULL or why there cannot be one ("TERM is not set"). */
const char *nest_screen_open(const struct nest_screen_options *options, struct nest_screen *screen);

/* Restores the terminal. Harmless when called twice. */
void nest_screen_close(struct nest_screen *screen);

/* Shows the canvas: only what differs is sent. */
void nest_screen_show(struct nest_screen *screen, const struct nest_canvas *canvas);

/* Takes the terminal's size; true when it changed. */
bool nest_screen_measure(struct nest_screen *screen);

/* Everything is sent again at the next show. */
void nest_screen_repaint(struct nest_screen *screen);

/* Stops the program as Ctrl-Z does and returns when it goes on. */
void nest_screen_suspend(struct nest_screen *screen);

/* Puts text on the clipboard of terminals that allow it (OSC 52). */
void nest_screen_copy(struct nest_screen *screen, const char *text);

/* The next caught signal, 0 when there is none. */
int nest_screen_signal(struct nest_screen *screen);

#endif
