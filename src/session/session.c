#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/doc.h"
#include "input/set.h"
#include "script/scripts.h"
#include "script/topology.h"
#include "session/change.h"
#include "session/internal.h"
#include "session/knob.h"
#include "session/report.h"

/* Where faults of typed values are located. */
static const struct nest_mark typed = {NULL, 0, 0};

/* ---- History ---- */

struct nest_document *nest_session_current(const struct nest_session *session)
{
    return session->history[session->now];
}

uint64_t nest_session_generation(struct nest_session *session)
{
    pthread_mutex_lock(&session->lock);
    const uint64_t generation = session->generation;
    pthread_mutex_unlock(&session->lock);
    return generation;
}

struct nest_answer *nest_session_answer(struct nest_session *session)
{
    struct nest_answer *answer = NULL;
    pthread_mutex_lock(&session->lock);
    if (!session->solving && session->final &&
        session->final->document == nest_session_current(session)) {
        answer = nest_answer_retain(session->final);
    }
    pthread_mutex_unlock(&session->lock);
    return answer;
}

void nest_session_note_dirty(struct nest_session *session)
{
    session->dirty = !nest_document_equal(nest_session_current(session), session->saved);
}

/* Makes the current document the one to be solved. */
void nest_session_want(struct nest_session *session)
{
    nest_session_note_dirty(session);
    pthread_mutex_lock(&session->lock);
    struct nest_document *old = session->wanted;
    session->wanted = nest_document_retain(nest_session_current(session));
    session->generation++;
    session->solving = true;
    session->cancelled = false;
    atomic_store(&session->cancel, true);
    nest_session_wake(session);
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    nest_document_release(old);
}

/* Appends document (its reference is taken over) after the current one, dropping what could be
 * redone. */
enum nest_status nest_session_push(struct nest_session *session, struct nest_document *document)
{
    if (session->now + 2 > session->room) {
        const int room = session->room ? session->room * 2 : 64;
        void *history = realloc(session->history, (size_t)room * sizeof(struct nest_document *));
        if (!history) {
            nest_document_release(document);
            return NEST_NO_MEMORY;
        }
        session->history = history;
        session->room = room;
    }
    while (session->documents > session->now + 1) {
        nest_document_release(session->history[--session->documents]);
    }
    session->history[session->documents++] = document;
    session->now = session->documents - 1;
    return NEST_OK;
}

enum nest_status nest_session_accept(struct nest_session *session, struct nest_document *document)
{
    if (nest_document_equal(document, nest_session_current(session))) {
        nest_document_release(document);
        return NEST_OK;
    }
    const enum nest_status status = nest_session_push(session, document);
    if (status == NEST_OK) {
        nest_session_want(session);
    }
    return status;
}

/* Ends a command: takes over document, which becomes a step if it is sound and not the same as the
 * current one. */
enum nest_status nest_session_commit(struct nest_session *session, struct nest_document *document,
                                     enum nest_status status, struct nest_errors *errors)
{
    if (status == NEST_OK) {
        status = nest_document_finish(document, errors);
    }
    if (status != NEST_OK) {
        nest_document_release(document);
        return status;
    }
    return nest_session_accept(session, document);
}

enum nest_status nest_session_replace(struct nest_session *session, struct nest_document *document,
                                      const char *cause, bool saved)
{
    document->cause = cause ? nest_arena_printf(&document->arena, "%s saved", cause) : NULL;
    const enum nest_status status = nest_session_push(session, document);
    if (status == NEST_OK && saved) {
        nest_document_release(session->saved);
        session->saved = nest_document_retain(document);
    }
    if (status == NEST_OK) {
        nest_session_want(session);
    }
    return status;
}

bool nest_session_undo(struct nest_session *session)
{
    if (session->now == 0) {
        return false;
    }
    session->now--;
    nest_session_want(session);
    return true;
}

bool nest_session_redo(struct nest_session *session)
{
    if (session->now + 1 >= session->documents) {
        return false;
    }
    session->now++;
    nest_session_want(session);
    return true;
}

/* ---- Life ---- */

static bool open_pipe(int ends[2])
{
    if (pipe(ends) != 0) {
        ends[0] = ends[1] = -1;
        return false;
    }
    bool fine = true;
    for (int i = 0; i < 2; i++) {
        fine &=
            fcntl(ends[i], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[i], F_SETFL, O_NONBLOCK) == 0;
    }
    return fine;
}

bool nest_session_thread(pthread_t *thread, void *(*work)(void *), void *context)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(thread, NULL, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

static void destroy(struct nest_session *session)
{
    for (int i = 0; i < session->documents; i++) {
        nest_document_release(session->history[i]);
    }
    free(session->history);
    nest_document_release(session->saved);
    nest_document_release(session->wanted);
    nest_answer_release(session->answer);
    nest_answer_release(session->final);
    for (int i = 0; i < 2; i++) {
        if (session->wake[i] >= 0) {
            close(session->wake[i]);
        }
    }
    nest_solver_free(session->solver);
    pthread_mutex_destroy(&session->lock);
    pthread_cond_destroy(&session->changed);
    free(session);
}

static struct nest_session *create(const struct nest_session_options *options)
{
    struct nest_session *session = calloc(1, sizeof *session);
    if (!session) {
        return NULL;
    }
    session->library = options->library;
    nest_topology_install(&session->library);
    session->top = options->top;
    session->threads = options->threads;
    atomic_init(&session->cancel, false);
    pthread_mutex_init(&session->lock, NULL);
    pthread_cond_init(&session->changed, NULL);
    session->solver = nest_solver_create();
    if (!open_pipe(session->wake) || !session->solver) {
        destroy(session);
        return NULL;
    }
    return session;
}

/* Ends the reading of a document: its scripts, its file, its problem. On failure the document is
 * released. */
static enum nest_status end_reading(const struct nest_session *session, enum nest_status status,
                                    const char *file, const atomic_bool *cancel,
                                    struct nest_document **document, struct nest_errors *errors)
{
    struct nest_scenario_spec *scenario = &(*document)->scenario;
    if (status == NEST_OK) {
        const struct nest_scripts_options options = {.library = &session->library,
                                                     .cancel = cancel};
        scenario->cluster.device = &scenario->device;
        status = nest_scripts_open(&options, scenario->scripts, scenario->script,
                                   &(*document)->scripts, errors);
    }
    if (status == NEST_OK) {
        (*document)->cancel = &session->cancel;
        status = nest_document_rename(*document, file) ? nest_document_finish(*document, errors)
                                                       : NEST_NO_MEMORY;
    }
    if (status != NEST_OK) {
        nest_document_release(*document);
        *document = NULL;
    }
    return status;
}

/* The session's library for one errand. */
static struct nest_library library_of(const struct nest_session *session, const atomic_bool *cancel)
{
    struct nest_library library = session->library;
    library.cancel = cancel;
    return library;
}

enum nest_status nest_session_reread(const struct nest_session *session,
                                     const struct nest_scenario_request *asked, const char *text,
                                     size_t length, const atomic_bool *cancel,
                                     struct nest_document **out, struct nest_errors *errors)
{
    const struct nest_library library = library_of(session, cancel);
    const struct nest_node *root = NULL;
    *out = nest_document_new();
    if (!*out) {
        return NEST_NO_MEMORY;
    }
    enum nest_status status =
        nest_doc_parse("the scenario", text, length, &(*out)->arena, &root, errors);
    if (status == NEST_OK) {
        status = nest_scenario_from_tree(&library, root, &(*out)->arena, &(*out)->scenario, errors);
    }
    if (status == NEST_OK && !nest_document_ask(*out, asked)) {
        status = NEST_NO_MEMORY;
    }
    return end_reading(session, status, asked->scenario, cancel, out, errors);
}

/* A document of its own from files and names. */
enum nest_status nest_session_read(const struct nest_session *session,
                                   const struct nest_scenario_request *request,
                                   const atomic_bool *cancel, struct nest_document **out,
                                   struct nest_errors *errors)
{
    const struct nest_library library = library_of(session, cancel);
    *out = nest_document_new();
    if (!*out) {
        return NEST_NO_MEMORY;
    }
    enum nest_status status =
        nest_load_scenario(&library, request, &(*out)->arena, &(*out)->scenario, errors);
    if (status == NEST_OK && !nest_document_ask(*out, request)) {
        status = NEST_NO_MEMORY;
    }
    return end_reading(session, status, request->scenario, cancel, out, errors);
}

enum nest_status nest_session_begin(struct nest_session *session, struct nest_document *document,
                                    struct nest_errors *errors)
{
    const enum nest_status status = end_reading(session, NEST_OK, NULL, NULL, &document, errors);
    return status == NEST_OK ? nest_session_replace(session, document, NULL, true) : status;
}

enum nest_status nest_session_open(const struct nest_session_options *options,
                                   struct nest_session **out, struct nest_errors *errors)
{
    *out = NULL;
    struct nest_session *session = create(options);
    if (!session) {
        return NEST_NO_MEMORY;
    }
    struct nest_document *document = NULL;
    enum nest_status status =
        nest_session_read(session, &options->request, NULL, &document, errors);
    if (status == NEST_OK) {
        session->now = -1;
        status = nest_session_push(session, document);
    }
    if (status == NEST_OK) {
        session->saved = nest_document_retain(document);
        nest_session_want(session);
        status = nest_session_thread(&session->worker, nest_session_work, session) ? NEST_OK
                                                                                   : NEST_NO_MEMORY;
    }
    if (status != NEST_OK) {
        destroy(session);
        return status;
    }
    *out = session;
    return NEST_OK;
}

void nest_session_close(struct nest_session *session)
{
    if (!session) {
        return;
    }
    pthread_mutex_lock(&session->lock);
    session->closing = true;
    session->generation++;
    atomic_store(&session->cancel, true);
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    pthread_join(session->worker, NULL);
    destroy(session);
}

int nest_session_descriptor(const struct nest_session *session)
{
    return session->wake[0];
}

void nest_session_wait(struct nest_session *session)
{
    pthread_mutex_lock(&session->lock);
    while (session->solving) {
        pthread_cond_wait(&session->changed, &session->lock);
    }
    pthread_mutex_unlock(&session->lock);
}

bool nest_session_cancel(struct nest_session *session)
{
    pthread_mutex_lock(&session->lock);
    const bool running = session->solving;
    if (running) {
        session->cancelled = true;
        atomic_store(&session->cancel, true);
    }
    pthread_mutex_unlock(&session->lock);
    return running;
}

/* ---- Commands ---- */

enum nest_status nest_session_set(struct nest_session *session, const char *path, const char *value,
                                  struct nest_errors *errors)
{
    struct nest_document *document = nest_document_derive(nest_session_current(session));
    if (!document) {
        return NEST_NO_MEMORY;
    }
    const enum nest_status status =
        nest_set(&document->scenario, path, value, typed, &document->arena, errors);
    return nest_session_commit(session, document, status, errors);
}

enum nest_status nest_session_pin(struct nest_session *session, const char *key, const char *value,
                                  struct nest_errors *errors)
{
    struct nest_document *document = nest_document_derive(nest_session_current(session));
    if (!document) {
        return NEST_NO_MEMORY;
    }
    const enum nest_status status =
        nest_pin_set(&document->scenario.pins, key, value, typed, errors);
    return nest_session_commit(session, document, status, errors);
}

static enum nest_status no_such_knob(const char *path, struct nest_errors *errors)
{
    nest_errors_add(errors, typed, path, NULL, "there is nothing to change here");
    return NEST_BAD_INPUT;
}

enum nest_status nest_session_nudge(struct nest_session *session, const char *path, int direction,
                                    bool big, struct nest_errors *errors)
{
    const struct nest_snapshot *snapshot = nest_session_snapshot(session);
    if (!snapshot) {
        return NEST_NO_MEMORY;
    }
    struct nest_arena scratch = NEST_ARENA_INIT;
    const struct nest_knob *knob = nest_knob_find(snapshot->knob, snapshot->knobs, path);
    enum nest_status status = NEST_OK;
    if (!knob) {
        status = no_such_knob(path, errors);
    } else {
        const char *value =
            nest_knob_neighbour(knob, nest_session_current(session), direction, big, &scratch);
        if (!value) {
            nest_errors_add(errors, typed, NULL, NULL, "%s is as %s as it can be", knob->name,
                            direction > 0 ? "high" : "low");
            status = NEST_NO;
        } else {
            status = knob->kind == NEST_KNOB_PIN ? nest_session_pin(session, path, value, errors)
                                                 : nest_session_set(session, path, value, errors);
        }
    }
    nest_arena_free(&scratch);
    nest_snapshot_release(snapshot);
    return status;
}

enum nest_status nest_session_toggle(struct nest_session *session, const char *key,
                                     struct nest_errors *errors)
{
    const struct nest_snapshot *snapshot = nest_session_snapshot(session);
    if (!snapshot) {
        return NEST_NO_MEMORY;
    }
    const struct nest_knob *knob = nest_knob_find(snapshot->knob, snapshot->knobs, key);
    enum nest_status status = NEST_OK;
    if (!knob || knob->kind != NEST_KNOB_PIN) {
        status = no_such_knob(key, errors);
    } else if (!knob->pinned && strcmp(knob->text, "-") == 0) {
        nest_errors_add(errors, typed, NULL, "type one with Enter", "no plan gives %s a value",
                        knob->name);
        status = NEST_NO;
    } else {
        status = nest_session_pin(session, key, knob->pinned ? "" : knob->text, errors);
    }
    nest_snapshot_release(snapshot);
    return status;
}

enum nest_status nest_session_adopt(struct nest_session *session, int index,
                                    struct nest_errors *errors)
{
    const struct nest_snapshot *snapshot = nest_session_snapshot(session);
    struct nest_document *document = nest_document_derive(nest_session_current(session));
    enum nest_status status = snapshot && document ? NEST_OK : NEST_NO_MEMORY;
    if (status == NEST_OK && (!snapshot->result || index < 0 || index >= snapshot->result->count)) {
        status = no_such_knob("alternative", errors);
    }
    for (int pin = 0; pin < NEST_PINS && status == NEST_OK; pin++) {
        struct nest_strbuf value = NEST_STRBUF_INIT(256);
        nest_plan_choice(&snapshot->result->solution[index].plan, pin, &value);
        if (pin != NEST_PIN_RECOMPUTE) {
            status =
                nest_pin_set(&document->scenario.pins, nest_pin_key_word((enum nest_pin_key)pin),
                             nest_strbuf_text(&value), typed, errors);
        }
        nest_strbuf_free(&value);
    }
    if (snapshot) {
        nest_snapshot_release(snapshot);
    }
    return document ? nest_session_commit(session, document, status, errors) : status;
}
