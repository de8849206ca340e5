#include "script/hook.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "script/fields.h"

static const char *const MEMORY[] = {"weights",     "gradients", "optimizer", "logits",
                                     "activations", "working",   "gathered",  "resident",
                                     "waiting",     "entering",  NULL};
static const char *const RESERVE[] = {"base", "pipeline", "buffers", NULL};
static const char *const LOAD[] = {"forward", "backward", "recompute", "into", "out", NULL};
static const char *const STEP[] = {"bottleneck", "fill", "tail",   "tied",
                                   "constant",   "sync", "update", NULL};
enum { LOAD_FIELDS = 5 };

/* ---- The default ------------------------------------------------------------------------ */

static void push_fields(lua_State *L, const char *const *field, const double *value)
{
    lua_createtable(L, 0, 12);
    for (int i = 0; field[i]; i++) {
        nest_lua_set_number(L, field[i], value[i]);
    }
}

/* One row as a table, several as a list. */
static void push_rows(lua_State *L, const struct nest_hook_answer *answer)
{
    if (answer->count == LOAD_FIELDS) {
        push_fields(L, LOAD, answer->value);
        return;
    }
    lua_createtable(L, NEST_LOAD_ROWS, 0);
    for (int i = 0; i * LOAD_FIELDS < answer->count; i++) {
        push_fields(L, LOAD, answer->value + (ptrdiff_t)i * LOAD_FIELDS);
        lua_rawseti(L, -2, i + 1);
    }
}

static int call_default(lua_State *L)
{
    const struct nest_question *question =
        nest_asked_default(lua_touserdata(L, lua_upvalueindex(1)));
    const double *value = question->given.value;
    switch ((enum nest_hook)question->hook) {
    case NEST_HOOK_COMPUTE:
        lua_pushnumber(L, value[0]);
        lua_pushnumber(L, value[1]);
        return 2;
    case NEST_HOOK_MEMORY:
        push_fields(L, MEMORY, value);
        return 1;
    case NEST_HOOK_RESERVE:
        push_fields(L, RESERVE, value);
        return 1;
    case NEST_HOOK_LOAD:
        push_rows(L, &question->given);
        return 1;
    case NEST_HOOK_STEP:
        push_fields(L, STEP, value);
        nest_lua_set_text(L, "tails", value[NEST_STEP_FIRST_TAIL] > 0 ? "first" : "all");
        return 1;
    default:
        lua_pushnumber(L, value[0]);
        return 1;
    }
}

/* ---- The answer ------------------------------------------------------------------------- */

static const struct {
    const char *noun;
    double most;
} MEASURE[NEST_HOOKS] = {
    {"seconds", 1e6}, {"seconds", 1e6}, {"seconds", 1e6},  {"bytes", 1e15},
    {"bytes", 1e15},  {"weights", 1e9}, {"weights", 1e15},
};

/* Bytes are whole. */
static double checked(lua_State *L, int index, int hook, const char *what)
{
    const double value = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : NAN;
    if (!(value >= 0 && value <= MEASURE[hook].most)) {
        luaL_error(L, "the override %s must return %s, finite and at least 0; got %s%s%s%s",
                   nest_hook_name((enum nest_hook)hook), MEASURE[hook].noun, what,
                   *what ? " = " : "", luaL_tolstring(L, index, NULL),
                   value > 0 && isfinite(value) ? ", which is too much" : "");
    }
    return *MEASURE[hook].noun == 'b' ? floor(value + 0.5) : value;
}

static int find_field(const char *const *field, const char *key)
{
    for (int i = 0; field[i]; i++) {
        if (strcmp(field[i], key) == 0) {
            return i;
        }
    }
    return -1;
}

static void read_tails(lua_State *L, double *value)
{
    const char *word = lua_tostring(L, -1);
    if (!word || (strcmp(word, "first") != 0 && strcmp(word, "all") != 0)) {
        luaL_error(L, "the override step: tails is \"all\" or \"first\"");
        return;
    }
    value[NEST_STEP_FIRST_TAIL] = *word == 'f';
}

/* Raises for the first key that is none of the fields. */
static void complain_of_field(lua_State *L, int table, int hook, const char *const *field)
{
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "[…]";
        if (find_field(field, key) < 0) {
            luaL_error(L, "the override %s knows no '%s'", nest_hook_name((enum nest_hook)hook),
                       key);
        }
    }
}

/* The fields of the table at index over those of value. */
static void read_fields(lua_State *L, int index, int hook, const char *const *field, double *value)
{
    const int table = lua_absindex(L, index);
    int known = 0, keys = 0;
    for (int i = 0; field[i]; i++) {
        if (lua_getfield(L, table, field[i]) != LUA_TNIL) {
            value[i] = checked(L, -1, hook, field[i]);
            known++;
        }
        lua_pop(L, 1);
    }
    if (hook == NEST_HOOK_STEP) {
        known += lua_getfield(L, table, "tails") != LUA_TNIL;
        if (!lua_isnil(L, -1)) {
            read_tails(L, value);
        }
        lua_pop(L, 1);
    }
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        keys++;
    }
    if (keys > known) {
        complain_of_field(L, table, hook, field);
    }
}

static void read_rows(lua_State *L, int index, struct nest_hook_answer *answer)
{
    const int table = lua_absindex(L, index);
    const lua_Integer rows = (lua_Integer)lua_rawlen(L, table);
    if (rows > NEST_LOAD_ROWS) {
        luaL_error(L, "the override load may return %d rows of weights at most", NEST_LOAD_ROWS);
    }
    memset(answer->value, 0, sizeof answer->value);
    answer->count = LOAD_FIELDS * (rows > 0 ? (int)rows : 1);
    if (rows == 0) {
        read_fields(L, table, NEST_HOOK_LOAD, LOAD, answer->value);
    }
    for (lua_Integer i = 1; i <= rows; i++) {
        if (lua_rawgeti(L, table, i) != LUA_TTABLE) {
            luaL_error(L, "the override load returns one table of weights or a list of them");
        }
        read_fields(L, -1, NEST_HOOK_LOAD, LOAD, answer->value + (i - 1) * LOAD_FIELDS);
        lua_pop(L, 1);
    }
}

/* The two results of the call are on top. */
static void read_answer(lua_State *L, const struct nest_question *q,
                        struct nest_hook_answer *answer)
{
    const int first = lua_absindex(L, -2);
    const enum nest_hook hook = (enum nest_hook)q->hook;
    *answer = q->given;
    if (hook == NEST_HOOK_STEP && lua_isboolean(L, first) && !lua_toboolean(L, first)) {
        answer->value[NEST_STEP_REFUSED] = 1;
    } else if (hook <= NEST_HOOK_TRANSFER) {
        answer->value[0] = checked(L, first, q->hook, "");
        if (hook == NEST_HOOK_COMPUTE) {
            answer->value[1] = checked(L, first + 1, q->hook, "");
        }
    } else if (!lua_istable(L, first)) {
        luaL_error(L, "the override %s must return a table of %s; got a %s", nest_hook_name(hook),
                   MEASURE[hook].noun, luaL_typename(L, first));
    } else if (hook == NEST_HOOK_LOAD) {
        read_rows(L, first, answer);
    } else {
        static const char *const *const field[NEST_HOOKS] = {
            [NEST_HOOK_MEMORY] = MEMORY, [NEST_HOOK_RESERVE] = RESERVE, [NEST_HOOK_STEP] = STEP};
        read_fields(L, first, q->hook, field[hook], answer->value);
    }
}

struct reading {
    const struct nest_question *question;
    struct nest_hook_answer *answer;
};

static int read_protected(lua_State *L)
{
    struct reading *reading = lua_touserdata(L, 3);
    lua_settop(L, 2);
    read_answer(L, reading->question, reading->answer);
    return 0;
}

/* True where what an answer leaves out is as by default. */
static bool keeps_default(const struct nest_question *question)
{
    return question->hook == NEST_HOOK_MEMORY || question->hook == NEST_HOOK_RESERVE ||
           question->hook == NEST_HOOK_STEP;
}

void nest_hook_call(lua_State *L, const struct nest_question *question,
                    struct nest_hook_answer *answer, struct nest_reads *reads)
{
    luaL_checkstack(L, 16, "too deeply nested");
    const int function = lua_gettop(L);
    const struct nest_reads *read = nest_asked_new(L, question);
    void *object = lua_touserdata(L, -1);
    lua_pushvalue(L, function);
    nest_asked_push(L, function + 1);
    lua_pushvalue(L, function + 1);
    lua_pushcclosure(L, call_default, 1);
    lua_call(L, 2, 2);
    lua_pushcfunction(L, read_protected);
    lua_insert(L, -3);
    struct reading reading = {question, answer};
    lua_pushlightuserdata(L, &reading);
    if (lua_pcall(L, 3, 0, 0) != LUA_OK) {
        /* A wrong answer has no line of its own: name the function's. */
        lua_Debug ar;
        lua_pushvalue(L, function);
        lua_getinfo(L, ">S", &ar);
        const char *file = *ar.source == '@' ? ar.source + 1 : ar.short_src;
        luaL_error(L, "%s:%d: %s", file, ar.linedefined, lua_tostring(L, -1));
    }
    if (keeps_default(question)) {
        (void)nest_asked_default(object);
    }
    *reads = *read;
    lua_settop(L, function - 1);
}
