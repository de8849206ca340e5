/* The scripting API: the global table `nest`, and the words of builder.h beside it.
 *
 * Scripts see what the commands see: scenarios are tables with the keys of scenario files, answers
 * are tables with the keys of --json. reference.h documents every function. */
#ifndef NEST_SCRIPT_API_H
#define NEST_SCRIPT_API_H

#include <lua.h>

#include "input/load.h"
#include "script/builder.h"
#include "script/sandbox.h"

struct nest_api {
    const struct nest_library *library;
    int threads;                 /* of a solve; the answer does not depend on it */
    const atomic_bool *cancel;   /* of a solve; may be NULL */
    const char *const *argument; /* of the script: what nest.read may read */
    int arguments;
    struct nest_params params; /* knobs of clusters that the script builds itself */
};

/* Adds the API to the state's globals. Inside a run; raises. api must outlive the state. */
void nest_api_open(lua_State *L, struct nest_api *api);

/* Only what cost overrides may use: nothing that solves or reads files named by the script. */
void nest_api_open_costs(lua_State *L, struct nest_api *api);

/* A script to run. */
struct nest_script {
    const struct nest_library *library;
    const char *path; /* "-" is standard input */
    const char *const *argument;
    int arguments; /* the script's global `arg` */
    int threads;
    uint64_t seed;
    bool unsafe;
    const atomic_bool *cancel;
    void (*print)(void *context, const char *text, size_t length);
    void *context;
};

/* Runs a script to its end. Faults are added with the place in the script; *traceback (may be NULL)
 * receives the frames of the fault, in arena, "" where there are none. */
enum nest_status nest_script_run(const struct nest_script *script, struct nest_arena *arena,
                                 const char **traceback, struct nest_errors *errors);

#endif
