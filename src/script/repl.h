/* The state behind the explorer's console: chunks run one after the other in it, with the live
 * scenario as the global s, and what they leave in globals stays.
 *
 * It belongs to one thread at a time; only the cancel flag may be set from elsewhere. Overrides
 * that chunks gave the live scenario may be asked from any thread: between chunks. */
#ifndef NEST_SCRIPT_REPL_H
#define NEST_SCRIPT_REPL_H

#include "script/api.h"
#include "script/scenario.h"
#include "solve/solve.h"

struct nest_repl;

struct nest_repl_options {
    const struct nest_library *library;
    int threads;               /* of a solve */
    const atomic_bool *cancel; /* polled while a chunk runs */
    void (*print)(void *context, const char *text, size_t length);
    void *context;
};

enum nest_status nest_repl_open(const struct nest_repl_options *options, struct nest_repl **out);
void nest_repl_close(struct nest_repl *repl);

/* Whether text may become a chunk when more is typed behind it: its end is what is wrong. */
bool nest_chunk_is_incomplete(const char *text);

/* The live scenario as a chunk left it. */
struct nest_edited {
    struct nest_scenario_spec *spec;  /* its texts lie in the arena of the live one */
    struct nest_functions *functions; /* its overrides, or NULL; a reference of the caller's */
};

/* Runs a chunk and prints its values, tables in at most width columns. An expression is a chunk
 * too. On NEST_OK *edited is filled. Else as nest_sandbox_run; *edited is not written. */
enum nest_status nest_repl_run(struct nest_repl *repl, const char *chunk, int width,
                               const struct nest_live *live, struct nest_edited *edited,
                               struct nest_errors *errors);

/* The traceback of the last fault, one frame a line; "" without one. Valid until the next run. */
const char *nest_repl_traceback(const struct nest_repl *repl);

/* True if what the chunks left behind had grown so large that little could run beside it: it is
 * gone then, overrides included. */
bool nest_repl_renew(struct nest_repl *repl);

/* ---- Lessons: a state that runs one lesson instead of chunks. -------------------------------- */

struct nest_lesson_text {
    const char *title;
    const char *text;
    const char *attempt; /* what to try */
    const char *question;
};

/* Runs a lesson's file and keeps it. Its texts and its scenario lie in arena. */
enum nest_status nest_repl_lesson(struct nest_repl *repl, const char *path,
                                  struct nest_arena *arena, struct nest_lesson_text *text,
                                  struct nest_scenario_spec *scenario, struct nest_errors *errors);

/* What the lesson says of the live scenario. */
struct nest_lesson_state {
    const struct nest_live *live;
    const struct nest_problem *problem; /* of the live scenario, with … */
    const struct nest_solution *best;   /* … its best plan; NULL: none fits */
    bool edited;                        /* the learner has changed the lesson's scenario */
    bool done;                          /* out: the learner did it */
    struct nest_strbuf *verdict;        /* out: in words */
};

/* Prints the lesson's figures and, once something was edited, judges. */
enum nest_status nest_repl_lesson_show(struct nest_repl *repl, struct nest_lesson_state *state,
                                       struct nest_errors *errors);

/* What may stand at the end of line, sorted, NULL-ended, in arena: globals, fields, methods, words
 * of the language, and inside of quotes the given words. *start is where it begins in line. NULL
 * when there is nothing or memory is out. Runs no code of a script. */
const char *const *nest_repl_complete(struct nest_repl *repl, const char *line,
                                      const char *const *quoted, struct nest_arena *arena,
                                      size_t *start);

#endif
