#include "script/pricing.h"

#include <lauxlib.h>

#include "script/override.h"
#include "script/sandbox.h"
#include "script/tree.h"

void nest_pricing_begin(lua_State *L, struct nest_scripts *scripts, const void *key,
                        struct nest_problem *problem, struct nest_arena *arena)
{
    const bool live = lua_istable(L, -1);
    if (live || scripts) {
        struct nest_override_run *run =
            nest_scripts_run(scripts, problem, nest_sandbox_cancel(nest_sandbox_of(L)), arena);
        if (!run) {
            luaL_error(L, "not enough memory");
            return;
        }
        if (live) {
            lua_pushvalue(L, -1);
            lua_rawsetp(L, LUA_REGISTRYINDEX, key);
            (void)nest_override_add(run, NULL, L, key);
        }
        problem->overrides = &run->record;
    }
    lua_pop(L, 1);
    nest_sandbox_pause(L);
}

const struct nest_touched *nest_pricing_touch(const struct nest_problem *problem,
                                              const struct nest_plan *plan,
                                              const struct nest_prediction *prediction,
                                              struct nest_arena *arena)
{
    struct nest_touched *touched =
        problem->overrides ? NEST_NEW(arena, struct nest_touched, 1) : NULL;
    return touched && nest_plan_touch(problem, plan, prediction, arena, touched) ? touched : NULL;
}

void nest_pricing_end(lua_State *L, const struct nest_problem *problem, struct nest_arena *arena)
{
    struct nest_errors errors;
    nest_sandbox_resume(L);
    nest_errors_init(&errors, arena);
    const enum nest_status status = nest_problem_fault(problem, &errors);
    nest_sandbox_check(L);
    if (status == NEST_NO_MEMORY) {
        luaL_error(L, "not enough memory");
    } else if (status != NEST_OK) {
        nest_raise_errors(L, &errors);
    }
}
