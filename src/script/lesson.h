/* Guided lessons: a record of what a lesson says, and its run without a screen. */
#ifndef NEST_SCRIPT_LESSON_H
#define NEST_SCRIPT_LESSON_H

#include <lua.h>

/* nest.lesson{title =, text =, scenario =, show =, try =, question =, check =, solution =}: prints
 * the lesson with its live figures. The learner's edits are the script's arguments (PATH=VALUE or
 * KEY=VALUE of a pin), applied to the scenario before; with any, check says whether they did it.
 * Returns whether they did. */
int nest_lesson_run(lua_State *L);

#endif
