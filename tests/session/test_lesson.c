/* Guided lessons over a live session: every one can be learned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/lesson.h"

struct world {
    struct nest_arena arena;
    struct nest_session *session;
    struct nest_lesson *lesson;
};

static struct world open_world(void)
{
    struct world world = {.arena = NEST_ARENA_INIT};
    struct nest_errors errors;
    struct nest_session_options options = {
        .request = {.scenario = "tests/ui/data/small.yaml"}, .top = 1, .threads = 1};
    nest_errors_init(&errors, &world.arena);
    assert_int_equal(nest_library_find(&world.arena, &options.library), NEST_OK);
    assert_int_equal(nest_session_open(&options, &world.session, &errors), NEST_OK);
    assert_int_equal(nest_lesson_start(world.session, &world.lesson), NEST_OK);
    return world;
}

static void close_world(struct world *world)
{
    nest_lesson_close(world->lesson);
    nest_session_close(world->session);
    nest_arena_free(&world->arena);
}

static void open_lesson(struct world *world, int number)
{
    struct nest_errors errors;
    nest_errors_init(&errors, &world->arena);
    assert_int_equal(nest_lesson_open(world->lesson, number, &errors), NEST_OK);
    nest_lesson_wait(world->lesson);
}

static void try(struct world *world, const char *edit)
{
    struct nest_errors errors;
    nest_errors_init(&errors, &world->arena);
    assert_int_equal(nest_lesson_try(world->lesson, edit, &errors), NEST_OK);
}

static void every_lesson_can_be_learned(void **state)
{
    (void)state;
    static const struct {
        const char *wrong, *right[2]; /* edits */
    } lessons[] = {
        {"global_batch=2048", {"node.bandwidth=50GB/s"}},
        {"global_batch=256", {"global_batch=2048"}},
        {"zero=3|0", {"zero=2"}},
        {"limits.memory=20GiB", {"recompute=full"}},
        {"spine.oversubscription=8", {"spine.oversubscription=64", "order=tp-cp-pp-dp"}},
        {"etp=2", {"ep=8", "etp=1"}},
    };
    struct world world = open_world();
    assert_int_equal(nest_lesson_report(world.lesson).number, 0);
    const int count = nest_lesson_report(world.lesson).count;
    assert_int_equal(count, sizeof lessons / sizeof lessons[0]);
    for (int i = 0; i < count; i++) {
        print_message("lesson %d\n", i + 1);
        open_lesson(&world, i + 1);
        struct nest_lesson_report report = nest_lesson_report(world.lesson);
        assert_int_equal(report.number, i + 1);
        assert_true(report.figures->count > 2);
        assert_false(report.edited || report.held || report.done || report.stale);
        assert_true(*report.title && *report.text && *report.attempt && *report.question);
        try(&world, lessons[i].wrong);
        nest_lesson_wait(world.lesson);
        report = nest_lesson_report(world.lesson);
        assert_true(report.edited);
        assert_false(report.held);
        assert_true(nest_session_undo(world.session));
        for (int k = 0; k < 2 && lessons[i].right[k]; k++) {
            try(&world, lessons[i].right[k]);
        }
        nest_lesson_wait(world.lesson);
        report = nest_lesson_report(world.lesson);
        assert_true(report.held && report.done);
        assert_true(*report.verdict);
        /* What was learned stays, whatever is tried then. */
        assert_true(nest_session_undo(world.session));
        nest_lesson_wait(world.lesson);
        assert_true(nest_lesson_report(world.lesson).done);
    }
    close_world(&world);
}

static void what_cannot_be_opened_leaves_the_lesson(void **state)
{
    (void)state;
    struct world world = open_world();
    struct nest_errors errors;
    open_lesson(&world, 2);
    nest_errors_init(&errors, &world.arena);
    assert_int_equal(nest_lesson_open(world.lesson, 77, &errors), NEST_BAD_INPUT);
    assert_int_equal(nest_lesson_open(world.lesson, 0, &errors), NEST_BAD_INPUT);
    assert_int_equal(nest_lesson_report(world.lesson).number, 2);
    /* A choice that no plan allows is said, and the lesson goes on. */
    try(&world, "tp=7");
    nest_lesson_wait(world.lesson);
    struct nest_lesson_report report = nest_lesson_report(world.lesson);
    assert_false(report.held);
    assert_int_equal(report.figures->line[report.figures->count - 1].kind, NEST_LINE_ERROR);
    assert_true(nest_session_undo(world.session));
    nest_lesson_wait(world.lesson);
    assert_int_equal(nest_lesson_report(world.lesson).figures->line[0].kind, NEST_LINE_OUTPUT);
    close_world(&world);
}

static void lessons_follow_each_other_at_any_moment(void **state)
{
    (void)state;
    struct world world = open_world();
    struct nest_errors errors;
    for (int i = 0; i < 12; i++) {
        nest_errors_init(&errors, &world.arena);
        assert_int_equal(nest_lesson_open(world.lesson, i % 6 + 1, &errors), NEST_OK);
        nest_session_wait(world.session);
        (void)nest_lesson_collect(world.lesson); /* the figures are under way now */
    }
    nest_lesson_wait(world.lesson);
    assert_int_equal(nest_lesson_report(world.lesson).number, 6);
    assert_true(nest_lesson_report(world.lesson).figures->count > 2);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_lesson_can_be_learned),
        cmocka_unit_test(what_cannot_be_opened_leaves_the_lesson),
        cmocka_unit_test(lessons_follow_each_other_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
