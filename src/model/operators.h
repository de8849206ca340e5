/* Operators of one layer kind, collected before they are stored; private to the model room. */
#ifndef NEST_MODEL_OPERATORS_H
#define NEST_MODEL_OPERATORS_H

#include "model/model.h"

enum { NEST_OPS_MAX = 40 };

struct nest_op_list {
    const struct nest_model_spec *spec;
    int count;
    struct nest_op op[NEST_OPS_MAX];
};

/* Columns of one token's queries, and of its keys and values together. */
int64_t nest_query_columns(const struct nest_model_spec *spec);
int64_t nest_kv_columns(const struct nest_model_spec *spec);

/* Columns of the vocabulary's table. */
int64_t nest_embed_columns(const struct nest_model_spec *spec);

bool nest_gated(const struct nest_model_spec *spec);

/* GPT-style blocks (LayerNorm, plain MLP, biases) are trained with dropout, whose masks are kept;
 * Korthikanti et al. 2022, section 4.1. Later families have none. */
bool nest_has_dropout(const struct nest_model_spec *spec);

/* An image tower's tokens per token of the trunk, before and after neighbours are merged. */
double nest_image_rows(const struct nest_model_spec *spec);
double nest_merged_rows(const struct nest_model_spec *spec);

/* Append the operators of a part of the network. */
/* whole: without causal mask; window: keys that a query sees, 0 = the whole sequence */
void nest_ops_attention(struct nest_op_list *list, bool whole, int64_t window);
void nest_ops_cross_attention(
    struct nest_op_list *list); /* of a decoder, to the encoder's output */
void nest_ops_mamba(struct nest_op_list *list);
void nest_ops_patches(struct nest_op_list *list); /* of an image tower: its first layer, … */
void nest_ops_image_block(struct nest_op_list *list);
void nest_ops_image_projection(struct nest_op_list *list); /* … its last */
void nest_ops_mlp(struct nest_op_list *list);
void nest_ops_experts(struct nest_op_list *list);
void nest_ops_embedding(struct nest_op_list *list);
void nest_ops_head(struct nest_op_list *list);

#endif
