/* A scenario's overrides around the host's pricing of its problem. */
#ifndef NEST_SCRIPT_PRICING_H
#define NEST_SCRIPT_PRICING_H

#include <lua.h>

#include "plan/touched.h"
#include "script/scripts.h"

/* Puts the scripts' hooks (may be NULL) and those of the table on top of the stack (or nil) in
 * place of the problem's costs, pops it, and pauses the sandbox. key: of the registry, where the
 * table stays until another takes its place. Raises when memory is out. */
void nest_pricing_begin(lua_State *L, struct nest_scripts *scripts, const void *key,
                        struct nest_problem *problem, struct nest_arena *arena);

/* What the overrides changed; NULL without any. While the sandbox is paused. */
const struct nest_touched *nest_pricing_touch(const struct nest_problem *problem,
                                              const struct nest_plan *plan,
                                              const struct nest_prediction *prediction,
                                              struct nest_arena *arena);

/* Lets the sandbox go on; raises the first fault of an override. */
void nest_pricing_end(lua_State *L, const struct nest_problem *problem, struct nest_arena *arena);

#endif
