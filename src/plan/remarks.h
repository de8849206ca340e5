/* What is worth a word about a legal plan: what some framework refuses, replicates or leaves idle.
 */
#ifndef NEST_PLAN_REMARKS_H
#define NEST_PLAN_REMARKS_H

#include "plan/plan.h"

/* Adds a fault of no consequence for each; the plan stays legal. Rules: framework rules C2, C8, D2,
 * M7, P10, T10. */
void nest_remarks_add(const struct nest_problem *problem, const struct nest_plan *plan,
                      struct nest_errors *errors);

#endif
