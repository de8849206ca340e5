/* A window over the view: text to scroll, or a list to choose from. */
#ifndef NEST_UI_WIDGETS_POPUP_H
#define NEST_UI_WIDGETS_POPUP_H

#include "base/arena.h"
#include "ui/hotspot.h"

enum nest_popup_kind { NEST_POPUP_NONE, NEST_POPUP_TEXT, NEST_POPUP_LIST };

enum { NEST_POPUP_FILTER = 64 };

struct nest_popup {
    enum nest_popup_kind kind;
    struct nest_arena arena; /* of the title and the lines */
    const char *title;
    const char *text;        /* what is read, as given; NULL in a list */
    struct nest_arena lines; /* of text broken for columns */
    int columns;
    int count; /* lines shown: those that the filter leaves */
    const char **line;
    int all; /* lines without a filter */
    const char **every;
    const char **whole; /* what the filter looks at: a line that was broken, up to its end */
    char filter[NEST_POPUP_FILTER]; /* "": none */
    int cursor, first;
    int page; /* rows seen at the last drawing */
};

/* Opens with text (copied). What is too wide for the screen is broken at spaces, the rest of a line
 * indented as its second column is. */
void nest_popup_text(struct nest_popup *popup, const char *title, const char *text);

/* Opens with names to choose from (NULL-ended; copied), the cursor on current if it is there. */
void nest_popup_list(struct nest_popup *popup, const char *title, const char *const *names,
                     const char *current);

/* Shows only lines that hold the text, in whatever case; "" shows all. A list's mark stays on its
 * entry where that is shown. */
void nest_popup_filter(struct nest_popup *popup, const char *text);

/* The number of the marked entry among all, filtered or not. */
int nest_popup_marked(const struct nest_popup *popup);

void nest_popup_close(struct nest_popup *popup);

/* Scrolls or moves the mark; false when the action is none of these. */
bool nest_popup_act(struct nest_popup *popup, enum nest_action action);

/* Draws in the middle. A click on a list's line is noted as spot.index with pane NONE. */
void nest_popup_draw(struct nest_popup *popup, struct nest_canvas *canvas,
                     struct nest_hotspots *hotspots);

#endif
