#include "script/library.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "script/asked.h"
#include "script/ordered.h"
#include "script/pattern.h"
#include "script/sandbox.h"

enum { TABLE_MAX = 10000000 /* elements that a C loop of the table library may walk */ };

/* ---- Every function looks at the budgets ------------------------------------------------ */

/* After the call too: pcall returns normally from a fault that must not be caught. */
static int finish_checked(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    (void)context;
    if (nest_sandbox_stopped(L)) {
        nest_sandbox_check(L);
    }
    return lua_gettop(L);
}

static int call_checked(lua_State *L)
{
    nest_sandbox_check(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, finish_checked);
    return finish_checked(L, LUA_OK, 0);
}

void nest_library_push_checked(lua_State *L, lua_CFunction function)
{
    lua_pushcfunction(L, function);
    lua_pushcclosure(L, call_checked, 1);
}

/* Calls the function this closure guards (upvalue 1) with the arguments as they are. Wrong types
 * are left to it, for its message names it. */
static int call_original(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* The same with a table that fills itself as it is read filled whole. */
static int call_completed(lua_State *L)
{
    nest_asked_complete(L, 1);
    return call_original(L);
}

/* ---- Base ------------------------------------------------------------------------------- */

/* Text without addresses: those differ from run to run. */
static const char *push_text(lua_State *L, int index, size_t *length)
{
    if (luaL_callmeta(L, index, "__tostring")) {
        if (!lua_isstring(L, -1)) {
            luaL_error(L, "'__tostring' must return a string");
        }
    } else if (lua_type(L, index) >= LUA_TTABLE || lua_islightuserdata(L, index)) {
        if (luaL_getmetafield(L, index, "__name") != LUA_TSTRING) {
            lua_pushstring(L, luaL_typename(L, index));
        }
    } else {
        luaL_tolstring(L, index, NULL);
    }
    return lua_tolstring(L, -1, length);
}

static int base_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    push_text(L, 1, NULL);
    return 1;
}

static int base_print(lua_State *L)
{
    const int count = lua_gettop(L);
    luaL_Buffer line;
    luaL_buffinit(L, &line);
    for (int i = 1; i <= count; i++) {
        if (i > 1) {
            luaL_addchar(&line, '\t');
        }
        push_text(L, i, NULL);
        luaL_addvalue(&line);
    }
    luaL_addchar(&line, '\n');
    luaL_pushresult(&line);
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    nest_sandbox_print(L, text, length);
    return 0;
}

static int base_collectgarbage(lua_State *L)
{
    if (strcmp(luaL_optstring(L, 1, "count"), "count") != 0) {
        return luaL_error(L, "collectgarbage knows only \"count\" here");
    }
    lua_pushnumber(L, lua_gc(L, LUA_GCCOUNT) + lua_gc(L, LUA_GCCOUNTB) / 1024.0);
    return 1;
}

static int base_load(lua_State *L)
{
    lua_settop(L, 4);
    if (lua_type(L, 1) != LUA_TSTRING) {
        return luaL_error(L, "load takes the program as one string here");
    }
    size_t length;
    const char *text = lua_tolstring(L, 1, &length);
    if (length > NEST_SANDBOX_SOURCE_MAX) {
        return luaL_error(L, "load takes at most %d bytes", NEST_SANDBOX_SOURCE_MAX);
    }
    const char *name = lua_pushfstring(L, "=%s", luaL_optstring(L, 2, "(load)"));
    if (luaL_loadbufferx(L, text, length, name, "t") != LUA_OK) {
        luaL_pushfail(L);
        lua_insert(L, -2);
        return 2;
    }
    if (!lua_isnoneornil(L, 4)) {
        lua_pushvalue(L, 4);
        lua_setupvalue(L, -2, 1);
    }
    return 1;
}

/* Lua calls a message handler from inside the hook that stops a script, where no hook fires: then
 * the script's own is left out. */
static int handle_message(lua_State *L)
{
    if (nest_sandbox_stopped(L)) {
        return 1;
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

/* As xpcall itself, a C function that a coroutine may yield across. */
static int finish_xpcall(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    (void)context;
    return lua_gettop(L);
}

static int base_xpcall(lua_State *L)
{
    if (!lua_isfunction(L, 2)) {
        return call_original(L);
    }
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, handle_message, 1);
    lua_replace(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, finish_xpcall);
    return lua_gettop(L);
}

/* ---- Metatables ------------------------------------------------------------------------- */

static const char *const METAMETHODS[] = {
    "__index", "__newindex", "__call", "__add",    "__sub",       "__mul", "__div",
    "__mod",   "__pow",      "__unm",  "__idiv",   "__band",      "__bor", "__bxor",
    "__shl",   "__shr",      "__bnot", "__concat", "__len",       "__eq",  "__lt",
    "__le",    "__tostring", "__name", "__pairs",  "__metatable", NULL};

static const char ORIGINAL = 0; /* its address is the key of the script's own table */

static void refuse_field(lua_State *L, int index, const char *name, const char *why)
{
    lua_pushstring(L, name);
    if (lua_rawget(L, index) != LUA_TNIL) {
        luaL_error(L, "a metatable may have no %s: %s", name, why);
    }
    lua_pop(L, 1);
}

/* A call goes through every object that stands for its function in one step of the interpreter, and
 * moves its arguments at each: an object that stands for itself would never end. */
static void refuse_call(lua_State *L, int index)
{
    lua_pushliteral(L, "__call");
    const int type = lua_rawget(L, index);
    if (type != LUA_TNIL && type != LUA_TFUNCTION) {
        luaL_error(L, "__call must be a function here, not a %s", lua_typename(L, type));
    }
    lua_pop(L, 1);
}

/* Objects get a copy of the metatable that scripts can't reach: a __gc added to theirs later has no
 * effect. Finalizers run without a hook, so do closing variables of a coroutine that the hook
 * stopped, and weak tables can make one step of the collector quadratic. */
static int base_setmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    nest_asked_complete(L, 1);
    luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) {
        return luaL_error(L, "cannot change a protected metatable");
    }
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_setmetatable(L, 1);
        return 1;
    }
    refuse_field(L, 2, "__gc", "finalizers cannot be stopped");
    refuse_field(L, 2, "__close", "closing variables cannot be stopped");
    refuse_field(L, 2, "__mode", "weak tables are not available");
    refuse_call(L, 2);
    lua_createtable(L, 0, 8);
    for (int i = 0; METAMETHODS[i]; i++) {
        lua_pushstring(L, METAMETHODS[i]);
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 2) == LUA_TNIL) {
            lua_pop(L, 2);
        } else {
            lua_rawset(L, 3);
        }
    }
    lua_pushvalue(L, 2);
    lua_rawsetp(L, 3, &ORIGINAL);
    lua_setmetatable(L, 1);
    lua_settop(L, 1);
    return 1;
}

static int base_getmetatable(lua_State *L)
{
    luaL_checkany(L, 1);
    nest_asked_complete(L, 1);
    if (!lua_getmetatable(L, 1)) {
        return 0;
    }
    const int metatable = lua_gettop(L);
    lua_pushliteral(L, "__metatable");
    if (lua_rawget(L, metatable) == LUA_TNIL) {
        lua_rawgetp(L, metatable, &ORIGINAL);
    }
    return 1;
}

/* ---- string ----------------------------------------------------------------------------- */

static int string_rep(lua_State *L)
{
    size_t length = 0, between = 0;
    lua_tolstring(L, 1, &length);
    lua_tolstring(L, 3, &between);
    int whole;
    const lua_Integer count = lua_tointegerx(L, 2, &whole);
    if (!whole || !lua_isstring(L, 1)) {
        return call_original(L);
    }
    if (count <= 0 || length + between == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if ((uint64_t)count > nest_sandbox_memory(L) / (length + between)) {
        return luaL_error(L, "resulting string too large");
    }
    return call_original(L);
}

/* find, match, gmatch and gsub: the matcher backtracks inside C. */
static int string_pattern(lua_State *L)
{
    size_t length, pattern_length;
    const char *pattern = lua_tolstring(L, 2, &pattern_length);
    if (!lua_tolstring(L, 1, &length) || !pattern) {
        return call_original(L);
    }
    const bool plain = lua_toboolean(L, lua_upvalueindex(2)) && lua_toboolean(L, 4);
    if (nest_pattern_steps(pattern, pattern_length, length, plain) > NEST_PATTERN_STEPS_MAX) {
        return luaL_error(L, "this pattern could take too long on a text of %I bytes",
                          (LUAI_UACINT)length);
    }
    return call_original(L);
}

static int string_format(lua_State *L)
{
    const char *c = lua_tostring(L, 1);
    while (c && (c = strchr(c, '%')) != NULL) {
        c += 1 + strspn(c + 1, "-+ #0123456789.");
        if (*c == 'p') {
            return luaL_error(L, "string.format knows no '%%p' here");
        }
        c += *c != '\0';
    }
    const int count = lua_gettop(L);
    for (int i = 2; i <= count; i++) {
        if (lua_type(L, i) >= LUA_TTABLE || lua_islightuserdata(L, i)) {
            push_text(L, i, NULL);
            lua_replace(L, i);
        }
    }
    return call_original(L);
}

/* ---- table ------------------------------------------------------------------------------ */

/* The library's loops run to the length that a table claims: by a metamethod, or by a border that
 * a few entries at powers of two put far out. */
static void check_plain(lua_State *L, int index)
{
    if (!lua_istable(L, index)) {
        return;
    }
    nest_asked_complete(L, index);
    if (lua_getmetatable(L, index)) {
        luaL_error(L, "the table functions take only tables without a metatable");
    }
    if (lua_rawlen(L, index) > TABLE_MAX) {
        luaL_error(L, "the table functions take at most %d elements", TABLE_MAX);
    }
}

static int table_plain(lua_State *L)
{
    check_plain(L, 1);
    return call_original(L);
}

static int table_move(lua_State *L)
{
    check_plain(L, 1);
    check_plain(L, 5);
    const lua_Integer first = lua_tointeger(L, 2);
    const lua_Integer last = lua_tointeger(L, 3);
    if (last >= first && (lua_Unsigned)last - (lua_Unsigned)first >= TABLE_MAX) {
        return luaL_error(L, "table.move takes at most %d elements", TABLE_MAX);
    }
    return call_original(L);
}

/* Comparing long strings is C too: sort gets a comparison that looks at the clock. */
static int less_checked(lua_State *L)
{
    nest_sandbox_check(L);
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
}

static int table_sort(lua_State *L)
{
    check_plain(L, 1);
    if (lua_isnoneornil(L, 2)) {
        lua_settop(L, 1);
        lua_pushcfunction(L, less_checked);
    }
    return call_original(L);
}

/* ---- math ------------------------------------------------------------------------------- */

static int math_randomseed(lua_State *L)
{
    if (lua_isnone(L, 1)) {
        return luaL_error(L, "math.randomseed takes a number here");
    }
    return call_original(L);
}

/* ---- The environment -------------------------------------------------------------------- */

struct entry {
    const char *library; /* "_G" for the base library */
    const char *name;
    lua_CFunction guard; /* runs in place of the original, which is its upvalue 1; NULL: as it is */
};

static const struct entry ENTRIES[] = {
    {"_G", "assert", NULL},
    {"_G", "collectgarbage", base_collectgarbage},
    {"_G", "error", NULL},
    {"_G", "getmetatable", base_getmetatable},
    {"_G", "ipairs", NULL},
    {"_G", "load", base_load},
    {"_G", "next", call_completed},
    {"_G", "pairs", nest_ordered_pairs},
    {"_G", "pcall", NULL},
    {"_G", "print", base_print},
    {"_G", "rawequal", NULL},
    {"_G", "rawget", call_completed},
    {"_G", "rawlen", NULL},
    {"_G", "rawset", call_completed},
    {"_G", "select", NULL},
    {"_G", "setmetatable", base_setmetatable},
    {"_G", "tonumber", NULL},
    {"_G", "tostring", base_tostring},
    {"_G", "type", NULL},
    {"_G", "xpcall", base_xpcall},
    {"string", "byte", NULL},
    {"string", "char", NULL},
    {"string", "find", string_pattern},
    {"string", "format", string_format},
    {"string", "gmatch", string_pattern},
    {"string", "gsub", string_pattern},
    {"string", "len", NULL},
    {"string", "lower", NULL},
    {"string", "match", string_pattern},
    {"string", "rep", string_rep},
    {"string", "reverse", NULL},
    {"string", "sub", NULL},
    {"string", "upper", NULL},
    {"table", "concat", table_plain},
    {"table", "insert", table_plain},
    {"table", "move", table_move},
    {"table", "pack", NULL},
    {"table", "remove", table_plain},
    {"table", "sort", table_sort},
    {"table", "unpack", table_plain},
    {"math", "abs", NULL},
    {"math", "acos", NULL},
    {"math", "asin", NULL},
    {"math", "atan", NULL},
    {"math", "ceil", NULL},
    {"math", "cos", NULL},
    {"math", "deg", NULL},
    {"math", "exp", NULL},
    {"math", "floor", NULL},
    {"math", "fmod", NULL},
    {"math", "log", NULL},
    {"math", "max", NULL},
    {"math", "min", NULL},
    {"math", "modf", NULL},
    {"math", "rad", NULL},
    {"math", "random", NULL},
    {"math", "randomseed", math_randomseed},
    {"math", "sin", NULL},
    {"math", "sqrt", NULL},
    {"math", "tan", NULL},
    {"math", "tointeger", NULL},
    {"math", "type", NULL},
    {"math", "ult", NULL},
    {"utf8", "char", NULL},
    {"utf8", "codepoint", NULL},
    {"utf8", "codes", NULL},
    {"utf8", "len", NULL},
    {"utf8", "offset", NULL},
    {"coroutine", "close", NULL},
    {"coroutine", "create", NULL},
    {"coroutine", "isyieldable", NULL},
    {"coroutine", "resume", NULL},
    {"coroutine", "running", NULL},
    {"coroutine", "status", NULL},
    {"coroutine", "wrap", NULL},
    {"coroutine", "yield", NULL},
};

/* Constants beside the functions. */
static const struct entry VALUES[] = {
    {"_G", "_VERSION", NULL},     {"math", "huge", NULL}, {"math", "maxinteger", NULL},
    {"math", "mininteger", NULL}, {"math", "pi", NULL},   {"utf8", "charpattern", NULL},
};

static const luaL_Reg LIBRARIES[] = {
    {"_G", luaopen_base},
    {LUA_STRLIBNAME, luaopen_string},
    {LUA_TABLIBNAME, luaopen_table},
    {LUA_MATHLIBNAME, luaopen_math},
    {LUA_UTF8LIBNAME, luaopen_utf8},
    {LUA_COLIBNAME, luaopen_coroutine},
};

/* Pushes environment[library], or the environment itself for "_G". */
static void push_library(lua_State *L, int environment, const char *library)
{
    if (strcmp(library, "_G") == 0) {
        lua_pushvalue(L, environment);
    } else if (lua_getfield(L, environment, library) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setfield(L, environment, library);
    }
}

static void push_original(lua_State *L, const struct entry *entry)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, entry->library);
    lua_getfield(L, -1, entry->name);
    lua_insert(L, -3);
    lua_pop(L, 2);
}

/* Lists the function on top of the stack under the entry's name, unless it calls the original. */
static void name_function(lua_State *L, const struct entry *entry)
{
    if (strcmp(entry->library, "_G") != 0 || entry->guard == base_xpcall) {
        return;
    }
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, "_G");
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, entry->name);
    lua_pop(L, 2);
}

/* The originals stay in the registry, out of reach, under their names, and so do the base functions
 * that stand in for one: Lua finds them there for "bad argument #1 to 'string.rep'". */
static void fill_environment(lua_State *L, int environment)
{
    for (size_t i = 0; i < sizeof(ENTRIES) / sizeof(ENTRIES[0]); i++) {
        const struct entry *entry = &ENTRIES[i];
        push_library(L, environment, entry->library);
        push_original(L, entry);
        if (entry->guard) {
            lua_pushboolean(L, strcmp(entry->name, "find") == 0);
            lua_pushcclosure(L, entry->guard, 2);
            name_function(L, entry);
        }
        lua_pushcclosure(L, call_checked, 1);
        lua_setfield(L, -2, entry->name);
        lua_pop(L, 1);
    }
    for (size_t i = 0; i < sizeof(VALUES) / sizeof(VALUES[0]); i++) {
        push_library(L, environment, VALUES[i].library);
        push_original(L, &VALUES[i]);
        lua_setfield(L, -2, VALUES[i].name);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, environment);
    lua_setfield(L, environment, "_G");
}

/* Methods of strings come from the guarded table, and the metatable is out of reach. */
static void guard_strings(lua_State *L, int environment)
{
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_getfield(L, environment, "string");
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "string");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

static void seed_random(lua_State *L, uint64_t seed)
{
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, (lua_Integer)seed);
    lua_call(L, 1, 0);
    lua_pop(L, 1);
}

void nest_library_open_lua(lua_State *L, uint64_t seed, int unsafe)
{
    if (unsafe) {
        static const char *const raw[] = {"next", "rawget", "rawset", "setmetatable", NULL};
        luaL_openlibs(L);
        for (int i = 0; raw[i]; i++) {
            lua_getglobal(L, raw[i]);
            lua_pushcclosure(L, call_completed, 1);
            lua_setglobal(L, raw[i]);
        }
        seed_random(L, seed);
        nest_library_push_checked(L, base_print);
        lua_setglobal(L, "print");
        return;
    }
    for (size_t i = 0; i < sizeof(LIBRARIES) / sizeof(LIBRARIES[0]); i++) {
        luaL_requiref(L, LIBRARIES[i].name, LIBRARIES[i].func, 1);
        lua_pop(L, 1);
    }
    seed_random(L, seed);
    lua_newtable(L);
    const int environment = lua_gettop(L);
    fill_environment(L, environment);
    guard_strings(L, environment);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}
