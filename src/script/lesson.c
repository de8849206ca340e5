#include "script/lesson.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

#include "input/set.h"
#include "script/answer.h"
#include "script/sandbox.h"
#include "script/tree.h"

enum { WIDTH = 78 };

static void print_bytes(lua_State *L, const char *text, size_t length)
{
    nest_sandbox_print(L, text, length);
    nest_sandbox_print(L, "\n", 1);
}

/* Breaks at spaces; a paragraph of the text ends with an empty line. */
static void print_wrapped(lua_State *L, const char *text)
{
    while (*text) {
        text += strspn(text, " ");
        size_t length = strcspn(text, "\n");
        size_t used = length;
        if (length > WIDTH) {
            for (length = WIDTH; length > 0 && text[length] != ' '; length--) {
            }
            length = length > 0 ? length : WIDTH;
            used = length;
        }
        print_bytes(L, text, length);
        text += used;
        text += *text == '\n' || *text == ' ';
    }
}

static const char *field_text(lua_State *L, const char *key)
{
    if (lua_getfield(L, 1, key) != LUA_TSTRING) {
        luaL_error(L, "a lesson needs %s = \"…\"", key);
    }
    const char *text = lua_tostring(L, -1);
    lua_pop(L, 1); /* the record keeps it */
    return text;
}

static void need_function(lua_State *L, const char *key)
{
    if (lua_getfield(L, 1, key) != LUA_TFUNCTION) {
        luaL_error(L, "a lesson needs %s = function(s, answer) … end", key);
    }
    lua_pop(L, 1);
}

/* Calls s:METHOD(name, value) on the scenario at index. */
static void call_method(lua_State *L, int scenario, const char *method, const char *name,
                        size_t length, const char *value)
{
    lua_getfield(L, scenario, method);
    lua_pushvalue(L, scenario);
    lua_pushlstring(L, name, length);
    lua_pushstring(L, value);
    lua_call(L, 3, 0);
}

/* One argument: a pin where its name is one, else a PATH. */
static void apply_edit(lua_State *L, int scenario, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        luaL_error(L, "'%s' is no edit; expected PATH=VALUE, such as global_batch=512", text);
        return;
    }
    const size_t length = (size_t)(equals - text);
    char name[128] = {0};
    memcpy(name, text, length < sizeof(name) ? length : sizeof(name) - 1);
    const bool pin = nest_pin_key_find(name) >= 0 || strcmp(name, "order") == 0;
    call_method(L, scenario, pin ? "pin" : "set", text, length, equals + 1);
}

/* Applies the global `arg`; returns how many there were. */
static int apply_edits(lua_State *L, int scenario)
{
    int count = 0;
    if (lua_getglobal(L, "arg") == LUA_TTABLE) {
        count = (int)lua_rawlen(L, -1);
        for (int i = 1; i <= count; i++) {
            lua_rawgeti(L, -1, i);
            apply_edit(L, scenario, luaL_checkstring(L, -1));
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    return count;
}

/* Pushes the scenario, made from the record's table as nest.scenario would. */
static int push_scenario(lua_State *L)
{
    lua_getglobal(L, "nest");
    lua_getfield(L, -1, "scenario");
    if (lua_getfield(L, 1, "scenario") != LUA_TTABLE) {
        luaL_error(L, "a lesson needs scenario = {…}");
    }
    lua_call(L, 1, 1);
    lua_remove(L, -2);
    return lua_gettop(L);
}

/* Pushes s:eval(), or raises why there is no answer. */
static int push_answer(lua_State *L, int scenario)
{
    lua_getfield(L, scenario, "eval");
    lua_pushvalue(L, scenario);
    lua_call(L, 1, 2);
    if (lua_isnil(L, -2)) {
        luaL_error(L, "%s", lua_tostring(L, -1));
    }
    lua_pop(L, 1);
    return lua_gettop(L);
}

static void print_heading(lua_State *L, const char *word, const char *text)
{
    nest_sandbox_print(L, "\n", 1);
    print_wrapped(L, lua_pushfstring(L, "%s%s", word, text));
    lua_pop(L, 1);
}

static void call_show(lua_State *L, int scenario, int answer)
{
    lua_getfield(L, 1, "show");
    lua_pushvalue(L, scenario);
    lua_pushvalue(L, answer);
    lua_call(L, 2, 0);
}

/* check(s, answer) → done [, what is still missing]. */
static bool judge(lua_State *L, int scenario, int answer)
{
    lua_getfield(L, 1, "check");
    lua_pushvalue(L, scenario);
    lua_pushvalue(L, answer);
    lua_call(L, 2, 2);
    const bool done = lua_toboolean(L, -2);
    print_heading(L, done ? "Done. " : "Not yet. ", luaL_optstring(L, -1, ""));
    lua_pop(L, 2);
    return done;
}

/* The texts lie in the record. */
static struct nest_lesson_text read_record(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    need_function(L, "show");
    need_function(L, "check");
    return (struct nest_lesson_text){
        .title = field_text(L, "title"),
        .text = field_text(L, "text"),
        .attempt = field_text(L, "try"),
        .question = field_text(L, "question"),
    };
}

int nest_lesson_run(lua_State *L)
{
    const struct nest_lesson_text lesson = read_record(L);
    const int scenario = push_scenario(L);
    const int edits = apply_edits(L, scenario);
    const int answer = push_answer(L, scenario);
    print_bytes(L, lesson.title, strlen(lesson.title));
    print_heading(L, "", lesson.text);
    nest_sandbox_print(L, "\n", 1);
    call_show(L, scenario, answer);
    print_heading(L, "Try: ", lesson.attempt);
    print_heading(L, "Question: ", lesson.question);
    lua_pushboolean(L, edits > 0 && judge(L, scenario, answer));
    return 1;
}

/* ---- On a screen ------------------------------------------------------------------------ */

static const char RECORD = 0; /* its address is the key of the kept record */

/* nest.lesson{…} where the host shows the lesson: only keeps the record. */
static int keep_record(lua_State *L)
{
    (void)read_record(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &RECORD);
    return 0;
}

void nest_lesson_capture(lua_State *L)
{
    lua_getglobal(L, "nest");
    lua_pushcfunction(L, keep_record);
    lua_setfield(L, -2, "lesson");
    lua_pop(L, 1);
}

/* Leaves the kept record as the only value of the stack. */
static void push_record(lua_State *L)
{
    lua_settop(L, 0);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &RECORD) != LUA_TTABLE) {
        luaL_error(L, "a lesson calls nest.lesson{…}");
    }
}

void nest_lesson_read(lua_State *L, const struct nest_library *library, struct nest_arena *arena,
                      struct nest_lesson_text *text, struct nest_scenario_spec *scenario)
{
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    push_record(L);
    const struct nest_lesson_text lesson = read_record(L);
    *text = (struct nest_lesson_text){
        .title = nest_arena_strdup(arena, lesson.title),
        .text = nest_arena_strdup(arena, lesson.text),
        .attempt = nest_arena_strdup(arena, lesson.attempt),
        .question = nest_arena_strdup(arena, lesson.question),
    };
    if (lua_getfield(L, 1, "scenario") != LUA_TTABLE) {
        luaL_error(L, "a lesson needs scenario = {…}");
    }
    const struct nest_node *root = nest_tree_of(L, -1, arena);
    if (nest_scenario_from_tree(library, root, arena, scenario, &errors) != NEST_OK) {
        nest_raise_errors(L, &errors);
    }
}

void nest_lesson_show(lua_State *L, struct nest_lesson_view *view)
{
    push_record(L);
    nest_scenario_bind(L, view->live);
    if (view->answer.plan) {
        nest_answer_push(L, &view->answer, nest_push_arena(L));
        lua_remove(L, -2);
    } else {
        (void)push_answer(L, 2);
    }
    call_show(L, 2, 3);
    if (!view->edited) {
        return;
    }
    lua_getfield(L, 1, "check");
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 2);
    view->done = lua_toboolean(L, -2);
    nest_strbuf_add(view->verdict, luaL_optstring(L, -1, ""));
}
