/* What one solve said, with everything derived from it. Immutable once made, counted. Private to
 * the session room. */
#ifndef NEST_SESSION_ANSWER_H
#define NEST_SESSION_ANSWER_H

#include "session/document.h"
#include "session/session.h"

struct nest_answer {
    atomic_int references;
    struct nest_document *document; /* the question */
    struct nest_arena arena;
    enum nest_status status;
    bool provisional;           /* an earlier plan, re-costed */
    struct nest_answer *origin; /* whose result it shares, or NULL */
    struct nest_result result;
    struct nest_loss loss;              /* what devices that are down cost */
    const struct nest_level_use *use;   /* NULL without a plan */
    const struct nest_touched *touched; /* by overrides; NULL without any, or without a plan */
    struct nest_change change;
};

/* An empty answer to document; NULL when memory is out. */
struct nest_answer *nest_answer_new(struct nest_document *document);
struct nest_answer *nest_answer_retain(struct nest_answer *answer);
void nest_answer_release(struct nest_answer *answer);

/* An answer to the same question that may be explained anew; NULL when memory is out. */
struct nest_answer *nest_answer_again(struct nest_answer *known);

/* The best solution, or NULL. */
const struct nest_solution *nest_answer_best(const struct nest_answer *answer);

/* The earlier answer's plan, priced under document, as the only solution; NULL when it does not
 * apply there or memory is out. Not feasible is still an answer. */
struct nest_answer *nest_answer_recost(const struct nest_answer *earlier,
                                       struct nest_document *document);

/* Fills use and change of a finished answer. earlier (the finished one before) and recosted (its
 * plan under this document) may be NULL. */
void nest_answer_explain(struct nest_answer *answer, const struct nest_answer *earlier,
                         const struct nest_answer *recosted);

#endif
