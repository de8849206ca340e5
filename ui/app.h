/* The explorer: one session, one screen, one loop. */
#ifndef NEST_UI_APP_H
#define NEST_UI_APP_H

#include "session/lesson.h"
#include "session/maker.h"
#include "session/session.h"
#include "session/watch.h"
#include "session/whatif.h"
#include "ui/input.h"
#include "ui/screen.h"
#include "ui/views/frame.h"
#include "ui/views/lua.h"
#include "ui/views/plan.h"
#include "ui/widgets/popup.h"
#include "ui/widgets/prompt.h"

enum nest_asking {
    NEST_ASKING_NOTHING,
    NEST_ASKING_COMMAND, /* ":" */
    NEST_ASKING_FIND,    /* "/" */
    NEST_ASKING_FILTER,  /* "/" in a window */
    NEST_ASKING_VALUE,   /* of the knob in knob_path */
    NEST_ASKING_FILE,    /* where to save */
    NEST_ASKING_QUIT     /* unsaved changes: a key answers */
};

enum nest_popup_use {
    NEST_FOR_READING,
    NEST_FOR_MODEL,
    NEST_FOR_CLUSTER,
    NEST_FOR_LESSON,
    NEST_FOR_WHATIF
};

struct nest_app {
    struct nest_session *session;
    const struct nest_snapshot *snapshot; /* owned */
    struct nest_console *console;         /* NULL: there is none, as memory was out */
    struct nest_watch *watch;             /* of the scenario's files; NULL likewise */
    struct nest_maker *maker;             /* of changes that run scripts */
    struct nest_lesson *lesson;           /* NULL likewise */
    struct nest_whatif *whatif;           /* what other values would bring */
    char whatif_title[96];
    bool whatif_wanted; /* its window opens with the first values */
    bool whatif_waits;  /* for the search, from whose plan it starts */
    int lesson_scroll;
    bool too_small; /* the screen, at the last drawing */
    enum nest_view view;
    enum nest_view below; /* where the Lua view leads back to */
    struct nest_plan_view plan;
    struct nest_lua_view lua;
    struct nest_popup popup;
    enum nest_popup_use popup_use;
    enum nest_asking asking;
    bool pasting; /* the keys are pasted text */
    struct nest_prompt prompt;
    struct nest_history commands, finds, values, files;
    char knob_path[128];
    bool knob_is_pin;
    char message[512];
    enum nest_role message_role;
    char found[NEST_PROMPT_MAX]; /* what was last searched for */
    bool quit_after_save;
    bool done;
    int status;                 /* exit status */
    struct nest_screen *screen; /* NULL without a terminal: in tests */
};

/* Takes over the session, not the screen. False when memory is out; it is to be closed all the
 * same. */
bool nest_app_open(struct nest_app *app, struct nest_session *session, struct nest_screen *screen);
void nest_app_close(struct nest_app *app);

/* Opens a lesson and shows it. */
bool nest_app_open_lesson(struct nest_app *app, int number);

/* An edit of the open lesson's scenario, PATH=VALUE or KEY=VALUE of a pin. */
void nest_app_try(struct nest_app *app, const char *edit);

/* One event; changes the app, draws nothing. */
void nest_app_handle(struct nest_app *app, const struct nest_event *event);

/* Takes the newest snapshot. */
void nest_app_refresh(struct nest_app *app);

/* Looks whether the scenario's files were saved. */
void nest_app_look(struct nest_app *app);

/* Draws everything. */
void nest_app_draw(struct nest_app *app, struct nest_canvas *canvas);

/* Runs until the user quits or a signal ends it; returns the exit status. */
int nest_app_run(struct nest_app *app);

/* Where things lie in the view that is shown. */
const struct nest_layout *nest_app_layout(const struct nest_app *app);

/* enum nest_context of what has the focus. */
unsigned nest_app_contexts(const struct nest_app *app);

/* ---- For the app's own files ---------------------------------------------------------------- */

void nest_app_say(struct nest_app *app, enum nest_role role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says the first fault of the list; true when status is NEST_OK. */
bool nest_app_report(struct nest_app *app, enum nest_status status,
                     const struct nest_errors *errors);

/* Shows a view; the lesson's offers the list of lessons where none is open or it is shown already.
 */
void nest_app_show(struct nest_app *app, enum nest_view view);

/* The open lesson's number, 0 without one. */
int nest_app_lesson_number(const struct nest_app *app);

/* Opens the list of lessons. */
void nest_app_choose_lesson(struct nest_app *app);

/* An action while a lesson is shown; false when it is none of its own or of the plan's. */
bool nest_app_act_in_lesson(struct nest_app *app, enum nest_action action);

/* A key for the open question; for the one whether to quit. */
void nest_app_type(struct nest_app *app, uint32_t key);
void nest_app_answer_quit(struct nest_app *app, uint32_t key);
void nest_app_draw_question(struct nest_app *app, struct nest_canvas *canvas);

/* Goes to what was last searched for, as nest_plan_view_find. */
void nest_app_find(struct nest_app *app, int direction);

/* The window on other values of what has the focus, unless it is not open yet and no longer wanted
 * because another key came; what is known of them since, true if there was anything; and the choice
 * of one. */
void nest_app_ask_whatif(struct nest_app *app);
void nest_app_drop_whatif(struct nest_app *app);
bool nest_app_collect_whatif(struct nest_app *app);
enum nest_status nest_app_take_whatif(struct nest_app *app, int index, struct nest_errors *errors);

/* Takes the marked entry of the list. */
void nest_app_accept(struct nest_app *app);

/* Saves where the scenario was saved before, or asks where. */
void nest_app_save_or_ask(struct nest_app *app);

/* Does an action by name or key. */
void nest_app_act(struct nest_app *app, enum nest_action action);

/* Runs a line typed after ':'; false when it is to be corrected. */
bool nest_app_command(struct nest_app *app, const char *line);

/* Words that may come next in a command line, NULL-ended, in arena. */
const char *const *nest_app_candidates(const struct nest_app *app, const char *line,
                                       struct nest_arena *arena);

/* Saves; NULL where it was saved before. */
bool nest_app_save(struct nest_app *app, const char *path);

/* Quits, or asks whether to. */
void nest_app_quit(struct nest_app *app);

/* Opens a window with the keys that are valid now first. */
void nest_app_help(struct nest_app *app);

/* Opens a window with the equivalent command line and puts it on the clipboard; where a script has
 * to run for it, once that is done. */
void nest_app_show_line(struct nest_app *app, const char *line);
void nest_app_show_command(struct nest_app *app);

#endif
