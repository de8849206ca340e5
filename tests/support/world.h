/* Small worlds for the cases: clusters and models written to private files, and eval on them. */
#ifndef TESTS_SUPPORT_WORLD_H
#define TESTS_SUPPORT_WORLD_H

#include "tests/support/command.h"

/* Paths of cluster files: n H100 80 GiB (A100 80 GB), 8 per node, 400 (200) Gb/s per device. */
const char *h100(int devices);
const char *a100(int devices);

/* nodes of per_node devices each; one node has no fabric. */
const char *cluster_of(const char *name, const char *device, int per_node, int nodes);

/* Paths of model files. llama_shape: heads of 128, SwiGLU, untied, 8,192 tokens. equal_layers:
 * blocks only matter (tiny vocabulary). mixture: every block has experts of which top_k are used.
 */
const char *llama_shape(int layers, int heads, int kv_heads);
const char *equal_layers(int layers);
const char *mixture(int layers, int experts, int top_k);

/* nest eval --json; more holds further options. */
struct command_result eval_run(const char *model, const char *cluster, const char *pins,
                               const char *more);

/* The same where the answer must be a feasible plan; the caller puts the JSON. */
struct json_object *eval_feasible(const char *model, const char *cluster, const char *pins,
                                  const char *more);

/* nest export --to target. */
struct command_result export_to(const char *target, const char *model, const char *cluster,
                                const char *pins, const char *more);

#endif
