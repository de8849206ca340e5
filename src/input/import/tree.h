/* A fabric as a tree of groups with hosts (or devices) at its leaves → levels.
 *
 * Groups may be given in any order and may have several parents, as files list every core switch of
 * a fabric: parents of one group are parallel and count as one. Private to this folder. */
#ifndef NEST_INPUT_IMPORT_TREE_H
#define NEST_INPUT_IMPORT_TREE_H

#include "input/import/cluster_text.h"

enum { NEST_TREE_GROUPS = 1 << 17, NEST_TREE_HOSTS = 1 << 20 };

struct nest_tree_link; /* a parent's child, in the order it was added */

struct nest_tree_group {
    const char *name;
    int line;   /* where it was first named, 0 = nowhere */
    bool given; /* defined, not only mentioned as a child */
    int64_t hosts;
    int64_t listed; /* hosts that were put here, those of joined groups as well */
    struct nest_tree_link *first, *last;
    double uplink; /* bytes/s to all its parents together; 0 = not known */
    int merged;    /* the group it was merged into, or itself */
    int parent;    /* -1 = root; valid after nest_tree_join */
    int height;    /* 0 = holds hosts; valid after nest_tree_join */
};

struct nest_tree {
    struct nest_arena *arena;
    int groups, room;
    struct nest_tree_group *group;
    struct nest_names *names;      /* group names */
    struct nest_names *host_names; /* host → the group that holds it */
    int64_t hosts;
};

/* Starts an empty tree; false when memory is out. */
bool nest_tree_init(struct nest_tree *tree, struct nest_arena *arena);

/* The group of this name, made if new; -1 when there are too many or memory is out. */
int nest_tree_group(struct nest_tree *tree, const char *name, int line);

/* The group of this name, or -1. */
int nest_tree_find(const struct nest_tree *tree, const char *name);

/* The group that g was merged into so far; g itself if none. */
int nest_tree_whole(const struct nest_tree *tree, int g);

/* Puts a host under a group. A host under two groups joins them (rails, planes). */
bool nest_tree_host(struct nest_tree *tree, int group, const char *host);

/* Makes child one of parent's children. */
bool nest_tree_child(struct nest_tree *tree, int parent, int child);

/* Joins parallel groups and finds parents and heights. A group that is its own ancestor is a fault
 * at its line. */
enum nest_status nest_tree_join(struct nest_tree *tree, struct nest_job *job);

/* Levels of the fabric under the options' root, or of the only one. Several fabrics and no choice
 * are a fault that lists them. Groups of one child add no level; trees of unequal depth are padded
 * and said to be. tier names the levels, innermost first, "tier N" beyond its NULL. */
enum nest_status nest_tree_levels(struct nest_tree *tree, struct nest_job *job,
                                  const char *const *tier, struct nest_found_cluster *found);

/* ---- Names → numbers ---------------------------------------------------------------------- */

struct nest_names *nest_names_new(struct nest_arena *arena);
/* The number of a name, or -1. */
int64_t nest_names_get(const struct nest_names *names, const char *name);
/* Gives a new name a number; false when memory is out. */
bool nest_names_put(struct nest_names *names, const char *name, int64_t value);

#endif
