#include "cli/version.h"

#ifndef NEST_COMMIT
#define NEST_COMMIT "unknown"
#endif

const char *nest_version(void)
{
    return "nest 0.1 (" NEST_COMMIT ")";
}
