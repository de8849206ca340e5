#include "input/import/gpu_box.h"

#include <string.h>

#include "input/import/tree.h"

bool nest_gpu_box_init(struct nest_gpu_box *box, int gpus, struct nest_arena *arena)
{
    const int pairs = gpus * gpus;
    *box = (struct nest_gpu_box){.gpus = gpus,
                                 .pair = NEST_NEW(arena, double, pairs),
                                 .switched = NEST_NEW(arena, double, gpus),
                                 .far = NEST_NEW(arena, unsigned char, pairs)};
    if (!box->pair || !box->switched || !box->far) {
        return false;
    }
    memset(box->far, NEST_BOX_SYSTEM, (size_t)pairs);
    return true;
}

static bool linked(const struct nest_gpu_box *box, int a, int b)
{
    return box->pair[a * box->gpus + b] > 0 || box->pair[b * box->gpus + a] > 0 ||
           (box->switched[a] > 0 && box->switched[b] > 0);
}

/* Joins every part that holds devices at most so far apart; part[i] is the least member. NVLink
 * counts as distance 0. */
static void join(const struct nest_gpu_box *box, int distance, int *part)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (int a = 0; a < box->gpus; a++) {
            for (int b = 0; b < box->gpus; b++) {
                const bool near =
                    distance == 0 ? linked(box, a, b) : box->far[a * box->gpus + b] <= distance;
                if (a == b || !near || part[a] == part[b]) {
                    continue;
                }
                const int keep = part[a] < part[b] ? part[a] : part[b];
                const int drop = part[a] < part[b] ? part[b] : part[a];
                for (int i = 0; i < box->gpus; i++) {
                    part[i] = part[i] == drop ? keep : part[i];
                }
                changed = true;
            }
        }
    }
}

/* ---- The level of direct links ------------------------------------------------------------- */

struct links {
    bool complete;      /* every pair of a part is linked */
    bool switches;      /* over switches */
    int largest;        /* members of the largest part */
    double least, most; /* direct rate of a pair, where there is one */
    double device;      /* least rate of a device over all its links */
    double fastest;     /* most */
};

static struct links measure(const struct nest_gpu_box *box, const int *part)
{
    struct links found = {.complete = true};
    for (int a = 0; a < box->gpus; a++) {
        double own = box->switched[a];
        int members = 0;
        for (int b = 0; b < box->gpus; b++) {
            members += part[a] == part[b];
            const double rate = box->pair[a * box->gpus + b];
            if (a == b || part[a] != part[b]) {
                continue;
            }
            own += rate;
            found.complete = found.complete && linked(box, a, b);
            if (rate > 0) {
                found.least = found.least > 0 && found.least < rate ? found.least : rate;
                found.most = found.most > rate ? found.most : rate;
            }
        }
        found.switches = found.switches || box->switched[a] > 0;
        found.largest = members > found.largest ? members : found.largest;
        if (members > 1) {
            found.device = found.device > 0 && found.device < own ? found.device : own;
            found.fastest = found.fastest > own ? found.fastest : own;
        }
    }
    return found;
}

static void describe_links(const struct nest_gpu_box *box, const int *part, struct nest_job *job,
                           struct nest_found_level *level)
{
    const struct links links = measure(box, part);
    level->bandwidth = links.device;
    level->oversubscription = 1;
    if (links.switches || links.largest <= 2) {
        level->kind = NEST_LEVEL_SWITCH;
    } else if (links.complete && links.least >= links.most) {
        level->kind = NEST_LEVEL_FULLY_CONNECTED;
    } else {
        level->kind = NEST_LEVEL_MESH;
        nest_job_note(
            job,
            "a mesh of direct links: linked pairs have %.4g to %.4g GB/s, %s; a device has "
            "%.4g GB/s in all",
            links.least / 1e9, links.most / 1e9,
            links.complete ? "every pair is linked" : "some pairs have none", links.device / 1e9);
    }
    if (links.fastest > links.device * 1.001) {
        nest_job_note(job, "devices have between %.4g and %.4g GB/s; the least was taken",
                      links.device / 1e9, links.fastest / 1e9);
    }
}

/* ---- The tree ------------------------------------------------------------------------------- */

static const char *const distance_name[NEST_BOX_DISTANCES] = {
    "nvlink", "pcie_switch", "pcie_switches", "host_bridge", "socket", "box"};

/* Puts the groups of one partition above those of the last one. */
static bool add_groups(struct nest_tree *tree, const struct nest_gpu_box *box, int step,
                       const int *part, const int *below)
{
    for (int i = 0; i < box->gpus; i++) {
        const char *name = nest_arena_printf(tree->arena, "%d:%d", step, part[i]);
        const int group = name ? nest_tree_group(tree, name, 0) : -1;
        if (group < 0) {
            return false;
        }
        if (!below) {
            const char *gpu = nest_arena_printf(tree->arena, "gpu%d", i);
            if (!gpu || !nest_tree_host(tree, group, gpu)) {
                return false;
            }
        } else if (below[i] == i) {
            const char *child = nest_arena_printf(tree->arena, "%d:%d", step - 1, i);
            if (!child || !nest_tree_child(tree, group, nest_tree_find(tree, child))) {
                return false;
            }
        }
    }
    return true;
}

static bool consecutive(const struct nest_gpu_box *box, const int *part)
{
    for (int i = 1; i < box->gpus; i++) {
        if (part[i] != part[i - 1] && part[i] != i) {
            return false;
        }
    }
    return true;
}

static void name_pcie(const struct nest_gpu_box *box, struct nest_found_level *level, int depth)
{
    level->bandwidth = box->pcie > 0 ? box->pcie : 31.5e9;
    level->kind = NEST_LEVEL_SWITCH;
    level->latency = depth == 0 ? 1e-6 : 2e-6;
    level->note = box->pcie > 0 ? "PCIe; latency, no oversubscription assumed"
                                : "PCIe 4 x16 assumed, the file has no speed; latency, no "
                                  "oversubscription assumed";
    level->oversubscription = 1;
}

enum nest_status nest_gpu_box_levels(const struct nest_gpu_box *box, struct nest_job *job,
                                     struct nest_found_cluster *found)
{
    struct nest_tree tree;
    const size_t bytes = sizeof(int) * (size_t)box->gpus;
    int *part = NEST_NEW(job->arena, int, box->gpus);
    int *last = NEST_NEW(job->arena, int, box->gpus);
    const char *tier[NEST_BOX_DISTANCES + 1] = {NULL};
    int steps = 0;
    bool in_order = true, nvlink = false;
    if (!part || !last || !nest_tree_init(&tree, job->arena)) {
        return nest_job_no_memory(job);
    }
    for (int i = 0; i < box->gpus; i++) {
        part[i] = last[i] = i;
    }
    for (int distance = 0; distance < NEST_BOX_DISTANCES; distance++) {
        join(box, distance, part);
        const bool end = distance == NEST_BOX_DISTANCES - 1;
        if (memcmp(part, last, bytes) == 0 && !(end && steps == 0)) {
            continue;
        }
        if (!add_groups(&tree, box, steps, part, steps ? last : NULL)) {
            return nest_job_no_memory(job);
        }
        nvlink = nvlink || distance == 0;
        in_order = in_order && consecutive(box, part);
        tier[steps++] = distance_name[distance];
        memcpy(last, part, bytes);
    }
    enum nest_status status = nest_tree_join(&tree, job);
    if (status == NEST_OK) {
        status = nest_tree_levels(&tree, job, tier, found);
    }
    if (status != NEST_OK) {
        return status;
    }
    for (int i = 0; i < box->gpus; i++) {
        part[i] = i;
    }
    join(box, 0, part);
    for (int l = 0; l < found->levels; l++) {
        if (nvlink && l == 0) {
            describe_links(box, part, job, &found->level[0]);
        } else {
            name_pcie(box, &found->level[l], l);
        }
    }
    if (!in_order) {
        nest_job_note(job,
                      "near devices do not have consecutive numbers: renumber them group by group");
    }
    return NEST_OK;
}
