/* The cluster that an importer found, and its YAML. Private to this folder. */
#ifndef NEST_INPUT_IMPORT_CLUSTER_TEXT_H
#define NEST_INPUT_IMPORT_CLUSTER_TEXT_H

#include "input/import/job.h"

struct nest_found_level {
    const char *name;
    int64_t fanout; /* 0 where runs are given or the level is a torus */
    int runs;       /* irregular: groups in device order */
    const struct nest_group_run *run;
    const char *shape; /* "4x4x8" for a torus, else NULL */
    bool wrap;
    enum nest_level_kind kind;
    double bandwidth;        /* bytes/s per device before oversubscription; 0 = not in the file */
    double latency;          /* seconds; 0 = not in the file */
    double oversubscription; /* 0 = not in the file */
    const char *note;        /* comment beside the level, or NULL */
};

struct nest_found_cluster {
    const char *name;
    const char *device; /* or NULL: the options' or an assumption */
    bool hosts;         /* level 0 joins hosts: devices per host must be put below it */
    int levels;
    struct nest_found_level level[NEST_MAX_LEVELS];
    double host_bandwidth; /* bytes/s of a host's network in all, where hosts; 0 = not known */
    double port_bandwidth; /* bytes/s of one of its ports */
};

/* Puts the options' node or devices per host below hosts, and replaces what is unknown by marked
 * defaults. */
enum nest_status nest_found_cluster_complete(struct nest_job *job,
                                             struct nest_found_cluster *found);

/* Appends a complete cluster's keys, each line indented. */
void nest_found_cluster_print(struct nest_job *job, const struct nest_found_cluster *found,
                              int indent);

/* A whole document: completes, then prints the notes and the cluster. */
enum nest_status nest_found_cluster_write(struct nest_job *job, struct nest_found_cluster *found);

/* A level of fanout with nothing else known. NULL when there are too many levels. */
struct nest_found_level *nest_found_level_add(struct nest_found_cluster *found, const char *name,
                                              int64_t fanout);

/* The shipped device of a name or alias in any case, for its usual rates; NULL if unknown. */
const struct nest_device_spec *nest_found_device(struct nest_job *job, const char *name);

#endif
