/* What lies where on the screen: the views note it while drawing; clicks, the focus and tests look
 * it up. */
#ifndef NEST_UI_HOTSPOT_H
#define NEST_UI_HOTSPOT_H

#include <stdint.h>

#include "ui/action.h"
#include "ui/canvas.h"

enum nest_pane {
    NEST_PANE_NONE,
    NEST_PANE_BANDWIDTH, /* three columns of the cluster, in the order of enum nest_knob_kind */
    NEST_PANE_OVERSUBSCRIPTION,
    NEST_PANE_LATENCY,
    NEST_PANE_SETTINGS,
    NEST_PANE_PINS,
    NEST_PANE_ALTERNATIVES,
    NEST_PANE_STAGES,
    NEST_PANE_STEP
};

/* One thing that can have the focus. */
struct nest_spot {
    enum nest_pane pane;
    int level;     /* of the cluster's panes */
    int64_t group; /* -1: the level's own row */
    int index;     /* setting, pin, stage or alternative */
};

struct nest_hotspot {
    struct nest_rect rect;
    struct nest_spot spot;   /* where pane is not NONE */
    enum nest_action action; /* a click does this, if not NONE */
};

enum { NEST_HOTSPOTS_MAX = 512 };

struct nest_hotspots {
    int count;
    struct nest_hotspot item[NEST_HOTSPOTS_MAX];
};

static inline void nest_hotspot_add(struct nest_hotspots *list, struct nest_hotspot spot)
{
    if (list->count < NEST_HOTSPOTS_MAX && spot.rect.width > 0 && spot.rect.height > 0) {
        list->item[list->count++] = spot;
    }
}

/* The topmost one at x, y, or NULL. */
static inline const struct nest_hotspot *nest_hotspot_at(const struct nest_hotspots *list, int x,
                                                         int y)
{
    for (int i = list->count; i-- > 0;) {
        if (nest_rect_contains(list->item[i].rect, x, y)) {
            return &list->item[i];
        }
    }
    return NULL;
}

static inline bool nest_spot_equal(struct nest_spot a, struct nest_spot b)
{
    return a.pane == b.pane && a.level == b.level && a.group == b.group && a.index == b.index;
}

#endif
