/* The key tables of our files and what is checked across keys. Private to the input room. */
#ifndef NEST_INPUT_RECORDS_H
#define NEST_INPUT_RECORDS_H

#include "input/field.h"
#include "input/load.h"

extern const struct nest_field nest_device_fields[];
extern const struct nest_field nest_cluster_fields[];
extern const struct nest_field nest_level_fields[];
extern const struct nest_field nest_model_fields[];
extern const struct nest_field nest_scenario_fields[];
extern const struct nest_field nest_train_fields[];
extern const struct nest_field nest_limits_fields[];
extern const struct nest_field nest_overlap_fields[];
extern const struct nest_field nest_plan_fields[];

/* What the readers of nested files need beside the node. */
struct nest_input {
    const struct nest_library *library;
    const char *folder; /* where relative paths of a file begin, or NULL */
};

/* What a loader returns: NEST_NO_MEMORY when any allocation failed on the way, whatever was read;
 * else whether there are more faults than before, sorted. */
enum nest_status nest_input_outcome(struct nest_errors *errors, size_t before);

/* Reads one document into a record: defaults first, then the keys, then the checks across keys.
 * Faults go to the reader's list; the reader's context is a struct nest_input. */
void nest_device_read(struct nest_field_reader *reader, const struct nest_node *root,
                      const char *id, struct nest_device_spec *out);
void nest_model_read(struct nest_field_reader *reader, const struct nest_node *root, const char *id,
                     struct nest_model_spec *out);
void nest_cluster_read(struct nest_field_reader *reader, const struct nest_node *root,
                       const char *id, struct nest_cluster_spec *out);
void nest_plan_read(struct nest_field_reader *reader, const struct nest_node *root,
                    struct nest_plan_spec *out);

/* `levels:` of a cluster, innermost first. */
void nest_levels_read(struct nest_field_reader *reader, const struct nest_node *node, void *record);

/* A device given in place, by shipped name or by path; NULL after a fault. */
const struct nest_device_spec *nest_device_of(struct nest_field_reader *reader,
                                              const struct nest_node *node);

/* `graph:` of a cluster: devices, switches and links, which become its levels. */
void nest_graph_read(struct nest_field_reader *reader, const struct nest_node *node, void *record);

/* Measured times of a transformer's layers from a file, CSV or YAML, in place of those it had.
 * Paths are tried beside folder first; mark is the place of the name. */
void nest_measured_load(struct nest_field_reader *reader, const char *name, struct nest_mark mark,
                        const char *folder, struct nest_model_spec *model);

/* A path for a name that is a file, tried beside folder first; NULL if there is none. */
const char *nest_path_find(struct nest_field_reader *reader, const char *name, const char *folder);

/* A model's measured layers (`profile:`), read into its record and written back as list entries. */
void nest_profile_read(struct nest_field_reader *reader, const struct nest_node *node,
                       void *record);
void nest_profile_write(const struct nest_model_spec *model, int indent, struct nest_strbuf *out);

/* A model's layer graph (`graph:`): measured layers with edges. */
void nest_layer_graph_read(struct nest_field_reader *reader, const struct nest_node *node,
                           void *record);
void nest_layer_graph_write(const struct nest_model_spec *model, int indent,
                            struct nest_strbuf *out);

/* What a file that is silent gets. */
void nest_device_defaults(struct nest_device_spec *out, const char *id);
void nest_model_defaults(struct nest_model_spec *out, const char *id);
void nest_scenario_defaults(struct nest_scenario_spec *out);

/* Appends text as one YAML scalar, quoted where it must be. */
void nest_yaml_text(const char *text, struct nest_strbuf *out);

/* Where a fault across keys is shown: at the key's node if the record was read from one; else at
 * the newest edit of PREFIX.KEY, of any PREFIX key, or of anything. */
struct nest_touched {
    const char *path; /* in full */
    struct nest_mark mark;
};
struct nest_origin {
    const struct nest_node *root; /* or NULL */
    const char *prefix;           /* "model" … of the paths; NULL with a root */
    const struct nest_touched *touched;
    int count;
    struct nest_mark fallback;
};
struct nest_mark nest_origin_mark(const struct nest_origin *origin, const char *key);

/* Adds a fault across keys at the origin's place of key. */
void nest_origin_fault(const struct nest_origin *origin, struct nest_errors *errors,
                       const char *key, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

void nest_model_check(const struct nest_model_spec *model, const struct nest_origin *origin,
                      struct nest_errors *errors);
void nest_train_check(const struct nest_scenario_spec *scenario, const struct nest_origin *origin,
                      struct nest_errors *errors);
void nest_device_check(const struct nest_device_spec *device, const struct nest_origin *origin,
                       struct nest_errors *errors);
void nest_cluster_check(const struct nest_cluster_spec *cluster, const struct nest_origin *origin,
                        struct nest_errors *errors);

/* Values that follow from others where the file is silent (kv_heads = heads …). */
void nest_model_derive(struct nest_model_spec *model);

/* Finds and reads a device by shipped name, alias or path; paths are tried beside folder first. */
void nest_device_load(struct nest_field_reader *reader, const char *name, struct nest_mark mark,
                      const char *folder, struct nest_device_spec *out);
void nest_model_load(struct nest_field_reader *reader, const char *name, struct nest_mark mark,
                     const char *folder, struct nest_model_spec *out);
void nest_cluster_load(struct nest_field_reader *reader, const char *name, struct nest_mark mark,
                       const char *folder, struct nest_cluster_spec *out);

/* The path of a script: beside folder, in the working folder, or under the shipped files; as it is
 * where there is none. */
const char *nest_script_find(struct nest_field_reader *reader, const char *name,
                             const char *folder);

/* A file as a tree, NULL after adding a fault; the folder that holds it, NULL for the working one.
 */
const struct nest_node *nest_document_load(struct nest_field_reader *reader, const char *path);
const char *nest_folder_of(struct nest_arena *arena, const char *path);

/* The knobs of a cluster's script: one as a field of its record, whether a full PATH names one, and
 * a copy of them, so that an edit that fails does not touch the ones it came from. */
struct nest_field nest_knob_field(const struct nest_param_spec *param);
bool nest_is_knob(const struct nest_cluster_spec *cluster, const char *full);
bool nest_knobs_own(struct nest_cluster_spec *cluster, struct nest_arena *arena);

/* Whether it ends in .lua. */
bool nest_path_is_lua(const char *path);

/* "folder/name.yaml" → "name". */
const char *nest_stem_of(struct nest_arena *arena, const char *path);

/* Fills the overlap knobs that were not given from the framework's defaults (DESIGN 3.5). */
void nest_overlap_defaults(struct nest_scenario_spec *scenario);

/* The checks across keys after edits; touched are those edits, fallback the place of all else. */
void nest_scenario_check(const struct nest_scenario_spec *scenario,
                         const struct nest_touched *touched, int count, struct nest_mark fallback,
                         struct nest_errors *errors);

/* nest_set without the checks across keys; mark is the path's place, value_mark the value's. The
 * full path, or NULL after adding a fault. */
const char *nest_set_deferred(struct nest_scenario_spec *scenario, const char *path,
                              const char *value, struct nest_mark mark, struct nest_mark value_mark,
                              struct nest_arena *arena, struct nest_errors *errors);

/* A whole scenario: the file (or NULL for the defaults), then the request's model, cluster, sets
 * and pins. */
void nest_scenario_read(struct nest_field_reader *reader, const struct nest_node *root,
                        const struct nest_scenario_request *request,
                        struct nest_scenario_spec *out);

#endif
