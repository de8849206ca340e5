#include "solve/solve.h"

#include <stdlib.h>

#include "plan/rules.h"
#include "solve/best.h"
#include "solve/enumerate.h"
#include "solve/infeasible.h"
#include "solve/search.h"

/* The plan's step time under this problem; NEST_PS_MAX where it is not feasible or does not apply.
 * It need not be within the pins: a bound that turns out too low is given up (see solve_within). */
static nest_ps recost(const struct nest_problem *problem, const struct nest_plan *plan)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_plan copy;
    struct nest_prediction prediction;
    nest_ps step = NEST_PS_MAX;
    if (nest_rules_apply(problem, plan) && nest_plan_copy(plan, &arena, &copy)) {
        nest_plan_settle(problem, &copy);
        if (nest_plan_evaluate(problem, &copy, &arena, &prediction) && prediction.feasible) {
            step = prediction.step;
        }
    }
    nest_arena_free(&arena);
    return step;
}

/* Plans within the limit first; where there are too few, all. The space and its bounds live in
 * scratch. */
static enum nest_status search(const struct nest_problem *problem,
                               const struct nest_solve_options *options, nest_ps limit,
                               struct nest_arena *scratch, struct nest_arena *arena,
                               struct nest_result *out)
{
    struct nest_space space;
    struct nest_bounds bounds;
    if (nest_space_build(problem, scratch, &space) != NEST_OK ||
        !nest_bounds_init(&bounds, &space, scratch)) {
        return NEST_NO_MEMORY;
    }
    enum nest_status status = nest_search(&bounds, options, limit, arena, out);
    if (limit < NEST_PS_MAX &&
        (status == NEST_NO || (status == NEST_OK && out->count < options->top))) {
        status = nest_search(&bounds, options, NEST_PS_MAX, arena, out);
    }
    const enum nest_status fault = nest_problem_fault(problem, &out->errors);
    if (fault != NEST_OK) {
        return fault;
    }
    if (status == NEST_NO) {
        nest_explain_infeasible(&bounds, options, &out->errors);
    }
    return status;
}

static enum nest_status solve_within(const struct nest_problem *problem,
                                     const struct nest_solve_options *options, nest_ps limit,
                                     struct nest_arena *arena, struct nest_result *out)
{
    struct nest_arena scratch = NEST_ARENA_INIT;
    *out = (struct nest_result){0};
    nest_errors_init(&out->errors, arena);
    const enum nest_status status = search(problem, options, limit, &scratch, arena, out);
    nest_arena_free(&scratch);
    return status;
}

enum nest_status nest_solve(const struct nest_problem *problem,
                            const struct nest_solve_options *options, struct nest_arena *arena,
                            struct nest_result *out)
{
    const nest_ps limit = options->warm ? recost(problem, options->warm) : NEST_PS_MAX;
    return solve_within(problem, options, limit, arena, out);
}

/* ---- A solver that remembers ---- */

enum { REMEMBERED_MAX = 64 };

struct remembered {
    struct nest_arena arena;
    struct nest_plan plan;
};

struct nest_solver {
    struct remembered plan[REMEMBERED_MAX]; /* a ring; the newest answers replace the oldest */
    size_t count, next;
};

struct nest_solver *nest_solver_create(void)
{
    return calloc(1, sizeof(struct nest_solver));
}

void nest_solver_free(struct nest_solver *solver)
{
    if (!solver) {
        return;
    }
    for (size_t i = 0; i < solver->count; i++) {
        nest_arena_free(&solver->plan[i].arena);
    }
    free(solver);
}

/* The k-th best of the remembered plans under the problem: what is looked for is as good. */
static nest_ps remembered_limit(const struct nest_solver *solver,
                                const struct nest_problem *problem,
                                const struct nest_solve_options *options)
{
    struct nest_best best;
    if (!nest_best_init(&best, options->top, options->by_shape)) {
        return NEST_PS_MAX;
    }
    bool kept = true;
    for (size_t i = 0; i < solver->count && kept; i++) {
        const struct nest_plan *plan = &solver->plan[i].plan;
        const nest_ps step = nest_space_allows(problem, plan) ? recost(problem, plan) : NEST_PS_MAX;
        kept = step == NEST_PS_MAX || nest_best_keep(&best, plan, step);
    }
    const nest_ps limit = kept ? nest_best_limit(&best, NEST_PS_MAX) : NEST_PS_MAX;
    nest_best_free(&best);
    return limit;
}

static bool is_known(const struct nest_solver *solver, const struct nest_plan *plan)
{
    for (size_t i = 0; i < solver->count; i++) {
        if (solver->plan[i].plan.stages == plan->stages &&
            nest_plan_compare(&solver->plan[i].plan, 0, plan, 0) == 0) {
            return true;
        }
    }
    return false;
}

static void remember(struct nest_solver *solver, const struct nest_result *result)
{
    for (int i = 0; i < result->count && i < REMEMBERED_MAX; i++) {
        if (is_known(solver, &result->solution[i].plan)) {
            continue;
        }
        struct remembered *slot = &solver->plan[solver->next];
        nest_arena_reset(&slot->arena);
        if (!nest_plan_copy(&result->solution[i].plan, &slot->arena, &slot->plan)) {
            return;
        }
        solver->next = (solver->next + 1) % REMEMBERED_MAX;
        solver->count = solver->count < REMEMBERED_MAX ? solver->count + 1 : REMEMBERED_MAX;
    }
}

enum nest_status nest_solver_solve(struct nest_solver *solver, const struct nest_problem *problem,
                                   const struct nest_solve_options *options,
                                   struct nest_arena *arena, struct nest_result *out)
{
    const nest_ps limit = remembered_limit(solver, problem, options);
    const enum nest_status status = solve_within(problem, options, limit, arena, out);
    if (status == NEST_OK) {
        remember(solver, out);
    }
    return status;
}
