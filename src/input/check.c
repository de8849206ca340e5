#include <string.h>

#include "input/records.h"

static int shared_keys(const struct nest_node *root)
{
    static const char *const shared[] = {"name", "source", "aliases", "model", "device", NULL};
    int count = 0;
    for (const char *const *key = shared; *key; key++) {
        count += nest_node_get(root, *key) != NULL;
    }
    return count;
}

/* The kind whose table knows most of the keys, so that one mistyped key does not change the kind.
 * A plan is one that has stages, or the output of a command that holds a plan. */
static bool detect(const struct nest_node *root, enum nest_file_kind *out)
{
    static const struct {
        enum nest_file_kind kind;
        const struct nest_field *table;
    } tables[] = {
        {NEST_FILE_MODEL, nest_model_fields},     {NEST_FILE_SCENARIO, nest_scenario_fields},
        {NEST_FILE_CLUSTER, nest_cluster_fields}, {NEST_FILE_DEVICE, nest_device_fields},
        {NEST_FILE_PLAN, nest_plan_fields},
    };
    int most = 0;
    if (nest_node_get(root, "plan")) {
        *out = NEST_FILE_PLAN;
        return true;
    }
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const int known = nest_fields_known(root, tables[i].table);
        if (known > most) {
            most = known;
            *out = tables[i].kind;
        }
    }
    return most > 0 && (most > shared_keys(root) || nest_node_get(root, "model") ||
                        nest_node_get(root, "device"));
}

static void check_root(struct nest_field_reader *reader, const struct nest_node *root,
                       const char *id, enum nest_file_kind kind)
{
    union {
        struct nest_device_spec device;
        struct nest_cluster_spec cluster;
        struct nest_model_spec model;
        struct nest_scenario_spec scenario;
        struct nest_plan_spec plan;
    } *record = nest_arena_alloc(reader->arena, 1, sizeof *record);
    const struct nest_scenario_request nothing = {0};
    if (!record) {
        return;
    }
    switch (kind) {
    case NEST_FILE_DEVICE:
        nest_device_read(reader, root, id, &record->device);
        break;
    case NEST_FILE_CLUSTER:
        nest_cluster_read(reader, root, id, &record->cluster);
        break;
    case NEST_FILE_MODEL:
        nest_model_read(reader, root, id, &record->model);
        break;
    case NEST_FILE_SCENARIO:
        nest_scenario_read(reader, root, &nothing, &record->scenario);
        break;
    case NEST_FILE_PLAN:
        nest_plan_read(reader, root, &record->plan);
        break;
    }
}

enum nest_status nest_check_file(const struct nest_library *library, const char *path,
                                 struct nest_arena *arena, enum nest_file_kind *kind,
                                 struct nest_errors *errors)
{
    struct nest_input input = {library, nest_folder_of(arena, path)};
    struct nest_field_reader reader = {arena, errors, &input};
    const size_t before = errors->count + errors->dropped;
    if (nest_path_is_lua(path)) {
        struct nest_cluster_spec cluster;
        *kind = NEST_FILE_CLUSTER;
        return nest_load_cluster(library, path, arena, &cluster, errors);
    }
    const struct nest_node *root = nest_document_load(&reader, path);
    if (root && root->kind != NEST_NODE_MAPPING) {
        nest_node_fault(&reader, root, "expected a mapping of keys and values",
                        "%s is none of our files", nest_node_describe(root, arena));
    } else if (root && !detect(root, kind)) {
        nest_node_fault(&reader, root,
                        "a device has memory and peak, a cluster levels, a model layers, "
                        "a scenario model and cluster, a plan stages",
                        "the keys are those of none of our files");
    } else if (root) {
        check_root(&reader, root, nest_stem_of(arena, path), *kind);
    }
    return nest_input_outcome(errors, before);
}
