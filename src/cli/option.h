/* Option tables. Parsing, --help, shell completion and the man page all derive from them. */
#ifndef NEST_CLI_OPTION_H
#define NEST_CLI_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum nest_option_id {
    NEST_OPT_END,
    NEST_OPT_HELP,
    NEST_OPT_VERSION,
    NEST_OPT_MODEL,
    NEST_OPT_CLUSTER,
    NEST_OPT_SCENARIO,
    NEST_OPT_SET,
    NEST_OPT_PIN,
    NEST_OPT_SCRIPT,
    NEST_OPT_THREADS,
    NEST_OPT_SEED,
    NEST_OPT_JSON,
    NEST_OPT_COLOR,
    NEST_OPT_ASCII,
    NEST_OPT_TOP,
    NEST_OPT_EXHAUSTIVE,
    NEST_OPT_PLAN,
    NEST_OPT_EXPLAIN,
    NEST_OPT_VARY,
    NEST_OPT_CSV,
    NEST_OPT_SHARD,
    NEST_OPT_TO,
    NEST_OPT_FROM,
    NEST_OPT_VERSION_OF,
    NEST_OPT_LESSON,
    NEST_OPT_TRACE,
    NEST_OPT_SCHEDULE,
    NEST_OPT_PEERS,
    NEST_OPT_AS_WRITTEN,
    NEST_OPT_GPUS_PER_NODE,
    NEST_OPT_NODE,
    NEST_OPT_DEVICE,
    NEST_OPT_ROOT,
    NEST_OPT_UNSAFE_LUA,
    NEST_OPT_REFERENCE,
    NEST_OPT_MARKDOWN,
    NEST_OPT_CONTENTION,
    NEST_OPT_PROFILE
};

/* What an operand or an option's argument names; the shells complete it. A text with spaces between
 * words is the list of words itself. */
#define NEST_COMPLETE_FILE    "FILE"
#define NEST_COMPLETE_MODEL   "MODEL"
#define NEST_COMPLETE_CLUSTER "CLUSTER"

struct nest_option {
    enum nest_option_id id;
    const char *name;     /* without the dashes */
    char letter;          /* short form, or 0 */
    const char *argument; /* its name in the help; NULL: a flag */
    const char *help;     /* one sentence without a full stop */
    const char *complete; /* NEST_COMPLETE_…, words, or NULL */
};

/* A table ends with an entry whose id is NEST_OPT_END. */
#define NEST_OPTIONS_END                                                                           \
    {                                                                                              \
        NEST_OPT_END, NULL, 0, NULL, NULL, NULL                                                    \
    }

/* Taken by every command; by every command about a scenario; by every command that solves. */
extern const struct nest_option nest_options_common[];
extern const struct nest_option nest_options_scenario[];

struct nest_cli;

struct nest_command {
    const char *name;
    const char *operands; /* "FILE…", or "" */
    const char *summary;  /* one line */
    const char *text;     /* paragraphs for --help and the manual; may be NULL */
    const struct nest_option *options;
    bool scenario;        /* also takes nest_options_scenario */
    const char *complete; /* of its operands */
    int least, most;      /* operands; most < 0: any number */
    bool hidden;          /* not listed */
    int (*run)(struct nest_cli *cli);
};

struct nest_given {
    enum nest_option_id id;
    const char *value; /* NULL for a flag */
};

struct nest_args {
    int given_count;
    struct nest_given *given; /* in order */
    int operand_count;
    const char **operand;
};

/* Tables of a command in the order of the help; NULL-ended. */
void nest_command_tables(const struct nest_command *command, const struct nest_option *tables[4]);

/* Sorts argv[0 … argc-1] (after the command's name) into out, whose arrays live in arena. Options
 * and operands may be mixed; "--" ends the options; "-" is an operand. Adds one error per fault.
 * A --help or --version is obeyed even where something else is wrong. */
enum nest_status nest_args_parse(const struct nest_command *command, int argc, char **argv,
                                 struct nest_arena *arena, struct nest_args *out,
                                 struct nest_errors *errors);

bool nest_args_has(const struct nest_args *args, enum nest_option_id id);

/* The last value given, or NULL. */
const char *nest_args_value(const struct nest_args *args, enum nest_option_id id);

/* All values of a repeatable option, in order; *count receives how many. */
const char **nest_args_values(const struct nest_args *args, enum nest_option_id id,
                              struct nest_arena *arena, int *count);

/* A whole number in low … high; fallback where the option is absent. Adds an error when bad. */
int64_t nest_args_integer(const struct nest_args *args, enum nest_option_id id, const char *name,
                          int64_t low, int64_t high, int64_t fallback, struct nest_errors *errors);

#endif
