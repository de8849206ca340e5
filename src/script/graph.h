/* graph(): a fabric of devices, switches and links, said by programs instead of lists.
 *
 * The object is the table that a YAML file's `graph:` holds, with methods that add to it;
 * cluster{…, graph = g} becomes levels as input/graph.h says. */
#ifndef NEST_SCRIPT_GRAPH_H
#define NEST_SCRIPT_GRAPH_H

#include <lua.h>

/* Adds the word to the globals. */
void nest_graph_open(lua_State *L);

#endif
