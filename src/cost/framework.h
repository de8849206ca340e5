/* What the software stack adds to the device: few constants per framework, fitted on published runs
 * (`nest validate`; the fit and its rows are named in the README under Accuracy). */
#ifndef NEST_COST_FRAMEWORK_H
#define NEST_COST_FRAMEWORK_H

#include "input/spec.h"

struct nest_framework_traits {
    double traffic;   /* bytes of element-wise work relative to hand-fused kernels */
    double gemm;      /* speed of its GEMMs relative to the device's curve */
    double attention; /* speed of its flash attention relative to the device's best */
    bool async_tp;    /* the backward reduction over tp runs beside the weight-gradient GEMM */
    bool per_operator_selective; /* selective recompute keeps every second GEMM's output */
    bool fused;     /* a gated activation is one kernel and keeps nothing but its input */
    bool keeps_fp8; /* an fp8 GEMM keeps its quantised input for the backward pass, no other copy */
};

/* Megatron fuses bias, dropout, norm and activation by hand; Megatron-DeepSpeed of 2022 and eager
 * PyTorch launch them one by one and cast weights before each GEMM; PyTorch's runs used the Triton
 * and FlashAttention 1 and 2 kernels of their day. */
static inline struct nest_framework_traits nest_framework_traits(enum nest_framework framework)
{
    static const struct nest_framework_traits traits[] = {
        [NEST_MEGATRON] = {1.0, 1.0, 1.0, true, false, true, true},
        [NEST_DEEPSPEED] = {3.5, 0.95, 1.0, true, false, false, false},
        [NEST_TORCHTITAN] = {1.7, 0.92, 0.55, false, true, false, false},
    };
    return traits[framework];
}

#endif
