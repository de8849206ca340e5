#include "tests/support/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <vterm.h>

#include <cmocka.h>

#include "tests/support/idle.h"
#include "tests/support/terminal_golden.h"
#include "ui/input.h"

/* The guards against hanging: nothing else knows the clock, and a test that passes asks neither. */
enum { GUARD_SECONDS = 180, IDLE_SECONDS = 2 };

enum { ARGUMENTS_MAX = 32, RAW_MAX = 1 << 24, TYPED_MAX = 1 << 16 };

struct terminal {
    VTerm *vt;
    VTermScreen *screen;
    int master;
    pid_t child;
    bool ended;
    int status;
    bool alternate, cursor;
    struct termios before;
    int width, height;
    char *text; /* of terminal_screen */
    char *raw;  /* everything written */
    size_t raw_length;
    bool within_frame; /* the rest of the picture is still to come */
    char *typed;       /* what the terminal had no room for yet */
    size_t typed_length;
    uint64_t scheduled; /* how often the program had run by then */
    size_t written;     /* and what it had written */
    time_t asleep;      /* since when it has not run */
};

/* ---- Life ---- */

static int on_property(VTermProp property, VTermValue *value, void *user)
{
    struct terminal *terminal = user;
    if (property == VTERM_PROP_ALTSCREEN) {
        terminal->alternate = value->boolean;
    } else if (property == VTERM_PROP_CURSORVISIBLE) {
        terminal->cursor = value->boolean;
    }
    return 1;
}

/* Hands the program what it takes; a busy one leaves no room, and the rest waits. */
static void flush_typed(struct terminal *terminal)
{
    size_t done = 0;
    while (done < terminal->typed_length) {
        const ssize_t written =
            write(terminal->master, terminal->typed + done, terminal->typed_length - done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            break;
        }
        done += (size_t)written;
    }
    terminal->typed_length -= done;
    memmove(terminal->typed, terminal->typed + done, terminal->typed_length);
}

/* Answers of the emulator to the program's questions, and the keys. */
static void on_output(const char *bytes, size_t length, void *user)
{
    struct terminal *terminal = user;
    assert_true(length <= TYPED_MAX - terminal->typed_length);
    memcpy(terminal->typed + terminal->typed_length, bytes, length);
    terminal->typed_length += length;
    flush_typed(terminal);
}

static const VTermScreenCallbacks callbacks = {.settermprop = on_property};

static void become(const struct terminal_options *options)
{
    char type[64];
    char locale[64];
    char no_color[64];
    char arguments[1024];
    char *argv[ARGUMENTS_MAX] = {"nest"};
    (void)snprintf(type, sizeof type, "TERM=%s", options->type ? options->type : "xterm-256color");
    (void)snprintf(locale, sizeof locale, "LC_ALL=%s",
                   options->locale ? options->locale : "C.UTF-8");
    (void)snprintf(no_color, sizeof no_color, "NO_COLOR=%s",
                   options->no_color ? options->no_color : "");
    (void)snprintf(arguments, sizeof arguments, "%s", options->arguments ? options->arguments : "");
    const char *asan = getenv("ASAN_OPTIONS");
    char sanitizer[256];
    /* The program's own handlers are under test, so the sanitizer leaves the signals to them. */
    (void)snprintf(sanitizer, sizeof sanitizer,
                   "ASAN_OPTIONS=%s:handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:"
                   "handle_sigill=0",
                   asan ? asan : "");
    /* Curses would load the console's mouse library, which leaks, for TERM=linux. */
    char no_gpm[] = "NCURSES_GPM_TERMS=none";
    char *environment[] = {
        no_gpm, type, locale, no_color, sanitizer, "HOME=/dev/null", "TZ=UTC", "PATH=/usr/bin:/bin",
        NULL};
    int count = 1;
    for (char *word = strtok(arguments, " "); word && count < ARGUMENTS_MAX - 1;
         word = strtok(NULL, " ")) {
        argv[count++] = word;
    }
    const char *binary = getenv("NEST_BINARY");
    (void)execve(binary ? binary : "build/nest", argv, environment);
    _exit(127);
}

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) {
        _exit(126);
    }
}

/* What a shell with job control does: says when the job stops, and on a line typed takes it back to
 * the foreground. It leaves the modes of the terminal alone, unlike most. */
static void be_shell(const struct terminal_options *options)
{
    int status = 0;
    char line[64];
    const pid_t shell = getpgrp();
    (void)signal(SIGTTOU, SIG_IGN);
    const pid_t job = fork();
    (void)setpgid(job, job);
    (void)tcsetpgrp(STDIN_FILENO, job == 0 ? getpid() : job);
    if (job == 0) {
        (void)signal(SIGTTOU, SIG_DFL);
        become(options);
    }
    while (waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status)) {
        (void)tcsetpgrp(STDIN_FILENO, shell);
        say("the job has stopped\r\n");
        if (read(STDIN_FILENO, line, sizeof line) <= 0) {
            break;
        }
        say("\033[2J"); /* the next stop is told from this one */
        (void)tcsetpgrp(STDIN_FILENO, job);
        (void)kill(-job, SIGCONT);
    }
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

struct terminal *terminal_start(const struct terminal_options *options)
{
    struct terminal *terminal = calloc(1, sizeof *terminal);
    struct winsize size = {.ws_row = (unsigned short)options->height,
                           .ws_col = (unsigned short)options->width};
    assert_non_null(terminal);
    terminal->width = options->width;
    terminal->height = options->height;
    terminal->cursor = true;
    terminal->raw = malloc(RAW_MAX);
    assert_non_null(terminal->raw);
    terminal->typed = malloc(TYPED_MAX);
    assert_non_null(terminal->typed);
    int slave = -1;
    assert_int_equal(openpty(&terminal->master, &slave, NULL, NULL, &size), 0);
    assert_int_equal(tcgetattr(slave, &terminal->before), 0);
    terminal->child = fork();
    assert_true(terminal->child >= 0);
    if (terminal->child == 0) {
        close(terminal->master);
        (void)login_tty(slave);
        (options->job ? be_shell : become)(options);
    }
    close(slave);
    (void)fcntl(terminal->master, F_SETFL, O_NONBLOCK);
    terminal->vt = vterm_new(options->height, options->width);
    vterm_set_utf8(terminal->vt, 1);
    vterm_output_set_callback(terminal->vt, on_output, terminal);
    terminal->screen = vterm_obtain_screen(terminal->vt);
    vterm_screen_enable_altscreen(terminal->screen, 1);
    vterm_screen_set_callbacks(terminal->screen, &callbacks, terminal);
    vterm_screen_reset(terminal->screen, 1);
    return terminal;
}

static void note_end(struct terminal *terminal, int status)
{
    terminal->ended = true;
    terminal->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void terminal_close(struct terminal *terminal)
{
    if (!terminal->ended) {
        (void)kill(terminal->child, SIGKILL);
        (void)waitpid(terminal->child, NULL, 0);
    }
    vterm_free(terminal->vt);
    close(terminal->master);
    free(terminal->raw);
    free(terminal->typed);
    free(terminal->text);
    free(terminal);
}

/* ---- Output ---- */

/* Looks for the marks around a frame in what was written since. */
static void note_frames(struct terminal *terminal, size_t since)
{
    static const char mark[] = "\033[?2026";
    const size_t length = sizeof mark - 1;
    /* One may have come in two parts. */
    for (size_t at = since > length ? since - length : 0; at + length < terminal->raw_length;
         at++) {
        if (memcmp(terminal->raw + at, mark, length) == 0) {
            terminal->within_frame = terminal->raw[at + length] == 'h';
        }
    }
}

void terminal_pump(struct terminal *terminal)
{
    char bytes[4096];
    flush_typed(terminal);
    for (;;) {
        const ssize_t count = read(terminal->master, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return;
        }
        assert_true((size_t)count <= RAW_MAX - terminal->raw_length);
        memcpy(terminal->raw + terminal->raw_length, bytes, (size_t)count);
        terminal->raw_length += (size_t)count;
        note_frames(terminal, terminal->raw_length - (size_t)count);
        (void)vterm_input_write(terminal->vt, bytes, (size_t)count);
    }
}

bool terminal_alive(struct terminal *terminal)
{
    int status = 0;
    if (!terminal->ended && waitpid(terminal->child, &status, WNOHANG) == terminal->child) {
        note_end(terminal, status);
    }
    return !terminal->ended;
}

static void wait_output(struct terminal *terminal)
{
    struct pollfd source = {.fd = terminal->master,
                            .events = terminal->typed_length > 0 ? POLLIN | POLLOUT : POLLIN};
    (void)poll(&source, 1, 50);
    terminal_pump(terminal);
}

/* The clock that nobody sets. */
static time_t seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Whether nothing more will come by itself: the program has taken in everything and sleeps, without
 * having run even once for longer than any of its own timers. */
static bool is_idle(struct terminal *terminal)
{
    uint64_t scheduled = 0;
    const bool asleep = terminal->typed_length == 0 && test_is_asleep(terminal->child, &scheduled);
    const time_t now = seconds_now();
    if (!asleep || scheduled != terminal->scheduled || terminal->raw_length != terminal->written) {
        terminal->scheduled = scheduled;
        terminal->written = terminal->raw_length;
        terminal->asleep = now;
    }
    return now - terminal->asleep > IDLE_SECONDS;
}

/* Why to wait no longer; NULL: go on. */
static const char *over(struct terminal *terminal, time_t start)
{
    return !terminal_alive(terminal)               ? "the program ended"
           : is_idle(terminal)                     ? "the program waits for something else"
           : seconds_now() - start > GUARD_SECONDS ? "time is up"
                                                   : NULL;
}

/* Waits until the screen holds what is asked for. What an ended program wrote last counts. */
static void expect(struct terminal *terminal, bool (*holds)(struct terminal *, const char *),
                   const char *text, const char *what)
{
    const time_t start = seconds_now();
    const char *why = NULL;
    terminal_pump(terminal);
    while (terminal->within_frame || !holds(terminal, text)) {
        if (why) {
            fail_msg("%s '%s' did not happen (%s); the screen is\n%s", what, text, why,
                     terminal_screen(terminal));
        }
        why = over(terminal, start);
        wait_output(terminal);
    }
}

static bool is_gone(struct terminal *terminal, const char *text)
{
    return !terminal_shows(terminal, text);
}

void terminal_expect(struct terminal *terminal, const char *text)
{
    expect(terminal, terminal_shows, text, "showing");
}

void terminal_expect_gone(struct terminal *terminal, const char *text)
{
    expect(terminal, is_gone, text, "hiding");
}

static bool is_solved(struct terminal *terminal, const char *text)
{
    (void)text;
    return terminal_shows(terminal, "solved ") && !terminal_shows(terminal, "solving ") &&
           !terminal_shows(terminal, "searching ");
}

void terminal_expect_solved(struct terminal *terminal)
{
    expect(terminal, is_solved, "solved", "the search");
}

int terminal_end(struct terminal *terminal)
{
    const time_t start = seconds_now();
    while (terminal_alive(terminal)) {
        const char *why = over(terminal, start);
        if (why && !terminal->ended) {
            fail_msg("the program does not end (%s); the screen is\n%s", why,
                     terminal_screen(terminal));
        }
        wait_output(terminal);
    }
    terminal_pump(terminal);
    return terminal->status;
}

/* ---- Input ---- */

static void send_key(struct terminal *terminal, uint32_t key)
{
    static const struct {
        uint32_t key;
        VTermKey vterm;
        VTermModifier modifier;
    } special[] = {
        {NEST_KEY_TAB, VTERM_KEY_TAB, VTERM_MOD_NONE},
        {NEST_KEY_SHIFT_TAB, VTERM_KEY_TAB, VTERM_MOD_SHIFT},
        {NEST_KEY_ENTER, VTERM_KEY_ENTER, VTERM_MOD_NONE},
        {NEST_KEY_ESCAPE, VTERM_KEY_ESCAPE, VTERM_MOD_NONE},
        {NEST_KEY_BACKSPACE, VTERM_KEY_BACKSPACE, VTERM_MOD_NONE},
        {NEST_KEY_UP, VTERM_KEY_UP, VTERM_MOD_NONE},
        {NEST_KEY_DOWN, VTERM_KEY_DOWN, VTERM_MOD_NONE},
        {NEST_KEY_LEFT, VTERM_KEY_LEFT, VTERM_MOD_NONE},
        {NEST_KEY_RIGHT, VTERM_KEY_RIGHT, VTERM_MOD_NONE},
        {NEST_KEY_SHIFT_LEFT, VTERM_KEY_LEFT, VTERM_MOD_SHIFT},
        {NEST_KEY_SHIFT_RIGHT, VTERM_KEY_RIGHT, VTERM_MOD_SHIFT},
        {NEST_KEY_PAGE_UP, VTERM_KEY_PAGEUP, VTERM_MOD_NONE},
        {NEST_KEY_PAGE_DOWN, VTERM_KEY_PAGEDOWN, VTERM_MOD_NONE},
        {NEST_KEY_HOME, VTERM_KEY_HOME, VTERM_MOD_NONE},
        {NEST_KEY_END, VTERM_KEY_END, VTERM_MOD_NONE},
        {NEST_KEY_DELETE, VTERM_KEY_DEL, VTERM_MOD_NONE},
        {NEST_KEY_ALT_ENTER, VTERM_KEY_ENTER, VTERM_MOD_ALT},
    };
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (special[i].key == key) {
            vterm_keyboard_key(terminal->vt, special[i].vterm, special[i].modifier);
            return;
        }
    }
    if (key >= NEST_KEY_F1 && key <= NEST_KEY_F10) {
        vterm_keyboard_key(terminal->vt,
                           (VTermKey)(VTERM_KEY_FUNCTION_0 + 1 + (int)(key - NEST_KEY_F1)),
                           VTERM_MOD_NONE);
    } else if (key < ' ') {
        const char byte = (char)key;
        on_output(&byte, 1, terminal);
    } else {
        vterm_keyboard_unichar(terminal->vt, key, VTERM_MOD_NONE);
    }
}

void terminal_keys(struct terminal *terminal, const char *names)
{
    char list[1024];
    char *rest = list;
    (void)snprintf(list, sizeof list, "%s", names);
    for (char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        const uint32_t key = nest_key_parse(name);
        if (key == NEST_KEY_NONE) {
            fail_msg("there is no key '%s'", name);
        }
        send_key(terminal, key);
    }
}

void terminal_type(struct terminal *terminal, const char *text)
{
    on_output(text, strlen(text), terminal);
}

void terminal_click(struct terminal *terminal, int x, int y)
{
    vterm_mouse_move(terminal->vt, y, x, VTERM_MOD_NONE);
    vterm_mouse_button(terminal->vt, 1, true, VTERM_MOD_NONE);
    vterm_mouse_button(terminal->vt, 1, false, VTERM_MOD_NONE);
}

void terminal_wheel(struct terminal *terminal, int x, int y, bool up)
{
    vterm_mouse_move(terminal->vt, y, x, VTERM_MOD_NONE);
    vterm_mouse_button(terminal->vt, up ? 4 : 5, true, VTERM_MOD_NONE);
}

void terminal_resize(struct terminal *terminal, int width, int height)
{
    const struct winsize size = {.ws_row = (unsigned short)height, .ws_col = (unsigned short)width};
    terminal->width = width;
    terminal->height = height;
    vterm_set_size(terminal->vt, height, width);
    (void)ioctl(terminal->master, TIOCSWINSZ, &size);
}

void terminal_signal(struct terminal *terminal, int number)
{
    const pid_t front = tcgetpgrp(terminal->master);
    assert_true(front > 0);
    assert_int_equal(kill(-front, number), 0);
}

/* ---- The screen ---- */

static struct terminal_cell cell_at(struct terminal *terminal, int x, int y)
{
    VTermScreenCell cell;
    struct terminal_cell out = {.code = ' ', .foreground = -1, .background = -1};
    if (!vterm_screen_get_cell(terminal->screen, (VTermPos){.row = y, .col = x}, &cell)) {
        return out;
    }
    out.code = cell.chars[0] == (uint32_t)-1 ? 0 : cell.chars[0] == 0 ? ' ' : cell.chars[0];
    out.bold = cell.attrs.bold;
    out.underline = cell.attrs.underline != 0;
    out.reverse = cell.attrs.reverse;
    out.foreground = VTERM_COLOR_IS_DEFAULT_FG(&cell.fg) ? -1
                     : VTERM_COLOR_IS_INDEXED(&cell.fg)  ? cell.fg.indexed.idx
                                                         : -2;
    out.background = VTERM_COLOR_IS_DEFAULT_BG(&cell.bg) ? -1
                     : VTERM_COLOR_IS_INDEXED(&cell.bg)  ? cell.bg.indexed.idx
                                                         : -2;
    return out;
}

static struct terminal_cell *cells_of(struct terminal *terminal)
{
    struct terminal_cell *cells =
        calloc((size_t)terminal->width * (size_t)terminal->height, sizeof *cells);
    assert_non_null(cells);
    for (int y = 0; y < terminal->height; y++) {
        for (int x = 0; x < terminal->width; x++) {
            cells[y * terminal->width + x] = cell_at(terminal, x, y);
        }
    }
    return cells;
}

const char *terminal_screen(struct terminal *terminal)
{
    struct terminal_cell *cells = cells_of(terminal);
    free(terminal->text);
    terminal->text = terminal_cells_text(cells, terminal->width, terminal->height);
    free(cells);
    return terminal->text;
}

bool terminal_shows(struct terminal *terminal, const char *text)
{
    return strstr(terminal_screen(terminal), text) != NULL;
}

bool terminal_find(struct terminal *terminal, const char *text, int *x, int *y)
{
    const char *screen = terminal_screen(terminal);
    const char *found = strstr(screen, text);
    *x = *y = 0;
    for (const char *c = screen; found && c < found; c++) {
        if (*c == '\n') {
            (*y)++;
            *x = 0;
        } else {
            *x += ((unsigned char)*c & 0xc0) != 0x80;
        }
    }
    return found != NULL;
}

bool terminal_on_alternate_screen(const struct terminal *terminal)
{
    return terminal->alternate;
}

bool terminal_cursor_shown(const struct terminal *terminal)
{
    return terminal->cursor;
}

void terminal_cursor(struct terminal *terminal, int *x, int *y)
{
    VTermPos at;
    vterm_state_get_cursorpos(vterm_obtain_state(terminal->vt), &at);
    *x = at.col;
    *y = at.row;
}

bool terminal_modes_restored(const struct terminal *terminal)
{
    struct termios now;
    const struct termios *then = &terminal->before;
    return tcgetattr(terminal->master, &now) == 0 && now.c_iflag == then->c_iflag &&
           now.c_oflag == then->c_oflag && now.c_lflag == then->c_lflag &&
           memcmp(now.c_cc, then->c_cc, sizeof now.c_cc) == 0;
}

bool terminal_wrote(const struct terminal *terminal, const char *bytes)
{
    return memmem(terminal->raw, terminal->raw_length, bytes, strlen(bytes)) != NULL;
}

/* Writes the golden file once nothing more comes. */
static void update_golden(struct terminal *terminal, const char *name)
{
    size_t length = 0;
    do {
        length = terminal->raw_length;
        wait_output(terminal);
        wait_output(terminal);
        wait_output(terminal);
    } while (length != terminal->raw_length);
    struct terminal_cell *cells = cells_of(terminal);
    terminal_mask(cells, terminal->width, terminal->height);
    char *seen = terminal_cells_golden(cells, terminal->width, terminal->height);
    free(cells);
    terminal_write_golden(name, seen);
    free(seen);
}

void terminal_expect_golden(struct terminal *terminal, const char *name)
{
    const time_t start = seconds_now();
    const char *why = NULL;
    const char *update = getenv("UPDATE_GOLDEN");
    if (update && *update) {
        update_golden(terminal, name);
        return;
    }
    for (;;) {
        /* More frames may be under way: the golden screen is what it comes to. */
        struct terminal_cell *cells = cells_of(terminal);
        terminal_mask(cells, terminal->width, terminal->height);
        char *seen = terminal_cells_golden(cells, terminal->width, terminal->height);
        free(cells);
        const bool same = terminal_is_golden(name, seen, why);
        free(seen);
        if (same) {
            return;
        }
        why = over(terminal, start);
        wait_output(terminal);
    }
}
