#include "script/scenario.h"

#include <lauxlib.h>
#include <string.h>

#include "input/set.h"
#include "plan/problem.h"
#include "script/answer.h"
#include "script/ordered.h"
#include "script/override.h"
#include "script/pricing.h"
#include "script/scripts.h"
#include "script/tree.h"
#include "solve/peers/peer.h"
#include "solve/solve.h"

#define SCENARIO "nest.scenario"

/* What a scenario keeps alive: the owner of the texts it borrows, and its table of overrides. */
enum { USER_ORIGIN = 1, USER_OVERRIDES = 2 };

struct scenario {
    struct nest_arena own;
    struct nest_arena *arena; /* of the spec's edits: its own, or the host's */
    struct nest_scenario_spec spec;
    struct nest_scripts *scripts;           /* of its list */
    const struct nest_functions *functions; /* of the live one: that it was bound with */
};

/* What keeps the host's texts alive for as long as a script can reach them. */
#define KEEPER "nest.keeper"

struct keeper {
    void *owner;
    void (*release)(void *owner);
};

static const char LIVE = 0; /* its address is the key of the live scenario */

static struct nest_api *api_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static struct scenario *check(lua_State *L, int index)
{
    return luaL_checkudata(L, index, SCENARIO);
}

static int free_scenario(lua_State *L)
{
    struct scenario *scenario = lua_touserdata(L, 1);
    nest_scripts_release(scenario->scripts);
    nest_arena_free(&scenario->own);
    return 0;
}

static struct scenario *push_scenario(lua_State *L)
{
    struct scenario *scenario = lua_newuserdatauv(L, sizeof(*scenario), 2);
    memset(scenario, 0, sizeof(*scenario));
    scenario->arena = &scenario->own;
    luaL_setmetatable(L, SCENARIO);
    return scenario;
}

/* A copy with its own edits; the texts that it shares stay alive with the original, or with what
 * keeps the live scenario's. */
static struct scenario *push_copy(lua_State *L, int index)
{
    const int origin = lua_absindex(L, index);
    const struct scenario *from = check(L, origin);
    struct scenario *copy = push_scenario(L);
    copy->spec = from->spec;
    copy->scripts = nest_scripts_retain(from->scripts);
    copy->spec.cluster.device = &copy->spec.device;
    if (from->arena == &from->own) {
        lua_pushvalue(L, origin);
    } else {
        lua_getiuservalue(L, origin, USER_ORIGIN);
    }
    lua_setiuservalue(L, -2, USER_ORIGIN);
    lua_getiuservalue(L, origin, USER_OVERRIDES);
    lua_setiuservalue(L, -2, USER_OVERRIDES);
    return copy;
}

/* ---- Making ----------------------------------------------------------------------------- */

static void default_field(lua_State *L, int table, const char *key, const char *value)
{
    if (lua_getfield(L, table, key) == LUA_TNIL) {
        lua_pushstring(L, value);
        lua_setfield(L, table, key);
    }
    lua_pop(L, 1);
}

int nest_scenario_new(lua_State *L)
{
    const struct nest_library *library = api_of(L)->library;
    struct scenario *scenario = push_scenario(L);
    struct nest_errors errors;
    nest_errors_init(&errors, scenario->arena);
    enum nest_status status;
    if (lua_isstring(L, 1)) {
        const struct nest_scenario_request request = {.scenario = lua_tostring(L, 1)};
        status = nest_load_scenario(library, &request, scenario->arena, &scenario->spec, &errors);
    } else {
        luaL_checktype(L, 1, LUA_TTABLE);
        default_field(L, 1, "model", "llama3-70b");
        default_field(L, 1, "cluster", "h100-spine-leaf");
        const struct nest_node *root = nest_tree_of(L, 1, scenario->arena);
        status = nest_scenario_from_tree(library, root, scenario->arena, &scenario->spec, &errors);
    }
    if (status == NEST_OK) {
        const struct nest_scripts_options options = {.library = library,
                                                     .cancel = api_of(L)->cancel};
        status = nest_scripts_open(&options, scenario->spec.scripts, scenario->spec.script,
                                   &scenario->scripts, &errors);
    }
    if (status != NEST_OK) {
        return nest_raise_errors(L, &errors);
    }
    scenario->spec.cluster.device = &scenario->spec.device;
    return 1;
}

static int scenario_text(lua_State *L)
{
    const struct scenario *scenario = check(L, 1);
    lua_pushfstring(L, "scenario: %s on %s", scenario->spec.model.name,
                    scenario->spec.cluster.name);
    return 1;
}

static int scenario_copy(lua_State *L)
{
    push_copy(L, 1);
    return 1;
}

/* ---- The live one ----------------------------------------------------------------------- */

static int free_keeper(lua_State *L)
{
    const struct keeper *keeper = lua_touserdata(L, 1);
    if (keeper->release) {
        keeper->release(keeper->owner);
    }
    return 0;
}

/* The reference is taken last, when nothing can be raised any more. */
static void push_keeper(lua_State *L, const struct nest_live *live)
{
    struct keeper *keeper = lua_newuserdatauv(L, sizeof(*keeper), 0);
    *keeper = (struct keeper){0};
    if (luaL_newmetatable(L, KEEPER)) {
        lua_pushcfunction(L, free_keeper);
        lua_setfield(L, -2, "__gc");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
    live->retain(live->owner);
    *keeper = (struct keeper){live->owner, live->release};
}

void nest_scenario_bind(lua_State *L, const struct nest_live *live)
{
    struct scenario *scenario;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &LIVE) == LUA_TUSERDATA) {
        scenario = lua_touserdata(L, -1);
    } else {
        lua_pop(L, 1);
        scenario = push_scenario(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &LIVE);
    }
    push_keeper(L, live);
    lua_setiuservalue(L, -2, USER_ORIGIN);
    if (live->functions) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, live->functions);
    } else {
        lua_pushnil(L);
    }
    lua_setiuservalue(L, -2, USER_OVERRIDES);
    nest_scripts_release(scenario->scripts);
    scenario->scripts = nest_scripts_retain(live->scripts);
    scenario->functions = live->functions;
    scenario->arena = live->arena;
    scenario->spec = *live->spec;
    scenario->spec.cluster.device = &scenario->spec.device;
}

/* Whether the overrides on top of the stack are those that the scenario was bound with. */
static bool are_bound(lua_State *L, const struct nest_functions *bound)
{
    if (!bound) {
        return lua_isnil(L, -1);
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, bound);
    const bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 1);
    return same;
}

void nest_scenario_unbind(lua_State *L, struct nest_scenario_spec *out,
                          struct nest_functions *fresh, bool *replaced)
{
    *replaced = false;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &LIVE) == LUA_TUSERDATA) {
        const struct scenario *scenario = lua_touserdata(L, -1);
        *out = scenario->spec;
        out->cluster.device = &out->device;
        lua_getiuservalue(L, -1, USER_OVERRIDES);
        *replaced = !are_bound(L, scenario->functions);
        fresh->hooks = *replaced && lua_istable(L, -1) ? nest_override_hooks(L, -1) : 0;
        if (fresh->hooks) {
            lua_pushvalue(L, -1);
            lua_rawsetp(L, LUA_REGISTRYINDEX, fresh);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* ---- Editing ---------------------------------------------------------------------------- */

static const char *value_text(lua_State *L, int index)
{
    if (lua_isboolean(L, index)) {
        return lua_toboolean(L, index) ? "true" : "false";
    }
    if (lua_type(L, index) == LUA_TNUMBER && !lua_isinteger(L, index)) {
        int whole;
        const lua_Integer number = lua_tointegerx(L, index, &whole);
        return whole ? lua_pushfstring(L, "%I", (LUAI_UACINT)number)
                     : lua_pushfstring(L, "%f", lua_tonumber(L, index));
    }
    lua_pushvalue(L, index);
    return lua_tostring(L, -1);
}

static void set_one(lua_State *L, struct scenario *scenario, const char *path, int value)
{
    const char *text = value_text(L, value);
    if (!text) {
        luaL_error(L, "%s cannot be set to a %s", path, luaL_typename(L, value));
    }
    struct nest_errors errors;
    nest_errors_init(&errors, scenario->arena);
    const struct nest_mark nowhere = {0};
    if (nest_set(&scenario->spec, path, text, nowhere, scenario->arena, &errors) != NEST_OK) {
        nest_raise_errors(L, &errors);
    }
    lua_pop(L, 1);
}

static void pin_one(lua_State *L, struct scenario *scenario, const char *key, int value)
{
    const char *text = value_text(L, value);
    if (!text) {
        luaL_error(L, "%s cannot be pinned to a %s", key, luaL_typename(L, value));
    }
    struct nest_errors errors;
    nest_errors_init(&errors, scenario->arena);
    const struct nest_mark nowhere = {0};
    if (nest_pin_set(&scenario->spec.pins, key, text, nowhere, &errors) != NEST_OK) {
        nest_raise_errors(L, &errors);
    }
    lua_pop(L, 1);
}

/* Calls one for each key of the table at index, in the order of the keys. */
static void each_pair(lua_State *L, int index, struct scenario *scenario,
                      void (*one)(lua_State *, struct scenario *, const char *, int))
{
    const int table = lua_absindex(L, index);
    nest_ordered_keys(L, table);
    const int keys = lua_gettop(L);
    const lua_Integer count = (lua_Integer)lua_rawlen(L, keys);
    for (lua_Integer i = 1; i <= count; i++) {
        if (lua_rawgeti(L, keys, i) != LUA_TSTRING) {
            luaL_error(L, "expected NAME = value, not a list");
        }
        lua_pushvalue(L, -1);
        lua_rawget(L, table);
        one(L, scenario, lua_tostring(L, -2), lua_gettop(L));
        lua_settop(L, keys);
    }
    lua_settop(L, keys - 1);
}

static int edit(lua_State *L, void (*one)(lua_State *, struct scenario *, const char *, int))
{
    struct scenario *scenario = check(L, 1);
    if (lua_istable(L, 2)) {
        each_pair(L, 2, scenario, one);
    } else {
        luaL_checkany(L, 3);
        one(L, scenario, luaL_checkstring(L, 2), 3);
    }
    lua_settop(L, 1);
    return 1;
}

static int scenario_set(lua_State *L)
{
    return edit(L, set_one);
}

static int scenario_pin(lua_State *L)
{
    return edit(L, pin_one);
}

/* s:override{…}: replaces all hooks; s:override{} takes them away. The table is copied: what the
 * script does to it later changes no scenario. */
static int scenario_override(lua_State *L)
{
    check(L, 1);
    lua_settop(L, 2);
    nest_override_check(L, 2);
    lua_createtable(L, 0, NEST_HOOKS);
    for (int i = 0; i < NEST_HOOKS; i++) {
        lua_getfield(L, 2, nest_hook_name((enum nest_hook)i));
        lua_setfield(L, 3, nest_hook_name((enum nest_hook)i));
    }
    lua_setiuservalue(L, 1, USER_OVERRIDES);
    lua_settop(L, 1);
    return 1;
}

static int scenario_get(lua_State *L)
{
    const struct scenario *scenario = check(L, 1);
    const char *path = luaL_checkstring(L, 2);
    struct nest_arena *arena = nest_push_arena(L);
    const char *text = nest_get(&scenario->spec, path, arena);
    if (!text) {
        return luaL_error(L, "there is no '%s' to get", path);
    }
    if (lua_stringtonumber(L, text) == 0) {
        lua_pushstring(L, text);
    }
    return 1;
}

static int scenario_paths(lua_State *L)
{
    const struct scenario *scenario = check(L, 1);
    struct nest_arena *arena = nest_push_arena(L);
    const char **path = nest_paths(&scenario->spec, arena);
    lua_newtable(L);
    for (int i = 0; path && path[i]; i++) {
        lua_pushstring(L, path[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* ---- Answers ---------------------------------------------------------------------------- */

/* nil and why not. */
static int push_reason(lua_State *L, const struct nest_errors *errors)
{
    lua_pushnil(L);
    if (errors->count == 0) {
        lua_pushliteral(L, "no plan is feasible");
    } else {
        const struct nest_error *error = &errors->item[0];
        lua_pushfstring(L, "%s%s%s", error->message, error->hint ? "; " : "",
                        error->hint ? error->hint : "");
    }
    return 2;
}

/* A problem in a scratch arena, which is left on the stack. Raises what is wrong. */
static struct nest_arena *push_problem(lua_State *L, const struct scenario *scenario,
                                       struct nest_problem *problem)
{
    struct nest_arena *arena = nest_push_arena(L);
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    if (nest_problem_build(&scenario->spec, arena, problem, &errors) != NEST_OK) {
        nest_raise_errors(L, &errors);
    }
    return arena;
}

/* From here on the problem has the overrides of the scenario at index, its scripts' first, and the
 * sandbox is paused. */
static void begin_pricing(lua_State *L, int index, struct nest_problem *problem,
                          struct nest_arena *arena)
{
    struct scenario *scenario = check(L, index);
    lua_getiuservalue(L, index, USER_OVERRIDES);
    nest_pricing_begin(L, scenario->scripts, scenario, problem, arena);
}

static int solve(lua_State *L, const struct nest_api *api, int index, int top)
{
    const struct scenario *scenario = check(L, index);
    struct nest_problem problem;
    struct nest_arena *arena = push_problem(L, scenario, &problem);
    const struct nest_solve_options options = {
        .top = top,
        .threads = api->threads > 0 ? api->threads : 1,
        .cancel = api->cancel,
    };
    struct nest_result result;
    begin_pricing(L, index, &problem, arena);
    const enum nest_status status = nest_solve(&problem, &options, arena, &result);
    const struct nest_solution *best = status == NEST_OK ? result.solution : NULL;
    const struct nest_touched *touched =
        best ? nest_pricing_touch(&problem, &best->plan, &best->prediction, arena) : NULL;
    nest_pricing_end(L, &problem, arena);
    if (status == NEST_NO) {
        return push_reason(L, &result.errors);
    }
    if (status != NEST_OK) {
        return luaL_error(L, "not enough memory to solve");
    }
    result.progress.seconds = 0;
    const struct nest_outcome document = {
        .scenario = &scenario->spec,
        .problem = &problem,
        .plan = &result.solution[0].plan,
        .prediction = &result.solution[0].prediction,
        .search = &result.progress,
        .alternatives = result.count - 1,
        .alternative = result.solution + 1,
        .touched = touched,
    };
    nest_answer_push(L, &document, arena);
    return 1;
}

static int scenario_solve(lua_State *L)
{
    lua_settop(L, 2);
    lua_Integer top = 1;
    if (lua_istable(L, 2)) {
        lua_getfield(L, 2, "top");
        top = luaL_optinteger(L, -1, 1);
    }
    luaL_argcheck(L, top >= 1 && top <= 1000, 2, "top is 1 to 1000");
    return solve(L, api_of(L), 1, (int)top);
}

/* The answer for one plan of the problem. */
static int push_plan(lua_State *L, int index, struct nest_problem *problem,
                     const struct nest_plan *plan, const char **assumed, struct nest_arena *arena)
{
    const struct scenario *scenario = check(L, index);
    struct nest_prediction prediction;
    begin_pricing(L, index, problem, arena);
    const bool priced = nest_plan_evaluate(problem, plan, arena, &prediction);
    const struct nest_touched *touched =
        priced ? nest_pricing_touch(problem, plan, &prediction, arena) : NULL;
    nest_pricing_end(L, problem, arena);
    if (!priced) {
        return luaL_error(L, "not enough memory");
    }
    const struct nest_outcome document = {
        .scenario = &scenario->spec,
        .problem = problem,
        .plan = plan,
        .prediction = &prediction,
        .assumed = assumed,
        .touched = touched,
    };
    nest_answer_push(L, &document, arena);
    return 1;
}

static bool is_plan(lua_State *L, int index)
{
    const bool plan = lua_istable(L, index) && (lua_getfield(L, index, "plan") != LUA_TNIL ||
                                                lua_getfield(L, index, "stages") != LUA_TNIL);
    return plan;
}

/* s:eval{pins}, s:eval(plan) or s:eval(answer). */
static int scenario_eval(lua_State *L)
{
    lua_settop(L, 2);
    struct scenario *scenario = push_copy(L, 1);
    const int copy = lua_gettop(L);
    struct nest_problem problem;
    struct nest_plan plan;
    const char **assumed = NULL;
    enum nest_status status;
    const bool given = is_plan(L, 2);
    if (!given && !lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        each_pair(L, 2, scenario, pin_one);
    }
    struct nest_arena *arena = push_problem(L, scenario, &problem);
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    if (given) {
        if (lua_getfield(L, 2, "plan") == LUA_TNIL) {
            lua_pushvalue(L, 2);
        }
        struct nest_plan_spec spec;
        const struct nest_node *root = nest_tree_of(L, -1, arena);
        if (nest_plan_from_tree(root, arena, &spec, &errors) != NEST_OK) {
            return nest_raise_errors(L, &errors);
        }
        status = nest_plan_from_spec(&problem, &spec, arena, &plan, &errors);
    } else {
        status = nest_plan_from_pins(&problem, arena, &plan, &assumed, &errors);
    }
    if (status == NEST_NO) {
        return push_reason(L, &errors);
    }
    if (status != NEST_OK) {
        return nest_raise_errors(L, &errors);
    }
    return push_plan(L, copy, &problem, &plan, assumed, arena);
}

/* ---- Many answers ----------------------------------------------------------------------- */

/* Turns the reason on top into {feasible = false, reason = …}. */
static void push_failure(lua_State *L)
{
    lua_createtable(L, 0, 3);
    lua_insert(L, -2);
    lua_setfield(L, -2, "reason");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "feasible");
}

/* Solves a copy with path set to the value at index; leaves the answer, or {feasible = false,
 * reason = …}, with the value in it. */
static void solve_with(lua_State *L, const struct nest_api *api, const char *path, int value)
{
    const int top = lua_gettop(L);
    struct scenario *copy = push_copy(L, 1);
    set_one(L, copy, path, value);
    if (solve(L, api, lua_gettop(L), 1) == 2) {
        push_failure(L);
    }
    lua_pushvalue(L, value);
    lua_setfield(L, -2, "value");
    lua_insert(L, top + 1);
    lua_settop(L, top + 1);
}

/* s:sweep(PATH, {values}): one answer per value, in order. */
static int scenario_sweep(lua_State *L)
{
    check(L, 1);
    const char *path = luaL_checkstring(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    const lua_Integer count = (lua_Integer)lua_rawlen(L, 3);
    lua_newtable(L);
    const int rows = lua_gettop(L);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, 3, i);
        solve_with(L, api_of(L), path, lua_gettop(L));
        lua_rawseti(L, rows, i);
        lua_settop(L, rows);
    }
    return 1;
}

static void name_row(lua_State *L, int rows, const char *planner)
{
    lua_pushstring(L, planner);
    lua_setfield(L, -2, "planner");
    lua_rawseti(L, rows, (lua_Integer)lua_rawlen(L, rows) + 1);
    lua_settop(L, rows);
}

static void push_peer(lua_State *L, const struct nest_api *api, const struct scenario *scenario,
                      const struct nest_peer *peer)
{
    struct nest_problem problem;
    struct nest_arena *arena = push_problem(L, scenario, &problem);
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    struct nest_plan plan;
    nest_sandbox_pause(L);
    const enum nest_status status = peer->propose(&problem, api->cancel, arena, &plan, &errors);
    nest_sandbox_resume(L);
    nest_sandbox_check(L);
    if (status == NEST_OK) {
        push_plan(L, 1, &problem, &plan, NULL, arena);
        return;
    }
    push_reason(L, &errors);
    push_failure(L);
}

int nest_scenario_compare(lua_State *L)
{
    const struct scenario *scenario = check(L, 1);
    const struct nest_api *api = api_of(L);
    lua_newtable(L);
    const int rows = lua_gettop(L);
    if (solve(L, api, 1, 1) == 2) {
        push_failure(L);
    }
    name_row(L, rows, "Nest");
    for (const struct nest_peer *peer = nest_peers; peer->name; peer++) {
        push_peer(L, api, scenario, peer);
        name_row(L, rows, peer->name);
    }
    return 1;
}

void nest_scenario_open(lua_State *L, struct nest_api *api)
{
    static const luaL_Reg methods[] = {
        {"copy", scenario_copy},   {"eval", scenario_eval},
        {"get", scenario_get},     {"override", scenario_override},
        {"paths", scenario_paths}, {"pin", scenario_pin},
        {"set", scenario_set},     {"solve", scenario_solve},
        {"sweep", scenario_sweep}, {NULL, NULL},
    };
    luaL_newmetatable(L, SCENARIO);
    lua_newtable(L);
    for (const luaL_Reg *method = methods; method->name; method++) {
        lua_pushlightuserdata(L, api);
        lua_pushcclosure(L, method->func, 1);
        lua_setfield(L, -2, method->name);
    }
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, free_scenario);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, scenario_text);
    lua_setfield(L, -2, "__tostring");
    lua_pushstring(L, "scenario");
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}
