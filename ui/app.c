#include "ui/app.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/views/frame.h"
#include "ui/views/lesson.h"

enum { TEXT_MAX = 1 << 16 };

/* ---- Life ---- */

bool nest_app_open(struct nest_app *app, struct nest_session *session, struct nest_screen *screen)
{
    *app = (struct nest_app){.session = session, .screen = screen};
    nest_plan_view_init(&app->plan);
    (void)nest_console_open(session, &app->console);
    (void)nest_lesson_start(session, &app->lesson);
    (void)nest_watch_open(session, app->console, &app->watch);
    const bool fine = nest_maker_open(session, app->console, &app->maker) == NEST_OK &&
                      nest_whatif_open(session, &app->whatif) == NEST_OK;
    nest_lua_view_init(&app->lua, app->console);
    if (fine) {
        nest_app_refresh(app);
    }
    if (app->snapshot) {
        (void)nest_plan_view_act(&app->plan, app->snapshot, NEST_ACTION_FIRST);
    }
    return app->snapshot != NULL;
}

void nest_app_close(struct nest_app *app)
{
    nest_popup_close(&app->popup);
    nest_snapshot_release(app->snapshot);
    nest_history_free(&app->commands);
    nest_history_free(&app->finds);
    nest_history_free(&app->values);
    nest_history_free(&app->files);
    nest_lesson_close(app->lesson);
    nest_whatif_close(app->whatif);
    nest_maker_close(app->maker);
    nest_watch_close(app->watch);
    nest_console_close(app->console);
    nest_session_close(app->session);
}

const struct nest_layout *nest_app_layout(const struct nest_app *app)
{
    return app->view == NEST_VIEW_LUA ? &app->lua.layout : &app->plan.layout;
}

static struct nest_hotspots *hotspots_of(struct nest_app *app)
{
    return app->view == NEST_VIEW_LUA ? &app->lua.hotspots : &app->plan.hotspots;
}

/* ---- Messages ---- */

void nest_app_say(struct nest_app *app, enum nest_role role, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(app->message, sizeof app->message, format, args);
    va_end(args);
    app->message_role = role;
}

bool nest_app_report(struct nest_app *app, enum nest_status status,
                     const struct nest_errors *errors)
{
    if (status == NEST_OK) {
        return true;
    }
    if (errors->count == 0) {
        nest_app_say(app, NEST_ROLE_BAD, "out of memory");
        return false;
    }
    const struct nest_error *error = &errors->item[0];
    char where[256] = "";
    if (error->mark.file && error->mark.line > 0) {
        (void)snprintf(where, sizeof where, "%.200s:%d:%d: ", error->mark.file, error->mark.line,
                       error->mark.column);
    } else if (error->mark.file) {
        (void)snprintf(where, sizeof where, "%.200s: ", error->mark.file);
    }
    nest_app_say(app, status == NEST_NO ? NEST_ROLE_WARN : NEST_ROLE_BAD, "%s%s%s%s", where,
                 error->message, error->hint ? "; " : "", error->hint ? error->hint : "");
    return false;
}

/* ---- Actions ---- */

unsigned nest_app_contexts(const struct nest_app *app)
{
    switch (app->popup.kind) {
    case NEST_POPUP_LIST:
        return NEST_CONTEXT_LIST;
    case NEST_POPUP_TEXT:
        return NEST_CONTEXT_TEXT;
    default:
        return app->view == NEST_VIEW_LUA
                   ? NEST_CONTEXT_LUA
                   : nest_plan_view_contexts(&app->plan) |
                         (app->view == NEST_VIEW_LESSON ? NEST_CONTEXT_LESSON : 0);
    }
}

bool nest_app_save(struct nest_app *app, const char *path)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    const bool saved =
        nest_app_report(app, nest_session_save(app->session, path, &errors), &errors);
    nest_arena_free(&arena);
    nest_app_refresh(app);
    if (saved) {
        nest_app_say(app, NEST_ROLE_GOOD, "saved %s%s", app->snapshot->file,
                     app->snapshot->overrides ? ", without the overrides of the console" : "");
    }
    return saved;
}

void nest_app_save_or_ask(struct nest_app *app)
{
    if (app->snapshot->file) {
        if (nest_app_save(app, NULL) && app->quit_after_save) {
            app->done = true;
        }
        return;
    }
    app->asking = NEST_ASKING_FILE;
    nest_prompt_open(&app->prompt, "save as: ", "scenario.yaml", &app->files);
}

void nest_app_quit(struct nest_app *app)
{
    app->quit_after_save = false;
    if (!app->snapshot->dirty) {
        app->done = true;
        return;
    }
    app->asking = NEST_ASKING_QUIT;
}

static void change(struct nest_app *app, enum nest_action action)
{
    const struct nest_knob *knob = nest_plan_view_knob(&app->plan, app->snapshot);
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    enum nest_status status = NEST_OK;
    nest_errors_init(&errors, &arena);
    const bool up = action == NEST_ACTION_UP_STEP || action == NEST_ACTION_UP_BIG;
    const bool big = action == NEST_ACTION_UP_BIG || action == NEST_ACTION_DOWN_BIG;
    if (action == NEST_ACTION_ADOPT) {
        status = nest_session_adopt(app->session, app->plan.focus.index, &errors);
    } else if (knob && action == NEST_ACTION_PIN) {
        status = nest_session_toggle(app->session, knob->path, &errors);
    } else if (knob) {
        status = nest_maker_nudge(app->maker, knob->path, up ? 1 : -1, big, &errors);
    }
    (void)nest_app_report(app, status, &errors);
    nest_arena_free(&arena);
    nest_app_refresh(app);
}

static void ask_value(struct nest_app *app)
{
    const struct nest_knob *knob = nest_plan_view_knob(&app->plan, app->snapshot);
    char label[96];
    if (!knob) {
        return;
    }
    (void)snprintf(app->knob_path, sizeof app->knob_path, "%s", knob->path);
    app->knob_is_pin = knob->kind == NEST_KNOB_PIN;
    (void)snprintf(label, sizeof label, "%s: ", knob->name);
    app->asking = NEST_ASKING_VALUE;
    nest_prompt_open(&app->prompt, label,
                     app->knob_is_pin && !knob->pinned ? knob->text : knob->exact, &app->values);
}

static void step_history(struct nest_app *app, bool undo)
{
    if (undo && nest_maker_cancel(app->maker)) {
        return; /* what is under way is what was changed last */
    }
    const bool moved = undo ? nest_session_undo(app->session) : nest_session_redo(app->session);
    if (!moved) {
        nest_app_say(app, NEST_ROLE_WARN, undo ? "nothing to undo" : "nothing to redo");
    }
    nest_app_refresh(app);
}

static void choose(struct nest_app *app, enum nest_popup_use use)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    const bool model = use == NEST_FOR_MODEL;
    const char **names = nest_session_names(app->session, model ? "models" : "topologies", &arena);
    nest_popup_list(&app->popup, model ? "Model" : "Cluster", (const char *const *)names,
                    model ? app->snapshot->scenario->model.id
                          : app->snapshot->scenario->cluster.id);
    app->popup_use = use;
    nest_arena_free(&arena);
}

static void show_detail(struct nest_app *app)
{
    struct nest_strbuf title = NEST_STRBUF_INIT(256);
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    nest_plan_view_detail(&app->plan, app->snapshot, &title, &text);
    if (text.length > 0) {
        nest_popup_text(&app->popup, nest_strbuf_text(&title), nest_strbuf_text(&text));
        app->popup_use = NEST_FOR_READING;
    } else {
        nest_app_say(app, NEST_ROLE_WARN, "there is no plan yet");
    }
    nest_strbuf_free(&title);
    nest_strbuf_free(&text);
}

/* In a window only its lines are looked at. */
static void ask_find(struct nest_app *app)
{
    const bool window = app->popup.kind != NEST_POPUP_NONE;
    app->asking = window ? NEST_ASKING_FILTER : NEST_ASKING_FIND;
    nest_prompt_open(&app->prompt, "/", window ? app->popup.filter : "",
                     window ? NULL : &app->finds);
}

void nest_app_find(struct nest_app *app, int direction)
{
    if (!app->found[0]) {
        nest_app_say(app, NEST_ROLE_WARN, "nothing was searched for yet");
    } else if (!nest_plan_view_find(&app->plan, app->snapshot, app->found, direction)) {
        nest_app_say(app, NEST_ROLE_WARN, "'%.100s' is nowhere here", app->found);
    }
}

void nest_app_accept(struct nest_app *app)
{
    char name[256];
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    if (app->popup.count > 0 && app->popup_use == NEST_FOR_LESSON) {
        const int number = (int)strtol(app->popup.line[app->popup.cursor], NULL, 10);
        nest_popup_close(&app->popup);
        (void)nest_app_open_lesson(app, number);
    } else if (app->popup.count > 0) {
        (void)snprintf(name, sizeof name, "%s", app->popup.line[app->popup.cursor]);
        const enum nest_status status =
            app->popup_use == NEST_FOR_WHATIF
                ? nest_app_take_whatif(app, nest_popup_marked(&app->popup), &errors)
            : app->popup_use == NEST_FOR_MODEL ? nest_session_model(app->session, name, &errors)
                                               : nest_maker_cluster(app->maker, name, &errors);
        (void)nest_app_report(app, status, &errors);
    }
    nest_arena_free(&arena);
    nest_popup_close(&app->popup);
    nest_app_refresh(app);
}

static void cancel(struct nest_app *app)
{
    if (nest_maker_cancel(app->maker) || (app->watch && nest_watch_cancel(app->watch))) {
        return; /* it says so itself once it has stopped */
    }
    if (nest_whatif_cancel(app->whatif)) {
        nest_app_say(app, NEST_ROLE_WARN, "stopped");
        return;
    }
    if (nest_session_cancel(app->session)) {
        nest_app_say(app, NEST_ROLE_WARN, "search stopped");
        return;
    }
    if (app->view == NEST_VIEW_LUA) {
        nest_app_say(app, NEST_ROLE_DIM, "nothing runs; F10 quits");
        return;
    }
    nest_popup_close(&app->popup);
    app->status = 130;
    nest_app_quit(app);
}

void nest_app_show(struct nest_app *app, enum nest_view view)
{
    if (view == NEST_VIEW_LESSON && (nest_app_lesson_number(app) == 0 || app->view == view)) {
        nest_app_choose_lesson(app);
        return;
    }
    if (view == NEST_VIEW_LUA && !app->console) {
        nest_app_say(app, NEST_ROLE_BAD, "out of memory");
        return;
    }
    app->below = view == NEST_VIEW_LUA ? app->below : view;
    app->view = view;
    app->plan.lesson = view == NEST_VIEW_LESSON;
}

/* What the view that is shown does by itself. */
static bool act_in_view(struct nest_app *app, enum nest_action action)
{
    switch (app->view) {
    case NEST_VIEW_LUA:
        return nest_lua_view_act(&app->lua, action);
    case NEST_VIEW_LESSON:
        return nest_app_act_in_lesson(app, action);
    default:
        return nest_plan_view_act(&app->plan, app->snapshot, action);
    }
}

/* Takes away what was put on last: a window's filter, the window, the console. */
static void go_back(struct nest_app *app)
{
    if (app->popup.filter[0]) {
        nest_popup_filter(&app->popup, "");
        return;
    }
    (void)nest_whatif_cancel(app->whatif);
    if (app->popup.kind == NEST_POPUP_NONE && app->view == NEST_VIEW_LUA) {
        nest_app_show(app, app->below);
    }
    nest_popup_close(&app->popup);
}

void nest_app_act(struct nest_app *app, enum nest_action action)
{
    if (app->popup.kind != NEST_POPUP_NONE && nest_popup_act(&app->popup, action)) {
        return;
    }
    if (app->popup.kind == NEST_POPUP_NONE && act_in_view(app, action)) {
        if (app->view == NEST_VIEW_LUA) {
            nest_app_refresh(app);
        }
        return;
    }
    switch (action) {
    case NEST_ACTION_DOWN_STEP:
    case NEST_ACTION_UP_STEP:
    case NEST_ACTION_DOWN_BIG:
    case NEST_ACTION_UP_BIG:
    case NEST_ACTION_PIN:
    case NEST_ACTION_ADOPT:
        change(app, action);
        break;
    case NEST_ACTION_EDIT:
        ask_value(app);
        break;
    case NEST_ACTION_DETAIL:
        show_detail(app);
        break;
    case NEST_ACTION_WHAT_IF:
        nest_app_ask_whatif(app);
        break;
    case NEST_ACTION_UNDO:
    case NEST_ACTION_REDO:
        step_history(app, action == NEST_ACTION_UNDO);
        break;
    case NEST_ACTION_MODELS:
        choose(app, NEST_FOR_MODEL);
        break;
    case NEST_ACTION_CLUSTERS:
        choose(app, NEST_FOR_CLUSTER);
        break;
    case NEST_ACTION_FIND:
        ask_find(app);
        break;
    case NEST_ACTION_FIND_NEXT:
    case NEST_ACTION_FIND_PREVIOUS:
        nest_app_find(app, action == NEST_ACTION_FIND_NEXT ? 1 : -1);
        break;
    case NEST_ACTION_COMMAND:
        app->asking = NEST_ASKING_COMMAND;
        nest_prompt_open(&app->prompt, ":", "", &app->commands);
        break;
    case NEST_ACTION_COPY:
        nest_app_show_command(app);
        break;
    case NEST_ACTION_SAVE:
        nest_app_save_or_ask(app);
        break;
    case NEST_ACTION_HELP:
        nest_app_help(app);
        break;
    case NEST_ACTION_ACCEPT:
        nest_app_accept(app);
        break;
    case NEST_ACTION_VIEW_PLAN:
        nest_app_show(app, NEST_VIEW_PLAN);
        break;
    case NEST_ACTION_VIEW_LUA:
        nest_app_show(app, NEST_VIEW_LUA);
        break;
    case NEST_ACTION_VIEW_LESSON:
        nest_app_show(app, NEST_VIEW_LESSON);
        break;
    case NEST_ACTION_BACK:
        go_back(app);
        break;
    case NEST_ACTION_CANCEL:
        cancel(app);
        break;
    case NEST_ACTION_REPAINT:
        if (app->screen) {
            nest_screen_repaint(app->screen);
        }
        break;
    case NEST_ACTION_SUSPEND:
        if (app->screen) {
            nest_screen_suspend(app->screen);
        }
        break;
    case NEST_ACTION_QUIT:
        nest_app_quit(app);
        break;
    default:
        break;
    }
}

/* ---- Events ---- */

/* What concerns the terminal works whatever is open, questions too. */
static bool handle_terminal_key(struct nest_app *app, uint32_t key)
{
    const enum nest_action action = nest_action_of_key(key, NEST_CONTEXT_TEXT);
    if (action != NEST_ACTION_SUSPEND && action != NEST_ACTION_REPAINT) {
        return false;
    }
    nest_app_act(app, action);
    return true;
}

/* An action of what has the focus, or text for it. */
static void handle_focus(struct nest_app *app, uint32_t key)
{
    const unsigned contexts = nest_app_contexts(app);
    const bool typing = contexts == NEST_CONTEXT_LUA;
    /* Where nothing has lines, Ctrl-J is Enter. */
    const uint32_t meant = key == NEST_KEY_NEW_LINE && !typing ? NEST_KEY_ENTER : key;
    const enum nest_action action = nest_action_of_key(meant, contexts);
    if (action != NEST_ACTION_NONE) {
        nest_app_act(app, action);
    } else if (typing) {
        nest_lua_view_key(&app->lua, key);
    }
}

static void handle_key(struct nest_app *app, uint32_t key)
{
    if (handle_terminal_key(app, key)) {
        return;
    }
    app->message[0] = '\0';
    nest_app_drop_whatif(app);
    if (app->too_small && app->asking == NEST_ASKING_NOTHING) {
        if (key == 'q' || key == 'C' - '@') {
            nest_popup_close(&app->popup);
            app->done = !app->snapshot->dirty;
            app->asking = NEST_ASKING_QUIT;
        }
        return;
    }
    if (app->asking == NEST_ASKING_QUIT) {
        nest_app_answer_quit(app, key);
    } else if (app->asking != NEST_ASKING_NOTHING) {
        nest_app_type(app, key);
    } else {
        handle_focus(app, key);
    }
}

/* Text for whatever takes text; newlines end nothing, and keys do nothing elsewhere. */
static void handle_pasted(struct nest_app *app, uint32_t key)
{
    const bool newline = key == NEST_KEY_ENTER || key == NEST_KEY_NEW_LINE;
    if (app->asking != NEST_ASKING_NOTHING && app->asking != NEST_ASKING_QUIT) {
        if (newline || key == NEST_KEY_TAB || (key >= ' ' && key < 0x110000)) {
            nest_app_type(app, newline || key == NEST_KEY_TAB ? ' ' : key);
        }
    } else if (app->view == NEST_VIEW_LUA && app->popup.kind == NEST_POPUP_NONE) {
        nest_lua_view_paste(&app->lua, key);
    }
}

static void handle_click(struct nest_app *app, int x, int y)
{
    const struct nest_hotspot *hit = nest_hotspot_at(hotspots_of(app), x, y);
    if (!hit || (app->asking != NEST_ASKING_NOTHING && app->asking != NEST_ASKING_FILTER)) {
        return;
    }
    app->asking = NEST_ASKING_NOTHING;
    const struct nest_hotspot at = *hit;
    app->message[0] = '\0';
    if (app->popup.kind == NEST_POPUP_LIST && at.action == NEST_ACTION_ACCEPT) {
        app->popup.cursor = at.spot.index;
        nest_app_act(app, NEST_ACTION_ACCEPT);
        return;
    }
    const bool again = nest_spot_equal(at.spot, app->plan.focus);
    if (at.spot.pane != NEST_PANE_NONE) {
        app->plan.focus = at.spot;
    }
    if (at.action != NEST_ACTION_NONE) {
        nest_app_act(app, at.action);
    } else if (again) {
        nest_app_act(app, nest_action_of_key(NEST_KEY_ENTER, nest_app_contexts(app)));
    }
}

/* The wheel moves what lies under the pointer. */
static void handle_wheel(struct nest_app *app, const struct nest_event *event)
{
    const struct nest_hotspot *hit = nest_hotspot_at(hotspots_of(app), event->x, event->y);
    if (app->asking != NEST_ASKING_NOTHING && app->asking != NEST_ASKING_FILTER) {
        return;
    }
    const bool up = event->kind == NEST_EVENT_WHEEL_UP;
    if (app->popup.kind == NEST_POPUP_NONE && app->view == NEST_VIEW_LESSON &&
        nest_rect_contains(app->plan.layout.lesson, event->x, event->y)) {
        app->lesson_scroll += up ? -1 : 1;
        return;
    }
    if (app->popup.kind == NEST_POPUP_NONE && hit && hit->spot.pane != NEST_PANE_NONE &&
        hit->spot.pane != app->plan.focus.pane) {
        app->plan.focus = hit->spot;
    }
    nest_app_act(app, up ? NEST_ACTION_CURSOR_UP : NEST_ACTION_CURSOR_DOWN);
}

void nest_app_handle(struct nest_app *app, const struct nest_event *event)
{
    switch (event->kind) {
    case NEST_EVENT_KEY:
        if (app->pasting) {
            handle_pasted(app, event->key);
        } else if (event->key != NEST_KEY_NONE) {
            handle_key(app, event->key);
        }
        break;
    case NEST_EVENT_PASTE_BEGIN:
    case NEST_EVENT_PASTE_END:
        app->pasting = event->kind == NEST_EVENT_PASTE_BEGIN;
        break;
    case NEST_EVENT_CLICK:
        handle_click(app, event->x, event->y);
        break;
    case NEST_EVENT_WHEEL_UP:
    case NEST_EVENT_WHEEL_DOWN:
        handle_wheel(app, event);
        break;
    default:
        break;
    }
}

/* ---- Drawing ---- */

/* The inside of the view that is shown, and a line on what it shows; returns that line's role. */
static enum nest_role draw_view(struct nest_app *app, struct nest_canvas *canvas,
                                struct nest_strbuf *about)
{
    if (app->view == NEST_VIEW_LUA) {
        nest_lua_view_draw(&app->lua, canvas);
        return nest_lua_view_describe(&app->lua, app->snapshot, about);
    }
    nest_plan_view_draw(&app->plan, app->snapshot, canvas);
    if (app->view == NEST_VIEW_LESSON) {
        const struct nest_lesson_report report = nest_lesson_report(app->lesson);
        nest_lesson_draw(&report, canvas, app->plan.layout.lesson, &app->lesson_scroll);
    }
    nest_plan_view_describe(&app->plan, app->snapshot, about);
    return NEST_ROLE_DIM;
}

static void draw_too_small(struct nest_app *app, struct nest_canvas *canvas)
{
    hotspots_of(app)->count = 0;
    nest_frame_draw_too_small(canvas);
    if (app->asking == NEST_ASKING_QUIT) {
        nest_app_draw_question(app, canvas);
    }
}

/* The script or file that is at work, NULL: none. */
static const char *doing(const struct nest_app *app)
{
    const char *made = nest_maker_doing(app->maker);
    return made ? made : app->watch ? nest_watch_doing(app->watch) : NULL;
}

void nest_app_draw(struct nest_app *app, struct nest_canvas *canvas)
{
    nest_canvas_clear(canvas);
    app->too_small =
        canvas->width < NEST_LAYOUT_LEAST_WIDTH || canvas->height < NEST_LAYOUT_LEAST_HEIGHT;
    if (app->too_small) {
        draw_too_small(app, canvas);
        return;
    }
    struct nest_strbuf about = NEST_STRBUF_INIT(1024);
    const enum nest_role role = draw_view(app, canvas, &about);
    const struct nest_frame frame = {
        .view = app->view,
        .lesson = nest_app_lesson_number(app) > 0,
        .snapshot = app->snapshot,
        .doing = doing(app),
        .layout = nest_app_layout(app),
        .note = app->message[0]    ? app->message
                : about.length > 0 ? nest_strbuf_text(&about)
                                   : NULL,
        .note_role = app->message[0] ? app->message_role : role,
        .contexts = nest_app_contexts(app),
        .keys = app->asking == NEST_ASKING_NOTHING,
    };
    nest_frame_draw(&frame, canvas, hotspots_of(app));
    if (app->popup.kind != NEST_POPUP_NONE) {
        canvas->cursor_x = canvas->cursor_y = -1;
        nest_popup_draw(&app->popup, canvas, hotspots_of(app));
    }
    nest_app_draw_question(app, canvas);
    nest_strbuf_free(&about);
}
