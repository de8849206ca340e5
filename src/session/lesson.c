#include "session/lesson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/set.h"
#include "script/repl.h"
#include "session/internal.h"
#include "session/runner.h"

enum { PRINTED_MAX = 1 << 20, VERDICT_MAX = 4096 };

#define FOLDER "scripts/lessons"

/* The figures for one scenario. */
struct figures {
    struct nest_log log;
    struct nest_strbuf verdict;
    bool edited, done;
};

struct nest_lesson {
    struct nest_session *session;
    struct nest_runner *runner;
    struct nest_repl *repl; /* of the open lesson; the errand's while one runs */
    int number, count;
    bool ticked[NEST_LESSONS_MAX];
    struct nest_document *first; /* the lesson's scenario as it was opened; owns the texts */
    struct nest_lesson_text text;
    struct nest_document *shown; /* whose figures are shown */
    struct figures figures;

    /* Of the errand; its thread's until it is collected. */
    struct nest_document *asked, *scratch;
    struct nest_answer *answer;
    struct figures fresh;
    struct nest_strbuf printed;
    struct nest_arena arena;
    struct nest_errors errors;
    enum nest_status status;
};

/* ---- Files ---------------------------------------------------------------------------------- */

const char *nest_lesson_path(const struct nest_library *library, int number,
                             struct nest_arena *arena)
{
    const char *prefix = nest_arena_printf(arena, "%d-", number);
    const char **name = nest_library_list(library, FOLDER, arena);
    while (prefix && name && *name && strncmp(*name, prefix, strlen(prefix)) != 0) {
        name++;
    }
    return prefix && name && *name
               ? nest_arena_printf(arena, "%s/" FOLDER "/%s.lua", library->root, *name)
               : NULL;
}

int nest_lesson_count(const struct nest_library *library)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    int count = 0;
    while (count + 1 < NEST_LESSONS_MAX && nest_lesson_path(library, count + 1, &arena)) {
        count++;
    }
    nest_arena_free(&arena);
    return count;
}

/* ---- The errand ----------------------------------------------------------------------------- */

static void on_print(void *context, const char *text, size_t length)
{
    nest_strbuf_add_bytes(&((struct nest_lesson *)context)->printed, text, length);
}

static void retain(void *document)
{
    (void)nest_document_retain(document);
}

static void release(void *document)
{
    nest_document_release(document);
}

static void work_out(void *context)
{
    struct nest_lesson *lesson = context;
    const struct nest_live live = {
        .spec = &lesson->scratch->scenario,
        .arena = &lesson->scratch->arena,
        .owner = lesson->scratch,
        .retain = retain,
        .release = release,
    };
    struct nest_lesson_state state = {
        .live = &live,
        .problem = &lesson->answer->document->problem,
        .best = nest_answer_best(lesson->answer),
        .edited = lesson->fresh.edited,
        .verdict = &lesson->fresh.verdict,
    };
    nest_strbuf_clear(&lesson->printed);
    lesson->status = nest_repl_lesson_show(lesson->repl, &state, &lesson->errors);
    lesson->fresh.done = state.done;
}

/* ---- The owner's thread --------------------------------------------------------------------- */

static void forget_figures(struct figures *figures)
{
    nest_log_free(&figures->log);
    nest_strbuf_free(&figures->verdict);
}

static void forget_errand(struct nest_lesson *lesson)
{
    nest_document_release(lesson->asked);
    nest_document_release(lesson->scratch);
    nest_answer_release(lesson->answer);
    lesson->asked = lesson->scratch = NULL;
    lesson->answer = NULL;
    forget_figures(&lesson->fresh);
    nest_arena_free(&lesson->arena);
}

static void take_faults(struct nest_lesson *lesson)
{
    for (size_t i = 0; i < lesson->errors.count; i++) {
        struct nest_strbuf text = NEST_STRBUF_INIT(PRINTED_MAX);
        nest_error_format(&lesson->errors.item[i], &text);
        nest_log_add(&lesson->fresh.log, NEST_LINE_ERROR, nest_strbuf_text(&text));
        nest_strbuf_free(&text);
    }
}

static void done(void *context)
{
    struct nest_lesson *lesson = context;
    if (lesson->printed.length > 0) {
        nest_log_add(&lesson->fresh.log, NEST_LINE_OUTPUT, nest_strbuf_text(&lesson->printed));
    }
    take_faults(lesson);
    forget_figures(&lesson->figures);
    lesson->figures = lesson->fresh;
    lesson->fresh = (struct figures){.verdict = NEST_STRBUF_INIT(VERDICT_MAX)};
    lesson->ticked[lesson->number] |= lesson->figures.done;
    nest_document_release(lesson->shown);
    lesson->shown = nest_document_retain(lesson->asked);
    forget_errand(lesson);
}

static bool ask(struct nest_lesson *lesson)
{
    struct nest_document *current = nest_session_current(lesson->session);
    if (lesson->number == 0 || lesson->shown == current || nest_runner_busy(lesson->runner)) {
        return false;
    }
    lesson->answer = nest_session_answer(lesson->session);
    if (!lesson->answer) {
        return false;
    }
    lesson->asked = nest_document_retain(current);
    lesson->scratch = nest_document_derive(current);
    lesson->fresh.edited =
        current->root == lesson->first && !nest_document_equal(current, lesson->first);
    nest_errors_init(&lesson->errors, &lesson->arena);
    if (!lesson->scratch || !nest_runner_start(lesson->runner, work_out, done, lesson)) {
        forget_errand(lesson);
        return false;
    }
    return true;
}

bool nest_lesson_collect(struct nest_lesson *lesson)
{
    const bool came = nest_runner_collect(lesson->runner);
    return ask(lesson) || came;
}

void nest_lesson_wait(struct nest_lesson *lesson)
{
    do {
        nest_session_wait(lesson->session);
        nest_runner_wait(lesson->runner);
        (void)nest_lesson_collect(lesson);
    } while (nest_runner_busy(lesson->runner));
}

struct nest_lesson_report nest_lesson_report(const struct nest_lesson *lesson)
{
    return (struct nest_lesson_report){
        .number = lesson->number,
        .count = lesson->count,
        .title = lesson->text.title,
        .text = lesson->text.text,
        .attempt = lesson->text.attempt,
        .question = lesson->text.question,
        .figures = &lesson->figures.log,
        .stale = lesson->shown != nest_session_current(lesson->session),
        .edited = lesson->figures.edited,
        .held = lesson->figures.done,
        .done = lesson->ticked[lesson->number],
        .verdict = nest_strbuf_text(&lesson->figures.verdict),
    };
}

/* ---- Opening -------------------------------------------------------------------------------- */

static enum nest_status open_state(struct nest_lesson *lesson, struct nest_repl **out)
{
    const struct nest_repl_options options = {
        .library = &lesson->session->library,
        .threads = lesson->session->threads,
        .cancel = nest_runner_flag(lesson->runner),
        .print = on_print,
        .context = lesson,
    };
    return nest_repl_open(&options, out);
}

/* Stops the figures that are under way: they are those of another lesson. */
static void settle(struct nest_lesson *lesson)
{
    if (nest_runner_busy(lesson->runner)) {
        nest_runner_cancel(lesson->runner);
        nest_runner_wait(lesson->runner);
        (void)nest_runner_collect(lesson->runner);
    }
}

/* Takes over the state; the document's other reference is the session's. */
static void adopt(struct nest_lesson *lesson, int number, struct nest_repl *repl,
                  struct nest_document *document, const struct nest_lesson_text *text)
{
    nest_repl_close(lesson->repl);
    nest_document_release(lesson->first);
    nest_document_release(lesson->shown);
    lesson->repl = repl;
    lesson->first = nest_document_retain(document);
    lesson->shown = NULL;
    lesson->text = *text;
    lesson->number = number;
    forget_figures(&lesson->figures);
    lesson->figures = (struct figures){.verdict = NEST_STRBUF_INIT(VERDICT_MAX)};
}

enum nest_status nest_lesson_open(struct nest_lesson *lesson, int number,
                                  struct nest_errors *errors)
{
    struct nest_session *session = lesson->session;
    struct nest_document *document = NULL;
    struct nest_repl *repl = NULL;
    struct nest_lesson_text text;
    const char *path = number >= 1 && number <= lesson->count
                           ? nest_lesson_path(&session->library, number, errors->arena)
                           : NULL;
    if (!path) {
        nest_errors_add(errors, (struct nest_mark){0}, NULL, NULL, "there is no lesson %d", number);
        return NEST_BAD_INPUT;
    }
    settle(lesson);
    document = nest_document_new();
    enum nest_status status = document ? open_state(lesson, &repl) : NEST_NO_MEMORY;
    if (status == NEST_OK) {
        status = nest_repl_lesson(repl, path, &document->arena, &text, &document->scenario, errors);
    }
    if (status == NEST_OK) {
        status = nest_session_begin(session, document, errors);
    } else if (document) {
        nest_document_release(document);
    }
    if (status != NEST_OK) {
        nest_repl_close(repl);
        return status;
    }
    adopt(lesson, number, repl, document, &text);
    (void)nest_lesson_collect(lesson);
    return NEST_OK;
}

enum nest_status nest_lesson_try(struct nest_lesson *lesson, const char *edit,
                                 struct nest_errors *errors)
{
    const char *equals = strchr(edit, '=');
    const char *name =
        equals ? nest_arena_strndup(errors->arena, edit, (size_t)(equals - edit)) : NULL;
    if (!name) {
        nest_errors_add(errors, (struct nest_mark){0}, NULL, "expected PATH=VALUE",
                        "'%s' is no edit", edit);
        return NEST_BAD_INPUT;
    }
    const bool pin = nest_pin_key_find(name) >= 0 || strcmp(name, "order") == 0;
    return pin ? nest_session_pin(lesson->session, name, equals + 1, errors)
               : nest_session_set(lesson->session, name, equals + 1, errors);
}

/* ---- Life ----------------------------------------------------------------------------------- */

enum nest_status nest_lesson_start(struct nest_session *session, struct nest_lesson **out)
{
    struct nest_lesson *lesson = calloc(1, sizeof *lesson);
    *out = NULL;
    if (!lesson) {
        return NEST_NO_MEMORY;
    }
    lesson->session = session;
    lesson->count = nest_lesson_count(&session->library);
    lesson->printed = (struct nest_strbuf)NEST_STRBUF_INIT(PRINTED_MAX);
    lesson->figures.verdict = (struct nest_strbuf)NEST_STRBUF_INIT(VERDICT_MAX);
    lesson->fresh.verdict = (struct nest_strbuf)NEST_STRBUF_INIT(VERDICT_MAX);
    const enum nest_status status = nest_runner_open(session, &lesson->runner);
    if (status != NEST_OK) {
        nest_lesson_close(lesson);
        return status;
    }
    *out = lesson;
    return NEST_OK;
}

void nest_lesson_close(struct nest_lesson *lesson)
{
    if (!lesson) {
        return;
    }
    nest_runner_close(lesson->runner);
    forget_errand(lesson);
    forget_figures(&lesson->figures);
    nest_strbuf_free(&lesson->printed);
    nest_repl_close(lesson->repl);
    nest_document_release(lesson->first);
    nest_document_release(lesson->shown);
    free(lesson);
}
