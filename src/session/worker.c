#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session/internal.h"

void nest_session_wake(struct nest_session *session)
{
    if (!session->woken) {
        session->woken = write(session->wake[1], "", 1) == 1;
    }
}

void nest_session_notify(struct nest_session *session)
{
    pthread_mutex_lock(&session->lock);
    nest_session_wake(session);
    pthread_mutex_unlock(&session->lock);
}

/* One solve. Only the worker thread touches it. */
struct job {
    struct nest_session *session;
    struct nest_document *document;
    struct nest_answer *earlier; /* the last solved answer, or NULL */
    uint64_t generation;
    struct timespec start;
    double shown; /* when progress was last published, seconds since start */
};

static double elapsed(const struct timespec *start)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* Called by the solver. A screen needs no more than 30 pictures a second. */
static void on_progress(void *context, const struct nest_progress *progress)
{
    struct job *job = context;
    struct nest_session *session = job->session;
    const double now = elapsed(&job->start);
    pthread_mutex_lock(&session->lock);
    if (now - job->shown >= 1.0 / 30.0 && job->generation == session->generation) {
        job->shown = now;
        session->progress = *progress;
        session->progress.seconds = now;
        nest_session_wake(session);
    }
    pthread_mutex_unlock(&session->lock);
}

/* Gives up the reference to answer. Dropped if a newer scenario is wanted by now. */
static void publish(struct job *job, struct nest_answer *answer, bool finished)
{
    struct nest_session *session = job->session;
    struct nest_answer *old[2] = {NULL, NULL};
    pthread_mutex_lock(&session->lock);
    if (job->generation == session->generation) {
        if (answer) {
            old[0] = session->answer;
            session->answer = nest_answer_retain(answer);
        }
        if (answer && finished) {
            old[1] = session->final;
            session->final = nest_answer_retain(answer);
        }
        if (finished) {
            session->solving = false;
            session->cancelled &= answer == NULL; /* asked for too late to stop anything */
        }
        nest_session_wake(session);
        pthread_cond_broadcast(&session->changed);
    }
    pthread_mutex_unlock(&session->lock);
    nest_answer_release(old[0]);
    nest_answer_release(old[1]);
    nest_answer_release(answer);
}

/* Whether an override failed or was stopped: what was priced since has the default in its place. */
static bool is_faulty(const struct job *job)
{
    return nest_problem_fault(&job->document->problem, NULL) != NEST_OK;
}

static struct nest_answer *recost(const struct job *job)
{
    struct nest_answer *recosted =
        job->earlier ? nest_answer_recost(job->earlier, job->document) : NULL;
    if (recosted && is_faulty(job)) {
        nest_answer_release(recosted);
        recosted = NULL;
    }
    return recosted;
}

static void solve(struct job *job)
{
    struct nest_session *session = job->session;
    struct nest_answer *recosted = recost(job);
    const struct nest_solution *kept = nest_answer_best(recosted);
    if (recosted) {
        publish(job, nest_answer_retain(recosted), false);
    }
    struct nest_answer *answer = nest_answer_new(job->document);
    if (answer) {
        const struct nest_solve_options options = {
            .top = session->top,
            .by_shape = true,
            .threads = session->threads,
            .cancel = &session->cancel,
            .progress = on_progress,
            .context = job,
            .warm = kept && kept->prediction.feasible ? &kept->plan : NULL,
        };
        answer->status =
            nest_solve(&job->document->problem, &options, &answer->arena, &answer->result);
        if (answer->status == NEST_OK) {
            answer->status =
                nest_solve_loss(&job->document->problem, &options, nest_answer_best(answer),
                                &answer->arena, &answer->loss);
        }
        answer->result.progress.seconds = elapsed(&job->start);
    }
    if (answer && answer->status != NEST_CANCELLED) {
        nest_answer_explain(answer, job->earlier, recosted);
    }
    if (answer && answer->status != NEST_CANCELLED &&
        nest_problem_fault(&job->document->problem, NULL) != NEST_CANCELLED) {
        publish(job, nest_answer_retain(answer), true);
    } else {
        publish(job, NULL, true);
    }
    nest_answer_release(answer);
    nest_answer_release(recosted);
}

/* Waits for work; false when the session closes. The job holds references of its own. */
static bool next_job(struct nest_session *session, uint64_t done, struct job *job)
{
    pthread_mutex_lock(&session->lock);
    while (!session->closing && session->generation == done) {
        pthread_cond_wait(&session->changed, &session->lock);
    }
    const bool open = !session->closing;
    if (open) {
        *job = (struct job){
            .session = session,
            .document = nest_document_retain(session->wanted),
            .earlier = session->final ? nest_answer_retain(session->final) : NULL,
            .generation = session->generation,
        };
        atomic_store(&session->cancel, session->cancelled);
        session->progress = (struct nest_progress){0};
        (void)clock_gettime(CLOCK_MONOTONIC, &job->start);
    }
    pthread_mutex_unlock(&session->lock);
    return open;
}

void *nest_session_work(void *context)
{
    struct nest_session *session = context;
    struct job job;
    for (uint64_t done = 0; next_job(session, done, &job); done = job.generation) {
        solve(&job);
        nest_document_release(job.document);
        nest_answer_release(job.earlier);
    }
    return NULL;
}
