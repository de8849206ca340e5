#include "script/override.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "cost/strategy.h"
#include "script/sandbox.h"
#include "script/tree.h"

enum hook { HOOK_COMPUTE, HOOK_COLLECTIVE, HOOK_TRANSFER };

static const char *const HOOKS[] = {"compute", "collective", "transfer", NULL};

/* The arguments of a hook. Zeroed before it is filled: compared as bytes. */
struct question {
    enum hook hook;
    const struct nest_layer_kind *kind;
    int64_t tp, cp, ep, etp, micro_batch, sp;
    int64_t collective, level, block;
    struct nest_comm comm;
    double bytes;
    double fw, bw; /* the default; a transfer or collective has fw only */
};

struct nest_answered {
    bool used;
    struct question question;
    double fw, bw;
};

void nest_override_check(lua_State *L, int index)
{
    const int table = lua_absindex(L, index);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        bool known = false;
        for (int i = 0; HOOKS[i]; i++) {
            known |= lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), HOOKS[i]) == 0;
        }
        if (!known || !lua_isfunction(L, -1)) {
            luaL_error(L, "an override is compute, collective or transfer = function … end");
        }
    }
}

/* ---- One call --------------------------------------------------------------------------- */

struct call {
    struct nest_override_run *run;
    const struct question *question;
    double fw, bw;
};

static void set_integer(lua_State *L, const char *key, int64_t value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}

static void set_text(lua_State *L, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

static void push_layer(lua_State *L, const struct question *q)
{
    static const char *const role[] = {"embedding", "block", "head", "profiled"};
    lua_createtable(L, 0, 9);
    set_text(L, "name", q->kind->name);
    set_text(L, "role", role[q->kind->role]);
    lua_pushboolean(L, q->kind->moe);
    lua_setfield(L, -2, "moe");
    set_integer(L, "tp", q->tp);
    set_integer(L, "cp", q->cp);
    set_integer(L, "ep", q->ep);
    set_integer(L, "etp", q->etp);
    set_integer(L, "micro_batch", q->micro_batch);
    lua_pushboolean(L, q->sp != 0);
    lua_setfield(L, -2, "sp");
}

static void push_message(lua_State *L, const struct nest_override_run *run,
                         const struct question *q)
{
    static const char *const kind[] = {"all_reduce", "reduce_scatter", "all_gather", "all_to_all",
                                       "broadcast"};
    lua_createtable(L, 0, 6);
    lua_pushnumber(L, q->bytes);
    lua_setfield(L, -2, "bytes");
    set_integer(L, "level", q->level);
    set_text(L, "level_name", run->problem->cluster->level[q->level].name);
    if (q->hook == HOOK_COLLECTIVE) {
        set_text(L, "kind", kind[q->collective]);
        set_integer(L, "members", q->comm.size);
    } else {
        set_integer(L, "block", q->block);
    }
}

/* default(): upvalues are the default's figures. */
static int call_default(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    if (lua_isnil(L, lua_upvalueindex(2))) {
        return 1;
    }
    lua_pushvalue(L, lua_upvalueindex(2));
    return 2;
}

static double checked(lua_State *L, int index, const char *hook)
{
    const double value = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : NAN;
    if (!isfinite(value) || value < 0 || value > 1e6) {
        luaL_error(L, "the override %s must return seconds, finite and at least 0; got %s", hook,
                   luaL_tolstring(L, index, NULL));
    }
    return value;
}

static int run_call(lua_State *L)
{
    struct call *call = lua_touserdata(L, 1);
    const struct question *q = call->question;
    const bool compute = q->hook == HOOK_COMPUTE;
    lua_rawgetp(L, LUA_REGISTRYINDEX, call->run);
    lua_getfield(L, -1, HOOKS[q->hook]);
    if (compute) {
        push_layer(L, q);
    } else {
        push_message(L, call->run, q);
    }
    lua_pushnumber(L, q->fw);
    lua_pushnumber(L, q->bw);
    if (!compute) {
        lua_pop(L, 1);
        lua_pushnil(L);
    }
    lua_pushcclosure(L, call_default, 2);
    lua_call(L, 2, 2);
    call->fw = checked(L, -2, HOOKS[q->hook]);
    call->bw = compute ? checked(L, -1, HOOKS[q->hook]) : 0;
    return 0;
}

/* ---- Answers by argument ---------------------------------------------------------------- */

static size_t hash(const struct question *question)
{
    const unsigned char *byte = (const unsigned char *)question;
    uint64_t value = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof(*question); i++) {
        value = (value ^ byte[i]) * UINT64_C(1099511628211);
    }
    return (size_t)(value ^ (value >> 32));
}

static struct nest_answered *slot(struct nest_answered *table, size_t room,
                                  const struct question *question)
{
    size_t at = hash(question) & (room - 1);
    while (table[at].used && memcmp(&table[at].question, question, sizeof(*question)) != 0) {
        at = (at + 1) & (room - 1);
    }
    return &table[at];
}

/* Doubles the table when it is half full; without memory nothing is kept. */
static bool make_room(struct nest_override_run *run)
{
    if (2 * run->count < run->room) {
        return true;
    }
    const size_t room = run->room ? 2 * run->room : 256;
    struct nest_answered *larger = NEST_NEW(run->arena, struct nest_answered, room);
    if (!larger) {
        return false;
    }
    for (size_t i = 0; i < run->room; i++) {
        if (run->answered[i].used) {
            memcpy(slot(larger, room, &run->answered[i].question), &run->answered[i],
                   sizeof(*larger));
        }
    }
    run->answered = larger;
    run->room = room;
    return true;
}

static void ask_script(struct nest_override_run *run, const struct question *question, double *fw,
                       double *bw)
{
    struct call call = {.run = run, .question = question, .fw = *fw, .bw = *bw};
    if (run->status == NEST_OK) {
        run->status = nest_sandbox_run(nest_sandbox_of(run->L), run_call, &call, &run->errors);
    }
    if (run->status == NEST_OK) {
        *fw = call.fw;
        *bw = call.bw;
    }
}

static void ask(struct nest_override_run *run, const struct question *question, double *fw,
                double *bw)
{
    pthread_mutex_lock(&run->lock);
    struct nest_answered *known = make_room(run) ? slot(run->answered, run->room, question) : NULL;
    if (known && known->used) {
        *fw = known->fw;
        *bw = known->bw;
    } else {
        ask_script(run, question, fw, bw);
        if (known) {
            known->used = true;
            memcpy(&known->question, question, sizeof(*question));
            known->fw = *fw;
            known->bw = *bw;
            run->count++;
        }
    }
    pthread_mutex_unlock(&run->lock);
}

/* ---- The record ------------------------------------------------------------------------- */

static void override_compute(void *context, const struct nest_layer_kind *kind,
                             const struct nest_strategy *s, double *fw, double *bw)
{
    struct question q;
    memset(&q, 0, sizeof(q));
    q.hook = HOOK_COMPUTE;
    q.kind = kind;
    q.tp = s->tp;
    q.cp = s->cp;
    q.ep = s->ep;
    q.etp = s->etp;
    q.sp = s->sp;
    q.micro_batch = s->micro_batch;
    q.fw = *fw;
    q.bw = *bw;
    ask(context, &q, fw, bw);
}

static double override_collective(void *context, enum nest_collective kind,
                                  const struct nest_comm *comm, double bytes, double seconds)
{
    struct question q;
    double unused = 0;
    memset(&q, 0, sizeof(q));
    q.hook = HOOK_COLLECTIVE;
    q.collective = (int64_t)kind;
    q.level = comm->top;
    q.comm.size = comm->size;
    q.bytes = bytes;
    q.fw = seconds;
    ask(context, &q, &seconds, &unused);
    return seconds;
}

static double override_transfer(void *context, int level, int64_t block, double bytes,
                                double seconds)
{
    struct question q;
    double unused = 0;
    memset(&q, 0, sizeof(q));
    q.hook = HOOK_TRANSFER;
    q.level = level;
    q.block = block;
    q.bytes = bytes;
    q.fw = seconds;
    ask(context, &q, &seconds, &unused);
    return seconds;
}

static bool has_hook(lua_State *L, int hooks, enum hook hook)
{
    const bool given = lua_getfield(L, hooks, HOOKS[hook]) == LUA_TFUNCTION;
    lua_pop(L, 1);
    return given;
}

void nest_override_begin(lua_State *L, int hooks, struct nest_problem *problem,
                         struct nest_arena *arena, struct nest_override_run *run)
{
    memset(run, 0, sizeof(*run));
    if (!lua_istable(L, hooks)) {
        return;
    }
    run->L = L;
    run->problem = problem;
    run->arena = arena;
    run->record.context = run;
    run->record.compute = has_hook(L, hooks, HOOK_COMPUTE) ? override_compute : NULL;
    run->record.collective = has_hook(L, hooks, HOOK_COLLECTIVE) ? override_collective : NULL;
    run->record.transfer = has_hook(L, hooks, HOOK_TRANSFER) ? override_transfer : NULL;
    nest_errors_init(&run->errors, arena);
    lua_pushvalue(L, hooks);
    lua_rawsetp(L, LUA_REGISTRYINDEX, run);
    pthread_mutex_init(&run->lock, NULL);
    problem->overrides = &run->record;
}

void nest_override_end(lua_State *L, struct nest_problem *problem, struct nest_override_run *run)
{
    if (!problem->overrides) {
        return;
    }
    problem->overrides = NULL;
    pthread_mutex_destroy(&run->lock);
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, run);
    nest_sandbox_check(L);
    if (run->status != NEST_OK) {
        nest_raise_errors(L, &run->errors);
    }
}

/* ---- Measured curves -------------------------------------------------------------------- */

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

int nest_override_curve(lua_State *L)
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
