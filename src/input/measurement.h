/* Tables of published training runs, for judging predictions: YAML lists of records.
 *
 * A record states an architecture, the hardware, the degrees of parallelism and what was measured.
 * Keys that are not read here are comments. Absent numbers and null are 0. */
#ifndef NEST_INPUT_MEASUREMENT_H
#define NEST_INPUT_MEASUREMENT_H

#include "input/doc.h"
#include "input/spec.h"

enum nest_run_kind {
    NEST_RUN_MEASURED,
    NEST_RUN_OUT_OF_MEMORY, /* did not fit: memory must be predicted above the capacity */
    NEST_RUN_OTHER          /* one layer alone, or values of a formula: not predicted */
};

enum nest_run_scored { NEST_SCORED_FULL, NEST_SCORED_PARTIAL, NEST_SCORED_NO };

struct nest_measurement {
    const char *id, *source, *notes;
    const char *table; /* family, else the file's name without folder and extension */
    struct nest_mark mark;
    enum nest_run_kind kind;
    enum nest_run_scored scored;

    const char *model, *attention;
    int64_t layers, hidden, ffn, heads, kv_heads, head_dim, vocab, seq;
    int64_t experts, top_k, moe_ffn, shared_experts, dense_layers, window;

    const char *hardware; /* in words */
    const char *device;   /* an id of the shipped devices */
    int64_t per_node;     /* devices in one scale-up domain */
    double nic;           /* bytes/s per device and direction; 0 = not stated */

    int64_t devices, tp, pp, dp, cp, ep, virtual_stages;
    int sp;        /* 0 or 1, -1 = not stated */
    int zero;      /* -1 = not stated */
    int recompute; /* enum nest_recompute, -1 = not stated */
    int64_t micro_batch, global_batch;
    const char *precision;
    int64_t shard;          /* devices that share ZeRO state; 0 = all replicas */
    bool shard_in_node;     /* they are those of one node */
    bool counts_recompute;  /* tflops and mfu are hardware rates */
    double step_time;       /* seconds */
    double tokens;          /* per second and device */
    double tflops, mfu;     /* of one device */
    double hfu;             /* like mfu, recomputation counted */
    double hardware_tflops; /* counts recomputation */
    double memory;          /* bytes, the peak of one device */
    bool memory_allocated;  /* what the allocator counts: without context and libraries */
};

/* Reads one table, called `table`, into arena. Faults go to errors, located. */
enum nest_status nest_measurements_read(const struct nest_node *root, const char *table,
                                        struct nest_arena *arena, struct nest_measurement **out,
                                        int *count, struct nest_errors *errors);

#endif
