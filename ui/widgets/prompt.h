/* A line to type in, with a history and completion. */
#ifndef NEST_UI_WIDGETS_PROMPT_H
#define NEST_UI_WIDGETS_PROMPT_H

#include "ui/canvas.h"

enum { NEST_PROMPT_MAX = 512, NEST_HISTORY_MAX = 100 };

struct nest_history {
    int count;
    char *line[NEST_HISTORY_MAX]; /* oldest first; owned */
};

struct nest_prompt {
    char label[96];
    char text[NEST_PROMPT_MAX];   /* UTF-8 */
    int length, cursor;           /* bytes */
    struct nest_history *history; /* may be NULL */
    int recalled;                 /* index into history, count for the line being typed */
    char kept[NEST_PROMPT_MAX];   /* what was typed before recalling */
    bool fresh;                   /* typing replaces the initial text */
};

enum nest_prompt_result { NEST_PROMPT_GOES_ON, NEST_PROMPT_ACCEPTED, NEST_PROMPT_CLOSED };

/* Starts with text, which the first typed character replaces. */
void nest_prompt_open(struct nest_prompt *prompt, const char *label, const char *text,
                      struct nest_history *history);

/* Handles one key; Tab is left to the caller. */
enum nest_prompt_result nest_prompt_key(struct nest_prompt *prompt, uint32_t key);

/* Replaces the last word by the longest common start of the candidates (NULL-ended) that begin with
 * it, a space behind it if it is the only one. The number of candidates that fit is returned. */
int nest_prompt_complete(struct nest_prompt *prompt, const char *const *candidates);

void nest_prompt_draw(const struct nest_prompt *prompt, struct nest_canvas *canvas, int x, int y,
                      int width);

/* Remembers an accepted line; a repeated one moves to the end. */
void nest_history_add(struct nest_history *history, const char *line);
void nest_history_free(struct nest_history *history);

#endif
