#include "plan/timing.h"

#include "cost/strategy.h"

static const double SCALE_UP_LATENCY = 1e-6; /* of devices that state none */

static void rebuild(const struct nest_timing *timing, const struct nest_device_spec *device,
                    struct nest_cluster_spec *out)
{
    const int64_t domains = (timing->ranks + timing->per_domain - 1) / timing->per_domain;
    *out = (struct nest_cluster_spec){
        .id = timing->id, .name = timing->id, .device = device, .levels = 1};
    out->level[0] = (struct nest_level_spec){
        .name = "node",
        .mark = timing->mark,
        .fanout = timing->per_domain,
        .bandwidth = timing->scale_up > 0.0 ? timing->scale_up : device->scale_up,
        .latency = device->scale_up_latency > 0.0 ? device->scale_up_latency : SCALE_UP_LATENCY,
        .oversubscription = 1.0};
    if (domains > 1) {
        out->levels = 2;
        out->level[1] = (struct nest_level_spec){.name = "network",
                                                 .mark = timing->mark,
                                                 .fanout = domains,
                                                 .bandwidth = timing->nic > 0.0 ? timing->nic
                                                                                : device->scale_out,
                                                 .latency = timing->latency,
                                                 .oversubscription = 1.0};
    }
}

static enum nest_collective collective_of(enum nest_timing_kind kind)
{
    switch (kind) {
    case NEST_TIMING_REDUCE_SCATTER:
        return NEST_REDUCE_SCATTER;
    case NEST_TIMING_ALL_GATHER:
        return NEST_ALL_GATHER;
    case NEST_TIMING_ALL_TO_ALL:
        return NEST_ALL_TO_ALL;
    case NEST_TIMING_BROADCAST:
        return NEST_BROADCAST;
    default:
        return NEST_ALL_REDUCE;
    }
}

double nest_timing_predict(const struct nest_timing *timing, const struct nest_device_spec *device,
                           struct nest_arena *arena)
{
    struct nest_device_spec used = *device;
    used.scale_up_reduction = device->scale_up_reduction && timing->in_switch;
    struct nest_cluster_spec spec;
    struct nest_cluster cluster;
    struct nest_errors errors;
    nest_errors_init(&errors, arena);
    rebuild(timing, &used, &spec);
    if (nest_cluster_build(&spec, timing->ranks, arena, &cluster, &errors) != NEST_OK) {
        return -1.0;
    }
    if (timing->kind == NEST_TIMING_TRANSFER) {
        return nest_to_seconds(
            nest_transfer_time(&cluster, cluster.levels - 1, timing->per_domain, timing->bytes));
    }
    /* One communicator over all ranks is the gradient group of a model that fits one device. */
    const struct nest_strategy strategy = {.tp = 1,
                                           .cp = 1,
                                           .ep = 1,
                                           .etp = 1,
                                           .dp_in = timing->ranks,
                                           .dp_out = 1,
                                           .span = timing->ranks};
    struct nest_placement placement;
    nest_placement_at(&cluster, &strategy, 0, &placement);
    return nest_to_seconds(nest_collective_time(&cluster, collective_of(timing->kind),
                                                &placement.dense, timing->bytes));
}
