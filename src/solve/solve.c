#include "solve/solve.h"

#include "solve/enumerate.h"
#include "solve/infeasible.h"
#include "solve/search.h"

enum nest_status nest_solve(const struct nest_problem *problem,
                            const struct nest_solve_options *options, struct nest_arena *arena,
                            struct nest_result *out)
{
    *out = (struct nest_result){0};
    nest_errors_init(&out->errors, arena);
    struct nest_space space;
    enum nest_status status = nest_space_build(problem, arena, &space);
    if (status != NEST_OK) {
        return status;
    }
    status = nest_search(&space, options, NEST_PS_MAX, arena, out);
    if (status == NEST_NO) {
        nest_explain_infeasible(&space, options, arena, &out->errors);
    }
    return status;
}
