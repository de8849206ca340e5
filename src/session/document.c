#include "session/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "input/set.h"
#include "plan/problem.h"
#include "script/home.h"
#include "script/scripts.h"

enum { SCENARIO_TEXT_MAX = 1 << 24 };

struct nest_document *nest_document_new(void)
{
    struct nest_document *document = calloc(1, sizeof *document);
    if (document) {
        atomic_init(&document->references, 1);
        document->root = document;
    }
    return document;
}

struct nest_document *nest_document_derive(struct nest_document *parent)
{
    struct nest_document *document = nest_document_new();
    if (document) {
        document->parent = nest_document_retain(parent);
        document->scenario = parent->scenario;
        document->scenario.cluster.device = &document->scenario.device;
        document->root = parent->root;
        document->cancel = parent->cancel;
        document->scripts = nest_scripts_retain(parent->scripts);
        document->functions = nest_functions_retain(parent->functions);
    }
    return document;
}

static bool attach(struct nest_document *document)
{
    return nest_scripts_attach(document->scripts, document->functions, &document->problem,
                               document->cancel, &document->answers);
}

enum nest_status nest_document_finish(struct nest_document *document, struct nest_errors *errors)
{
    const enum nest_status status =
        nest_problem_build(&document->scenario, &document->arena, &document->problem, errors);
    if (status != NEST_OK) {
        return status;
    }
    return attach(document) ? NEST_OK : NEST_NO_MEMORY;
}

bool nest_document_override(struct nest_document *document, struct nest_functions *functions)
{
    struct nest_functions *old = document->functions;
    document->functions = nest_functions_retain(functions);
    nest_functions_release(old);
    return attach(document);
}

static const char *copy_text(struct nest_arena *arena, const char *text, bool *fine)
{
    const char *copy = text ? nest_arena_strdup(arena, text) : NULL;
    *fine &= !text || copy;
    return copy;
}

static const char *const *copy_list(struct nest_arena *arena, const char *const *text, int count,
                                    bool *fine)
{
    const char **copy = NEST_NEW(arena, const char *, count + 1);
    *fine &= copy != NULL;
    for (int i = 0; i < count && copy; i++) {
        copy[i] = copy_text(arena, text[i], fine);
    }
    return copy;
}

bool nest_document_ask(struct nest_document *document, const struct nest_scenario_request *request)
{
    struct nest_arena *arena = &document->arena;
    bool fine = true;
    document->request = (struct nest_scenario_request){
        .model = copy_text(arena, request->model, &fine),
        .cluster = copy_text(arena, request->cluster, &fine),
        .profile = copy_text(arena, request->profile, &fine),
        .sets = request->sets,
        .set = copy_list(arena, request->set, request->sets, &fine),
        .pins = request->pins,
        .pin = copy_list(arena, request->pin, request->pins, &fine),
        .scripts = request->scripts,
        .script = copy_list(arena, request->script, request->scripts, &fine),
    };
    return fine;
}

bool nest_document_rename(struct nest_document *document, const char *file)
{
    char *copy = file ? strdup(file) : NULL;
    if (file && !copy) {
        return false;
    }
    free(document->root->file);
    document->root->file = copy;
    return true;
}

struct nest_document *nest_document_retain(struct nest_document *document)
{
    atomic_fetch_add(&document->references, 1);
    return document;
}

void nest_document_release(struct nest_document *document)
{
    while (document && atomic_fetch_sub(&document->references, 1) == 1) {
        struct nest_document *parent = document->parent;
        nest_scripts_release(document->scripts);
        nest_functions_release(document->functions);
        nest_arena_free(&document->answers);
        nest_arena_free(&document->arena);
        free(document->file);
        free(document);
        document = parent;
    }
}

bool nest_document_equal(const struct nest_document *a, const struct nest_document *b)
{
    if (a == b) {
        return true;
    }
    if (a->functions != b->functions) {
        return false;
    }
    struct nest_strbuf left = NEST_STRBUF_INIT(SCENARIO_TEXT_MAX);
    struct nest_strbuf right = NEST_STRBUF_INIT(SCENARIO_TEXT_MAX);
    nest_scenario_write(&a->scenario, &left);
    nest_scenario_write(&b->scenario, &right);
    const bool equal = !left.failed && !right.failed &&
                       strcmp(nest_strbuf_text(&left), nest_strbuf_text(&right)) == 0;
    nest_strbuf_free(&left);
    nest_strbuf_free(&right);
    return equal;
}
