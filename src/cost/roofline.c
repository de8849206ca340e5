#include "cost/roofline.h"

#include <math.h>

double nest_curve_at(const struct nest_curve *curve, double x)
{
    const int last = curve->count - 1;
    if (last < 0) {
        return 1.0;
    }
    if (x <= curve->x[0]) {
        return curve->y[0];
    }
    if (x >= curve->x[last]) {
        return curve->y[last];
    }
    int i = 1;
    while (x > curve->x[i]) {
        i++;
    }
    const double part = log(x / curve->x[i - 1]) / log(curve->x[i] / curve->x[i - 1]);
    return curve->y[i - 1] + part * (curve->y[i] - curve->y[i - 1]);
}

double nest_memory_time(const struct nest_device_spec *device, double bytes)
{
    return bytes / (device->memory_bandwidth * device->memory_efficiency) + device->launch;
}

double nest_device_peak(const struct nest_device_spec *device, enum nest_precision precision)
{
    static const enum nest_precision fallback[NEST_PRECISIONS][3] = {
        [NEST_BF16] = {NEST_BF16, NEST_FP16, NEST_FP32},
        [NEST_FP16] = {NEST_FP16, NEST_BF16, NEST_FP32},
        [NEST_FP8] = {NEST_FP8, NEST_BF16, NEST_FP16},
        [NEST_FP32] = {NEST_FP32, NEST_FP32, NEST_BF16},
    };
    for (int i = 0; i < 3; i++) {
        const double peak = device->peak[fallback[precision][i]];
        if (peak > 0.0) {
            return peak;
        }
    }
    return 1.0;
}

static double element_bytes(enum nest_precision precision)
{
    return precision == NEST_FP32 ? 4.0 : precision == NEST_FP8 ? 1.0 : 2.0;
}

double nest_gemm_rate(const struct nest_device_spec *device, const struct nest_gemm *gemm)
{
    const double peak = nest_device_peak(device, gemm->precision);
    const double flops = 2.0 * gemm->batch * gemm->m * gemm->n * gemm->k;
    if (gemm->precision == NEST_FP8 && device->gemm_fp8.count > 0 && device->peak[NEST_FP8] > 0.0) {
        return peak * nest_curve_at(&device->gemm_fp8, flops);
    }
    /* The curve is measured in bf16 and describes how long a kernel must be to fill the device. */
    return peak * nest_curve_at(&device->gemm, flops * nest_device_peak(device, NEST_BF16) / peak);
}

double nest_gemm_bytes(const struct nest_gemm *gemm)
{
    const double in = element_bytes(gemm->precision) * (gemm->m * gemm->k + gemm->k * gemm->n);
    const double out = (gemm->precision == NEST_FP32 ? 4.0 : 2.0) * gemm->m * gemm->n;
    return gemm->batch * (in + out);
}

double nest_gemm_time(const struct nest_device_spec *device, const struct nest_gemm *gemm,
                      double rate, double extra_bytes)
{
    const double flops = 2.0 * gemm->batch * gemm->m * gemm->n * gemm->k;
    const double busy = flops / rate;
    const double moved = (nest_gemm_bytes(gemm) + extra_bytes) /
                         (device->memory_bandwidth * device->memory_efficiency);
    return (busy > moved ? busy : moved) + device->launch;
}
