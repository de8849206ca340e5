#include "script/api.h"

#include <lauxlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "input/doc.h"
#include "model/model.h"
#include "script/answer.h"
#include "script/chart.h"
#include "script/curve.h"
#include "script/fields.h"
#include "script/lesson.h"
#include "script/library.h"
#include "script/scenario.h"
#include "script/tree.h"

static struct nest_api *api_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* nest.model(NAME): what `nest show MODEL` knows. */
static int api_model(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    struct nest_arena *arena = nest_push_arena(L);
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    struct nest_model_spec spec;
    struct nest_model model;
    if (nest_load_model(api_of(L)->library, name, arena, &spec, &errors) != NEST_OK ||
        nest_model_expand(&spec, arena, &model, &errors) != NEST_OK) {
        return nest_raise_errors(L, &errors);
    }
    lua_newtable(L);
    nest_lua_set_text(L, "id", spec.id);
    nest_lua_set_text(L, "name", spec.name);
    nest_lua_set_integer(L, "layers", spec.layers);
    nest_lua_set_integer(L, "hidden", spec.hidden);
    nest_lua_set_integer(L, "ffn", spec.ffn);
    nest_lua_set_integer(L, "heads", spec.heads);
    nest_lua_set_integer(L, "kv_heads", spec.kv_heads);
    nest_lua_set_integer(L, "vocab", spec.vocab);
    nest_lua_set_integer(L, "seq", spec.seq);
    nest_lua_set_integer(L, "experts", spec.experts);
    nest_lua_set_integer(L, "top_k", spec.top_k);
    nest_lua_set_integer(L, "params", model.params);
    nest_lua_set_integer(L, "active_params", model.active_params);
    return 1;
}

static void push_device(lua_State *L, const struct nest_device_spec *device)
{
    static const char *const precision[] = {"bf16", "fp16", "fp8", "fp32"};
    lua_newtable(L);
    nest_lua_set_text(L, "id", device->id);
    nest_lua_set_text(L, "name", device->name);
    nest_lua_set_number(L, "memory", device->memory);
    nest_lua_set_number(L, "memory_bandwidth", device->memory_bandwidth);
    lua_newtable(L);
    for (int i = 0; i < NEST_PRECISIONS; i++) {
        if (device->peak[i] > 0) {
            nest_lua_set_number(L, precision[i], device->peak[i]);
        }
    }
    lua_setfield(L, -2, "peak");
}

static void push_level(lua_State *L, const struct nest_level *level)
{
    lua_newtable(L);
    nest_lua_set_text(L, "name", level->name);
    nest_lua_set_integer(L, "fanout", level->fanout);
    nest_lua_set_integer(L, "capacity", level->capacity);
    nest_lua_set_integer(L, "groups", level->groups);
    nest_lua_set_number(L, "bandwidth", level->bandwidth);
    nest_lua_set_number(L, "latency", level->latency);
    nest_lua_set_number(L, "oversubscription", level->oversubscription);
}

static void push_knobs(lua_State *L, const struct nest_cluster_spec *spec)
{
    lua_newtable(L);
    for (int i = 0; i < spec->params; i++) {
        lua_newtable(L);
        nest_lua_set_text(L, "name", spec->param[i].name);
        nest_lua_set_number(L, "value", spec->param[i].value);
        nest_lua_set_number(L, "low", spec->param[i].low);
        nest_lua_set_number(L, "high", spec->param[i].high);
        lua_rawseti(L, -2, i + 1);
    }
}

/* nest.cluster(NAME): what `nest show CLUSTER` knows. */
static int api_cluster(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    struct nest_arena *arena = nest_push_arena(L);
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    struct nest_cluster_spec spec;
    struct nest_cluster cluster;
    if (nest_load_cluster(api_of(L)->library, name, arena, &spec, &errors) != NEST_OK ||
        nest_cluster_build(&spec, 0, arena, &cluster, &errors) != NEST_OK) {
        return nest_raise_errors(L, &errors);
    }
    lua_newtable(L);
    nest_lua_set_text(L, "id", spec.id);
    nest_lua_set_text(L, "name", spec.name);
    nest_lua_set_integer(L, "devices", cluster.devices);
    push_device(L, spec.device);
    lua_setfield(L, -2, "device");
    lua_newtable(L);
    for (int i = 0; i < cluster.levels; i++) {
        push_level(L, &cluster.level[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "levels");
    push_knobs(L, &spec);
    lua_setfield(L, -2, "knobs");
    return 1;
}

/* nest.format(VALUE, UNIT): 50e9, "bandwidth" → "50 GB/s". */
static int api_format(lua_State *L)
{
    static const char *const words[] = {"none",  "bytes", "bandwidth", "seconds",
                                        "flops", "ratio", NULL};
    static const enum nest_unit units[] = {NEST_UNIT_NONE,    NEST_UNIT_BYTES, NEST_UNIT_BANDWIDTH,
                                           NEST_UNIT_SECONDS, NEST_UNIT_FLOPS, NEST_UNIT_RATIO};
    char text[64];
    const double value = luaL_checknumber(L, 1);
    lua_pushstring(L, nest_unit_format(value, units[luaL_checkoption(L, 2, "none", words)], text,
                                       sizeof(text)));
    return 1;
}

/* nest.parse(TEXT, UNIT): "400Gb/s", "bandwidth" → 50e9. */
static int api_parse(lua_State *L)
{
    static const char *const words[] = {"bytes", "bandwidth", "seconds", "flops", "ratio", NULL};
    static const enum nest_unit units[] = {NEST_UNIT_BYTES, NEST_UNIT_BANDWIDTH, NEST_UNIT_SECONDS,
                                           NEST_UNIT_FLOPS, NEST_UNIT_RATIO};
    const char *text = luaL_checkstring(L, 1);
    const enum nest_unit unit = units[luaL_checkoption(L, 2, NULL, words)];
    double value = 0;
    const char *hint = NULL;
    char scratch[128];
    const char *fault = nest_unit_parse(text, unit, &value, &hint, scratch, sizeof(scratch));
    if (fault) {
        return luaL_error(L, "%s%s%s", fault, hint ? "; " : "", hint ? hint : "");
    }
    lua_pushnumber(L, value);
    return 1;
}

/* nest.read(PATH): only what the user named among the script's arguments. */
static int api_read(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    const struct nest_api *api = api_of(L);
    bool named = false;
    for (int i = 0; i < api->arguments; i++) {
        named |= strcmp(api->argument[i], path) == 0;
    }
    if (!named) {
        return luaL_error(L, "nest.read reads only files that are arguments of the script");
    }
    struct nest_arena *arena = nest_push_arena(L);
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    const char *text = NULL;
    size_t length = 0;
    const struct nest_node *root = NULL;
    if (nest_file_read(path, arena, &text, &length, &errors) != NEST_OK ||
        nest_doc_parse(path, text, length, arena, &root, &errors) != NEST_OK) {
        return nest_raise_errors(L, &errors);
    }
    nest_answer_push_node(L, root);
    return 1;
}

static const luaL_Reg cost_functions[] = {
    {"cluster", api_cluster}, {"curve", nest_curve_new}, {"format", api_format},
    {"model", api_model},     {"parse", api_parse},      {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"compare", nest_scenario_compare}, {"lesson", nest_lesson_run}, {"read", api_read},
    {"scenario", nest_scenario_new},    {"bars", nest_chart_bars},   {"plot", nest_chart_plot},
    {"schedule", nest_chart_schedule},  {"table", nest_chart_table}, {NULL, NULL},
};

/* Adds the functions to the table on top. */
static void add_functions(lua_State *L, struct nest_api *api, const luaL_Reg *function)
{
    for (; function->name; function++) {
        lua_pushlightuserdata(L, api);
        lua_pushcclosure(L, function->func, 1);
        lua_setfield(L, -2, function->name);
    }
}

void nest_api_open_costs(lua_State *L, struct nest_api *api)
{
    lua_newtable(L);
    add_functions(L, api, cost_functions);
    lua_setglobal(L, "nest");
}

void nest_api_open(lua_State *L, struct nest_api *api)
{
    nest_builder_open(L, &api->params);
    nest_scenario_open(L, api);
    lua_newtable(L);
    add_functions(L, api, cost_functions);
    add_functions(L, api, functions);
    lua_setglobal(L, "nest");
}

struct script_run {
    const struct nest_script *script;
    struct nest_api api;
};

static int run_script(lua_State *L)
{
    struct script_run *run = lua_touserdata(L, 1);
    nest_api_open(L, &run->api);
    lua_createtable(L, run->script->arguments, 1);
    lua_pushstring(L, run->script->path);
    lua_rawseti(L, -2, 0);
    for (int i = 0; i < run->script->arguments; i++) {
        lua_pushstring(L, run->script->argument[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setglobal(L, "arg");
    nest_sandbox_load_file(L, run->script->path);
    lua_call(L, 0, 0);
    return 0;
}

enum nest_status nest_script_run(const struct nest_script *script, struct nest_arena *arena,
                                 const char **traceback, struct nest_errors *errors)
{
    const struct nest_sandbox_options options = {
        .limits = NEST_SANDBOX_SCRIPT,
        .seed = script->seed,
        .cancel = script->cancel,
        .unsafe = script->unsafe,
        .print = script->print,
        .print_context = script->context,
    };
    struct script_run run = {
        .script = script,
        .api = {.library = script->library,
                .threads = script->threads,
                .cancel = script->cancel,
                .argument = script->argument,
                .arguments = script->arguments,
                .params = {.arena = arena}},
    };
    struct nest_sandbox *sandbox = NULL;
    enum nest_status status = nest_sandbox_open(&options, &sandbox);
    if (status == NEST_OK) {
        status = nest_sandbox_run(sandbox, run_script, &run, errors);
        if (traceback) {
            *traceback = nest_arena_strdup(arena, nest_sandbox_traceback(sandbox));
        }
        nest_sandbox_close(sandbox);
    }
    return status;
}
