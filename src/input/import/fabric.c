#include "input/import/fabric.h"

#include <string.h>

bool nest_fabric_init(struct nest_fabric *fabric, struct nest_arena *arena)
{
    *fabric = (struct nest_fabric){.arena = arena, .names = nest_names_new(arena)};
    return fabric->names != NULL;
}

/* An array of count items of size bytes with room for twice as many. */
static void *grow(struct nest_arena *arena, void *items, int count, int *room, size_t size)
{
    *room = *room > 0 ? *room * 2 : 64;
    void *grown = nest_arena_alloc(arena, (size_t)*room, size);
    if (grown && count > 0) {
        memcpy(grown, items, (size_t)count * size);
    }
    return grown;
}

int nest_fabric_node(struct nest_fabric *fabric, const char *name, int line)
{
    const int64_t known = nest_names_get(fabric->names, name);
    if (known >= 0) {
        return (int)known;
    }
    if (fabric->nodes == NEST_FABRIC_NODES) {
        return -1;
    }
    if (fabric->nodes == fabric->node_room) {
        struct nest_fabric_node *grown = grow(fabric->arena, fabric->node, fabric->nodes,
                                              &fabric->node_room, sizeof *fabric->node);
        if (!grown) {
            return -1;
        }
        fabric->node = grown;
    }
    const char *copy = nest_arena_strdup(fabric->arena, name);
    if (!copy || !nest_names_put(fabric->names, name, fabric->nodes)) {
        return -1;
    }
    fabric->node[fabric->nodes] = (struct nest_fabric_node){.name = copy, .line = line};
    return fabric->nodes++;
}

bool nest_fabric_cable(struct nest_fabric *fabric, int a, int b, double rate)
{
    if (fabric->links == NEST_FABRIC_LINKS) {
        return false;
    }
    if (fabric->links == fabric->link_room) {
        struct nest_fabric_link *grown = grow(fabric->arena, fabric->link, fabric->links,
                                              &fabric->link_room, sizeof *fabric->link);
        if (!grown) {
            return false;
        }
        fabric->link = grown;
    }
    fabric->link[fabric->links++] = (struct nest_fabric_link){a, b, rate};
    return true;
}

/* Hops from the nearest host, by rounds over the cables; fabrics have a handful of tiers. */
static void find_tiers(struct nest_fabric *fabric)
{
    bool changed = true;
    for (int tier = 1; changed; tier++) {
        changed = false;
        for (int i = 0; i < fabric->links; i++) {
            struct nest_fabric_node *a = &fabric->node[fabric->link[i].a];
            struct nest_fabric_node *b = &fabric->node[fabric->link[i].b];
            for (int side = 0; side < 2; side++) {
                const bool below = tier == 1 ? a->host : !a->host && a->tier == tier - 1;
                if (below && !b->host && b->tier == 0) {
                    b->tier = tier;
                    changed = true;
                }
                struct nest_fabric_node *swap = a;
                a = b;
                b = swap;
            }
        }
    }
}

struct leftover {
    int between_hosts, sideways, unknown;
};

static bool place_link(struct nest_fabric *fabric, struct nest_tree *tree,
                       const struct nest_fabric_link *link, struct leftover *left)
{
    struct nest_fabric_node *low = &fabric->node[link->a];
    struct nest_fabric_node *high = &fabric->node[link->b];
    if (high->host || (!low->host && high->tier < low->tier)) {
        struct nest_fabric_node *swap = low;
        low = high;
        high = swap;
    }
    if (high->host) {
        left->between_hosts++;
        return true;
    }
    if (!low->host && low->tier == high->tier) {
        left->sideways += low->tier > 0;
        return true;
    }
    left->unknown += link->rate <= 0;
    const int upper = nest_tree_group(tree, high->name, high->line);
    if (upper < 0) {
        return false;
    }
    if (low->host) {
        low->bandwidth += link->rate;
        low->port = link->rate > low->port ? link->rate : low->port;
        low->ports++;
        return nest_tree_host(tree, upper, low->name);
    }
    const int lower = nest_tree_group(tree, low->name, low->line);
    if (lower < 0 || !nest_tree_child(tree, upper, lower)) {
        return false;
    }
    tree->group[lower].uplink += link->rate;
    return true;
}

/* The host's network in all: the least of the connected hosts, so that no plan is paced by more. */
static void measure_hosts(const struct nest_fabric *fabric, struct nest_job *job,
                          struct nest_found_cluster *found)
{
    double most = 0;
    int loose = 0;
    for (int i = 0; i < fabric->nodes; i++) {
        const struct nest_fabric_node *node = &fabric->node[i];
        if (!node->host) {
            continue;
        }
        loose += node->ports == 0;
        if (node->ports == 0) {
            continue;
        }
        if (found->host_bandwidth <= 0 || node->bandwidth < found->host_bandwidth) {
            found->host_bandwidth = node->bandwidth;
            found->port_bandwidth = node->port;
        }
        most = node->bandwidth > most ? node->bandwidth : most;
    }
    if (fabric->host_bandwidth > 0) {
        found->host_bandwidth = fabric->host_bandwidth;
    } else if (most > found->host_bandwidth * 1.001) {
        nest_job_note(job, "hosts have between %.6g and %.6g GB/s; the least was taken",
                      found->host_bandwidth / 1e9, most / 1e9);
    }
    if (loose > 0) {
        nest_job_note(job, "%d hosts hang on no switch and were left out", loose);
    }
}

enum nest_status nest_fabric_levels(struct nest_fabric *fabric, struct nest_job *job,
                                    struct nest_found_cluster *found)
{
    static const char *const tier[] = {"leaf", "spine", "core", "supercore", NULL};
    struct nest_tree tree;
    struct leftover left = {0};
    if (!nest_tree_init(&tree, job->arena)) {
        return nest_job_no_memory(job);
    }
    find_tiers(fabric);
    for (int i = 0; i < fabric->links; i++) {
        if (!place_link(fabric, &tree, &fabric->link[i], &left)) {
            return nest_job_no_memory(job);
        }
    }
    if (left.between_hosts > 0) {
        nest_job_note(job, "%d cables between two hosts were left out", left.between_hosts);
    }
    if (left.sideways > 0) {
        nest_job_note(
            job,
            "%d cables between switches of one tier were left out: they make no tree, and "
            "the plan may be better than the levels say",
            left.sideways);
    }
    if (left.unknown == 0) {
        measure_hosts(fabric, job, found);
    }
    const enum nest_status status = nest_tree_join(&tree, job);
    return status == NEST_OK ? nest_tree_levels(&tree, job, tier, found) : status;
}
