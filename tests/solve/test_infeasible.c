/* What is said where nothing is feasible is true: the limit that is named suffices and is the least
 * that does, and each pin that is named may be freed for the value that is named. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "plan/words.h"
#include "solve/least.h"
#include "solve/search.h"
#include "support/seed.h"
#include "support/small_problem.h"

static const struct nest_solve_options one = {.top = 1, .threads = 1};

/* A whole search under another limit, without an explanation. */
static bool is_feasible(const struct nest_problem *problem, int64_t limit)
{
    struct nest_problem relaxed = *problem;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_space space;
    struct nest_bounds bounds;
    struct nest_result result = {0};
    relaxed.memory_limit = limit;
    assert_int_equal(nest_space_build(&relaxed, &arena, &space), NEST_OK);
    assert_true(nest_bounds_init(&bounds, &space, &arena));
    const enum nest_status status = nest_search(&bounds, &one, NEST_PS_MAX, &arena, &result);
    assert_true(status == NEST_OK || status == NEST_NO);
    nest_arena_free(&arena);
    return status == NEST_OK;
}

/* The least limit under which a plan is feasible, to the byte; 0 for none. */
static int64_t least_by_search(const struct nest_problem *problem)
{
    int64_t low = 0;
    int64_t high = INT64_C(1) << 50;
    if (!is_feasible(problem, high)) {
        return 0;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (is_feasible(problem, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

static void draw(struct test_small *made, uint64_t seed)
{
    if (seed % 4 == 3) {
        test_small_mixed(made, seed, 8);
        return;
    }
    test_small_problem(made, seed, 12);
    if (seed % 4 == 2) {
        test_small_branch(made, seed);
    }
}

/* How often it took more than the least, and by how much at most. */
struct seen {
    int feasible, above;
    double most;
};

static void check_least(struct test_small *made, struct seen *seen)
{
    struct nest_problem *problem = &made->problem;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_space space;
    struct nest_bounds bounds;
    struct nest_least least;
    const int64_t truth = least_by_search(problem);
    problem->memory_limit = truth > 0 ? truth * 2 / 3 : 1000000;
    assert_int_equal(nest_space_build(problem, &arena, &space), NEST_OK);
    assert_true(nest_bounds_init(&bounds, &space, &arena));
    const enum nest_status status = nest_least_memory(&bounds, &one, &arena, &least);
    assert_int_equal(status, truth > 0 ? NEST_OK : NEST_NO);
    if (truth > 0) {
        const double ratio = (double)least.limit / (double)truth;
        assert_true(is_feasible(problem, least.limit));
        assert_true(least.limit >= truth);
        seen->feasible++;
        seen->above += ratio > 1.0 + 1.0 / 512.0;
        seen->most = ratio > seen->most ? ratio : seen->most;
    }
    nest_arena_free(&arena);
}

static void least_memory_is_found(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(100);
    struct seen seen = {0};
    for (int i = 0; i < instances; i++) {
        struct test_small made;
        draw(&made, seed + (uint64_t)i);
        check_least(&made, &seen);
        test_small_free(&made);
    }
    print_message("%d instances from seed %" PRIu64
                  ": %d with a plan, %d named more than the least, at most %.4f times it\n",
                  instances, seed, seen.feasible, seen.above, seen.most);
    assert_true(seen.feasible > instances / 3);
    assert_true(seen.above <= instances / 50);
}

/* ---- Hints ---- */

/* The limit that a hint names, as the user would type it. */
static bool named_limit(const char *hint, int64_t *out)
{
    static const char before[] = "allow a memory limit of ";
    const char *at = strstr(hint, before);
    const char *wrong = NULL;
    char text[64];
    char scratch[128];
    double bytes;
    if (!at) {
        return false;
    }
    assert_true((size_t)snprintf(text, sizeof text, "%s", at + strlen(before)) < sizeof text);
    assert_null(nest_unit_parse(text, NEST_UNIT_BYTES, &bytes, &wrong, scratch, sizeof scratch));
    *out = (int64_t)bytes;
    return true;
}

/* "free KEY (KEY VALUE is feasible)": so it is, alone. Returns whether the key is named. */
static bool check_pin(const struct nest_problem *problem, enum nest_pin_key key, const char *hint)
{
    char before[64];
    const char *name = nest_pin_name(key);
    (void)snprintf(before, sizeof before, "free %s (%s ", name, name);
    const char *at = strstr(hint, before);
    if (!at) {
        return false;
    }
    struct nest_problem freed = *problem;
    const int64_t value = strtoll(at + strlen(before), NULL, 10);
    freed.pins.pin[key].count = 1;
    freed.pins.pin[key].range[0] = (struct nest_range){value, value};
    assert_false(nest_pin_allows(&problem->pins.pin[key], value));
    assert_true(is_feasible(&freed, problem->memory_limit));
    return true;
}

static void check_hints(struct nest_problem *problem, int *limits, int *pins)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_result result;
    if (nest_solve(problem, &one, &arena, &result) == NEST_NO) {
        assert_int_equal(result.errors.count, 1);
        const char *hint = result.errors.item[0].hint;
        int64_t limit;
        if (hint && named_limit(hint, &limit)) {
            assert_true(limit > problem->memory_limit);
            assert_true(is_feasible(problem, limit));
            ++*limits;
        }
        for (int key = 0; hint && key < NEST_PINS; key++) {
            *pins += check_pin(problem, (enum nest_pin_key)key, hint);
        }
    }
    nest_arena_free(&arena);
}

static void hints_are_true(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    const int instances = test_instances(400);
    int limits = 0;
    int pins = 0;
    for (int i = 0; i < instances; i++) {
        struct test_small made;
        draw(&made, seed + (uint64_t)i);
        made.problem.memory_limit /= 1 + i % 3;
        check_hints(&made.problem, &limits, &pins);
        test_small_free(&made);
    }
    print_message("%d instances from seed %" PRIu64 ": %d limits and %d pins named\n", instances,
                  seed, limits, pins);
    assert_true(limits > instances / 20);
    assert_true(pins > instances / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_memory_is_found),
        cmocka_unit_test(hints_are_true),
    };
    return cmocka_run_group_tests_name("infeasible", tests, NULL, NULL);
}
