/* Scenarios as objects of scripts: s = nest.scenario{…}; s:set, s:pin, s:solve, s:eval, s:sweep. */
#ifndef NEST_SCRIPT_SCENARIO_H
#define NEST_SCRIPT_SCENARIO_H

#include <lua.h>

#include "script/api.h"

/* Declares the methods. */
void nest_scenario_open(lua_State *L, struct nest_api *api);

/* nest.scenario{…} or nest.scenario(PATH); upvalue 1 is the API. */
int nest_scenario_new(lua_State *L);

/* nest.compare(s): the plans of the peers beside ours; upvalue 1 is the API. */
int nest_scenario_compare(lua_State *L);

#endif
