/* Lessons in the explorer: choosing, opening, going on. */
#include "ui/app.h"

int nest_app_lesson_number(const struct nest_app *app)
{
    return app->lesson ? nest_lesson_report(app->lesson).number : 0;
}

void nest_app_choose_lesson(struct nest_app *app)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    const char **names = nest_session_names(app->session, "scripts/lessons", &arena);
    nest_popup_list(&app->popup, "Lesson", (const char *const *)names, NULL);
    app->popup_use = NEST_FOR_LESSON;
    nest_arena_free(&arena);
}

bool nest_app_open_lesson(struct nest_app *app, int number)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    const enum nest_status status =
        app->lesson ? nest_lesson_open(app->lesson, number, &errors) : NEST_NO_MEMORY;
    const bool opened = nest_app_report(app, status, &errors);
    nest_arena_free(&arena);
    if (opened) {
        app->lesson_scroll = 0;
        nest_app_show(app, NEST_VIEW_PLAN);
        nest_app_show(app, NEST_VIEW_LESSON);
        nest_app_refresh(app);
    }
    return opened;
}

void nest_app_try(struct nest_app *app, const char *edit)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    (void)nest_app_report(app, nest_lesson_try(app->lesson, edit, &errors), &errors);
    nest_arena_free(&arena);
    nest_app_refresh(app);
}

bool nest_app_act_in_lesson(struct nest_app *app, enum nest_action action)
{
    const int page = app->plan.layout.lesson.height > 2 ? app->plan.layout.lesson.height - 2 : 1;
    const int number = nest_app_lesson_number(app);
    switch (action) {
    case NEST_ACTION_NEXT_LESSON:
    case NEST_ACTION_PREVIOUS_LESSON:
        (void)nest_app_open_lesson(app,
                                   action == NEST_ACTION_NEXT_LESSON ? number + 1 : number - 1);
        return true;
    case NEST_ACTION_PAGE_UP:
        app->lesson_scroll -= page;
        return true;
    case NEST_ACTION_PAGE_DOWN:
        app->lesson_scroll += page;
        return true;
    default:
        return nest_plan_view_act(&app->plan, app->snapshot, action);
    }
}
