#include "ui/screen.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "ui/input.h"

/* ---- What a signal handler may touch ---- */

/* Leave the alternate screen, show the cursor, plain text, mouse and keypad off. */
static char restore_text[256];
static size_t restore_length;
static struct termios before;
static volatile sig_atomic_t is_open;
static int signal_pipe[2] = {-1, -1};
static SCREEN *terminal;

static const int gentle[] = {SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGCONT, SIGTSTP};
static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};
enum { GENTLE = sizeof gentle / sizeof gentle[0], FATAL = sizeof fatal / sizeof fatal[0] };

static void on_gentle(int number)
{
    const int saved = errno;
    const char byte = (char)number;
    if (write(signal_pipe[1], &byte, 1) < 0) {
        /* The pipe is full of wake-ups already. */
    }
    errno = saved;
}

/* SA_RESETHAND: raising again ends the process as the signal would have. */
static void on_fatal(int number)
{
    if (is_open) {
        is_open = 0;
        if (write(STDOUT_FILENO, restore_text, restore_length) < 0) {
            /* Nothing more can be done here. */
        }
        (void)tcsetattr(STDOUT_FILENO, TCSANOW, &before);
    }
    raise(number);
}

static void catch_signals(bool catching)
{
    struct sigaction action = {.sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    action.sa_handler = catching ? on_gentle : SIG_DFL;
    for (int i = 0; i < GENTLE; i++) {
        sigaction(gentle[i], &action, NULL);
    }
    action.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
    action.sa_handler = catching ? on_fatal : SIG_DFL;
    for (int i = 0; i < FATAL; i++) {
        sigaction(fatal[i], &action, NULL);
    }
}

/* Terminals that show a frame only when it is complete; the others do not know these. */
static const char frame_begins[] = "\033[?2026h";
static const char frame_ends[] = "\033[?2026l";

static void add_restore(const char *text)
{
    /* Padding ($<…>) would be printed as it is; these capabilities carry none that matters. */
    if (text && text != (char *)-1 && !strstr(text, "$<") &&
        restore_length + strlen(text) < sizeof restore_text) {
        memcpy(restore_text + restore_length, text, strlen(text));
        restore_length += strlen(text);
    }
}

static char *capability(const char *name)
{
    char key[16];
    (void)snprintf(key, sizeof key, "%s", name);
    return tigetstr(key);
}

static void prepare_restore(bool mouse, bool whole_frames)
{
    restore_length = 0;
    if (whole_frames) {
        add_restore(frame_ends);
    }
    add_restore("\033[?2004l");
    if (mouse) {
        add_restore("\033[?1006l\033[?1002l\033[?1000l");
    }
    add_restore(capability("sgr0"));
    add_restore(capability("cnorm"));
    add_restore(capability("rmkx"));
    add_restore(capability("rmcup"));
    add_restore("\r\n");
}

/* ---- Pasting ---- */

/* Pasted text comes between marks, so that it is not taken for keys. Terminals that do not know the
 * mode ignore it. */
static void mark_pasted(bool on)
{
    (void)fputs(on ? "\033[?2004h" : "\033[?2004l", stdout);
    (void)fflush(stdout);
}

/* ---- Opening ---- */

static bool open_signals(void)
{
    if (pipe(signal_pipe) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        (void)fcntl(signal_pipe[i], F_SETFL, O_NONBLOCK);
        (void)fcntl(signal_pipe[i], F_SETFD, FD_CLOEXEC);
    }
    return true;
}

static void choose_colors(const struct nest_screen_options *options, struct nest_screen *screen)
{
    screen->scheme = NEST_SCHEME_MONO;
    if (!options->no_color && has_colors() && start_color() == OK) {
        (void)use_default_colors();
        screen->scheme = COLORS >= 256 ? NEST_SCHEME_256 : NEST_SCHEME_8;
    }
}

static const char *why_not(void)
{
    const char *type = getenv("TERM");
    return type && *type ? "this terminal cannot place the cursor" : "TERM is not set";
}

/* Asked before newterm, which would write to any terminal. */
static bool can_place_cursor(void)
{
    int error = 0;
    if (setupterm(NULL, STDOUT_FILENO, &error) != OK) {
        return false;
    }
    const char *address = capability("cup");
    const bool can = address && address != (char *)-1;
    (void)del_curterm(cur_term);
    return can;
}

/* Order matters: see ncurses' newterm(3), resizeterm(3) and set_escdelay(3). */
static void set_modes(void)
{
    raw();
    noecho();
    nonl();
    nodelay(stdscr, TRUE);
    keypad(stdscr, TRUE);
    set_escdelay(25);
    mouseinterval(0);
    (void)curs_set(0);
    leaveok(stdscr, FALSE);
}

const char *nest_screen_open(const struct nest_screen_options *options, struct nest_screen *screen)
{
    *screen = (struct nest_screen){0};
    const bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    screen->ascii = options->ascii || !utf8;
    if (tcgetattr(STDOUT_FILENO, &before) != 0) {
        return "this is not a terminal";
    }
    if (!can_place_cursor()) {
        return why_not();
    }
    terminal = newterm(NULL, stdout, stdin);
    if (!terminal) {
        return why_not();
    }
    if (!open_signals()) {
        endwin();
        return "no descriptors are left";
    }
    set_modes();
    choose_colors(options, screen);
    nest_input_setup();
    screen->mouse =
        !options->no_mouse && mousemask(ALL_MOUSE_EVENTS | REPORT_MOUSE_POSITION, NULL) != 0;
    screen->signals = signal_pipe[0];
    /* Private modes are for terminals like xterm, the ones with a mouse. */
    const char *mouse = capability("kmous");
    screen->whole_frames = mouse && mouse != (char *)-1;
    prepare_restore(screen->mouse, screen->whole_frames);
    is_open = 1;
    catch_signals(true);
    mark_pasted(true);
    (void)nest_screen_measure(screen);
    return NULL;
}

void nest_screen_close(struct nest_screen *screen)
{
    if (!terminal) {
        return;
    }
    if (screen->mouse) {
        (void)mousemask(0, NULL);
    }
    mark_pasted(false);
    endwin();
    is_open = 0;
    catch_signals(false);
    delscreen(terminal);
    terminal = NULL;
    for (int i = 0; i < 2; i++) {
        close(signal_pipe[i]);
        signal_pipe[i] = -1;
    }
}

/* ---- Showing ---- */

/* Colour pairs are few on small terminals: made when first needed. */
static short pair_of(struct nest_look look)
{
    enum { MAX = 64 };
    static struct nest_look known[MAX];
    static short count = 1;
    if (look.foreground < 0 && look.background < 0) {
        return 0;
    }
    for (short i = 1; i < count; i++) {
        if (known[i].foreground == look.foreground && known[i].background == look.background) {
            return i;
        }
    }
    if (count >= MAX || count >= COLOR_PAIRS ||
        init_pair(count, look.foreground, look.background) != OK) {
        return 0;
    }
    known[count] = look;
    return count++;
}

static attr_t attributes_of(struct nest_look look)
{
    return (look.attributes & NEST_LOOK_BOLD ? A_BOLD : 0U) |
           (look.attributes & NEST_LOOK_REVERSE ? A_REVERSE : 0U) |
           (look.attributes & NEST_LOOK_UNDERLINE ? A_UNDERLINE : 0U);
}

static void show_cell(const struct nest_screen *screen, int x, int y, const struct nest_cell *cell)
{
    const enum nest_role role = cell->highlight ? NEST_ROLE_FOCUS : (enum nest_role)cell->role;
    const struct nest_look look = nest_theme_look(screen->scheme, role);
    const wchar_t text[2] = {(wchar_t)cell->code, L'\0'};
    cchar_t complex;
    if (setcchar(&complex, text, attributes_of(look),
                 screen->scheme == NEST_SCHEME_MONO ? 0 : pair_of(look), NULL) == OK) {
        (void)mvadd_wch(y, x, &complex);
    }
}

static void send(const char *text)
{
    (void)fputs(text, stdout);
    (void)fflush(stdout);
}

void nest_screen_show(struct nest_screen *screen, const struct nest_canvas *canvas)
{
    erase();
    for (int y = 0; y < canvas->height; y++) {
        for (int x = 0; x < canvas->width; x++) {
            const struct nest_cell *cell = &canvas->cell[y * canvas->width + x];
            if (cell->code != 0) {
                show_cell(screen, x, y, cell);
            }
        }
    }
    send(screen->whole_frames ? frame_begins : "");
    (void)curs_set(canvas->cursor_x >= 0 ? 1 : 0);
    move(canvas->cursor_x >= 0 ? canvas->cursor_y : 0,
         canvas->cursor_x >= 0 ? canvas->cursor_x : 0);
    wnoutrefresh(stdscr);
    doupdate();
    send(screen->whole_frames ? frame_ends : "");
}

bool nest_screen_measure(struct nest_screen *screen)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
        (size.ws_row != LINES || size.ws_col != COLS)) {
        resizeterm(size.ws_row, size.ws_col);
    }
    const bool changed = screen->width != COLS || screen->height != LINES;
    screen->width = COLS;
    screen->height = LINES;
    return changed;
}

void nest_screen_repaint(struct nest_screen *screen)
{
    (void)screen;
    (void)reset_prog_mode(); /* a program stopped by force may wake in another's modes */
    clearok(curscr, TRUE);
}

void nest_screen_suspend(struct nest_screen *screen)
{
    mark_pasted(false);
    endwin();
    is_open = 0;
    catch_signals(false);
    /* Stop the whole job, as the terminal would. */
    (void)kill(0, SIGTSTP);
    catch_signals(true);
    is_open = 1;
    mark_pasted(true);
    refresh();
    nest_screen_repaint(screen);
    (void)nest_screen_measure(screen);
}

void nest_screen_copy(struct nest_screen *screen, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (void)screen;
    (void)fputs("\033]52;c;", stdout);
    for (size_t i = 0, length = strlen(text); i < length; i += 3) {
        unsigned group = 0;
        for (size_t k = 0; k < 3; k++) {
            group = group << 8 | (i + k < length ? (unsigned char)text[i + k] : 0U);
        }
        for (size_t k = 0; k < 4; k++) {
            const bool data = i + k <= length;
            (void)fputc(data ? digits[group >> (18 - 6 * k) & 63] : '=', stdout);
        }
    }
    (void)fputs("\a", stdout);
    (void)fflush(stdout);
}

int nest_screen_signal(struct nest_screen *screen)
{
    unsigned char byte;
    return read(screen->signals, &byte, 1) == 1 ? byte : 0;
}
