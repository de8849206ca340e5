/* Models of NVIDIA's topograph: a map of switches, and blocks of nodes below them. */
#include <string.h>

#include "input/import/hostlist.h"
#include "input/import/tree.h"

struct target {
    struct nest_tree *tree;
    int group;
};

static bool visit(void *context, const char *name)
{
    const struct target *target = context;
    return nest_tree_host(target->tree, target->group, name);
}

static enum nest_status read_switches(struct nest_job *job, const struct nest_node *map,
                                      struct nest_tree *tree)
{
    for (const struct nest_node *item = map->first; item; item = item->next) {
        const struct nest_node *below = nest_node_get(item, "switches");
        const int parent = nest_tree_group(tree, item->key, item->key_mark.line);
        if (parent < 0) {
            return nest_job_no_memory(job);
        }
        if (below && below->kind != NEST_NODE_SEQUENCE) {
            return nest_job_fault_at(job, below, "a list of names", "switches of '%s' are no list",
                                     item->key);
        }
        for (const struct nest_node *name = below ? below->first : NULL; name; name = name->next) {
            if (name->kind != NEST_NODE_SCALAR || !*name->text) {
                return nest_job_fault_at(job, name, NULL, "a switch without a name");
            }
            const int child = nest_tree_group(tree, name->text, name->mark.line);
            if (child < 0 || !nest_tree_child(tree, parent, child)) {
                return nest_job_no_memory(job);
            }
        }
    }
    return NEST_OK;
}

static enum nest_status read_block(struct nest_job *job, const struct nest_node *item,
                                   struct nest_tree *tree)
{
    const struct nest_node *name = nest_node_get(item, "switch");
    const struct nest_node *nodes = nest_node_get(item, "nodes");
    if (!name || name->kind != NEST_NODE_SCALAR || !*name->text) {
        name = nest_node_get(item, "name");
    }
    if (!name || name->kind != NEST_NODE_SCALAR || !*name->text) {
        return nest_job_fault_at(job, item, "switch: NAME and nodes: […]",
                                 "a block without its switch");
    }
    if (!nodes || nodes->kind != NEST_NODE_SEQUENCE) {
        return nest_job_fault_at(job, nodes ? nodes : item, "a list such as [\"node[01-18]\"]",
                                 "a block without nodes");
    }
    struct target target = {tree, nest_tree_group(tree, name->text, name->mark.line)};
    if (target.group < 0) {
        return nest_job_no_memory(job);
    }
    for (const struct nest_node *list = nodes->first; list; list = list->next) {
        const struct nest_piece text = {list->text, strlen(list->text), list->mark.column};
        const enum nest_status status = nest_hostlist_expand(
            job, text, list->mark.line, NEST_TREE_HOSTS - tree->hosts, visit, &target);
        if (status != NEST_OK) {
            return status;
        }
    }
    return NEST_OK;
}

enum nest_status nest_import_topograph(struct nest_job *job)
{
    static const char *const tier[] = {"leaf", "spine", "core", NULL};
    const struct nest_node *root;
    struct nest_tree tree;
    enum nest_status status = nest_job_document(job, &root);
    if (status != NEST_OK) {
        return status;
    }
    const struct nest_node *switches = nest_node_get(root, "switches");
    const struct nest_node *blocks = nest_node_get(root, "blocks");
    if (!blocks || blocks->kind != NEST_NODE_SEQUENCE || blocks->count == 0 ||
        (switches && switches->kind != NEST_NODE_MAPPING)) {
        return nest_job_fault_at(job, root, "switches: {…} and blocks: […]",
                                 "not a topograph model");
    }
    if (!nest_tree_init(&tree, job->arena)) {
        return nest_job_no_memory(job);
    }
    status = switches ? read_switches(job, switches, &tree) : NEST_OK;
    for (const struct nest_node *item = blocks->first; item && status == NEST_OK;
         item = item->next) {
        status = read_block(job, item, &tree);
    }
    if (status == NEST_OK) {
        status = nest_tree_join(&tree, job);
    }
    struct nest_found_cluster found = {.name = "topograph model", .hosts = true};
    if (status == NEST_OK) {
        status = nest_tree_levels(&tree, job, tier, &found);
    }
    if (status != NEST_OK) {
        return status;
    }
    nest_job_note(job,
                  "accelerator domains that equal a leaf add no level; where hosts of a leaf share "
                  "NVLink, give the leaf its bandwidth");
    return nest_found_cluster_write(job, &found);
}
