/* A guided lesson over the live scenario: what it says, what its figures are now, and whether the
 * learner did what it asks.
 *
 * Opening one makes its scenario the session's. Its figures are worked out in the background
 * whenever the session has a new answer. */
#ifndef NEST_SESSION_LESSON_H
#define NEST_SESSION_LESSON_H

#include "session/log.h"
#include "session/session.h"

struct nest_lesson;

enum { NEST_LESSONS_MAX = 64 };

/* Closed before its session. No lesson is open then. */
enum nest_status nest_lesson_start(struct nest_session *session, struct nest_lesson **out);
void nest_lesson_close(struct nest_lesson *lesson);

/* Opens lesson `number`; on failure the open one stays. */
enum nest_status nest_lesson_open(struct nest_lesson *lesson, int number,
                                  struct nest_errors *errors);

/* One edit of the learner's: PATH=VALUE, or KEY=VALUE of a pin. */
enum nest_status nest_lesson_try(struct nest_lesson *lesson, const char *edit,
                                 struct nest_errors *errors);

/* Takes in new figures and asks for newer ones; true if there was anything. To be called when the
 * session's descriptor is readable. */
bool nest_lesson_collect(struct nest_lesson *lesson);

/* Collects until the figures are those of the newest scenario. */
void nest_lesson_wait(struct nest_lesson *lesson);

/* What is to be shown; owned by the lesson, valid until the next call of the above. */
struct nest_lesson_report {
    int number, count;              /* which lesson (0: none is open) of how many */
    const char *title;              /* "Bubbles and microbatches" */
    const char *text;               /* a few sentences */
    const char *attempt;            /* what to try */
    const char *question;           /* what the figures answer */
    const struct nest_log *figures; /* as they are now */
    bool stale;                     /* newer figures are on their way */
    bool edited;                    /* the learner has changed something */
    bool held;                      /* and did it: the scenario as it is now satisfies the lesson */
    bool done;                      /* or had done it before */
    const char *verdict; /* the lesson's word on the scenario as it is; "" before an edit */
};
struct nest_lesson_report nest_lesson_report(const struct nest_lesson *lesson);

/* How many lessons there are, by the numbers in front of their files' names. */
int nest_lesson_count(const struct nest_library *library);

/* The file of a lesson, in arena; NULL if there is none of that number. */
const char *nest_lesson_path(const struct nest_library *library, int number,
                             struct nest_arena *arena);

#endif
