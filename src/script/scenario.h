/* Scenarios as objects of scripts: s = nest.scenario{…}; s:set, s:pin, s:solve, s:eval, s:sweep. */
#ifndef NEST_SCRIPT_SCENARIO_H
#define NEST_SCRIPT_SCENARIO_H

#include <lua.h>

#include "script/api.h"
#include "script/home.h"

/* Declares the methods. */
void nest_scenario_open(lua_State *L, struct nest_api *api);

/* nest.scenario{…} or nest.scenario(PATH); upvalue 1 is the API. */
int nest_scenario_new(lua_State *L);

/* A scenario of the host's that a script sees and edits as an object. */
struct nest_live {
    const struct nest_scenario_spec *spec; /* copied; its texts lie with the owner */
    struct nest_arena *arena;              /* of the owner: texts of edits go there */
    struct nest_scripts *scripts;          /* of spec, or NULL; retained */
    struct nest_functions *functions;      /* that a chunk put there, or NULL */
    void *owner;                           /* released when the state no longer needs its texts */
    void (*retain)(void *owner);
    void (*release)(void *owner);
};

/* Makes *live the state's one live scenario and pushes its object: the same object every time, so
 * that scripts may keep it. Inside a run; raises. */
void nest_scenario_bind(lua_State *L, const struct nest_live *live);

/* The live scenario as the script left it; *out is as it was if there is none. *replaced: its
 * overrides are others than it was bound with, and lie under the address of fresh unless that has
 * no hooks. */
void nest_scenario_unbind(lua_State *L, struct nest_scenario_spec *out,
                          struct nest_functions *fresh, bool *replaced);

/* nest.compare(s): the plans of the peers beside ours; upvalue 1 is the API. */
int nest_scenario_compare(lua_State *L);

#endif
