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

/* An entry of a list has its name inside, one of a mapping in front. */
static const char *name_of(const struct nest_node *item)
{
    const struct nest_node *name = nest_node_get(item, "name");
    return item->key ? item->key : name && name->kind == NEST_NODE_SCALAR ? name->text : "";
}

/* Switches or capacity blocks below a switch. */
static enum nest_status read_children(struct nest_job *job, const struct nest_node *item,
                                      const char *key, int parent, struct nest_tree *tree)
{
    const struct nest_node *below = nest_node_get(item, key);
    if (below && below->kind != NEST_NODE_SEQUENCE) {
        return nest_job_fault_at(job, below, "a list of names", "%s of '%s' are no list", key,
                                 name_of(item));
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
    return NEST_OK;
}

static enum nest_status read_switches(struct nest_job *job, const struct nest_node *switches,
                                      struct nest_tree *tree)
{
    for (const struct nest_node *item = switches->first; item; item = item->next) {
        if (!*name_of(item)) {
            return nest_job_fault_at(job, item, "name: NAME", "a switch without a name");
        }
        const int parent = nest_tree_group(tree, name_of(item), item->key_mark.line);
        if (parent < 0) {
            return nest_job_no_memory(job);
        }
        enum nest_status status = read_children(job, item, "switches", parent, tree);
        if (status == NEST_OK) {
            status = read_children(job, item, "capacity_blocks", parent, tree);
        }
        if (status != NEST_OK) {
            return status;
        }
    }
    return NEST_OK;
}

/* The group of a block: its switch, else its own name; a block with neither hangs on nothing. */
static const char *group_of(struct nest_job *job, const struct nest_node *item)
{
    const struct nest_node *name = nest_node_get(item, "switch");
    if (name && name->kind == NEST_NODE_SCALAR && *name->text) {
        return name->text;
    }
    return *name_of(item) ? name_of(item)
                          : nest_arena_printf(job->arena, "block %d", item->index + 1);
}

static enum nest_status read_block(struct nest_job *job, const struct nest_node *item,
                                   struct nest_tree *tree)
{
    const struct nest_node *nodes = nest_node_get(item, "nodes");
    const char *name = group_of(job, item);
    if (!nodes || nodes->kind != NEST_NODE_SEQUENCE) {
        return nest_job_fault_at(job, nodes ? nodes : item, "a list such as [\"node[01-18]\"]",
                                 "a block without nodes");
    }
    struct target target = {tree, name ? nest_tree_group(tree, name, item->mark.line) : -1};
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
    blocks = blocks ? blocks : nest_node_get(root, "capacity_blocks");
    if (!blocks || blocks->kind == NEST_NODE_SCALAR || blocks->count == 0 ||
        (switches && switches->kind == NEST_NODE_SCALAR)) {
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
