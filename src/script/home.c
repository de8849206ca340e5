#include "script/home.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct nest_home {
    atomic_int references;
    pthread_mutex_t lock; /* of the state */
    lua_State *L;
    pthread_mutex_t sweeping; /* guards the list; may be taken by whoever has the state */
    struct nest_functions *unheld;
};

struct nest_home *nest_home_new(void)
{
    struct nest_home *home = calloc(1, sizeof *home);
    if (home) {
        atomic_init(&home->references, 1);
        pthread_mutex_init(&home->lock, NULL);
        pthread_mutex_init(&home->sweeping, NULL);
    }
    return home;
}

struct nest_home *nest_home_retain(struct nest_home *home)
{
    atomic_fetch_add(&home->references, 1);
    return home;
}

static struct nest_functions *take_unheld(struct nest_home *home)
{
    pthread_mutex_lock(&home->sweeping);
    struct nest_functions *first = home->unheld;
    home->unheld = NULL;
    pthread_mutex_unlock(&home->sweeping);
    return first;
}

void nest_home_release(struct nest_home *home)
{
    if (!home || atomic_fetch_sub(&home->references, 1) != 1) {
        return;
    }
    for (struct nest_functions *one = take_unheld(home); one;) {
        struct nest_functions *next = one->next;
        free(one);
        one = next;
    }
    pthread_mutex_destroy(&home->lock);
    pthread_mutex_destroy(&home->sweeping);
    free(home);
}

void nest_home_move(struct nest_home *home, lua_State *L)
{
    pthread_mutex_lock(&home->lock);
    home->L = L;
    pthread_mutex_unlock(&home->lock);
}

/* A point of time that a wait for the lock ends at, to look at the flag. */
static struct timespec soon(void)
{
    enum { NANOSECONDS = 20000000, SECOND = 1000000000 };
    struct timespec time;
    (void)clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += NANOSECONDS;
    if (time.tv_nsec >= SECOND) {
        time.tv_nsec -= SECOND;
        time.tv_sec++;
    }
    return time;
}

bool nest_home_enter(struct nest_home *home, const atomic_bool *cancel)
{
    if (pthread_mutex_trylock(&home->lock) == 0) {
        return true;
    }
    while (!cancel || !atomic_load(cancel)) {
        const struct timespec end = soon();
        if (pthread_mutex_timedlock(&home->lock, &end) == 0) {
            return true;
        }
    }
    return false;
}

bool nest_home_try(struct nest_home *home)
{
    return pthread_mutex_trylock(&home->lock) == 0;
}

void nest_home_leave(struct nest_home *home)
{
    pthread_mutex_unlock(&home->lock);
}

lua_State *nest_home_state(const struct nest_home *home)
{
    return home->L;
}

struct nest_functions *nest_functions_new(struct nest_home *home)
{
    struct nest_functions *functions = calloc(1, sizeof *functions);
    if (functions) {
        atomic_init(&functions->references, 1);
        functions->home = nest_home_retain(home);
    }
    return functions;
}

struct nest_functions *nest_functions_retain(struct nest_functions *functions)
{
    if (functions) {
        atomic_fetch_add(&functions->references, 1);
    }
    return functions;
}

/* Maybe by a thread that is inside the state already, so that is left alone. */
void nest_functions_release(struct nest_functions *functions)
{
    if (!functions || atomic_fetch_sub(&functions->references, 1) != 1) {
        return;
    }
    struct nest_home *home = functions->home;
    pthread_mutex_lock(&home->sweeping);
    functions->next = home->unheld;
    home->unheld = functions;
    pthread_mutex_unlock(&home->sweeping);
    nest_home_release(home);
}

void nest_functions_sweep(struct nest_home *home)
{
    for (struct nest_functions *one = take_unheld(home); one;) {
        struct nest_functions *next = one->next;
        if (home->L) {
            lua_pushnil(home->L);
            lua_rawsetp(home->L, LUA_REGISTRYINDEX, one);
        }
        free(one);
        one = next;
    }
}
