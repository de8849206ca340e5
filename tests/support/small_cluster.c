#include "support/small_cluster.h"

#include <stdlib.h>

static void level_spec(struct test_random *random, struct nest_arena *arena, bool top,
                       int64_t parents, struct nest_level_spec *out)
{
    *out = (struct nest_level_spec){
        .name = top ? "top" : "inner",
        .fanout = 1 + test_random_below(random, 4),
        .bandwidth = 1e9 * (double)(1 + test_random_below(random, 100)),
        .latency = 1e-6 * (double)test_random_below(random, 10),
        .oversubscription = (double)(1 + test_random_below(random, 3)),
        .kind = NEST_LEVEL_SWITCH,
    };
    if (parents > 1 && test_random_below(random, 3) == 0) {
        struct nest_group_run *run = NEST_NEW(arena, struct nest_group_run, parents);
        for (int64_t g = 0; g < parents; g++) {
            run[g] = (struct nest_group_run){1 + test_random_below(random, 4), 1};
        }
        out->fanout = 0;
        out->groups = (int)parents;
        out->group = run;
    }
}

/* How many groups of the next inner level the groups of this one hold together. */
static int64_t children(const struct nest_level_spec *level, int64_t groups)
{
    int64_t sum = level->groups ? 0 : groups * level->fanout;
    for (int g = 0; g < level->groups; g++) {
        sum += level->group[g].fanout * level->group[g].times;
    }
    return sum;
}

void test_small_cluster(struct test_random *random, struct nest_arena *arena,
                        struct nest_cluster *out)
{
    struct nest_cluster_spec *spec = NEST_NEW(arena, struct nest_cluster_spec, 1);
    struct nest_device_spec *device = NEST_NEW(arena, struct nest_device_spec, 1);
    device->network_efficiency = 1.0;
    spec->name = "small";
    spec->device = device;
    spec->levels = 1 + (int)test_random_below(random, 3);
    int64_t groups = 1;
    for (int l = spec->levels - 1; l >= 0; l--) {
        level_spec(random, arena, l == spec->levels - 1, groups, &spec->level[l]);
        groups = children(&spec->level[l], groups);
    }
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    if (nest_cluster_build(spec, 0, arena, out, &errors) != NEST_OK) {
        abort();
    }
}
