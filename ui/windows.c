/* The windows that explain: the keys, from the table of actions, and the equivalent command line.
 */
#include <stdio.h>
#include <string.h>

#include "ui/app.h"

enum { TEXT_MAX = 1 << 16, KEYS = 16, MARGINS = 10, WIDE = 100 };

static void add_entry(const struct nest_action_entry *entry, const struct nest_canvas *measure,
                      struct nest_strbuf *out)
{
    struct nest_strbuf keys = NEST_STRBUF_INIT(256);
    nest_action_keys(entry, &keys);
    const int columns = nest_canvas_columns(measure, nest_strbuf_text(&keys));
    nest_strbuf_printf(out, "%s%*s%s\n", nest_strbuf_text(&keys),
                       columns < KEYS ? KEYS - columns : 1, "", entry->help);
    nest_strbuf_free(&keys);
}

static void add_entries(unsigned contexts, bool valid, const struct nest_canvas *measure,
                        struct nest_strbuf *out)
{
    for (const struct nest_action_entry *entry = nest_actions(); entry->name; entry++) {
        if (((entry->contexts & contexts) != 0) == valid) {
            add_entry(entry, measure, out);
        }
    }
}

/* A view that was not drawn yet has no width. */
static int width_of(const struct nest_app *app)
{
    const int width = nest_app_layout(app)->frame.width;
    return width < NEST_LAYOUT_LEAST_WIDTH ? NEST_LAYOUT_LEAST_WIDTH : width;
}

void nest_app_help(struct nest_app *app)
{
    static const char more[] =
        "\n\1COMMANDS\n"
        ":set PATH VALUE  change any value of the scenario; Tab completes the path\n"
        ":pin KEY VALUE   pin a choice to 8, 2..8 or 2|4|8;  :free KEY frees it\n"
        ":w [FILE]        save;  :wq [FILE] saves and quits\n"
        ":e FILE          open another scenario\n"
        ":model NAME      exchange the model;  :cluster NAME the cluster\n"
        ":lesson NUMBER   open a guided lesson\n"
        ":q               quit;  :q! even if changes are lost\n"
        "\n\1MEMORY BARS\n"
        "W weights  G gradients  O optimizer states  A activations\n"
        "x logits, working set, gathered weights, buffers, reserve\n"
        "\n\1CLUSTER\n"
        "over: oversubscription.  use: the share of the step that waits for the level.\n"
        "An opened group shows the stage on each of its parts: * several, hatched idle.\n";
    const unsigned contexts = nest_app_contexts(app);
    const struct nest_canvas measure = {.ascii = app->screen && app->screen->ascii};
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    nest_strbuf_add(&text, "\1HERE\n");
    add_entries(contexts, true, &measure, &text);
    nest_strbuf_add(&text, "\n\1ELSEWHERE\n");
    add_entries(contexts, false, &measure, &text);
    nest_strbuf_add(&text, more);
    nest_popup_text(&app->popup, "Keys", nest_strbuf_text(&text));
    app->popup_use = NEST_FOR_READING;
    nest_strbuf_free(&text);
}

/* Lines that a shell joins again: broken at spaces, a backslash at the end of all but the last. */
static void add_continued(const char *line, int width, struct nest_strbuf *out)
{
    while ((int)strlen(line) > width) {
        int end = width - 2;
        while (end > 0 && line[end] != ' ') {
            end--;
        }
        if (end == 0) {
            break;
        }
        nest_strbuf_add_bytes(out, line, (size_t)end);
        nest_strbuf_add(out, " \\\n  ");
        line += end + 1;
    }
    nest_strbuf_add(out, line);
}

void nest_app_show_line(struct nest_app *app, const char *line)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    if (app->screen) {
        nest_screen_copy(app->screen, line);
    }
    const int width = width_of(app);
    add_continued(line, (width < WIDE ? width : WIDE) - MARGINS - 2, &text);
    nest_popup_text(&app->popup, "The same plan from the command line", nest_strbuf_text(&text));
    app->popup_use = NEST_FOR_READING;
    nest_strbuf_free(&text);
}

void nest_app_show_command(struct nest_app *app)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    struct nest_strbuf line = NEST_STRBUF_INIT(TEXT_MAX);
    nest_errors_init(&errors, &arena);
    if (nest_app_report(app, nest_maker_command(app->maker, &line, &errors), &errors) &&
        line.length > 0) {
        nest_app_show_line(app, nest_strbuf_text(&line));
    }
    nest_strbuf_free(&line);
    nest_arena_free(&arena);
}
