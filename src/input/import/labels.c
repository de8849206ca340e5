#include "input/import/labels.h"

#include <string.h>

/* The group of this path, made below parent if new; parent < 0 makes a root. */
static int group_below(struct nest_tree *tree, int parent, const char *path)
{
    const int known = nest_tree_find(tree, path);
    if (known >= 0) {
        return known;
    }
    const int group = nest_tree_group(tree, path, 0);
    if (group >= 0 && parent >= 0 && !nest_tree_child(tree, parent, group)) {
        return -1;
    }
    return group;
}

bool nest_labels_place(struct nest_tree *tree, const char *const *value, int count,
                       const char *host, int64_t devices)
{
    const char *path = "all";
    int group = group_below(tree, -1, path);
    for (int i = 0; i < count && group >= 0; i++) {
        path = nest_arena_printf(tree->arena, "%s/%s", path, value[i]);
        group = path ? group_below(tree, group, path) : -1;
    }
    if (group < 0) {
        return false;
    }
    if (devices <= 0) {
        return nest_tree_host(tree, group, host);
    }
    const char *name = nest_arena_printf(tree->arena, "%s/:%s", path, host);
    const int own = name ? group_below(tree, group, name) : -1;
    if (own < 0) {
        return false;
    }
    tree->group[own].hosts = devices;
    return true;
}
