#include "script/tree.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "script/ordered.h"
#include "script/sandbox.h"

enum { DEPTH_MAX = 16, MESSAGE_MAX = 4096 };

static const char PLACE = 0; /* its address is the key of a table's "file:line" */

/* ---- Places ----------------------------------------------------------------------------- */

/* The script's present line: the innermost frame that runs Lua from a file. */
static struct nest_mark here(lua_State *L)
{
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        if (lua_getinfo(L, "Sl", &ar) && *ar.source == '@' && ar.currentline > 0) {
            return (struct nest_mark){ar.source + 1, ar.currentline, 0};
        }
    }
    return (struct nest_mark){0};
}

/* A place is kept as the array {file, line} under a key that scripts cannot write. */
void nest_tree_place(lua_State *L, int index)
{
    const int table = lua_absindex(L, index);
    const struct nest_mark mark = here(L);
    if (mark.file) {
        lua_createtable(L, 2, 0);
        lua_pushstring(L, mark.file);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, mark.line);
        lua_rawseti(L, -2, 2);
        lua_rawsetp(L, table, &PLACE);
    }
}

void nest_tree_place_like(lua_State *L, int index, int like)
{
    const int table = lua_absindex(L, index);
    lua_rawgetp(L, like, &PLACE);
    lua_rawsetp(L, table, &PLACE);
}

static struct nest_mark place_of(lua_State *L, int index)
{
    struct nest_mark mark = here(L);
    if (lua_istable(L, index) && lua_rawgetp(L, index, &PLACE) == LUA_TTABLE) {
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        mark = (struct nest_mark){lua_tostring(L, -2), (int)lua_tointeger(L, -1), 0};
        lua_pop(L, 2);
    }
    lua_pop(L, lua_istable(L, index) ? 1 : 0);
    return mark;
}

int nest_tree_error(lua_State *L, int index, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const struct nest_mark mark = place_of(L, lua_absindex(L, index));
    if (mark.file) {
        lua_pushfstring(L, "%s:%d: %s", mark.file, mark.line, message);
    } else {
        lua_pushstring(L, message);
    }
    return lua_error(L);
}

int nest_raise_errors(lua_State *L, const struct nest_errors *errors)
{
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    for (size_t i = 0; i < errors->count; i++) {
        const struct nest_error *error = &errors->item[i];
        if (i > 0) {
            luaL_addchar(&text, '\n');
        }
        if (error->mark.file && error->mark.line > 0) {
            lua_pushfstring(L, "%s:%d: ", error->mark.file, error->mark.line);
            luaL_addvalue(&text);
        }
        if (error->path) {
            lua_pushfstring(L, "%s: ", error->path);
            luaL_addvalue(&text);
        }
        luaL_addstring(&text, error->message);
        if (error->hint) {
            lua_pushfstring(L, "; %s", error->hint);
            luaL_addvalue(&text);
        }
    }
    luaL_pushresult(&text);
    return lua_error(L);
}

/* ---- Arenas ----------------------------------------------------------------------------- */

static int free_arena(lua_State *L)
{
    nest_arena_free(lua_touserdata(L, 1));
    return 0;
}

struct nest_arena *nest_push_arena(lua_State *L)
{
    struct nest_arena *arena = lua_newuserdatauv(L, sizeof(*arena), 0);
    *arena = (struct nest_arena)NEST_ARENA_INIT;
    if (luaL_newmetatable(L, "nest.arena")) {
        lua_pushcfunction(L, free_arena);
        lua_setfield(L, -2, "__gc");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
    return arena;
}

/* ---- Trees ------------------------------------------------------------------------------ */

static struct nest_node *new_node(lua_State *L, struct nest_arena *arena)
{
    struct nest_node *node = NEST_NEW(arena, struct nest_node, 1);
    if (!node) {
        luaL_error(L, "not enough memory");
    }
    return node;
}

/* Whole numbers without a point, others as the shortest text that reads back the same. */
static const char *scalar_text(lua_State *L, int index, struct nest_arena *arena)
{
    if (lua_isboolean(L, index)) {
        return lua_toboolean(L, index) ? "true" : "false";
    }
    if (lua_type(L, index) == LUA_TNUMBER) {
        const double number = lua_tonumber(L, index);
        char text[64];
        if (!isfinite(number)) {
            luaL_error(L, "a number that is not finite cannot be used here");
        }
        if (number == floor(number) && fabs(number) < 9007199254740992.0) {
            snprintf(text, sizeof(text), "%.0f", number);
        } else {
            nest_number_format(number, text, sizeof(text));
        }
        return nest_arena_strdup(arena, text);
    }
    return nest_arena_strdup(arena, lua_tostring(L, index));
}

static struct nest_node *convert(lua_State *L, int index, struct nest_arena *arena,
                                 struct nest_mark mark, int depth);

static void append(struct nest_node *parent, struct nest_node *child, struct nest_node **last)
{
    child->parent = parent;
    child->index = parent->count++;
    if (*last) {
        (*last)->next = child;
    } else {
        parent->first = child;
    }
    *last = child;
}

static void convert_sequence(lua_State *L, int table, struct nest_arena *arena,
                             struct nest_node *node, int depth)
{
    struct nest_node *last = NULL;
    const lua_Integer count = (lua_Integer)lua_rawlen(L, table);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, table, i);
        append(node, convert(L, lua_gettop(L), arena, node->mark, depth + 1), &last);
        lua_pop(L, 1);
    }
}

static void convert_mapping(lua_State *L, int table, struct nest_arena *arena,
                            struct nest_node *node, int depth)
{
    struct nest_node *last = NULL;
    nest_ordered_keys(L, table);
    const int keys = lua_gettop(L);
    const lua_Integer count = (lua_Integer)lua_rawlen(L, keys);
    for (lua_Integer i = 1; i <= count; i++) {
        const int type = lua_rawgeti(L, keys, i);
        if (type == LUA_TLIGHTUSERDATA) {
            lua_pop(L, 1);
            continue;
        }
        if (type != LUA_TSTRING) {
            luaL_error(L, "a key of this table is a %s, not a name", lua_typename(L, type));
        }
        const char *key = nest_arena_strdup(arena, lua_tostring(L, -1));
        lua_rawget(L, table);
        struct nest_node *child = convert(L, lua_gettop(L), arena, node->mark, depth + 1);
        child->key = key;
        append(node, child, &last);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static struct nest_node *convert(lua_State *L, int index, struct nest_arena *arena,
                                 struct nest_mark mark, int depth)
{
    luaL_checkstack(L, 8, "too deeply nested");
    nest_sandbox_check(L);
    struct nest_node *node = new_node(L, arena);
    node->mark = node->key_mark = mark;
    node->text = "";
    const int type = lua_type(L, index);
    if (type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TBOOLEAN) {
        node->quoted = type == LUA_TSTRING;
        node->text = scalar_text(L, index, arena);
        return node;
    }
    if (type != LUA_TTABLE) {
        luaL_error(L, "a %s cannot be used here", lua_typename(L, type));
    }
    if (depth == DEPTH_MAX) {
        luaL_error(L, "tables are nested too deeply here");
    }
    const struct nest_mark own = place_of(L, index);
    node->mark = (struct nest_mark){nest_arena_strdup(arena, own.file ? own.file : ""), own.line,
                                    own.column};
    node->key_mark = node->mark;
    const bool sequence = lua_rawgeti(L, index, 1) != LUA_TNIL;
    lua_pop(L, 1);
    node->kind = sequence ? NEST_NODE_SEQUENCE : NEST_NODE_MAPPING;
    if (sequence) {
        convert_sequence(L, index, arena, node, depth);
    } else {
        convert_mapping(L, index, arena, node, depth);
    }
    return node;
}

const struct nest_node *nest_tree_of(lua_State *L, int index, struct nest_arena *arena)
{
    return convert(L, lua_absindex(L, index), arena, here(L), 0);
}
