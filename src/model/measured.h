/* Measured times of a transformer's layers (input/spec.h), where a model has some. */
#ifndef NEST_MODEL_MEASURED_H
#define NEST_MODEL_MEASURED_H

#include "model/model.h"

/* Gives layers their measured times, so that layers measured unlike become kinds of their own.
 * kind_of: [layers], changed in place. Times of another sequence length, and all times once the
 * shape is no longer the one that was measured, are left out. */
enum nest_status nest_measured_attach(struct nest_model *model, int *kind_of,
                                      struct nest_arena *arena);

/* The measurement that stands for a kind at a tp width: of this micro batch, else of the largest
 * that is smaller, else of the smallest. NULL: none, the operators are priced. */
const struct nest_measured_time *nest_measured_at(const struct nest_layer_kind *kind, int64_t tp,
                                                  int64_t micro_batch);

/* How many layers have a measured time at a tp width. */
int nest_measured_layers(const struct nest_model *model, int64_t tp);

/* Whether the model's layers are still those that were measured. */
bool nest_measured_holds(const struct nest_model_spec *spec);

#endif
