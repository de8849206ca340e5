#include "script/repl.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "script/repl_state.h"
#include "script/show.h"

enum { SHOWN_MAX = 1 << 20 };

/* The name of chunks in messages. */
#define CONSOLE "console"

/* ---- Life ------------------------------------------------------------------------------- */

static int open_api(lua_State *L)
{
    nest_api_open(L, lua_touserdata(L, 1));
    return 0;
}

static enum nest_status start(struct nest_repl *repl)
{
    const struct nest_sandbox_options options = {
        .limits = NEST_SANDBOX_CONSOLE,
        .seed = 1,
        .cancel = repl->options.cancel,
        .print = repl->options.print,
        .print_context = repl->options.context,
    };
    struct nest_errors errors;
    nest_errors_init(&errors, &repl->arena);
    repl->api = (struct nest_api){
        .library = repl->options.library,
        .threads = repl->options.threads,
        .cancel = repl->options.cancel,
        .params = {.arena = &repl->arena},
    };
    repl->home = nest_home_new();
    enum nest_status status =
        repl->home ? nest_sandbox_open(&options, &repl->sandbox) : NEST_NO_MEMORY;
    if (status == NEST_OK) {
        nest_home_move(repl->home, nest_sandbox_state(repl->sandbox));
        status = nest_sandbox_run(repl->sandbox, open_api, &repl->api, &errors);
    }
    return status;
}

static void stop(struct nest_repl *repl)
{
    if (repl->home) {
        nest_home_move(repl->home, NULL);
    }
    nest_sandbox_close(repl->sandbox);
    nest_home_release(repl->home);
    repl->sandbox = NULL;
    repl->home = NULL;
    nest_arena_free(&repl->arena);
}

enum nest_status nest_repl_open(const struct nest_repl_options *options, struct nest_repl **out)
{
    *out = NULL;
    struct nest_repl *repl = calloc(1, sizeof(*repl));
    if (!repl) {
        return NEST_NO_MEMORY;
    }
    repl->options = *options;
    repl->shown = (struct nest_strbuf)NEST_STRBUF_INIT(SHOWN_MAX);
    const enum nest_status status = start(repl);
    if (status != NEST_OK) {
        nest_repl_close(repl);
        return status;
    }
    *out = repl;
    return NEST_OK;
}

void nest_repl_close(struct nest_repl *repl)
{
    if (repl) {
        stop(repl);
        nest_strbuf_free(&repl->shown);
        free(repl);
    }
}

bool nest_repl_renew(struct nest_repl *repl)
{
    const struct nest_sandbox_limits limits = NEST_SANDBOX_CONSOLE;
    if (!nest_home_enter(repl->home, repl->options.cancel)) {
        return false;
    }
    const size_t used = nest_sandbox_used(repl->sandbox);
    nest_home_leave(repl->home);
    if (used < limits.memory / 2) {
        return false;
    }
    stop(repl);
    return start(repl) == NEST_OK;
}

const char *nest_repl_traceback(const struct nest_repl *repl)
{
    return repl->sandbox ? nest_sandbox_traceback(repl->sandbox) : "";
}

/* ---- Chunks ----------------------------------------------------------------------------- */

enum verdict { COMPLETE, INCOMPLETE, WRONG };

static enum verdict judge(lua_State *L, const char *text)
{
    static const char end[] = "<eof>";
    enum verdict verdict = COMPLETE;
    if (luaL_loadbufferx(L, text, strlen(text), CONSOLE, "t") != LUA_OK) {
        size_t length = 0;
        const char *message = lua_tolstring(L, -1, &length);
        const size_t tail = sizeof(end) - 1;
        const bool at_end = length >= tail && strcmp(message + length - tail, end) == 0;
        /* Another line does not close a quote. */
        verdict = at_end && !strstr(message, "unfinished string") ? INCOMPLETE : WRONG;
    }
    lua_pop(L, 1);
    return verdict;
}

/* A state that only compiles: it may be asked while the other one runs. */
bool nest_chunk_is_incomplete(const char *text)
{
    lua_State *L = luaL_newstate();
    if (!L) {
        return false;
    }
    enum verdict verdict = judge(L, lua_pushfstring(L, "return %s", text));
    if (verdict == WRONG) {
        verdict = judge(L, text);
    }
    lua_close(L);
    return verdict == INCOMPLETE;
}

struct run {
    struct nest_repl *repl;
    const char *chunk;
    int width;
    const struct nest_live *live;
};

/* Compiles the chunk as an expression if it is one. */
static void load_chunk(lua_State *L, const char *chunk)
{
    const char *name = "@" CONSOLE;
    const char *text = lua_pushfstring(L, "return %s", chunk);
    if (strlen(text) > NEST_SANDBOX_SOURCE_MAX) {
        luaL_error(L, "a chunk has at most %d bytes", NEST_SANDBOX_SOURCE_MAX);
    }
    if (luaL_loadbufferx(L, text, strlen(text), name, "t") != LUA_OK) {
        lua_pop(L, 1);
        nest_sandbox_load(L, CONSOLE, chunk, strlen(chunk));
    }
    lua_remove(L, -2);
}

static int run_chunk(lua_State *L)
{
    struct run *run = lua_touserdata(L, 1);
    struct nest_strbuf *shown = &run->repl->shown;
    nest_scenario_bind(L, run->live);
    lua_setglobal(L, "s");
    load_chunk(L, run->chunk);
    const int before = lua_gettop(L) - 1;
    lua_call(L, 0, LUA_MULTRET);
    for (int i = before + 1; i <= lua_gettop(L); i++) {
        nest_strbuf_clear(shown);
        nest_show_value(L, i, run->width, shown);
        nest_strbuf_add(shown, "\n");
        nest_sandbox_print(L, nest_strbuf_text(shown), shown->length);
    }
    return 0;
}

struct reading {
    struct nest_scenario_spec spec;
    struct nest_functions *fresh;
    bool replaced;
};

static int read_back(lua_State *L)
{
    struct reading *reading = lua_touserdata(L, 1);
    nest_scenario_unbind(L, &reading->spec, reading->fresh, &reading->replaced);
    return 0;
}

/* What nobody holds any more goes before a chunk runs: of a scenario that the state keeps alive in
 * garbage, the overrides are known to be unheld only when that is collected. */
static void sweep(struct nest_repl *repl)
{
    enum { KIB = 1024, PART = 4 };
    const struct nest_sandbox_limits limits = NEST_SANDBOX_CONSOLE;
    lua_State *L = nest_home_state(repl->home);
    nest_functions_sweep(repl->home);
    if ((size_t)lua_gc(L, LUA_GCCOUNT) > limits.memory / PART / KIB) {
        (void)nest_sandbox_used(repl->sandbox);
        nest_functions_sweep(repl->home);
        (void)nest_sandbox_used(repl->sandbox);
    }
}

/* The state is this thread's. */
static enum nest_status run_inside(struct nest_repl *repl, struct run *run,
                                   struct nest_edited *edited, struct nest_errors *errors)
{
    const struct nest_sandbox_limits limits = NEST_SANDBOX_CONSOLE;
    struct reading reading = {*edited->spec, nest_functions_new(repl->home), false};
    sweep(repl);
    nest_sandbox_limit(repl->sandbox, &limits);
    nest_sandbox_set_cancel(repl->sandbox, repl->options.cancel);
    enum nest_status status = reading.fresh ? NEST_OK : NEST_NO_MEMORY;
    if (status == NEST_OK) {
        status = nest_sandbox_run(repl->sandbox, run_chunk, run, errors);
    }
    if (status == NEST_OK) {
        status = nest_sandbox_run(repl->sandbox, read_back, &reading, errors);
    }
    if (status == NEST_OK) {
        *edited->spec = reading.spec;
        edited->spec->cluster.device = &edited->spec->device;
        edited->functions = nest_functions_retain(!reading.replaced      ? run->live->functions
                                                  : reading.fresh->hooks ? reading.fresh
                                                                         : NULL);
    }
    nest_functions_release(reading.fresh);
    return status;
}

enum nest_status nest_repl_run(struct nest_repl *repl, const char *chunk, int width,
                               const struct nest_live *live, struct nest_edited *edited,
                               struct nest_errors *errors)
{
    struct run run = {repl, chunk, width, live};
    if (!repl->sandbox) {
        return NEST_NO_MEMORY;
    }
    if (!nest_home_enter(repl->home, repl->options.cancel)) {
        return NEST_CANCELLED;
    }
    const enum nest_status status = run_inside(repl, &run, edited, errors);
    nest_home_leave(repl->home);
    return status;
}
