/* Runs the built binary the way a user does, and keeps what it said. */
#ifndef TESTS_SUPPORT_COMMAND_H
#define TESTS_SUPPORT_COMMAND_H

#include <json-c/json.h>

struct command_result {
    int status; /* exit status; 128 + signal if it was killed */
    char *out;  /* standard output, zero-terminated */
    char *err;  /* standard error, zero-terminated */
};

/* Runs `nest LINE` in a shell where $NEST is the binary (NEST_BINARY, else build/nest) and $DIR is
 * command_folder(): pipes, redirections and further commands may follow. Standard input is empty,
 * there is no terminal, the locale is C.UTF-8. The caller frees the result. */
struct command_result command_run(const char *line);

/* The same with text as standard input. */
struct command_result command_run_with_input(const char *line, const char *input);

/* The same, the line put together as by printf. */
struct command_result shell_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Asserts the status, with both outputs in the failure message. */
void assert_status(const struct command_result *result, int status);

/* Asserts that text holds part. */
void assert_contains(const char *text, const char *part);

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
