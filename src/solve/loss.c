#include "solve/loss.h"

#include <inttypes.h>

enum nest_status nest_solve_loss(const struct nest_problem *problem,
                                 const struct nest_solve_options *options,
                                 const struct nest_solution *best, struct nest_arena *arena,
                                 struct nest_loss *out)
{
    const struct nest_cluster *left = problem->cluster;
    *out = (struct nest_loss){0};
    if (left->intact == NULL) {
        return NEST_OK;
    }
    struct nest_problem intact = *problem;
    intact.cluster = left->intact;
    struct nest_solve_options one = *options;
    one.top = 1;
    one.by_shape = false;
    one.progress = NULL;
    one.warm = &best->plan;
    struct nest_result result;
    const enum nest_status status = nest_solve(&intact, &one, arena, &result);
    if (status != NEST_OK && status != NEST_NO) {
        return status;
    }
    out->down = left->intact->devices - left->devices;
    out->idle = left->devices - best->plan.devices_used;
    out->step = best->prediction.step;
    out->intact = status == NEST_OK ? result.solution[0].prediction.step : 0;
    return NEST_OK;
}

double nest_loss_share(const struct nest_loss *loss)
{
    return loss->step > 0 && loss->intact > 0 ? 1.0 - (double)loss->intact / (double)loss->step
                                              : 0.0;
}

void nest_loss_write(const struct nest_problem *problem, const struct nest_loss *loss,
                     const char *arrow, struct nest_strbuf *out)
{
    char before[32];
    char after[32];
    if (loss->down == 0) {
        return;
    }
    nest_strbuf_printf(out, "%s down, %" PRId64 " device%s: ", problem->cluster->spec->down,
                       loss->down, loss->down == 1 ? "" : "s");
    if (loss->intact == 0) {
        nest_strbuf_add(out, "no plan fits the intact cluster either");
    } else if (loss->intact >= loss->step) {
        nest_strbuf_add(out, "costs no throughput");
    } else {
        nest_strbuf_printf(
            out, "costs %.1f%% of throughput (step %s %s %s)", 100 * nest_loss_share(loss),
            nest_unit_format(nest_to_seconds(loss->intact), NEST_UNIT_SECONDS, before,
                             sizeof before),
            arrow,
            nest_unit_format(nest_to_seconds(loss->step), NEST_UNIT_SECONDS, after, sizeof after));
    }
    if (loss->idle > 0) {
        nest_strbuf_printf(out, "; %" PRId64 " device%s in order idle%s", loss->idle,
                           loss->idle == 1 ? "" : "s", loss->idle == 1 ? "s" : "");
    }
}
