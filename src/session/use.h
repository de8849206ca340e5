/* How much of the step waits for each level of the network. Private to the session room. */
#ifndef NEST_SESSION_USE_H
#define NEST_SESSION_USE_H

#include "session/session.h"

/* [problem->cluster->levels], in arena; NULL when memory is out. The same plan is priced again as
 * the levels become infinitely fast one after the other, the outermost first: what a level's turn
 * saves is what waited for it. The levels' times sum to the step less that of a perfect network. */
const struct nest_level_use *nest_level_uses(const struct nest_problem *problem,
                                             const struct nest_solution *solution,
                                             struct nest_arena *arena);

#endif
