/* One question to one hook of a script: its arguments as a table, its answer as numbers. */
#ifndef NEST_SCRIPT_HOOK_H
#define NEST_SCRIPT_HOOK_H

#include "script/asked.h"

/* Calls the function on top of the stack with the question and pops it; the answer is checked, and
 * reads is what the function looked at. Raises with the function's place in front. */
void nest_hook_call(lua_State *L, const struct nest_question *question,
                    struct nest_hook_answer *answer, struct nest_reads *reads);

#endif
