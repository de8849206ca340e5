#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "input/set.h"
#include "session/knob.h"

enum { TEXT = 64 };

/* Round values within a factor of ten (decade) or of two (octave), ascending. */
struct grid {
    double base;
    int count;
    double step[10];
};
static const struct grid decade = {10, 9, {1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 7.5}};
static const struct grid octave = {2, 4, {1, 1.25, 1.5, 1.75}};

/* The next value of the grid above or below, whatever value lies between. */
static double grid_next(const struct grid *grid, double value, int direction)
{
    const double exponent = floor(log(value) / log(grid->base));
    double best = direction > 0 ? INFINITY : 0;
    for (int e = -1; e <= 1; e++) {
        const double scale = pow(grid->base, exponent + e);
        for (int i = 0; i < grid->count; i++) {
            const double candidate = grid->step[i] * scale;
            const bool beyond = direction > 0 ? candidate > value * (1 + 1e-9) && candidate < best
                                              : candidate < value * (1 - 1e-9) && candidate > best;
            best = beyond ? candidate : best;
        }
    }
    return best;
}

static double stepped(const struct grid *grid, double value, int direction, bool big)
{
    if (big) {
        return direction > 0 ? value * 2 : value / 2;
    }
    return grid_next(grid, value, direction);
}

/* Removes the dust of the powers: 12 significant digits. */
static double tidy(double value)
{
    char text[TEXT];
    (void)snprintf(text, sizeof text, "%.12g", value);
    return strtod(text, NULL);
}

static const char *exact(double value, enum nest_unit unit, struct nest_arena *arena)
{
    char text[TEXT];
    return nest_arena_strdup(arena, nest_unit_format_exact(value, unit, text, sizeof text));
}

static const char *next_oversubscription(double value, int direction, bool big,
                                         struct nest_arena *arena)
{
    static const double round_ratios[] = {1,  1.5, 2,  3,  4,  5,  6,  7, 8,
                                          10, 12,  16, 20, 24, 32, 48, 64};
    enum { COUNT = sizeof round_ratios / sizeof round_ratios[0] };
    double next = direction > 0 ? value * 2 : value / 2;
    for (int i = 0; i < COUNT && !big; i++) {
        const double candidate = round_ratios[direction > 0 ? COUNT - 1 - i : i];
        if (direction > 0 ? candidate > value : candidate < value) {
            next = candidate;
        }
    }
    next = next < 1 ? 1 : next;
    return next == value ? NULL : exact(next, NEST_UNIT_RATIO, arena);
}

/* Whole steps of 4 or 16 GiB, landing on multiples. */
static const char *next_limit(double value, int direction, bool big, struct nest_arena *arena)
{
    const double step = (big ? 16.0 : 4.0) * 1073741824.0;
    const double next =
        direction > 0 ? (floor(value / step) + 1) * step : (ceil(value / step) - 1) * step;
    return next < step ? NULL : exact(next, NEST_UNIT_BYTES, arena);
}

static const char *next_count(double value, int direction, bool big, struct nest_arena *arena)
{
    const double next =
        value < 8 && !big ? value + direction : round(stepped(&octave, value, direction, big));
    return next < 1 || next > 1e12 ? NULL : nest_arena_printf(arena, "%.0f", next);
}

/* Hidden sizes that the heads divide, unless a head's width is given. */
static const char *next_hidden(const struct nest_model_spec *model, int direction, bool big,
                               struct nest_arena *arena)
{
    const int64_t unit = model->head_dim_given || model->heads < 1 ? 1 : model->heads;
    const int64_t wanted = (int64_t)stepped(&octave, (double)model->hidden, direction, big);
    const int64_t next = wanted / unit * unit;
    return next < 1 || next == model->hidden ? NULL : nest_arena_printf(arena, "%" PRId64, next);
}

/* Experts by halves and doubles, never fewer than a token uses. */
static const char *next_experts(const struct nest_model_spec *model, int direction,
                                struct nest_arena *arena)
{
    const int64_t next = direction > 0 ? model->experts * 2 : model->experts / 2;
    return next < model->top_k || next > 1 << 16 ? NULL
                                                 : nest_arena_printf(arena, "%" PRId64, next);
}

/* Within the range that the script declares: whole steps, round values, or parts of the range where
 * it holds nothing or less than nothing. */
static const char *next_param(const struct nest_param_spec *param, const char *text, int direction,
                              bool big, struct nest_arena *arena)
{
    char scratch[TEXT];
    const char *hint = NULL;
    double value = param->value;
    (void)nest_unit_parse(text, param->unit, &value, &hint, scratch, sizeof scratch);
    double next = value;
    if (param->whole) {
        next = (value < 8 && !big) || value < 1 ? value + direction
                                                : round(stepped(&octave, value, direction, big));
    } else if (param->low > 0) {
        next = tidy(stepped(&decade, value, direction, big));
    } else {
        next = tidy(value + direction * (param->high - param->low) / (big ? 10 : 50));
    }
    next = fmin(fmax(next, param->low), param->high);
    return next == value ? NULL : exact(next, param->unit, arena);
}

static const struct nest_param_spec *param_of(const struct nest_document *document,
                                              const char *path)
{
    const struct nest_cluster_spec *cluster = &document->scenario.cluster;
    for (int i = 0; i < cluster->params && strncmp(path, "cluster.", 8) == 0; i++) {
        if (strcmp(path + 8, cluster->param[i].name) == 0) {
            return &cluster->param[i];
        }
    }
    return NULL;
}

static const char *next_setting(const struct nest_knob *knob, const struct nest_document *document,
                                int direction, bool big, struct nest_arena *arena)
{
    const struct nest_model_spec *model = &document->scenario.model;
    const struct nest_param_spec *param = param_of(document, knob->path);
    if (param) {
        return next_param(param, knob->exact, direction, big, arena);
    }
    if (strcmp(knob->path, "limits.memory") == 0) {
        return next_limit((double)document->problem.memory_limit, direction, big, arena);
    }
    if (strcmp(knob->path, "model.hidden") == 0) {
        return next_hidden(model, direction, big, arena);
    }
    if (strcmp(knob->path, "model.experts") == 0) {
        return next_experts(model, direction, arena);
    }
    return next_count(strtod(knob->exact, NULL), direction, big, arena);
}

/* ---- Pins ---- */

static const char *next_divisor(int64_t batch, int64_t value, int direction,
                                struct nest_arena *arena)
{
    for (int64_t n = value + direction; n >= 1 && n <= batch; n += direction) {
        if (batch % n == 0) {
            return nest_arena_printf(arena, "%" PRId64, n);
        }
    }
    return NULL;
}

static const char *next_power(int64_t value, int direction, struct nest_arena *arena)
{
    int64_t next = 1;
    if (direction > 0) {
        while (next <= value) {
            next *= 2;
        }
    } else {
        while (next * 2 < value) {
            next *= 2;
        }
    }
    return next == value || value > (1 << 30) ? NULL : nest_arena_printf(arena, "%" PRId64, next);
}

static const char *next_in(int64_t value, int direction, int64_t least, int64_t most,
                           struct nest_arena *arena)
{
    const int64_t next = value + direction;
    return next < least || next > most ? NULL : nest_arena_printf(arena, "%" PRId64, next);
}

static const char *next_recompute(const char *value, int direction)
{
    for (int mode = 0; mode < NEST_RECOMPUTES; mode++) {
        const int next = mode + direction;
        if (strcmp(value, nest_recompute_word((enum nest_recompute)mode)) == 0 && next >= 0 &&
            next < NEST_RECOMPUTES) {
            return nest_recompute_word((enum nest_recompute)next);
        }
    }
    return NULL;
}

static const char *next_choice(const struct nest_knob *knob, const struct nest_document *document,
                               int direction, bool big, struct nest_arena *arena)
{
    const int64_t value = strtoll(knob->text, NULL, 10);
    const int64_t devices = document->problem.cluster->devices;
    switch (knob->pin) {
    case NEST_PIN_RECOMPUTE:
        return next_recompute(knob->text, direction);
    case NEST_PINS:
        return direction > 0 ? "tp-cp-pp-dp" : "tp-cp-dp-pp";
    case NEST_PIN_SP:
        return next_in(value, direction, 0, 1, arena);
    case NEST_PIN_ZERO:
        return next_in(value, direction, 0, 3, arena);
    case NEST_PIN_DP:
        return next_divisor(document->scenario.train.global_batch, value, direction, arena);
    case NEST_PIN_PP:
    case NEST_PIN_VIRTUAL_STAGES:
        return big ? next_power(value, direction, arena)
                   : next_in(value, direction, 1, devices, arena);
    default:
        return next_power(value, direction, arena);
    }
}

const char *nest_knob_neighbour(const struct nest_knob *knob, const struct nest_document *document,
                                int direction, bool big, struct nest_arena *arena)
{
    if (knob->kind == NEST_KNOB_PIN) {
        return next_choice(knob, document, direction, big, arena);
    }
    if (knob->kind == NEST_KNOB_SETTING) {
        return next_setting(knob, document, direction, big, arena);
    }
    const struct nest_level_spec *level = &document->scenario.cluster.level[knob->level];
    switch (knob->kind) {
    case NEST_KNOB_BANDWIDTH:
        return exact(tidy(stepped(&decade, level->bandwidth, direction, big)), NEST_UNIT_BANDWIDTH,
                     arena);
    case NEST_KNOB_OVERSUBSCRIPTION:
        return next_oversubscription(level->oversubscription, direction, big, arena);
    default:
        return level->latency <= 0 ? (direction > 0 ? "100ns" : NULL)
                                   : exact(tidy(stepped(&decade, level->latency, direction, big)),
                                           NEST_UNIT_SECONDS, arena);
    }
}
