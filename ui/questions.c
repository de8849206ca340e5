/* What is asked in the line at the bottom: values, commands, names, whether to quit. */
#include <stdio.h>

#include "ui/app.h"

/* What was typed stays where it is when it is wrong, with the fault above it. */
static bool answer(struct nest_app *app)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    const char *text = app->prompt.text;
    bool fine = true;
    nest_errors_init(&errors, &arena);
    switch (app->asking) {
    case NEST_ASKING_VALUE:
        fine = nest_app_report(app,
                               app->knob_is_pin
                                   ? nest_session_pin(app->session, app->knob_path, text, &errors)
                                   : nest_maker_set(app->maker, app->knob_path, text, &errors),
                               &errors);
        break;
    case NEST_ASKING_FIND:
        (void)snprintf(app->found, sizeof app->found, "%s", text);
        nest_app_find(app, 0);
        break;
    case NEST_ASKING_FILE:
        fine = nest_app_save(app, text);
        app->done |= fine && app->quit_after_save;
        break;
    default:
        fine = nest_app_command(app, text);
    }
    nest_arena_free(&arena);
    return fine;
}

static void complete(struct nest_app *app)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    const char *text = app->prompt.text;
    const char *const *candidates =
        app->asking == NEST_ASKING_COMMAND ? nest_app_candidates(app, text, &arena)
        : app->asking == NEST_ASKING_FILE  ? (const char *const *)nest_session_files(text, &arena)
                                           : NULL;
    if (candidates) {
        const int found = nest_prompt_complete(&app->prompt, candidates);
        if (found > 1) {
            nest_app_say(app, NEST_ROLE_DIM, "%d fit; type on", found);
        } else if (found == 0) {
            nest_app_say(app, NEST_ROLE_WARN, "nothing known begins like this");
        }
    }
    nest_arena_free(&arena);
}

/* The window follows while one types; the keys that move, move there. */
static void type_filter(struct nest_app *app, uint32_t key)
{
    const bool moves = key == NEST_KEY_UP || key == NEST_KEY_DOWN || key == NEST_KEY_PAGE_UP ||
                       key == NEST_KEY_PAGE_DOWN;
    if (moves) {
        (void)nest_popup_act(&app->popup, nest_action_of_key(key, NEST_CONTEXT_LIST));
        return;
    }
    switch (nest_prompt_key(&app->prompt, key)) {
    case NEST_PROMPT_CLOSED:
        app->asking = NEST_ASKING_NOTHING;
        nest_popup_filter(&app->popup, "");
        break;
    case NEST_PROMPT_ACCEPTED:
        app->asking = NEST_ASKING_NOTHING;
        if (app->popup.kind == NEST_POPUP_LIST && app->popup.count > 0) {
            nest_app_accept(app);
        }
        break;
    default:
        nest_popup_filter(&app->popup, app->prompt.text);
    }
}

void nest_app_type(struct nest_app *app, uint32_t typed)
{
    const uint32_t key = typed == NEST_KEY_NEW_LINE ? NEST_KEY_ENTER : typed;
    if (app->asking == NEST_ASKING_FILTER) {
        type_filter(app, key);
        return;
    }
    if (key == NEST_KEY_TAB) {
        complete(app);
        return;
    }
    switch (nest_prompt_key(&app->prompt, key)) {
    case NEST_PROMPT_CLOSED:
        app->asking = NEST_ASKING_NOTHING;
        app->quit_after_save = false;
        break;
    case NEST_PROMPT_ACCEPTED: {
        /* The command may ask something itself. */
        const struct nest_prompt asked = app->prompt;
        const enum nest_asking before = app->asking;
        if (answer(app)) {
            nest_history_add(asked.history, asked.text);
            app->asking = app->asking == before ? NEST_ASKING_NOTHING : app->asking;
        }
        nest_app_refresh(app);
        break;
    }
    default:
        if (app->asking == NEST_ASKING_FIND && app->prompt.length > 0) {
            (void)nest_plan_view_find(&app->plan, app->snapshot, app->prompt.text, 0);
        }
    }
}

void nest_app_answer_quit(struct nest_app *app, uint32_t key)
{
    app->asking = NEST_ASKING_NOTHING;
    switch (key) {
    case 'y':
    case 'q':
    case 'C' - '@':
        app->done = true;
        break;
    case 's':
        app->quit_after_save = true;
        nest_app_save_or_ask(app);
        break;
    case 'n':
    case NEST_KEY_ESCAPE:
        app->status = 0;
        break;
    default:
        app->asking = NEST_ASKING_QUIT;
    }
}

void nest_app_draw_question(struct nest_app *app, struct nest_canvas *canvas)
{
    const int y = canvas->height - 1;
    const int width = canvas->width - 4;
    if (app->asking == NEST_ASKING_QUIT) {
        (void)nest_canvas_text(canvas, 2, y, width, NEST_ROLE_WARN,
                               " Changes are not saved. Quit? y yes  s save and quit  n no ");
    } else if (app->asking != NEST_ASKING_NOTHING) {
        nest_canvas_fill(canvas, (struct nest_rect){2, y, width, 1}, NEST_ROLE_TEXT,
                         NEST_GLYPH_SPACE);
        nest_prompt_draw(&app->prompt, canvas, 3, y, width - 2);
    }
}
