/* Tables of what other cost models predict for published runs: YAML lists of records with row_id,
 * the id of a run, peer, and the errors of step time and memory in percent. */
#ifndef NEST_INPUT_PEER_H
#define NEST_INPUT_PEER_H

#include "input/doc.h"
#include "input/spec.h"

enum nest_peer_quantity { NEST_PEER_STEP, NEST_PEER_MEMORY, NEST_PEER_QUANTITIES };

struct nest_peer_prediction {
    const char *run;  /* id of the measured run */
    const char *peer; /* the other model */
    bool stated[NEST_PEER_QUANTITIES];
    double error[NEST_PEER_QUANTITIES]; /* predicted / measured - 1 */
};

/* Reads one table into arena. Faults go to errors, located. NEST_NO, without a fault, for any other
 * list. */
enum nest_status nest_peers_read(const struct nest_node *root, struct nest_arena *arena,
                                 struct nest_peer_prediction **out, int *count,
                                 struct nest_errors *errors);

#endif
