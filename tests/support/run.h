/* Runs the built nest as a user would, for end-to-end tests. */
#ifndef NEST_TESTS_SUPPORT_RUN_H
#define NEST_TESTS_SUPPORT_RUN_H

#include <json-c/json.h>

struct ran {
    int status; /* exit status; 128 + n after signal n */
    char *out;  /* what it wrote, zero-terminated */
    char *err;
};

/* Runs `nest COMMAND`, a line for the shell in which $NEST is the binary (NEST_BINARY, else
 * build/nest) and $DIR the private folder of the test program, made on first use. The environment
 * is the caller's with TERM, NO_COLOR and the locale fixed. */
struct ran run_nest(const char *format, ...) __attribute__((format(printf, 1, 2)));

void ran_free(struct ran *ran);

/* The private folder; removed by run_clean, which a group's teardown calls. */
const char *run_folder(void);
int run_clean(void **state);

/* Writes text to a file of that name in the private folder. */
void run_write(const char *name, const char *text);

/* Asserts the status (with both outputs in the failure message). */
void assert_status(const struct ran *ran, int status);

/* Asserts that text holds part. */
void assert_contains(const char *text, const char *part);

/* The output as JSON: asserts that it is one valid document and nothing else. */
json_object *ran_json(const struct ran *ran);

/* The value at a path such as "plan.stages.0.tp"; asserts that it is there. */
json_object *json_at(json_object *root, const char *path);
double number_at(json_object *root, const char *path);

#endif
