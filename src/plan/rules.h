/* What is impossible everywhere, with the product that was checked and the nearest legal values. */
#ifndef NEST_PLAN_RULES_H
#define NEST_PLAN_RULES_H

#include "base/error.h"
#include "cost/problem.h"
#include "cost/strategy.h"

/* True if the strategy with pp stages is legal for the problem. errors NULL: only the answer, fast,
 * for enumeration; else every violated rule adds one fault. Warnings (silently switched off by a
 * framework) are not faults. */
bool nest_rules_check(const struct nest_problem *problem, const struct nest_strategy *strategy,
                      int64_t pp, struct nest_errors *errors);

#endif
