/* What Megatron-LM and its successors need to know of the plan and the model, in their words. */
#ifndef NEST_EXPORT_MEGATRON_MODEL_H
#define NEST_EXPORT_MEGATRON_MODEL_H

#include "export/lower.h"

extern const struct nest_dialect nest_dialect_megatron;

/* The pipeline layout string, chunks in forward order: "Et*10|t*10|…|t*9L". */
void nest_megatron_layout(const struct nest_problem *problem, const struct nest_plan *plan,
                          struct nest_strbuf *out);

/* Which blocks are MoE, as "([0]*3+[1]*58)". */
void nest_megatron_moe_layers(const struct nest_model *model, struct nest_strbuf *out);

/* Notes on versions and environment that hold for the plan. */
void nest_megatron_notes(const struct nest_problem *problem, const struct nest_plan *plan,
                         struct nest_notes *notes);

/* Devices per node as a launcher counts them: those of an innermost group, or all if fewer. */
int64_t nest_ranks_per_node(const struct nest_problem *problem, const struct nest_plan *plan);

/* The lines that open every script: what is exported, what is predicted for it, the notes. Each
 * begins with mark ("# "). */
void nest_export_preamble(const struct nest_export *in, const struct nest_plan *plan,
                          const struct nest_prediction *prediction, const struct nest_notes *notes,
                          const char *mark, struct nest_strbuf *out);

#endif
