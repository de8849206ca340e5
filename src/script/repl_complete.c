/* Completion of a chunk that is being typed: it looks, and calls nothing. */
#include <ctype.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "script/repl_state.h"

enum { NAMES_MAX = 4096, VISITED_MAX = 20000, CHAIN_MAX = 8, NAME_SIZE = 128 };

struct completion {
    const char *line;
    size_t start; /* of the word */
    char opening; /* the quote that the word stands in, or 0 */
    bool method;  /* behind a colon */
    struct nest_arena *arena;
    const char **name; /* [NAMES_MAX + 1] */
    int count;
};

static const char *const language[] = {"and",   "break", "do",       "else",  "elseif", "end",
                                       "false", "for",   "function", "goto",  "if",     "in",
                                       "local", "nil",   "not",      "or",    "repeat", "return",
                                       "then",  "true",  "until",    "while", NULL};

static bool in_word(const struct completion *c, char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' ||
           (c->opening && (letter == '.' || letter == '-'));
}

/* Where the word begins, and whether it is inside of quotes. */
static void find_word(struct completion *c)
{
    for (const char *at = c->line; *at; at++) {
        if (*at == '\\' && at[1]) {
            at++;
        } else if (c->opening ? *at == c->opening : *at == '"' || *at == '\'') {
            c->opening = c->opening ? '\0' : *at;
        }
    }
    c->start = strlen(c->line);
    while (c->start > 0 && in_word(c, c->line[c->start - 1])) {
        c->start--;
    }
}

static void offer(struct completion *c, const char *name)
{
    const char *typed = c->line + c->start;
    if (c->count < NAMES_MAX && strncmp(name, typed, strlen(typed)) == 0) {
        const char *copy = nest_arena_strdup(c->arena, name);
        c->name[c->count] = copy;
        c->count += copy != NULL;
    }
}

static bool is_identifier(const char *text)
{
    bool fine = isalpha((unsigned char)*text) || *text == '_';
    for (; *text; text++) {
        fine = fine && (isalnum((unsigned char)*text) || *text == '_');
    }
    return fine;
}

/* Replaces the value on top by where its missing fields are looked up; false when there is none. */
static bool step_to_index(lua_State *L)
{
    if (!luaL_getmetafield(L, -1, "__index")) {
        return false;
    }
    lua_remove(L, -2);
    return lua_istable(L, -1);
}

/* Offers the names in the value on top of the stack and in what it inherits from. */
static void offer_fields(lua_State *L, struct completion *c)
{
    for (int chain = 0; chain < CHAIN_MAX && (lua_istable(L, -1) || step_to_index(L)); chain++) {
        int visited = 0;
        for (lua_pushnil(L); visited++ < VISITED_MAX && lua_next(L, -2);) {
            const bool named = lua_type(L, -2) == LUA_TSTRING && is_identifier(lua_tostring(L, -2));
            if (named && (!c->method || lua_isfunction(L, -1))) {
                offer(c, lua_tostring(L, -2));
            }
            lua_pop(L, 1);
        }
        if (visited > VISITED_MAX) {
            lua_pop(L, 1);
        }
        if (!step_to_index(L)) {
            return;
        }
    }
}

/* Replaces the value on top by its field, looked up without calling anything. */
static bool step_into(lua_State *L, const char *name)
{
    for (int chain = 0; chain < CHAIN_MAX; chain++) {
        if (lua_istable(L, -1)) {
            lua_pushstring(L, name);
            if (lua_rawget(L, -2) != LUA_TNIL) {
                lua_remove(L, -2);
                return true;
            }
            lua_pop(L, 1);
        }
        if (!step_to_index(L)) {
            return false;
        }
    }
    return false;
}

/* "a.b:c" → pushes a.b; false where it is no such path. Path ends before the last separator. */
static bool push_owner(lua_State *L, const char *path, const char *end)
{
    lua_pushglobaltable(L);
    while (path < end) {
        char name[NAME_SIZE];
        size_t length = 0;
        while (path + length < end && path[length] != '.' && path[length] != ':') {
            length++;
        }
        if (length == 0 || length >= sizeof(name)) {
            return false;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        if (!step_into(L, name)) {
            return false;
        }
        path += length + 1;
    }
    return true;
}

static int collect(lua_State *L)
{
    struct completion *c = lua_touserdata(L, 1);
    size_t first = c->start;
    const bool field = c->start > 0 && strchr(".:", c->line[c->start - 1]);
    while (first > 0 &&
           (isalnum((unsigned char)c->line[first - 1]) || strchr("_.:", c->line[first - 1]))) {
        first--;
    }
    c->method = field && c->line[c->start - 1] == ':';
    const char *end = c->line + (field ? c->start - 1 : first);
    if (push_owner(L, c->line + first, end)) {
        offer_fields(L, c);
    }
    for (const char *const *word = language; !field && *word; word++) {
        offer(c, *word);
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(struct completion *c)
{
    qsort(c->name, (size_t)c->count, sizeof *c->name, by_name);
    int kept = 0;
    for (int i = 0; i < c->count; i++) {
        if (kept == 0 || strcmp(c->name[i], c->name[kept - 1]) != 0) {
            c->name[kept++] = c->name[i];
        }
    }
    c->name[kept] = NULL;
    c->count = kept;
}

/* Not while the solver asks the overrides that live there. */
static bool collect_inside(struct nest_repl *repl, struct completion *c, struct nest_errors *errors)
{
    if (!nest_home_try(repl->home)) {
        return false;
    }
    nest_sandbox_set_cancel(repl->sandbox, repl->options.cancel);
    const enum nest_status status = nest_sandbox_run(repl->sandbox, collect, c, errors);
    nest_home_leave(repl->home);
    return status == NEST_OK;
}

const char *const *nest_repl_complete(struct nest_repl *repl, const char *line,
                                      const char *const *quoted, struct nest_arena *arena,
                                      size_t *start)
{
    struct completion c = {.line = line, .arena = arena};
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    find_word(&c);
    *start = c.start;
    c.name = NEST_NEW(arena, const char *, NAMES_MAX + 1);
    if (!c.name || !repl->sandbox) {
        return NULL;
    }
    if (c.opening) {
        for (; quoted && *quoted; quoted++) {
            offer(&c, *quoted);
        }
    } else if (!collect_inside(repl, &c, &errors)) {
        return NULL;
    }
    sort_names(&c);
    return c.count > 0 ? (const char *const *)c.name : NULL;
}
