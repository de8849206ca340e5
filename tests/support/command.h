/* Runs the built binary the way a user does, and keeps what it said. */
#ifndef TESTS_SUPPORT_COMMAND_H
#define TESTS_SUPPORT_COMMAND_H

#include <json-c/json.h>

struct command_result {
    int status; /* exit status; 128 + signal if it was killed */
    char *out;  /* standard output, zero-terminated */
    char *err;  /* standard error, zero-terminated */
};

/* Runs `nest` with the words of line (split at spaces; single quotes keep spaces), standard input
 * empty. The binary is $NEST_BINARY, else build/nest. Fails the test when it cannot be started or
 * runs longer than two minutes. The caller frees the result. */
struct command_result command_run(const char *line);

/* The same with text as standard input. */
struct command_result command_run_with_input(const char *line, const char *input);

void command_free(struct command_result *result);

/* A private folder for one test program, removed at exit. */
const char *command_folder(void);

/* Writes text to command_folder()/name and returns the path, valid until exit. */
const char *command_file(const char *name, const char *text);

/* Standard output as one strict JSON document; fails the test when it is none. The caller puts it
 * (json_object_put). */
struct json_object *command_json(const struct command_result *result);

/* Value at "a.b[2].c"; fails the test when missing. Borrowed. */
struct json_object *json_at(struct json_object *root, const char *path);
double json_number(struct json_object *root, const char *path);
const char *json_text(struct json_object *root, const char *path);

#endif
