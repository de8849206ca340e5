/* Values as text for people: what the console prints of a result. */
#ifndef NEST_SCRIPT_SHOW_H
#define NEST_SCRIPT_SHOW_H

#include <lua.h>

#include "base/strbuf.h"

/* Appends the value at index. Tables are written out with sorted keys, on one line where they fit
 * `width` columns, at most 4 deep and 200 entries long; other values as tostring would. Inside a
 * run; raises. */
void nest_show_value(lua_State *L, int index, int width, struct nest_strbuf *out);

#endif
