/* The explorer without a screen: history, the newest answer, cancelling, files. */
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "input/set.h"
#include "plan/words.h"
#include "session/report.h"
#include "session/session.h"
#include "support/command.h"
#include "support/seed.h"
#include "support/session.h"

enum { TEXT = 1 << 16, EDITS = 40 };

static void add_solution(const struct nest_solution *solution, struct nest_strbuf *out)
{
    char text[1024];
    const struct nest_prediction *p = &solution->prediction;
    const struct nest_breakdown *b = &p->breakdown;
    nest_strbuf_printf(out, "%s %s step %" PRId64 " of %" PRId64 " %" PRId64 " %" PRId64 "\n",
                       nest_plan_format(&solution->plan, text, 512),
                       nest_order_format(&solution->plan.strategy, text + 512, 512), p->step,
                       b->compute, b->dp, b->bubble);
    for (int i = 0; i < p->stages; i++) {
        nest_strbuf_printf(out, "  %" PRId64 " %" PRId64 " %d %" PRId64 "\n",
                           solution->plan.stage[i].layers[0].low, p->stage[i].memory.total,
                           (int)solution->plan.stage[i].recompute,
                           solution->plan.stage[i].first_device);
    }
}

/* Everything a view shows of an answer, as text: equal texts are equal snapshots. */
static char *picture(struct nest_session *session)
{
    nest_session_wait(session);
    const struct nest_snapshot *s = nest_session_snapshot(session);
    struct nest_strbuf out = NEST_STRBUF_INIT(TEXT);
    assert_non_null(s);
    assert_false(s->solving);
    assert_false(s->provisional);
    for (int i = 0; i < s->knobs; i++) {
        nest_strbuf_printf(&out, "%s=%s/%s%s%s\n", s->knob[i].path, s->knob[i].text,
                           s->knob[i].exact, s->knob[i].pinned ? " pinned" : "",
                           s->knob[i].changed ? " changed" : "");
    }
    for (int i = 0; i < s->result->count; i++) {
        add_solution(&s->result->solution[i], &out);
    }
    for (int l = 0; s->use && l < s->cluster->levels; l++) {
        nest_strbuf_printf(&out, "use %" PRId64 " %s\n", s->use[l].waits, s->use[l].kinds);
    }
    for (size_t i = 0; i < s->result->errors.count; i++) {
        nest_error_format(&s->result->errors.item[i], &out);
    }
    nest_snapshot_release(s);
    assert_false(out.failed);
    return out.text;
}

static uint64_t next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

/* One random nudge or pin; what cannot be done changes nothing. */
static void random_edit(struct test_session *world, uint64_t *random)
{
    const struct nest_snapshot *s = nest_session_snapshot(world->session);
    const struct nest_knob *knob = &s->knob[next(random) % (uint64_t)s->knobs];
    nest_errors_init(&world->errors, &world->arena);
    if (knob->kind == NEST_KNOB_PIN && next(random) % 2 == 0) {
        (void)nest_session_toggle(world->session, knob->path, &world->errors);
    } else {
        (void)nest_session_nudge(world->session, knob->path, next(random) % 2 ? 1 : -1,
                                 next(random) % 4 == 0, &world->errors);
    }
    nest_snapshot_release(s);
}

static int undo_steps(struct nest_session *session)
{
    const struct nest_snapshot *s = nest_session_snapshot(session);
    const int steps = s->undo;
    nest_snapshot_release(s);
    return steps;
}

static void undo_and_redo_give_identical_snapshots(void **state)
{
    (void)state;
    struct test_session world;
    uint64_t random = test_seed();
    print_message("seed %" PRIu64 "\n", random);
    test_session_open_small(&world);
    char *seen[EDITS + 1];
    int steps = 0;
    seen[0] = picture(world.session);
    for (int i = 0; i < EDITS; i++) {
        random_edit(&world, &random);
        if (undo_steps(world.session) > steps) {
            seen[++steps] = picture(world.session);
        }
    }
    for (int i = steps - 1; i >= 0; i--) {
        assert_true(nest_session_undo(world.session));
        char *again = picture(world.session);
        assert_string_equal(again, seen[i]);
        free(again);
    }
    assert_false(nest_session_undo(world.session));
    for (int i = 1; i <= steps; i++) {
        assert_true(nest_session_redo(world.session));
        char *again = picture(world.session);
        assert_string_equal(again, seen[i]);
        free(again);
    }
    assert_false(nest_session_redo(world.session));
    for (int i = 0; i <= steps; i++) {
        free(seen[i]);
    }
    test_session_close(&world);
}

static struct nest_progress progress_of(struct nest_session *session)
{
    nest_session_wait(session);
    const struct nest_snapshot *s = nest_session_snapshot(session);
    const struct nest_progress progress = s->progress;
    nest_snapshot_release(s);
    return progress;
}

/* No two searches take the same time to a nanosecond. */
static void going_back_does_not_search_again(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    const struct nest_progress first = progress_of(world.session);
    assert_int_equal(test_session_set(&world, "memory", "30GiB"), NEST_OK);
    const struct nest_progress second = progress_of(world.session);
    assert_true(nest_session_undo(world.session));
    assert_true(progress_of(world.session).seconds == first.seconds);
    assert_true(nest_session_redo(world.session));
    assert_true(progress_of(world.session).seconds == second.seconds);
    test_session_close(&world);
}

static void the_newest_edit_wins(void **state)
{
    (void)state;
    struct test_session hasty;
    struct test_session calm;
    test_session_open_small(&hasty);
    test_session_open_small(&calm);
    for (int i = 2; i <= 40; i++) {
        char value[16];
        (void)snprintf(value, sizeof value, "%d", i);
        assert_int_equal(test_session_set(&hasty, "cluster.spine.oversubscription", value),
                         NEST_OK);
    }
    assert_int_equal(test_session_set(&calm, "cluster.spine.oversubscription", "40"), NEST_OK);
    char *a = picture(hasty.session);
    char *b = picture(calm.session);
    assert_string_equal(a, b); /* and the same as solved in one go */
    free(a);
    free(b);
    test_session_close(&hasty);
    test_session_close(&calm);
}

/* Asks for a stop at once: whether the search was stopped, or had its answer by then. */
static bool open_and_cancel(struct test_session *world)
{
    const struct nest_scenario_request request = {.model = "llama3-405b", .cluster = "llama3-24k"};
    test_session_open(world, &request);
    (void)nest_session_cancel(world->session);
    nest_session_wait(world->session);
    const struct nest_snapshot *s = nest_session_snapshot(world->session);
    const bool stopped = s->cancelled;
    assert_false(s->solving);
    assert_true(stopped == (s->result == NULL));
    nest_snapshot_release(s);
    assert_false(nest_session_cancel(world->session));
    return stopped;
}

static void a_search_can_be_cancelled(void **state)
{
    (void)state;
    struct test_session world;
    bool stopped = false;
    /* On a busy machine the search may end before this thread runs again. */
    for (int tries = 0; tries < 50 && !stopped; tries++) {
        stopped = open_and_cancel(&world);
        test_session_close(&world);
    }
    assert_true(stopped);
}

static void closing_does_not_wait_for_a_search(void **state)
{
    (void)state;
    struct test_session world;
    const struct nest_scenario_request request = {.model = "llama3-405b", .cluster = "llama3-24k"};
    test_session_open(&world, &request);
    test_session_close(&world);
}

static void what_is_wrong_changes_nothing(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    char *before = picture(world.session);
    assert_int_equal(test_session_set(&world, "cluster.spine.bandwidth", "10 parsec"),
                     NEST_BAD_INPUT);
    assert_true(world.errors.count == 1);
    assert_int_equal(test_session_set(&world, "cluster.spien.bandwidth", "10GB/s"), NEST_BAD_INPUT);
    assert_int_equal(test_session_pin(&world, "tp", "many"), NEST_BAD_INPUT);
    nest_errors_init(&world.errors, &world.arena);
    assert_int_equal(nest_session_model(world.session, "no-such-model", &world.errors),
                     NEST_BAD_INPUT);
    assert_int_equal(nest_session_load(world.session, "/no/such/file.yaml", &world.errors),
                     NEST_BAD_INPUT);
    assert_int_equal(undo_steps(world.session), 0);
    char *after = picture(world.session);
    assert_string_equal(before, after);
    free(before);
    free(after);
    test_session_close(&world);
}

static void an_edit_to_the_same_value_is_no_step(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    assert_int_equal(test_session_set(&world, "train.global_batch", "48"), NEST_OK);
    assert_int_equal(undo_steps(world.session), 0);
    test_session_close(&world);
}

static bool is_dirty(struct nest_session *session)
{
    const struct nest_snapshot *s = nest_session_snapshot(session);
    const bool dirty = s->dirty;
    nest_snapshot_release(s);
    return dirty;
}

static void saving_keeps_everything(void **state)
{
    (void)state;
    struct test_session world;
    struct test_session again;
    char path[256];
    test_session_open_small(&world);
    (void)snprintf(path, sizeof path, "%s", command_file("saved.yaml", "old content\n"));
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(test_session_set(&world, "cluster.spine.oversubscription", "8"), NEST_OK);
    assert_int_equal(test_session_set(&world, "limits.memory", "20GiB"), NEST_OK);
    assert_int_equal(test_session_pin(&world, "tp", "2"), NEST_OK);
    assert_true(is_dirty(world.session));
    assert_int_equal(nest_session_save(world.session, path, &world.errors), NEST_OK);
    assert_false(is_dirty(world.session));
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    const struct nest_scenario_request request = {.scenario = path};
    test_session_open(&again, &request);
    char *a = picture(world.session);
    char *b = picture(again.session);
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_true(nest_session_undo(world.session));
    assert_true(is_dirty(world.session));
    assert_true(nest_session_redo(world.session));
    assert_false(is_dirty(world.session));
    test_session_close(&world);
    test_session_close(&again);
}

static void saving_through_a_link_keeps_the_link(void **state)
{
    (void)state;
    struct test_session world;
    char link[256];
    const char *target = command_file("target.yaml", "old\n");
    (void)snprintf(link, sizeof link, "%s/link.yaml", command_folder());
    assert_int_equal(symlink(target, link), 0);
    test_session_open_small(&world);
    assert_int_equal(nest_session_save(world.session, link, &world.errors), NEST_OK);
    struct stat info;
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(target, &info), 0);
    assert_true(info.st_size > 100);
    assert_int_equal(unlink(link), 0);
    test_session_close(&world);
}

static void a_failed_save_says_so_and_stays_unsaved(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    assert_int_equal(test_session_set(&world, "limits.memory", "20GiB"), NEST_OK);
    nest_errors_init(&world.errors, &world.arena);
    assert_int_equal(nest_session_save(world.session, "/no/such/folder/x.yaml", &world.errors),
                     NEST_BAD_INPUT);
    assert_true(world.errors.count == 1);
    assert_int_equal(nest_session_save(world.session, "/tmp", &world.errors), NEST_BAD_INPUT);
    assert_true(is_dirty(world.session));
    test_session_close(&world);
}

static void alternatives_can_be_adopted(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    assert_true(s->result->count > 1);
    const nest_ps step = s->result->solution[1].prediction.step;
    nest_snapshot_release(s);
    assert_int_equal(nest_session_adopt(world.session, 1, &world.errors), NEST_OK);
    nest_session_wait(world.session);
    s = nest_session_snapshot(world.session);
    assert_int_equal(s->result->solution[0].prediction.step, step);
    nest_snapshot_release(s);
    test_session_close(&world);
}

static void the_descriptor_tells_of_news(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    nest_snapshot_release(nest_session_snapshot(world.session));
    struct pollfd source = {.fd = nest_session_descriptor(world.session), .events = POLLIN};
    assert_int_equal(poll(&source, 1, 0), 0);
    assert_int_equal(test_session_set(&world, "limits.memory", "20GiB"), NEST_OK);
    assert_int_equal(poll(&source, 1, 0), 1);
    nest_session_wait(world.session);
    assert_int_equal(poll(&source, 1, 0), 1);
    test_session_close(&world);
}

static void the_command_line_gives_the_same_plan(void **state)
{
    (void)state;
    struct test_session world;
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT);
    test_session_open_small(&world);
    assert_int_equal(test_session_set(&world, "cluster.spine.oversubscription", "16"), NEST_OK);
    assert_int_equal(test_session_set(&world, "limits.memory", "20GiB"), NEST_OK);
    assert_int_equal(test_session_pin(&world, "pp", "2..4"), NEST_OK);
    nest_session_wait(world.session);
    assert_int_equal(nest_session_command(world.session, &text, &world.errors), NEST_OK);
    const char *line = nest_strbuf_text(&text);
    assert_memory_equal(line, "nest ", 5);
    char command[1024];
    (void)snprintf(command, sizeof command, "%s --json", line + 5);
    struct command_result result = command_run(command);
    assert_int_equal(result.status, 0);
    struct json_object *json = command_json(&result);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    const double step = nest_to_seconds(s->result->solution[0].prediction.step);
    assert_true(json_number(json, "step_time_s") == step);
    nest_snapshot_release(s);
    (void)json_object_put(json);
    command_free(&result);
    nest_strbuf_free(&text);
    test_session_close(&world);
}

static void exchanging_the_cluster_keeps_the_rest(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    assert_int_equal(test_session_set(&world, "cluster.spine.oversubscription", "16"), NEST_OK);
    assert_int_equal(test_session_pin(&world, "pp", "2"), NEST_OK);
    char *before = picture(world.session);
    assert_int_equal(nest_session_cluster(world.session, "hgx-h100-8", &world.errors), NEST_OK);
    nest_session_wait(world.session);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    assert_int_equal(s->cluster->devices, 8);
    assert_string_equal(s->scenario->device.id, s->scenario->cluster.device->id);
    assert_int_equal(s->scenario->train.global_batch, 48);
    assert_int_equal(s->scenario->pins.pin[NEST_PIN_PP].count, 1);
    nest_snapshot_release(s);
    assert_true(nest_session_undo(world.session));
    char *after = picture(world.session);
    assert_string_equal(before, after);
    free(before);
    free(after);
    test_session_close(&world);
}

/* Whatever is offered for completion can be set, and the limit by its short name. */
static void every_path_that_is_offered_can_be_read(void **state)
{
    (void)state;
    struct test_session world;
    struct nest_arena arena = NEST_ARENA_INIT;
    test_session_open_small(&world);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    const char **path = nest_session_paths(s, &arena);
    int limits = 0;
    for (; path && *path; path++) {
        limits += strcmp(*path, "memory") == 0;
        nest_errors_init(&world.errors, &world.arena);
        if (nest_session_set(world.session, *path, "1", &world.errors) == NEST_OK) {
            (void)nest_session_undo(world.session);
        }
        for (size_t i = 0; i < world.errors.count; i++) {
            const char *message = world.errors.item[i].message;
            if (strstr(message, "is ambiguous") || strstr(message, "there is no '")) {
                fail_msg("%s: %s", *path, message);
            }
        }
    }
    assert_int_equal(limits, 1);
    nest_snapshot_release(s);
    nest_arena_free(&arena);
    test_session_close(&world);
}

/* Hundreds of thousands of percent are read by nobody. */
static void large_differences_are_told_as_factors(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    assert_int_equal(test_session_set(&world, "global_batch", "4800"), NEST_OK);
    nest_session_wait(world.session);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    assert_non_null(s->change->delta);
    assert_memory_equal(s->change->delta, "× ", 3);
    nest_snapshot_release(s);
    assert_true(nest_session_undo(world.session));
    nest_session_wait(world.session);
    s = nest_session_snapshot(world.session);
    assert_non_null(strstr(s->change->delta, "−9"));
    assert_non_null(strstr(s->change->delta, "%"));
    nest_snapshot_release(s);
    test_session_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undo_and_redo_give_identical_snapshots),
        cmocka_unit_test(going_back_does_not_search_again),
        cmocka_unit_test(the_newest_edit_wins),
        cmocka_unit_test(a_search_can_be_cancelled),
        cmocka_unit_test(closing_does_not_wait_for_a_search),
        cmocka_unit_test(what_is_wrong_changes_nothing),
        cmocka_unit_test(an_edit_to_the_same_value_is_no_step),
        cmocka_unit_test(saving_keeps_everything),
        cmocka_unit_test(saving_through_a_link_keeps_the_link),
        cmocka_unit_test(a_failed_save_says_so_and_stays_unsaved),
        cmocka_unit_test(alternatives_can_be_adopted),
        cmocka_unit_test(the_descriptor_tells_of_news),
        cmocka_unit_test(the_command_line_gives_the_same_plan),
        cmocka_unit_test(exchanging_the_cluster_keeps_the_rest),
        cmocka_unit_test(every_path_that_is_offered_can_be_read),
        cmocka_unit_test(large_differences_are_told_as_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
