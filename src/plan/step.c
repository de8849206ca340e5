#include "plan/step.h"

#include "cost/strategy.h"

struct nest_step_frame nest_step_frame_of(const struct nest_problem *problem,
                                          const struct nest_strategy *strategy, int stages)
{
    const int64_t microbatches =
        nest_problem_microbatches(problem, strategy->micro_batch, nest_strategy_dp(strategy));
    return (struct nest_step_frame){
        .microbatches = microbatches,
        .virtual_stages = strategy->virtual_stages,
        .rule = nest_problem_step(problem, strategy, stages, microbatches),
    };
}
