/* The console's state, shared by running and completing. Private to the script room. */
#ifndef NEST_SCRIPT_REPL_STATE_H
#define NEST_SCRIPT_REPL_STATE_H

#include "script/repl.h"

struct nest_repl {
    struct nest_repl_options options;
    struct nest_api api;
    struct nest_sandbox *sandbox;
    struct nest_home *home;   /* of the sandbox's state */
    struct nest_arena arena;  /* of knobs that chunks declare */
    struct nest_strbuf shown; /* a value on its way to be printed */
};

#endif
