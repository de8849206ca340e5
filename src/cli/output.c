#include "cli/output.h"

#include <time.h>

#include "cli/request.h"

enum { DOCUMENT_MAX = 1 << 28 };

bool nest_cli_json(struct nest_cli *cli, const struct nest_outcome *outcome)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(DOCUMENT_MAX);
    nest_json_document(outcome, &text);
    const bool whole = !text.failed;
    if (whole) {
        (void)fputs(nest_strbuf_text(&text), cli->out);
    } else {
        nest_cli_warn(cli, "the outcome is too large");
    }
    nest_strbuf_free(&text);
    return whole;
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

enum nest_status nest_cli_solve(struct nest_cli *cli, const struct nest_problem *problem, int top,
                                struct nest_arena *arena, struct nest_result *out)
{
    const struct nest_solve_options options = {
        .top = top,
        .by_shape = !nest_args_has(&cli->args, NEST_OPT_TOP),
        .threads = nest_cli_threads(cli),
        .exhaustive = nest_args_has(&cli->args, NEST_OPT_EXHAUSTIVE),
    };
    if (cli->errors.count > 0) {
        return NEST_BAD_INPUT;
    }
    const double start = now();
    const enum nest_status status = nest_solve(problem, &options, arena, out);
    out->progress.seconds = now() - start;
    return status == NEST_BAD_INPUT ? nest_problem_fault(problem, &cli->errors) : status;
}

const struct nest_touched *nest_cli_touched(struct nest_cli *cli,
                                            const struct nest_problem *problem,
                                            const struct nest_plan *plan,
                                            const struct nest_prediction *prediction)
{
    struct nest_touched *touched =
        problem->overrides ? NEST_NEW(&cli->arena, struct nest_touched, 1) : NULL;
    return touched && nest_plan_touch(problem, plan, prediction, &cli->arena, touched) ? touched
                                                                                       : NULL;
}
