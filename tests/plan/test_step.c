/* The step formula against DESIGN 3.5 written out as it stands, and interleaving's counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/interleave.h"
#include "plan/step.h"

enum { STAGES_MAX = 8, ROUNDS = 2000 };

static uint64_t state;

static nest_ps below(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (nest_ps)(state % limit);
}

static nest_ps written_out(const struct nest_stage_cost *stage, int s, int64_t m, nest_ps tied)
{
    nest_ps bottleneck = 0;
    nest_ps sum = 0;
    nest_ps worst = 0;
    for (int i = 0; i < s; i++) {
        bottleneck = stage[i].load > bottleneck ? stage[i].load : bottleneck;
        sum += stage[i].load;
        nest_ps tail = stage[i].sync + stage[i].optimizer;
        for (int j = 0; j < i; j++) {
            tail -= stage[j].bw + stage[j].out;
        }
        worst = tail > worst ? tail : worst;
    }
    return m * bottleneck + sum - bottleneck + worst + tied;
}

static const struct nest_step_rule plain = {.given = false};

static void prepending_agrees_with_the_formula(void **unused)
{
    (void)unused;
    state = 20260306;
    print_message("seed %llu\n", (unsigned long long)state);
    for (int round = 0; round < ROUNDS; round++) {
        struct nest_stage_cost stage[STAGES_MAX] = {0};
        const int s = 1 + (int)below(STAGES_MAX);
        for (int i = 0; i < s; i++) {
            stage[i].bw = below(1000);
            stage[i].out = i + 1 < s ? below(50) : 0;
            stage[i].load = stage[i].bw + stage[i].out + below(600);
            stage[i].sync = below(2000);
            stage[i].optimizer = below(300);
        }
        struct nest_step step = NEST_STEP_EMPTY;
        for (int i = s - 1; i >= 0; i--) {
            step = nest_step_prepend(&stage[i], nest_step_tail(&plain, &stage[i], i == 0), step, 1);
        }
        const int64_t m = 1 + below(64);
        const nest_ps tied = below(20);
        const struct nest_step_frame frame = {.microbatches = m, .virtual_stages = 1};
        assert_int_equal(nest_step_time(&frame, step, tied), written_out(stage, s, m, tied));
    }
}

/* Two stages of 10, M = 4, no update: 4*10 + 10 = 50; interleaved twice the fill halves to 5: 45.
 */
static void interleaving_halves_the_bubble(void **unused)
{
    (void)unused;
    const struct nest_stage_cost stage = {.bw = 6, .fw = 4, .load = 10};
    struct nest_step step = NEST_STEP_EMPTY;
    step = nest_step_prepend(&stage, 0, step, 1);
    step = nest_step_prepend(&stage, 0, step, 1);
    struct nest_step_frame frame = {.microbatches = 4, .virtual_stages = 1};
    assert_int_equal(nest_step_time(&frame, step, 0), 50);
    frame.virtual_stages = 2;
    assert_int_equal(nest_step_time(&frame, step, 0), 45);
}

/* Megatron-LM, framework_rules 1.3: p=4, v=2, M=16 keeps 11, 9, 7, 5 chunks; v=5, M=32 23, 21,
 * 19, 17. */
static void chunks_in_flight_follow_megatron(void **unused)
{
    (void)unused;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(nest_chunks_in_flight(i, 4, 2, 16), 11 - 2 * i);
        assert_int_equal(nest_chunks_in_flight(i, 4, 5, 32), 23 - 2 * i);
    }
    assert_int_equal(nest_chunks_in_flight(0, 4, 2, 4), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepending_agrees_with_the_formula),
        cmocka_unit_test(interleaving_halves_the_bubble),
        cmocka_unit_test(chunks_in_flight_follow_megatron),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
