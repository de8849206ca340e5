/* A solver that remembers answers exactly as a cold one, over random edits and their undoing. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "solve/solve.h"
#include "support/small_problem.h"

enum { EDITS = 3 };

/* What an edit may change, and so what an undo restores. */
struct state {
    struct nest_cluster_spec cluster;
    struct nest_model_spec model;
    struct nest_train_spec train;
    struct nest_pins_spec pins;
    int64_t memory_limit;
};

static struct state save(const struct test_small *made)
{
    return (struct state){made->cluster.spec, made->spec, made->problem.train, made->problem.pins,
                          made->problem.memory_limit};
}

static void restore(struct test_small *made, const struct state *state)
{
    made->cluster.spec = state->cluster;
    made->spec = state->model;
    made->problem.train = state->train;
    made->problem.pins = state->pins;
    made->problem.memory_limit = state->memory_limit;
    test_cluster_rebuild(&made->cluster, 0);
    test_small_expand(made);
}

static void edit(struct test_random *random, struct test_small *made)
{
    struct state next = save(made);
    struct nest_level_spec *level =
        &next.cluster.level[test_random_below(random, next.cluster.levels)];
    struct nest_pin *pin = &next.pins.pin[test_random_below(random, NEST_PINS)];
    switch (test_random_below(random, 7)) {
    case 0:
        level->bandwidth *= test_random_below(random, 2) ? 2.0 : 0.25;
        break;
    case 1:
        level->oversubscription = 1.0 + (double)test_random_below(random, 8);
        break;
    case 2:
        level->latency = 1e-6 * (double)test_random_below(random, 50);
        break;
    case 3:
        next.memory_limit = (int64_t)1e7 << test_random_below(random, 6);
        break;
    case 4:
        next.train.global_batch = 1 + test_random_below(random, 16);
        break;
    case 5:
        next.model.seq = 64 << test_random_below(random, 4);
        break;
    default:
        pin->count = !pin->count;
        pin->range[0] = (struct nest_range){0, 1 + test_random_below(random, 3)};
        break;
    }
    restore(made, &next);
}

static void expect_same(const struct nest_result *warm, const struct nest_result *cold,
                        uint64_t seed, int step)
{
    bool same = warm->count == cold->count;
    for (int i = 0; same && i < cold->count; i++) {
        same = nest_plan_compare(&warm->solution[i].plan, warm->solution[i].prediction.step,
                                 &cold->solution[i].plan, cold->solution[i].prediction.step) == 0;
    }
    if (!same) {
        fail_msg("sequence of seed %" PRIu64 ", step %d: %d plans warm, %d cold", seed, step,
                 warm->count, cold->count);
    }
}

static void solve_both(struct nest_solver *solver, const struct test_small *made, int top,
                       uint64_t seed, int step)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_result warm;
    struct nest_result cold;
    const struct nest_solve_options options = {.top = top, .threads = 1};
    const enum nest_status a = nest_solver_solve(solver, &made->problem, &options, &arena, &warm);
    const enum nest_status b = nest_solve(&made->problem, &options, &arena, &cold);
    assert_int_equal(a, b);
    expect_same(&warm, &cold, seed, step);
    nest_arena_free(&arena);
}

static void run_sequence(uint64_t seed)
{
    struct test_random random = {seed * UINT64_C(0xD1342543DE82EF95)};
    struct test_small made;
    struct state before[EDITS];
    test_small_problem(&made, seed, 5);
    made.problem.allow_stage_tp = made.problem.allow_stage_zero = false;
    struct nest_solver *solver = nest_solver_create();
    const int top = 1 + (int)test_random_below(&random, 3);
    int depth = 0;
    for (int step = 0; step < 2 * EDITS; step++) {
        if (depth > 0 && (depth == EDITS || test_random_below(&random, 3) == 0)) {
            restore(&made, &before[--depth]);
        } else {
            before[depth++] = save(&made);
            edit(&random, &made);
        }
        solve_both(solver, &made, top, seed, step);
    }
    nest_solver_free(solver);
    test_small_free(&made);
}

static void incremental_equals_cold(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int sequences = test_instances(2000);
    for (int i = 0; i < sequences; i++) {
        run_sequence(seed + (uint64_t)i);
    }
    print_message("%d edit sequences from seed %" PRIu64 "\n", sequences, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(incremental_equals_cold),
    };
    return cmocka_run_group_tests_name("incremental", tests, NULL, NULL);
}
