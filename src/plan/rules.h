/* What is impossible everywhere, with the product that was checked and the nearest legal values. */
#ifndef NEST_PLAN_RULES_H
#define NEST_PLAN_RULES_H

#include "base/error.h"
#include "cost/problem.h"
#include "plan/plan.h"

/* True if the strategy with pp stages is legal for the problem. errors NULL: only the answer, fast,
 * for enumeration; else every violated rule adds one fault. Warnings (silently switched off by a
 * framework) are not faults. */
bool nest_rules_check(const struct nest_problem *problem, const struct nest_strategy *strategy,
                      int64_t pp, struct nest_errors *errors);

/* True if a plan made for another problem says something about this one: it is legal, of all its
 * layers and no others, and on devices that exist. It need not fit in memory, nor the pins. */
bool nest_rules_apply(const struct nest_problem *problem, const struct nest_plan *plan);

#endif
