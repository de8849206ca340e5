/* Rooms that were measured before: strategies that differ in virtual stages alone share one, and
 * with an open order those that differ in stages, too. */
#ifndef NEST_SOLVE_ROOMS_H
#define NEST_SOLVE_ROOMS_H

#include "solve/room.h"

struct nest_rooms;

/* For a space of so many families. NULL when memory is out. */
struct nest_rooms *nest_rooms_create(int families);
void nest_rooms_free(struct nest_rooms *rooms);

/* The room of a strategy of the space's family of that index, with the parts measured (enum
 * nest_measure); bound is the family's. Valid until the next call. */
const struct nest_room *nest_rooms_get(struct nest_rooms *rooms, const struct nest_bounds *bounds,
                                       int family, const struct nest_bound *bound,
                                       const struct nest_strategy *strategy,
                                       enum nest_knowledge knowledge, int pp, unsigned parts);

#endif
