/* Where every millisecond and byte of a prediction comes from: formula and numbers, as text that a
 * student can follow with a pocket calculator. Pure: the same text serves `nest eval --explain` and
 * the explorer's detail pane. Lines end with a newline and stay under about 100 columns. */
#ifndef NEST_PLAN_EXPLAIN_H
#define NEST_PLAN_EXPLAIN_H

#include "base/strbuf.h"
#include "plan/touched.h"

/* Step time from stage loads, the loads themselves, and the break-down. */
void nest_explain_step(const struct nest_plan *plan, const struct nest_prediction *prediction,
                       struct nest_strbuf *out);

/* One stage's load: every operator of each kind of layer in it, then its communication. */
void nest_explain_time(const struct nest_problem *problem, const struct nest_plan *plan,
                       const struct nest_prediction *prediction, int stage,
                       struct nest_strbuf *out);

/* One stage's memory, term by term. */
void nest_explain_memory(const struct nest_problem *problem, const struct nest_plan *plan,
                         const struct nest_prediction *prediction, int stage,
                         struct nest_strbuf *out);

/* All of it: the step, the bottleneck's time, the fullest stage's memory. */
void nest_explain(const struct nest_problem *problem, const struct nest_plan *plan,
                  const struct nest_prediction *prediction, struct nest_strbuf *out);

/* What overrides changed, hook by hook, with the defaults. */
void nest_explain_touched(const struct nest_problem *problem, const struct nest_plan *plan,
                          const struct nest_prediction *prediction,
                          const struct nest_touched *touched, struct nest_strbuf *out);

#endif
