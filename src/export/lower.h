/* Lowering a plan to the nearest one that a framework can express. */
#ifndef NEST_EXPORT_LOWER_H
#define NEST_EXPORT_LOWER_H

#include "export/export.h"

/* What a framework can express of a plan. */
struct nest_dialect {
    const char *name;
    bool interleaving;       /* virtual stages */
    bool order_nest;         /* tp-cp-pp-dp beside tp-cp-dp-pp */
    bool moe_needs_sp;       /* MoE with tp > 1 only with sequence parallelism */
    bool sp_follows_tp;      /* sequence parallelism is on with tp > 1, always */
    bool zero1;              /* has a ZeRO 1; else 1 becomes 0 or 2 */
    int shard_groups_from;   /* least ZeRO that can divide over fewer than all replicas */
    bool etp;                /* expert tensor parallelism */
    int zero_with_pipeline;  /* most ZeRO with pp > 1 */
    bool microbatches_cover; /* refuses fewer microbatches than stages */
    bool any_model;          /* says nothing of the model's shape */
};

/* Copies in->plan to *plan, changes what the dialect lacks, and prices it again. Each change is a
 * note; the step time and memory before and after are another. NEST_NO with an error where the
 * result is illegal or over the memory limit, or where nothing near exists. */
enum nest_status nest_lower(const struct nest_export *in, const struct nest_dialect *dialect,
                            struct nest_plan *plan, struct nest_prediction *prediction,
                            struct nest_notes *notes, struct nest_errors *errors);

/* True if every stage holds as many blocks as the others (in each chunk). */
bool nest_plan_even(const struct nest_problem *problem, const struct nest_plan *plan);

/* Blocks of a range of layers: without embedding and head. */
int64_t nest_range_blocks(const struct nest_problem *problem, const struct nest_range *range);

#endif
