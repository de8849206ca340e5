/* The line typed after ':'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "input/set.h"
#include "ui/app.h"

enum { WORD = 256, NAMES_MAX = 128 };

struct command {
    const char *name;
    const char *arguments; /* for the message when they are missing; NULL: none */
    bool (*run)(struct nest_app *app, const char *rest);
    const char *kind; /* of shipped files that complete the argument, "" for any file, or NULL */
};

/* Splits off the first word; returns the rest without leading spaces. */
static const char *first_word(const char *line, char word[WORD])
{
    line += strspn(line, " ");
    const size_t length = strcspn(line, " ");
    (void)snprintf(word, WORD, "%.*s", (int)length, line);
    line += length;
    return line + strspn(line, " ");
}

/* Runs one of the session's commands and says its fault. */
struct outcome {
    struct nest_arena arena;
    struct nest_errors errors;
};

static void begin(struct outcome *outcome)
{
    outcome->arena = (struct nest_arena)NEST_ARENA_INIT;
    nest_errors_init(&outcome->errors, &outcome->arena);
}

static bool end(struct nest_app *app, struct outcome *outcome, enum nest_status status)
{
    const bool fine = nest_app_report(app, status, &outcome->errors);
    nest_arena_free(&outcome->arena);
    return fine;
}

/* "PATH VALUE" or "PATH=VALUE". */
static const char *split_value(const char *rest, char name[WORD])
{
    const size_t length = strcspn(rest, " =");
    (void)snprintf(name, WORD, "%.*s", (int)length, rest);
    rest += length;
    return rest + strspn(rest, " =");
}

static bool run_set(struct nest_app *app, const char *rest)
{
    char path[WORD];
    const char *value = split_value(rest, path);
    struct outcome outcome;
    if (!*value) {
        nest_app_say(app, NEST_ROLE_BAD, "say what to set %s to", path);
        return false;
    }
    begin(&outcome);
    return end(app, &outcome, nest_maker_set(app->maker, path, value, &outcome.errors));
}

/* "layers 2": that many times as large; the session says what is not legal. */
static bool scale(struct nest_app *app, const char *path, const char *factor)
{
    char change[WORD];
    struct outcome outcome;
    (void)snprintf(change, sizeof change, "*%.40s", *factor ? factor : "2");
    begin(&outcome);
    return end(app, &outcome, nest_maker_set(app->maker, path, change, &outcome.errors));
}

static bool run_scale(struct nest_app *app, const char *rest)
{
    char path[WORD];
    const char *factor = split_value(rest, path);
    return scale(app, path, factor);
}

static bool run_deeper(struct nest_app *app, const char *rest)
{
    return scale(app, "model.layers", rest);
}

static bool run_pin(struct nest_app *app, const char *rest)
{
    char key[WORD];
    const char *value = split_value(rest, key);
    struct outcome outcome;
    begin(&outcome);
    return end(app, &outcome,
               *value ? nest_session_pin(app->session, key, value, &outcome.errors)
                      : nest_session_toggle(app->session, key, &outcome.errors));
}

static bool run_free(struct nest_app *app, const char *rest)
{
    struct outcome outcome;
    begin(&outcome);
    return end(app, &outcome, nest_session_pin(app->session, rest, "", &outcome.errors));
}

static bool run_write(struct nest_app *app, const char *rest)
{
    return nest_app_save(app, *rest ? rest : NULL);
}

static bool run_write_quit(struct nest_app *app, const char *rest)
{
    if (!run_write(app, rest)) {
        return false;
    }
    nest_app_quit(app);
    return true;
}

static bool run_edit(struct nest_app *app, const char *rest)
{
    struct outcome outcome;
    begin(&outcome);
    return end(app, &outcome, nest_maker_load(app->maker, rest, &outcome.errors));
}

static bool run_model(struct nest_app *app, const char *rest)
{
    struct outcome outcome;
    begin(&outcome);
    return end(app, &outcome, nest_session_model(app->session, rest, &outcome.errors));
}

static bool run_cluster(struct nest_app *app, const char *rest)
{
    struct outcome outcome;
    begin(&outcome);
    return end(app, &outcome, nest_maker_cluster(app->maker, rest, &outcome.errors));
}

static bool run_lesson(struct nest_app *app, const char *rest)
{
    return nest_app_open_lesson(app, (int)strtol(rest, NULL, 10));
}

static bool run_quit(struct nest_app *app, const char *rest)
{
    (void)rest;
    nest_app_quit(app);
    return true;
}

static bool run_quit_now(struct nest_app *app, const char *rest)
{
    (void)rest;
    app->done = true;
    return true;
}

static const struct command commands[] = {
    {"set", "PATH VALUE", run_set, NULL},   {"scale", "PATH FACTOR", run_scale, NULL},
    {"deeper", NULL, run_deeper, NULL},     {"pin", "KEY VALUE", run_pin, NULL},
    {"free", "KEY", run_free, NULL},        {"w", NULL, run_write, ""},
    {"wq", NULL, run_write_quit, ""},       {"e", "FILE", run_edit, ""},
    {"model", "NAME", run_model, "models"}, {"cluster", "NAME", run_cluster, "topologies"},
    {"lesson", "NUMBER", run_lesson, NULL}, {"q", NULL, run_quit, NULL},
    {"q!", NULL, run_quit_now, NULL},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const struct command *find_command(const char *word)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, word) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static bool unknown(struct nest_app *app, const char *word)
{
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, word);
    for (int i = 0; i < COMMANDS; i++) {
        nest_suggest_offer(&suggest, commands[i].name);
    }
    for (const struct nest_action_entry *entry = nest_actions(); entry->name; entry++) {
        nest_suggest_offer(&suggest, entry->name);
    }
    if (suggest.best) {
        nest_app_say(app, NEST_ROLE_BAD, "no command '%.40s'; did you mean '%s'?", word,
                     suggest.best);
    } else {
        nest_app_say(app, NEST_ROLE_BAD, "no command '%.40s'; ? lists them", word);
    }
    return false;
}

bool nest_app_command(struct nest_app *app, const char *line)
{
    char word[WORD];
    const char *rest = first_word(line, word);
    const struct command *command = find_command(word);
    if (!*word) {
        return true;
    }
    if (command && command->arguments && !*rest) {
        nest_app_say(app, NEST_ROLE_BAD, ":%s needs %s", command->name, command->arguments);
        return false;
    }
    if (command) {
        return command->run(app, rest);
    }
    const enum nest_action action = nest_action_of_name(word, nest_app_contexts(app));
    if (action == NEST_ACTION_NONE) {
        return unknown(app, word);
    }
    nest_app_act(app, action);
    return true;
}

/* ---- Completion ---- */

static const char *const *command_names(struct nest_arena *arena)
{
    const char **names = NEST_NEW(arena, const char *, NAMES_MAX);
    int count = 0;
    for (int i = 0; names && i < COMMANDS; i++) {
        names[count++] = commands[i].name;
    }
    for (const struct nest_action_entry *entry = nest_actions();
         names && entry->name && count < NAMES_MAX - 1; entry++) {
        names[count++] = entry->name;
    }
    return (const char *const *)names;
}

static const char *const *pin_names(struct nest_arena *arena)
{
    const char **names = NEST_NEW(arena, const char *, NEST_PINS + 2);
    for (int i = 0; names && i < NEST_PINS; i++) {
        names[i] = nest_pin_key_word((enum nest_pin_key)i);
    }
    if (names) {
        names[NEST_PINS] = "order";
    }
    return (const char *const *)names;
}

const char *const *nest_app_candidates(const struct nest_app *app, const char *line,
                                       struct nest_arena *arena)
{
    char word[WORD];
    const char *rest = first_word(line, word);
    const struct command *command = find_command(word);
    if (!strchr(line, ' ')) {
        return command_names(arena);
    }
    if (!command || strchr(rest, ' ')) {
        return NULL;
    }
    if (command->run == run_set || command->run == run_scale) {
        return (const char *const *)nest_session_paths(app->snapshot, arena);
    }
    if (command->run == run_pin || command->run == run_free) {
        return pin_names(arena);
    }
    if (!command->kind) {
        return NULL;
    }
    return (const char *const *)(*command->kind
                                     ? nest_session_names(app->session, command->kind, arena)
                                     : nest_session_files(rest, arena));
}
