/* Hosts with labels from coarse to fine → a tree of groups. Private to this folder. */
#ifndef NEST_INPUT_IMPORT_LABELS_H
#define NEST_INPUT_IMPORT_LABELS_H

#include "input/import/tree.h"

/* Puts a host at the end of a path of label values, coarsest first; a value is unique only together
 * with those before it. devices > 0: the host becomes a group of so many devices, else it is itself
 * the leaf. False when memory is out. */
bool nest_labels_place(struct nest_tree *tree, const char *const *value, int count,
                       const char *host, int64_t devices);

#endif
