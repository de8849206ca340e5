#include "session/runner.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "session/internal.h"

enum state { IDLE, WANTED, RUNNING, FINISHED };

struct nest_runner {
    struct nest_session *session;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    enum state state;
    bool closing;
    void (*run)(void *context);
    void (*done)(void *context);
    void *context;
    atomic_bool cancel;
};

static void *work(void *context)
{
    struct nest_runner *runner = context;
    pthread_mutex_lock(&runner->lock);
    for (;;) {
        while (!runner->closing && runner->state != WANTED) {
            pthread_cond_wait(&runner->changed, &runner->lock);
        }
        if (runner->closing) {
            break;
        }
        runner->state = RUNNING;
        pthread_mutex_unlock(&runner->lock);
        runner->run(runner->context);
        pthread_mutex_lock(&runner->lock);
        runner->state = FINISHED;
        pthread_cond_broadcast(&runner->changed);
        nest_session_notify(runner->session);
    }
    pthread_mutex_unlock(&runner->lock);
    return NULL;
}

enum nest_status nest_runner_open(struct nest_session *session, struct nest_runner **out)
{
    struct nest_runner *runner = calloc(1, sizeof *runner);
    *out = NULL;
    if (!runner) {
        return NEST_NO_MEMORY;
    }
    runner->session = session;
    atomic_init(&runner->cancel, false);
    pthread_mutex_init(&runner->lock, NULL);
    pthread_cond_init(&runner->changed, NULL);
    if (!nest_session_thread(&runner->thread, work, runner)) {
        pthread_cond_destroy(&runner->changed);
        pthread_mutex_destroy(&runner->lock);
        free(runner);
        return NEST_NO_MEMORY;
    }
    *out = runner;
    return NEST_OK;
}

void nest_runner_close(struct nest_runner *runner)
{
    if (!runner) {
        return;
    }
    pthread_mutex_lock(&runner->lock);
    runner->closing = true;
    atomic_store(&runner->cancel, true);
    pthread_cond_broadcast(&runner->changed);
    pthread_mutex_unlock(&runner->lock);
    pthread_join(runner->thread, NULL);
    pthread_cond_destroy(&runner->changed);
    pthread_mutex_destroy(&runner->lock);
    free(runner);
}

bool nest_runner_start(struct nest_runner *runner, void (*run)(void *context),
                       void (*done)(void *context), void *context)
{
    pthread_mutex_lock(&runner->lock);
    const bool free_now = runner->state == IDLE;
    if (free_now) {
        runner->run = run;
        runner->done = done;
        runner->context = context;
        runner->state = WANTED;
        atomic_store(&runner->cancel, false);
        pthread_cond_broadcast(&runner->changed);
    }
    pthread_mutex_unlock(&runner->lock);
    return free_now;
}

bool nest_runner_busy(struct nest_runner *runner)
{
    pthread_mutex_lock(&runner->lock);
    const bool busy = runner->state != IDLE;
    pthread_mutex_unlock(&runner->lock);
    return busy;
}

bool nest_runner_collect(struct nest_runner *runner)
{
    pthread_mutex_lock(&runner->lock);
    const bool finished = runner->state == FINISHED;
    if (finished) {
        runner->state = IDLE;
        atomic_store(&runner->cancel, false);
    }
    pthread_mutex_unlock(&runner->lock);
    if (finished) {
        runner->done(runner->context);
    }
    return finished;
}

void nest_runner_cancel(struct nest_runner *runner)
{
    atomic_store(&runner->cancel, true);
}

const atomic_bool *nest_runner_flag(const struct nest_runner *runner)
{
    return &runner->cancel;
}

void nest_runner_wait(struct nest_runner *runner)
{
    pthread_mutex_lock(&runner->lock);
    while (runner->state == WANTED || runner->state == RUNNING) {
        pthread_cond_wait(&runner->changed, &runner->lock);
    }
    pthread_mutex_unlock(&runner->lock);
}
