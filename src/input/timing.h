/* Tables of measured collectives, for judging predictions: YAML lists of records.
 *
 * A record states hardware in words, the collective, how many ranks on how many nodes, the size and
 * the time, or the bus bandwidth alone where a source gives only the plateau of large messages. The
 * words become data here: the device, the network's rate and its kind. */
#ifndef NEST_INPUT_TIMING_H
#define NEST_INPUT_TIMING_H

#include "input/doc.h"
#include "input/spec.h"

enum nest_timing_kind {
    NEST_TIMING_ALL_REDUCE,
    NEST_TIMING_REDUCE_SCATTER,
    NEST_TIMING_ALL_GATHER,
    NEST_TIMING_ALL_TO_ALL, /* expert dispatch and combine as well */
    NEST_TIMING_BROADCAST,
    NEST_TIMING_TRANSFER,
    NEST_TIMING_KINDS
};

struct nest_timing {
    const char *id, *source, *table;
    struct nest_mark mark;
    enum nest_timing_kind kind;
    const char *collective; /* as written */
    const char *device;     /* an id of the shipped devices; NULL = not recognized */
    int64_t ranks;
    int64_t per_domain; /* ranks in one scale-up domain */
    double bytes;       /* the whole buffer over all ranks; large where only a plateau is given */
    double seconds;     /* measured */
    double scale_up;    /* bytes/s, where it differs from the device's; else 0 */
    double nic;         /* bytes/s per rank and direction; 0 = as usually built */
    double latency;     /* seconds across the network, by its kind */
    bool in_switch;     /* switches may add */
};

/* Seconds across a network as hardware is described in words: the clouds' own transports take
 * longer than InfiniBand and RoCE. */
double nest_network_latency(const char *words);

/* Bus bandwidth times time per byte, as nccl-tests define it: 2(n-1)/n for an all-reduce, (n-1)/n
 * for the others, 1 for a transfer and a broadcast. */
double nest_timing_factor(enum nest_timing_kind kind, int64_t ranks);

/* Reads one table, called `table`, into arena. NEST_NO, without a fault, if the file is a list of
 * other records. */
enum nest_status nest_timings_read(const struct nest_node *root, const char *table,
                                   struct nest_arena *arena, struct nest_timing **out, int *count,
                                   struct nest_errors *errors);

#endif
