#include "cost/layer.h"

struct nest_state_bytes nest_state_bytes(const struct nest_train_spec *train)
{
    const bool wide = train->precision == NEST_FP32;
    const int64_t master = wide ? 0 : 4;
    const int64_t moments = train->optimizer == NEST_ADAM       ? 8
                            : train->optimizer == NEST_ADAM8BIT ? 2
                                                                : 4;
    const int64_t weight = train->weight_bytes > 0 ? train->weight_bytes : wide ? 4 : 2;
    return (struct nest_state_bytes){.weight = weight,
                                     .gathered = weight,
                                     .gradient = train->grad_bytes,
                                     .optimizer = master + moments};
}

int64_t nest_expert_copies(const struct nest_strategy *strategy)
{
    const int64_t devices = nest_strategy_width(strategy) * nest_strategy_dp(strategy);
    const int64_t copies = devices / (strategy->ep * strategy->etp);
    return copies > 0 ? copies : 1;
}

int64_t nest_dense_shard(const struct nest_strategy *strategy)
{
    return strategy->shard > 0 ? strategy->shard : nest_strategy_dp(strategy) * strategy->cp;
}

int64_t nest_expert_shard(const struct nest_strategy *strategy)
{
    const int64_t dense = nest_strategy_dp(strategy) * strategy->cp;
    const int64_t copies = nest_expert_copies(strategy);
    const int64_t shard = copies * nest_dense_shard(strategy) / dense;
    return shard > 0 ? shard : 1;
}

double nest_update_bytes(const struct nest_train_spec *train)
{
    const struct nest_state_bytes bytes = nest_state_bytes(train);
    return (double)(2 * bytes.gradient + 2 * bytes.optimizer + bytes.weight);
}
