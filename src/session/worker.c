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

/* What was solved lately: undo and redo lead back to the same documents. A ring. */
enum { SOLVED_MAX = 32 };
struct solved {
    struct nest_answer *answer[SOLVED_MAX];
    int next;
};

static struct nest_answer *find_solved(const struct solved *solved,
                                       const struct nest_document *document)
{
    for (int i = 0; i < SOLVED_MAX; i++) {
        if (solved->answer[i] && solved->answer[i]->document == document) {
            return solved->answer[i];
        }
    }
    return NULL;
}

static void remember_solved(struct solved *solved, struct nest_answer *answer)
{
    nest_answer_release(solved->answer[solved->next]);
    solved->answer[solved->next] = nest_answer_retain(answer);
    solved->next = (solved->next + 1) % SOLVED_MAX;
}

static void forget_solved(struct solved *solved)
{
    for (int i = 0; i < SOLVED_MAX; i++) {
        nest_answer_release(solved->answer[i]);
    }
}

/* One solve. Only the worker thread touches it. */
struct job {
    struct nest_session *session;
    struct nest_solver *solver;
    struct solved *solved;
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

/* Searches for the document's plans; NULL when memory is out. */
static struct nest_answer *search(struct job *job)
{
    struct nest_session *session = job->session;
    const struct nest_problem *problem = &job->document->problem;
    struct nest_answer *answer = nest_answer_new(job->document);
    if (!answer) {
        return NULL;
    }
    const struct nest_solve_options options = {
        .top = session->top,
        .by_shape = true,
        .threads = session->threads,
        .cancel = &session->cancel,
        .progress = on_progress,
        .context = job,
    };
    answer->status =
        nest_solver_solve(job->solver, problem, &options, &answer->arena, &answer->result);
    if (answer->status == NEST_OK) {
        answer->status = nest_solve_loss(problem, &options, nest_answer_best(answer),
                                         &answer->arena, &answer->loss);
    }
    answer->result.progress.seconds = elapsed(&job->start);
    return answer;
}

/* Stopped, or by hooks that were: what was priced then has the default in its place. */
static bool is_cancelled(const struct job *job, const struct nest_answer *answer)
{
    return answer->status == NEST_CANCELLED ||
           nest_problem_fault(&job->document->problem, NULL) == NEST_CANCELLED;
}

static void solve(struct job *job)
{
    struct nest_answer *recosted = recost(job);
    if (recosted) {
        publish(job, nest_answer_retain(recosted), false);
    }
    struct nest_answer *known = find_solved(job->solved, job->document);
    struct nest_answer *answer = known ? nest_answer_again(known) : search(job);
    if (answer && !is_cancelled(job, answer)) {
        nest_answer_explain(answer, job->earlier, recosted);
        if (!known && !is_faulty(job)) {
            remember_solved(job->solved, answer);
        }
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
        job->document = nest_document_retain(session->wanted);
        job->earlier = session->final ? nest_answer_retain(session->final) : NULL;
        job->generation = session->generation;
        job->shown = 0;
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
    struct solved solved = {.next = 0};
    struct job job = {.session = session, .solver = session->solver, .solved = &solved};
    for (uint64_t done = 0; next_job(session, done, &job); done = job.generation) {
        solve(&job);
        nest_document_release(job.document);
        nest_answer_release(job.earlier);
    }
    forget_solved(&solved);
    return NULL;
}
