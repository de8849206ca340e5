/* What was typed into the console before, also in earlier runs of the program.
 *
 * Kept in $XDG_STATE_HOME/nest/lua_history (else ~/.local/state), one entry a line, appended as
 * they come; without such a place it lasts as long as the program. */
#ifndef NEST_SESSION_PAST_H
#define NEST_SESSION_PAST_H

enum { NEST_PAST_MAX = 1000 };

/* Nothing typed yet is all zeroes. */
struct nest_past {
    int count;
    char *entry[NEST_PAST_MAX]; /* oldest first; owned */
    char *file;                 /* NULL: nowhere */
};

/* Reads what earlier runs left. */
void nest_past_open(struct nest_past *past);
void nest_past_close(struct nest_past *past);

/* Remembers text unless it is the newest entry already. */
void nest_past_add(struct nest_past *past, const char *text);

/* The newest entry older than `before` (count for all) that contains text; -1 if there is none. */
int nest_past_find(const struct nest_past *past, const char *text, int before);

#endif
