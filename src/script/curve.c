#include "script/curve.h"

#include <lauxlib.h>
#include <math.h>

/* Upvalue: {x1, y1, x2, y2, …} ascending. Linear between points; the first value before them, and
 * the last slope behind them. */
static int call_curve(lua_State *L)
{
    const double x = luaL_checknumber(L, 1);
    const double *point = lua_touserdata(L, lua_upvalueindex(1));
    const int count = (int)lua_tointeger(L, lua_upvalueindex(2));
    int i = 1;
    while (i < count - 1 && x > point[2 * i]) {
        i++;
    }
    if (count == 1 || x <= point[0]) {
        lua_pushnumber(L, point[1]);
        return 1;
    }
    const double *a = point + 2 * (i - 1), *b = point + 2 * i;
    lua_pushnumber(L, a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]));
    return 1;
}

int nest_curve_new(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    const int count = (int)lua_rawlen(L, 1);
    luaL_argcheck(L, count >= 1 && count <= 100000, 1, "a curve has 1 to 100000 points");
    double *point = lua_newuserdatauv(L, 2 * (size_t)count * sizeof(*point), 0);
    for (int i = 0; i < count; i++) {
        if (lua_rawgeti(L, 1, i + 1) != LUA_TTABLE) {
            return luaL_error(L, "point %d is not {x, y}", i + 1);
        }
        for (int j = 0; j < 2; j++) {
            lua_rawgeti(L, -1, j + 1);
            point[2 * i + j] = luaL_checknumber(L, -1);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
        if (!isfinite(point[2 * i]) || (i > 0 && point[2 * i] <= point[2 * (i - 1)])) {
            return luaL_error(L, "the points of a curve ascend in x; point %d does not", i + 1);
        }
    }
    lua_pushinteger(L, count);
    lua_pushcclosure(L, call_curve, 2);
    return 1;
}
