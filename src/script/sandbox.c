#include "script/sandbox.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "script/library.h"

enum {
    HOOK_INTERVAL = 100, /* instructions between two looks at the budgets */
    TRACEBACK_MAX = 16 * 1024,
    MESSAGE_MAX = 4 * 1024
};

enum stop { RUNNING, OUT_OF_INSTRUCTIONS, OUT_OF_TIME, OUT_OF_OUTPUT, CANCELLED };

struct nest_sandbox {
    lua_State *L;
    struct nest_sandbox_options options;
    size_t used;
    bool refused;    /* the allocator said no in this run */
    bool scattered;  /* because of a table's keys */
    size_t userdata; /* bytes of the last one made while the libraries were opened … */
    size_t box;      /* … and of what a string buffer is made behind; 0: not known yet */
    bool boxed;      /* nothing was made since but small things */
    int depth;       /* of nested runs */
    int64_t instructions;
    size_t printed;
    double deadline;
    double paused_at;
    lua_State *paused; /* the thread that a host call runs in; NULL: none */
    enum stop stop;
    struct nest_mark mark; /* of the last fault; file lies in mark_file */
    char mark_file[512];
    char message[MESSAGE_MAX];
    struct nest_strbuf traceback;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

lua_State *nest_sandbox_state(const struct nest_sandbox *sandbox)
{
    return sandbox->L;
}

struct nest_sandbox *nest_sandbox_of(lua_State *L)
{
    return *(struct nest_sandbox **)lua_getextraspace(L);
}

/* Whether a new block is the hash part of a table with too many keys. Growing it is one step, and
 * keys that a script chose to collide make that step quadratic: 2 s for what is allowed here, and
 * four times as much for twice the keys. Lua 5.4 allocates it without a type tag, as a power of two
 * of nodes (value, two tags, next and key). A list made at once of that very size is taken for one;
 * a string buffer is not, for it is made right behind the userdata that owns it. */
static bool is_too_scattered(size_t tag, size_t size)
{
    enum { NODE = 24 };
    const size_t nodes = size / NODE;
    return sizeof(void *) == 8 && tag == 0 && size % NODE == 0 && nodes > NEST_SANDBOX_KEYS_MAX &&
           (nodes & (nodes - 1)) == 0;
}

/* Whether a new block is a string buffer: notes what is made. */
static bool is_buffer(struct nest_sandbox *sandbox, size_t tag, size_t size)
{
    enum { SMALL = 1024 /* no buffer; calls take such blocks in between */ };
    if (tag == LUA_TUSERDATA) {
        sandbox->userdata = size;
        sandbox->boxed = size == sandbox->box;
    } else if (tag != 0) {
        sandbox->boxed = false;
    } else if (size > SMALL) {
        const bool boxed = sandbox->boxed;
        sandbox->boxed = false;
        return boxed;
    }
    return false;
}

/* With ptr NULL, osize is a type tag and no size. Freeing and shrinking never fail. */
static void *allocate(void *context, void *ptr, size_t osize, size_t nsize)
{
    struct nest_sandbox *sandbox = context;
    const size_t old = ptr ? osize : 0;
    if (nsize == 0) {
        free(ptr);
        sandbox->used -= old;
        return NULL;
    }
    if (nsize > old && nsize - old > sandbox->options.limits.memory - sandbox->used) {
        sandbox->refused = true;
        return NULL;
    }
    if (!ptr && !is_buffer(sandbox, osize, nsize) && is_too_scattered(osize, nsize)) {
        sandbox->refused = sandbox->scattered = true;
        return NULL;
    }
    void *fresh = realloc(ptr, nsize);
    if (!fresh) {
        return nsize <= old ? ptr : NULL;
    }
    sandbox->used = sandbox->used - old + nsize;
    return fresh;
}

static enum stop budget(const struct nest_sandbox *sandbox)
{
    if (sandbox->stop != RUNNING) {
        return sandbox->stop;
    }
    if (sandbox->options.cancel &&
        atomic_load_explicit(sandbox->options.cancel, memory_order_relaxed)) {
        return CANCELLED;
    }
    if (sandbox->instructions > sandbox->options.limits.instructions) {
        return OUT_OF_INSTRUCTIONS;
    }
    return now() > sandbox->deadline ? OUT_OF_TIME : RUNNING;
}

static void hook(lua_State *L, lua_Debug *ar);

/* From the first fault on the hook fires at every instruction, so that no handler, no loop around
 * pcall and no closing variable can swallow it. */
static void stop_now(lua_State *L, enum stop stop)
{
    struct nest_sandbox *sandbox = nest_sandbox_of(L);
    sandbox->stop = stop;
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
    const struct nest_sandbox_limits *limits = &sandbox->options.limits;
    switch (stop) {
    case OUT_OF_INSTRUCTIONS:
        luaL_error(L, "the script ran longer than its %I instructions",
                   (LUAI_UACINT)limits->instructions);
        break;
    case OUT_OF_TIME:
        luaL_error(L, "the script ran longer than its %f seconds", limits->seconds);
        break;
    case OUT_OF_OUTPUT:
        luaL_error(L, "the script printed more than its %I bytes", (LUAI_UACINT)limits->output);
        break;
    default:
        luaL_error(L, "cancelled");
    }
}

static void hook(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    struct nest_sandbox *sandbox = nest_sandbox_of(L);
    sandbox->instructions += lua_gethookcount(L);
    const enum stop stop = budget(sandbox);
    if (stop != RUNNING) {
        stop_now(L, stop);
    }
    if (lua_gethookcount(L) != HOOK_INTERVAL) {
        lua_sethook(L, hook, LUA_MASKCOUNT, HOOK_INTERVAL);
    }
}

void nest_sandbox_check(lua_State *L)
{
    const enum stop stop = budget(nest_sandbox_of(L));
    if (stop != RUNNING) {
        stop_now(L, stop);
    }
}

bool nest_sandbox_stopped(lua_State *L)
{
    return nest_sandbox_of(L)->stop != RUNNING;
}

void nest_sandbox_pause(lua_State *L)
{
    struct nest_sandbox *sandbox = nest_sandbox_of(L);
    sandbox->paused_at = now();
    sandbox->paused = L;
}

void nest_sandbox_resume(lua_State *L)
{
    struct nest_sandbox *sandbox = nest_sandbox_of(L);
    sandbox->deadline += now() - sandbox->paused_at;
    sandbox->paused = NULL;
}

void nest_sandbox_print(lua_State *L, const char *text, size_t length)
{
    struct nest_sandbox *sandbox = nest_sandbox_of(L);
    if (length > sandbox->options.limits.output - sandbox->printed) {
        stop_now(L, OUT_OF_OUTPUT);
    }
    sandbox->printed += length;
    if (sandbox->options.print) {
        sandbox->options.print(sandbox->options.print_context, text, length);
    }
}

static int tidy(lua_State *L)
{
    lua_gc(L, LUA_GCCOLLECT, 0);
    return 0;
}

size_t nest_sandbox_used(struct nest_sandbox *sandbox)
{
    if (sandbox->depth == 0) {
        lua_sethook(sandbox->L, NULL, 0, 0);
        lua_pushcfunction(sandbox->L, tidy);
        if (lua_pcall(sandbox->L, 0, 0, 0) != LUA_OK) {
            lua_pop(sandbox->L, 1);
        }
    }
    return sandbox->used;
}

const atomic_bool *nest_sandbox_cancel(const struct nest_sandbox *sandbox)
{
    return sandbox->options.cancel;
}

void nest_sandbox_limit(struct nest_sandbox *sandbox, const struct nest_sandbox_limits *limits)
{
    sandbox->options.limits.instructions = limits->instructions;
    sandbox->options.limits.seconds = limits->seconds;
}

void nest_sandbox_set_cancel(struct nest_sandbox *sandbox, const atomic_bool *cancel)
{
    sandbox->options.cancel = cancel;
}

size_t nest_sandbox_memory(lua_State *L)
{
    return nest_sandbox_of(L)->options.limits.memory;
}

const char *nest_sandbox_traceback(const struct nest_sandbox *sandbox)
{
    return nest_strbuf_text(&sandbox->traceback);
}

void nest_sandbox_load(lua_State *L, const char *path, const char *text, size_t length)
{
    if (length > NEST_SANDBOX_SOURCE_MAX) {
        luaL_error(L, "%s: longer than %d bytes", path, NEST_SANDBOX_SOURCE_MAX);
    }
    const char *name = lua_pushfstring(L, "@%s", path);
    if (luaL_loadbufferx(L, text, length, name, "t") != LUA_OK) {
        lua_error(L);
    }
    lua_remove(L, -2);
}

void nest_sandbox_load_file(lua_State *L, const char *path)
{
    char *text = lua_newuserdatauv(L, NEST_SANDBOX_SOURCE_MAX + 1, 0);
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file) {
        luaL_error(L, "%s: cannot be opened", path);
    }
    const size_t length = fread(text, 1, NEST_SANDBOX_SOURCE_MAX + 1, file);
    const bool failed = ferror(file) != 0;
    if (!standard) {
        fclose(file);
    }
    if (failed) {
        luaL_error(L, "%s: cannot be read", path);
    }
    size_t skip = 0;
    while (length > 0 && text[0] == '#' && skip < length && text[skip] != '\n') {
        skip++;
    }
    nest_sandbox_load(L, standard ? "standard input" : path, text + skip, length - skip);
    lua_remove(L, -2);
}

/* ---- Faults ----------------------------------------------------------------------------- */

/* "path:12: path:14: text" → text, and 14: the place where it was raised first. Lua shortens paths
 * in messages, hence the short source. */
static const char *strip_places(const char *message, const char *short_source, int *line)
{
    const size_t length = strlen(short_source);
    while (strncmp(message, short_source, length) == 0 && message[length] == ':') {
        char *end;
        const long number = strtol(message + length + 1, &end, 10);
        if (end == message + length + 1 || end[0] != ':' || end[1] != ' ' || number <= 0) {
            break;
        }
        *line = (int)number;
        message = end + 2;
    }
    return message;
}

/* The first "name:12: " of a syntax error, which has no frame of its own. */
static const char *split_place(const char *message, struct nest_sandbox *sandbox)
{
    for (const char *colon = strchr(message, ':'); colon; colon = strchr(colon + 1, ':')) {
        char *end;
        const long number = strtol(colon + 1, &end, 10);
        const size_t length = (size_t)(colon - message);
        if (end > colon + 1 && end[0] == ':' && end[1] == ' ' && number > 0 &&
            length < sizeof(sandbox->mark_file)) {
            memcpy(sandbox->mark_file, message, length);
            sandbox->mark_file[length] = '\0';
            sandbox->mark.line = (int)number;
            return end + 2;
        }
    }
    return message;
}

static void add_frame(struct nest_strbuf *out, const lua_Debug *ar)
{
    nest_strbuf_printf(out, "%s:%d: in ", ar->source + 1, ar->currentline);
    if (ar->name) {
        nest_strbuf_printf(out, "%s '%s'\n", *ar->namewhat ? ar->namewhat : "function", ar->name);
    } else if (*ar->what == 'm') {
        nest_strbuf_add(out, "main chunk\n");
    } else {
        nest_strbuf_printf(out, "function <%s:%d>\n", ar->source + 1, ar->linedefined);
    }
}

/* Only reads: a __tostring or any other code of the script could raise or loop. What is raised
 * stays as it is: the compiler's overflows come here, too, on their way to the script that called
 * load. */
static int record_fault(lua_State *L)
{
    struct nest_sandbox *sandbox = nest_sandbox_of(L);
    const char *message = lua_tostring(L, 1);
    if (!message) {
        message = lua_pushfstring(L, "the script raised a %s", luaL_typename(L, 1));
    }
    nest_strbuf_clear(&sandbox->traceback);
    lua_Debug ar;
    bool placed = false;
    for (int level = 1; level < 64 && lua_getstack(L, level, &ar); level++) {
        if (!lua_getinfo(L, "Sln", &ar) || *ar.source != '@' || ar.currentline <= 0) {
            continue;
        }
        if (!placed) {
            placed = true;
            sandbox->mark.line = ar.currentline;
            snprintf(sandbox->mark_file, sizeof(sandbox->mark_file), "%s", ar.source + 1);
            message = strip_places(message, ar.short_src, &sandbox->mark.line);
        }
        add_frame(&sandbox->traceback, &ar);
    }
    if (!placed) {
        message = split_place(message, sandbox);
    }
    snprintf(sandbox->message, sizeof(sandbox->message), "%s", message);
    lua_settop(L, 1);
    return 1;
}

static void forget_fault(struct nest_sandbox *sandbox)
{
    sandbox->mark_file[0] = '\0';
    sandbox->mark = (struct nest_mark){.file = sandbox->mark_file};
    sandbox->message[0] = '\0';
    nest_strbuf_clear(&sandbox->traceback);
}

static enum nest_status report_fault(struct nest_sandbox *sandbox, int status,
                                     struct nest_errors *errors)
{
    if (sandbox->stop == CANCELLED) {
        return NEST_CANCELLED;
    }
    struct nest_mark mark = sandbox->mark;
    char *file = *mark.file ? nest_arena_strdup(errors->arena, mark.file) : NULL;
    mark.file = file;
    if (status == LUA_ERRMEM && sandbox->scattered) {
        nest_errors_add(errors, mark, NULL, NULL,
                        "a table of the script has more than %d keys that are no list",
                        NEST_SANDBOX_KEYS_MAX);
    } else if (status == LUA_ERRMEM && sandbox->refused) {
        nest_errors_add(errors, mark, NULL, NULL, "the script needed more than its %zu MiB",
                        sandbox->options.limits.memory >> 20);
    } else if (status == LUA_ERRMEM) {
        return NEST_NO_MEMORY;
    } else if (status == LUA_ERRERR && !sandbox->message[0]) {
        nest_errors_add(errors, mark, NULL, NULL, "the script's stack overflowed");
    } else {
        nest_errors_add(errors, mark, NULL, NULL, "%s", sandbox->message);
    }
    nest_errors_trace(errors, nest_strbuf_text(&sandbox->traceback));
    return NEST_BAD_INPUT;
}

/* ---- Running ---------------------------------------------------------------------------- */

static void start_budgets(struct nest_sandbox *sandbox)
{
    sandbox->instructions = 0;
    sandbox->printed = 0;
    sandbox->refused = sandbox->scattered = false;
    sandbox->stop = RUNNING;
    sandbox->paused = NULL;
    sandbox->deadline = now() + sandbox->options.limits.seconds;
    forget_fault(sandbox);
    lua_sethook(sandbox->L, hook, LUA_MASKCOUNT, HOOK_INTERVAL);
}

enum nest_status nest_sandbox_run(struct nest_sandbox *sandbox, lua_CFunction work, void *context,
                                  struct nest_errors *errors)
{
    lua_State *paused = sandbox->paused;
    lua_State *L = paused ? paused : sandbox->L;
    if (!lua_checkstack(L, 8)) {
        return NEST_NO_MEMORY;
    }
    if (paused) {
        nest_sandbox_resume(L);
    } else if (sandbox->depth == 0) {
        start_budgets(sandbox);
    }
    sandbox->depth++;
    const int top = lua_gettop(L);
    lua_pushcfunction(L, record_fault);
    lua_pushcfunction(L, work);
    lua_pushlightuserdata(L, context);
    const int status = lua_pcall(L, 1, 0, top + 1);
    lua_settop(L, top);
    sandbox->depth--;
    if (paused) {
        nest_sandbox_pause(paused);
    }
    return status == LUA_OK ? NEST_OK : report_fault(sandbox, status, errors);
}

static int open_library(lua_State *L)
{
    const struct nest_sandbox_options *options = lua_touserdata(L, 1);
    nest_library_open_lua(L, options->seed, options->unsafe);
    luaL_Buffer buffer;
    (void)luaL_buffinitsize(L, &buffer, 2 * LUAL_BUFFERSIZE);
    nest_sandbox_of(L)->box = nest_sandbox_of(L)->userdata;
    luaL_pushresultsize(&buffer, 0);
    return 0;
}

enum nest_status nest_sandbox_open(const struct nest_sandbox_options *options,
                                   struct nest_sandbox **out)
{
    struct nest_sandbox *sandbox = calloc(1, sizeof(*sandbox));
    if (!sandbox) {
        return NEST_NO_MEMORY;
    }
    sandbox->options = *options;
    sandbox->traceback = (struct nest_strbuf)NEST_STRBUF_INIT(TRACEBACK_MAX);
    sandbox->L = lua_newstate(allocate, sandbox);
    if (!sandbox->L) {
        nest_sandbox_close(sandbox);
        return NEST_NO_MEMORY;
    }
    *(struct nest_sandbox **)lua_getextraspace(sandbox->L) = sandbox;
    start_budgets(sandbox);
    lua_pushcfunction(sandbox->L, open_library);
    lua_pushlightuserdata(sandbox->L, &sandbox->options);
    if (lua_pcall(sandbox->L, 1, 0, 0) != LUA_OK) {
        nest_sandbox_close(sandbox);
        return NEST_NO_MEMORY;
    }
    *out = sandbox;
    return NEST_OK;
}

void nest_sandbox_close(struct nest_sandbox *sandbox)
{
    if (!sandbox) {
        return;
    }
    if (sandbox->L) {
        lua_close(sandbox->L);
    }
    nest_strbuf_free(&sandbox->traceback);
    free(sandbox);
}
