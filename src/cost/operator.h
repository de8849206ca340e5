/* One operator of a layer as one device sees it: seconds and bytes per microbatch.
 *
 * The layer's work is the sum of these, and the explanation of a prediction prints them. */
#ifndef NEST_COST_OPERATOR_H
#define NEST_COST_OPERATOR_H

#include "cost/problem.h"
#include "cost/strategy.h"

struct nest_op_work {
    double rows;     /* for experts: all rows of the device's experts */
    double batch;    /* GEMMs in one kernel: the device's experts; heads of plain attention */
    double n, k;     /* columns out and in; for attention heads and head width */
    double flops;    /* forward */
    double rate;     /* FLOP/s reached, forward; 0 where memory alone decides */
    double bytes;    /* moved through the device's memory, forward */
    double casts;    /* bytes more that a second kernel moves to quantise the input, forward */
    double fw, bw;   /* seconds, launches included */
    double kept;     /* bytes from forward to backward */
    double dropped;  /* more such bytes, which selective recompute does not keep */
    double logits;   /* bytes of logits and loss */
    int64_t weights; /* parameters on this device, vocabulary padded */
    bool expert;     /* they belong to routed experts */
};

/* Pure. Attention and GEMMs follow the roofline of roofline.h; the rest is memory-bound. */
void nest_op_work(const struct nest_problem *problem, const struct nest_layer_kind *kind,
                  const struct nest_strategy *strategy, const struct nest_op *op,
                  struct nest_op_work *out);

/* Tokens of one microbatch on one cp rank. */
double nest_local_tokens(const struct nest_problem *problem, const struct nest_strategy *strategy);

/* Bytes of one activation element. */
double nest_element_bytes(const struct nest_problem *problem);

/* Rows at the fullest expert over the mean: the capacity factor, else the imbalance. */
double nest_expert_load(const struct nest_problem *problem);

/* The vocabulary as the framework pads it: to a multiple of vocab_multiple * tp. */
int64_t nest_padded_vocabulary(const struct nest_train_spec *train, int64_t words, int64_t tp);

#endif
