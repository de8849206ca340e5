/* Measured curves for cost overrides. */
#ifndef NEST_SCRIPT_CURVE_H
#define NEST_SCRIPT_CURVE_H

#include <lua.h>

/* nest.curve{{x, y}, …}: a function that interpolates between measured points. */
int nest_curve_new(lua_State *L);

#endif
