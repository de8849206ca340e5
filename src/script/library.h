/* What scripts see of Lua's own libraries. */
#ifndef NEST_SCRIPT_LIBRARY_H
#define NEST_SCRIPT_LIBRARY_H

#include <lua.h>
#include <stdint.h>

/* Builds the environment of all scripts and makes it the state's globals. Every C function in it
 * first checks the budgets; those with loops inside C have bounded arguments. Raises on error. */
void nest_library_open_lua(lua_State *L, uint64_t seed, int unsafe);

/* Pushes function wrapped so that it checks the budgets before and after. */
void nest_library_push_checked(lua_State *L, lua_CFunction function);

#endif
