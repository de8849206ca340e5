/* Guided lessons: a record of what a lesson says, its run without a screen, and its parts for one.
 */
#ifndef NEST_SCRIPT_LESSON_H
#define NEST_SCRIPT_LESSON_H

#include <lua.h>

#include "export/json.h"
#include "script/repl.h"

/* nest.lesson{title =, text =, scenario =, show =, try =, question =, check =, solution =}: prints
 * the lesson with its live figures. The learner's edits are the script's arguments (PATH=VALUE or
 * KEY=VALUE of a pin), applied to the scenario before; with any, check says whether they did it.
 * Returns whether they did. */
int nest_lesson_run(lua_State *L);

/* ---- For a host that shows lessons itself; inside of runs, all raise. ------------------------ */

/* From here on nest.lesson{…} only keeps its record. */
void nest_lesson_capture(lua_State *L);

/* The kept record's texts, and its scenario with its texts, in arena. */
void nest_lesson_read(lua_State *L, const struct nest_library *library, struct nest_arena *arena,
                      struct nest_lesson_text *text, struct nest_scenario_spec *scenario);

struct nest_lesson_view {
    const struct nest_live *live;
    struct nest_outcome answer;  /* plan NULL: none fits, and what is pinned is predicted */
    bool edited;                 /* the learner has changed the lesson's scenario */
    bool done;                   /* out: check says so */
    struct nest_strbuf *verdict; /* out: what check says */
};

/* Calls the kept record's show, whose figures go to the print sink, and, once edited, its check. */
void nest_lesson_show(lua_State *L, struct nest_lesson_view *view);

#endif
