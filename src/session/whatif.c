#include "session/whatif.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "input/set.h"
#include "session/internal.h"
#include "session/knob.h"
#include "session/report.h"
#include "session/runner.h"

/* Values below and above the present one. */
enum { SIDE = 4, POINTS = 2 * SIDE + 1, PATH = 128, TEXT_MAX = 1 << 12 };

static const struct nest_mark typed = {NULL, 0, 0};

/* A value with the scenario that has it. */
struct trial {
    struct nest_whatif_point point;
    struct nest_document *document;
};

struct nest_whatif {
    struct nest_session *session;
    struct nest_runner *runner;

    /* Of the errand; its thread's while it runs. */
    char path[PATH];
    struct nest_document *base;
    struct nest_answer *answer; /* to base */
    struct trial trial[POINTS];
    int trials;
    struct nest_arena arena;

    pthread_mutex_t lock; /* guards what follows */
    struct nest_whatif_point known[POINTS];
    int count;
    bool news;

    struct nest_whatif_point shown[POINTS]; /* the owner's copy */
    int shows;
};

/* ---- The errand ----------------------------------------------------------------------------- */

static void publish(struct nest_whatif *whatif)
{
    pthread_mutex_lock(&whatif->lock);
    for (int i = 0; i < whatif->trials; i++) {
        whatif->known[i] = whatif->trial[i].point;
    }
    whatif->count = whatif->trials;
    whatif->news = true;
    pthread_mutex_unlock(&whatif->lock);
    nest_session_notify(whatif->session);
}

static bool stopped(const struct nest_whatif *whatif)
{
    return atomic_load(nest_runner_flag(whatif->runner));
}

static const struct nest_plan *plan_of(const struct nest_answer *answer)
{
    const struct nest_solution *best = nest_answer_best(answer);
    return best ? &best->plan : NULL;
}

/* The knob as it is in a scenario; plan gives a free choice its value and may be NULL. */
static const struct nest_knob *knob_in(const struct nest_whatif *whatif,
                                       const struct nest_document *document,
                                       const struct nest_plan *plan, struct nest_arena *scratch)
{
    int count = 0;
    const struct nest_knob *knob = nest_knobs(document, plan, NULL, scratch, &count);
    return knob ? nest_knob_find(knob, count, whatif->path) : NULL;
}

/* The scenario with the knob's neighbour; false at the end of its range. */
static bool step_to(struct nest_whatif *whatif, struct nest_document *from,
                    const struct nest_plan *plan, int direction, struct trial *out)
{
    struct nest_arena scratch = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &scratch);
    const struct nest_knob *knob = knob_in(whatif, from, plan, &scratch);
    const char *value = knob ? nest_knob_neighbour(knob, from, direction, false, &scratch) : NULL;
    struct nest_document *document = value ? nest_document_derive(from) : NULL;
    bool fine = document != NULL;
    if (fine) {
        struct nest_scenario_spec *scenario = &document->scenario;
        document->cancel = nest_runner_flag(whatif->runner);
        scenario->cluster.cancel = document->cancel;
        fine = (knob->kind == NEST_KNOB_PIN
                    ? nest_pin_set(&scenario->pins, whatif->path, value, typed, &errors)
                    : nest_set(scenario, whatif->path, value, typed, &document->arena, &errors)) ==
                   NEST_OK &&
               nest_document_finish(document, &errors) == NEST_OK;
    }
    const struct nest_knob *now = fine ? knob_in(whatif, document, NULL, &scratch) : NULL;
    if (now) {
        out->point = (struct nest_whatif_point){
            .value = nest_arena_strdup(&whatif->arena, value),
            .text = nest_arena_strdup(&whatif->arena, now->text),
            .plan = "",
        };
        fine = out->point.value && out->point.text;
    }
    if (fine && now) {
        out->document = document;
    } else {
        nest_document_release(document);
    }
    nest_arena_free(&scratch);
    return fine && now;
}

/* The values on one side, the nearest first; returns how many. */
static int walk(struct nest_whatif *whatif, int direction, struct trial out[SIDE])
{
    struct nest_document *from = whatif->base;
    const struct nest_plan *plan = plan_of(whatif->answer);
    int count = 0;
    while (count < SIDE && !stopped(whatif) &&
           step_to(whatif, from, plan, direction, &out[count])) {
        from = out[count++].document;
        plan = NULL; /* the choice is pinned there */
    }
    return count;
}

static bool add_present(struct nest_whatif *whatif)
{
    struct nest_arena scratch = NEST_ARENA_INIT;
    const struct nest_solution *best = nest_answer_best(whatif->answer);
    const struct nest_knob *knob =
        knob_in(whatif, whatif->base, best ? &best->plan : NULL, &scratch);
    if (knob) {
        whatif->trial[whatif->trials++].point = (struct nest_whatif_point){
            .value = nest_arena_strdup(&whatif->arena, knob->exact),
            .text = nest_arena_strdup(&whatif->arena, knob->text),
            .present = true,
            .done = true,
            .step = best ? best->prediction.step : 0,
            .plan = "",
        };
    }
    nest_arena_free(&scratch);
    return knob != NULL;
}

static void lay_out(struct nest_whatif *whatif)
{
    struct trial side[SIDE] = {0};
    const int below = walk(whatif, -1, side);
    for (int i = below - 1; i >= 0; i--) {
        whatif->trial[whatif->trials++] = side[i];
    }
    if (add_present(whatif)) {
        whatif->trials += walk(whatif, 1, &whatif->trial[whatif->trials]);
    }
}

static void solve(struct nest_whatif *whatif, struct trial *trial)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_result result;
    const struct nest_plan *present = plan_of(whatif->answer);
    const struct nest_solve_options options = {
        .top = 1,
        .by_shape = true,
        .threads = whatif->session->threads,
        .cancel = nest_runner_flag(whatif->runner),
        .warm = present,
    };
    const struct nest_problem *problem = &trial->document->problem;
    const enum nest_status status = nest_solve(problem, &options, &arena, &result);
    trial->point.done = status == NEST_OK || status == NEST_NO;
    if (status == NEST_OK) {
        struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
        trial->point.step = result.solution[0].prediction.step;
        if (present) {
            nest_plan_difference(&result.solution[0].plan, present, "  ", &text);
        }
        const char *plan = nest_arena_strdup(&whatif->arena, nest_strbuf_text(&text));
        trial->point.plan = plan ? plan : "";
        nest_strbuf_free(&text);
    }
    nest_arena_free(&arena);
}

static void work(void *context)
{
    struct nest_whatif *whatif = context;
    lay_out(whatif);
    publish(whatif);
    for (int i = 0; i < whatif->trials && !stopped(whatif); i++) {
        if (whatif->trial[i].document) {
            solve(whatif, &whatif->trial[i]);
            publish(whatif);
        }
    }
}

/* ---- The owner's thread --------------------------------------------------------------------- */

static void forget(struct nest_whatif *whatif)
{
    for (int i = 0; i < whatif->trials; i++) {
        nest_document_release(whatif->trial[i].document);
        whatif->trial[i].document = NULL;
    }
    nest_document_release(whatif->base);
    nest_answer_release(whatif->answer);
    whatif->base = NULL;
    whatif->answer = NULL;
}

static void done(void *context)
{
    forget(context);
}

static void settle(struct nest_whatif *whatif)
{
    if (nest_whatif_cancel(whatif)) {
        nest_runner_wait(whatif->runner);
        (void)nest_runner_collect(whatif->runner);
    }
}

enum nest_status nest_whatif_start(struct nest_whatif *whatif, const char *path,
                                   struct nest_errors *errors)
{
    settle(whatif);
    struct nest_answer *answer = nest_session_answer(whatif->session);
    if (!answer) {
        nest_errors_add(errors, typed, NULL, NULL, "wait for the search: it starts from its plan");
        return NEST_NO;
    }
    nest_arena_reset(&whatif->arena);
    memset(whatif->trial, 0, sizeof whatif->trial);
    whatif->trials = whatif->count = whatif->shows = 0;
    whatif->path[0] = '\0';
    strncat(whatif->path, path, sizeof whatif->path - 1);
    whatif->base = nest_document_retain(nest_session_current(whatif->session));
    whatif->answer = answer;
    if (!nest_runner_start(whatif->runner, work, done, whatif)) {
        forget(whatif);
        return NEST_NO_MEMORY;
    }
    return NEST_OK;
}

bool nest_whatif_cancel(struct nest_whatif *whatif)
{
    const bool busy = nest_runner_busy(whatif->runner);
    if (busy) {
        nest_runner_cancel(whatif->runner);
    }
    return busy;
}

bool nest_whatif_busy(const struct nest_whatif *whatif)
{
    return nest_runner_busy(whatif->runner);
}

bool nest_whatif_collect(struct nest_whatif *whatif)
{
    const bool ended = nest_runner_collect(whatif->runner);
    pthread_mutex_lock(&whatif->lock);
    const bool news = whatif->news;
    if (news) {
        memcpy(whatif->shown, whatif->known, sizeof whatif->shown);
        whatif->shows = whatif->count;
        whatif->news = false;
    }
    pthread_mutex_unlock(&whatif->lock);
    return news || ended;
}

void nest_whatif_wait(struct nest_whatif *whatif)
{
    while (nest_runner_busy(whatif->runner)) {
        nest_runner_wait(whatif->runner);
        (void)nest_whatif_collect(whatif);
    }
}

const struct nest_whatif_point *nest_whatif_points(const struct nest_whatif *whatif, int *count)
{
    *count = whatif->shows;
    return whatif->shown;
}

/* ---- Life ----------------------------------------------------------------------------------- */

enum nest_status nest_whatif_open(struct nest_session *session, struct nest_whatif **out)
{
    struct nest_whatif *whatif = calloc(1, sizeof *whatif);
    *out = NULL;
    if (!whatif) {
        return NEST_NO_MEMORY;
    }
    whatif->session = session;
    pthread_mutex_init(&whatif->lock, NULL);
    const enum nest_status status = nest_runner_open(session, &whatif->runner);
    if (status != NEST_OK) {
        nest_whatif_close(whatif);
        return status;
    }
    *out = whatif;
    return NEST_OK;
}

void nest_whatif_close(struct nest_whatif *whatif)
{
    if (!whatif) {
        return;
    }
    nest_runner_close(whatif->runner);
    forget(whatif);
    nest_arena_free(&whatif->arena);
    pthread_mutex_destroy(&whatif->lock);
    free(whatif);
}
