#include "support/random.h"

#include <stdlib.h>

struct test_random test_random_seed(uint64_t seed)
{
    return (struct test_random){seed * UINT64_C(0x9E3779B97F4A7C15) + 1};
}

/* splitmix64 */
static uint64_t next(struct test_random *random)
{
    random->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int64_t test_random_below(struct test_random *random, int64_t bound)
{
    return (int64_t)(next(random) % (uint64_t)bound);
}

uint64_t test_seed(void)
{
    const char *text = getenv("NEST_TEST_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

int test_instances(int usual)
{
    const char *text = getenv("NEST_TEST_INSTANCES");
    return text ? (int)strtol(text, NULL, 10) : usual;
}
