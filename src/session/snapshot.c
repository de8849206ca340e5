#include <stdlib.h>
#include <unistd.h>

#include "script/home.h"
#include "session/internal.h"
#include "session/knob.h"

/* The public record with what keeps it alive; view is first, so that one is the other. */
struct held {
    struct nest_snapshot view;
    struct nest_arena arena;
    struct nest_document *document;
    struct nest_answer *answer;
};

static const struct nest_change no_change;
static const struct nest_loss no_loss;

/* The state under the lock: cheap to copy, references taken. */
static void capture(struct nest_session *session, struct held *held)
{
    char byte;
    pthread_mutex_lock(&session->lock);
    if (session->woken && read(session->wake[0], &byte, 1) == 1) {
        session->woken = false;
    }
    held->document = nest_document_retain(session->wanted);
    held->answer = session->answer ? nest_answer_retain(session->answer) : NULL;
    held->view.generation = session->generation;
    held->view.solving = session->solving;
    held->view.cancelled = session->cancelled;
    held->view.progress =
        session->solving || !session->final ? session->progress : session->final->result.progress;
    pthread_mutex_unlock(&session->lock);
}

static void fill(const struct nest_session *session, struct held *held)
{
    struct nest_snapshot *view = &held->view;
    const struct nest_answer *answer = held->answer;
    const struct nest_solution *best = nest_answer_best(answer);
    view->undo = session->now;
    view->redo = session->documents - session->now - 1;
    view->dirty = session->dirty;
    const char *file = held->document->root->file;
    view->file = file ? nest_arena_strdup(&held->arena, file) : NULL;
    view->scenario = &held->document->scenario;
    view->problem = &held->document->problem;
    view->model = held->document->problem.model;
    view->cluster = held->document->problem.cluster;
    view->overrides = held->document->functions ? held->document->functions->hooks : 0;
    view->change = &no_change;
    view->loss = &no_loss;
    if (answer) {
        view->provisional = answer->provisional;
        view->status = answer->status;
        view->result = &answer->result;
        view->solved = &answer->document->problem;
        view->use = answer->use;
        view->touched = answer->touched;
        view->change = &answer->change;
        view->loss = &answer->loss;
    }
    view->knob = nest_knobs(held->document, best ? &best->plan : NULL, session->saved, &held->arena,
                            &view->knobs);
}

const struct nest_snapshot *nest_session_snapshot(struct nest_session *session)
{
    struct held *held = calloc(1, sizeof *held);
    if (!held) {
        return NULL;
    }
    capture(session, held);
    fill(session, held);
    return &held->view;
}

void nest_snapshot_release(const struct nest_snapshot *snapshot)
{
    /* Every snapshot was born as the first member of a held one. */
    struct held *held = (struct held *)(uintptr_t)snapshot;
    if (held) {
        nest_document_release(held->document);
        nest_answer_release(held->answer);
        nest_arena_free(&held->arena);
        free(held);
    }
}
