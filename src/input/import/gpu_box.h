/* The devices of one node: direct links, links to switches and distances over PCIe → levels.
 * Private to this folder. */
#ifndef NEST_INPUT_IMPORT_GPU_BOX_H
#define NEST_INPUT_IMPORT_GPU_BOX_H

#include "input/import/cluster_text.h"

enum { NEST_BOX_GPUS = 512 };

/* How far apart two devices are without NVLink, near to far. */
enum nest_box_distance {
    NEST_BOX_SWITCH = 1, /* one PCIe switch */
    NEST_BOX_SWITCHES,   /* several PCIe switches */
    NEST_BOX_HOST,       /* a PCIe host bridge */
    NEST_BOX_SOCKET,     /* host bridges of one NUMA node */
    NEST_BOX_SYSTEM,     /* between NUMA nodes */
    NEST_BOX_DISTANCES
};

struct nest_gpu_box {
    int gpus;
    double *pair;       /* [gpus * gpus] bytes/s of direct links, one direction */
    double *switched;   /* [gpus] bytes/s of links to switches, one direction */
    unsigned char *far; /* [gpus * gpus] enum nest_box_distance */
    double pcie;        /* bytes/s of a device's PCIe link, one direction; 0 = not in the file */
};

/* Empty arrays for gpus devices, all NEST_BOX_SYSTEM apart; false when memory is out. */
bool nest_gpu_box_init(struct nest_gpu_box *box, int gpus, struct nest_arena *arena);

/* Adds the levels of the box to found. */
enum nest_status nest_gpu_box_levels(const struct nest_gpu_box *box, struct nest_job *job,
                                     struct nest_found_cluster *found);

#endif
