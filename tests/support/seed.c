#include "support/seed.h"

#include <stdlib.h>

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
