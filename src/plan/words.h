/* The words and short texts by which plans are named in reports, files and on the screen. */
#ifndef NEST_PLAN_WORDS_H
#define NEST_PLAN_WORDS_H

#include "plan/plan.h"

/* "bf16", "fp16", "fp8" or "fp32". */
const char *nest_precision_name(enum nest_precision precision);

/* The device order, fastest first, as `--pin order=` reads it: "tp-cp-dp-pp", "tp-cp-pp-dp" or
 * "tp-cp-dp:4-pp-dp:8". Returns out. */
char *nest_order_format(const struct nest_strategy *strategy, char *out, size_t size);

/* A stage's layers: "emb 1-10", "11-20", "71-80 head", one part per range; more than three ranges
 * are shortened to "emb 1 .. 71 x8". Layers of a stated graph are numbers only. Returns out. */
char *nest_layers_format(const struct nest_plan_stage *stage, const struct nest_model *model,
                         char *out, size_t size);

/* The whole strategy on one line: "tp 8 sp, pp 8, dp 16, zero 1, micro batch 1"; what is 1 or off
 * is left out, apart from tp, pp and dp. Returns out. */
char *nest_plan_format(const struct nest_plan *plan, char *out, size_t size);

/* Which layers' times are measured at a tp width, and which computed, in one sentence. False, and
 * nothing in out, for a model without measured times. */
bool nest_measured_format(const struct nest_model *model, int64_t tp, char *out, size_t size);

/* What the plan has for a choice that can be pinned: a degree, 0 or 1 for sp, the heaviest
 * enum nest_recompute of any stage. */
int64_t nest_plan_value(const struct nest_plan *plan, enum nest_pin_key key);

/* The heaviest recompute mode of any stage. */
enum nest_recompute nest_plan_heaviest(const struct nest_plan *plan);

#endif
