#include "plan/remarks.h"

#include <inttypes.h>

struct remarks {
    const struct nest_problem *problem;
    const struct nest_plan *plan;
    struct nest_errors *errors;
};

static struct nest_mark pin_mark(const struct remarks *r, enum nest_pin_key key)
{
    return r->problem->pins.pin[key].mark;
}

/* KV heads fewer than tp are legal. */
static void remark_replication(const struct remarks *r)
{
    const struct nest_model_spec *model = r->problem->model->spec;
    const int64_t tp = r->plan->strategy.tp;
    if (model->attention != NEST_ATTENTION_MLA && model->kv_heads > 0 && tp > model->kv_heads) {
        nest_errors_add(r->errors, pin_mark(r, NEST_PIN_TP), "tp",
                        "Megatron-LM accepts it from core 0.16 on",
                        "each of the %" PRId64 " kv heads is replicated on %" PRId64
                        " of the tp %" PRId64 " ranks",
                        model->kv_heads, tp / model->kv_heads, tp);
    }
}

static void remark_experts(const struct remarks *r)
{
    const struct nest_strategy *s = &r->plan->strategy;
    if (r->problem->model->spec->experts > 1 && s->tp > 1 && !s->sp) {
        nest_errors_add(r->errors, pin_mark(r, NEST_PIN_SP), "sp", "use sp 1 there",
                        "Megatron-LM refuses experts with tensor parallelism and without sequence "
                        "parallelism");
    }
}

static void remark_sharding(const struct remarks *r)
{
    const int zero = r->plan->strategy.zero;
    if (zero >= 2 && r->plan->stages > 1) {
        nest_errors_add(r->errors, pin_mark(r, NEST_PIN_ZERO), "zero",
                        "torchtitan combines them; use zero 1 elsewhere",
                        "DeepSpeed refuses ZeRO %d with a pipeline, and Megatron-LM does not "
                        "validate it",
                        zero);
    }
}

static void remark_bubble(const struct remarks *r)
{
    const int64_t m = r->plan->microbatches;
    const int stages = r->plan->stages;
    if (m < stages && r->plan->strategy.virtual_stages == 1) {
        nest_errors_add(r->errors, pin_mark(r, NEST_PIN_PP), "pp",
                        "Megatron-LM accepts it; PyTorch's 1F1B refuses fewer microbatches than "
                        "stages",
                        "%" PRId64 " microbatches for %d stages leave a bubble of "
                        "(pp - 1) / (M + pp - 1) = %d/%" PRId64,
                        m, stages, stages - 1, m + stages - 1);
    }
}

void nest_remarks_add(const struct nest_problem *problem, const struct nest_plan *plan,
                      struct nest_errors *errors)
{
    const struct remarks r = {problem, plan, errors};
    remark_replication(&r);
    remark_experts(&r);
    remark_sharding(&r);
    remark_bubble(&r);
}
