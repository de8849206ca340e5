/* One state of the scenario, checked and ready to be solved. Immutable once made, counted.
 *
 * A document that was made from another borrows its texts and keeps it alive; the undo history
 * holds the whole line anyway. Private to the session room. */
#ifndef NEST_SESSION_DOCUMENT_H
#define NEST_SESSION_DOCUMENT_H

#include <stdatomic.h>

#include "cost/problem.h"
#include "input/load.h"

struct nest_functions;
struct nest_scripts;

struct nest_document {
    atomic_int references;
    struct nest_document *parent; /* whose texts are borrowed; NULL for a loaded scenario */
    struct nest_arena arena;
    struct nest_scenario_spec scenario;
    struct nest_problem problem;
    const char *cause;                /* what led to it where no edit did, or NULL; in arena */
    struct nest_scripts *scripts;     /* whose overrides the problem has; NULL: none */
    struct nest_functions *functions; /* the console's overrides behind theirs; NULL: none */
    struct nest_arena answers;        /* of both */
    const atomic_bool *cancel;        /* polled by the hooks; the session's, or NULL */
    struct nest_document *root;       /* the loaded scenario it comes from; itself if it is one */
    char *file; /* of a root: where it is saved, or NULL; only the commanding thread touches it */
    /* Of a root: what was asked for beside the file, and goes over it when that is read again. */
    struct nest_scenario_request request;
};

/* A new document without content; NULL when memory is out. */
struct nest_document *nest_document_new(void);

/* A copy of parent's scenario that may be edited until nest_document_finish. */
struct nest_document *nest_document_derive(struct nest_document *parent);

/* Expands the model, builds the cluster, gathers the problem with the overrides of the scripts. */
enum nest_status nest_document_finish(struct nest_document *document, struct nest_errors *errors);

/* Puts the console's overrides (may be NULL) in place of those there are, in a document that nobody
 * prices yet; false when memory is out. */
bool nest_document_override(struct nest_document *document, struct nest_functions *functions);

/* Keeps a copy of what was asked for; false when memory is out. */
bool nest_document_ask(struct nest_document *document, const struct nest_scenario_request *request);

/* Names the file of the document's root (NULL: none); false when memory is out. */
bool nest_document_rename(struct nest_document *document, const char *file);

struct nest_document *nest_document_retain(struct nest_document *document);
void nest_document_release(struct nest_document *document);

/* Whether saving one would give the other, compared as the files they would be written to, and the
 * console's overrides are the same. */
bool nest_document_equal(const struct nest_document *a, const struct nest_document *b);

#endif
