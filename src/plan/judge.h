/* Judging the cost model: a published run is rebuilt, predicted as `nest eval` would, and compared.
 *
 * What a table leaves implicit (gated MLP, flash attention, which framework) follows from a few
 * rules about model families, stated beside each; nothing depends on a single row. */
#ifndef NEST_PLAN_JUDGE_H
#define NEST_PLAN_JUDGE_H

#include "input/measurement.h"
#include "plan/plan.h"

enum nest_quantity {
    NEST_QUANTITY_STEP_TIME, /* seconds */
    NEST_QUANTITY_TOKENS,    /* per second and device */
    NEST_QUANTITY_TFLOPS,    /* per device, in the source's convention */
    NEST_QUANTITY_MFU,       /* fraction, in the source's convention */
    NEST_QUANTITY_MEMORY,    /* GiB, of the fullest device */
    NEST_QUANTITIES
};

struct nest_verdict {
    enum nest_quantity quantity;
    double predicted, measured;
    double error; /* predicted / measured - 1; of the time, where a rate was measured, too */
};

struct nest_judged {
    bool built;                    /* false: errors say what is illegal or missing */
    bool feasible;                 /* fits the device's memory */
    enum nest_recompute recompute; /* as predicted: the source's, else the least that fits */
    struct nest_prediction prediction;
    int verdicts;
    struct nest_verdict verdict[2]; /* speed, then memory; whichever were measured */
};

/* Rebuilds the run on the device and predicts it. The prediction's arrays live in arena. */
enum nest_status nest_judge(const struct nest_measurement *run,
                            const struct nest_device_spec *device, struct nest_arena *arena,
                            struct nest_judged *out, struct nest_errors *errors);

/* "step_time", "tokens", "tflops", "mfu", "memory". */
const char *nest_quantity_name(enum nest_quantity quantity);

#endif
