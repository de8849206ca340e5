#include "session/maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/set.h"
#include "session/internal.h"
#include "session/knob.h"
#include "session/runner.h"

enum { WAITING_MAX = 64, DOING_MAX = 256, LINE_MAX = 1 << 16 };

static const struct nest_mark typed = {NULL, 0, 0};

enum kind { SET, NUDGE, CLUSTER, LOAD, COMMAND };

struct change {
    enum kind kind;
    char *path;  /* of the value, of the scenario's file, or the cluster's name */
    char *value; /* of a SET; where the scenario is filed, of a COMMAND */
    int steps;   /* of a NUDGE, up or down */
    bool big;
};

struct nest_maker {
    struct nest_session *session;
    struct nest_console *console;
    struct nest_runner *runner;
    struct change waiting[WAITING_MAX]; /* the first is under way */
    int count;
    char doing[DOING_MAX];

    /* Of the change under way; its thread's until it is collected. */
    struct nest_document *base, *fresh;
    struct nest_arena arena;
    struct nest_errors errors;
    enum nest_status status;
    bool stopped;            /* on demand: nobody needs to be told of a fault */
    struct nest_strbuf line; /* of a COMMAND */
    bool told;
};

/* ---- The change's thread -------------------------------------------------------------------- */

/* As many steps as were asked for meanwhile, with the script run once, for the last of them. */
static enum nest_status nudge(const struct change *change, struct nest_document *document,
                              struct nest_errors *errors)
{
    struct nest_knob knob = {0};
    const char *value = NULL;
    if (!nest_knob_of_script(document, change->path, &knob, errors->arena)) {
        nest_errors_add(errors, typed, change->path, NULL, "there is nothing to change here");
        return NEST_BAD_INPUT;
    }
    const int direction = change->steps > 0 ? 1 : -1;
    for (int i = 0; i != change->steps; i += direction) {
        const char *next =
            nest_knob_neighbour(&knob, document, direction, change->big, errors->arena);
        if (!next) {
            break;
        }
        knob.exact = value = next;
    }
    if (!value) {
        nest_errors_add(errors, typed, NULL, NULL, "%s is as %s as it can be", knob.name,
                        direction > 0 ? "high" : "low");
        return NEST_NO;
    }
    return nest_set(&document->scenario, change->path, value, typed, &document->arena, errors);
}

static enum nest_status apply(const struct nest_maker *maker, const struct change *change,
                              struct nest_document *document, struct nest_errors *errors)
{
    switch (change->kind) {
    case SET:
        return nest_set(&document->scenario, change->path, change->value, typed, &document->arena,
                        errors);
    case NUDGE:
        return nudge(change, document, errors);
    default:
        return nest_session_exchange(maker->session, document, change->path,
                                     nest_runner_flag(maker->runner), errors);
    }
}

static void make(void *context)
{
    struct nest_maker *maker = context;
    const struct change *change = &maker->waiting[0];
    const atomic_bool *cancel = nest_runner_flag(maker->runner);
    if (change->kind == LOAD) {
        const struct nest_scenario_request request = {.scenario = change->path};
        maker->status =
            nest_session_read(maker->session, &request, cancel, &maker->fresh, &maker->errors);
        return;
    }
    if (change->kind == COMMAND) {
        nest_strbuf_clear(&maker->line);
        maker->status = nest_session_command_of(maker->session, maker->base, change->value, cancel,
                                                &maker->line, &maker->errors);
        return;
    }
    struct nest_document *document = nest_document_derive(maker->base);
    maker->status = document ? NEST_OK : NEST_NO_MEMORY;
    if (document) {
        document->scenario.cluster.cancel = cancel;
        maker->status = apply(maker, change, document, &maker->errors);
        document->scenario.cluster.cancel = NULL;
    }
    if (maker->status == NEST_OK) {
        maker->status = nest_document_finish(document, &maker->errors);
    }
    maker->fresh = document;
}

/* ---- The owner's thread --------------------------------------------------------------------- */

static void forget_change(struct change *change)
{
    free(change->path);
    free(change->value);
    *change = (struct change){0};
}

static void forget_making(struct nest_maker *maker)
{
    nest_document_release(maker->base);
    nest_document_release(maker->fresh);
    maker->base = maker->fresh = NULL;
    nest_arena_free(&maker->arena);
}

static void forget_waiting(struct nest_maker *maker)
{
    for (; maker->count > 1; maker->count--) {
        forget_change(&maker->waiting[maker->count - 1]);
    }
}

static void done(void *context)
{
    (void)context; /* collect looks at what is there, as it has something to say */
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void describe(struct nest_maker *maker)
{
    const struct change *change = &maker->waiting[0];
    const char *script = maker->base->scenario.cluster.build_path;
    if (change->kind == CLUSTER || change->kind == LOAD || !script) {
        (void)snprintf(maker->doing, sizeof maker->doing, "%.200s", name_of(change->path));
    } else if (change->kind == COMMAND) {
        (void)snprintf(maker->doing, sizeof maker->doing, "%.200s", name_of(script));
    } else {
        (void)snprintf(maker->doing, sizeof maker->doing, "%.100s of %.100s",
                       strncmp(change->path, "cluster.", 8) == 0 ? change->path + 8 : change->path,
                       name_of(script));
    }
}

/* Begins with the first that waits. */
static bool start(struct nest_maker *maker)
{
    if (maker->count == 0) {
        return false;
    }
    maker->base = nest_document_retain(nest_session_current(maker->session));
    maker->stopped = false;
    nest_errors_init(&maker->errors, &maker->arena);
    describe(maker);
    return nest_runner_start(maker->runner, make, done, maker);
}

static enum nest_status add(struct nest_maker *maker, const struct change *wanted,
                            const char *value, struct nest_errors *errors)
{
    struct change *last = maker->count > 1 ? &maker->waiting[maker->count - 1] : NULL;
    const bool again = last && last->kind == wanted->kind && last->big == wanted->big &&
                       strcmp(last->path, wanted->path) == 0;
    if (again && wanted->kind == NUDGE) {
        last->steps += wanted->steps;
        return NEST_OK;
    }
    if (maker->count == WAITING_MAX) {
        nest_errors_add(errors, typed, NULL, NULL, "too many changes wait already");
        return NEST_NO;
    }
    struct change change = *wanted;
    change.path = strdup(wanted->path);
    change.value = value ? strdup(value) : NULL;
    if (!change.path || (value && !change.value)) {
        forget_change(&change);
        return NEST_NO_MEMORY;
    }
    maker->waiting[maker->count++] = change;
    return maker->count > 1 || start(maker) ? NEST_OK : NEST_NO_MEMORY;
}

/* What was made becomes a step, or says why not. */
static void take(struct nest_maker *maker, struct nest_notice *notice)
{
    struct nest_session *session = maker->session;
    enum nest_status status = maker->status;
    if (maker->stopped) {
        nest_notice_say(notice, true, maker->doing, ": stopped, nothing has changed");
        return;
    }
    if (status == NEST_OK && maker->waiting[0].kind == COMMAND) {
        maker->told = false;
    } else if (status == NEST_OK) {
        struct nest_document *fresh = maker->fresh;
        maker->fresh = NULL;
        status = maker->waiting[0].kind == LOAD ? nest_session_replace(session, fresh, NULL, true)
                                                : nest_session_accept(session, fresh);
    }
    if (status != NEST_OK) {
        nest_notice_fault(notice, status == NEST_NO ? NULL : maker->console, maker->doing,
                          &maker->errors);
    }
}

bool nest_maker_collect(struct nest_maker *maker, struct nest_notice *notice)
{
    notice->text[0] = '\0';
    if (!nest_runner_collect(maker->runner)) {
        return false;
    }
    /* What the scenario has become meanwhile must not be lost: the change goes over that. */
    const enum kind kind = maker->waiting[0].kind;
    const bool stale = !maker->stopped && kind != LOAD && kind != COMMAND &&
                       nest_session_current(maker->session) != maker->base;
    if (!stale) {
        take(maker, notice);
        forget_change(&maker->waiting[0]);
        maker->count--;
        memmove(maker->waiting, maker->waiting + 1,
                (size_t)maker->count * sizeof maker->waiting[0]);
    }
    forget_making(maker);
    (void)start(maker);
    return true;
}

bool nest_maker_cancel(struct nest_maker *maker)
{
    if (maker->count == 0) {
        return false;
    }
    forget_waiting(maker);
    maker->stopped = true;
    nest_runner_cancel(maker->runner);
    return true;
}

const char *nest_maker_doing(const struct nest_maker *maker)
{
    return maker->count > 0 ? maker->doing : NULL;
}

void nest_maker_wait(struct nest_maker *maker, struct nest_notice *notice)
{
    struct nest_notice latest = {.text = ""};
    while (maker->count > 0) {
        nest_runner_wait(maker->runner);
        (void)nest_maker_collect(maker, &latest);
        if (latest.text[0]) {
            *notice = latest;
        }
    }
}

/* ---- Commands ------------------------------------------------------------------------------- */

/* Whether the path names a knob of the current cluster's script; its full form then. */
static const char *script_path(const struct nest_maker *maker, const char *path,
                               struct nest_arena *arena)
{
    return nest_set_builds(&nest_session_current(maker->session)->scenario, path, arena);
}

enum nest_status nest_maker_set(struct nest_maker *maker, const char *path, const char *value,
                                struct nest_errors *errors)
{
    const char *full = script_path(maker, path, errors->arena);
    const struct change change = {.kind = SET, .path = (char *)(uintptr_t)full};
    return full ? add(maker, &change, value, errors)
                : nest_session_set(maker->session, path, value, errors);
}

enum nest_status nest_maker_nudge(struct nest_maker *maker, const char *path, int direction,
                                  bool big, struct nest_errors *errors)
{
    const char *full = script_path(maker, path, errors->arena);
    const struct change change = {
        .kind = NUDGE, .path = (char *)(uintptr_t)full, .steps = direction, .big = big};
    return full ? add(maker, &change, NULL, errors)
                : nest_session_nudge(maker->session, path, direction, big, errors);
}

enum nest_status nest_maker_cluster(struct nest_maker *maker, const char *name,
                                    struct nest_errors *errors)
{
    const struct change change = {.kind = CLUSTER, .path = (char *)(uintptr_t)name};
    return nest_cluster_is_script(&maker->session->library, name, errors->arena)
               ? add(maker, &change, NULL, errors)
               : nest_session_cluster(maker->session, name, errors);
}

enum nest_status nest_maker_load(struct nest_maker *maker, const char *path,
                                 struct nest_errors *errors)
{
    const struct change change = {.kind = LOAD, .path = (char *)(uintptr_t)path};
    /* What is not there can be said at once. */
    return access(path, R_OK) == 0 ? add(maker, &change, NULL, errors)
                                   : nest_session_load(maker->session, path, errors);
}

enum nest_status nest_maker_command(struct nest_maker *maker, struct nest_strbuf *out,
                                    struct nest_errors *errors)
{
    const struct nest_document *document = nest_session_current(maker->session);
    const struct nest_scenario_spec *scenario = &document->scenario;
    const struct change change = {.kind = COMMAND, .path = (char *)(uintptr_t) ""};
    if (!scenario->cluster.build && scenario->scripts == 0) {
        return nest_session_command(maker->session, out, errors);
    }
    return add(maker, &change, document->root->file, errors);
}

const char *nest_maker_line(struct nest_maker *maker)
{
    const bool told = maker->told;
    maker->told = true;
    return told ? NULL : nest_strbuf_text(&maker->line);
}

/* ---- Life ----------------------------------------------------------------------------------- */

enum nest_status nest_maker_open(struct nest_session *session, struct nest_console *console,
                                 struct nest_maker **out)
{
    struct nest_maker *maker = calloc(1, sizeof *maker);
    *out = NULL;
    if (!maker) {
        return NEST_NO_MEMORY;
    }
    maker->session = session;
    maker->console = console;
    maker->line = (struct nest_strbuf)NEST_STRBUF_INIT(LINE_MAX);
    maker->told = true;
    const enum nest_status status = nest_runner_open(session, &maker->runner);
    if (status != NEST_OK) {
        nest_maker_close(maker);
        return status;
    }
    *out = maker;
    return NEST_OK;
}

void nest_maker_close(struct nest_maker *maker)
{
    if (!maker) {
        return;
    }
    nest_runner_close(maker->runner);
    forget_making(maker);
    forget_waiting(maker);
    forget_change(&maker->waiting[0]);
    nest_strbuf_free(&maker->line);
    free(maker);
}
