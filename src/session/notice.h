/* One line for the owner of the screen on what was done in the background. */
#ifndef NEST_SESSION_NOTICE_H
#define NEST_SESSION_NOTICE_H

#include <stdbool.h>

#include "base/error.h"

struct nest_console;

struct nest_notice {
    bool bad;
    char text[512]; /* empty: nothing to say */
};

/* what followed by text. */
void nest_notice_say(struct nest_notice *notice, bool bad, const char *what, const char *text);

/* The first fault, with its place; all of them go to the console (may be NULL) with the frames of
 * their scripts. No fault means that memory was out for what. */
void nest_notice_fault(struct nest_notice *notice, struct nest_console *console, const char *what,
                       const struct nest_errors *errors);

#endif
