/* What surrounds every view: title and figures on top, tabs and state, the keys valid now. */
#ifndef NEST_UI_VIEWS_FRAME_H
#define NEST_UI_VIEWS_FRAME_H

#include "session/session.h"
#include "ui/hotspot.h"
#include "ui/layout.h"

enum nest_view { NEST_VIEW_PLAN, NEST_VIEW_LUA, NEST_VIEW_LESSON, NEST_VIEWS };

struct nest_frame {
    enum nest_view view;
    bool lesson; /* one is open and has a tab */
    const struct nest_snapshot *snapshot;
    const char *doing; /* a script that runs for a change, NULL: none */
    const struct nest_layout *layout;
    const char *note; /* a message, or what has the focus; NULL for none */
    enum nest_role note_role;
    unsigned contexts; /* for the keys */
    bool keys;         /* false: something else is drawn in their row */
};

void nest_frame_draw(const struct nest_frame *frame, struct nest_canvas *canvas,
                     struct nest_hotspots *hotspots);

/* The whole screen when it is too small for anything else. */
void nest_frame_draw_too_small(struct nest_canvas *canvas);

#endif
