/* Tables in a fixed order: that of next differs from run to run. */
#ifndef NEST_SCRIPT_ORDERED_H
#define NEST_SCRIPT_ORDERED_H

#include <lua.h>

/* Pushes an array of the keys of the table at index: numbers ascending, strings by bytes, false,
 * true, and the rest as they come. Whoever reads a table from C reads it in this order. */
void nest_ordered_keys(lua_State *L, int index);

/* pairs, in that order. Keys that are removed meanwhile are left out. */
int nest_ordered_pairs(lua_State *L);

#endif
