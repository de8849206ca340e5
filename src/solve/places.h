/* Placements that were asked for before. Where communicators lie depends on the cluster's tree and
 * on a strategy's degrees and order, not on its ZeRO stage, micro batch or chunks; so the
 * strategies of a search ask for the same ones again and again. */
#ifndef NEST_SOLVE_PLACES_H
#define NEST_SOLVE_PLACES_H

#include "cost/strategy.h"

struct nest_places;

/* For a space of so many families. Borrows cluster. NULL when memory is out. */
struct nest_places *nest_places_create(const struct nest_cluster *cluster, int families);
void nest_places_free(struct nest_places *places);

/* nest_placement_at of the cluster. The answer is valid until the next call; *mark gets a number
 * that is equal for equal placements. */
const struct nest_placement *nest_places_at(struct nest_places *places,
                                            const struct nest_strategy *strategy, int64_t x,
                                            uint64_t *mark);

#endif
