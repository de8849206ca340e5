#include "solve/frontier.h"

#include <stdlib.h>

/* Which one a node competes as: less than its bound, the more the deeper it is. */
static nest_ps key_of(const struct nest_frontier *frontier, const struct nest_node *node)
{
    const nest_ps step = frontier->aimed ? frontier->discount : node->bound / NEST_FRONTIER_SEEKING;
    return node->bound - step * node->level;
}

static bool before(const struct nest_frontier *frontier, const struct nest_node *a,
                   const struct nest_node *b)
{
    if (frontier->diving && a->level != b->level) {
        return a->level > b->level;
    }
    const nest_ps x = key_of(frontier, a);
    const nest_ps y = key_of(frontier, b);
    if (x != y) {
        return x < y;
    }
    return a->level != b->level ? a->level > b->level : a->number < b->number;
}

static void sift_down(struct nest_frontier *f, size_t at, struct nest_node node)
{
    for (size_t child = 2 * at + 1; child < f->count; child = 2 * at + 1) {
        child += child + 1 < f->count && before(f, &f->heap[child + 1], &f->heap[child]);
        if (!before(f, &f->heap[child], &node)) {
            break;
        }
        f->heap[at] = f->heap[child];
        at = child;
    }
    f->heap[at] = node;
}

bool nest_frontier_push(struct nest_frontier *f, const struct nest_node *node)
{
    if (f->count == f->capacity) {
        const size_t capacity = f->capacity ? 2 * f->capacity : 1024;
        struct nest_node *grown = realloc(f->heap, capacity * sizeof *grown);
        if (!grown) {
            return false;
        }
        f->heap = grown;
        f->capacity = capacity;
    }
    struct nest_node born = *node;
    born.number = f->born++;
    size_t at = f->count++;
    while (at > 0 && before(f, &born, &f->heap[(at - 1) / 2])) {
        f->heap[at] = f->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    f->heap[at] = born;
    return true;
}

struct nest_node nest_frontier_pop(struct nest_frontier *f)
{
    const struct nest_node top = f->heap[0];
    const struct nest_node last = f->heap[--f->count];
    if (f->count > 0) {
        sift_down(f, 0, last);
    }
    return top;
}

static void sort_again(struct nest_frontier *f)
{
    for (size_t i = f->count / 2; i-- > 0;) {
        const struct nest_node node = f->heap[i];
        sift_down(f, i, node);
    }
}

void nest_frontier_surface(struct nest_frontier *f)
{
    if (f->diving) {
        f->diving = false;
        sort_again(f);
    }
}

void nest_frontier_aim(struct nest_frontier *f, nest_ps limit)
{
    nest_ps least = limit;
    for (size_t i = 0; i < f->count; i++) {
        least = f->heap[i].bound < least ? f->heap[i].bound : least;
    }
    f->diving = false;
    f->aimed = true;
    f->discount = (limit - least) / NEST_FRONTIER_AIMING;
    sort_again(f);
}
