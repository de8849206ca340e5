/* Slurm host lists: "gpu[001-032,040],login1,r[1-2]n[1-4]". Private to this folder. */
#ifndef NEST_INPUT_IMPORT_HOSTLIST_H
#define NEST_INPUT_IMPORT_HOSTLIST_H

#include "input/import/job.h"

/* Called for every name in order; false stops the expansion with NEST_NO_MEMORY. */
typedef bool nest_hostlist_visit(void *context, const char *name);

/* Expands list, found at line. Leading zeros count, several brackets multiply, the last fastest. At
 * most limit names; a fault is located by its column in the list. Names live in job->arena. */
enum nest_status nest_hostlist_expand(struct nest_job *job, struct nest_piece list, int line,
                                      int64_t limit, nest_hostlist_visit *visit, void *context);

#endif
