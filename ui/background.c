/* What happens beside the keys: answers, output of chunks, figures of lessons, saved files. */
#include "ui/app.h"

enum { ROUNDS = 4 };

static void say_notice(struct nest_app *app, const struct nest_notice *notice)
{
    if (notice->text[0]) {
        nest_app_say(app, notice->bad ? NEST_ROLE_BAD : NEST_ROLE_GOOD, "%s", notice->text);
    }
}

/* Takes in what happened in the background; true if there was anything. */
static bool collect(struct nest_app *app)
{
    struct nest_notice notice = {.text = ""};
    bool any = app->console && nest_console_collect(app->console);
    any |= app->lesson && nest_lesson_collect(app->lesson);
    any |= app->watch && nest_watch_collect(app->watch, &notice);
    say_notice(app, &notice);
    any |= nest_maker_collect(app->maker, &notice);
    say_notice(app, &notice);
    any |= nest_app_collect_whatif(app);
    const char *line = nest_maker_line(app->maker);
    if (line) {
        nest_app_show_line(app, line);
    }
    return any;
}

/* A snapshot takes the news with it, so what it brings is collected after it, and what that changes
 * is in the next one. */
void nest_app_refresh(struct nest_app *app)
{
    bool more = true;
    for (int i = 0; more && i < ROUNDS; i++) {
        const struct nest_snapshot *snapshot = nest_session_snapshot(app->session);
        if (snapshot) {
            nest_snapshot_release(app->snapshot);
            app->snapshot = snapshot;
            nest_plan_view_settle(&app->plan, snapshot);
        }
        more = collect(app);
    }
    if (more) {
        nest_session_notify(app->session); /* keys have their turn in between */
    }
}

void nest_app_look(struct nest_app *app)
{
    struct nest_notice notice;
    if (app->watch) {
        nest_watch_look(app->watch, &notice);
        say_notice(app, &notice);
    }
}
