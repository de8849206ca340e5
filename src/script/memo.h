/* Answers of scripts, kept by what the scripts looked at.
 *
 * A function that always answers the same for the same arguments looks at the same field first,
 * whatever is asked; what it looks at next depends on that field's value alone, and so on. Its
 * answers are the leaves of a tree: a node says which field is looked at, an edge which value it
 * has. A question that differs only in what would not be looked at finds the answer of another. */
#ifndef NEST_SCRIPT_MEMO_H
#define NEST_SCRIPT_MEMO_H

#include "base/arena.h"
#include "script/asked.h"

/* One kind of question more than there are hooks, for the owner's own records. */
enum { NEST_MEMO_TREES = NEST_HOOKS + 1, NEST_MEMO_SOURCES = 17 };

struct nest_memo_node {
    struct nest_hook_answer *answer; /* or NULL */
    int field;                       /* looked at next; -1: nothing is known */
};

struct nest_memo_edge;

struct nest_memo {
    struct nest_arena *arena;
    struct nest_memo_edge **edge; /* [room] by hash; room is a power of two or 0 */
    size_t count, room;
    struct nest_memo_node root[NEST_MEMO_SOURCES][NEST_MEMO_TREES];
};

void nest_memo_init(struct nest_memo *memo, struct nest_arena *arena);

/* The answer to the question, of the tree question->hook; NULL where it is not known. */
struct nest_hook_answer *nest_memo_find(const struct nest_memo *memo,
                                        const struct nest_question *question);

/* Keeps a copy of the answer, which depends on what was read. It lives as long as the arena. NULL
 * where memory is out, or the function had answered without looking at as much. */
struct nest_hook_answer *nest_memo_keep(struct nest_memo *memo,
                                        const struct nest_question *question,
                                        const struct nest_reads *reads,
                                        const struct nest_hook_answer *answer);

#endif
