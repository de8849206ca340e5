#include "session/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "input/set.h"
#include "plan/words.h"
#include "session/knob.h"

enum { CHOICE_MAX = 256 };

/* ---- Seats ---- */

struct nest_seat nest_seat_of(const struct nest_cluster *cluster, const struct nest_plan *plan,
                              int64_t device)
{
    const struct nest_strategy *s = &plan->strategy;
    const struct nest_seat idle = {-1, -1, -1};
    const int64_t position =
        nest_cluster_position(nest_cluster_selected(cluster, s->selection), device);
    const int64_t outer = position / s->span;
    const int64_t place = position % s->span;
    if (position < 0 || outer >= s->dp_out) {
        return idle;
    }
    for (int i = 0; i < plan->stages; i++) {
        const int64_t width = plan->stage[i].tp * s->cp;
        const int64_t offset = place - plan->stage[i].first_device;
        if (offset >= 0 && offset < width * s->dp_in) {
            return (struct nest_seat){i, outer * s->dp_in + offset / width, offset % width};
        }
    }
    return idle;
}

void nest_occupancy_of(const struct nest_cluster *cluster, const struct nest_plan *plan,
                       int64_t first, int64_t end, struct nest_occupancy *out)
{
    *out = (struct nest_occupancy){.first = first,
                                   .devices = end - first,
                                   .stage_low = -1,
                                   .stage_high = -1,
                                   .replica_low = -1,
                                   .replica_high = -1};
    for (int64_t device = first; device < end; device++) {
        const struct nest_seat seat = nest_seat_of(cluster, plan, device);
        if (seat.stage < 0) {
            out->idle++;
            continue;
        }
        const bool none = out->stage_low < 0;
        out->stage_low = none || seat.stage < out->stage_low ? seat.stage : out->stage_low;
        out->stage_high = seat.stage > out->stage_high ? seat.stage : out->stage_high;
        out->replica_low =
            none || seat.replica < out->replica_low ? seat.replica : out->replica_low;
        out->replica_high = seat.replica > out->replica_high ? seat.replica : out->replica_high;
    }
}

void nest_group_occupancy(const struct nest_cluster *cluster, const struct nest_plan *plan,
                          int level, int64_t group, struct nest_occupancy *out)
{
    nest_occupancy_of(cluster, plan, nest_cluster_group_start(cluster, level, group),
                      nest_cluster_group_start(cluster, level, group + 1), out);
}

/* Number of the first level-(level-1) group inside the group. */
static int64_t first_part(const struct nest_cluster *cluster, int level, int64_t group)
{
    const int64_t first = nest_cluster_group_start(cluster, level, group);
    if (first >= cluster->devices) {
        return level == 0 ? cluster->devices : cluster->level[level - 1].groups;
    }
    return level == 0 ? first : nest_cluster_group(cluster, level - 1, first);
}

static int64_t part_start(const struct nest_cluster *cluster, int level, int64_t part)
{
    return level == 0 ? part : nest_cluster_group_start(cluster, level - 1, part);
}

int nest_group_strip(const struct nest_cluster *cluster, const struct nest_plan *plan, int level,
                     int64_t group, int cells, struct nest_occupancy *out)
{
    const int64_t first = first_part(cluster, level, group);
    const int64_t parts = first_part(cluster, level, group + 1) - first;
    const int count = parts < cells ? (int)parts : cells;
    for (int i = 0; i < count; i++) {
        const int64_t from = first + parts * i / count;
        const int64_t to = first + parts * (i + 1) / count;
        nest_occupancy_of(cluster, plan, part_start(cluster, level, from),
                          part_start(cluster, level, to), &out[i]);
    }
    return count;
}

/* ---- Parts ---- */

void nest_step_parts(const struct nest_prediction *prediction,
                     struct nest_part out[NEST_STEP_PARTS])
{
    const struct nest_breakdown *b = &prediction->breakdown;
    const struct {
        const char *name;
        const char *letter;
        nest_ps time;
    } part[NEST_STEP_PARTS] = {
        {"compute", "C", b->compute}, {"recompute", "R", b->recompute},
        {"tp", "t", b->tp},           {"cp", "c", b->cp},
        {"ep", "e", b->ep},           {"pp", "p", b->pp},
        {"dp", "d", b->dp},           {"optimizer", "o", b->optimizer},
        {"bubble", "b", b->bubble},
    };
    for (int i = 0; i < NEST_STEP_PARTS; i++) {
        out[i] = (struct nest_part){
            .name = part[i].name,
            .letter = part[i].letter,
            .value = nest_to_seconds(part[i].time),
            .share = prediction->step > 0 ? (double)part[i].time / (double)prediction->step : 0,
        };
    }
}

static void set_part(struct nest_part *out, const char *name, const char *letter, int64_t bytes,
                     int64_t whole)
{
    *out = (struct nest_part){name, letter, (double)bytes,
                              whole > 0 ? (double)bytes / (double)whole : 0};
}

void nest_memory_parts(const struct nest_memory *memory, int64_t limit,
                       struct nest_part out[NEST_MEMORY_PARTS])
{
    const int64_t named =
        memory->weights + memory->gradients + memory->optimizer + memory->activations;
    set_part(&out[0], "weights", "W", memory->weights, limit);
    set_part(&out[1], "gradients", "G", memory->gradients, limit);
    set_part(&out[2], "optimizer", "O", memory->optimizer, limit);
    set_part(&out[3], "activations", "A", memory->activations, limit);
    set_part(&out[4], "other", "x", memory->total - named, limit);
}

void nest_memory_terms(const struct nest_memory *memory, struct nest_part out[NEST_MEMORY_TERMS])
{
    const int64_t all = memory->total;
    set_part(&out[0], "weights", "W", memory->weights, all);
    set_part(&out[1], "gradients", "G", memory->gradients, all);
    set_part(&out[2], "optimizer", "O", memory->optimizer, all);
    set_part(&out[3], "activations", "A", memory->activations, all);
    set_part(&out[4], "logits and loss", "x", memory->logits, all);
    set_part(&out[5], "working set", "x", memory->working, all);
    set_part(&out[6], "gathered", "x", memory->gathered, all);
    set_part(&out[7], "buffers", "x", memory->buffers, all);
    set_part(&out[8], "reserve", "x", memory->reserve, all);
}

/* ---- Texts ---- */

void nest_plan_choice(const struct nest_plan *plan, int pin, struct nest_strbuf *out)
{
    char text[64];
    if (pin == NEST_PINS) {
        nest_strbuf_add(out, nest_order_format(&plan->strategy, text, sizeof text));
    } else if (pin == NEST_PIN_RECOMPUTE) {
        nest_strbuf_add(out, nest_recompute_word(nest_plan_heaviest(plan)));
    } else {
        nest_strbuf_printf(out, "%" PRId64, nest_plan_value(plan, (enum nest_pin_key)pin));
    }
}

static bool shares_among_all(const struct nest_strategy *s)
{
    return s->shard == nest_strategy_dp(s) * s->cp;
}

bool nest_plan_chosen_apart(const struct nest_plan *plan, const struct nest_plan *other, int pin)
{
    struct nest_strbuf is = NEST_STRBUF_INIT(CHOICE_MAX);
    struct nest_strbuf was = NEST_STRBUF_INIT(CHOICE_MAX);
    nest_plan_choice(plan, pin, &is);
    nest_plan_choice(other, pin, &was);
    const bool differs = strcmp(nest_strbuf_text(&is), nest_strbuf_text(&was)) != 0;
    nest_strbuf_free(&is);
    nest_strbuf_free(&was);
    return differs && !(pin == NEST_PIN_SHARD && shares_among_all(&plan->strategy) &&
                        shares_among_all(&other->strategy));
}

void nest_plan_difference(const struct nest_plan *plan, const struct nest_plan *other,
                          const char *gap, struct nest_strbuf *out)
{
    for (int pin = 0; pin <= NEST_PINS; pin++) {
        if (nest_plan_chosen_apart(plan, other, pin)) {
            nest_strbuf_printf(out, "%s%s ", out->length > 0 ? gap : "", nest_knob_label(pin));
            nest_plan_choice(plan, pin, out);
        }
    }
    if (out->length == 0 && nest_plan_compare(plan, 0, other, 0) != 0) {
        nest_strbuf_add(out, "stages cut differently");
    }
}

static const char *time_text(nest_ps time, char *out, size_t size)
{
    return time > 0 ? nest_unit_format(nest_to_seconds(time), NEST_UNIT_SECONDS, out, size)
                    : "no plan";
}

void nest_change_outcome(const struct nest_change *change, struct nest_strbuf *out)
{
    char before[64];
    char after[64];
    nest_strbuf_printf(out, "%s → %s%s%s", time_text(change->before, before, sizeof before),
                       time_text(change->after, after, sizeof after), change->delta ? "  " : "",
                       change->delta ? change->delta : "");
}

void nest_stage_text(const struct nest_plan_stage *stage, struct nest_strbuf *out)
{
    const struct nest_range *first = &stage->layers[0];
    if (stage->ranges > 1) {
        nest_strbuf_printf(out, "%d×%" PRId64, stage->ranges, first->high - first->low + 1);
    } else {
        nest_strbuf_printf(out, "%" PRId64 "–%" PRId64, first->low, first->high);
    }
}
