/* Clusters described by Lua files (topologies/NAME.lua, or any path). */
#ifndef NEST_SCRIPT_TOPOLOGY_H
#define NEST_SCRIPT_TOPOLOGY_H

#include "input/load.h"

/* Makes the library build clusters from Lua wherever a YAML file is accepted. The library must stay
 * where it is for as long as clusters built through it are edited. */
void nest_topology_install(struct nest_library *library);

#endif
