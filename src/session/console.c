#include "session/console.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "input/set.h"
#include "script/repl.h"
#include "session/internal.h"
#include "session/report.h"
#include "session/runner.h"

enum { WAITING_MAX = 256, PARTIAL_MAX = 1 << 20, MESSAGE_MAX = 1 << 16 };

struct chunk {
    char *text;
    int width;
};

struct nest_console {
    struct nest_session *session;
    struct nest_runner *runner;
    struct nest_repl *repl; /* the running chunk's, else the owner's */
    struct nest_log log;
    struct nest_past past;

    uint64_t untold; /* generation that a chunk made and whose answer is not in the log; 0: none */

    struct chunk waiting[WAITING_MAX];
    int first, count;

    /* Of the running chunk; its thread's until it is collected. */
    struct chunk chunk;
    struct nest_document *base, *edited;
    struct nest_arena arena;
    struct nest_errors errors;
    enum nest_status status;
    bool renewed;

    pthread_mutex_t printing;   /* guards what follows: overrides print as well */
    struct nest_strbuf partial; /* printed, not yet a line */

    pthread_mutex_t lock;    /* guards what follows */
    struct nest_log printed; /* not collected yet */
};

/* ---- The chunk's thread --------------------------------------------------------------------- */

static void add_printed(struct nest_console *console, const char *text)
{
    pthread_mutex_lock(&console->lock);
    nest_log_add(&console->printed, NEST_LINE_OUTPUT, text);
    pthread_mutex_unlock(&console->lock);
    nest_session_notify(console->session);
}

static void flush_partial(struct nest_console *console)
{
    pthread_mutex_lock(&console->printing);
    if (console->partial.length > 0) {
        add_printed(console, nest_strbuf_text(&console->partial));
    }
    nest_strbuf_clear(&console->partial);
    pthread_mutex_unlock(&console->printing);
}

/* Prints come in pieces; lines are passed on whole. */
static void on_print(void *context, const char *text, size_t length)
{
    struct nest_console *console = context;
    pthread_mutex_lock(&console->printing);
    while (length > 0) {
        const char *newline = memchr(text, '\n', length);
        const size_t piece = newline ? (size_t)(newline - text) : length;
        nest_strbuf_add_bytes(&console->partial, text, piece);
        if (newline) {
            add_printed(console, nest_strbuf_text(&console->partial));
            nest_strbuf_clear(&console->partial);
        }
        text += piece + (newline != NULL);
        length -= piece + (newline != NULL);
    }
    pthread_mutex_unlock(&console->printing);
}

static void retain(void *document)
{
    (void)nest_document_retain(document);
}

static void release(void *document)
{
    nest_document_release(document);
}

static struct nest_live live_of(struct nest_document *document)
{
    return (struct nest_live){
        .spec = &document->scenario,
        .arena = &document->arena,
        .scripts = document->scripts,
        .functions = document->functions,
        .owner = document,
        .retain = retain,
        .release = release,
    };
}

static void run(void *context)
{
    struct nest_console *console = context;
    struct nest_document *edited = console->edited;
    const struct nest_live live = live_of(edited);
    struct nest_edited left = {.spec = &edited->scenario};
    console->status = nest_repl_run(console->repl, console->chunk.text, console->chunk.width, &live,
                                    &left, &console->errors);
    if (console->status == NEST_OK) {
        nest_functions_release(edited->functions);
        edited->functions = left.functions;
    }
    console->renewed = console->status != NEST_OK && nest_repl_renew(console->repl);
    edited->scenario.cluster.device = &edited->scenario.device;
    flush_partial(console);
}

/* ---- The owner's thread --------------------------------------------------------------------- */

void nest_console_note(struct nest_console *console, const char *text)
{
    nest_log_add(&console->log, NEST_LINE_NOTE, text);
}

void nest_console_report(struct nest_console *console, const struct nest_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        struct nest_strbuf text = NEST_STRBUF_INIT(MESSAGE_MAX);
        nest_error_format(&errors->item[i], &text);
        nest_log_add(&console->log, NEST_LINE_ERROR, nest_strbuf_text(&text));
        nest_strbuf_free(&text);
        if (errors->item[i].trace) {
            nest_log_add(&console->log, NEST_LINE_TRACE, errors->item[i].trace);
        }
    }
}

/* What the chunk changed becomes a step, unless the scenario has moved on meanwhile. */
static void commit(struct nest_console *console)
{
    struct nest_session *session = console->session;
    struct nest_document *edited = console->edited;
    console->edited = NULL;
    if (nest_session_current(session) == console->base) {
        const enum nest_status status =
            nest_session_commit(session, edited, NEST_OK, &console->errors);
        if (nest_session_current(session) != console->base) {
            console->untold = nest_session_generation(session);
        }
        if (status == NEST_NO_MEMORY) {
            nest_console_note(console, "out of memory");
        }
        return;
    }
    if (!nest_document_equal(edited, console->base)) {
        nest_console_note(console, "the scenario was changed elsewhere meanwhile: what this chunk "
                                   "changed is dropped, run it again");
    }
    nest_document_release(edited);
}

static void take_printed(struct nest_console *console)
{
    pthread_mutex_lock(&console->lock);
    nest_log_take(&console->log, &console->printed);
    pthread_mutex_unlock(&console->lock);
}

static void forget_chunk(struct nest_console *console)
{
    nest_document_release(console->base);
    nest_document_release(console->edited);
    console->base = console->edited = NULL;
    free(console->chunk.text);
    console->chunk.text = NULL;
    nest_arena_free(&console->arena);
}

/* What chunks put on the live scenario is gone with their variables. */
static void drop_overrides(struct nest_console *console)
{
    struct nest_document *current = nest_session_current(console->session);
    struct nest_document *document = current->functions ? nest_document_derive(current) : NULL;
    if (document) {
        nest_functions_release(document->functions);
        document->functions = NULL;
        nest_console_note(console, "and so are the overrides that they put on the scenario");
        (void)nest_session_commit(console->session, document, NEST_OK, &console->errors);
    }
}

static void done(void *context)
{
    struct nest_console *console = context;
    take_printed(console);
    if (console->status == NEST_OK) {
        commit(console);
    } else if (console->status == NEST_CANCELLED) {
        nest_console_note(console, "stopped");
    } else if (console->status == NEST_NO_MEMORY) {
        nest_console_note(console, "out of memory");
    }
    nest_console_report(console, &console->errors);
    if (console->renewed) {
        nest_console_note(console, "its variables filled the memory: they are gone now");
        drop_overrides(console);
    }
    forget_chunk(console);
}

/* What the change of a chunk came to, once it is solved. */
static bool tell_outcome(struct nest_console *console)
{
    const struct nest_snapshot *snapshot =
        console->untold ? nest_session_snapshot(console->session) : NULL;
    if (!snapshot || snapshot->solving) {
        nest_snapshot_release(snapshot);
        return false;
    }
    if (snapshot->generation == console->untold && !snapshot->cancelled && snapshot->change->edit) {
        struct nest_strbuf text = NEST_STRBUF_INIT(MESSAGE_MAX);
        nest_strbuf_printf(&text, "%s:  step ", snapshot->change->edit);
        nest_change_outcome(snapshot->change, &text);
        nest_console_note(console, nest_strbuf_text(&text));
        nest_strbuf_free(&text);
    }
    nest_snapshot_release(snapshot);
    console->untold = 0;
    return true;
}

static bool start_next(struct nest_console *console)
{
    if (console->count == 0 || nest_runner_busy(console->runner)) {
        return false;
    }
    console->chunk = console->waiting[console->first];
    console->first = (console->first + 1) % WAITING_MAX;
    console->count--;
    console->base = nest_document_retain(nest_session_current(console->session));
    console->edited = nest_document_derive(console->base);
    nest_errors_init(&console->errors, &console->arena);
    nest_log_add(&console->log, NEST_LINE_INPUT, console->chunk.text);
    if (!console->edited || !nest_runner_start(console->runner, run, done, console)) {
        nest_console_note(console, "out of memory");
        forget_chunk(console);
    }
    return true;
}

bool nest_console_collect(struct nest_console *console)
{
    /* First: it takes a snapshot, and with it the news that something else is there. */
    bool any = tell_outcome(console);
    pthread_mutex_lock(&console->lock);
    any |= console->printed.count > 0;
    pthread_mutex_unlock(&console->lock);
    take_printed(console);
    any |= nest_runner_collect(console->runner);
    return start_next(console) || any;
}

bool nest_console_is_incomplete(const char *text)
{
    return nest_chunk_is_incomplete(text);
}

void nest_console_submit(struct nest_console *console, const char *text, int width)
{
    char *copy = console->count < WAITING_MAX ? strdup(text) : NULL;
    if (!copy) {
        nest_console_note(console, "too many chunks wait already");
        return;
    }
    nest_past_add(&console->past, text);
    console->waiting[(console->first + console->count++) % WAITING_MAX] =
        (struct chunk){copy, width};
    (void)nest_console_collect(console);
}

static void forget_waiting(struct nest_console *console)
{
    for (; console->count > 0; console->count--) {
        free(console->waiting[console->first].text);
        console->first = (console->first + 1) % WAITING_MAX;
    }
}

bool nest_console_cancel(struct nest_console *console)
{
    const bool running = nest_console_busy(console);
    forget_waiting(console);
    if (running) {
        nest_runner_cancel(console->runner);
    }
    return running;
}

bool nest_console_busy(const struct nest_console *console)
{
    return console->count > 0 || nest_runner_busy(console->runner);
}

void nest_console_wait(struct nest_console *console)
{
    while (nest_console_busy(console)) {
        nest_runner_wait(console->runner);
        (void)nest_console_collect(console);
    }
}

const struct nest_log *nest_console_log(const struct nest_console *console)
{
    return &console->log;
}

struct nest_past *nest_console_past(struct nest_console *console)
{
    return &console->past;
}

/* ---- Completion ------------------------------------------------------------------------------ */

/* Paths in full and in their short forms, and the pins. */
static const char *const *quoted_words(const struct nest_session *session, struct nest_arena *arena)
{
    const char **path = nest_paths(&nest_session_current(session)->scenario, arena);
    int paths = 0;
    while (path && path[paths]) {
        paths++;
    }
    const char **word = NEST_NEW(arena, const char *, 2 * paths + NEST_PINS + 2);
    int count = 0;
    for (int i = 0; word && i < paths; i++) {
        const char *dot = strchr(path[i], '.');
        word[count++] = path[i];
        if (dot && strncmp(path[i], "device.", 7) != 0 && strncmp(path[i], "overlap.", 8) != 0) {
            word[count++] = dot + 1;
        }
    }
    for (int i = 0; word && i < NEST_PINS; i++) {
        word[count++] = nest_pin_key_word((enum nest_pin_key)i);
    }
    if (word) {
        word[count] = "order";
    }
    return (const char *const *)word;
}

const char *const *nest_console_complete(struct nest_console *console, const char *line,
                                         struct nest_arena *arena, size_t *start)
{
    if (nest_console_busy(console)) {
        return NULL;
    }
    return nest_repl_complete(console->repl, line, quoted_words(console->session, arena), arena,
                              start);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* An empty chunk, so that s can be completed before the first one. */
static enum nest_status bind_scenario(struct nest_console *console)
{
    struct nest_document *document = nest_document_derive(nest_session_current(console->session));
    if (!document) {
        return NEST_NO_MEMORY;
    }
    const struct nest_live live = live_of(document);
    nest_errors_init(&console->errors, &console->arena);
    struct nest_edited left = {.spec = &document->scenario};
    const enum nest_status status =
        nest_repl_run(console->repl, "", 1, &live, &left, &console->errors);
    nest_functions_release(left.functions);
    nest_document_release(document);
    nest_arena_free(&console->arena);
    return status;
}

enum nest_status nest_console_open(struct nest_session *session, struct nest_console **out)
{
    struct nest_console *console = calloc(1, sizeof *console);
    *out = NULL;
    if (!console) {
        return NEST_NO_MEMORY;
    }
    console->session = session;
    console->partial = (struct nest_strbuf)NEST_STRBUF_INIT(PARTIAL_MAX);
    pthread_mutex_init(&console->lock, NULL);
    pthread_mutex_init(&console->printing, NULL);
    enum nest_status status = nest_runner_open(session, &console->runner);
    if (status == NEST_OK) {
        const struct nest_repl_options options = {
            .library = &session->library,
            .threads = session->threads,
            .cancel = nest_runner_flag(console->runner),
            .print = on_print,
            .context = console,
        };
        status = nest_repl_open(&options, &console->repl);
    }
    if (status == NEST_OK) {
        status = bind_scenario(console);
    }
    if (status != NEST_OK) {
        nest_console_close(console);
        return status;
    }
    nest_past_open(&console->past);
    *out = console;
    return NEST_OK;
}

void nest_console_close(struct nest_console *console)
{
    if (!console) {
        return;
    }
    nest_runner_close(console->runner);
    forget_chunk(console);
    forget_waiting(console);
    nest_repl_close(console->repl);
    nest_log_free(&console->log);
    nest_log_free(&console->printed);
    nest_past_close(&console->past);
    nest_strbuf_free(&console->partial);
    pthread_mutex_destroy(&console->lock);
    pthread_mutex_destroy(&console->printing);
    free(console);
}
