#include "support/cluster.h"

#include <stdlib.h>
#include <string.h>

uint64_t test_random_next(struct test_random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int64_t test_random_below(struct test_random *random, int64_t n)
{
    return (int64_t)(test_random_next(random) % (uint64_t)n);
}

double test_random_unit(struct test_random *random)
{
    return (double)(test_random_next(random) >> 11) * 0x1p-53;
}

static const char *const NAME[] = {"node", "rack", "pod", "spine", "core", "site"};

static void start(struct test_cluster *cluster, int levels)
{
    memset(cluster, 0, sizeof *cluster);
    cluster->device.network_efficiency = 1.0;
    cluster->spec.device = &cluster->device;
    cluster->spec.levels = levels;
    double bandwidth = 100e9;
    double latency = 1e-6;
    for (int l = 0; l < levels; l++) {
        cluster->spec.level[l] = (struct nest_level_spec){
            .name = NAME[l], .bandwidth = bandwidth, .latency = latency, .oversubscription = 1.0};
        bandwidth /= 2.0;
        latency *= 2.0;
    }
}

void test_cluster_rebuild(struct test_cluster *cluster, int64_t limit)
{
    struct nest_errors errors;
    nest_errors_init(&errors, &cluster->arena);
    if (nest_cluster_build(&cluster->spec, limit, &cluster->arena, &cluster->tree, &errors) !=
        NEST_OK) {
        abort();
    }
}

void test_cluster_of(struct test_cluster *cluster, int levels, const int64_t *fanout)
{
    start(cluster, levels);
    for (int l = 0; l < levels; l++) {
        cluster->spec.level[l].fanout = fanout[l];
    }
    test_cluster_rebuild(cluster, 0);
}

static void pick_rates(struct test_cluster *cluster, struct test_random *random)
{
    for (int l = 0; l < cluster->spec.levels; l++) {
        struct nest_level_spec *level = &cluster->spec.level[l];
        level->bandwidth = 1e9 * (1.0 + 400.0 * test_random_unit(random));
        level->latency = 1e-6 * (1.0 + 10.0 * test_random_unit(random));
        level->oversubscription =
            test_random_below(random, 2) == 0 ? 1.0 : 1.0 + 7.0 * test_random_unit(random);
    }
}

void test_cluster_uniform(struct test_cluster *cluster, struct test_random *random, int64_t most)
{
    static const int64_t COMMON[] = {2, 4, 8, 8, 16};
    const int levels = 1 + (int)test_random_below(random, 4);
    start(cluster, levels);
    int64_t devices = 1;
    for (int l = 0; l < levels; l++) {
        int64_t fanout = test_random_below(random, 3) == 0 ? 1 + test_random_below(random, 9)
                                                           : COMMON[test_random_below(random, 5)];
        fanout = devices * fanout > most ? 1 : fanout;
        devices *= fanout;
        cluster->spec.level[l].fanout = fanout;
    }
    pick_rates(cluster, random);
    test_cluster_rebuild(
        cluster, test_random_below(random, 4) == 0 ? 1 + test_random_below(random, devices) : 0);
}

/* One run per group, so that every shape can occur. */
static int64_t pick_groups(struct test_cluster *cluster, struct test_random *random, int l,
                           int64_t groups)
{
    struct nest_group_run *run = NEST_NEW(&cluster->arena, struct nest_group_run, groups);
    int64_t children = 0;
    for (int64_t g = 0; g < groups; g++) {
        run[g] = (struct nest_group_run){.fanout = 1 + test_random_below(random, 6), .times = 1};
        children += run[g].fanout;
    }
    cluster->spec.level[l].groups = (int)groups;
    cluster->spec.level[l].group = run;
    return children;
}

void test_cluster_irregular(struct test_cluster *cluster, struct test_random *random, int64_t most)
{
    const int levels = 1 + (int)test_random_below(random, 4);
    start(cluster, levels);
    int64_t groups = 1;
    for (int l = levels - 1; l >= 0; l--) {
        if (groups * 6 > most) {
            cluster->spec.level[l].fanout = 1;
        } else {
            groups = pick_groups(cluster, random, l, groups);
        }
    }
    pick_rates(cluster, random);
    test_cluster_rebuild(
        cluster, test_random_below(random, 4) == 0 ? 1 + test_random_below(random, groups) : 0);
}

/* The groups of a level one by one, as the specification has them. */
static int list_groups(struct test_cluster *cluster, int l, struct nest_group_run **out)
{
    const struct nest_level_spec *level = &cluster->spec.level[l];
    int64_t groups = 1;
    for (int k = cluster->spec.levels - 1; k > l; k--) {
        const struct nest_level_spec *outer = &cluster->spec.level[k];
        int64_t children = 0;
        for (int i = 0; i < outer->groups; i++) {
            children += outer->group[i].fanout * outer->group[i].times;
        }
        groups = outer->groups > 0 ? children : groups * outer->fanout;
    }
    *out = NEST_NEW(&cluster->arena, struct nest_group_run, groups);
    int count = 0;
    for (int i = 0; i < level->groups; i++) {
        for (int64_t t = 0; t < level->group[i].times; t++) {
            (*out)[count++] = (struct nest_group_run){.fanout = level->group[i].fanout, .times = 1};
        }
    }
    while (count < groups) {
        (*out)[count++] = (struct nest_group_run){.fanout = level->fanout, .times = 1};
    }
    return count;
}

void test_cluster_mix(struct test_cluster *cluster, struct test_random *random)
{
    struct nest_group_run *run;
    int l = (int)test_random_below(random, cluster->spec.levels);
    int count = list_groups(cluster, l, &run);
    while (count < 2 && l > 0) {
        count = list_groups(cluster, --l, &run);
    }
    const int64_t how = test_random_below(random, 4);
    const double rate = cluster->spec.level[l].bandwidth;
    for (int i = 0; i < count; i++) {
        const bool changed = test_random_below(random, 2) == 0;
        run[i].device = changed && how != 1 ? &cluster->other : NULL;
        run[i].bandwidth = changed && how == 1 ? rate / 4 : changed && how == 2 ? rate * 2 : 0;
        run[i].uplink = changed && how == 3 ? rate / 8 : 0;
    }
    cluster->spec.level[l].fanout = 0;
    cluster->spec.level[l].groups = count;
    cluster->spec.level[l].group = run;
    test_cluster_rebuild(cluster, 0);
}

void test_cluster_free(struct test_cluster *cluster)
{
    nest_arena_free(&cluster->arena);
}
