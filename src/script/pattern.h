/* How long Lua's backtracking matcher may run, from the pattern's text. */
#ifndef NEST_SCRIPT_PATTERN_H
#define NEST_SCRIPT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* An upper bound of the matcher's elementary steps for a subject of `length` bytes: the number of
 * ways to place the ends of the pattern's repetitions, times the pattern's length. plain: a search
 * for the text itself. */
double nest_pattern_steps(const char *pattern, size_t pattern_length, size_t length, bool plain);

/* The most steps that one call may take: well below a second. */
#define NEST_PATTERN_STEPS_MAX 3e8

#endif
