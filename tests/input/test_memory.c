/* Running out of memory at any point of a load is answered with NEST_NO_MEMORY, never with a crash
 * or with a record that looks whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/input.h"

static const char text[] = "model:\n"
                           "  name: Measured\n"
                           "  profile:\n"
                           "    - measured:\n"
                           "        - {tp: 1, fw: 1ms, bw: 2ms, weights: 1MB, activations: 1MB, "
                           "boundary: 1MB}\n"
                           "cluster:\n"
                           "  device: v100\n"
                           "  levels:\n"
                           "    - {name: pod, kind: torus, shape: 2x4, bandwidth: 50GB/s, "
                           "latency: 1us}\n"
                           "    - {name: rack, groups: [{fanout: 4, times: 3}], bandwidth: "
                           "50GB/s, latency: 4us}\n"
                           "    - {name: top, fanout: 3, bandwidth: 10GB/s, latency: 6us}\n"
                           "pin: {tp: 8}\n"
                           "edits: [{level: top, bandwidth: 5GB/s}, {device.launch: 5us}]\n"
                           "scripts: [a.lua]\n";

static enum nest_status load_within(const struct nest_library *library, const char *path,
                                    size_t limit, size_t *used)
{
    static const char *const sets[] = {"rack.latency=2us", "limits.memory=16GiB"};
    static const char *const pins[] = {"pp=2..4"};
    const struct nest_scenario_request request = {
        .scenario = path, .sets = 2, .set = sets, .pins = 1, .pin = pins};
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    struct nest_scenario_spec scenario;
    arena.limit = limit;
    nest_errors_init(&errors, &arena);
    const enum nest_status status =
        nest_load_scenario(library, &request, &arena, &scenario, &errors);
    *used = arena.used;
    nest_arena_free(&arena);
    return status;
}

static void a_load_survives_any_limit(void **state)
{
    struct test_input input;
    char path[] = "/tmp/nest-memory-XXXXXX";
    size_t whole = 0;
    size_t used = 0;
    (void)state;
    test_input_begin(&input);
    FILE *stream = fdopen(mkstemp(path), "wb");
    assert_non_null(stream);
    (void)fputs(text, stream);
    (void)fclose(stream);
    assert_int_equal(load_within(&input.library, path, 0, &whole), NEST_OK);
    assert_int_equal(load_within(&input.library, path, whole, &used), NEST_OK);
    int tried = 0;
    for (size_t limit = 16; limit < whole; limit += 16 + limit / 100) {
        assert_int_equal(load_within(&input.library, path, limit, &used), NEST_NO_MEMORY);
        assert_true(used <= limit);
        tried++;
    }
    assert_true(tried > 100);
    (void)unlink(path);
    test_input_end(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_load_survives_any_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
