/* One lesson in a state of its own. */
#include <lauxlib.h>

#include "script/lesson.h"
#include "script/repl_state.h"

struct opening {
    struct nest_repl *repl;
    const char *path;
    struct nest_arena *arena;
    struct nest_lesson_text *text;
    struct nest_scenario_spec *scenario;
};

static int open_lesson(lua_State *L)
{
    const struct opening *opening = lua_touserdata(L, 1);
    nest_lesson_capture(L);
    nest_sandbox_load_file(L, opening->path);
    lua_call(L, 0, 0);
    nest_lesson_read(L, opening->repl->options.library, opening->arena, opening->text,
                     opening->scenario);
    return 0;
}

enum nest_status nest_repl_lesson(struct nest_repl *repl, const char *path,
                                  struct nest_arena *arena, struct nest_lesson_text *text,
                                  struct nest_scenario_spec *scenario, struct nest_errors *errors)
{
    struct opening opening = {repl, path, arena, text, scenario};
    return nest_sandbox_run(repl->sandbox, open_lesson, &opening, errors);
}

static int show_lesson(lua_State *L)
{
    struct nest_lesson_state *state = lua_touserdata(L, 1);
    struct nest_lesson_view view = {
        .live = state->live,
        .edited = state->edited,
        .verdict = state->verdict,
    };
    if (state->best) {
        view.answer = (struct nest_outcome){
            .scenario = state->live->spec,
            .problem = state->problem,
            .plan = &state->best->plan,
            .prediction = &state->best->prediction,
        };
    }
    nest_lesson_show(L, &view);
    state->done = view.done;
    return 0;
}

enum nest_status nest_repl_lesson_show(struct nest_repl *repl, struct nest_lesson_state *state,
                                       struct nest_errors *errors)
{
    return nest_sandbox_run(repl->sandbox, show_lesson, state, errors);
}
