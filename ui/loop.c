/* The loop: wait, take in everything that is there, draw once. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "ui/app.h"

enum { TERMINAL, SIGNALS, SESSION, FILES, SOURCES };

/* The status that a shell reports for a process ended by the signal. */
static int status_of(int number)
{
    return 128 + number;
}

static void take_signals(struct nest_app *app)
{
    for (int number = nest_screen_signal(app->screen); number != 0;
         number = nest_screen_signal(app->screen)) {
        if (number == SIGTERM || number == SIGHUP || number == SIGINT) {
            app->done = true;
            app->status = status_of(number);
        } else if (number == SIGTSTP) {
            nest_screen_suspend(app->screen);
        } else if (number == SIGCONT) {
            nest_screen_repaint(app->screen);
        }
    }
}

static void draw(struct nest_app *app, struct nest_canvas *canvas)
{
    (void)nest_screen_measure(app->screen);
    canvas->ascii = app->screen->ascii;
    if (nest_canvas_resize(canvas, app->screen->width, app->screen->height)) {
        nest_app_draw(app, canvas);
        nest_screen_show(app->screen, canvas);
    }
}

/* A key or a click that follows a change of size means the screen of the new size: which panes
 * there are, and whether any, is known only once that is laid out. */
static void take_input(struct nest_app *app, struct nest_canvas *canvas)
{
    for (;;) {
        const struct nest_event event = nest_input_next();
        if (event.kind == NEST_EVENT_NONE || app->done) {
            return;
        }
        if (nest_screen_measure(app->screen)) {
            draw(app, canvas);
        }
        nest_app_handle(app, &event);
    }
}

int nest_app_run(struct nest_app *app)
{
    struct nest_canvas canvas = {0};
    struct pollfd source[SOURCES] = {
        [TERMINAL] = {.fd = STDIN_FILENO, .events = POLLIN},
        [SIGNALS] = {.fd = app->screen->signals, .events = POLLIN},
        [SESSION] = {.fd = nest_session_descriptor(app->session), .events = POLLIN},
        [FILES] = {.fd = -1, .events = POLLIN},
    };
    if (app->watch) {
        source[FILES].fd = nest_watch_descriptor(app->watch);
    }
    while (!app->done) {
        draw(app, &canvas);
        const int ready = poll(source, SOURCES, app->watch ? nest_watch_timeout(app->watch) : -1);
        if (ready < 0 && errno != EINTR) {
            break;
        }
        take_signals(app);
        take_input(app, &canvas);
        if (source[TERMINAL].revents & (POLLHUP | POLLERR | POLLNVAL)) {
            app->status = status_of(SIGHUP);
            break;
        }
        if (source[SESSION].revents & POLLIN) {
            nest_app_refresh(app);
        }
        if (ready == 0 || source[FILES].revents & POLLIN) {
            nest_app_look(app);
        }
    }
    nest_canvas_free(&canvas);
    return app->status;
}
