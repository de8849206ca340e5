/* Seeded pseudo-random numbers for property tests: the same everywhere. */
#ifndef NEST_TESTS_SUPPORT_RANDOM_H
#define NEST_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

struct test_random {
    uint64_t state;
};

struct test_random test_random_seed(uint64_t seed);

/* Uniform in 0…bound-1. */
int64_t test_random_below(struct test_random *random, int64_t bound);

/* NEST_TEST_SEED from the environment, else 1. */
uint64_t test_seed(void);

/* How many instances a property tries: usual, or NEST_TEST_INSTANCES from the environment. */
int test_instances(int usual);

#endif
