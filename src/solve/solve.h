/* The search: exact optimum over every strategy, by the recurrence of recurrence.c.
 *
 * How it grows (make bench prints both tables, the README has them):
 *
 * With devices grow the strategies: divisors of the widths, the replicas, their orders. They are a
 * tree (frontier.h), listed best bound first; a family, dp, grid or sharding whose bound exceeds
 * the best plan is dropped with all that is below it, so that of millions some hundreds to
 * thousands are solved. 128 times the devices are 8 times the strategies of Llama 3 70B and 3 times
 * its time. Strategies that differ by less than the bounds see are all solved: many experts do
 * that. A strategy itself does not grow, unless groups are unlike: then stages have several places
 * each.
 *
 * With layers grows the recurrence, at most s * n^2 stages of one place. Within a limit that is
 * s * w^2, w the slack over the balanced split (recurrence.h), and what remains is n prices for
 * each table of costs: time is about linear in the layers, times the kinds of layer where they
 * differ. */
#ifndef NEST_SOLVE_SOLVE_H
#define NEST_SOLVE_SOLVE_H

#include <stdatomic.h>

#include "plan/plan.h"

struct nest_progress {
    int64_t strategies; /* after legality */
    int64_t bounded;    /* dropped by a bound */
    int64_t solved;
    int64_t states; /* cells of the recurrence visited */
    double seconds; /* wall clock, by the caller's clock */
};

struct nest_solution {
    struct nest_plan plan;
    struct nest_prediction prediction;
};

struct nest_solve_options {
    int top;                   /* K best, one per (strategy, pp, dp); at least 1 */
    bool by_shape;             /* list one plan per (tp, pp, dp, cp, ep, zero) */
    int threads;               /* at least 1; the answer does not depend on it */
    bool exhaustive;           /* no bounds: the same plans, slowly */
    const atomic_bool *cancel; /* polled all along, within strategies too; may be NULL */
    void (*progress)(void *context, const struct nest_progress *progress); /* may be NULL */
    void *context;
    const struct nest_plan
        *warm; /* an earlier plan whose re-costed time is the first bound; may be NULL */
};

struct nest_result {
    int count; /* solutions found, best first, at most top */
    struct nest_solution *solution;
    struct nest_progress progress;
    /* When count is 0: why, as faults with the constraint that fails, by how much, and the nearest
     * feasible change. */
    struct nest_errors errors;
};

/* NEST_OK with a plan, NEST_NO when no plan is feasible (errors say why), NEST_BAD_INPUT when an
 * override failed (errors say where), NEST_CANCELLED, NEST_NO_MEMORY. Everything in out lives in
 * arena. */
enum nest_status nest_solve(const struct nest_problem *problem,
                            const struct nest_solve_options *options, struct nest_arena *arena,
                            struct nest_result *out);

/* A solver that remembers: the answers are those of nest_solve, sooner. It keeps the best plans of
 * earlier problems, prices them anew under the next one, and so starts with a bound that is tight
 * after a small edit and exact after an undo. Not for two threads at once. */
struct nest_solver;

struct nest_solver *nest_solver_create(void); /* NULL when memory is out */
void nest_solver_free(struct nest_solver *solver);
enum nest_status nest_solver_solve(struct nest_solver *solver, const struct nest_problem *problem,
                                   const struct nest_solve_options *options,
                                   struct nest_arena *arena, struct nest_result *out);

#endif
