#include "cost/pace.h"

#include "cost/roofline.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static bool has(unsigned kinds, int k)
{
    return (kinds & (1u << k)) != 0;
}

static double own_links(const struct nest_device_spec *device)
{
    return device->scale_up_efficiency > 0 ? device->scale_up_efficiency
                                           : device->network_efficiency;
}

/* Everything but compute, which nest_pace_work looks at kind by kind. */
static void take_worse(const struct nest_device_spec *other, struct nest_device_spec *worst)
{
    if (other->memory_bandwidth * other->memory_efficiency <
        worst->memory_bandwidth * worst->memory_efficiency) {
        worst->memory_bandwidth = other->memory_bandwidth;
        worst->memory_efficiency = other->memory_efficiency;
    }
    worst->memory = smaller(worst->memory, other->memory);
    worst->scale_up_efficiency = smaller(own_links(worst), own_links(other));
    worst->network_efficiency = smaller(worst->network_efficiency, other->network_efficiency);
    worst->collective_launch = larger(worst->collective_launch, other->collective_launch);
    worst->reserve_base = larger(worst->reserve_base, other->reserve_base);
    worst->reserve_per_group = larger(worst->reserve_per_group, other->reserve_per_group);
    worst->scale_up_reduction = worst->scale_up_reduction && other->scale_up_reduction;
}

/* The kind whose GEMMs are slowest at their best. */
static int slowest(const struct nest_problem *problem, unsigned kinds)
{
    const struct nest_cluster *cluster = problem->cluster;
    int found = -1;
    double least = 0;
    for (int k = 0; k < cluster->kinds; k++) {
        const struct nest_device_spec *device = cluster->kind[k].device;
        const double rate = nest_device_peak(device, problem->train.precision);
        if (has(kinds, k) && (found < 0 || rate < least)) {
            found = k;
            least = rate;
        }
    }
    return found;
}

const struct nest_problem *nest_pace_set(const struct nest_problem *problem, int selection,
                                         unsigned kinds, struct nest_pace *pace)
{
    const struct nest_cluster *whole = problem->cluster;
    if (whole->kinds <= 1 || kinds == 0) {
        return problem;
    }
    pace->problem = *problem;
    pace->cluster = *nest_cluster_selected(whole, selection);
    pace->device = *whole->kind[slowest(problem, kinds)].device;
    for (int k = 0; k < whole->kinds; k++) {
        if (has(kinds, k)) {
            take_worse(whole->kind[k].device, &pace->device);
        }
    }
    for (int l = 0; l < whole->levels; l++) {
        double share = 1.0;
        for (int k = 0; k < whole->kinds; k++) {
            share = has(kinds, k) ? smaller(share, whole->kind[k].share[l]) : share;
        }
        pace->cluster.level[l].bandwidth = whole->level[l].bandwidth * share;
        pace->cluster.level[l].latency = whole->level[l].latency;
        pace->cluster.level[l].oversubscription = whole->level[l].oversubscription;
    }
    pace->cluster.device = &pace->device;
    pace->problem.cluster = &pace->cluster;
    return &pace->problem;
}

static void take_slower(const struct nest_layer_work *other, struct nest_layer_work *work)
{
    work->fw = larger(work->fw, other->fw);
    work->bw = larger(work->bw, other->bw);
    work->attention_fw = larger(work->attention_fw, other->attention_fw);
    work->attention_bw = larger(work->attention_bw, other->attention_bw);
    work->gemm_fw = larger(work->gemm_fw, other->gemm_fw);
    work->gemm_bw = larger(work->gemm_bw, other->gemm_bw);
    work->shared_fw = larger(work->shared_fw, other->shared_fw);
    work->shared_bw = larger(work->shared_bw, other->shared_bw);
    for (int r = 0; r < NEST_RECOMPUTES; r++) {
        work->redone[r] = larger(work->redone[r], other->redone[r]);
        work->kept[r] = larger(work->kept[r], other->kept[r]);
        work->live[r] = larger(work->live[r], other->live[r]);
    }
}

void nest_pace_work(const struct nest_problem *problem, unsigned kinds,
                    const struct nest_layer_kind *kind, const struct nest_strategy *strategy,
                    struct nest_layer_work *out)
{
    if (problem->cluster->kinds <= 1 || kinds == 0) {
        nest_layer_work(problem, kind, strategy, out);
        return;
    }
    struct nest_cluster cluster = *problem->cluster;
    struct nest_problem alone = *problem;
    alone.cluster = &cluster;
    bool first = true;
    for (int k = 0; k < cluster.kinds; k++) {
        struct nest_layer_work work;
        if (!has(kinds, k)) {
            continue;
        }
        cluster.device = cluster.kind[k].device;
        nest_layer_work(&alone, kind, strategy, &work);
        if (first) {
            *out = work;
        } else {
            take_slower(&work, out);
        }
        first = false;
    }
}

int64_t nest_pace_shortfall(const struct nest_problem *problem, unsigned kinds)
{
    const struct nest_cluster *cluster = problem->cluster;
    const double limit = (double)problem->memory_limit;
    const double largest = cluster->device->memory;
    double least = limit;
    for (int k = 0; cluster->kinds > 1 && k < cluster->kinds; k++) {
        const double memory = cluster->kind[k].device->memory;
        /* Beyond the largest device the question is "what if they had more". */
        const double own = limit > largest ? limit * (memory / largest) : memory;
        least = has(kinds, k) && memory < largest ? smaller(least, own) : least;
    }
    return least < limit ? problem->memory_limit - (int64_t)least : 0;
}
