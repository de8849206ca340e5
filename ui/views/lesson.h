/* The lesson pane: what a lesson says, its live figures, and whether the learner did it. */
#ifndef NEST_UI_VIEWS_LESSON_H
#define NEST_UI_VIEWS_LESSON_H

#include "session/lesson.h"
#include "ui/hotspot.h"

/* Draws in rect from row *scroll on, which is brought back to what there is. */
void nest_lesson_draw(const struct nest_lesson_report *report, struct nest_canvas *canvas,
                      struct nest_rect rect, int *scroll);

#endif
