/* The session's state, shared by its command and worker halves. Private to the session room. */
#ifndef NEST_SESSION_INTERNAL_H
#define NEST_SESSION_INTERNAL_H

#include <pthread.h>

#include "session/answer.h"
#include "session/session.h"

struct nest_session {
    struct nest_library library;
    int top;
    int threads;
    int wake[2]; /* pipe: the worker writes, the owner of the screen polls */
    pthread_t worker;
    struct nest_solver *solver; /* the worker's */

    /* Only the commanding thread touches the history. */
    struct nest_document **history;
    int documents, room;
    int now;                     /* index of the current document */
    struct nest_document *saved; /* as last saved or opened */
    bool dirty;                  /* the current document differs from it */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint64_t generation;          /* of the current document */
    struct nest_document *wanted; /* the current document */
    struct nest_answer *answer;   /* newest, perhaps provisional */
    struct nest_answer *final;    /* newest solved one */
    struct nest_progress progress;
    bool solving, cancelled, closing;
    bool woken; /* a byte lies in the pipe */
    atomic_bool cancel;
};

/* The current document; borrowed. */
struct nest_document *nest_session_current(const struct nest_session *session);

/* The number of the current document's generation. */
uint64_t nest_session_generation(struct nest_session *session);

/* The newest finished answer if it is that of the current scenario, else NULL; the caller releases
 * it. */
struct nest_answer *nest_session_answer(struct nest_session *session);

/* A document of its own from files and names, which keeps what was asked for. cancel (may be NULL)
 * is polled by the scripts that this runs. From any thread. */
enum nest_status nest_session_read(const struct nest_session *session,
                                   const struct nest_scenario_request *request,
                                   const atomic_bool *cancel, struct nest_document **out,
                                   struct nest_errors *errors);

/* The scenario of `text` with everything that it names read anew, filed as asked->scenario (may be
 * NULL), with asked kept as what was asked for. From any thread. */
enum nest_status nest_session_reread(const struct nest_session *session,
                                     const struct nest_scenario_request *asked, const char *text,
                                     size_t length, const atomic_bool *cancel,
                                     struct nest_document **out, struct nest_errors *errors);

/* Makes a document that was read from files the next step, because `cause` was saved; with saved it
 * is also what its scenario's file holds. Takes the reference over. */
enum nest_status nest_session_replace(struct nest_session *session, struct nest_document *document,
                                      const char *cause, bool saved);

/* Makes a document whose scenario came from elsewhere the current one, saved as it is; undo leads
 * back to what was before. Takes the reference over. */
enum nest_status nest_session_begin(struct nest_session *session, struct nest_document *document,
                                    struct nest_errors *errors);

/* Appends document (its reference is taken over) after the current one, dropping what could be
 * redone. */
enum nest_status nest_session_push(struct nest_session *session, struct nest_document *document);

/* Ends a command: takes over document, which becomes a step if status and document are sound and
 * it is not the same as the current one. */
enum nest_status nest_session_commit(struct nest_session *session, struct nest_document *document,
                                     enum nest_status status, struct nest_errors *errors);

/* The last part of it, of a document that is finished: it becomes a step if it is not the same as
 * the current one. Takes the reference over. */
enum nest_status nest_session_accept(struct nest_session *session, struct nest_document *document);

/* Puts another cluster into a derived document, without the edits of the old one; as
 * nest_session_cluster. cancel (may be NULL) is polled by its script. From any thread. */
enum nest_status nest_session_exchange(const struct nest_session *session,
                                       struct nest_document *document, const char *name,
                                       const atomic_bool *cancel, struct nest_errors *errors);

/* The command line of a document that is filed so (NULL: nowhere), as nest_session_command. From
 * any thread. */
enum nest_status nest_session_command_of(const struct nest_session *session,
                                         const struct nest_document *document, const char *file,
                                         const atomic_bool *cancel, struct nest_strbuf *out,
                                         struct nest_errors *errors);

/* Makes the current document the one to be solved. */
void nest_session_want(struct nest_session *session);

/* Compares the current document with the saved one. */
void nest_session_note_dirty(struct nest_session *session);

/* The worker: solves whatever is wanted until the session closes. */
void *nest_session_work(void *session);

/* Makes the descriptor readable. The lock is held. */
void nest_session_wake(struct nest_session *session);

/* Starts a thread that leaves signals to the commanding one. */
bool nest_session_thread(pthread_t *thread, void *(*work)(void *), void *context);

#endif
