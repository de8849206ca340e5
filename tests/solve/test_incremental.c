/* A solver that remembers answers exactly as a cold one with any number of threads, over random
 * edits and their undoing: of chains and graphs, on uniform, irregular and mixed clusters, with a
 * width and a ZeRO stage of its own for every stage. */
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
    bool packed, ragged;
};

static struct state save(const struct test_small *made)
{
    const struct nest_problem *problem = &made->problem;
    return (struct state){made->cluster.spec,
                          made->spec,
                          problem->train,
                          problem->pins,
                          problem->memory_limit,
                          problem->packed,
                          problem->allow_ragged_batch};
}

static void restore(struct test_small *made, const struct state *state)
{
    made->cluster.spec = state->cluster;
    made->spec = state->model;
    made->problem.train = state->train;
    made->problem.pins = state->pins;
    made->problem.memory_limit = state->memory_limit;
    made->problem.packed = state->packed;
    made->problem.allow_ragged_batch = state->ragged;
    test_cluster_rebuild(&made->cluster, 0);
    test_small_expand(made);
}

static void edit(struct test_random *random, struct test_small *made)
{
    struct state next = save(made);
    struct nest_level_spec *level =
        &next.cluster.level[test_random_below(random, next.cluster.levels)];
    struct nest_pin *pin = &next.pins.pin[test_random_below(random, NEST_PINS)];
    switch (test_random_below(random, 10)) {
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
    case 6:
        next.packed = !next.packed;
        break;
    case 7:
        next.ragged = !next.ragged;
        break;
    case 8:
        next.pins.order.kind = test_random_below(random, 2) ? NEST_ORDER_NEST : NEST_ORDER_FREE;
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

/* Cold with one thread, which is what warm is held against, or with some. */
static void solve_both(struct nest_solver *solver, const struct test_small *made, int top,
                       uint64_t seed, int step)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_result warm;
    struct nest_result cold;
    const struct nest_solve_options one = {.top = top, .threads = 1};
    const struct nest_solve_options some = {.top = top, .threads = 3};
    const enum nest_status a =
        nest_solver_solve(solver, &made->problem, step % 3 == 1 ? &some : &one, &arena, &warm);
    const enum nest_status b =
        nest_solve(&made->problem, step % 3 == 2 ? &some : &one, &arena, &cold);
    assert_int_equal(a, b);
    expect_same(&warm, &cold, seed, step);
    nest_arena_free(&arena);
}

/* What the sequences were about. */
struct seen {
    int mixed, branching, stage_tp, stage_zero;
};

/* One of four sequences has a model that branches. Mixed clusters and widths per stage are a few of
 * them, but most of the time. */
static void draw(struct test_small *made, uint64_t seed, struct seen *seen)
{
    if (seed % 100 == 7) {
        test_small_mixed(made, seed, 4);
    } else {
        test_small_problem(made, seed, 5);
        if (seed % 4 == 2) {
            test_small_branch(made, seed);
        }
    }
    made->problem.allow_stage_tp &= seed % 3 == 0;
    seen->mixed += made->problem.cluster->mixed;
    seen->branching += made->problem.model->cuts != NULL;
    seen->stage_tp += made->problem.allow_stage_tp;
    seen->stage_zero += made->problem.allow_stage_zero;
}

static void run_sequence(uint64_t seed, struct seen *seen)
{
    struct test_random random = {seed * UINT64_C(0xD1342543DE82EF95)};
    struct test_small made;
    struct state before[EDITS];
    draw(&made, seed, seen);
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
    struct seen seen = {0};
    for (int i = 0; i < sequences; i++) {
        run_sequence(seed + (uint64_t)i, &seen);
    }
    print_message("%d edit sequences from seed %" PRIu64
                  ": %d on mixed clusters, %d of graphs, %d and "
                  "%d with a width and a ZeRO stage per stage\n",
                  sequences, seed, seen.mixed, seen.branching, seen.stage_tp, seen.stage_zero);
    assert_true(seen.mixed >= sequences / 500 && seen.branching > sequences / 10);
    assert_true(seen.stage_tp > sequences / 50 && seen.stage_zero > sequences / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(incremental_equals_cold),
    };
    return cmocka_run_group_tests_name("incremental", tests, NULL, NULL);
}
