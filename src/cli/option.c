#include "cli/option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

const struct nest_option nest_options_common[] = {
    {NEST_OPT_HELP, "help", 'h', NULL, "Print this help", NULL},
    {NEST_OPT_VERSION, "version", 0, NULL, "Print the version", NULL},
    NEST_OPTIONS_END,
};

const struct nest_option nest_options_scenario[] = {
    {NEST_OPT_MODEL, "model", 'm', "M", "The model: a shipped name or a file", NEST_COMPLETE_MODEL},
    {NEST_OPT_CLUSTER, "cluster", 'c', "C", "The cluster: a shipped name or a file",
     NEST_COMPLETE_CLUSTER},
    {NEST_OPT_SCENARIO, "scenario", 's', "S", "A scenario file, or - for standard input",
     NEST_COMPLETE_FILE},
    {NEST_OPT_PROFILE, "profile", 0, "FILE",
     "Measured times of the model's layers (CSV or YAML), in place of the computed ones",
     NEST_COMPLETE_FILE},
    {NEST_OPT_SET, "set", 0, "PATH=VALUE",
     "Change one figure, such as spine.bandwidth=400Gb/s, memory=76GiB or layers=2x; may be "
     "repeated",
     NULL},
    {NEST_OPT_PIN, "pin", 'p', "KEY=VALUE,…",
     "Fix or limit choices, such as tp=8,pp=2..8,zero=1|3; may be repeated", NULL},
    {NEST_OPT_SCRIPT, "script", 0, "FILE",
     "A Lua file with cost overrides (see man nest-lua); may be repeated", NEST_COMPLETE_FILE},
    {NEST_OPT_THREADS, "threads", 0, "N", "Solver threads; the answer does not depend on it", NULL},
    {NEST_OPT_SEED, "seed", 0, "N", "Seed of everything that is random", NULL},
    NEST_OPTIONS_END,
};

void nest_command_tables(const struct nest_command *command, const struct nest_option *tables[4])
{
    int n = 0;
    if (command->options != NULL) {
        tables[n++] = command->options;
    }
    if (command->scenario) {
        tables[n++] = nest_options_scenario;
    }
    tables[n++] = nest_options_common;
    while (n < 4) {
        tables[n++] = NULL;
    }
}

static struct nest_mark command_line(void)
{
    return (struct nest_mark){NULL, 0, 0};
}

static const struct nest_option *find_option(const struct nest_command *command, const char *name,
                                             size_t length, char letter)
{
    const struct nest_option *tables[4];
    nest_command_tables(command, tables);
    for (int t = 0; t < 4 && tables[t] != NULL; t++) {
        for (const struct nest_option *option = tables[t]; option->id != NEST_OPT_END; option++) {
            const bool same = name == NULL ? option->letter == letter
                                           : strncmp(option->name, name, length) == 0 &&
                                                 option->name[length] == '\0';
            if (same) {
                return option;
            }
        }
    }
    return NULL;
}

static void unknown_option(const struct nest_command *command, const char *word,
                           struct nest_errors *errors)
{
    const char *name = word + strspn(word, "-");
    struct nest_suggest suggest;
    char bare[64];
    const size_t length = strcspn(name, "=");
    if (length >= sizeof bare) {
        nest_errors_add(errors, command_line(), NULL, NULL, "unknown option '%s'", word);
        return;
    }
    memcpy(bare, name, length);
    bare[length] = '\0';
    nest_suggest_start(&suggest, bare);
    const struct nest_option *tables[4];
    nest_command_tables(command, tables);
    for (int t = 0; t < 4 && tables[t] != NULL; t++) {
        for (const struct nest_option *option = tables[t]; option->id != NEST_OPT_END; option++) {
            nest_suggest_offer(&suggest, option->name);
        }
    }
    char hint[96];
    if (suggest.best != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean --%s?", suggest.best);
    }
    nest_errors_add(errors, command_line(), NULL, suggest.best != NULL ? hint : NULL,
                    "unknown option '%.*s'", (int)(name - word + (ptrdiff_t)length), word);
}

/* Where the parser stands. */
struct walk {
    const struct nest_command *command;
    int argc, at;
    char **argv;
    struct nest_args *out;
    struct nest_errors *errors;
};

static bool is_number(const char *word)
{
    return *word != '\0' && word[strspn(word, "0123456789")] == '\0';
}

static void give(struct walk *walk, const struct nest_option *option, const char *value)
{
    /* An argument in brackets may be left out: only a number behind the option is one. */
    const bool optional = option->argument != NULL && option->argument[0] == '[';
    const char *next = walk->at + 1 < walk->argc ? walk->argv[walk->at + 1] : NULL;
    if (option->argument != NULL && value == NULL && !(optional && (!next || !is_number(next)))) {
        if (next == NULL) {
            nest_errors_add(walk->errors, command_line(), NULL, NULL, "option --%s needs %s",
                            option->name, option->argument);
            return;
        }
        value = walk->argv[++walk->at];
    }
    walk->out->given[walk->out->given_count++] = (struct nest_given){option->id, value};
}

static void take_long(struct walk *walk, const char *word)
{
    const char *name = word + 2;
    const size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const struct nest_option *option = find_option(walk->command, name, length, 0);
    if (option == NULL) {
        unknown_option(walk->command, word, walk->errors);
    } else if (option->argument == NULL && value != NULL) {
        nest_errors_add(walk->errors, command_line(), NULL, NULL, "option --%s takes no value",
                        option->name);
    } else {
        give(walk, option, value);
    }
}

/* A bundle of letters; the rest of the word, or the next word, is the argument. */
static void take_short(struct walk *walk, const char *word)
{
    for (const char *c = word + 1; *c != '\0'; c++) {
        const struct nest_option *option = find_option(walk->command, NULL, 0, *c);
        if (option == NULL) {
            unknown_option(walk->command, word, walk->errors);
            return;
        }
        if (option->argument != NULL) {
            give(walk, option, c[1] != '\0' ? c + 1 : NULL);
            return;
        }
        give(walk, option, NULL);
    }
}

static void count_operands(const struct nest_command *command, const struct nest_args *args,
                           struct nest_errors *errors)
{
    if (args->operand_count < command->least) {
        nest_errors_add(errors, command_line(), NULL, NULL, "nothing given for %s",
                        command->operands);
    } else if (command->most >= 0 && args->operand_count > command->most) {
        nest_errors_add(errors, command_line(), NULL, NULL, "unexpected argument '%s'",
                        args->operand[command->most]);
    }
}

enum nest_status nest_args_parse(const struct nest_command *command, int argc, char **argv,
                                 struct nest_arena *arena, struct nest_args *out,
                                 struct nest_errors *errors)
{
    size_t letters = 1;
    for (int i = 0; i < argc; i++) {
        letters += strlen(argv[i]) + 1; /* a word of n letters gives at most n options */
    }
    *out = (struct nest_args){0, NULL, 0, NULL};
    out->given = NEST_NEW(arena, struct nest_given, letters);
    out->operand = NEST_NEW(arena, const char *, argc + 1);
    if (out->given == NULL || out->operand == NULL) {
        return NEST_NO_MEMORY;
    }
    struct walk walk = {command, argc, 0, argv, out, errors};
    bool options = true;
    for (; walk.at < argc; walk.at++) {
        const char *word = argv[walk.at];
        if (!options || word[0] != '-' || word[1] == '\0') {
            out->operand[out->operand_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            options = false;
        } else if (word[1] == '-') {
            take_long(&walk, word);
        } else {
            take_short(&walk, word);
        }
    }
    if (nest_args_has(out, NEST_OPT_HELP) || nest_args_has(out, NEST_OPT_VERSION)) {
        return NEST_OK;
    }
    if (errors->count == 0) {
        count_operands(command, out, errors);
    }
    return errors->count > 0 ? NEST_BAD_INPUT : NEST_OK;
}

bool nest_args_has(const struct nest_args *args, enum nest_option_id id)
{
    for (int i = 0; i < args->given_count; i++) {
        if (args->given[i].id == id) {
            return true;
        }
    }
    return false;
}

const char *nest_args_value(const struct nest_args *args, enum nest_option_id id)
{
    for (int i = args->given_count - 1; i >= 0; i--) {
        if (args->given[i].id == id) {
            return args->given[i].value;
        }
    }
    return NULL;
}

const char **nest_args_values(const struct nest_args *args, enum nest_option_id id,
                              struct nest_arena *arena, int *count)
{
    const char **values = NEST_NEW(arena, const char *, args->given_count + 1);
    *count = 0;
    for (int i = 0; values != NULL && i < args->given_count; i++) {
        if (args->given[i].id == id) {
            values[(*count)++] = args->given[i].value;
        }
    }
    return values;
}

int64_t nest_args_integer(const struct nest_args *args, enum nest_option_id id, const char *name,
                          int64_t low, int64_t high, int64_t fallback, struct nest_errors *errors)
{
    const char *text = nest_args_value(args, id);
    if (text == NULL) {
        return fallback;
    }
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high) {
        char hint[96];
        (void)snprintf(hint, sizeof hint, "a whole number from %" PRId64 " to %" PRId64, low, high);
        nest_errors_add(errors, command_line(), NULL, hint, "--%s: '%s' is not valid", name, text);
        return fallback;
    }
    return value;
}
