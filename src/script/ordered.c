#include "script/ordered.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

struct key {
    int rank; /* numbers, strings, false, true, the rest */
    double number;
    const char *text;
    size_t length;
    int position;
};

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    if (a->rank != b->rank) {
        return a->rank - b->rank;
    }
    if (a->rank == 0 && a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    if (a->rank == 1) {
        const int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
        if (order != 0) {
            return order;
        }
        return a->length < b->length ? -1 : 1;
    }
    return a->position - b->position;
}

static struct key read_key(lua_State *L, int index, int position)
{
    struct key key = {.rank = 4, .position = position};
    if (lua_type(L, index) == LUA_TNUMBER) {
        key.rank = 0;
        key.number = lua_tonumber(L, index);
    } else if (lua_type(L, index) == LUA_TSTRING) {
        key.rank = 1;
        key.text = lua_tolstring(L, index, &key.length);
    } else if (lua_isboolean(L, index)) {
        key.rank = lua_toboolean(L, index) ? 3 : 2;
    }
    return key;
}

void nest_ordered_keys(lua_State *L, int index)
{
    const int table = lua_absindex(L, index);
    int count = 0;
    lua_newtable(L);
    const int found = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table);) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, found, ++count);
    }
    struct key *key = lua_newuserdatauv(L, (size_t)(count + 1) * sizeof(*key), 0);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, found, i + 1);
        key[i] = read_key(L, -1, i + 1);
        lua_pop(L, 1);
    }
    qsort(key, (size_t)count, sizeof(*key), compare_keys);
    lua_newtable(L); /* grows by itself: no size that the allocator takes for keys */
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, found, key[i].position);
        lua_rawseti(L, -2, i + 1);
    }
    lua_replace(L, found);
    lua_settop(L, found);
}

/* Upvalues: the sorted keys and the position. Keys that were removed meanwhile are left out. */
static int next_sorted(lua_State *L)
{
    lua_Integer position = lua_tointeger(L, lua_upvalueindex(2));
    for (;;) {
        lua_settop(L, 1);
        if (lua_rawgeti(L, lua_upvalueindex(1), ++position) == LUA_TNIL) {
            return 1;
        }
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 1) != LUA_TNIL) {
            lua_pushinteger(L, position);
            lua_replace(L, lua_upvalueindex(2));
            return 2;
        }
    }
}

int nest_ordered_pairs(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    nest_ordered_keys(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_sorted, 2);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}
