/* Answers → Lua tables with the keys of --json. */
#ifndef NEST_SCRIPT_ANSWER_H
#define NEST_SCRIPT_ANSWER_H

#include <lua.h>

#include "export/json.h"

/* Pushes the outcome as a table. arena is scratch that lives at least for the call. Raises when
 * memory is out. */
void nest_answer_push(lua_State *L, const struct nest_outcome *outcome, struct nest_arena *arena);

/* Pushes a tree of input/doc.h: scalars become numbers, booleans, nil or text. */
struct nest_node;
void nest_answer_push_node(lua_State *L, const struct nest_node *node);

#endif
