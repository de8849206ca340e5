/* The families of a space, listed from the pins and the model (see enumerate.h). */
#ifndef NEST_SOLVE_FAMILIES_H
#define NEST_SOLVE_FAMILIES_H

#include "solve/enumerate.h"

/* Fills families, family and strategies; everything else of the space is set. The families live in
 * arena. False: memory is out. */
bool nest_families_make(struct nest_space *space, struct nest_arena *arena);

#endif
