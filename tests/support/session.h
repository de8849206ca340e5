/* A session of the explorer without its screen, for tests that edit and look. */
#ifndef TESTS_SUPPORT_SESSION_H
#define TESTS_SUPPORT_SESSION_H

#include "session/session.h"

/* The scenario that is solved at once. */
#define TEST_SMALL_SCENARIO "tests/ui/data/small.yaml"

struct test_session {
    struct nest_arena arena;
    struct nest_errors errors; /* of the last set or pin */
    struct nest_session *session;
};

/* Opens the request; the search is under way. */
void test_session_open(struct test_session *test, const struct nest_scenario_request *request);

/* Opens TEST_SMALL_SCENARIO and waits until it is solved. */
void test_session_open_small(struct test_session *test);

void test_session_close(struct test_session *test);

/* One edit, with errors emptied before. */
enum nest_status test_session_set(struct test_session *test, const char *path, const char *value);
enum nest_status test_session_pin(struct test_session *test, const char *key, const char *value);

#endif
