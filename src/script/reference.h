/* The reference of the scripting API: every function, in words, with an example that the tests run.
 */
#ifndef NEST_SCRIPT_REFERENCE_H
#define NEST_SCRIPT_REFERENCE_H

#include "base/strbuf.h"

struct nest_reference {
    const char *name;      /* "nest.model", "s:solve", "node" */
    const char *signature; /* as it is called */
    const char *text;      /* what it does; sentences */
    const char *example;   /* a program that runs */
};

/* Ends with a NULL name. */
extern const struct nest_reference nest_references[];

/* The whole reference as text. */
void nest_reference_write(struct nest_strbuf *out);

#endif
