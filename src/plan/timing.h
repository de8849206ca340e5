/* Predicts measured collectives. */
#ifndef NEST_PLAN_TIMING_H
#define NEST_PLAN_TIMING_H

#include "input/timing.h"

/* Seconds that our model gives the timing on its device: the ranks of one scale-up domain at the
 * device's rate, the domains at the network's. Negative when memory of arena is out. */
double nest_timing_predict(const struct nest_timing *timing, const struct nest_device_spec *device,
                           struct nest_arena *arena);

#endif
