/* Models whose layers are unlike in turn (windows in some, experts in some, measured layers of a
 * few kinds): the bounds take many kinds for one bulk, and must still lose no plan. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "solve/bound.h"
#include "solve/solve.h"
#include "support/small_problem.h"

enum { DEVICES = 12, TOP = 3 };

/* Layers of two or three kinds, in any order. */
static void measured_layers(struct test_random *random, struct test_small *made)
{
    const int layers = 4 + (int)test_random_below(random, 5);
    const int64_t kinds = 2 + test_random_below(random, 2);
    struct nest_profile_layer *layer = NEST_NEW(&made->arena, struct nest_profile_layer, layers);
    struct nest_profile_entry *entry = NEST_NEW(&made->arena, struct nest_profile_entry, kinds);
    for (int64_t k = 0; k < kinds; k++) {
        entry[k] = (struct nest_profile_entry){
            .tp = 1,
            .fw = 1e-4 * (double)(1 + test_random_below(random, 9)),
            .bw = 1e-4 * (double)(1 + test_random_below(random, 9)),
            .weight_bytes = 1e6 * (double)test_random_below(random, 5),
            .activation_bytes = 1e6 * (double)test_random_below(random, 5),
            .boundary_bytes = 1e5 * (double)(1 + test_random_below(random, 8)),
        };
    }
    for (int i = 0; i < layers; i++) {
        layer[i] = (struct nest_profile_layer){
            .name = "layer",
            .times = 1 + (int)test_random_below(random, 2),
            .entries = 1,
            .entry = &entry[test_random_below(random, kinds)],
        };
    }
    made->spec = (struct nest_model_spec){.name = "chain", .seq = 64, .heads = 4};
    made->spec.profile_layers = layers;
    made->spec.profile = layer;
}

static void make_unlike(struct test_random *random, struct test_small *made)
{
    struct nest_model_spec *spec = &made->spec;
    spec->layers = 3 + test_random_below(random, 5);
    switch (test_random_below(random, 3)) {
    case 0:
        spec->window = 16 << test_random_below(random, 3);
        spec->full_every = 2 + test_random_below(random, 3);
        spec->full_first = test_random_below(random, spec->full_every);
        spec->attention = NEST_ATTENTION_WINDOW;
        break;
    case 1:
        spec->experts = 2 << test_random_below(random, 2);
        spec->top_k = 1 + test_random_below(random, 2);
        spec->moe_ffn = 256 << test_random_below(random, 3);
        spec->moe_every = 2 + test_random_below(random, 2);
        spec->dense_layers = test_random_below(random, 2);
        break;
    default:
        measured_layers(random, made);
        break;
    }
    test_small_expand(made);
    made->problem.train.global_batch *= 1 + test_random_below(random, 4);
    made->problem.memory_limit <<= test_random_below(random, 3);
}

/* Counts instances whose bulk has more than one kind. */
struct seen {
    int feasible, unlike;
};

static void check_rows(const struct nest_bounds *bounds, struct test_random *random, uint64_t seed)
{
    const struct nest_model *model = bounds->problem.model;
    int64_t figure[NEST_BULK_KINDS] = {0};
    int64_t by_kind[64] = {0};
    assert_true(model->kinds <= 64);
    for (int k = 0; k < bounds->bulk_kinds; k++) {
        figure[k] =
            test_random_below(random, 3) ? test_random_below(random, 1000) : NEST_PS_MAX / 8;
        by_kind[bounds->bulk_kind[k]] = figure[k];
    }
    const struct nest_mean mean = nest_bounds_mean(bounds, figure);
    const int from = model->run[bounds->bulk].first;
    const struct nest_run *last = &model->run[bounds->bulk + bounds->bulk_runs - 1];
    for (int i = from; i < last->first + last->count; i++) {
        int64_t row = -mean.slack;
        int64_t sum = 0;
        for (int j = i; j < last->first + last->count; j++) {
            row += mean.each;
            sum += by_kind[model->kind_of[j]];
            if (row > sum) {
                fail_msg("layers %d to %d of seed %" PRIu64 " come to less than the mean", i, j,
                         seed);
            }
        }
    }
}

static void check_bulk(const struct test_small *made, struct test_random *random, uint64_t seed,
                       struct seen *seen)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_space space;
    struct nest_bounds bounds;
    if (nest_space_build(&made->problem, &arena, &space) == NEST_OK) {
        assert_true(nest_bounds_init(&bounds, &space, &arena));
        seen->unlike += bounds.bulk_kinds > 1;
        check_rows(&bounds, random, seed);
    }
    nest_arena_free(&arena);
}

static void check_instance(uint64_t seed, struct seen *seen)
{
    struct test_random random = {seed * UINT64_C(0xA0761D6478BD642F) + 3};
    struct test_small made;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_result bounded;
    struct nest_result all;
    test_small_problem(&made, seed, DEVICES);
    make_unlike(&random, &made);
    check_bulk(&made, &random, seed, seen);
    struct nest_solve_options options = {.top = TOP, .threads = 1};
    const enum nest_status status = nest_solve(&made.problem, &options, &arena, &bounded);
    options.exhaustive = true;
    const enum nest_status expected = nest_solve(&made.problem, &options, &arena, &all);
    if (status != expected || bounded.count != all.count) {
        fail_msg("seed %" PRIu64 ": status %d and %d plans, exhaustively %d and %d", seed, status,
                 bounded.count, expected, all.count);
    }
    for (int i = 0; i < all.count; i++) {
        const struct nest_solution *a = &bounded.solution[i];
        const struct nest_solution *b = &all.solution[i];
        if (nest_plan_compare(&a->plan, a->prediction.step, &b->plan, b->prediction.step) != 0) {
            fail_msg("seed %" PRIu64 ": plan %d takes %" PRId64 ", exhaustively %" PRId64, seed, i,
                     a->prediction.step, b->prediction.step);
        }
    }
    seen->feasible += all.count > 0;
    nest_arena_free(&arena);
    test_small_free(&made);
}

static void bounds_lose_no_plan(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(1500);
    struct seen seen = {0};
    for (int i = 0; i < instances; i++) {
        check_instance(seed + (uint64_t)i, &seen);
    }
    print_message("%d models from seed %" PRIu64 ": %d feasible, %d of several kinds\n", instances,
                  seed, seen.feasible, seen.unlike);
    assert_true(seen.feasible > instances / 4);
    assert_true(seen.unlike > instances / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_lose_no_plan),
    };
    return cmocka_run_group_tests_name("unlike", tests, NULL, NULL);
}
