/* Models, clusters and scenarios from files and back, and the equivalent command line. */
#include <string.h>

#include "input/set.h"
#include "session/internal.h"
#include "session/knob.h"
#include "session/save.h"

enum { SCENARIO_TEXT_MAX = 1 << 24 };

static const struct nest_mark typed = {NULL, 0, 0};

/* Edits of what is replaced would be applied to something else. */
static enum nest_status drop_edits(struct nest_document *document, const char *const prefix[2])
{
    struct nest_scenario_spec *scenario = &document->scenario;
    struct nest_edit_spec *kept =
        NEST_NEW(&document->arena, struct nest_edit_spec, scenario->edits);
    int count = 0;
    if (!kept) {
        return NEST_NO_MEMORY;
    }
    for (int i = 0; i < scenario->edits; i++) {
        const char *path = scenario->edit[i].path;
        if (strncmp(path, prefix[0], strlen(prefix[0])) != 0 &&
            strncmp(path, prefix[1], strlen(prefix[1])) != 0) {
            kept[count++] = scenario->edit[i];
        }
    }
    scenario->edit = kept;
    scenario->edits = count;
    return NEST_OK;
}

enum nest_status nest_session_model(struct nest_session *session, const char *name,
                                    struct nest_errors *errors)
{
    static const char *const prefix[2] = {"model.", "model."};
    struct nest_document *document = nest_document_derive(nest_session_current(session));
    if (!document) {
        return NEST_NO_MEMORY;
    }
    enum nest_status status = nest_load_model(&session->library, name, &document->arena,
                                              &document->scenario.model, errors);
    if (status == NEST_OK) {
        status = drop_edits(document, prefix);
    }
    return nest_session_commit(session, document, status, errors);
}

enum nest_status nest_session_exchange(const struct nest_session *session,
                                       struct nest_document *document, const char *name,
                                       const atomic_bool *cancel, struct nest_errors *errors)
{
    static const char *const prefix[2] = {"cluster.", "device."};
    struct nest_scenario_spec *scenario = &document->scenario;
    struct nest_library library = session->library;
    library.cancel = cancel;
    const enum nest_status status =
        nest_load_cluster(&library, name, &document->arena, &scenario->cluster, errors);
    if (status != NEST_OK) {
        return status;
    }
    scenario->device = *scenario->cluster.device;
    nest_scenario_settle(scenario);
    return drop_edits(document, prefix);
}

enum nest_status nest_session_cluster(struct nest_session *session, const char *name,
                                      struct nest_errors *errors)
{
    struct nest_document *document = nest_document_derive(nest_session_current(session));
    if (!document) {
        return NEST_NO_MEMORY;
    }
    const enum nest_status status = nest_session_exchange(session, document, name, NULL, errors);
    return nest_session_commit(session, document, status, errors);
}

enum nest_status nest_session_load(struct nest_session *session, const char *path,
                                   struct nest_errors *errors)
{
    const struct nest_scenario_request request = {.scenario = path};
    struct nest_document *document = NULL;
    const enum nest_status status = nest_session_read(session, &request, NULL, &document, errors);
    return status == NEST_OK ? nest_session_replace(session, document, NULL, true) : status;
}

enum nest_status nest_session_save(struct nest_session *session, const char *path,
                                   struct nest_errors *errors)
{
    struct nest_document *document = nest_session_current(session);
    const char *file = path ? path : document->root->file;
    if (!file) {
        nest_errors_add(errors, typed, NULL, "type :w FILE", "this scenario has no file yet");
        return NEST_BAD_INPUT;
    }
    struct nest_strbuf text = NEST_STRBUF_INIT(SCENARIO_TEXT_MAX);
    nest_scenario_write(&document->scenario, &text);
    enum nest_status status =
        text.failed ? NEST_NO_MEMORY
                    : nest_save_atomic(file, nest_strbuf_text(&text), text.length, errors);
    nest_strbuf_free(&text);
    if (status == NEST_OK && path && !nest_document_rename(document, path)) {
        status = NEST_NO_MEMORY;
    }
    if (status == NEST_OK) {
        nest_document_release(session->saved);
        session->saved = nest_document_retain(document);
        document->root->request = (struct nest_scenario_request){0}; /* it is in the file now */
        nest_session_note_dirty(session);
    }
    return status;
}

/* ---- The equivalent command line ---- */

static void add_quoted(struct nest_strbuf *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,+@%";
    if (text[strspn(text, plain)] == '\0') {
        nest_strbuf_add(out, text);
        return;
    }
    nest_strbuf_add(out, "'");
    for (; *text; text++) {
        if (*text == '\'') {
            nest_strbuf_add(out, "'\\''");
        } else {
            nest_strbuf_add_bytes(out, text, 1);
        }
    }
    nest_strbuf_add(out, "'");
}

static void add_option(struct nest_strbuf *out, const char *option, const char *value)
{
    nest_strbuf_printf(out, " %s ", option);
    add_quoted(out, value);
}

/* Whether the path was edited; what a script made of its knobs differs as well, but follows. */
static bool is_edited(const struct nest_scenario_spec *scenario, const char *path)
{
    static const char *const built[] = {"model.", "cluster.", "device."};
    bool edited = true;
    for (size_t i = 0; i < sizeof built / sizeof built[0]; i++) {
        edited &= strncmp(path, built[i], strlen(built[i])) != 0;
    }
    for (int i = 0; i < scenario->edits && !edited; i++) {
        edited = strcmp(scenario->edit[i].path, path) == 0;
    }
    return edited;
}

static void add_sets(const struct nest_document *plain, const struct nest_document *document,
                     struct nest_arena *scratch, struct nest_strbuf *out)
{
    const char **path = nest_paths(&document->scenario, scratch);
    for (; path && *path; path++) {
        const char *was = nest_get(&plain->scenario, *path, scratch);
        const char *is = nest_get(&document->scenario, *path, scratch);
        if (is && (!was || strcmp(was, is) != 0) && is_edited(&document->scenario, *path)) {
            const char *set = nest_arena_printf(scratch, "%s=%s", *path, is);
            add_option(out, "--set", set ? set : "");
        }
    }
}

static void add_pins(const struct nest_document *plain, const struct nest_document *document,
                     struct nest_arena *scratch, struct nest_strbuf *out)
{
    int olds = 0;
    int news = 0;
    const struct nest_knob *old = nest_knobs(plain, NULL, NULL, scratch, &olds);
    const struct nest_knob *knob = nest_knobs(document, NULL, NULL, scratch, &news);
    for (int i = 0; i < news; i++) {
        const struct nest_knob *was = nest_knob_find(old, olds, knob[i].path);
        if (knob[i].kind == NEST_KNOB_PIN && was && strcmp(was->exact, knob[i].exact) != 0) {
            const char *pin = nest_arena_printf(scratch, "%s=%s", knob[i].path,
                                                knob[i].pinned ? knob[i].exact : "free");
            add_option(out, "--pin", pin ? pin : "");
        }
    }
}

enum nest_status nest_session_command_of(const struct nest_session *session,
                                         const struct nest_document *document, const char *file,
                                         const atomic_bool *cancel, struct nest_strbuf *out,
                                         struct nest_errors *errors)
{
    const struct nest_scenario_spec *scenario = &document->scenario;
    const struct nest_scenario_request request = {
        .scenario = file,
        .model = scenario->model.ref,
        .cluster = scenario->cluster.ref,
        .profile = scenario->model.measured_own ? NULL : scenario->model.measured_ref,
    };
    struct nest_document *plain = NULL;
    const enum nest_status status = nest_session_read(session, &request, cancel, &plain, errors);
    if (status != NEST_OK) {
        return status;
    }
    struct nest_arena scratch = NEST_ARENA_INIT;
    nest_strbuf_add(out, "nest solve");
    if (request.scenario) {
        add_option(out, "--scenario", request.scenario);
    }
    if (request.model) {
        add_option(out, "--model", request.model);
    }
    if (request.cluster) {
        add_option(out, "--cluster", request.cluster);
    }
    for (int i = plain->scenario.scripts; i < scenario->scripts; i++) {
        add_option(out, "--script", scenario->script[i].path);
    }
    if (request.profile) {
        add_option(out, "--profile", request.profile);
    }
    add_sets(plain, document, &scratch, out);
    add_pins(plain, document, &scratch, out);
    nest_strbuf_add(out, document->functions ? " # without the overrides of the console" : "");
    nest_arena_free(&scratch);
    nest_document_release(plain);
    return NEST_OK;
}

enum nest_status nest_session_command(const struct nest_session *session, struct nest_strbuf *out,
                                      struct nest_errors *errors)
{
    const struct nest_document *document = nest_session_current(session);
    return nest_session_command_of(session, document, document->root->file, NULL, out, errors);
}
