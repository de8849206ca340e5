/* Files → typed records. Every fault of a file is reported in one run, nothing is half-loaded.
 *
 * Names are shipped names ("llama3-70b", an alias) or paths; "-" is standard input. The loaders
 * return NEST_OK, or NEST_BAD_INPUT with located faults, or NEST_NO_MEMORY. Results live in arena.
 */
#ifndef NEST_INPUT_LOAD_H
#define NEST_INPUT_LOAD_H

#include "base/arena.h"
#include "base/error.h"
#include "input/spec.h"

/* Where shipped data lies: the folder that holds models/ and topologies/. Searched in this order:
 * NEST_DATA, above the running binary (the source tree, then share/nest of an installation), the
 * compiled-in NEST_DATADIR. Owned by the caller. */
struct nest_library {
    const char *root;            /* NULL when there is none */
    nest_cluster_builder *build; /* NULL: clusters in Lua are refused */
    void *build_context;
    const atomic_bool *cancel; /* polled while a cluster's script runs; may be NULL */
};

/* Finds the library for the running binary; root is NULL and the answer NEST_NO when
 * there is none; no builder is installed. */
enum nest_status nest_library_find(struct nest_arena *arena, struct nest_library *out);

/* Names of the shipped files of a kind ("models", "topologies", "topologies/devices"), sorted,
 * NULL-ended. */
const char **nest_library_list(const struct nest_library *library, const char *kind,
                               struct nest_arena *arena);

/* Paths of the .yaml files in a folder, sorted, NULL-ended; NULL if it is no folder. */
const char **nest_folder_list(const char *folder, struct nest_arena *arena);

enum nest_status nest_load_device(const struct nest_library *library, const char *name,
                                  struct nest_arena *arena, struct nest_device_spec *out,
                                  struct nest_errors *errors);
enum nest_status nest_load_cluster(const struct nest_library *library, const char *name,
                                   struct nest_arena *arena, struct nest_cluster_spec *out,
                                   struct nest_errors *errors);
/* Whether loading the cluster of that name runs a script. */
bool nest_cluster_is_script(const struct nest_library *library, const char *name,
                            struct nest_arena *arena);
enum nest_status nest_load_model(const struct nest_library *library, const char *name,
                                 struct nest_arena *arena, struct nest_model_spec *out,
                                 struct nest_errors *errors);
enum nest_status nest_load_plan(const char *path, struct nest_arena *arena,
                                struct nest_plan_spec *out, struct nest_errors *errors);

/* Command-line parts of a scenario, applied over the file in this order: model, cluster, sets,
 * pins. */
struct nest_scenario_request {
    const char *scenario; /* path, or NULL */
    const char *model;    /* or NULL: the scenario's, else the built-in default llama3-70b */
    const char *cluster;  /* or NULL: the scenario's, else h100-spine-leaf */
    const char *profile;  /* file of measured times, or NULL: the scenario's, else the model's */
    int sets;
    const char *const *set; /* "PATH=VALUE", applied together, then checked together */
    int pins;
    const char *const *pin; /* "KEY=VALUE,KEY=VALUE" */
    int scripts;
    const char *const *script; /* paths of Lua files, after the scenario's own */
};

enum nest_status nest_load_scenario(const struct nest_library *library,
                                    const struct nest_scenario_request *request,
                                    struct nest_arena *arena, struct nest_scenario_spec *out,
                                    struct nest_errors *errors);

/* The same from a tree that a script built instead of a file that was parsed (doc.h); faults lie at
 * the nodes' marks. id names the cluster. */
struct nest_node;
enum nest_status nest_cluster_from_tree(const struct nest_library *library,
                                        const struct nest_node *root, const char *id,
                                        struct nest_arena *arena, struct nest_cluster_spec *out,
                                        struct nest_errors *errors);
enum nest_status nest_plan_from_tree(const struct nest_node *root, struct nest_arena *arena,
                                     struct nest_plan_spec *out, struct nest_errors *errors);
enum nest_status nest_scenario_from_tree(const struct nest_library *library,
                                         const struct nest_node *root, struct nest_arena *arena,
                                         struct nest_scenario_spec *out,
                                         struct nest_errors *errors);

/* The shape of a model as measured times depend on it. */
struct nest_measured_shape nest_measured_shape(const struct nest_model_spec *model);

/* "switch", "ring" … as files write them. */
const char *nest_level_kind_word(enum nest_level_kind kind);

/* What kind of file this is, for `nest check`; the file is loaded and checked as that kind. */
enum nest_file_kind {
    NEST_FILE_DEVICE,
    NEST_FILE_CLUSTER,
    NEST_FILE_MODEL,
    NEST_FILE_SCENARIO,
    NEST_FILE_PLAN
};
enum nest_status nest_check_file(const struct nest_library *library, const char *path,
                                 struct nest_arena *arena, enum nest_file_kind *kind,
                                 struct nest_errors *errors);

#endif
