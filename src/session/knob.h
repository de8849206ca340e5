/* The values an explorer can change: how they read, and what their neighbours are. Private to the
 * session room. */
#ifndef NEST_SESSION_KNOB_H
#define NEST_SESSION_KNOB_H

#include "session/document.h"
#include "session/session.h"

/* "tp", "mb", "order" for an enum nest_pin_key (NEST_PINS: the order). */
const char *nest_knob_label(int pin);

/* Every knob of the document, in arena; *count 0 when memory is out. plan gives the values of free
 * choices and may be NULL. saved marks what differs from it and may be NULL. */
const struct nest_knob *nest_knobs(const struct nest_document *document,
                                   const struct nest_plan *plan, const struct nest_document *saved,
                                   struct nest_arena *arena, int *count);

/* The knob of that path, or NULL. */
const struct nest_knob *nest_knob_find(const struct nest_knob *knob, int count, const char *path);

/* The knob of the cluster's script with that path, its texts in arena; false: there is none. */
bool nest_knob_of_script(const struct nest_document *document, const char *path,
                         struct nest_knob *out, struct nest_arena *arena);

/* The value one step up or down as text for nest_set or nest_pin_set; NULL at the end of the range
 * or when memory is out. */
const char *nest_knob_neighbour(const struct nest_knob *knob, const struct nest_document *document,
                                int direction, bool big, struct nest_arena *arena);

#endif
