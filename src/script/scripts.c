#include "script/scripts.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "script/api.h"
#include "script/override.h"
#include "script/sandbox.h"

enum { SCRIPTS_MAX = NEST_OVERRIDE_SOURCES - 1 /* and a console's */ };

struct nest_scripts {
    atomic_int references;
    struct nest_arena arena;
    struct nest_api api;
    struct nest_sandbox *sandbox;
    struct nest_home *home;
    int count;
    const char **path; /* [count]; the addresses are the registry's keys */
};

/* One file. */
struct loading {
    struct nest_scripts *scripts;
    int index;
};

static int open_api(lua_State *L)
{
    nest_api_open_costs(L, lua_touserdata(L, 1));
    return 0;
}

static int load_file(lua_State *L)
{
    struct loading *loading = lua_touserdata(L, 1);
    const char **path = &loading->scripts->path[loading->index];
    nest_sandbox_load_file(L, *path);
    lua_call(L, 0, 1);
    if (!lua_istable(L, -1)) {
        luaL_error(L, "%s:1: it returns no table; end it with: return {compute = function … end}",
                   *path);
    }
    lua_pushcfunction(L, nest_override_check_call);
    lua_pushvalue(L, -2);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        luaL_error(L, "%s:1: %s", *path, lua_tostring(L, -1));
    }
    lua_rawsetp(L, LUA_REGISTRYINDEX, path);
    return 0;
}

static enum nest_status load_all(struct nest_scripts *scripts,
                                 const struct nest_script_spec *script, struct nest_errors *errors)
{
    enum nest_status status = nest_sandbox_run(scripts->sandbox, open_api, &scripts->api, errors);
    for (int i = 0; i < scripts->count && status == NEST_OK; i++) {
        struct loading loading = {scripts, i};
        scripts->path[i] = nest_arena_strdup(&scripts->arena, script[i].path);
        if (!scripts->path[i]) {
            return NEST_NO_MEMORY;
        }
        const size_t before = errors->count;
        status = nest_sandbox_run(scripts->sandbox, load_file, &loading, errors);
        if (status == NEST_BAD_INPUT && errors->count > before && script[i].mark.line > 0 &&
            !errors->item[before].mark.file) {
            errors->item[before].mark = script[i].mark; /* there is no such file */
        }
    }
    return status;
}

enum nest_status nest_scripts_open(const struct nest_scripts_options *options, int count,
                                   const struct nest_script_spec *script, struct nest_scripts **out,
                                   struct nest_errors *errors)
{
    *out = NULL;
    if (count == 0) {
        return NEST_OK;
    }
    if (count > SCRIPTS_MAX) {
        nest_errors_add(errors, script[SCRIPTS_MAX].mark, NULL, NULL, "more than %d scripts",
                        SCRIPTS_MAX);
        return NEST_BAD_INPUT;
    }
    struct nest_scripts *scripts = calloc(1, sizeof *scripts);
    if (!scripts) {
        return NEST_NO_MEMORY;
    }
    atomic_init(&scripts->references, 1);
    scripts->api = (struct nest_api){.library = options->library, .params.arena = &scripts->arena};
    scripts->count = count;
    scripts->path = NEST_NEW(&scripts->arena, const char *, count);
    const struct nest_sandbox_options sandbox = {
        .limits = NEST_SANDBOX_BUILDER,
        .seed = 1,
        .cancel = options->cancel,
        .print = options->print,
        .print_context = options->context,
    };
    scripts->home = nest_home_new();
    enum nest_status status = scripts->path && scripts->home
                                  ? nest_sandbox_open(&sandbox, &scripts->sandbox)
                                  : NEST_NO_MEMORY;
    if (status == NEST_OK) {
        nest_home_move(scripts->home, nest_sandbox_state(scripts->sandbox));
        status = load_all(scripts, script, errors);
    }
    if (status != NEST_OK) {
        nest_scripts_release(scripts);
        return status;
    }
    *out = scripts;
    return NEST_OK;
}

struct nest_scripts *nest_scripts_retain(struct nest_scripts *scripts)
{
    if (scripts) {
        atomic_fetch_add(&scripts->references, 1);
    }
    return scripts;
}

void nest_scripts_release(struct nest_scripts *scripts)
{
    if (scripts && atomic_fetch_sub(&scripts->references, 1) == 1) {
        nest_sandbox_close(scripts->sandbox);
        nest_home_release(scripts->home);
        nest_arena_free(&scripts->arena);
        free(scripts);
    }
}

static bool add_scripts(struct nest_override_run *run, struct nest_scripts *scripts)
{
    bool added = nest_home_enter(scripts->home, NULL);
    for (int i = 0; i < scripts->count && added; i++) {
        added = nest_override_add(run, scripts->home, nest_home_state(scripts->home),
                                  &scripts->path[i]);
    }
    nest_home_leave(scripts->home);
    return added;
}

struct nest_override_run *nest_scripts_run(struct nest_scripts *scripts,
                                           const struct nest_problem *problem,
                                           const atomic_bool *cancel, struct nest_arena *arena)
{
    struct nest_override_run *run = NEST_NEW(arena, struct nest_override_run, 1);
    if (!run) {
        return NULL;
    }
    nest_override_init(run, problem, arena);
    run->cancel = cancel;
    return !scripts || add_scripts(run, scripts) ? run : NULL;
}

bool nest_scripts_attach(struct nest_scripts *scripts, struct nest_functions *functions,
                         struct nest_problem *problem, const atomic_bool *cancel,
                         struct nest_arena *arena)
{
    problem->overrides = NULL;
    if (!scripts && !functions) {
        return true;
    }
    struct nest_override_run *run = nest_scripts_run(scripts, problem, cancel, arena);
    if (!run || (functions && !nest_override_add_functions(run, functions))) {
        return false;
    }
    problem->overrides = &run->record;
    return true;
}
