#include "script/graph.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

#include "input/graph.h"
#include "script/sandbox.h"
#include "script/tree.h"

#define GRAPH "nest.graph"

static void check_graph(lua_State *L)
{
    bool graph = lua_istable(L, 1) && lua_getmetatable(L, 1);
    if (graph) {
        luaL_getmetatable(L, GRAPH);
        graph = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    if (!graph) {
        luaL_error(L, "this belongs to a graph: g = graph(); g:device(\"gpu\", 8)");
    }
}

/* graph() or graph{names = {…}}: names of the levels, innermost first. */
static int graph_new(lua_State *L)
{
    lua_settop(L, 1);
    lua_newtable(L);
    if (lua_istable(L, 1)) {
        lua_getfield(L, 1, "names");
        lua_setfield(L, 2, "names");
    } else if (!lua_isnil(L, 1)) {
        return luaL_error(L, "graph takes nothing or {names = {…}}");
    }
    nest_tree_place(L, 2);
    luaL_setmetatable(L, GRAPH);
    return 1;
}

/* Leaves the graph's list of that key on the stack, made where it is missing. */
static void push_list(lua_State *L, const char *key)
{
    if (lua_getfield(L, 1, key) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setfield(L, 1, key);
    }
}

static void append(lua_State *L, int list, int value)
{
    lua_pushvalue(L, value);
    lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

/* g:device(NAME) adds one and returns its name; with a count, NAME0 … and the list of names. */
static int add_nodes(lua_State *L, const char *key)
{
    check_graph(L);
    const char *name = luaL_checkstring(L, 2);
    const bool one = lua_isnoneornil(L, 3);
    const lua_Integer count = one ? 1 : luaL_checkinteger(L, 3);
    luaL_argcheck(L, count >= 1 && count <= NEST_GRAPH_NODES, 3, "1 to 16384 of them");
    lua_settop(L, 3);
    push_list(L, key);
    if (one) {
        append(L, 4, 2);
        lua_pushvalue(L, 2);
        return 1;
    }
    lua_createtable(L, (int)count, 0);
    for (lua_Integer i = 0; i < count; i++) {
        lua_pushfstring(L, "%s%I", name, (LUAI_UACINT)i);
        append(L, 4, 6);
        append(L, 5, 6);
        lua_pop(L, 1);
    }
    return 1;
}

static int graph_devices(lua_State *L)
{
    return add_nodes(L, "devices");
}

static int graph_switches(lua_State *L)
{
    return add_nodes(L, "switches");
}

/* A name alone is a list of one. */
static void make_list(lua_State *L, int index)
{
    if (lua_type(L, index) == LUA_TSTRING) {
        lua_createtable(L, 1, 0);
        lua_pushvalue(L, index);
        lua_rawseti(L, -2, 1);
        lua_replace(L, index);
    }
    luaL_checktype(L, index, LUA_TTABLE);
}

/* Adds a link between the two names on top, with the figures at index 4, to the list at index 5. */
static void add_link(lua_State *L)
{
    const int from = lua_gettop(L) - 1;
    nest_sandbox_check(L);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, 4);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_pushvalue(L, from);
    lua_setfield(L, -2, "from");
    lua_pushvalue(L, from + 1);
    lua_setfield(L, -2, "to");
    lua_rawseti(L, 5, (lua_Integer)lua_rawlen(L, 5) + 1);
    lua_settop(L, from - 1);
}

/* Leaves the figures at 4, with the place of this call, which all its links share, and the list of
 * links at 5. */
static void begin_links(lua_State *L, int figures)
{
    luaL_checktype(L, figures, LUA_TTABLE);
    lua_pushvalue(L, figures);
    lua_replace(L, 4);
    lua_settop(L, 4);
    nest_tree_place(L, 4);
    push_list(L, "links");
}

/* g:link(A, B, {bandwidth =, latency =}): names or lists of names; every one of A to every one of
 * B, or with pairwise = true the first to the first and so on. */
static int graph_link(lua_State *L)
{
    check_graph(L);
    lua_settop(L, 4);
    make_list(L, 2);
    make_list(L, 3);
    begin_links(L, 4);
    const lua_Integer a = (lua_Integer)lua_rawlen(L, 2);
    const lua_Integer b = (lua_Integer)lua_rawlen(L, 3);
    lua_getfield(L, 4, "pairwise");
    const bool pairwise = lua_toboolean(L, -1);
    lua_settop(L, 5);
    if (pairwise && a != b) {
        return luaL_error(L, "pairwise links need as many nodes on both sides, not %I and %I",
                          (LUAI_UACINT)a, (LUAI_UACINT)b);
    }
    for (lua_Integer i = 1; i <= a; i++) {
        for (lua_Integer j = pairwise ? i : 1; j <= (pairwise ? i : b); j++) {
            lua_rawgeti(L, 2, i);
            lua_rawgeti(L, 3, j);
            add_link(L);
        }
    }
    lua_settop(L, 1);
    return 1;
}

/* g:ring(LIST, {bandwidth =, latency =}): each to the next, the last to the first. */
static int graph_ring(lua_State *L)
{
    check_graph(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 4);
    begin_links(L, 3);
    const lua_Integer count = (lua_Integer)lua_rawlen(L, 2);
    for (lua_Integer i = 1; i <= count && count > 1; i++) {
        if (count > 2 || i == 1) {
            lua_rawgeti(L, 2, i);
            lua_rawgeti(L, 2, i % count + 1);
            add_link(L);
        }
    }
    lua_settop(L, 1);
    return 1;
}

void nest_graph_open(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"device", graph_devices},  {"link", graph_link}, {"ring", graph_ring},
        {"switch", graph_switches}, {NULL, NULL},
    };
    luaL_newmetatable(L, GRAPH);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "graph");
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
    lua_pushcfunction(L, graph_new);
    lua_setglobal(L, "graph");
}
