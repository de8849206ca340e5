#include "script/asked.h"

#include <lauxlib.h>
#include <string.h>

#include "input/set.h"
#include "script/ordered.h"

struct asked {
    struct nest_reads reads;
    struct nest_question question;
};

enum form { COUNT, REAL, FLAG, WORD, TEXT };

static const char *const ROLES[] = {"embedding", "block", "head", "profiled", "tower"};
static const char *const KINDS[] = {"all_reduce", "reduce_scatter", "all_gather", "all_to_all",
                                    "broadcast"};
static const char *const DIRECTIONS[] = {"forward", "backward"};

/* A text lives in a user value of the object: the question's may be gone before the table is. */
static const struct {
    const char *name;
    enum form form;
    const char *const *words;
    int text; /* number of the user value */
} FIELD[NEST_ASKED_FIELDS] = {
    [NEST_ASKED_NAME] = {"name", TEXT, NULL, 1},
    [NEST_ASKED_ROLE] = {"role", WORD, ROLES, 0},
    [NEST_ASKED_MOE] = {"moe", FLAG, NULL, 0},
    [NEST_ASKED_TP] = {"tp", COUNT, NULL, 0},
    [NEST_ASKED_CP] = {"cp", COUNT, NULL, 0},
    [NEST_ASKED_EP] = {"ep", COUNT, NULL, 0},
    [NEST_ASKED_ETP] = {"etp", COUNT, NULL, 0},
    [NEST_ASKED_SP] = {"sp", FLAG, NULL, 0},
    [NEST_ASKED_MICRO_BATCH] = {"micro_batch", COUNT, NULL, 0},
    [NEST_ASKED_RECOMPUTE] = {"recompute", WORD, NULL, 0},
    [NEST_ASKED_ZERO] = {"zero", COUNT, NULL, 0},
    [NEST_ASKED_SHARD] = {"shard", COUNT, NULL, 0},
    [NEST_ASKED_DP] = {"dp", COUNT, NULL, 0},
    [NEST_ASKED_FIRST] = {"first", FLAG, NULL, 0},
    [NEST_ASKED_LAST] = {"last", FLAG, NULL, 0},
    [NEST_ASKED_VIRTUAL_STAGES] = {"virtual_stages", COUNT, NULL, 0},
    [NEST_ASKED_STAGES] = {"stages", COUNT, NULL, 0},
    [NEST_ASKED_MICROBATCHES] = {"microbatches", COUNT, NULL, 0},
    [NEST_ASKED_KIND] = {"kind", WORD, KINDS, 0},
    [NEST_ASKED_BYTES] = {"bytes", REAL, NULL, 0},
    [NEST_ASKED_MEMBERS] = {"members", COUNT, NULL, 0},
    [NEST_ASKED_LEVEL] = {"level", COUNT, NULL, 0},
    [NEST_ASKED_SECONDS] = {"", REAL, NULL, 0},
    [NEST_ASKED_LEVEL_NAME] = {"level_name", TEXT, NULL, 1},
    [NEST_ASKED_BLOCK] = {"block", COUNT, NULL, 0},
    [NEST_ASKED_DIRECTION] = {"direction", WORD, DIRECTIONS, 0},
    [NEST_ASKED_BEFORE] = {"before", TEXT, NULL, 2},
    [NEST_ASKED_AFTER] = {"after", TEXT, NULL, 3},
};
enum { TEXTS = 3 };

#define BIT(field) (UINT32_C(1) << NEST_ASKED_##field)
static const uint32_t FAMILY = BIT(TP) | BIT(CP) | BIT(EP) | BIT(ETP) | BIT(SP) | BIT(MICRO_BATCH);
static const uint32_t LAYER = BIT(NAME) | BIT(ROLE) | BIT(MOE);
static const uint32_t SHARDING = BIT(ZERO) | BIT(SHARD) | BIT(DP);
static const uint32_t MESSAGE = BIT(BYTES) | BIT(LEVEL) | BIT(LEVEL_NAME);

uint32_t nest_asked_fields(int hook)
{
    const uint32_t fields[NEST_HOOKS] = {
        [NEST_HOOK_COMPUTE] = LAYER | FAMILY,
        [NEST_HOOK_COLLECTIVE] = MESSAGE | BIT(KIND) | BIT(MEMBERS),
        [NEST_HOOK_TRANSFER] = MESSAGE | BIT(BLOCK) | BIT(DIRECTION) | BIT(BEFORE) | BIT(AFTER),
        [NEST_HOOK_MEMORY] = LAYER | FAMILY | SHARDING | BIT(RECOMPUTE),
        [NEST_HOOK_RESERVE] = FAMILY | SHARDING,
        [NEST_HOOK_LOAD] = FAMILY | BIT(RECOMPUTE) | BIT(FIRST) | BIT(LAST),
        [NEST_HOOK_STEP] = BIT(DP) | BIT(VIRTUAL_STAGES) | BIT(STAGES) | BIT(MICROBATCHES),
    };
    return fields[hook] | BIT(DEFAULT);
}

static const char METATABLE = 0; /* its address is the metatable's key in the registry */
static const char OBJECT = 0; /* and this one the object's in its table, until that is complete */

static bool has(uint32_t set, int field)
{
    return (set & (UINT32_C(1) << field)) != 0;
}

static void look_at(struct asked *asked, int field)
{
    struct nest_reads *reads = &asked->reads;
    if (!has(reads->set, field)) {
        reads->set |= UINT32_C(1) << field;
        reads->order[reads->count++] = (uint8_t)field;
    }
}

/* object: the index of the one that holds what was asked. */
static void push_field(lua_State *L, const struct asked *asked, int object, int field)
{
    const int64_t count = asked->question.field[field].count;
    switch (FIELD[field].form) {
    case COUNT:
        lua_pushinteger(L, count);
        break;
    case REAL:
        lua_pushnumber(L, asked->question.field[field].real);
        break;
    case FLAG:
        lua_pushboolean(L, count != 0);
        break;
    case WORD:
        lua_pushstring(L, FIELD[field].words ? FIELD[field].words[count]
                                             : nest_recompute_word((enum nest_recompute)count));
        break;
    case TEXT:
        (void)lua_getiuservalue(L, object, FIELD[field].text);
        break;
    }
}

/* Pushes the object of the table at index; NULL and nothing pushed if it has none. */
static struct asked *push_object(lua_State *L, int index)
{
    if (lua_istable(L, index)) {
        if (lua_rawgetp(L, index, &OBJECT) == LUA_TUSERDATA) {
            return lua_touserdata(L, -1);
        }
        lua_pop(L, 1);
    }
    return NULL;
}

void nest_asked_complete(lua_State *L, int index)
{
    const int table = lua_absindex(L, index);
    luaL_checkstack(L, 4, NULL);
    struct asked *asked = push_object(L, table);
    if (!asked) {
        return;
    }
    const int object = lua_gettop(L);
    const uint32_t fields = nest_asked_fields(asked->question.hook);
    for (int field = 0; field < NEST_ASKED_FIELDS; field++) {
        if (has(fields, field) && !has(asked->reads.set, field)) {
            look_at(asked, field);
            lua_pushstring(L, FIELD[field].name);
            push_field(L, asked, object, field);
            lua_rawset(L, table);
        }
    }
    lua_pushnil(L);
    lua_rawsetp(L, table, &OBJECT);
    lua_pushnil(L);
    lua_setmetatable(L, table);
    lua_pop(L, 1);
}

/* __index: a field that is not there. */
static int read_field(lua_State *L)
{
    lua_settop(L, 2);
    struct asked *asked = push_object(L, 1);
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    if (!asked || !name) {
        return 0;
    }
    /* What was looked at before and is not there any more, the script took away. */
    const uint32_t fields = nest_asked_fields(asked->question.hook) & ~asked->reads.set;
    for (int field = 0; field < NEST_ASKED_FIELDS; field++) {
        if (has(fields, field) && strcmp(FIELD[field].name, name) == 0) {
            look_at(asked, field);
            push_field(L, asked, 3, field);
            lua_pushvalue(L, 2);
            lua_pushvalue(L, -2);
            lua_rawset(L, 1);
            return 1;
        }
    }
    return 0;
}

static int write_field(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 3);
    nest_asked_complete(L, 1);
    lua_rawset(L, 1);
    return 0;
}

static int list_fields(lua_State *L)
{
    nest_asked_complete(L, 1);
    return nest_ordered_pairs(L);
}

static void push_metatable(lua_State *L)
{
    static const luaL_Reg METHODS[] = {{"__index", read_field},
                                       {"__newindex", write_field},
                                       {"__pairs", list_fields},
                                       {NULL, NULL}};
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &METATABLE) != LUA_TTABLE) {
        lua_pop(L, 1);
        luaL_newlib(L, METHODS);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &METATABLE);
    }
}

const struct nest_reads *nest_asked_new(lua_State *L, const struct nest_question *question)
{
    luaL_checkstack(L, 4, NULL);
    struct asked *asked = lua_newuserdatauv(L, sizeof *asked, TEXTS);
    asked->question = *question;
    asked->reads = (struct nest_reads){.set = 0};
    const uint32_t fields = nest_asked_fields(question->hook);
    for (int field = 0; field < NEST_ASKED_FIELDS; field++) {
        if (has(fields, field) && FIELD[field].form == TEXT) {
            lua_pushstring(L, question->field[field].text);
            lua_setiuservalue(L, -2, FIELD[field].text);
        }
    }
    return &asked->reads;
}

void nest_asked_push(lua_State *L, int index)
{
    const int object = lua_absindex(L, index);
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, object);
    lua_rawsetp(L, -2, &OBJECT);
    push_metatable(L);
    lua_setmetatable(L, -2);
}

const struct nest_question *nest_asked_default(void *object)
{
    struct asked *asked = object;
    look_at(asked, NEST_ASKED_DEFAULT);
    return &asked->question;
}
