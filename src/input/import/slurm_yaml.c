#include <string.h>

#include "input/import/slurm.h"

static struct nest_piece piece_of(const struct nest_node *node)
{
    return (struct nest_piece){node->text, strlen(node->text), node->mark.column};
}

/* A scalar of a mapping, or a fault. */
static enum nest_status need_text(struct nest_job *job, const struct nest_node *mapping,
                                  const char *key, const struct nest_node **out)
{
    const struct nest_node *node =
        mapping->kind == NEST_NODE_MAPPING ? nest_node_get(mapping, key) : NULL;
    if (!node) {
        return nest_job_fault_at(job, mapping, NULL, "no '%s'", key);
    }
    if (node->kind != NEST_NODE_SCALAR || !*node->text) {
        return nest_job_fault_at(job, node, NULL, "'%s' is not a text", key);
    }
    *out = node;
    return NEST_OK;
}

static enum nest_status need_list(struct nest_job *job, const struct nest_node *mapping,
                                  const char *key, const struct nest_node **out)
{
    const struct nest_node *node =
        mapping->kind == NEST_NODE_MAPPING ? nest_node_get(mapping, key) : NULL;
    if (!node || node->kind != NEST_NODE_SEQUENCE) {
        return nest_job_fault_at(job, node ? node : mapping, NULL, "expected a list of '%s'", key);
    }
    *out = node;
    return NEST_OK;
}

static enum nest_status need_count(struct nest_job *job, const struct nest_node *mapping,
                                   const char *key, int64_t *out)
{
    const struct nest_node *node;
    const enum nest_status status = need_text(job, mapping, key, &node);
    if (status != NEST_OK) {
        return status;
    }
    if (!nest_text_int(node->text, out) || *out < 1 || *out > NEST_TREE_HOSTS) {
        return nest_job_fault_at(job, node, "a whole number from 1", "'%s' is not a number",
                                 node->text);
    }
    return NEST_OK;
}

static enum nest_status begin(struct nest_slurm *slurm, struct nest_job *job)
{
    *slurm = (struct nest_slurm){.job = job};
    return nest_tree_init(&slurm->tree, job->arena) ? NEST_OK : nest_job_no_memory(job);
}

static enum nest_status read_switch(struct nest_slurm *slurm, const struct nest_node *item)
{
    const struct nest_node *name = NULL;
    int group;
    enum nest_status status = need_text(slurm->job, item, "switch", &name);
    if (status == NEST_OK) {
        status = nest_slurm_define(slurm, "switch", name->text, name->mark.line, name->mark.column,
                                   &group);
    }
    if (status != NEST_OK) {
        return status;
    }
    const struct nest_node *nodes = nest_node_get(item, "nodes");
    const struct nest_node *children = nest_node_get(item, "children");
    if (!nodes == !children) {
        return nest_job_fault_at(slurm->job, item, "a switch joins either nodes or children",
                                 "switch '%s' has %s", name->text,
                                 nodes ? "both" : "neither nodes nor children");
    }
    status = need_text(slurm->job, item, nodes ? "nodes" : "children", &name);
    if (status != NEST_OK) {
        return status;
    }
    return nodes ? nest_slurm_hosts(slurm, group, piece_of(name), name->mark.line)
                 : nest_slurm_children(slurm, group, piece_of(name), name->mark.line);
}

static enum nest_status read_tree(struct nest_slurm *slurm, const struct nest_node *tree)
{
    const struct nest_node *list = NULL;
    enum nest_status result = need_list(slurm->job, tree, "switches", &list);
    for (const struct nest_node *item = result == NEST_OK ? list->first : NULL; item;
         item = item->next) {
        const enum nest_status status = read_switch(slurm, item);
        result = status == NEST_OK ? result : status;
    }
    return result;
}

static enum nest_status read_sizes(struct nest_slurm *slurm, const struct nest_node *block)
{
    const struct nest_node *list = NULL;
    int column[NEST_SLURM_SIZES];
    if (!nest_node_get(block, "block_sizes")) {
        return NEST_OK;
    }
    const enum nest_status status = need_list(slurm->job, block, "block_sizes", &list);
    if (status != NEST_OK) {
        return status;
    }
    for (const struct nest_node *item = list->first; item; item = item->next) {
        if (slurm->sizes == NEST_SLURM_SIZES) {
            return nest_job_fault_at(slurm->job, item, NULL, "more than %d block sizes",
                                     (int)NEST_SLURM_SIZES);
        }
        int64_t *size = &slurm->size[slurm->sizes];
        if (!nest_text_int(item->text, size) || *size < 1 || *size > NEST_TREE_HOSTS) {
            return nest_job_fault_at(slurm->job, item, "a number of hosts",
                                     "'%s' is not a block size", item->text);
        }
        column[slurm->sizes++] = item->mark.column;
        slurm->sizes_line = item->mark.line;
    }
    return nest_slurm_check_sizes(slurm, column);
}

static enum nest_status read_block(struct nest_slurm *slurm, const struct nest_node *item)
{
    const struct nest_node *name = NULL, *nodes = NULL;
    int group;
    enum nest_status status = need_text(slurm->job, item, "block", &name);
    if (status == NEST_OK) {
        status = need_text(slurm->job, item, "nodes", &nodes);
    }
    if (status == NEST_OK) {
        status = nest_slurm_define(slurm, "block", name->text, name->mark.line, name->mark.column,
                                   &group);
    }
    if (status != NEST_OK) {
        return status;
    }
    status = nest_slurm_hosts(slurm, group, piece_of(nodes), nodes->mark.line);
    if (status == NEST_OK && slurm->tree.group[group].merged != group) {
        return nest_job_fault_at(slurm->job, nodes, "a host belongs to one block",
                                 "block '%s' shares hosts with an earlier block", name->text);
    }
    return status;
}

static enum nest_status read_blocks(struct nest_slurm *slurm, const struct nest_node *block)
{
    const struct nest_node *list = NULL;
    slurm->blocks = true;
    enum nest_status result = read_sizes(slurm, block);
    if (result == NEST_OK) {
        result = need_list(slurm->job, block, "blocks", &list);
    }
    for (const struct nest_node *item = result == NEST_OK ? list->first : NULL; item;
         item = item->next) {
        const enum nest_status status = read_block(slurm, item);
        result = status == NEST_OK ? result : status;
    }
    return result;
}

/* ---- Rings and tori ------------------------------------------------------------------------ */

/* The hosts of a list, counted once each. */
static enum nest_status count_hosts(struct nest_job *job, const struct nest_node *nodes,
                                    int64_t *hosts)
{
    struct nest_slurm slurm;
    enum nest_status status = begin(&slurm, job);
    const int group = status == NEST_OK ? nest_tree_group(&slurm.tree, "list", 0) : -1;
    if (group < 0) {
        return nest_job_no_memory(job);
    }
    status = nest_slurm_hosts(&slurm, group, piece_of(nodes), nodes->mark.line);
    *hosts = slurm.tree.hosts;
    return status;
}

/* The item named by --root, or the only one. */
static enum nest_status choose_item(struct nest_job *job, const struct nest_node *list,
                                    const char *key, const struct nest_node **out)
{
    for (const struct nest_node *item = list->first; item; item = item->next) {
        const struct nest_node *name = NULL;
        const enum nest_status status = need_text(job, item, key, &name);
        if (status != NEST_OK) {
            return status;
        }
        if (list->count == 1 ||
            (job->options->root && strcmp(job->options->root, name->text) == 0)) {
            *out = item;
            return NEST_OK;
        }
    }
    return nest_job_fault_at(job, list, "choose one with --root NAME",
                             "%d of them, and a job cannot span them", list->count);
}

static enum nest_status import_ring(struct nest_job *job, const struct nest_node *ring)
{
    const struct nest_node *list = NULL, *item = NULL, *nodes = NULL;
    int64_t hosts = 0;
    enum nest_status status = need_list(job, ring, "rings", &list);
    if (status == NEST_OK) {
        status = choose_item(job, list, "ring", &item);
    }
    if (status == NEST_OK) {
        status = need_text(job, item, "nodes", &nodes);
    }
    if (status == NEST_OK) {
        status = count_hosts(job, nodes, &hosts);
    }
    if (status != NEST_OK) {
        return status;
    }
    return nest_slurm_write_torus(job, nest_node_get(item, "ring")->text, hosts, NULL);
}

/* The hosts of a torus: one list, or regions that fill it. */
static enum nest_status count_torus(struct nest_job *job, const struct nest_node *item,
                                    int64_t *hosts)
{
    const struct nest_node *nodes = nest_node_get(item, "nodes");
    const struct nest_node *regions = nest_node_get(item, "regions");
    if (!nodes == !regions) {
        return nest_job_fault_at(job, item, "give one of them",
                                 nodes ? "both nodes and regions" : "neither nodes nor regions");
    }
    if (nodes) {
        return count_hosts(job, nodes, hosts);
    }
    for (const struct nest_node *region = regions->first; region; region = region->next) {
        int64_t own = 0;
        enum nest_status status = need_text(job, region, "nodes", &nodes);
        if (status == NEST_OK) {
            status = count_hosts(job, nodes, &own);
        }
        if (status != NEST_OK) {
            return status;
        }
        *hosts += own;
    }
    return NEST_OK;
}

static enum nest_status import_torus(struct nest_job *job, const struct nest_node *torus3d)
{
    const struct nest_node *list = NULL, *item = NULL;
    int64_t side[3], hosts = 0;
    enum nest_status status = need_list(job, torus3d, "toruses", &list);
    if (status == NEST_OK) {
        status = choose_item(job, list, "name", &item);
    }
    const struct nest_node *dims = status == NEST_OK ? nest_node_get(item, "dims") : NULL;
    if (status == NEST_OK && !dims) {
        status = nest_job_fault_at(job, item, "dims: {x: 4, y: 4, z: 2}", "a torus has no 'dims'");
    }
    static const char *const axis[3] = {"x", "y", "z"};
    for (int i = 0; i < 3 && status == NEST_OK; i++) {
        status = need_count(job, dims, axis[i], &side[i]);
    }
    if (status == NEST_OK) {
        status = count_torus(job, item, &hosts);
    }
    if (status != NEST_OK) {
        return status;
    }
    if (side[0] * side[1] * side[2] != hosts) {
        return nest_job_fault_at(job, dims, "x times y times z hosts",
                                 "a torus of %lldx%lldx%lld has %lld hosts, but %lld are listed",
                                 (long long)side[0], (long long)side[1], (long long)side[2],
                                 (long long)(side[0] * side[1] * side[2]), (long long)hosts);
    }
    if (nest_node_get(item, "placements")) {
        nest_job_note(job, "placements are shapes of jobs, not hardware: ignored");
    }
    return nest_slurm_write_torus(job, nest_node_get(item, "name")->text, hosts,
                                  nest_arena_printf(job->arena, "%lldx%lldx%lld",
                                                    (long long)side[0], (long long)side[1],
                                                    (long long)side[2]));
}

/* ---- The file ------------------------------------------------------------------------------ */

/* A flat topology lists no hosts: all hosts of the others, without order. */
static enum nest_status import_flat(struct nest_job *job, const struct nest_node *root)
{
    struct nest_slurm all;
    enum nest_status status = begin(&all, job);
    const int group = status == NEST_OK ? nest_tree_group(&all.tree, "flat", 0) : -1;
    if (group < 0) {
        return nest_job_no_memory(job);
    }
    all.tree.group[group].given = true;
    for (const struct nest_node *item = root->first; item && status == NEST_OK; item = item->next) {
        const struct nest_node *tree = nest_node_get(item, "tree");
        const struct nest_node *block = nest_node_get(item, "block");
        const struct nest_node *list = tree    ? nest_node_get(tree, "switches")
                                       : block ? nest_node_get(block, "blocks")
                                               : NULL;
        for (const struct nest_node *entry = list ? list->first : NULL; entry && status == NEST_OK;
             entry = entry->next) {
            const struct nest_node *nodes = nest_node_get(entry, "nodes");
            if (nodes && nodes->kind == NEST_NODE_SCALAR) {
                status = nest_slurm_hosts(&all, group, piece_of(nodes), nodes->mark.line);
            }
        }
    }
    if (status != NEST_OK) {
        return status;
    }
    if (all.tree.hosts == 0) {
        return nest_job_fault_at(job, root, "choose another topology with --root NAME",
                                 "a flat topology lists no hosts");
    }
    nest_job_note(job, "a flat topology lists no hosts: those of the other topologies were taken");
    return nest_slurm_write(&all);
}

static enum nest_status import_topology(struct nest_job *job, const struct nest_node *root,
                                        const struct nest_node *topology)
{
    static const char *const kinds[] = {"tree", "block", "ring", "torus3d", "flat", NULL};
    const struct nest_node *body = NULL;
    int kind = 0;
    for (; kinds[kind] && !body; kind++) {
        body = nest_node_get(topology, kinds[kind]);
    }
    if (!body) {
        return nest_job_fault_at(job, topology, "tree, block, ring, torus3d or flat",
                                 "a topology of no known kind");
    }
    struct nest_slurm slurm;
    enum nest_status status = begin(&slurm, job);
    if (status != NEST_OK) {
        return status;
    }
    switch (kind - 1) {
    case 0:
    case 1:
        status = kind == 1 ? read_tree(&slurm, body) : read_blocks(&slurm, body);
        return status == NEST_OK ? nest_slurm_write(&slurm) : status;
    case 2:
        return import_ring(job, body);
    case 3:
        return import_torus(job, body);
    default:
        return import_flat(job, root);
    }
}

static const char *name_of(const struct nest_node *topology)
{
    const struct nest_node *name = nest_node_get(topology, "topology");
    return name && name->kind == NEST_NODE_SCALAR ? name->text : "";
}

/* --root names a topology, or a root inside the default one. */
static const struct nest_node *choose_topology(struct nest_job *job, const struct nest_node *root,
                                               bool *named)
{
    const struct nest_node *chosen = root->first;
    for (const struct nest_node *item = root->first; item; item = item->next) {
        if (job->options->root && strcmp(name_of(item), job->options->root) == 0) {
            *named = true;
            return item;
        }
        const struct nest_node *is_default = nest_node_get(item, "cluster_default");
        if (is_default && strcmp(is_default->text, "true") == 0) {
            chosen = item;
        }
    }
    if (root->count > 1) {
        struct nest_strbuf names = NEST_STRBUF_INIT(4096);
        for (const struct nest_node *item = root->first; item; item = item->next) {
            nest_strbuf_printf(&names, "%s%s", item == root->first ? "" : ", ", name_of(item));
        }
        nest_job_note(job,
                      "topologies in the file: %s; taken: the default one, %s "
                      "(--root NAME takes another)",
                      nest_strbuf_text(&names), name_of(chosen));
        nest_strbuf_free(&names);
    }
    return chosen;
}

enum nest_status nest_import_slurm_yaml(struct nest_job *job)
{
    const struct nest_node *root;
    const enum nest_status status = nest_job_document(job, &root);
    if (status != NEST_OK) {
        return status;
    }
    if (root->kind != NEST_NODE_SEQUENCE || root->count == 0) {
        return nest_job_fault_at(job, root, "a list of topologies, or topology.conf lines",
                                 "not a Slurm topology file");
    }
    for (const struct nest_node *item = root->first; item; item = item->next) {
        if (item->kind != NEST_NODE_MAPPING) {
            return nest_job_fault_at(job, item, "topology: NAME with tree, block, ring or torus3d",
                                     "a topology is no mapping");
        }
    }
    bool named = false;
    const struct nest_node *topology = choose_topology(job, root, &named);
    struct nest_import_options options = *job->options;
    options.root = named ? NULL : options.root;
    struct nest_job inner = *job;
    inner.options = &options;
    const enum nest_status result = import_topology(&inner, root, topology);
    job->notes = inner.notes;
    return result;
}
