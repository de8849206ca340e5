/* What a stage consists of, for its explanation; private to it. */
#ifndef NEST_PLAN_EXPLAIN_STAGE_H
#define NEST_PLAN_EXPLAIN_STAGE_H

#include "plan/plan.h"

/* The plan's strategy with the stage's own ZeRO and tp. */
struct nest_strategy nest_explain_strategy(const struct nest_plan *plan, int stage);

/* Layers of the kind in the stage. */
int64_t nest_explain_count(const struct nest_model *model, const struct nest_plan_stage *stage,
                           int kind);

/* Parameters on one device of the stage before ZeRO; a tied copy of the embedding not counted. */
void nest_explain_parameters(const struct nest_problem *problem, const struct nest_plan *plan,
                             int stage, int64_t *dense, int64_t *expert);

#endif
