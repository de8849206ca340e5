#include "session/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/doc.h"
#include "input/set.h"
#include "session/internal.h"
#include "session/lookout.h"
#include "session/runner.h"

enum { FILES_MAX = 64, TEXT_MAX = 1 << 24, SCRATCH = 4096 };

struct watched {
    char *path;
    uint64_t content; /* fingerprint; 0: cannot be read */
    struct stat seen; /* when it was taken */
};

struct nest_watch {
    struct nest_session *session;
    struct nest_console *console;
    struct nest_runner *runner;
    struct nest_lookout *lookout;
    struct nest_document *document; /* whose files are watched */
    int files;
    struct watched file[FILES_MAX];

    /* Of what is being read; its thread's until it is collected. */
    struct nest_document *base, *fresh;
    char *path;                         /* of the file that was saved */
    char *filed;                        /* where the scenario is saved, or NULL */
    char *scenario;                     /* the scenario's own file, or NULL: */
    struct nest_strbuf text;            /* the scenario as it is, to be read again */
    struct nest_scenario_request asked; /* beside the file */
    struct nest_arena arena;
    struct nest_errors errors;
    enum nest_status status;
    uint64_t before; /* its content before that */
    bool stopped;    /* on demand */
    bool outdated;   /* stopped because something was saved meanwhile */
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

#ifdef __APPLE__
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

/* Whether the system says that the file is the one that was read. */
static bool is_untouched(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Its content now; the file is read only where it may have changed. */
static uint64_t look_at(struct watched *file)
{
    struct stat info;
    if (stat(file->path, &info) != 0) {
        file->seen = (struct stat){0};
        return 0;
    }
    if (file->content != 0 && is_untouched(&info, &file->seen)) {
        return file->content;
    }
    const uint64_t content = content_of(file->path);
    file->seen = content == file->content ? info : (struct stat){0};
    return content;
}

static void add_file(struct nest_watch *watch, const char *path, const struct watched *known,
                     int count)
{
    for (int i = 0; path && i < watch->files; i++) {
        if (strcmp(watch->file[i].path, path) == 0) {
            return;
        }
    }
    char *copy = path && watch->files < FILES_MAX ? strdup(path) : NULL;
    if (!copy) {
        return;
    }
    uint64_t content = 0;
    for (int i = 0; i < count; i++) {
        content = strcmp(known[i].path, path) == 0 ? known[i].content : content;
    }
    watch->file[watch->files++] =
        (struct watched){.path = copy, .content = content ? content : content_of(path)};
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* A shipped name's file, or the path itself, also while there is nothing. */
static void add_named(struct nest_watch *watch, const char *kind, const char *name,
                      const struct watched *known, int count)
{
    static const char *const endings[] = {".yaml", ".lua"};
    const char *root = watch->session->library.root;
    bool shipped = false;
    if (!name || strcmp(name, "-") == 0) {
        return;
    }
    const bool path = strchr(name, '/') || ends_with(name, ".yaml") || ends_with(name, ".lua");
    for (int i = 0; root && !path && i < 2; i++) {
        char there[SCRATCH];
        (void)snprintf(there, sizeof there, "%s/%s/%s%s", root, kind, name, endings[i]);
        if (access(there, R_OK) == 0) {
            add_file(watch, there, known, count);
            shipped = true;
        }
    }
    if (!shipped) {
        add_file(watch, name, known, count);
    }
}

static void add_device(struct nest_watch *watch, const struct nest_device_spec *device,
                       const struct watched *known, int count)
{
    if (device) {
        add_named(watch, "topologies/devices", device->ref ? device->ref : device->id, known,
                  count);
    }
}

/* The device, and the others where groups have their own. */
static void add_devices(struct nest_watch *watch, const struct nest_scenario_spec *scenario,
                        const struct watched *known, int count)
{
    add_device(watch, &scenario->device, known, count);
    for (int i = 0; i < scenario->cluster.levels; i++) {
        const struct nest_level_spec *level = &scenario->cluster.level[i];
        for (int j = 0; j < level->groups; j++) {
            add_device(watch, level->group[j].device, known, count);
        }
    }
}

static void tell_lookout(struct nest_watch *watch)
{
    nest_lookout_begin(watch->lookout);
    for (int i = 0; i < watch->files; i++) {
        nest_lookout_add(watch->lookout, watch->file[i].path);
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
    const struct nest_scenario_spec *scenario = &document->scenario;
    add_file(watch, document->root->file, known, count);
    add_named(watch, "models", scenario->model.ref, known, count);
    add_named(watch, "topologies", scenario->cluster.ref, known, count);
    add_devices(watch, scenario, known, count);
    add_file(watch, scenario->model.measured_ref, known, count);
    for (int i = 0; i < scenario->scripts; i++) {
        add_file(watch, scenario->script[i].path, known, count);
    }
    forget_files(known, count);
    tell_lookout(watch);
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
    /* They are in no file. */
    if (watch->status == NEST_OK && !nest_document_override(watch->fresh, watch->base->functions)) {
        watch->status = NEST_NO_MEMORY;
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
    free(watch->path);
    free(watch->filed);
    free(watch->scenario);
    watch->path = watch->filed = watch->scenario = NULL;
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
    watch->stopped = watch->outdated = false;
    watch->base = nest_document_retain(current);
    watch->path = strdup(path);
    watch->scenario = whole ? strdup(path) : NULL;
    watch->filed = current->root->file ? strdup(current->root->file) : NULL;
    watch->asked = current->root->request;
    watch->asked.scenario = whole ? watch->scenario : watch->filed;
    nest_errors_init(&watch->errors, &watch->arena);
    if (!whole) {
        nest_scenario_write(&current->scenario, &watch->text);
    }
    return watch->path && !watch->text.failed && (!whole || watch->scenario) &&
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

/* Whether some file is not what it was when reading began. */
static bool any_change(struct nest_watch *watch)
{
    bool any = false;
    for (int i = 0; i < watch->files && !any; i++) {
        const uint64_t content = look_at(&watch->file[i]);
        any = content != 0 && content != watch->file[i].content;
    }
    return any;
}

void nest_watch_look(struct nest_watch *watch, struct nest_notice *notice)
{
    notice->text[0] = '\0';
    if (!nest_lookout_ready(watch->lookout)) {
        return;
    }
    if (nest_runner_busy(watch->runner)) {
        /* What is being read is old already: looked at again when that is collected. */
        if (any_change(watch)) {
            watch->outdated = true;
            nest_runner_cancel(watch->runner);
        }
        return;
    }
    follow(watch);
    tell_lookout(watch);
    for (int i = 0; i < watch->files; i++) {
        struct watched *file = &watch->file[i];
        const uint64_t before = file->content;
        const uint64_t content = look_at(file);
        if (content == 0 || content == before) {
            continue;
        }
        file->content = content;
        if (take_change(watch, file->path, notice)) {
            watch->before = before;
            return;
        }
    }
}

/* The file counts as changed again. */
static void take_back(struct nest_watch *watch)
{
    for (int i = 0; i < watch->files; i++) {
        if (strcmp(watch->file[i].path, watch->path) == 0) {
            watch->file[i].content = watch->before;
        }
    }
}

/* What was read becomes a step, or says why not. */
static void take_reading(struct nest_watch *watch, struct nest_notice *notice)
{
    struct nest_session *session = watch->session;
    if (watch->stopped) {
        nest_notice_say(notice, true, name_of(watch->path), ": stopped, the last good state stays");
        forget_reading(watch);
        return;
    }
    if (watch->outdated) {
        take_back(watch);
        forget_reading(watch);
        return;
    }
    if (nest_session_current(session) != watch->base) {
        const bool whole = watch->scenario != NULL;
        char *path = strdup(watch->path);
        if (path && !(whole && session->dirty)) {
            (void)start_reading(watch, path, whole);
        }
        free(path);
        return;
    }
    if (watch->status != NEST_OK) {
        nest_notice_fault(notice, watch->console, name_of(watch->path), &watch->errors);
    } else if (nest_session_replace(session, watch->fresh, name_of(watch->path),
                                    watch->scenario != NULL) == NEST_OK) {
        watch->fresh = NULL;
        nest_notice_say(notice, false, name_of(watch->path), " was saved: read again");
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
    return nest_lookout_descriptor(watch->lookout);
}

int nest_watch_timeout(const struct nest_watch *watch)
{
    return nest_lookout_timeout(watch->lookout);
}

bool nest_watch_cancel(struct nest_watch *watch)
{
    if (!nest_runner_busy(watch->runner)) {
        return false;
    }
    watch->stopped = true;
    nest_runner_cancel(watch->runner);
    return true;
}

const char *nest_watch_doing(const struct nest_watch *watch)
{
    return nest_runner_busy(watch->runner) ? name_of(watch->path) : NULL;
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
    watch->text = (struct nest_strbuf)NEST_STRBUF_INIT(TEXT_MAX);
    watch->lookout = nest_lookout_open();
    const enum nest_status status =
        watch->lookout ? nest_runner_open(session, &watch->runner) : NEST_NO_MEMORY;
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
    nest_lookout_close(watch->lookout);
    free(watch);
}
