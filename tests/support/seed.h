/* The seed and the size of property tests, changeable from outside. */
#ifndef NEST_TESTS_SUPPORT_SEED_H
#define NEST_TESTS_SUPPORT_SEED_H

#include <stdint.h>

/* NEST_TEST_SEED from the environment, else 1. */
uint64_t test_seed(void);

/* How many instances a property tries: usual, or NEST_TEST_INSTANCES from the environment. */
int test_instances(int usual);

#endif
