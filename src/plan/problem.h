/* From a loaded scenario to the problem that is priced and solved. */
#ifndef NEST_PLAN_PROBLEM_H
#define NEST_PLAN_PROBLEM_H

#include "base/arena.h"
#include "base/error.h"
#include "cost/problem.h"

/* Expands the model, builds the cluster and gathers everything into out. All of it lives in arena
 * and borrows scenario. limits.memory 0 is the device's capacity; limits.devices cuts the cluster.
 */
enum nest_status nest_problem_build(const struct nest_scenario_spec *scenario,
                                    struct nest_arena *arena, struct nest_problem *out,
                                    struct nest_errors *errors);

#endif
