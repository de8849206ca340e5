/* The words in which scripts describe clusters: level, node, ring, torus, cluster, param, graph.
 *
 * A group is a table of one level's figures with what lies below it as its array part: other groups
 * or group:times(n). cluster{…} flattens the tree of groups into levels, innermost first, with runs
 * of fan-outs where groups differ, and returns the same table that a YAML file holds. */
#ifndef NEST_SCRIPT_BUILDER_H
#define NEST_SCRIPT_BUILDER_H

#include <lua.h>

#include "input/spec.h"

/* Knobs that a script declares by param(), and values given for them. */
struct nest_params {
    const struct nest_param_spec *given;
    int given_count;
    struct nest_param_spec *declared; /* grows in arena */
    int count, room;
    struct nest_arena *arena;
};

/* Adds the words to the globals. params: where param() reads and declares; it must outlive the
 * state's use of it. */
void nest_builder_open(lua_State *L, struct nest_params *params);

#endif
