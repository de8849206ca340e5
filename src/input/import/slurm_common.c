#include "input/import/slurm.h"

#include <string.h>

enum { RING_MAX = 16 }; /* hosts, by topology.yaml(5) */

struct visit {
    struct nest_slurm *slurm;
    int group, line;
};

static bool visit_host(void *context, const char *name)
{
    const struct visit *visit = context;
    return nest_tree_host(&visit->slurm->tree, visit->group, name);
}

static bool visit_child(void *context, const char *name)
{
    const struct visit *visit = context;
    const int child = nest_tree_group(&visit->slurm->tree, name, visit->line);
    return child >= 0 && nest_tree_child(&visit->slurm->tree, visit->group, child);
}

enum nest_status nest_slurm_hosts(struct nest_slurm *slurm, int group, struct nest_piece list,
                                  int line)
{
    struct visit visit = {slurm, group, line};
    return nest_hostlist_expand(slurm->job, list, line, NEST_TREE_HOSTS - slurm->tree.hosts,
                                visit_host, &visit);
}

enum nest_status nest_slurm_children(struct nest_slurm *slurm, int group, struct nest_piece list,
                                     int line)
{
    struct visit visit = {slurm, group, line};
    return nest_hostlist_expand(slurm->job, list, line, NEST_TREE_GROUPS / 2, visit_child, &visit);
}

enum nest_status nest_slurm_define(struct nest_slurm *slurm, const char *what, const char *name,
                                   int line, int column, int *group)
{
    const int g = nest_tree_group(&slurm->tree, name, line);
    if (g < 0) {
        return nest_job_no_memory(slurm->job);
    }
    if (slurm->tree.group[g].given) {
        return nest_job_fault(slurm->job, line, column, NULL, "%s '%s' is defined twice", what,
                              name);
    }
    slurm->tree.group[g].given = true;
    slurm->tree.group[g].line = line;
    *group = g;
    return NEST_OK;
}

enum nest_status nest_slurm_check_sizes(struct nest_slurm *slurm, const int *column)
{
    for (int i = 0; i < slurm->sizes; i++) {
        const int64_t ratio = slurm->size[i] / slurm->size[0];
        if (slurm->size[i] % slurm->size[0] != 0 || (ratio & (ratio - 1)) != 0) {
            return nest_job_fault(slurm->job, slurm->sizes_line, column[i],
                                  "each size is a power of two times the first",
                                  "block size %lld does not fit the base size %lld",
                                  (long long)slurm->size[i], (long long)slurm->size[0]);
        }
        if (i > 0 && slurm->size[i] <= slurm->size[i - 1]) {
            return nest_job_fault(slurm->job, slurm->sizes_line, column[i], "the smallest first",
                                  "block size %lld after %lld", (long long)slurm->size[i],
                                  (long long)slurm->size[i - 1]);
        }
    }
    return NEST_OK;
}

/* Joins the blocks of the row pairwise by the next planning size, the last group perhaps smaller.
 */
static enum nest_status join_blocks(struct nest_slurm *slurm, int *row, int *count, int64_t ratio,
                                    int64_t size)
{
    int joined = 0;
    for (int i = 0; i < *count; i += (int)ratio) {
        const char *name =
            nest_arena_printf(slurm->job->arena, "%lld hosts:%d", (long long)size, joined);
        const int group = name ? nest_tree_group(&slurm->tree, name, 0) : -1;
        if (group < 0) {
            return nest_job_no_memory(slurm->job);
        }
        for (int j = i; j < *count && j < i + ratio; j++) {
            if (!nest_tree_child(&slurm->tree, group, row[j])) {
                return nest_job_no_memory(slurm->job);
            }
        }
        row[joined++] = group;
    }
    *count = joined;
    return NEST_OK;
}

/* Blocks: planning sizes become groups of groups, and what is left one group of all. */
static enum nest_status build_blocks(struct nest_slurm *slurm, const char **tier)
{
    struct nest_job *job = slurm->job;
    int count = slurm->tree.groups;
    int *row = NEST_NEW(job->arena, int, count ? count : 1);
    if (!row) {
        return nest_job_no_memory(job);
    }
    int64_t largest = 0;
    for (int g = 0; g < count; g++) {
        row[g] = g;
        const int64_t hosts = slurm->tree.group[g].hosts;
        largest = hosts > largest ? hosts : largest;
    }
    const int64_t base = slurm->sizes > 0 ? slurm->size[0] : 0;
    if (base > largest) {
        return nest_job_fault(job, slurm->sizes_line, 1,
                              "the first of BlockSizes is at most the hosts of one block",
                              "base block size %lld exceeds the largest block of %lld hosts",
                              (long long)base, (long long)largest);
    }
    if (base > 0 && base < largest) {
        nest_job_note(job,
                      "planning uses %lld of the %lld hosts of a block; the levels list them all",
                      (long long)base, (long long)largest);
    }
    *tier++ = "block";
    for (int i = 1; i < slurm->sizes && count > 1; i++) {
        const enum nest_status status =
            join_blocks(slurm, row, &count, slurm->size[i] / slurm->size[i - 1], slurm->size[i]);
        if (status != NEST_OK) {
            return status;
        }
        *tier++ = nest_arena_printf(job->arena, "group_of_%lld", (long long)slurm->size[i]);
    }
    if (count > 1) {
        *tier = "all_blocks";
        return join_blocks(slurm, row, &count, count, slurm->tree.hosts);
    }
    return NEST_OK;
}

/* A group that is a child but was never defined, or defined without anything. */
static enum nest_status check_complete(struct nest_slurm *slurm)
{
    const struct nest_tree *tree = &slurm->tree;
    enum nest_status status = NEST_OK;
    for (int g = 0; g < tree->groups; g++) {
        if (!tree->group[g].given) {
            status = nest_job_fault(
                slurm->job, tree->group[g].line, 1, "add a line for it, with its Nodes or Switches",
                "switch '%s' is a child here but is defined nowhere", tree->group[g].name);
        }
    }
    return status;
}

/* Leaves that share hosts are rails or planes of one group, and then list the same hosts. */
static enum nest_status check_shared(struct nest_slurm *slurm)
{
    const struct nest_tree *tree = &slurm->tree;
    int64_t *total = NEST_NEW(slurm->job->arena, int64_t, tree->groups + 1);
    if (!total) {
        return nest_job_no_memory(slurm->job);
    }
    for (int g = 0; g < tree->groups; g++) {
        total[nest_tree_whole(tree, g)] += tree->group[g].hosts;
    }
    for (int g = 0; g < tree->groups; g++) {
        const int w = nest_tree_whole(tree, g);
        const struct nest_tree_group *first = &tree->group[w];
        if (w != g && (tree->group[g].listed != total[w] || first->listed != total[w])) {
            return nest_job_fault(slurm->job, tree->group[g].line, 1,
                                  "a host is under one leaf, or under all parallel ones",
                                  "switches '%s' and '%s' share some hosts but not all",
                                  first->name, tree->group[g].name);
        }
    }
    return NEST_OK;
}

enum nest_status nest_slurm_write(struct nest_slurm *slurm)
{
    static const char *const tree_tiers[] = {"leaf", "spine", "core", "supercore", NULL};
    const char *block_tiers[NEST_SLURM_SIZES + 2] = {NULL};
    struct nest_job *job = slurm->job;
    enum nest_status status =
        slurm->blocks ? build_blocks(slurm, block_tiers) : check_complete(slurm);
    if (status == NEST_OK && !slurm->blocks) {
        status = check_shared(slurm);
    }
    if (status == NEST_OK) {
        status = nest_tree_join(&slurm->tree, job);
    }
    struct nest_found_cluster found = {.name = slurm->blocks ? "Slurm blocks" : "Slurm tree",
                                       .hosts = true};
    if (status == NEST_OK) {
        status =
            nest_tree_levels(&slurm->tree, job, slurm->blocks ? block_tiers : tree_tiers, &found);
    }
    if (status != NEST_OK) {
        return status;
    }
    nest_job_note(job, "Slurm's file gives no speeds, latencies or oversubscription");
    return nest_found_cluster_write(job, &found);
}

enum nest_status nest_slurm_write_torus(struct nest_job *job, const char *name, int64_t hosts,
                                        const char *shape)
{
    if (!shape && hosts > RING_MAX) {
        return nest_job_fault(job, 0, 0, nest_arena_printf(job->arena, "at most %d", (int)RING_MAX),
                              "ring '%s' has %lld hosts", name, (long long)hosts);
    }
    struct nest_found_cluster found = {.name = name, .hosts = true};
    struct nest_found_level *level = nest_found_level_add(&found, shape ? "torus" : "ring", hosts);
    level->kind = shape ? NEST_LEVEL_TORUS : NEST_LEVEL_RING;
    level->shape = shape;
    level->wrap = true;
    nest_job_note(job, "Slurm's file gives no speeds or latencies");
    if (shape) {
        nest_job_note(job, "the bandwidth of a torus is that of one link");
    }
    return nest_found_cluster_write(job, &found);
}
