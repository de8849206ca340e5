/* Whether programs wait for something that nobody will bring them. */
#ifndef TESTS_SUPPORT_IDLE_H
#define TESTS_SUPPORT_IDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether every thread of every process of the session sleeps or is stopped, and how often all of
 * them have been scheduled by now: where that stays the same, none of them has run in between.
 * False where the system does not tell. */
bool test_is_asleep(pid_t session, uint64_t *scheduled);

#endif
