#include "session/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif

#include "input/doc.h"
#include "input/set.h"
#include "session/internal.h"
#include "session/runner.h"

enum { FILES_MAX = 64, LOOK_AGAIN = 700, TEXT_MAX = 1 << 24, SCRATCH = 4096 };

struct watched {
    char *path;
    uint64_t content; /* fingerprint; 0: cannot be read */
};

struct nest_watch {
    struct nest_session *session;
    struct nest_console *console;
    struct nest_runner *runner;
    int descriptor;                 /* of inotify, or -1 */
    bool blind;                     /* some file's changes are not told by the system */
    struct nest_document *document; /* whose files are watched */
    int files;
    struct watched file[FILES_MAX];

    /* Of what is being read; its thread's until it is collected. */
    struct nest_document *base, *fresh;
    char *cause;                        /* name of the file that was saved */
    char *filed;                        /* where the scenario is saved, or NULL */
    char *scenario;                     /* the scenario's own file, or NULL: */
    struct nest_strbuf text;            /* the scenario as it is, to be read again */
    struct nest_scenario_request asked; /* beside the file */
    struct nest_arena arena;
    struct nest_errors errors;
    enum nest_status status;
};

/* ---- Files ---------------------------------------------------------------------------------- */

/* FNV-1a, never 0 for a file that can be read. */
static uint64_t content_of(const char *path)
{
    uint64_t hash = 14695981039346656037u;
    unsigned char bytes[SCRATCH];
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return 0;
    }
    ssize_t count = 0;
    while ((count = read(file, bytes, sizeof bytes)) > 0 || (count < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < count; i++) {
            hash = (hash ^ bytes[i]) * 1099511628211u;
        }
    }
    (void)close(file);
    return count < 0 ? 0 : hash ? hash : 1;
}

static void tell_changes(struct nest_watch *watch, const char *path)
{
#ifdef __linux__
    /* The folder tells of files that take another one's place, the file of those that are linked
     * from elsewhere. */
    enum { EVENTS = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE };
    char folder[SCRATCH];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1,
                   slash ? path : ".");
    watch->blind |=
        watch->descriptor < 0 || inotify_add_watch(watch->descriptor, folder, EVENTS) < 0;
    if (watch->descriptor >= 0) {
        (void)inotify_add_watch(watch->descriptor, path, IN_CLOSE_WRITE);
    }
#else
    (void)path;
    watch->blind = true;
#endif
}

static void add_file(struct nest_watch *watch, const char *path, const struct watched *known,
                     int count)
{
    char *copy = path && watch->files < FILES_MAX ? strdup(path) : NULL;
    if (!copy) {
        return;
    }
    uint64_t content = 0;
    for (int i = 0; i < count; i++) {
        content = strcmp(known[i].path, path) == 0 ? known[i].content : content;
    }
    watch->file[watch->files++] = (struct watched){copy, content ? content : content_of(path)};
    tell_changes(watch, path);
}

/* A shipped name's file, or the path itself. */
static void add_named(struct nest_watch *watch, const char *kind, const char *name,
                      const struct watched *known, int count)
{
    static const char *const endings[] = {"yaml", "lua"};
    const char *root = watch->session->library.root;
    if (name && strcmp(name, "-") != 0 && access(name, R_OK) == 0 && strchr(name, '.')) {
        add_file(watch, name, known, count);
        return;
    }
    for (int i = 0; name && root && i < 2; i++) {
        char path[SCRATCH];
        (void)snprintf(path, sizeof path, "%s/%s/%s.%s", root, kind, name, endings[i]);
        if (access(path, R_OK) == 0) {
            add_file(watch, path, known, count);
        }
    }
}

static void forget_files(struct watched *file, int count)
{
    for (int i = 0; i < count; i++) {
        free(file[i].path);
    }
}

/* Watches the files of the current document; what was watched before keeps its content. */
static void follow(struct nest_watch *watch)
{
    struct nest_document *document = nest_session_current(watch->session);
    struct watched known[FILES_MAX];
    const int count = watch->files;
    if (document == watch->document) {
        return;
    }
    nest_document_release(watch->document);
    watch->document = nest_document_retain(document);
    memcpy(known, watch->file, sizeof known);
    watch->files = 0;
    watch->blind = false;
    const struct nest_scenario_spec *scenario = &document->scenario;
    add_file(watch, document->root->file, known, count);
    add_named(watch, "models", scenario->model.ref, known, count);
    add_named(watch, "topologies", scenario->cluster.ref, known, count);
    add_named(watch, "topologies/devices", scenario->device.id, known, count);
    for (int i = 0; i < scenario->scripts; i++) {
        add_file(watch, scenario->script[i].path, known, count);
    }
    forget_files(known, count);
}

/* ---- Reading again, on the runner's thread ------------------------------------------------- */

static void read_again(void *context)
{
    struct nest_watch *watch = context;
    const atomic_bool *cancel = nest_runner_flag(watch->runner);
    if (watch->scenario) {
        watch->status =
            nest_session_read(watch->session, &watch->asked, cancel, &watch->fresh, &watch->errors);
    } else {
        watch->status =
            nest_session_reread(watch->session, &watch->asked, nest_strbuf_text(&watch->text),
                                watch->text.length, cancel, &watch->fresh, &watch->errors);
    }
}

/* ---- The owner's thread -------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void forget_reading(struct nest_watch *watch)
{
    nest_document_release(watch->base);
    nest_document_release(watch->fresh);
    watch->base = watch->fresh = NULL;
    free(watch->cause);
    free(watch->filed);
    free(watch->scenario);
    watch->cause = watch->filed = watch->scenario = NULL;
    nest_strbuf_free(&watch->text);
    nest_arena_free(&watch->arena);
}

static void done(void *context)
{
    (void)context; /* collect looks at what is there, as it has something to say */
}

static bool start_reading(struct nest_watch *watch, const char *path, bool whole)
{
    struct nest_document *current = nest_session_current(watch->session);
    forget_reading(watch);
    watch->base = nest_document_retain(current);
    watch->cause = strdup(name_of(path));
    watch->scenario = whole ? strdup(path) : NULL;
    watch->filed = current->root->file ? strdup(current->root->file) : NULL;
    watch->asked = current->root->request;
    watch->asked.scenario = whole ? watch->scenario : watch->filed;
    nest_errors_init(&watch->errors, &watch->arena);
    if (!whole) {
        nest_scenario_write(&current->scenario, &watch->text);
    }
    return watch->cause && !watch->text.failed && (!whole || watch->scenario) &&
           nest_runner_start(watch->runner, read_again, done, watch);
}

/* Whether the file is what the session wrote there itself. */
static bool is_own_writing(const struct nest_watch *watch, const char *path)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    const char *there = NULL;
    size_t length = 0;
    nest_errors_init(&errors, &arena);
    nest_scenario_write(&watch->session->saved->scenario, &text);
    const bool own = nest_file_read(path, &arena, &there, &length, &errors) == NEST_OK &&
                     length == text.length && memcmp(there, nest_strbuf_text(&text), length) == 0;
    nest_arena_free(&arena);
    nest_strbuf_free(&text);
    return own;
}

/* One changed file; true if something is being read because of it. */
static bool take_change(struct nest_watch *watch, const char *path, struct nest_notice *notice)
{
    const char *own = watch->document->root->file;
    if (!own || strcmp(path, own) != 0) {
        return start_reading(watch, path, false);
    }
    if (is_own_writing(watch, path)) {
        return false;
    }
    if (watch->session->dirty) {
        nest_notice_say(notice, true, name_of(path),
                        " was changed outside: :e FILE takes it, and drops the changes made here");
        return false;
    }
    return start_reading(watch, path, true);
}

#ifdef __linux__
static void drain(int descriptor)
{
    char events[SCRATCH];
    while (descriptor >= 0 && read(descriptor, events, sizeof events) > 0) {
    }
}
#endif

void nest_watch_look(struct nest_watch *watch, struct nest_notice *notice)
{
    notice->text[0] = '\0';
#ifdef __linux__
    drain(watch->descriptor);
#endif
    if (nest_runner_busy(watch->runner)) {
        return; /* looked at again when that is collected */
    }
    follow(watch);
    for (int i = 0; i < watch->files; i++) {
        const uint64_t content = content_of(watch->file[i].path);
        if (content == 0 || content == watch->file[i].content) {
            continue;
        }
        watch->file[i].content = content;
        tell_changes(watch, watch->file[i].path);
        if (take_change(watch, watch->file[i].path, notice)) {
            return;
        }
    }
}

/* What was read becomes a step, or says why not. */
static void take_reading(struct nest_watch *watch, struct nest_notice *notice)
{
    struct nest_session *session = watch->session;
    if (nest_session_current(session) != watch->base) {
        const bool whole = watch->scenario != NULL;
        char *path = strdup(whole ? watch->scenario : watch->cause);
        if (path && !(whole && session->dirty)) {
            (void)start_reading(watch, path, whole);
        }
        free(path);
        return;
    }
    if (watch->status != NEST_OK) {
        nest_notice_fault(notice, watch->console, watch->cause, &watch->errors);
    } else if (nest_session_replace(session, watch->fresh, watch->cause, watch->scenario != NULL) ==
               NEST_OK) {
        watch->fresh = NULL;
        nest_notice_say(notice, false, watch->cause, " was saved: read again");
        if (watch->console) {
            nest_console_note(watch->console, notice->text);
        }
    }
    forget_reading(watch);
}

bool nest_watch_collect(struct nest_watch *watch, struct nest_notice *notice)
{
    const bool came = nest_runner_collect(watch->runner);
    notice->text[0] = '\0';
    if (came) {
        struct nest_notice more;
        take_reading(watch, notice);
        nest_watch_look(watch, &more); /* what was saved meanwhile */
        *notice = more.text[0] ? more : *notice;
    }
    follow(watch);
    return came;
}

void nest_watch_wait(struct nest_watch *watch, struct nest_notice *notice)
{
    struct nest_notice latest = {.text = ""};
    while (nest_runner_busy(watch->runner)) {
        nest_runner_wait(watch->runner);
        (void)nest_watch_collect(watch, &latest);
        if (latest.text[0]) {
            *notice = latest;
        }
    }
}

/* ---- Life ----------------------------------------------------------------------------------- */

int nest_watch_descriptor(const struct nest_watch *watch)
{
    return watch->descriptor;
}

int nest_watch_timeout(const struct nest_watch *watch)
{
    return watch->blind ? LOOK_AGAIN : -1;
}

enum nest_status nest_watch_open(struct nest_session *session, struct nest_console *console,
                                 struct nest_watch **out)
{
    struct nest_watch *watch = calloc(1, sizeof *watch);
    *out = NULL;
    if (!watch) {
        return NEST_NO_MEMORY;
    }
    watch->session = session;
    watch->console = console;
    watch->descriptor = -1;
    watch->text = (struct nest_strbuf)NEST_STRBUF_INIT(TEXT_MAX);
#ifdef __linux__
    watch->descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
#endif
    const enum nest_status status = nest_runner_open(session, &watch->runner);
    if (status != NEST_OK) {
        nest_watch_close(watch);
        return status;
    }
    follow(watch);
    *out = watch;
    return NEST_OK;
}

void nest_watch_close(struct nest_watch *watch)
{
    if (!watch) {
        return;
    }
    nest_runner_close(watch->runner);
    forget_reading(watch);
    forget_files(watch->file, watch->files);
    nest_document_release(watch->document);
    if (watch->descriptor >= 0) {
        (void)close(watch->descriptor);
    }
    free(watch);
}
