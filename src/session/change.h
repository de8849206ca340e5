/* What changed between two finished solves, and why. Private to the session room. */
#ifndef NEST_SESSION_CHANGE_H
#define NEST_SESSION_CHANGE_H

#include "session/answer.h"

/* Fills answer->change from the finished answer before it and, where the earlier plan still
 * applies, its figures under the new scenario (else NULL). Texts go to the answer's arena. */
void nest_change_explain(const struct nest_answer *earlier, const struct nest_answer *recosted,
                         struct nest_answer *answer);

/* The same for the first answer, which nothing came before: where its step time goes. */
void nest_change_describe(struct nest_answer *answer);

/* The edits that lead from one document to the other: "spine bandwidth 50 GB/s → 25 GB/s, …";
 * several of them are counted. NULL when nothing differs. In arena. */
const char *nest_change_edits(const struct nest_document *before, const struct nest_document *after,
                              struct nest_arena *arena);

#endif
