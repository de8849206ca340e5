/* Seconds of one operator on one device: the roofline with measured efficiency. */
#ifndef NEST_COST_ROOFLINE_H
#define NEST_COST_ROOFLINE_H

#include "cost/problem.h"

/* y at x of a curve, interpolated over log x, constant beyond the ends. */
double nest_curve_at(const struct nest_curve *curve, double x);

/* Seconds of a kernel that moves bytes through the device's memory, launch included. */
double nest_memory_time(const struct nest_device_spec *device, double bytes);

/* Peak FLOP/s in the precision; where the device lacks the mode, of the next wider one it has. */
double nest_device_peak(const struct nest_device_spec *device, enum nest_precision precision);

/* One GEMM, or `batch` independent ones in one kernel, of m x k times k x n each. */
struct nest_gemm {
    double batch, m, n, k;
    enum nest_precision precision;
};

/* FLOP/s that the GEMM's size lets the device reach: peak * efficiency. */
double nest_gemm_rate(const struct nest_device_spec *device, const struct nest_gemm *gemm);

/* Bytes of its three operands, each moved once. */
double nest_gemm_bytes(const struct nest_gemm *gemm);

/* max(FLOP / rate, bytes / memory bandwidth) + launch. rate: nest_gemm_rate of this GEMM or of one
 * with as many FLOP. extra_bytes: what the kernel moves beyond its three operands once each
 * (accumulation into fp32 gradients). */
double nest_gemm_time(const struct nest_device_spec *device, const struct nest_gemm *gemm,
                      double rate, double extra_bytes);

#endif
