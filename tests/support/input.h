/* Scenarios for tests, loaded from the shipped files. */
#ifndef NEST_TESTS_SUPPORT_INPUT_H
#define NEST_TESTS_SUPPORT_INPUT_H

#include "input/load.h"
#include "input/set.h"

/* Memory, faults and the shipped files of one test; release with test_input_end. */
struct test_input {
    struct nest_arena arena;
    struct nest_errors errors;
    struct nest_library library;
};

/* Fails the test when the shipped files are not found. */
void test_input_begin(struct test_input *input);
void test_input_end(struct test_input *input);

/* Forgets the faults. */
void test_input_clear(struct test_input *input);

/* All faults, one a line; in the arena. */
const char *test_input_faults(struct test_input *input);

/* Loads a scenario given as text. */
enum nest_status test_input_scenario(struct test_input *input, const char *text,
                                     struct nest_scenario_spec *out);

/* What nest_scenario_write says; in the arena. */
const char *test_input_written(struct test_input *input, const struct nest_scenario_spec *scenario);

#endif
