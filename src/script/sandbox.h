/* A Lua 5.4 state that a stranger's file may run in.
 *
 * Three budgets hold per run: instructions, wall-clock seconds, and bytes of memory; a fourth
 * bounds what it prints. A run that exceeds one of them, or is cancelled, ends with one located
 * fault and the state stays usable. Scripts see an allow-listed part of Lua's libraries
 * (library.h): no files, no processes, no bytecode, no finalizers, no weak tables, and no way to
 * call C that runs long. One step of the interpreter is not interruptible; what remains possible in
 * one step is bounded by the memory budget.
 *
 * A sandbox belongs to one thread at a time; only the cancel flag may be set from elsewhere. */
#ifndef NEST_SCRIPT_SANDBOX_H
#define NEST_SCRIPT_SANDBOX_H

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct nest_sandbox;

struct nest_sandbox_limits {
    size_t memory;        /* bytes of the whole state */
    int64_t instructions; /* of the virtual machine, per run */
    double seconds;       /* monotonic clock, per run; time inside nest_sandbox_pause not counted */
    size_t output;        /* bytes printed, per run */
};

/* What a topology or a cost override may use: it only computes. */
#define NEST_SANDBOX_BUILDER                                                                       \
    {                                                                                              \
        .memory = (size_t)64 << 20, .instructions = 500000000, .seconds = 5.0, .output = 1 << 20   \
    }

/* What `nest lua FILE` may use: it may sweep for a while. */
#define NEST_SANDBOX_SCRIPT                                                                        \
    {                                                                                              \
        .memory = (size_t)256 << 20, .instructions = 20000000000, .seconds = 600.0,                \
        .output = 64 << 20                                                                         \
    }

/* What one chunk of the explorer's console may use. */
#define NEST_SANDBOX_CONSOLE                                                                       \
    {                                                                                              \
        .memory = (size_t)128 << 20, .instructions = 20000000000, .seconds = 120.0,                \
        .output = 4 << 20                                                                          \
    }

struct nest_sandbox_options {
    struct nest_sandbox_limits limits;
    uint64_t seed;             /* of math.random */
    const atomic_bool *cancel; /* polled while running; may be NULL */
    bool unsafe;               /* all of Lua's libraries, files and processes included */
    /* Receives what scripts print, one call per print; NULL discards it. */
    void (*print)(void *context, const char *text, size_t length);
    void *print_context;
};

/* NEST_OK, or NEST_NO_MEMORY. The sandbox is the caller's to close. */
enum nest_status nest_sandbox_open(const struct nest_sandbox_options *options,
                                   struct nest_sandbox **out);
void nest_sandbox_close(struct nest_sandbox *sandbox);

/* Runs work(L) under the budgets, protected, with the light userdata `context` as its only
 * argument; its results are dropped. Whatever needs the state is done inside such a call: nothing
 * outside of it may raise. Runs nest: an inner one shares the outer one's budgets.
 *
 * NEST_OK; NEST_BAD_INPUT with one fault located at the script's first frame (message as the script
 * raised it, hint NULL); NEST_CANCELLED without a fault; NEST_NO_MEMORY when the fault itself
 * cannot be stored. */
enum nest_status nest_sandbox_run(struct nest_sandbox *sandbox, lua_CFunction work, void *context,
                                  struct nest_errors *errors);

/* The traceback of the last fault, frames of the script only; "" when there is none. Owned by the
 * sandbox, valid until the next run. */
const char *nest_sandbox_traceback(const struct nest_sandbox *sandbox);

/* The flag that its runs poll, or NULL; it may be exchanged by the thread that owns the state. */
const atomic_bool *nest_sandbox_cancel(const struct nest_sandbox *sandbox);
void nest_sandbox_set_cancel(struct nest_sandbox *sandbox, const atomic_bool *cancel);

/* Other instructions and seconds from the next run on; its memory and output stay as they are. */
void nest_sandbox_limit(struct nest_sandbox *sandbox, const struct nest_sandbox_limits *limits);

/* Its state. */
lua_State *nest_sandbox_state(const struct nest_sandbox *sandbox);

/* The sandbox a state belongs to. */
struct nest_sandbox *nest_sandbox_of(lua_State *L);

/* Raises when a budget is spent or the run is cancelled. Called by everything that scripts call. */
void nest_sandbox_check(lua_State *L);

/* True once the run has been stopped; such a fault is not the script's to catch. */
bool nest_sandbox_stopped(lua_State *L);

/* Around the host's own long work (a solve): its time is not the script's. */
void nest_sandbox_pause(lua_State *L);
void nest_sandbox_resume(lua_State *L);

/* Hands text to the print sink; raises when the output budget is spent. */
void nest_sandbox_print(lua_State *L, const char *text, size_t length);

/* Bytes that the state holds now. Outside of a run it is tidied up first. */
size_t nest_sandbox_used(struct nest_sandbox *sandbox);

/* Bytes the state may hold. */
size_t nest_sandbox_memory(lua_State *L);

/* Most keys of a table that do not form a list: growing a table is one step. */
enum { NEST_SANDBOX_KEYS_MAX = 65536 };

/* Largest source text that is compiled, in bytes: compiling is one step (see above). */
enum { NEST_SANDBOX_SOURCE_MAX = 256 * 1024 };

/* Inside a run: compiles text (never bytecode) under the chunk name "@path" and leaves the function
 * on the stack, or raises. */
void nest_sandbox_load(lua_State *L, const char *path, const char *text, size_t length);

/* Inside a run: reads and compiles a file; "-" is standard input. Raises when it cannot be read. */
void nest_sandbox_load_file(lua_State *L, const char *path);

#endif
