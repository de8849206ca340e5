/* How much of the step waits for each level of the network. Private to the session room. */
#ifndef NEST_SESSION_USE_H
#define NEST_SESSION_USE_H

#include "session/session.h"

/* [problem->cluster->levels], in arena; NULL when memory is out. The breakdown's communication
 * (the bottleneck stage's collectives and transfers, and the exposed gradient traffic) is given to
 * the level at which the group that causes it meets. */
const struct nest_level_use *nest_level_uses(const struct nest_problem *problem,
                                             const struct nest_solution *solution,
                                             struct nest_arena *arena);

#endif
