/* The layer graph that a model file states: layers and the edges along which activations flow.
 *
 * Layers are numbered as they are listed, an entry with `times: N` being N of them in a row. */
#ifndef NEST_INPUT_LAYER_GRAPH_H
#define NEST_INPUT_LAYER_GRAPH_H

#include "base/arena.h"
#include "input/spec.h"

/* A graph of more layers has more downsets than any search will look at. */
enum { NEST_LAYER_GRAPH_MAX = 4095 };

/* All edges of a model with a graph, those inside a `times` entry included, sorted by `from`, then
 * `to`, each once. *layers is how many there are in all. NULL only when memory is out. */
const struct nest_edge_spec *nest_layer_edges(const struct nest_model_spec *model,
                                              struct nest_arena *arena, int *edges, int *layers);

/* The canonical order: always the layer listed first among those whose inputs have all run.
 * order: [layers], filled with layer numbers; waits: [layers], afterwards -1 for those in the
 * order, else how many of a layer's inputs are not. edge: sorted by `from`. Returns how many are in
 * the order: fewer than layers where edges form a circle. */
int nest_layer_order(const struct nest_edge_spec *edge, int edges, int layers, int *order,
                     int *waits);

#endif
