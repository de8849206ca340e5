/* The built binary on a pseudo-terminal, seen through a terminal emulator.
 *
 * Keys go in the way a terminal sends them, the screen comes out as cells with attributes. A test
 * waits for a state of the screen, never for time: only a guard against hanging knows the clock. */
#ifndef TESTS_SUPPORT_TERMINAL_H
#define TESTS_SUPPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct terminal;

struct terminal_options {
    int width, height;
    const char *type;      /* TERM; NULL: xterm-256color */
    const char *locale;    /* LC_ALL; NULL: C.UTF-8 */
    const char *no_color;  /* NO_COLOR; NULL: not set */
    const char *arguments; /* of nest, separated by spaces */
    bool job;              /* in a process group of its own, under a shell that knows only "fg" */
};

/* Starts $NEST_BINARY (else build/nest) with an environment made from nothing. */
struct terminal *terminal_start(const struct terminal_options *options);

/* Kills what still runs and frees everything. */
void terminal_close(struct terminal *terminal);

/* Keys by name, separated by spaces: "Down", "S-Right", "C-r", "Enter", "Esc", "F1", "x". */
void terminal_keys(struct terminal *terminal, const char *names);
/* Text as typed. */
void terminal_type(struct terminal *terminal, const char *text);
void terminal_click(struct terminal *terminal, int x, int y);
void terminal_wheel(struct terminal *terminal, int x, int y, bool up);
void terminal_resize(struct terminal *terminal, int width, int height);
/* Sends the signal to the program, or to the job in the foreground. */
void terminal_signal(struct terminal *terminal, int number);

/* Takes in what the program has written by now. */
void terminal_pump(struct terminal *terminal);

/* Waits until the screen shows text, or does not show it any more; fails the test with the whole
 * screen when that does not come. */
void terminal_expect(struct terminal *terminal, const char *text);
void terminal_expect_gone(struct terminal *terminal, const char *text);

/* Waits until the search is finished and the screen shows it. */
void terminal_expect_solved(struct terminal *terminal);

/* Waits for the end of the program: its exit status, or 128 + signal. */
int terminal_end(struct terminal *terminal);
bool terminal_alive(struct terminal *terminal);

/* The screen as rows of text with newlines; valid until the next call. */
const char *terminal_screen(struct terminal *terminal);
bool terminal_shows(struct terminal *terminal, const char *text);
/* Where text stands on the screen; false if nowhere. */
bool terminal_find(struct terminal *terminal, const char *text, int *x, int *y);

bool terminal_on_alternate_screen(const struct terminal *terminal);
bool terminal_cursor_shown(const struct terminal *terminal);
void terminal_cursor(struct terminal *terminal, int *x, int *y);
/* The line discipline is as it was before the program started. */
bool terminal_modes_restored(const struct terminal *terminal);
/* Everything written so far contains bytes. */
bool terminal_wrote(const struct terminal *terminal, const char *bytes);

/* Compares the screen, text and attributes, with tests/ui/golden/NAME.txt, the time of the search
 * masked. UPDATE_GOLDEN=1 in the environment rewrites the file instead. */
void terminal_expect_golden(struct terminal *terminal, const char *name);

#endif
