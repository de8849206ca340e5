#include "script/show.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

#include "script/asked.h"
#include "script/ordered.h"
#include "script/sandbox.h"

enum { DEPTH_MAX = 4, ENTRIES_MAX = 200, INDENT = 2 };

struct show {
    struct nest_strbuf *out;
    int width;
    int entries; /* still to be written */
};

static void show_value(lua_State *L, struct show *show, int index, int depth);

static bool is_name(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_') {
        return false;
    }
    while (isalnum((unsigned char)*text) || *text == '_') {
        text++;
    }
    return *text == '\0';
}

static void show_quoted(struct show *show, const char *text)
{
    nest_strbuf_add(show->out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            nest_strbuf_add(show->out, "\\");
        }
        if (*text == '\n') {
            nest_strbuf_add(show->out, "\\n");
        } else {
            nest_strbuf_add_bytes(show->out, text, 1);
        }
    }
    nest_strbuf_add(show->out, "\"");
}

/* Anything but a table. A __tostring runs under the budgets as any other code. */
static void show_plain(lua_State *L, struct show *show, int index, int depth)
{
    if (depth > 0 && lua_type(L, index) == LUA_TSTRING) {
        show_quoted(show, lua_tostring(L, index));
        return;
    }
    size_t length = 0;
    const char *text = luaL_tolstring(L, index, &length);
    nest_strbuf_add_bytes(show->out, text, length);
    lua_pop(L, 1);
}

/* The key at the top of the stack as it would be written in a table. */
static void show_key(lua_State *L, struct show *show, lua_Integer position)
{
    if (lua_isinteger(L, -1) && lua_tointeger(L, -1) == position) {
        return;
    }
    if (lua_type(L, -1) == LUA_TSTRING && is_name(lua_tostring(L, -1))) {
        nest_strbuf_add(show->out, lua_tostring(L, -1));
    } else {
        nest_strbuf_add(show->out, "[");
        show_plain(L, show, lua_gettop(L), 1);
        nest_strbuf_add(show->out, "]");
    }
    nest_strbuf_add(show->out, " = ");
}

/* The entries with `gap` in front of each but the first. Keys that scripts cannot write hold where
 * a table was made: they are none of its content. */
static void show_entries(lua_State *L, struct show *show, int table, int depth, const char *gap)
{
    nest_ordered_keys(L, table);
    const int keys = lua_gettop(L);
    const lua_Integer count = (lua_Integer)lua_rawlen(L, keys);
    int shown = 0;
    for (lua_Integer i = 1; i <= count; i++) {
        nest_sandbox_check(L);
        if (lua_rawgeti(L, keys, i) == LUA_TLIGHTUSERDATA) {
            lua_pop(L, 1);
            continue;
        }
        nest_strbuf_add(show->out, shown++ > 0 ? gap : "");
        if (show->entries-- <= 0) {
            nest_strbuf_add(show->out, "…");
            break;
        }
        show_key(L, show, i);
        lua_rawget(L, table);
        show_value(L, show, lua_gettop(L), depth + 1);
        lua_pop(L, 1);
    }
    lua_settop(L, keys - 1);
}

static void show_table(lua_State *L, struct show *show, int table, int depth)
{
    const size_t start = show->out->length;
    const int entries = show->entries;
    const int column = depth * INDENT;
    nest_asked_complete(L, table);
    nest_strbuf_add(show->out, "{");
    show_entries(L, show, table, depth, ", ");
    nest_strbuf_add(show->out, "}");
    const char *text = nest_strbuf_text(show->out) + start;
    const bool fits = (int)(show->out->length - start) + column <= show->width;
    if (show->out->failed || (fits && !strchr(text, '\n'))) {
        return;
    }
    char gap[4 + DEPTH_MAX * INDENT + INDENT];
    memset(gap, ' ', sizeof(gap));
    gap[0] = '\n';
    gap[1 + column + INDENT] = '\0';
    char with_comma[sizeof(gap) + 1];
    with_comma[0] = ',';
    memcpy(with_comma + 1, gap, sizeof(gap));
    nest_strbuf_shorten(show->out, start);
    show->entries = entries;
    nest_strbuf_add(show->out, "{");
    nest_strbuf_add(show->out, gap);
    show_entries(L, show, table, depth, with_comma);
    gap[1 + column] = '\0';
    nest_strbuf_add(show->out, gap);
    nest_strbuf_add(show->out, "}");
}

static void show_value(lua_State *L, struct show *show, int index, int depth)
{
    luaL_checkstack(L, 8, "too deeply nested");
    const bool own_words = lua_istable(L, index) && luaL_getmetafield(L, index, "__tostring");
    if (own_words) {
        lua_pop(L, 1);
    }
    if (!lua_istable(L, index) || own_words) {
        show_plain(L, show, index, depth);
    } else if (depth >= DEPTH_MAX) {
        nest_strbuf_add(show->out, "{…}");
    } else {
        show_table(L, show, index, depth);
    }
}

void nest_show_value(lua_State *L, int index, int width, struct nest_strbuf *out)
{
    struct show show = {out, width, ENTRIES_MAX};
    show_value(L, &show, lua_absindex(L, index), 0);
}
