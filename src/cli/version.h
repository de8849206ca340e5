/* What this binary is. */
#ifndef NEST_CLI_VERSION_H
#define NEST_CLI_VERSION_H

/* "nest 0.1 (1a32c17)". */
const char *nest_version(void);

#endif
