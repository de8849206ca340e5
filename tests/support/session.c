#include "support/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void test_session_open(struct test_session *test, const struct nest_scenario_request *request)
{
    struct nest_session_options options = {.request = *request, .top = 5, .threads = 2};
    *test = (struct test_session){.session = NULL};
    nest_errors_init(&test->errors, &test->arena);
    assert_int_equal(nest_library_find(&test->arena, &options.library), NEST_OK);
    assert_int_equal(nest_session_open(&options, &test->session, &test->errors), NEST_OK);
}

void test_session_open_small(struct test_session *test)
{
    const struct nest_scenario_request request = {.scenario = TEST_SMALL_SCENARIO};
    test_session_open(test, &request);
    nest_session_wait(test->session);
}

void test_session_close(struct test_session *test)
{
    nest_session_close(test->session);
    nest_arena_free(&test->arena);
}

enum nest_status test_session_set(struct test_session *test, const char *path, const char *value)
{
    nest_errors_init(&test->errors, &test->arena);
    return nest_session_set(test->session, path, value, &test->errors);
}

enum nest_status test_session_pin(struct test_session *test, const char *key, const char *value)
{
    nest_errors_init(&test->errors, &test->arena);
    return nest_session_pin(test->session, key, value, &test->errors);
}
