#include "script/builder.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "script/graph.h"
#include "script/library.h"
#include "script/sandbox.h"
#include "script/tree.h"

#define GROUP   "nest.group"
#define RUN     "nest.run"
#define CLUSTER "nest.cluster"

enum { RUNS_MAX = 1 << 20, TIMES_MAX = 1 << 24 };

static bool is_a(lua_State *L, int index, const char *kind)
{
    if (!lua_istable(L, index) || !lua_getmetatable(L, index)) {
        return false;
    }
    luaL_getmetatable(L, kind);
    const bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

/* ---- Groups ----------------------------------------------------------------------------- */

/* group:times(n): n groups like this one, side by side. */
static int group_times(lua_State *L)
{
    if (!is_a(L, 1, GROUP)) {
        return luaL_error(L, "times belongs to a group: node{…}:times(4)");
    }
    const lua_Integer times = luaL_checkinteger(L, 2);
    if (times < 0 || times > TIMES_MAX) {
        return luaL_error(L, "times takes 0 to %d", TIMES_MAX);
    }
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "group");
    lua_pushinteger(L, times);
    lua_setfield(L, -2, "times");
    luaL_setmetatable(L, RUN);
    return 1;
}

/* Upvalues: the kind, and the name where none is given. The table itself becomes the group. */
static int make_group(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_getmetatable(L, 1)) {
        return luaL_error(L, "this table is already in use");
    }
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(2));
    if (lua_isnil(L, 2) && lua_getfield(L, 1, "name") == LUA_TNIL) {
        return luaL_error(L, "a level needs a name: level{name = \"rack\", …}");
    }
    if (lua_getfield(L, 1, "name") == LUA_TNIL) {
        lua_pushvalue(L, 2);
        lua_setfield(L, 1, "name");
    }
    if (!lua_isnil(L, lua_upvalueindex(1)) && lua_getfield(L, 1, "kind") == LUA_TNIL) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_setfield(L, 1, "kind");
    }
    lua_settop(L, 1);
    nest_tree_place(L, 1);
    luaL_setmetatable(L, GROUP);
    return 1;
}

/* ---- Flattening ------------------------------------------------------------------------- */

/* Groups alike. Their own device and uplink as written; NULL: as around them. */
struct run {
    int64_t fanout, times;
    const char *device, *uplink;
};

struct runs {
    struct run *run;
    int count, room;
};

/* A group as runs of fan-outs per depth, innermost first. */
struct flat {
    int depth;
    struct runs level[NEST_MAX_LEVELS];
};

struct flattening {
    struct nest_arena *arena;
    int levels; /* stack index of the array of level tables, innermost first */
    int done;   /* stack index of group → struct flat, for groups used more than once */
};

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* times of them. */
static void push_run(lua_State *L, struct nest_arena *arena, struct runs *runs, struct run run,
                     int64_t times)
{
    struct run *last = runs->count > 0 ? &runs->run[runs->count - 1] : NULL;
    run.times *= times;
    if (last && last->fanout == run.fanout && is_same(last->device, run.device) &&
        is_same(last->uplink, run.uplink)) {
        last->times += run.times;
        return;
    }
    if (runs->count == runs->room) {
        const int room = runs->room ? 2 * runs->room : 4;
        struct run *larger = room <= RUNS_MAX ? NEST_NEW(arena, struct run, room) : NULL;
        if (!larger) {
            luaL_error(L, "the cluster is too irregular: more than %d runs of groups", RUNS_MAX);
        }
        if (runs->count > 0) {
            memcpy(larger, runs->run, (size_t)runs->count * sizeof(*larger));
        }
        runs->run = larger;
        runs->room = room;
    }
    runs->run[runs->count++] = run;
}

static void append_runs(lua_State *L, struct nest_arena *arena, struct runs *to,
                        const struct runs *from, int64_t times)
{
    if (from->count == 1) {
        push_run(L, arena, to, from->run[0], times);
        return;
    }
    for (int64_t i = 0; i < times; i++) {
        for (int j = 0; j < from->count; j++) {
            push_run(L, arena, to, from->run[j], 1);
        }
    }
}

static bool is_figure(lua_State *L, int index)
{
    static const char *const own[] = {"fanout", "device", "uplink"};
    const char *key = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : own[0];
    return strcmp(key, own[0]) != 0 && strcmp(key, own[1]) != 0 && strcmp(key, own[2]) != 0;
}

/* All groups of one depth are one level: the same figures, only other fan-outs, devices, uplinks.
 */
static void compare_level(lua_State *L, int group, int known)
{
    for (lua_pushnil(L); lua_next(L, group);) {
        if (is_figure(L, -2)) {
            lua_pushvalue(L, -2);
            lua_rawget(L, known);
            if (!lua_compare(L, -1, -2, LUA_OPEQ)) {
                lua_getfield(L, known, "name");
                nest_tree_error(L, group, "%s of this group differs from the others of level %s",
                                lua_tostring(L, -4), lua_tostring(L, -1));
            }
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
}

/* The first group of a depth describes the level. */
static void note_level(lua_State *L, const struct flattening *flattening, int group, int depth)
{
    if (depth >= NEST_MAX_LEVELS) {
        nest_tree_error(L, group, "a cluster has at most %d levels", NEST_MAX_LEVELS);
    }
    if (lua_rawgeti(L, flattening->levels, depth + 1) != LUA_TNIL) {
        compare_level(L, group, lua_gettop(L));
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 1);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, group);) {
        if (is_figure(L, -2)) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, -4);
        } else {
            lua_pop(L, 1);
        }
    }
    nest_tree_place_like(L, -1, group);
    lua_rawseti(L, flattening->levels, depth + 1);
}

static struct flat *flatten(lua_State *L, const struct flattening *flattening, int group,
                            int nesting);

/* Adds one child of the group at index: a group, or a run of them. Returns how many. */
static int64_t add_child(lua_State *L, const struct flattening *flattening, int group, int child,
                         struct flat *flat, int nesting)
{
    int64_t times = 1;
    if (is_a(L, child, RUN)) {
        lua_getfield(L, child, "times");
        times = lua_tointeger(L, -1);
        lua_pop(L, 1);
        lua_getfield(L, child, "group");
        lua_replace(L, child);
    }
    if (!is_a(L, child, GROUP)) {
        nest_tree_error(L, group, "a group holds groups, such as node{…} or node{…}:times(4)");
    }
    if (times == 0) {
        return 0;
    }
    const struct flat *below = flatten(L, flattening, child, nesting + 1);
    if (flat->depth == 0) {
        flat->depth = below->depth;
    } else if (flat->depth != below->depth) {
        nest_tree_error(L, group, "the groups inside this one have %d and %d levels", flat->depth,
                        below->depth);
    }
    for (int i = 0; i < below->depth; i++) {
        append_runs(L, flattening->arena, &flat->level[i], &below->level[i], times);
    }
    return times;
}

/* Devices of an innermost group; 1 for a torus, whose shape says it. */
static int64_t leaf_size(lua_State *L, int group)
{
    const bool torus = lua_getfield(L, group, "shape") != LUA_TNIL;
    lua_getfield(L, group, "fanout");
    const int64_t fanout = lua_tointeger(L, -1);
    if (!torus && (fanout < 1 || fanout > TIMES_MAX)) {
        nest_tree_error(L, group, "an innermost group needs fanout = DEVICES, at least 1");
    }
    lua_pop(L, 2);
    return torus ? 1 : fanout;
}

/* What a group says of itself alone, in arena; NULL for nothing. */
static const char *own_text(lua_State *L, struct nest_arena *arena, int group, const char *key)
{
    const int type = lua_getfield(L, group, key);
    if (type != LUA_TNIL && type != LUA_TSTRING && type != LUA_TNUMBER) {
        nest_tree_error(L, group, "%s of a group is text, not a %s", key, lua_typename(L, type));
    }
    const char *text = type == LUA_TNIL ? NULL : nest_arena_strdup(arena, lua_tostring(L, -1));
    lua_pop(L, 1);
    return text;
}

static struct flat *flatten_new(lua_State *L, const struct flattening *flattening, int group,
                                int nesting)
{
    struct flat *flat = NEST_NEW(flattening->arena, struct flat, 1);
    if (!flat || nesting >= NEST_MAX_LEVELS) {
        nest_tree_error(L, group, "a cluster has at most %d levels", NEST_MAX_LEVELS);
    }
    const lua_Integer children = (lua_Integer)lua_rawlen(L, group);
    int64_t fanout = 0;
    for (lua_Integer i = 1; i <= children; i++) {
        lua_rawgeti(L, group, i);
        fanout += add_child(L, flattening, group, lua_gettop(L), flat, nesting);
        lua_pop(L, 1);
    }
    if (children == 0) {
        fanout = leaf_size(L, group);
    } else if (fanout == 0) {
        nest_tree_error(L, group, "this group has nothing inside");
    }
    note_level(L, flattening, group, flat->depth);
    const struct run run = {
        .fanout = fanout,
        .times = 1,
        .device = own_text(L, flattening->arena, group, "device"),
        .uplink = own_text(L, flattening->arena, group, "uplink"),
    };
    push_run(L, flattening->arena, &flat->level[flat->depth], run, 1);
    flat->depth++;
    return flat;
}

static struct flat *flatten(lua_State *L, const struct flattening *flattening, int group,
                            int nesting)
{
    luaL_checkstack(L, 16, "too deeply nested");
    nest_sandbox_check(L);
    lua_pushvalue(L, group);
    if (lua_rawget(L, flattening->done) == LUA_TLIGHTUSERDATA) {
        struct flat *known = lua_touserdata(L, -1);
        lua_pop(L, 1);
        return known;
    }
    lua_pop(L, 1);
    struct flat *flat = flatten_new(L, flattening, group, nesting);
    lua_pushvalue(L, group);
    lua_pushlightuserdata(L, flat);
    lua_rawset(L, flattening->done);
    return flat;
}

/* levels[depth].fanout, or .groups = {{fanout =, times =, device =, uplink =}, …}; a torus has its
 * shape. */
static void write_runs(lua_State *L, int level, const struct runs *runs)
{
    const bool plain = runs->count == 1 && !runs->run[0].device && !runs->run[0].uplink;
    if (lua_getfield(L, level, "shape") != LUA_TNIL) {
        if (!plain) {
            nest_tree_error(L, level, "a torus is one group of devices of one kind");
        }
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 1);
    if (plain) {
        lua_pushinteger(L, runs->run[0].fanout);
        lua_setfield(L, level, "fanout");
        return;
    }
    lua_createtable(L, runs->count, 0);
    for (int i = 0; i < runs->count; i++) {
        lua_createtable(L, 0, 4);
        lua_pushinteger(L, runs->run[i].fanout);
        lua_setfield(L, -2, "fanout");
        lua_pushinteger(L, runs->run[i].times);
        lua_setfield(L, -2, "times");
        lua_pushstring(L, runs->run[i].device);
        lua_setfield(L, -2, "device");
        lua_pushstring(L, runs->run[i].uplink);
        lua_setfield(L, -2, "uplink");
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, level, "groups");
}

/* Replaces the tree in [1] of the cluster at index 1 by its levels. */
static void flatten_cluster(lua_State *L)
{
    struct flattening flattening = {.arena = nest_push_arena(L)};
    lua_newtable(L);
    flattening.levels = lua_gettop(L);
    lua_newtable(L);
    flattening.done = lua_gettop(L);
    lua_rawgeti(L, 1, 1);
    const int root = lua_gettop(L);
    if (!is_a(L, root, GROUP)) {
        nest_tree_error(L, 1, "a cluster holds one group, or has levels = {…}");
    }
    const struct flat *flat = flatten(L, &flattening, root, 0);
    for (int i = 0; i < flat->depth; i++) {
        lua_rawgeti(L, flattening.levels, i + 1);
        write_runs(L, lua_gettop(L), &flat->level[i]);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, flattening.levels);
    lua_setfield(L, 1, "levels");
    lua_pushnil(L);
    lua_rawseti(L, 1, 1);
    lua_settop(L, 1);
}

static int make_cluster(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_getmetatable(L, 1)) {
        return luaL_error(L, "this table is already in use");
    }
    lua_settop(L, 1);
    nest_tree_place(L, 1);
    if (lua_rawlen(L, 1) > 1) {
        return nest_tree_error(L, 1, "a cluster holds one group; join several by one more level");
    }
    if (lua_rawlen(L, 1) == 1) {
        flatten_cluster(L);
    }
    luaL_setmetatable(L, CLUSTER);
    return 1;
}

/* ---- Knobs ------------------------------------------------------------------------------ */

/* A number as it is, or a text with its unit. */
static double quantity(lua_State *L, int index, enum nest_unit *unit)
{
    if (lua_type(L, index) == LUA_TNUMBER) {
        return lua_tonumber(L, index);
    }
    static const enum nest_unit units[] = {NEST_UNIT_BANDWIDTH, NEST_UNIT_SECONDS, NEST_UNIT_BYTES,
                                           NEST_UNIT_FLOPS, NEST_UNIT_RATIO};
    const char *text = luaL_checkstring(L, index);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        double value;
        const char *hint;
        char scratch[128];
        if (*unit == NEST_UNIT_NONE || *unit == units[i]) {
            if (!nest_unit_parse(text, units[i], &value, &hint, scratch, sizeof(scratch))) {
                *unit = units[i];
                return value;
            }
        }
    }
    luaL_error(L, "'%s' is not a quantity such as \"400Gb/s\" or \"2us\"", text);
    return 0;
}

static void declare(lua_State *L, struct nest_params *params, struct nest_param_spec param)
{
    for (int i = 0; i < params->count; i++) {
        if (strcmp(params->declared[i].name, param.name) == 0) {
            luaL_error(L, "the knob '%s' is declared twice", param.name);
        }
    }
    if (params->count == params->room) {
        const int room = params->room ? 2 * params->room : 8;
        struct nest_param_spec *larger = NEST_NEW(params->arena, struct nest_param_spec, room);
        if (!larger) {
            luaL_error(L, "not enough memory");
        }
        if (params->count > 0) {
            memcpy(larger, params->declared, (size_t)params->count * sizeof(*larger));
        }
        params->declared = larger;
        params->room = room;
    }
    params->declared[params->count++] = param;
}

/* param(name, default, low, high): the value given from outside, else the default. */
static int make_param(lua_State *L)
{
    struct nest_params *params = lua_touserdata(L, lua_upvalueindex(1));
    const char *name = luaL_checkstring(L, 1);
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0' || !*name) {
        return luaL_error(L, "a knob's name has only a-z, 0-9 and _");
    }
    struct nest_param_spec param = {.unit = NEST_UNIT_NONE};
    const double fallback = quantity(L, 2, &param.unit);
    param.low = quantity(L, 3, &param.unit);
    param.high = quantity(L, 4, &param.unit);
    param.value = fallback;
    param.whole = lua_isinteger(L, 2) && lua_isinteger(L, 3) && lua_isinteger(L, 4);
    for (int i = 0; i < params->given_count; i++) {
        if (strcmp(params->given[i].name, name) == 0) {
            param.value = params->given[i].value;
        }
    }
    if (!(param.value >= param.low && param.value <= param.high)) {
        return luaL_error(L, "the knob '%s' is %f, outside of %f to %f", name, param.value,
                          param.low, param.high);
    }
    if (param.whole && param.value != floor(param.value)) {
        return luaL_error(L, "the knob '%s' is %f, not a whole number", name, param.value);
    }
    param.name = nest_arena_strdup(params->arena, name);
    declare(L, params, param);
    if (param.whole) {
        lua_pushinteger(L, (lua_Integer)param.value);
    } else {
        lua_pushnumber(L, param.value);
    }
    return 1;
}

/* ---- The words -------------------------------------------------------------------------- */

static void add_kind(lua_State *L, const char *kind, const luaL_Reg *methods)
{
    luaL_newmetatable(L, kind);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, kind);
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

static void add_group_word(lua_State *L, const char *word, const char *kind, const char *name)
{
    lua_pushstring(L, kind);
    lua_pushstring(L, name);
    lua_pushcclosure(L, make_group, 2);
    lua_setglobal(L, word);
}

void nest_builder_open(lua_State *L, struct nest_params *params)
{
    static const luaL_Reg group_methods[] = {{"times", group_times}, {NULL, NULL}};
    static const luaL_Reg no_methods[] = {{NULL, NULL}};
    add_kind(L, GROUP, group_methods);
    add_kind(L, RUN, no_methods);
    add_kind(L, CLUSTER, no_methods);
    add_group_word(L, "level", NULL, NULL);
    add_group_word(L, "node", "switch", "node");
    add_group_word(L, "ring", "ring", NULL);
    add_group_word(L, "torus", "torus", "torus");
    lua_pushcfunction(L, make_cluster);
    lua_setglobal(L, "cluster");
    lua_pushlightuserdata(L, params);
    lua_pushcclosure(L, make_param, 1);
    lua_setglobal(L, "param");
    nest_graph_open(L);
}
