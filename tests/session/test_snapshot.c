/* What a snapshot tells a view: why a plan changed, who sits where, what waits for what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "input/set.h"
#include "session/report.h"
#include "support/command.h"
#include "support/session.h"

enum { TEXT = 1 << 16 };

static void changes_are_explained(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    assert_int_equal(test_session_set(&world, "cluster.spine.oversubscription", "16"), NEST_OK);
    nest_session_wait(world.session);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    assert_string_equal(s->change->edit, "spine oversubscription 2:1 → 16:1");
    assert_true(s->change->after > s->change->before);
    assert_non_null(s->change->plan);
    /* The new plan is worth it. */
    assert_true(s->change->kept >= s->change->after);
    nest_snapshot_release(s);
    assert_int_equal(test_session_set(&world, "limits.memory", "2GiB"), NEST_OK);
    nest_session_wait(world.session);
    s = nest_session_snapshot(world.session);
    assert_int_equal(s->status, NEST_NO);
    assert_int_equal(s->result->count, 0);
    assert_true(s->result->errors.count > 0);
    assert_true(s->change->after == 0);
    assert_non_null(strstr(s->change->why, "over the limit"));
    nest_snapshot_release(s);
    test_session_close(&world);
}

static void every_choice_of_a_plan_can_be_seen_and_pinned(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    for (int pin = 0; pin <= NEST_PINS; pin++) {
        int shown = 0;
        for (int i = 0; i < s->knobs; i++) {
            shown += s->knob[i].kind == NEST_KNOB_PIN && s->knob[i].pin == pin;
        }
        assert_int_equal(shown, 1);
    }
    /* What follows from others is no difference; what was chosen is. */
    struct nest_plan whole = s->result->solution[0].plan;
    struct nest_plan half = whole;
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT);
    half.strategy.shard = whole.strategy.shard / 2;
    nest_plan_difference(&half, &whole, ", ", &text);
    assert_non_null(strstr(nest_strbuf_text(&text), "shard"));
    assert_true(nest_plan_chosen_apart(&half, &whole, NEST_PIN_SHARD));
    assert_false(nest_plan_chosen_apart(&whole, &whole, NEST_PIN_SHARD));
    nest_strbuf_free(&text);
    nest_snapshot_release(s);
    test_session_close(&world);
}

static void every_device_has_one_seat(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    assert_int_equal(test_session_pin(&world, "dp", "6"), NEST_OK);
    nest_session_wait(world.session);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    const struct nest_plan *plan = &s->result->solution[0].plan;
    int64_t busy = 0;
    int64_t per_stage[64] = {0};
    for (int64_t d = 0; d < s->cluster->devices; d++) {
        const struct nest_seat seat = nest_seat_of(s->cluster, plan, d);
        busy += seat.stage >= 0;
        if (seat.stage >= 0) {
            per_stage[seat.stage]++;
            assert_true(seat.replica >= 0 && seat.replica < 6);
        }
    }
    assert_int_equal(busy, plan->devices_used);
    for (int i = 0; i < plan->stages; i++) {
        assert_int_equal(per_stage[i], plan->stage[i].tp * plan->strategy.cp * 6);
    }
    for (int l = 0; l < s->cluster->levels; l++) {
        int64_t devices = 0;
        int64_t idle = 0;
        for (int64_t g = 0; g < s->cluster->level[l].groups; g++) {
            struct nest_occupancy whole;
            struct nest_occupancy part[64];
            int64_t parts = 0;
            nest_group_occupancy(s->cluster, plan, l, g, &whole);
            devices += whole.devices;
            idle += whole.idle;
            const int count = nest_group_strip(s->cluster, plan, l, g, 64, part);
            for (int i = 0; i < count; i++) {
                parts += part[i].devices;
            }
            assert_int_equal(parts, whole.devices);
        }
        assert_int_equal(devices, s->cluster->devices);
        assert_int_equal(idle, s->cluster->devices - plan->devices_used);
    }
    nest_snapshot_release(s);
    test_session_close(&world);
}

/* What the screen says waits for the spine is what a faster spine saves, and no more. */
static void a_level_is_waited_for_as_long_as_it_costs(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    assert_int_equal(test_session_set(&world, "cluster.spine.latency", "0s"), NEST_OK);
    for (const char *ratio = "1248"; *ratio; ratio++) {
        const char value[2] = {*ratio, '\0'};
        assert_int_equal(test_session_set(&world, "cluster.spine.oversubscription", value),
                         NEST_OK);
        nest_session_wait(world.session);
        const struct nest_snapshot *s = nest_session_snapshot(world.session);
        const nest_ps step = s->result->solution[0].prediction.step;
        const nest_ps saved = s->use[s->cluster->levels - 1].waits;
        nest_ps waits = 0;
        for (int l = 0; l < s->cluster->levels; l++) {
            assert_true(s->use[l].waits >= 0 && s->use[l].share <= 1);
            assert_true(s->use[l].waits == 0 || s->use[l].kinds[0] != '\0');
            waits += s->use[l].waits;
        }
        assert_true(waits < step);
        nest_snapshot_release(s);
        assert_int_equal(test_session_set(&world, "cluster.spine.bandwidth", "900TB/s"), NEST_OK);
        nest_session_wait(world.session);
        s = nest_session_snapshot(world.session);
        const nest_ps kept = s->change->kept;
        assert_true(kept >= step - saved && kept - (step - saved) <= saved / 100);
        nest_snapshot_release(s);
        assert_true(nest_session_undo(world.session));
    }
    test_session_close(&world);
}

static void parts_sum_to_their_wholes(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    const struct nest_prediction *p = &s->result->solution[0].prediction;
    struct nest_part step[NEST_STEP_PARTS];
    double share = 0;
    nest_step_parts(p, step);
    for (int i = 0; i < NEST_STEP_PARTS; i++) {
        share += step[i].share;
    }
    assert_true(share > 1 - 1e-9 && share < 1 + 1e-9);
    for (int i = 0; i < p->stages; i++) {
        struct nest_part part[NEST_MEMORY_PARTS];
        struct nest_part term[NEST_MEMORY_TERMS];
        double parts = 0;
        double terms = 0;
        nest_memory_parts(&p->stage[i].memory, p->memory_limit, part);
        nest_memory_terms(&p->stage[i].memory, term);
        for (int k = 0; k < NEST_MEMORY_PARTS; k++) {
            parts += part[k].value;
        }
        for (int k = 0; k < NEST_MEMORY_TERMS; k++) {
            terms += term[k].value;
        }
        assert_true(parts == (double)p->stage[i].memory.total);
        assert_true(terms == (double)p->stage[i].memory.total);
    }
    nest_snapshot_release(s);
    test_session_close(&world);
}

static bool is_listed(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0) {
        list++;
    }
    return *list != NULL;
}

static void paths_are_listed_short_where_they_are_unique(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    const char *const *paths = (const char *const *)nest_session_paths(s, &world.arena);
    assert_true(is_listed(paths, "cluster.spine.bandwidth"));
    assert_true(is_listed(paths, "spine.bandwidth"));
    assert_true(is_listed(paths, "global_batch"));
    for (; *paths; paths++) {
        const char *value = nest_get(&s->scenario[0], *paths, &world.arena);
        assert_true(value == NULL || test_session_set(&world, *paths, value) == NEST_OK);
    }
    nest_snapshot_release(s);
    test_session_close(&world);
}

static void files_complete(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    const char *file = command_file("complete-me.yaml", "");
    char start[256];
    (void)snprintf(start, sizeof start, "%.*s", (int)(strlen(file) - 6), file);
    const char *const *paths = (const char *const *)nest_session_files(start, &arena);
    assert_string_equal(paths[0], file);
    assert_null(paths[1]);
    paths = (const char *const *)nest_session_files("tests/ui/gol", &arena);
    assert_string_equal(paths[0], "tests/ui/golden/");
    assert_null(nest_session_files("/no/such/folder/x", &arena)[0]);
    nest_arena_free(&arena);
}

/* A device that fails is one edit, is explained by what it costs, and can be undone. */
static void what_is_down_says_what_it_costs(void **state)
{
    (void)state;
    struct test_session world;
    test_session_open_small(&world);
    assert_int_equal(test_session_set(&world, "down", "device 0"), NEST_OK);
    nest_session_wait(world.session);
    const struct nest_snapshot *s = nest_session_snapshot(world.session);
    assert_int_equal(s->loss->down, 1);
    assert_int_equal(s->cluster->intact->devices, s->cluster->devices + 1);
    assert_int_equal(s->loss->idle, s->cluster->devices - s->result->solution[0].plan.devices_used);
    assert_true(s->loss->intact > 0 && s->loss->intact <= s->loss->step);
    assert_non_null(strstr(s->change->why, "device 0 down, 1 device: costs "));
    nest_snapshot_release(s);
    assert_int_equal(test_session_set(&world, "down", "device 9999"), NEST_BAD_INPUT);
    assert_true(nest_session_undo(world.session));
    nest_session_wait(world.session);
    s = nest_session_snapshot(world.session);
    assert_int_equal(s->loss->down, 0);
    assert_null(s->cluster->intact);
    nest_snapshot_release(s);
    test_session_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_down_says_what_it_costs),
        cmocka_unit_test(changes_are_explained),
        cmocka_unit_test(every_choice_of_a_plan_can_be_seen_and_pinned),
        cmocka_unit_test(every_device_has_one_seat),
        cmocka_unit_test(a_level_is_waited_for_as_long_as_it_costs),
        cmocka_unit_test(parts_sum_to_their_wholes),
        cmocka_unit_test(paths_are_listed_short_where_they_are_unique),
        cmocka_unit_test(files_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
