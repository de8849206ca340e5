/* "did you mean": the known word nearest to a mistyped one. */
#ifndef NEST_BASE_SUGGEST_H
#define NEST_BASE_SUGGEST_H

#include <stddef.h>

/* Letters to insert, delete, replace or swap with a neighbour to turn a into b; words longer than
 * 63 bytes count as unlike anything (returns 64). Upper and lower case are alike. */
size_t nest_edit_distance(const char *a, const char *b);

/* A running search: offer every known word, then read best (NULL when none is near enough: about
 * a third of the letters may differ, or it begins with or holds what was typed). Ties go to the
 * word offered first. */
struct nest_suggest {
    const char *typed;
    const char *best; /* borrowed from the words offered */
    size_t distance;
};

void nest_suggest_start(struct nest_suggest *suggest, const char *typed);
void nest_suggest_offer(struct nest_suggest *suggest, const char *known);

#endif
