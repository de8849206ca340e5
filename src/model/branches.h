/* From layers and edges to a model that branches; private to the model room. */
#ifndef NEST_MODEL_BRANCHES_H
#define NEST_MODEL_BRANCHES_H

#include "model/model.h"

/* Sets cuts and crossing of a model whose layers are numbered so that every edge ascends; both stay
 * NULL where the edges are a plain chain's. edge: sorted by `from`. NEST_BAD_INPUT after a fault at
 * `mark` where there are too many cuts. */
enum nest_status nest_model_branch(struct nest_model *model, const struct nest_edge_spec *edge,
                                   int edges, struct nest_mark mark, struct nest_arena *arena,
                                   struct nest_errors *errors);

/* The same for a transformer with an encoder or an image tower, whose layers are there. The tower
 * and the embedding both feed the first block; the encoder's output goes to every decoder block.
 * What a decoder reads of its own is looked up where it begins, and does not cross the encoder. */
enum nest_status nest_model_branch_towers(struct nest_model *model, struct nest_arena *arena,
                                          struct nest_errors *errors);

/* The layers of a model's graph (`graph:`) in canonical order: order[i] is the number, as listed,
 * of layer i; *edge are the edges between them. NULL when memory is out. */
const int *nest_graph_order(const struct nest_model_spec *spec, struct nest_arena *arena,
                            const struct nest_edge_spec **edge, int *edges);

#endif
