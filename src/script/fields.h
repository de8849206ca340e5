/* Fields of the table on top of the stack. All raise when memory is out. */
#ifndef NEST_SCRIPT_FIELDS_H
#define NEST_SCRIPT_FIELDS_H

#include <lua.h>

static inline void nest_lua_set_integer(lua_State *L, const char *key, lua_Integer value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}

static inline void nest_lua_set_number(lua_State *L, const char *key, double value)
{
    lua_pushnumber(L, value);
    lua_setfield(L, -2, key);
}

/* value is copied. */
static inline void nest_lua_set_text(lua_State *L, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

#endif
