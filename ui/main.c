/* The one file that knows both the command line and the explorer. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "ui/app.h"

enum { ALTERNATIVES = 12, MESSAGE_MAX = 1 << 16, RETAINED = 16 << 20 };

static void print_errors(const struct nest_errors *errors)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(MESSAGE_MAX);
    for (size_t i = 0; i < errors->count; i++) {
        nest_error_format(&errors->item[i], &text);
    }
    (void)fputs(errors->count > 0 ? nest_strbuf_text(&text) : "nest: out of memory\n", stderr);
    nest_strbuf_free(&text);
}

static bool wants_no_color(const struct nest_explore_request *request)
{
    const char *no_color = getenv("NO_COLOR");
    return request->color == NEST_COLOR_NEVER ||
           (request->color == NEST_COLOR_AUTO && no_color && *no_color);
}

/* A lesson that cannot be opened says so on the screen. */
static void start_lesson(struct nest_app *app, const struct nest_explore_request *request)
{
    if (request->lesson > 0 && nest_app_open_lesson(app, request->lesson)) {
        for (int i = 0; i < request->edits; i++) {
            nest_app_try(app, request->edit[i]);
        }
    }
}

static int run(struct nest_session *session, const struct nest_explore_request *request,
               const struct nest_screen_options *options)
{
    struct nest_screen screen;
    struct nest_app app;
    const char *why = nest_screen_open(options, &screen);
    if (why) {
        nest_session_close(session);
        (void)fprintf(stderr, "nest: no full screen: %s\n", why);
        return NEST_EXPLORER_UNAVAILABLE;
    }
    const bool opened = nest_app_open(&app, session, &screen);
    if (opened) {
        start_lesson(&app, request);
    }
    const int status = opened ? nest_app_run(&app) : NEST_EXPLORER_UNAVAILABLE;
    nest_screen_close(&screen);
    nest_app_close(&app);
    return status;
}

static int explore(const struct nest_explore_request *request)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    struct nest_session *session = NULL;
    struct nest_session_options options = {
        .request = request->scenario, .top = ALTERNATIVES, .threads = request->threads};
    const struct nest_screen_options screen = {.no_color = wants_no_color(request),
                                               .ascii = request->ascii};
    if (request->lesson > 0) {
        options.request = (struct nest_scenario_request){0};
    }
    (void)setlocale(LC_ALL, "");
    (void)setlocale(LC_NUMERIC, "C");
    nest_errors_init(&errors, &arena);
    enum nest_status status = nest_library_find(&arena, &options.library);
    if (status == NEST_OK) {
        status = nest_session_open(&options, &session, &errors);
    }
    int result = 0;
    if (status != NEST_OK) {
        print_errors(&errors);
        result = status == NEST_NO ? 1 : 2;
    } else {
        result = run(session, request, &screen);
    }
    nest_arena_free(&arena);
    return result;
}

static bool keys_of(int index, struct nest_strbuf *keys, const char **help)
{
    const struct nest_action_entry *entry = &nest_actions()[index];
    if (!entry->name) {
        return false;
    }
    nest_action_keys(entry, keys);
    *help = entry->help;
    return true;
}

int main(int argc, char **argv)
{
    nest_arena_retain(RETAINED);
    const struct nest_explorer explorer = {.open = explore, .keys = keys_of};
    return nest_cli_main(argc, argv, &explorer);
}
