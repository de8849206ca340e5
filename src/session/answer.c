#include "session/answer.h"

#include <stdlib.h>
#include <string.h>

#include "plan/rules.h"
#include "session/change.h"
#include "session/use.h"

struct nest_answer *nest_answer_new(struct nest_document *document)
{
    struct nest_answer *answer = calloc(1, sizeof *answer);
    if (answer) {
        atomic_init(&answer->references, 1);
        answer->document = nest_document_retain(document);
        nest_errors_init(&answer->result.errors, &answer->arena);
    }
    return answer;
}

struct nest_answer *nest_answer_retain(struct nest_answer *answer)
{
    atomic_fetch_add(&answer->references, 1);
    return answer;
}

void nest_answer_release(struct nest_answer *answer)
{
    if (answer && atomic_fetch_sub(&answer->references, 1) == 1) {
        nest_answer_release(answer->origin);
        nest_document_release(answer->document);
        nest_arena_free(&answer->arena);
        free(answer);
    }
}

struct nest_answer *nest_answer_again(struct nest_answer *known)
{
    struct nest_answer *answer = nest_answer_new(known->document);
    if (answer) {
        answer->origin = nest_answer_retain(known->origin ? known->origin : known);
        answer->status = known->status;
        answer->result = known->result;
        answer->loss = known->loss;
    }
    return answer;
}

const struct nest_solution *nest_answer_best(const struct nest_answer *answer)
{
    return answer && answer->result.count > 0 ? &answer->result.solution[0] : NULL;
}

/* What the document's overrides changed in the best plan. */
static void touch(struct nest_answer *answer)
{
    const struct nest_problem *problem = &answer->document->problem;
    const struct nest_solution *best = nest_answer_best(answer);
    struct nest_touched *touched =
        best && problem->overrides ? NEST_NEW(&answer->arena, struct nest_touched, 1) : NULL;
    if (touched &&
        nest_plan_touch(problem, &best->plan, &best->prediction, &answer->arena, touched)) {
        answer->touched = touched;
    }
}

struct nest_answer *nest_answer_recost(const struct nest_answer *earlier,
                                       struct nest_document *document)
{
    const struct nest_solution *best = nest_answer_best(earlier);
    if (!best || !nest_rules_apply(&document->problem, &best->plan)) {
        return NULL;
    }
    struct nest_answer *answer = nest_answer_new(document);
    if (!answer) {
        return NULL;
    }
    answer->provisional = true;
    struct nest_solution *solution = NEST_NEW(&answer->arena, struct nest_solution, 1);
    if (!solution || !nest_plan_copy(&best->plan, &answer->arena, &solution->plan)) {
        nest_answer_release(answer);
        return NULL;
    }
    nest_plan_settle(&document->problem, &solution->plan);
    if (!nest_plan_evaluate(&document->problem, &solution->plan, &answer->arena,
                            &solution->prediction)) {
        nest_answer_release(answer);
        return NULL;
    }
    answer->result.solution = solution;
    answer->result.count = 1;
    answer->result.progress = earlier->result.progress;
    answer->use = nest_level_uses(&document->problem, solution, &answer->arena);
    touch(answer);
    nest_change_explain(earlier, answer, answer);
    return answer;
}

void nest_answer_explain(struct nest_answer *answer, const struct nest_answer *earlier,
                         const struct nest_answer *recosted)
{
    const struct nest_solution *best = nest_answer_best(answer);
    if (best) {
        answer->use = nest_level_uses(&answer->document->problem, best, &answer->arena);
        touch(answer);
    }
    if (earlier) {
        nest_change_explain(earlier, recosted, answer);
    } else {
        nest_change_describe(answer);
    }
    if (best && answer->loss.down > 0) {
        struct nest_strbuf text = NEST_STRBUF_INIT(1 << 12);
        nest_loss_write(&answer->document->problem, &answer->loss, "→", &text);
        const char *why = answer->change.why
                              ? nest_arena_printf(&answer->arena, "%s; %s", nest_strbuf_text(&text),
                                                  answer->change.why)
                              : nest_arena_strdup(&answer->arena, nest_strbuf_text(&text));
        answer->change.why = why ? why : answer->change.why;
        nest_strbuf_free(&text);
    }
}
