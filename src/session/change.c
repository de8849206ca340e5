#include "session/change.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "input/set.h"
#include "script/home.h"
#include "session/knob.h"
#include "session/report.h"

enum { TEXT_MAX = 1024, TIME = 32, NAMED_EDITS = 2 };

static const char *keep(struct nest_strbuf *text, struct nest_arena *arena)
{
    const char *kept = text->length > 0 ? nest_arena_strdup(arena, nest_strbuf_text(text)) : NULL;
    nest_strbuf_free(text);
    return kept;
}

/* ---- Edits ---- */

struct edit_text {
    struct nest_strbuf text;
    int count;
};

static void add_edit(struct edit_text *out, const char *name, const char *before, const char *after)
{
    if (out->count++ < NAMED_EDITS) {
        nest_strbuf_printf(&out->text, "%s%s %s → %s", out->text.length > 0 ? ", " : "", name,
                           before, after);
    }
}

static const char *shown_pin(const char *exact)
{
    return exact[0] ? exact : "free";
}

static void knob_edits(const struct nest_document *before, const struct nest_document *after,
                       struct nest_arena *scratch, struct edit_text *out)
{
    int olds = 0;
    int news = 0;
    const struct nest_knob *old = nest_knobs(before, NULL, NULL, scratch, &olds);
    const struct nest_knob *new = nest_knobs(after, NULL, NULL, scratch, &news);
    for (int i = 0; i < news && old; i++) {
        const struct nest_knob *was = nest_knob_find(old, olds, new[i].path);
        if (!was || strcmp(was->exact, new[i].exact) == 0) {
            continue;
        }
        if (new[i].kind == NEST_KNOB_PIN) {
            add_edit(out, new[i].label, shown_pin(was->exact), shown_pin(new[i].exact));
        } else {
            add_edit(out, new[i].kind == NEST_KNOB_SETTING ? new[i].label : new[i].name, was->text,
                     new[i].text);
        }
    }
}

/* Everything that can be set but is no knob. Slow, and so only asked when the knobs agree. */
static void other_edits(const struct nest_document *before, const struct nest_document *after,
                        struct nest_arena *scratch, struct edit_text *out)
{
    const char **path = nest_paths(&after->scenario, scratch);
    for (; path && *path; path++) {
        const char *was = nest_get(&before->scenario, *path, scratch);
        const char *is = nest_get(&after->scenario, *path, scratch);
        if (was && is && strcmp(was, is) != 0) {
            add_edit(out, *path, was, is);
        }
    }
}

/* What chunks of the console put on the scenario. */
static void override_edit(const struct nest_functions *before, const struct nest_functions *after,
                          struct edit_text *out)
{
    struct nest_strbuf was = NEST_STRBUF_INIT(TEXT_MAX);
    struct nest_strbuf is = NEST_STRBUF_INIT(TEXT_MAX);
    nest_hooks_format(before ? before->hooks : 0, &was);
    nest_hooks_format(after ? after->hooks : 0, &is);
    const bool alike = strcmp(nest_strbuf_text(&was), nest_strbuf_text(&is)) == 0;
    add_edit(out, "overrides", was.length > 0 ? nest_strbuf_text(&was) : "none",
             alike           ? "others"
             : is.length > 0 ? nest_strbuf_text(&is)
                             : "none");
    nest_strbuf_free(&was);
    nest_strbuf_free(&is);
}

static bool differ(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") != 0;
}

const char *nest_change_edits(const struct nest_document *before, const struct nest_document *after,
                              struct nest_arena *arena)
{
    struct nest_arena scratch = NEST_ARENA_INIT;
    struct edit_text out = {NEST_STRBUF_INIT(TEXT_MAX), 0};
    const struct nest_scenario_spec *was = &before->scenario;
    const struct nest_scenario_spec *is = &after->scenario;
    const bool model = differ(was->model.id, is->model.id);
    const bool cluster = differ(was->cluster.id, is->cluster.id);
    if (model) {
        add_edit(&out, "model", was->model.name, is->model.name);
    }
    if (cluster) {
        add_edit(&out, "cluster", was->cluster.name, is->cluster.name);
    }
    if (!model && !cluster) {
        knob_edits(before, after, &scratch, &out);
    }
    if (before->functions != after->functions) {
        override_edit(before->functions, after->functions, &out);
    }
    if (out.count == 0) {
        other_edits(before, after, &scratch, &out);
    }
    if (out.count > NAMED_EDITS) {
        nest_strbuf_printf(&out.text, " and %d more", out.count - NAMED_EDITS);
    }
    nest_arena_free(&scratch);
    return keep(&out.text, arena);
}

/* ---- Plans ---- */

/* Every order begins with tp and cp: what follows tells them apart. */
static const char *without_start(const char *choice)
{
    static const char start[] = "tp-cp-";
    return strncmp(choice, start, sizeof start - 1) == 0 ? choice + sizeof start - 1 : choice;
}

static const char *plan_change(const struct nest_plan *before, const struct nest_plan *after,
                               struct nest_arena *arena)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    for (int pin = 0; pin <= NEST_PINS; pin++) {
        struct nest_strbuf was = NEST_STRBUF_INIT(TEXT_MAX);
        struct nest_strbuf is = NEST_STRBUF_INIT(TEXT_MAX);
        nest_plan_choice(before, pin, &was);
        nest_plan_choice(after, pin, &is);
        if (nest_plan_chosen_apart(before, after, pin)) {
            nest_strbuf_printf(&text, "%s%s %s → %s", text.length > 0 ? ", " : "",
                               nest_knob_label(pin), without_start(nest_strbuf_text(&was)),
                               without_start(nest_strbuf_text(&is)));
        }
        nest_strbuf_free(&was);
        nest_strbuf_free(&is);
    }
    if (text.length == 0 && nest_plan_compare(before, 0, after, 0) != 0) {
        nest_strbuf_add(&text, "stages cut differently");
    }
    return keep(&text, arena);
}

/* ---- Why ---- */

/* The part of the step that differs most: "dp +0.31 s". False when nothing moves. */
static bool biggest_move(const struct nest_prediction *before, const struct nest_prediction *after,
                         char *out, size_t size)
{
    struct nest_part was[NEST_STEP_PARTS];
    struct nest_part is[NEST_STEP_PARTS];
    nest_step_parts(before, was);
    nest_step_parts(after, is);
    int most = 0;
    for (int i = 1; i < NEST_STEP_PARTS; i++) {
        const double move = is[i].value - was[i].value;
        const double best = is[most].value - was[most].value;
        most = (move < 0 ? -move : move) > (best < 0 ? -best : best) ? i : most;
    }
    const double move = is[most].value - was[most].value;
    char time[TIME];
    (void)snprintf(out, size, "%s %s%s", is[most].name, move < 0 ? "−" : "+",
                   nest_unit_format(move < 0 ? -move : move, NEST_UNIT_SECONDS, time, sizeof time));
    return move != 0;
}

static const char *memory_reason(const struct nest_prediction *prediction, struct nest_arena *arena)
{
    const struct nest_memory *memory = &prediction->stage[prediction->worst_stage].memory;
    char need[TIME];
    char over[TIME];
    return nest_arena_printf(
        arena, "the plan before would need %s on stage %d, %s over the limit",
        nest_unit_format((double)memory->total, NEST_UNIT_BYTES, need, sizeof need),
        prediction->worst_stage,
        nest_unit_format(
            (double)(memory->total - nest_stage_limit(prediction, prediction->worst_stage)),
            NEST_UNIT_BYTES, over, sizeof over));
}

static const char *same_plan_reason(const struct nest_prediction *before,
                                    const struct nest_prediction *after, struct nest_arena *arena)
{
    char move[TEXT_MAX];
    return biggest_move(before, after, move, sizeof move)
               ? nest_arena_printf(arena, "same plan: %s", move)
               : nest_arena_strdup(arena, "same plan, nothing in it depends on this");
}

static const char *new_plan_reason(const struct nest_prediction *before,
                                   const struct nest_prediction *kept,
                                   const struct nest_prediction *after, struct nest_arena *arena)
{
    char cost[TEXT_MAX];
    char gain[TEXT_MAX];
    char time[TIME];
    const bool costs = biggest_move(before, kept, cost, sizeof cost);
    (void)biggest_move(kept, after, gain, sizeof gain);
    return nest_arena_printf(
        arena, "the plan before would %stake %s%s%s%s; the new one: %s", costs ? "" : "still ",
        nest_unit_format(nest_to_seconds(kept->step), NEST_UNIT_SECONDS, time, sizeof time),
        costs ? " (" : "", costs ? cost : "", costs ? ")" : "", gain);
}

static const char *reason(const struct nest_solution *before, const struct nest_answer *recosted,
                          const struct nest_solution *after, bool same, struct nest_arena *arena)
{
    const struct nest_solution *kept = nest_answer_best(recosted);
    if (!after) {
        return kept && !kept->prediction.feasible
                   ? memory_reason(&kept->prediction, arena)
                   : nest_arena_strdup(arena, "no plan fits this scenario");
    }
    if (!before) {
        return nest_arena_strdup(arena, "there is a plan again");
    }
    if (same) {
        return same_plan_reason(&before->prediction, &after->prediction, arena);
    }
    if (!kept) {
        return nest_arena_strdup(arena, "the plan before is not possible any more");
    }
    if (kept->prediction.feasible && kept->prediction.step < after->prediction.step) {
        return nest_arena_strdup(arena, "the pins rule the plan before out");
    }
    return kept->prediction.feasible
               ? new_plan_reason(&before->prediction, &kept->prediction, &after->prediction, arena)
               : memory_reason(&kept->prediction, arena);
}

/* "+20.8%", "× 12" where that reads better, or the time itself where that would read as nothing. */
static const char *difference(nest_ps before, nest_ps after, struct nest_arena *arena)
{
    const double move = nest_to_seconds(after - before);
    char time[TIME];
    if (before == 0 || after == 0) {
        return NULL;
    }
    const double percent = 100 * move / nest_to_seconds(before);
    if (before == after) {
        return "no difference";
    }
    if (percent >= 1000) {
        return nest_arena_printf(arena, "× %.0f", nest_to_seconds(after) / nest_to_seconds(before));
    }
    if (percent > 0.05 || percent < -0.05) {
        return nest_arena_printf(arena, "%s%.1f%%", move < 0 ? "−" : "+",
                                 percent < 0 ? -percent : percent);
    }
    return nest_arena_printf(
        arena, "%s%s", move < 0 ? "−" : "+",
        nest_unit_format(move < 0 ? -move : move, NEST_UNIT_SECONDS, time, sizeof time));
}

void nest_change_explain(const struct nest_answer *earlier, const struct nest_answer *recosted,
                         struct nest_answer *answer)
{
    struct nest_arena *arena = &answer->arena;
    const struct nest_solution *before = nest_answer_best(earlier);
    const struct nest_solution *after = nest_answer_best(answer);
    const struct nest_solution *kept = nest_answer_best(recosted);
    struct nest_change *change = &answer->change;
    const char *cause = answer->document->cause;
    change->edit = nest_change_edits(earlier->document, answer->document, arena);
    if (!change->edit && cause) {
        change->edit = nest_arena_strdup(arena, cause);
    }
    change->before = before ? before->prediction.step : 0;
    change->after = after ? after->prediction.step : 0;
    change->kept = kept && kept->prediction.feasible ? kept->prediction.step : 0;
    change->delta = difference(change->before, change->after, arena);
    change->plan = before && after ? plan_change(&before->plan, &after->plan, arena) : NULL;
    change->why = reason(before, recosted, after, before && after && !change->plan, arena);
}

void nest_change_describe(struct nest_answer *answer)
{
    const struct nest_solution *best = nest_answer_best(answer);
    if (!best) {
        return;
    }
    struct nest_part part[NEST_STEP_PARTS];
    nest_step_parts(&best->prediction, part);
    int first = 0;
    for (int i = 1; i < NEST_STEP_PARTS; i++) {
        first = part[i].value > part[first].value ? i : first;
    }
    int second = first == 0 ? 1 : 0;
    for (int i = 0; i < NEST_STEP_PARTS; i++) {
        if (i != first && part[i].value > part[second].value) {
            second = i;
        }
    }
    char full[TIME];
    char limit[TIME];
    const struct nest_prediction *prediction = &best->prediction;
    /* Less than half a percent reads as nothing. */
    const char *then = part[second].share < 0.005
                           ? ""
                           : nest_arena_printf(&answer->arena, ", then %s (%.0f%%)",
                                               part[second].name, part[second].share * 100);
    answer->change.why = nest_arena_printf(
        &answer->arena, "the step is mostly %s (%.0f%%)%s; stage %d is fullest: %s of %s",
        part[first].name, part[first].share * 100, then ? then : "", prediction->worst_stage,
        nest_unit_format((double)prediction->stage[prediction->worst_stage].memory.total,
                         NEST_UNIT_BYTES, full, sizeof full),
        nest_unit_format((double)nest_stage_limit(prediction, prediction->worst_stage),
                         NEST_UNIT_BYTES, limit, sizeof limit));
}
