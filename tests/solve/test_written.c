/* A plan that is written down and read back costs and needs the same. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "solve/solve.h"
#include "support/seed.h"
#include "support/small_problem.h"

enum { STAGES_MAX = 16 };

/* What a plan file says of a plan. */
static void write_down(const struct nest_plan *plan, struct nest_plan_stage_spec *stage,
                       struct nest_plan_spec *out)
{
    const struct nest_strategy *s = &plan->strategy;
    assert_true(plan->stages <= STAGES_MAX);
    for (int i = 0; i < plan->stages; i++) {
        const struct nest_plan_stage *from = &plan->stage[i];
        stage[i] = (struct nest_plan_stage_spec){.ranges = from->ranges,
                                                 .layers = from->layers,
                                                 .recompute = from->recompute,
                                                 .zero = from->zero,
                                                 .tp = from->tp,
                                                 .first_device = from->first_device};
    }
    *out = (struct nest_plan_spec){
        .tp = s->tp,
        .pp = plan->stages,
        .dp = nest_strategy_dp(s),
        .cp = s->cp,
        .ep = s->ep,
        .etp = s->etp,
        .micro_batch = s->micro_batch,
        .virtual_stages = s->virtual_stages,
        .shard = s->shard,
        .span = s->span,
        .microbatches = plan->microbatches,
        .sp = s->sp,
        .zero = s->zero,
        .order = {.kind = NEST_ORDER_SPLIT, .dp_in = s->dp_in, .dp_out = s->dp_out},
        .stages = plan->stages,
        .stage = stage,
    };
}

static void check(const struct nest_problem *problem, const struct nest_solution *solution,
                  uint64_t seed)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_plan_stage_spec stage[STAGES_MAX];
    struct nest_plan_spec spec;
    struct nest_plan plan;
    struct nest_prediction p;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    write_down(&solution->plan, stage, &spec);
    if (nest_plan_from_spec(problem, &spec, &arena, &plan, &errors) != NEST_OK) {
        fail_msg("seed %" PRIu64 ": %s", seed, errors.item[0].message);
    }
    assert_true(nest_plan_evaluate(problem, &plan, &arena, &p));
    assert_int_equal(p.step, solution->prediction.step);
    for (int i = 0; i < p.stages; i++) {
        assert_int_equal(p.stage[i].memory.total, solution->prediction.stage[i].memory.total);
    }
    nest_arena_free(&arena);
}

static void written_plans_are_read_back(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(400);
    int found = 0;
    int widths = 0;
    for (int i = 0; i < instances; i++) {
        struct test_small made;
        struct nest_arena arena = NEST_ARENA_INIT;
        struct nest_result result;
        test_small_problem(&made, seed + (uint64_t)i, 10);
        made.problem.allow_stage_tp = i % 3 == 0;
        made.problem.allow_stage_zero = i % 5 == 0;
        const struct nest_solve_options options = {.top = 3, .threads = 1};
        (void)nest_solve(&made.problem, &options, &arena, &result);
        for (int k = 0; k < result.count; k++) {
            check(&made.problem, &result.solution[k], seed + (uint64_t)i);
            widths += made.problem.allow_stage_tp && result.solution[k].plan.strategy.sp;
            found++;
        }
        nest_arena_free(&arena);
        test_small_free(&made);
    }
    print_message("%d instances from seed %" PRIu64 ": %d plans, %d of free widths with sp\n",
                  instances, seed, found, widths);
    assert_true(found > instances / 4);
    assert_true(widths > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_plans_are_read_back),
    };
    return cmocka_run_group_tests_name("written plans", tests, NULL, NULL);
}
