#include "model/measured.h"

#include <string.h>

#include "input/load.h"

/* Kinds that a new layer is compared with: the last ones made. */
enum { COMPARED = 64 };

bool nest_measured_holds(const struct nest_model_spec *spec)
{
    const struct nest_measured_shape now = nest_measured_shape(spec);
    return memcmp(&now, &spec->measured_shape, sizeof now) == 0;
}

/* A kind being made for one layer. */
struct times {
    int count;
    struct nest_measured_time *time; /* [measurements] by tp, then micro_batch */
};

static bool is_for(const struct nest_model *model, const struct nest_measured *m, int layer)
{
    if (m->seq != model->spec->seq) {
        return false;
    }
    const int block = layer - model->lead + 1;
    switch (m->part) {
    case NEST_MEASURED_EMBEDDING:
        return layer == 0;
    case NEST_MEASURED_HEAD:
        return layer == model->layers - 1;
    default:
        return block >= 1 && block <= model->spec->layers &&
               (m->first == 0 || (block >= m->first && block <= m->last));
    }
}

/* Puts a time in its place; one given by number replaces one given for every block. */
static void insert(struct times *times, const struct nest_measured_time *time, bool numbered)
{
    int at = 0;
    while (at < times->count &&
           (times->time[at].tp < time->tp ||
            (times->time[at].tp == time->tp && times->time[at].micro_batch < time->micro_batch))) {
        at++;
    }
    if (at < times->count && times->time[at].tp == time->tp &&
        times->time[at].micro_batch == time->micro_batch) {
        if (numbered) {
            times->time[at] = *time;
        }
        return;
    }
    memmove(&times->time[at + 1], &times->time[at], sizeof *time * (size_t)(times->count - at));
    times->time[at] = *time;
    times->count++;
}

static void collect(const struct nest_model *model, int layer, struct times *times)
{
    const struct nest_model_spec *spec = model->spec;
    times->count = 0;
    for (int i = 0; i < spec->measurements; i++) {
        if (is_for(model, &spec->measured[i], layer)) {
            insert(times, &spec->measured[i].time, spec->measured[i].first > 0);
        }
    }
}

static bool same_times(const struct nest_layer_kind *kind, const struct times *times)
{
    if (kind->times != times->count) {
        return false;
    }
    for (int i = 0; i < times->count; i++) {
        const struct nest_measured_time *a = &kind->time[i];
        const struct nest_measured_time *b = &times->time[i];
        if (a->tp != b->tp || a->micro_batch != b->micro_batch || a->fw < b->fw || a->fw > b->fw ||
            a->bw < b->bw || a->bw > b->bw) {
            return false;
        }
    }
    return true;
}

/* The kind of a layer that is as `base`, with these times: one there is, or a new one. */
static int kind_with(struct nest_model *model, int base, const int *base_of,
                     const struct times *times, struct nest_arena *arena)
{
    const int first = model->kinds > COMPARED ? model->kinds - COMPARED : 0;
    for (int k = first; k < model->kinds; k++) {
        if (base_of[k] == base && same_times(&model->kind[k], times)) {
            return k;
        }
    }
    struct nest_measured_time *own = NEST_NEW(arena, struct nest_measured_time, times->count + 1);
    if (own == NULL) {
        return -1;
    }
    if (times->count > 0) {
        memcpy(own, times->time, sizeof *own * (size_t)times->count);
    }
    struct nest_layer_kind *kind = &model->kind[model->kinds];
    *kind = model->kind[base];
    kind->times = times->count;
    kind->time = own;
    return model->kinds++;
}

/* Drops the kinds that no layer has any more, so that the first layer's is 0. */
static void renumber(struct nest_model *model, int *kind_of, struct nest_layer_kind *room,
                     int *number)
{
    int kinds = 0;
    for (int k = 0; k < model->kinds; k++) {
        number[k] = -1;
    }
    for (int i = 0; i < model->layers; i++) {
        if (number[kind_of[i]] < 0) {
            room[kinds] = model->kind[kind_of[i]];
            number[kind_of[i]] = kinds++;
        }
        kind_of[i] = number[kind_of[i]];
    }
    model->kind = room;
    model->kinds = kinds;
}

enum nest_status nest_measured_attach(struct nest_model *model, int *kind_of,
                                      struct nest_arena *arena)
{
    const struct nest_model_spec *spec = model->spec;
    if (spec->measurements == 0 || !nest_measured_holds(spec)) {
        return NEST_OK;
    }
    const int most = model->kinds + model->layers;
    struct times times = {0, NEST_NEW(arena, struct nest_measured_time, spec->measurements + 1)};
    struct nest_layer_kind *larger = NEST_NEW(arena, struct nest_layer_kind, most);
    struct nest_layer_kind *room = NEST_NEW(arena, struct nest_layer_kind, most);
    int *base_of = NEST_NEW(arena, int, most);
    int *number = NEST_NEW(arena, int, most);
    if (!times.time || !larger || !room || !base_of || !number) {
        return NEST_NO_MEMORY;
    }
    memcpy(larger, model->kind, sizeof *larger * (size_t)model->kinds);
    model->kind = larger;
    for (int k = 0; k < model->kinds; k++) {
        base_of[k] = k;
    }
    for (int i = 0; i < model->layers; i++) {
        const int base = kind_of[i];
        collect(model, i, &times);
        const int kinds = model->kinds;
        kind_of[i] = kind_with(model, base, base_of, &times, arena);
        if (kind_of[i] < 0) {
            return NEST_NO_MEMORY;
        }
        if (model->kinds > kinds) {
            base_of[kinds] = base;
        }
    }
    renumber(model, kind_of, room, number);
    return NEST_OK;
}

const struct nest_measured_time *nest_measured_at(const struct nest_layer_kind *kind, int64_t tp,
                                                  int64_t micro_batch)
{
    const struct nest_measured_time *best = NULL;
    for (int i = 0; i < kind->times; i++) {
        const struct nest_measured_time *time = &kind->time[i];
        if (time->tp == tp && (best == NULL || time->micro_batch <= micro_batch)) {
            best = time;
        }
    }
    return best;
}

int nest_measured_layers(const struct nest_model *model, int64_t tp)
{
    int count = 0;
    for (int i = 0; i < model->layers; i++) {
        count += nest_measured_at(&model->kind[model->kind_of[i]], tp, 1) != NULL;
    }
    return count;
}
