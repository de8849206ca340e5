/* Bars made of lettered segments. */
#ifndef NEST_UI_WIDGETS_BAR_H
#define NEST_UI_WIDGETS_BAR_H

#include "session/report.h"
#include "ui/canvas.h"

/* Draws parts side by side over width columns that stand for `whole` (in the unit of the shares; 1
 * where the parts fill a limit). Each visible segment begins with its letter; part i is drawn in
 * role first + i. The rest stays a track; a limit at share 1 is marked where it falls. */
void nest_bar_draw(struct nest_canvas *canvas, int x, int y, int width,
                   const struct nest_part *parts, int count, enum nest_role first, double whole,
                   bool limit);

#endif
