/* A Lua state that hooks of problems live in while other threads may be at work in it, and the
 * hooks that a console's chunks put on the live scenario. */
#ifndef NEST_SCRIPT_HOME_H
#define NEST_SCRIPT_HOME_H

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>

struct nest_home;

/* Counted; NULL when memory is out. Without a state until one is moved in. */
struct nest_home *nest_home_new(void);
struct nest_home *nest_home_retain(struct nest_home *home);
void nest_home_release(struct nest_home *home);

/* Moves a state in, or out (NULL). Who is in there ends first. */
void nest_home_move(struct nest_home *home, lua_State *L);

/* Takes the state for this thread alone: waits for others until cancel (may be NULL) rises. Not by
 * a thread that has it already. Then nest_home_state until nest_home_leave. */
bool nest_home_enter(struct nest_home *home, const atomic_bool *cancel);
void nest_home_leave(struct nest_home *home);

/* The same without waiting. */
bool nest_home_try(struct nest_home *home);

/* NULL: it is gone for good. */
lua_State *nest_home_state(const struct nest_home *home);

/* A table of hooks that lies in the registry of a home's state under its own address. Counted; may
 * outlive the state. NULL stands for no hooks. */
struct nest_functions {
    atomic_int references;
    struct nest_home *home;
    unsigned hooks;              /* bits 1 << enum nest_hook */
    struct nest_functions *next; /* of those to be swept */
};

struct nest_functions *nest_functions_new(struct nest_home *home);
struct nest_functions *nest_functions_retain(struct nest_functions *functions);
void nest_functions_release(struct nest_functions *functions);

/* Takes what nobody holds any more out of the registry. By the thread that has the state. */
void nest_functions_sweep(struct nest_home *home);

#endif
