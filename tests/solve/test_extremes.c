/* Figures of any size that input accepts: no sum leaves int64 (UBSan would say so), every search
 * ends, its plan is priced by the evaluator as by the search, and where there is none it is said
 * why. */
#include <inttypes.h>
#include <math.h>
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

static int64_t below(struct test_random *random, int64_t n)
{
    return test_random_below(random, n);
}

/* One of the ends of a range, or anything between them. */
static double anything(struct test_random *random, double low, double high)
{
    const int64_t which = below(random, 4);
    if (which < 2) {
        return which == 0 ? low : high;
    }
    return low * pow(high / low, (double)below(random, 1001) / 1000.0);
}

static int64_t any_count(struct test_random *random, int64_t high)
{
    return (int64_t)anything(random, 1.0, (double)high);
}

/* Some figures become extreme, each as wide as input lets it be. */
static bool sometimes(struct test_random *random)
{
    return below(random, 3) == 0;
}

static void stretch_model(struct test_random *random, struct nest_model_spec *spec)
{
    if (spec->graph) {
        return;
    }
    spec->vocab = sometimes(random) ? any_count(random, 1 << 28) : spec->vocab;
    spec->seq = sometimes(random) ? any_count(random, 1 << 28) : spec->seq;
    spec->ffn = sometimes(random) ? any_count(random, 1 << 24) : spec->ffn;
    spec->moe_ffn =
        spec->experts > 0 && sometimes(random) ? any_count(random, 1 << 24) : spec->moe_ffn;
    if (sometimes(random)) {
        spec->hidden = 4 * any_count(random, 1 << 18);
    }
    if (sometimes(random) && spec->encoder_layers == 0) {
        spec->layers = 1 + below(random, 40);
    }
}

static void stretch_cluster(struct test_random *random, struct test_cluster *cluster)
{
    struct nest_device_spec *device = &cluster->device;
    for (int l = 0; l < cluster->spec.levels; l++) {
        struct nest_level_spec *level = &cluster->spec.level[l];
        level->bandwidth = sometimes(random) ? anything(random, 1e3, 1e15) : level->bandwidth;
        level->latency = sometimes(random) ? anything(random, 1e-12, 10.0) : level->latency;
        level->oversubscription =
            sometimes(random) ? anything(random, 1.0, 1e6) : level->oversubscription;
    }
    device->memory_bandwidth =
        sometimes(random) ? anything(random, 1e6, 1e15) : device->memory_bandwidth;
    device->launch = sometimes(random) ? anything(random, 1e-12, 1.0) : device->launch;
    for (int p = 0; p < NEST_PRECISIONS && sometimes(random); p++) {
        device->peak[p] = anything(random, 1e9, 1e18);
    }
    test_cluster_rebuild(cluster, cluster->tree.devices);
}

/* False where the model is refused. */
static bool expand(struct test_small *made)
{
    struct nest_errors errors;
    nest_errors_init(&errors, &made->arena);
    const enum nest_status status =
        nest_model_expand(&made->spec, &made->arena, &made->model, &errors);
    assert_true(status == NEST_OK || errors.count == 1);
    return status == NEST_OK;
}

static bool draw(struct test_small *made, uint64_t seed)
{
    struct test_random random = {seed * UINT64_C(0xA24BAED4963EE407)};
    if (seed % 8 == 7) {
        test_small_mixed(made, seed, 8);
    } else {
        test_small_problem(made, seed, 12);
        if (seed % 4 == 2) {
            test_small_branch(made, seed);
        }
    }
    struct nest_problem *problem = &made->problem;
    stretch_model(&random, &made->spec);
    if (!problem->cluster->mixed) {
        stretch_cluster(&random, &made->cluster);
    }
    if (sometimes(&random)) {
        problem->train.global_batch = any_count(&random, 1 << 30);
    }
    if (sometimes(&random)) {
        problem->train.vocab_multiple = (int)any_count(&random, 1 << 20);
    }
    problem->memory_limit = (int64_t)anything(&random, 1048576.0, 1e15);
    return expand(made);
}

static void check(struct test_small *made, int *found)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    const struct nest_solve_options options = {.top = 2, .threads = 1};
    struct nest_result result;
    const enum nest_status status = nest_solve(&made->problem, &options, &arena, &result);
    if (status == NEST_NO) {
        assert_true(result.errors.count > 0);
    } else {
        assert_int_equal(status, NEST_OK);
        for (int i = 0; i < result.count; i++) {
            const struct nest_solution *solution = &result.solution[i];
            struct nest_prediction again;
            assert_true(nest_plan_evaluate(&made->problem, &solution->plan, &arena, &again));
            assert_true(again.feasible);
            assert_true(again.step > 0 && again.step < NEST_PS_MAX);
            assert_int_equal(again.step, solution->prediction.step);
        }
        ++*found;
    }
    nest_arena_free(&arena);
}

/* The plan of the documented defaults, which need not fit in anything: its parts add up. */
static void check_default(const struct test_small *made, int *endless)
{
    struct nest_problem problem = made->problem;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    struct nest_plan plan;
    struct nest_prediction p;
    const char **assumed;
    memset(&problem.pins, 0, sizeof problem.pins);
    nest_errors_init(&errors, &arena);
    if (nest_plan_from_pins(&problem, &arena, &plan, &assumed, &errors) == NEST_OK) {
        assert_true(nest_plan_evaluate(&problem, &plan, &arena, &p));
        const struct nest_breakdown *b = &p.breakdown;
        assert_true(p.step >= 0 && p.step <= NEST_PS_MAX);
        assert_int_equal(b->compute + b->recompute + b->tp + b->cp + b->ep + b->pp + b->bubble +
                             b->dp + b->optimizer,
                         p.step);
        for (int i = 0; i < p.stages; i++) {
            assert_true(p.stage[i].load >= 0 && p.stage[i].memory.total > 0);
        }
        *endless += p.step == NEST_PS_MAX;
    } else {
        assert_true(errors.count > 0);
    }
    nest_arena_free(&arena);
}

static void extremes_are_answered(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(600);
    int found = 0;
    int endless = 0;
    for (int i = 0; i < instances; i++) {
        struct test_small made;
        if (draw(&made, seed + (uint64_t)i)) {
            check(&made, &found);
            check_default(&made, &endless);
        }
        test_small_free(&made);
    }
    print_message("%d instances from seed %" PRIu64
                  ": %d with a plan, %d default plans are endless\n",
                  instances, seed, found, endless);
    assert_true(found > instances / 10);
    assert_true(endless > instances / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes_are_answered),
    };
    return cmocka_run_group_tests_name("extremes", tests, NULL, NULL);
}
