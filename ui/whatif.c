/* The window on other values of what has the focus: the step with each, filled in as it is solved;
 * Enter takes one. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "session/report.h"
#include "ui/app.h"

enum { BAR = 16, TEXT = 32, POINTS = 32, CELL = 3 };

/* A bar of so many of BAR columns. */
static void add_bar(double share, char *out)
{
    const int columns = (int)(share * BAR + 0.5);
    *out = '\0';
    for (int i = 0; i < BAR; i++) {
        memcpy(out + strlen(out), i < columns ? "▇" : " ", i < columns ? CELL + 1 : 2);
    }
}

static nest_ps slowest(const struct nest_whatif_point *point, int count)
{
    nest_ps most = 1;
    for (int i = 0; i < count; i++) {
        most = point[i].step > most ? point[i].step : most;
    }
    return most;
}

static nest_ps present_step(const struct nest_whatif_point *point, int count)
{
    for (int i = 0; i < count; i++) {
        if (point[i].present) {
            return point[i].step;
        }
    }
    return 0;
}

/* "+2.4%", or the time itself where that would read as nothing. */
static void add_delta(const struct nest_whatif_point *point, nest_ps present, char out[TEXT])
{
    const double percent =
        present > 0 ? 100.0 * (double)(point->step - present) / (double)present : 0;
    const double move = nest_to_seconds(point->step - present);
    char time[TEXT / 2];
    *out = '\0';
    if (point->present) {
        (void)snprintf(out, TEXT, "now");
    } else if (present > 0 && point->step == present) {
        (void)snprintf(out, TEXT, "same");
    } else if (present > 0 && (percent >= 0.05 || percent <= -0.05)) {
        (void)snprintf(out, TEXT, "%+.1f%%", percent);
    } else if (present > 0) {
        (void)snprintf(
            out, TEXT, "%c%s", move < 0 ? '-' : '+',
            nest_unit_format(move < 0 ? -move : move, NEST_UNIT_SECONDS, time, sizeof time));
    }
}

/* "50 GB/s   6.83 s  ▇▇▇▇▇▇    +2.4%  tp 2  pp 4". */
static const char *line_of(const struct nest_whatif_point *point, int width, nest_ps most,
                           nest_ps present, struct nest_arena *arena)
{
    char step[TEXT];
    char bar[BAR * CELL + 1];
    char delta[TEXT];
    if (!point->done) {
        return nest_arena_printf(arena, "%*s         …", width, point->text);
    }
    if (point->step == 0) {
        return nest_arena_printf(arena, "%*s    no plan fits", width, point->text);
    }
    (void)nest_unit_format(nest_to_seconds(point->step), NEST_UNIT_SECONDS, step, sizeof step);
    add_bar((double)point->step / (double)most, bar);
    add_delta(point, present, delta);
    return nest_arena_printf(arena, "%*s  %8s  %s %8s  %s", width, point->text, step, bar, delta,
                             point->plan);
}

/* The window's lines, with the mark where it was. */
static void fill(struct nest_app *app, bool fresh)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    int count = 0;
    const struct nest_whatif_point *point = nest_whatif_points(app->whatif, &count);
    const char *line[POINTS + 1] = {NULL};
    const nest_ps most = slowest(point, count);
    const nest_ps present = present_step(point, count);
    int width = 0;
    int cursor = app->popup.cursor;
    for (int i = 0; i < count; i++) {
        const int length = (int)strlen(point[i].text);
        width = length > width ? length : width;
        cursor = fresh && point[i].present ? i : cursor;
    }
    for (int i = 0; i < count && i < POINTS; i++) {
        line[i] = line_of(&point[i], width, most, present, &arena);
    }
    char filter[NEST_POPUP_FILTER] = "";
    if (!fresh) {
        (void)snprintf(filter, sizeof filter, "%s", app->popup.filter);
    }
    nest_popup_list(&app->popup, app->whatif_title, line, NULL);
    nest_popup_filter(&app->popup, filter);
    app->popup.cursor = cursor < app->popup.count ? cursor : 0;
    app->popup_use = NEST_FOR_WHATIF;
    nest_arena_free(&arena);
}

void nest_app_ask_whatif(struct nest_app *app)
{
    const struct nest_knob *knob = nest_plan_view_knob(&app->plan, app->snapshot);
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    app->whatif_waits = app->snapshot->solving;
    if (app->whatif_waits) {
        nest_app_say(app, NEST_ROLE_DIM, "once the search is done …");
        return;
    }
    if (knob &&
        nest_app_report(app, nest_whatif_start(app->whatif, knob->path, &errors), &errors)) {
        (void)snprintf(app->knob_path, sizeof app->knob_path, "%s", knob->path);
        app->knob_is_pin = knob->kind == NEST_KNOB_PIN;
        (void)snprintf(app->whatif_title, sizeof app->whatif_title, "What if: %.60s", knob->name);
        nest_popup_close(&app->popup);
        app->whatif_wanted = true;
    }
    nest_arena_free(&arena);
}

void nest_app_drop_whatif(struct nest_app *app)
{
    app->whatif_waits = false;
    if (app->whatif_wanted) {
        app->whatif_wanted = false;
        (void)nest_whatif_cancel(app->whatif);
    }
}

bool nest_app_collect_whatif(struct nest_app *app)
{
    if (app->whatif_waits && !app->snapshot->solving) {
        app->whatif_waits = false;
        app->message[0] = '\0';
        if (app->popup.kind == NEST_POPUP_NONE && app->asking == NEST_ASKING_NOTHING) {
            nest_app_ask_whatif(app);
        }
    }
    if (!nest_whatif_collect(app->whatif)) {
        return false;
    }
    int count = 0;
    (void)nest_whatif_points(app->whatif, &count);
    const bool open = app->popup.kind == NEST_POPUP_LIST && app->popup_use == NEST_FOR_WHATIF;
    if (count > 0 && (app->whatif_wanted || open)) {
        fill(app, app->whatif_wanted);
        app->whatif_wanted = false;
    }
    return true;
}

enum nest_status nest_app_take_whatif(struct nest_app *app, int index, struct nest_errors *errors)
{
    int count = 0;
    const struct nest_whatif_point *point = nest_whatif_points(app->whatif, &count);
    (void)nest_whatif_cancel(app->whatif);
    if (index >= count || point[index].present) {
        return NEST_OK;
    }
    return app->knob_is_pin
               ? nest_session_pin(app->session, app->knob_path, point[index].value, errors)
               : nest_maker_set(app->maker, app->knob_path, point[index].value, errors);
}
