/* The step formula: one optimizer step from the loads of its stages.
 *
 *   step = M*b + (f - b)/v + max(0, e) + tied
 *
 * b = max tau_i, f = sum tau_i, e = max_i(sync_i + opt_i - sum_{j<i}(B_j + c_{j+1})): what the
 * update of a later stage still lacks once the stages before it have drained (DESIGN 3.5). All
 * three grow monotonically when a stage is put in front, which is what makes dominance exact. */
#ifndef NEST_PLAN_STEP_H
#define NEST_PLAN_STEP_H

#include "cost/table.h"

struct nest_step {
    nest_ps bottleneck; /* b */
    nest_ps fill;       /* f */
    nest_ps tail;       /* e */
};

/* The tail of a stage alone. */
static inline nest_ps nest_step_tail(const struct nest_stage_cost *stage)
{
    return stage->sync + stage->optimizer;
}

/* What a stage in front takes off the tails behind it: its own backward of the last microbatch (of
 * its last chunk) and the gradient that it waits for. */
static inline nest_ps nest_step_drain(const struct nest_stage_cost *stage, int64_t virtual_stages)
{
    return (stage->bw + stage->out) / virtual_stages;
}

/* Puts a stage in front of the pipeline described by rest (NEST_STEP_EMPTY for none). */
#define NEST_STEP_EMPTY                                                                            \
    {                                                                                              \
        0, 0, -NEST_PS_MAX                                                                         \
    }
static inline struct nest_step nest_step_prepend(const struct nest_stage_cost *stage,
                                                 struct nest_step rest, int64_t virtual_stages)
{
    const nest_ps own = nest_step_tail(stage);
    const nest_ps later = rest.tail - nest_step_drain(stage, virtual_stages);
    return (struct nest_step){
        .bottleneck = stage->load > rest.bottleneck ? stage->load : rest.bottleneck,
        .fill = rest.fill + stage->load,
        .tail = own > later ? own : later,
    };
}

/* M*b + (f - b)/v. */
static inline nest_ps nest_step_pipeline(struct nest_step step, int64_t microbatches,
                                         int64_t virtual_stages)
{
    return microbatches * step.bottleneck + (step.fill - step.bottleneck) / virtual_stages;
}

/* The whole step; tied is the all-reduce of a tied embedding, 0 for one stage. */
static inline nest_ps nest_step_time(struct nest_step step, int64_t microbatches,
                                     int64_t virtual_stages, nest_ps tied)
{
    return nest_step_pipeline(step, microbatches, virtual_stages) +
           (step.tail > 0 ? step.tail : 0) + tied;
}

#endif
