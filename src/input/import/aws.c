/* EC2 DescribeInstanceTopology: the network nodes above every instance, from the top down. */
#include <string.h>

#include "input/import/labels.h"

enum { LAYERS_MAX = 8 };

static const struct {
    const char *type;
    int64_t devices;
    const char *device;
} instance_types[] = {
    {"p3.16xlarge", 8, "v100-sxm2-32gb"},      {"p3dn.24xlarge", 8, "v100-sxm2-32gb"},
    {"p4d.24xlarge", 8, "a100-sxm-40gb"},      {"p4de.24xlarge", 8, "a100-sxm-80gb"},
    {"p5.48xlarge", 8, "h100-sxm-80gb"},       {"p5e.48xlarge", 8, "h200-sxm-141gb"},
    {"p5en.48xlarge", 8, "h200-sxm-141gb"},    {"p6-b200.48xlarge", 8, "b200-sxm-180gb"},
    {"p6-b300.48xlarge", 8, "b300-sxm-288gb"}, {"p6e-gb200.36xlarge", 4, "gb200-nvl72"},
};

static enum nest_status place_instance(struct nest_job *job, const struct nest_node *item,
                                       struct nest_tree *tree)
{
    const char *value[LAYERS_MAX];
    int count = 0;
    const struct nest_node *id = nest_node_get(item, "InstanceId");
    const struct nest_node *layers = nest_node_get(item, "NetworkNodes");
    if (!id || id->kind != NEST_NODE_SCALAR || !*id->text) {
        return nest_job_fault_at(job, id ? id : item, NULL, "an instance without InstanceId");
    }
    if (!layers || layers->kind != NEST_NODE_SEQUENCE || layers->count == 0 ||
        layers->count > LAYERS_MAX) {
        return nest_job_fault_at(job, layers ? layers : item, "the nodes above it, top first",
                                 "an instance without NetworkNodes");
    }
    for (const struct nest_node *layer = layers->first; layer; layer = layer->next) {
        value[count++] = layer->text;
    }
    return nest_labels_place(tree, value, count, id->text, 0) ? NEST_OK : nest_job_no_memory(job);
}

/* Devices per instance and the device, where all instances are of one known type. */
static void read_types(struct nest_job *job, const struct nest_node *list,
                       struct nest_import_options *options, struct nest_found_cluster *found)
{
    const char *type = NULL;
    for (const struct nest_node *item = list->first; item; item = item->next) {
        const struct nest_node *own = nest_node_get(item, "InstanceType");
        if (!own || (type && strcmp(type, own->text) != 0)) {
            nest_job_note(job, "instances of several types: they are taken as alike");
            return;
        }
        type = own->text;
    }
    for (size_t i = 0; type && i < sizeof instance_types / sizeof instance_types[0]; i++) {
        if (strcmp(instance_types[i].type, type) != 0) {
            continue;
        }
        found->device = instance_types[i].device;
        if (options->gpus_per_node == 0 && !options->node) {
            options->gpus_per_node = instance_types[i].devices;
            nest_job_note(job, "instance type %s: %lld devices each, %s", type,
                          (long long)instance_types[i].devices, found->device);
        }
    }
}

enum nest_status nest_import_aws(struct nest_job *job)
{
    static const char *const tier[] = {"network_node_layer3", "network_node_layer2",
                                       "network_node_layer1", "region", NULL};
    const struct nest_node *root;
    struct nest_tree tree;
    enum nest_status status = nest_job_document(job, &root);
    if (status != NEST_OK) {
        return status;
    }
    const struct nest_node *list = nest_node_get(root, "Instances");
    if (!list || list->kind != NEST_NODE_SEQUENCE || list->count == 0) {
        return nest_job_fault_at(job, list ? list : root,
                                 "the output of aws ec2 describe-instance-topology",
                                 "no list 'Instances'");
    }
    if (!nest_tree_init(&tree, job->arena)) {
        return nest_job_no_memory(job);
    }
    for (const struct nest_node *item = list->first; item && status == NEST_OK; item = item->next) {
        status = place_instance(job, item, &tree);
    }
    if (status == NEST_OK) {
        status = nest_tree_join(&tree, job);
    }
    struct nest_found_cluster found = {.name = "EC2 instances", .hosts = true};
    if (status == NEST_OK) {
        status = nest_tree_levels(&tree, job, tier, &found);
    }
    if (status != NEST_OK) {
        return status;
    }
    struct nest_import_options options = *job->options;
    const struct nest_import_options *given = job->options;
    read_types(job, list, &options, &found);
    nest_job_note(job, "the service tells places, not speeds or oversubscription");
    job->options = &options;
    status = nest_found_cluster_write(job, &found);
    job->options = given;
    return status;
}
