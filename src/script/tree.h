/* Lua tables → the trees of input/doc.h, so that scripts' tables are read by the same key tables,
 * with the same units, checks and messages, as files. */
#ifndef NEST_SCRIPT_TREE_H
#define NEST_SCRIPT_TREE_H

#include <lua.h>

#include "base/arena.h"
#include "input/doc.h"

/* Converts the value at index: numbers, strings and booleans to scalars, tables with [1] to
 * sequences, others to mappings with sorted keys. Nodes are placed where the table was made if
 * nest_tree_place was called on it, else where the script is now. Nested at most 16 deep. Raises on
 * other values and when memory is out. */
const struct nest_node *nest_tree_of(lua_State *L, int index, struct nest_arena *arena);

/* Remembers the line that the script is at as the table's place. */
void nest_tree_place(lua_State *L, int index);

/* Copies the place of one table to another. */
void nest_tree_place_like(lua_State *L, int index, int like);

/* Raises with the table's place, or the script's, in front of the message. */
int nest_tree_error(lua_State *L, int index, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An arena that lives as long as the userdata pushed on the stack. */
struct nest_arena *nest_push_arena(lua_State *L);

/* Raises the collected faults as one message, one fault a line, the first with its place in front
 * unless it lies at the script's present line. */
int nest_raise_errors(lua_State *L, const struct nest_errors *errors);

#endif
