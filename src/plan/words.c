#include "plan/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/measured.h"

const char *nest_precision_name(enum nest_precision precision)
{
    static const char *const name[NEST_PRECISIONS] = {
        [NEST_BF16] = "bf16",
        [NEST_FP16] = "fp16",
        [NEST_FP8] = "fp8",
        [NEST_FP32] = "fp32",
    };
    return name[precision];
}

char *nest_order_format(const struct nest_strategy *strategy, char *out, size_t size)
{
    if (strategy->dp_out == 1) {
        (void)snprintf(out, size, "tp-cp-dp-pp");
    } else if (strategy->dp_in == 1) {
        (void)snprintf(out, size, "tp-cp-pp-dp");
    } else {
        (void)snprintf(out, size, "tp-cp-dp:%" PRId64 "-pp-dp:%" PRId64, strategy->dp_in,
                       strategy->dp_out);
    }
    return out;
}

/* Appends to a text of *used bytes and stops quietly at its end. */
static void append(char *out, size_t size, size_t *used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void append(char *out, size_t size, size_t *used, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int added = vsnprintf(out + *used, size - *used, format, args);
    va_end(args);
    if (added > 0) {
        const size_t room = size - *used - 1;
        *used += (size_t)added < room ? (size_t)added : room;
    }
}

/* One range: "emb 1-10", "11", "71-80 head". */
static void append_range(char *out, size_t size, size_t *used, const struct nest_range *range,
                         const struct nest_model *model)
{
    const bool embedding = range->low == 0 && !model->spec->graph;
    const bool head = range->high == model->layers - 1 && !model->spec->graph;
    const int64_t first = embedding ? 1 : range->low;
    const int64_t last = head ? range->high - 1 : range->high;
    append(out, size, used, "%s%s", embedding ? "emb" : "", embedding && first <= last ? " " : "");
    if (first < last) {
        append(out, size, used, "%" PRId64 "-%" PRId64, first, last);
    } else if (first == last) {
        append(out, size, used, "%" PRId64, first);
    }
    if (head) {
        append(out, size, used, "%shead", first <= last || embedding ? " " : "");
    }
}

char *nest_layers_format(const struct nest_plan_stage *stage, const struct nest_model *model,
                         char *out, size_t size)
{
    enum { RANGES_SHOWN = 3 };
    size_t used = 0;
    out[0] = '\0';
    const bool some = stage->ranges > RANGES_SHOWN;
    for (int r = 0; r < (some ? 1 : stage->ranges); r++) {
        append(out, size, &used, "%s", r > 0 ? ", " : "");
        append_range(out, size, &used, &stage->layers[r], model);
    }
    if (some) {
        append(out, size, &used, " .. ");
        append_range(out, size, &used, &stage->layers[stage->ranges - 1], model);
        append(out, size, &used, " x%d", stage->ranges);
    }
    return out;
}

char *nest_plan_format(const struct nest_plan *plan, char *out, size_t size)
{
    const struct nest_strategy *s = &plan->strategy;
    size_t used = 0;
    append(out, size, &used, "tp %" PRId64 "%s, pp %d, dp %" PRId64, s->tp, s->sp ? " sp" : "",
           plan->stages, nest_strategy_dp(s));
    const struct {
        const char *name;
        int64_t value, usual;
    } part[] = {
        {"cp", s->cp, 1},
        {"ep", s->ep, 1},
        {"etp", s->etp, 1},
        {"zero", s->zero, 0},
        {"shard", s->zero > 0 ? s->shard : 0, s->zero > 0 ? nest_strategy_dp(s) * s->cp : 0},
        {"virtual stages", s->virtual_stages, 1},
        {"micro batch", s->micro_batch, 0},
    };
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        if (part[i].value != part[i].usual) {
            append(out, size, &used, ", %s %" PRId64, part[i].name, part[i].value);
        }
    }
    return out;
}

/* "tp 2, 4, 8": the widths at which anything is measured, ascending. */
static void append_widths(char *out, size_t size, size_t *used, const struct nest_model_spec *spec)
{
    int64_t last = 0;
    for (;;) {
        int64_t next = INT64_MAX;
        for (int i = 0; i < spec->measurements; i++) {
            const int64_t tp = spec->measured[i].time.tp;
            next = tp > last && tp < next ? tp : next;
        }
        if (next == INT64_MAX) {
            return;
        }
        append(out, size, used, "%s%" PRId64, last > 0 ? ", " : "tp ", next);
        last = next;
    }
}

bool nest_measured_format(const struct nest_model *model, int64_t tp, char *out, size_t size)
{
    const struct nest_model_spec *spec = model->spec;
    const int layers = nest_measured_layers(model, tp);
    size_t used = 0;
    out[0] = '\0';
    if (spec->measurements == 0) {
        return false;
    }
    if (!nest_measured_holds(spec)) {
        append(out, size, &used,
               "the measured times are of layers of another shape: all times are computed");
    } else if (layers == model->layers) {
        append(out, size, &used, "times of all %d layers are measured at tp %" PRId64, layers, tp);
    } else if (layers > 0) {
        append(out, size, &used,
               "times of %d of %d layers are measured at tp %" PRId64 ", the others computed",
               layers, model->layers, tp);
    } else {
        append(out, size, &used, "no layer is measured at tp %" PRId64 " and %" PRId64 " tokens (",
               tp, spec->seq);
        append_widths(out, size, &used, spec);
        append(out, size, &used, " are): all times are computed");
    }
    return true;
}

enum nest_recompute nest_plan_heaviest(const struct nest_plan *plan)
{
    enum nest_recompute heaviest = NEST_RECOMPUTE_NONE;
    for (int i = 0; i < plan->stages; i++) {
        if (plan->stage[i].recompute > heaviest) {
            heaviest = plan->stage[i].recompute;
        }
    }
    return heaviest;
}

int64_t nest_plan_value(const struct nest_plan *plan, enum nest_pin_key key)
{
    const struct nest_strategy *s = &plan->strategy;
    const int64_t value[NEST_PINS] = {
        [NEST_PIN_TP] = s->tp,
        [NEST_PIN_PP] = plan->stages,
        [NEST_PIN_DP] = nest_strategy_dp(s),
        [NEST_PIN_CP] = s->cp,
        [NEST_PIN_EP] = s->ep,
        [NEST_PIN_ETP] = s->etp,
        [NEST_PIN_SP] = s->sp,
        [NEST_PIN_ZERO] = s->zero,
        [NEST_PIN_SHARD] = s->shard,
        [NEST_PIN_MICRO_BATCH] = s->micro_batch,
        [NEST_PIN_VIRTUAL_STAGES] = s->virtual_stages,
        [NEST_PIN_RECOMPUTE] = (int64_t)nest_plan_heaviest(plan),
    };
    return value[key];
}
