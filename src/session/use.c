#include "session/use.h"

/* Beside any real level nothing waits for one this much faster. */
static const double infinitely = 1e9;

/* The parts of the step that the network makes, where one turn took time from them. */
static const char *kinds_of(const struct nest_breakdown *before, const struct nest_breakdown *after,
                            struct nest_arena *arena)
{
    const struct {
        const char *name;
        nest_ps saved;
    } part[] = {{"tp", before->tp - after->tp}, {"cp", before->cp - after->cp},
                {"ep", before->ep - after->ep}, {"pp", before->pp - after->pp},
                {"dp", before->dp - after->dp}, {"bubble", before->bubble - after->bubble}};
    const char *kinds = "";
    for (size_t i = 0; i < sizeof part / sizeof part[0] && kinds; i++) {
        if (part[i].saved > 0) {
            kinds = nest_arena_printf(arena, "%s%s%s", kinds, *kinds ? " " : "", part[i].name);
        }
    }
    return kinds;
}

const struct nest_level_use *nest_level_uses(const struct nest_problem *problem,
                                             const struct nest_solution *solution,
                                             struct nest_arena *arena)
{
    const int levels = problem->cluster->levels;
    struct nest_level_use *use = NEST_NEW(arena, struct nest_level_use, levels);
    struct nest_arena scratch = NEST_ARENA_INIT;
    struct nest_problem changed = *problem;
    struct nest_cluster cluster = *problem->cluster;
    struct nest_prediction before = solution->prediction;
    changed.cluster = &cluster;
    for (int l = levels - 1; l >= 0 && use; l--) {
        struct nest_prediction after;
        cluster.level[l].bandwidth *= infinitely;
        cluster.level[l].latency = 0;
        if (!nest_plan_evaluate(&changed, &solution->plan, &scratch, &after)) {
            use = NULL;
            break;
        }
        use[l] = (struct nest_level_use){
            .waits = before.step - after.step,
            .share = (double)(before.step - after.step) / (double)solution->prediction.step,
            .kinds = kinds_of(&before.breakdown, &after.breakdown, arena),
        };
        before = after;
        if (!use[l].kinds) {
            use = NULL;
        }
    }
    nest_arena_free(&scratch);
    return use;
}
