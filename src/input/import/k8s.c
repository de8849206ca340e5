/* Kubernetes: a list of Node objects whose labels name their place, and Kueue's Topology. */
#include <string.h>

#include "input/import/labels.h"

enum { LABELS_MAX = 16, DEVICES_MAX = 1 << 16 };

/* Label keys from coarse to fine; a key may be given by its end. */
static const char *const known_labels[] = {
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "oci.oraclecloud.com/host.hpc_island_id",
    "oci.oraclecloud.com/host.network_block_id",
    "oci.oraclecloud.com/host.rack_id",
    "oci.oraclecloud.com/rdma.hpc_island_id",
    "oci.oraclecloud.com/rdma.network_block_id",
    "oci.oraclecloud.com/rdma.local_block_id",
    "network.topology.nvidia.com/datacenter",
    "network.topology.nvidia.com/core",
    "network.topology.nvidia.com/spine",
    "network.topology.nvidia.com/block",
    "network.topology.nvidia.com/leaf",
    "network.topology.nvidia.com/accelerator",
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    "topology.k8s.aws/network-node-layer-4",
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "cloud.google.com/gce-topology-host",
    "cloud.provider.com/topology-block",
    "cloud.provider.com/topology-rack",
};
enum { KNOWN_LABELS = sizeof known_labels / sizeof known_labels[0] };

struct nodes {
    struct nest_job *job;
    const struct nest_node *items; /* the list */
    int keys;
    const char *key[LABELS_MAX]; /* the labels in use, coarse to fine */
    int unlabelled, without_devices, with_devices;
};

static const struct nest_node *labels_of(const struct nest_node *item)
{
    return nest_node_get(nest_node_get(item, "metadata"), "labels");
}

/* "…/tier-2" or "…/tier2" → 2, else -1. */
static int tier_of(const char *key)
{
    const char *slash = strrchr(key, '/');
    const char *name = slash ? slash + 1 : key;
    int64_t tier;
    if (strncmp(name, "tier", 4) != 0) {
        return -1;
    }
    name += name[4] == '-' || name[4] == '_' ? 5 : 4;
    return nest_text_int(name, &tier) && tier < LABELS_MAX ? (int)tier : -1;
}

static bool is_used(const struct nodes *n, const char *key)
{
    for (const struct nest_node *item = n->items->first; item; item = item->next) {
        if (nest_node_get(labels_of(item), key)) {
            return true;
        }
    }
    return false;
}

static void use(struct nodes *n, const char *key)
{
    if (n->keys < LABELS_MAX) {
        n->key[n->keys++] = key;
    }
}

/* topograph's tiers count from the finest, so the highest number comes first. */
static void find_tiers(struct nodes *n)
{
    const char *tier[LABELS_MAX] = {NULL};
    for (const struct nest_node *item = n->items->first; item; item = item->next) {
        const struct nest_node *labels = labels_of(item);
        for (const struct nest_node *label =
                 labels && labels->kind == NEST_NODE_MAPPING ? labels->first : NULL;
             label; label = label->next) {
            const int t = tier_of(label->key);
            if (t >= 0 && !tier[t]) {
                tier[t] = label->key;
            }
        }
    }
    for (int t = LABELS_MAX - 1; t >= 0; t--) {
        if (tier[t]) {
            use(n, tier[t]);
        }
    }
}

/* The levels of a Kueue Topology, coarsest first; the host name is the node itself. */
static enum nest_status read_topology(struct nodes *n, const struct nest_node *root)
{
    const struct nest_node *levels = nest_node_get(nest_node_get(root, "spec"), "levels");
    if (!levels || levels->kind != NEST_NODE_SEQUENCE) {
        return nest_job_fault_at(n->job, levels ? levels : root,
                                 "spec.levels with nodeLabel entries", "a Topology without levels");
    }
    for (const struct nest_node *level = levels->first; level; level = level->next) {
        const struct nest_node *label = nest_node_get(level, "nodeLabel");
        if (!label || label->kind != NEST_NODE_SCALAR || !*label->text) {
            return nest_job_fault_at(n->job, level, NULL, "a level without nodeLabel");
        }
        if (strcmp(label->text, "kubernetes.io/hostname") != 0) {
            use(n, label->text);
        }
    }
    return NEST_OK;
}

static void find_labels(struct nodes *n)
{
    for (int i = 0; i < KNOWN_LABELS; i++) {
        if (is_used(n, known_labels[i])) {
            use(n, known_labels[i]);
        }
    }
    find_tiers(n);
}

/* Devices that a node offers: the first resource whose name is that of an accelerator. */
static enum nest_status devices_of(struct nodes *n, const struct nest_node *item, int64_t *out)
{
    static const char *const resources[] = {"nvidia.com/gpu",
                                            "amd.com/gpu",
                                            "google.com/tpu",
                                            "habana.ai/gaudi",
                                            "aws.amazon.com/neurondevice",
                                            "aws.amazon.com/neuron",
                                            "gpu.intel.com/i915",
                                            NULL};
    const struct nest_node *status = nest_node_get(item, "status");
    const struct nest_node *room = nest_node_get(status, "allocatable");
    room = room ? room : nest_node_get(status, "capacity");
    *out = 0;
    for (int i = 0; resources[i]; i++) {
        const struct nest_node *count = nest_node_get(room, resources[i]);
        if (!count) {
            continue;
        }
        if (!nest_text_int(count->text, out) || *out > DEVICES_MAX) {
            return nest_job_fault_at(n->job, count, "a whole number",
                                     "'%s' is no number of devices", count->text);
        }
        return NEST_OK;
    }
    return NEST_OK;
}

static const char *name_of(const struct nest_node *item)
{
    const struct nest_node *name = nest_node_get(nest_node_get(item, "metadata"), "name");
    return name && *name->text ? name->text : "";
}

static enum nest_status place_node(struct nodes *n, const struct nest_node *item,
                                   struct nest_tree *tree, bool count_devices)
{
    const char *value[LABELS_MAX];
    int64_t devices = 0;
    const struct nest_node *kind = nest_node_get(item, "kind");
    if (item->kind != NEST_NODE_MAPPING || (kind && strcmp(kind->text, "Node") != 0)) {
        return nest_job_fault_at(n->job, kind ? kind : item, "objects of kind Node",
                                 "not a Node object");
    }
    if (!*name_of(item)) {
        return nest_job_fault_at(n->job, item, NULL, "a node without a name");
    }
    const enum nest_status status = devices_of(n, item, &devices);
    if (status != NEST_OK) {
        return status;
    }
    if (count_devices && devices == 0) {
        n->without_devices++;
        return NEST_OK;
    }
    int missing = 0;
    for (int i = 0; i < n->keys; i++) {
        const struct nest_node *label = nest_node_get(labels_of(item), n->key[i]);
        missing += !label;
        value[i] = label ? label->text : "";
    }
    n->unlabelled += missing > 0;
    return nest_labels_place(tree, value, n->keys, name_of(item), count_devices ? devices : 0)
               ? NEST_OK
               : nest_job_no_memory(n->job);
}

/* "topology-rack" of the label key, for the level's name. */
static const char *level_name(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash && slash[1] ? slash + 1 : key;
}

/* Names from the node outwards. The top level joins the values of the coarsest label that differs;
 * as levels of one value vanish, names are given by how many distinct values a label has. */
static void name_levels(struct nodes *n, const struct nest_tree *tree, bool nodes_first,
                        const char **tier)
{
    int64_t last = -1;
    int count = 0;
    if (nodes_first) {
        tier[count++] = "node";
    }
    int64_t nodes = 0;
    for (int g = 0; g < tree->groups; g++) {
        nodes += tree->group[g].hosts > 0 ? (nodes_first ? 1 : tree->group[g].hosts) : 0;
    }
    for (int i = n->keys - 1; i >= -1; i--) {
        int64_t groups = 0;
        for (int g = 0; g < tree->groups; g++) {
            int depth = 0;
            for (const char *p = tree->group[g].name; (p = strchr(p, '/')) != NULL; p++) {
                depth++;
            }
            groups += depth == i + 1 && !strstr(tree->group[g].name, "/:");
        }
        if (groups != last && groups < nodes) { /* a value of its own for every node joins none */
            tier[count++] = i < 0 ? "cluster" : level_name(n->key[i]);
        }
        last = groups;
    }
    tier[count] = NULL;
}

static enum nest_status write_nodes(struct nodes *n)
{
    struct nest_tree tree;
    const char *tier[LABELS_MAX + 3] = {NULL};
    const bool count_devices = n->job->options->gpus_per_node == 0 && n->with_devices > 0;
    enum nest_status status = NEST_OK;
    if (!nest_tree_init(&tree, n->job->arena)) {
        return nest_job_no_memory(n->job);
    }
    for (const struct nest_node *item = n->items->first; item && status == NEST_OK;
         item = item->next) {
        status = place_node(n, item, &tree, count_devices);
    }
    if (status != NEST_OK) {
        return status;
    }
    name_levels(n, &tree, count_devices, tier);
    struct nest_found_cluster found = {.name = "Kubernetes nodes", .hosts = !count_devices};
    status = nest_tree_join(&tree, n->job);
    if (status == NEST_OK) {
        status = nest_tree_levels(&tree, n->job, tier, &found);
    }
    if (status != NEST_OK) {
        return status;
    }
    if (n->without_devices > 0) {
        nest_job_note(n->job, "%d nodes offer no devices and were left out", n->without_devices);
    }
    if (n->unlabelled > 0) {
        nest_job_note(n->job, "%d nodes lack some of the labels and form groups of their own",
                      n->unlabelled);
    }
    nest_job_note(n->job, "labels give places, not speeds");
    return nest_found_cluster_write(n->job, &found);
}

/* The list of nodes of a document, or NULL. */
static const struct nest_node *items_of(const struct nest_node *root)
{
    const struct nest_node *items = nest_node_get(root, "items");
    if (root->kind == NEST_NODE_SEQUENCE) {
        return root;
    }
    return items && items->kind == NEST_NODE_SEQUENCE ? items : NULL;
}

static bool is_topology(const struct nest_node *root)
{
    const struct nest_node *kind = nest_node_get(root, "kind");
    return kind && strcmp(kind->text, "Topology") == 0;
}

static enum nest_status topology_alone(struct nodes *n, const struct nest_node *root)
{
    const enum nest_status status = read_topology(n, root);
    if (status != NEST_OK) {
        return status;
    }
    struct nest_strbuf names = NEST_STRBUF_INIT(4096);
    nest_strbuf_add(&names, "hostname");
    for (int i = n->keys - 1; i >= 0; i--) {
        const char *name = level_name(n->key[i]);
        const char *dash = strrchr(name, '-');
        nest_strbuf_printf(&names, ", %s", dash ? dash + 1 : name);
    }
    nest_job_fault_at(n->job, root, "give the node list too: kubectl get nodes -o yaml",
                      "a Topology names levels (from the inside: %s) but counts nothing",
                      nest_strbuf_text(&names));
    nest_strbuf_free(&names);
    return NEST_BAD_INPUT;
}

enum nest_status nest_import_k8s(struct nest_job *job)
{
    struct nodes n = {.job = job};
    const struct nest_node *topology = NULL;
    for (int i = 0; i < job->files; i++) {
        struct nest_job one = *job;
        const struct nest_node *root;
        one.file = &job->file[i];
        const enum nest_status status = nest_job_document(&one, &root);
        if (status != NEST_OK) {
            return status;
        }
        if (is_topology(root)) {
            topology = root;
        } else if (items_of(root)) {
            n.items = items_of(root);
        } else {
            return nest_job_fault_at(job, root, "kubectl get nodes -o yaml",
                                     "neither a list of nodes nor a Topology");
        }
    }
    if (!n.items) {
        return topology_alone(&n, topology);
    }
    if (topology) {
        const enum nest_status status = read_topology(&n, topology);
        if (status != NEST_OK) {
            return status;
        }
    } else {
        find_labels(&n);
    }
    for (const struct nest_node *item = n.items->first; item; item = item->next) {
        int64_t devices = 0;
        const enum nest_status status = devices_of(&n, item, &devices);
        if (status != NEST_OK) {
            return status;
        }
        n.with_devices += devices > 0;
    }
    if (n.keys == 0) {
        nest_job_note(job, "no known topology labels: all nodes are taken as one group");
    }
    return write_nodes(&n);
}
