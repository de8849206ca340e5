#include "support/input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void test_input_begin(struct test_input *input)
{
    input->arena = (struct nest_arena)NEST_ARENA_INIT;
    nest_errors_init(&input->errors, &input->arena);
    assert_int_equal(nest_library_find(&input->arena, &input->library), NEST_OK);
}

void test_input_end(struct test_input *input)
{
    nest_arena_free(&input->arena);
}

void test_input_clear(struct test_input *input)
{
    nest_errors_init(&input->errors, &input->arena);
}

const char *test_input_faults(struct test_input *input)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < input->errors.count; i++) {
        nest_error_format(&input->errors.item[i], &text);
    }
    const char *kept = nest_arena_strdup(&input->arena, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    return kept;
}

enum nest_status test_input_scenario(struct test_input *input, const char *text,
                                     struct nest_scenario_spec *out)
{
    char path[] = "/tmp/nest-scenario-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(file);
    const struct nest_scenario_request request = {.scenario = path};
    const enum nest_status status =
        nest_load_scenario(&input->library, &request, &input->arena, out, &input->errors);
    (void)unlink(path);
    return status;
}

const char *test_input_written(struct test_input *input, const struct nest_scenario_spec *scenario)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(1 << 20);
    nest_scenario_write(scenario, &text);
    assert_false(text.failed);
    const char *kept = nest_arena_strdup(&input->arena, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    return kept;
}
