/* The step formula: one optimizer step from the loads of its stages. A rule of an override weighs
 * its parts anew (struct nest_step_rule); one that is not given leaves it as it is.
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

/* weight * time; saturates. */
static inline nest_ps nest_step_weigh(double weight, nest_ps time)
{
    const double value = weight * (double)time;
    return value < (double)NEST_PS_MAX ? (nest_ps)value : NEST_PS_MAX;
}

/* a + b, neither of them negative; saturates. */
static inline nest_ps nest_step_add(nest_ps a, nest_ps b)
{
    return a + b < NEST_PS_MAX ? a + b : NEST_PS_MAX;
}

/* The tail of a stage alone. first: it is the first one. */
static inline nest_ps nest_step_tail(const struct nest_step_rule *rule,
                                     const struct nest_stage_cost *stage, bool first)
{
    if (!rule->given) {
        return nest_step_add(stage->sync, stage->optimizer);
    }
    return rule->first_tail && !first
               ? 0
               : nest_step_add(nest_step_weigh(rule->sync, stage->sync),
                               nest_step_weigh(rule->update, stage->optimizer));
}

/* What a stage in front takes off the tails behind it: its own backward of the last microbatch (of
 * its last chunk) and the gradient that it waits for. */
static inline nest_ps nest_step_drain(const struct nest_stage_cost *stage, int64_t virtual_stages)
{
    return (stage->bw + stage->out) / virtual_stages;
}

/* Puts a stage in front of the pipeline described by rest (NEST_STEP_EMPTY for none). tail: its
 * own, of nest_step_tail. */
#define NEST_STEP_EMPTY                                                                            \
    {                                                                                              \
        0, 0, -NEST_PS_MAX                                                                         \
    }
static inline struct nest_step nest_step_prepend(const struct nest_stage_cost *stage, nest_ps tail,
                                                 struct nest_step rest, int64_t virtual_stages)
{
    const nest_ps later = rest.tail - nest_step_drain(stage, virtual_stages);
    return (struct nest_step){
        .bottleneck = stage->load > rest.bottleneck ? stage->load : rest.bottleneck,
        .fill = nest_step_add(rest.fill, stage->load),
        .tail = tail > later ? tail : later,
    };
}

/* What the parts of a step are weighed with. */
struct nest_step_frame {
    int64_t microbatches, virtual_stages;
    struct nest_step_rule rule;
};

/* The frame of a strategy with so many stages. */
struct nest_step_frame nest_step_frame_of(const struct nest_problem *problem,
                                          const struct nest_strategy *strategy, int stages);

/* M*b + (f - b)/v; saturates. */
static inline nest_ps nest_step_pipeline(const struct nest_step_frame *frame, struct nest_step step)
{
    if (frame->rule.given) {
        return nest_step_add(nest_step_weigh(frame->rule.bottleneck, step.bottleneck),
                             nest_step_weigh(frame->rule.fill, step.fill));
    }
    nest_ps busy = 0;
    if (__builtin_mul_overflow(frame->microbatches, step.bottleneck, &busy) || busy > NEST_PS_MAX) {
        return NEST_PS_MAX;
    }
    return nest_step_add(busy, (step.fill - step.bottleneck) / frame->virtual_stages);
}

/* What comes after the pipeline: max(0, e). */
static inline nest_ps nest_step_ending(const struct nest_step_frame *frame, struct nest_step step)
{
    const nest_ps tail = step.tail > 0 ? step.tail : 0;
    return frame->rule.given ? nest_step_weigh(frame->rule.tail, tail) : tail;
}

/* What is once a step besides; tied is the all-reduce of a tied embedding, 0 for one stage. */
static inline nest_ps nest_step_besides(const struct nest_step_frame *frame, nest_ps tied)
{
    return frame->rule.given ? nest_step_add(nest_step_weigh(frame->rule.tied, tied),
                                             nest_to_ps(frame->rule.constant))
                             : tied;
}

/* The whole step. Grows with every part, whatever the rule; saturates. */
static inline nest_ps nest_step_time(const struct nest_step_frame *frame, struct nest_step step,
                                     nest_ps tied)
{
    return nest_step_add(
        nest_step_add(nest_step_pipeline(frame, step), nest_step_ending(frame, step)),
        nest_step_besides(frame, tied));
}

#endif
