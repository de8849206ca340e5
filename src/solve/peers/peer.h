/* Peers: the planners that the paper compares with, judged by this one cost model.
 *
 * A peer only proposes a plan; nest_plan_evaluate on the real problem says what it costs and
 * whether it fits. Each is a small file beside the solver, and none is handicapped beyond what its
 * paper states. */
#ifndef NEST_SOLVE_PEERS_PEER_H
#define NEST_SOLVE_PEERS_PEER_H

#include "solve/solve.h"

struct nest_peer {
    const char *name;
    const char *what; /* one sentence: how it plans */
    /* Proposes a plan in arena. NEST_NO: it finds none, and errors say why. Otherwise as
     * nest_solve. cancel may be NULL. */
    enum nest_status (*propose)(const struct nest_problem *problem, const atomic_bool *cancel,
                                struct nest_arena *arena, struct nest_plan *out,
                                struct nest_errors *errors);
};

/* All peers, in the order of their publication; ends with a NULL name. */
extern const struct nest_peer nest_peers[];

/* The expert's recipe for Megatron-LM: the smallest model-parallel size that fits, tensor
 * parallelism inside the node first, then the pipeline; data parallelism takes the rest with the
 * distributed optimizer; recomputation only where memory forces it (Narayanan et al. 2021,
 * takeaways 1 and 2; Korthikanti et al. 2022). */
enum nest_status nest_peer_manual(const struct nest_problem *problem, const atomic_bool *cancel,
                                  struct nest_arena *arena, struct nest_plan *out,
                                  struct nest_errors *errors);

/* Phaze (Wang et al. 2024): a dynamic program over tensor, pipeline and data parallelism on a flat
 * network; memory is looked at afterwards, best plans first. */
enum nest_status nest_peer_phaze(const struct nest_problem *problem, const atomic_bool *cancel,
                                 struct nest_arena *arena, struct nest_plan *out,
                                 struct nest_errors *errors);

#endif
