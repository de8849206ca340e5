#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "input/doc.h"
#include "input/load.h"
#include "script/topology.h"
#include "support/command.h"

/* Every shipped file loads, alone and as a part of a scenario. */

struct world {
    struct nest_arena arena;
    struct nest_errors errors;
    struct nest_library library;
};

static int set_up(void **state)
{
    static struct world world;
    world.arena = (struct nest_arena)NEST_ARENA_INIT;
    nest_errors_init(&world.errors, &world.arena);
    *state = &world;
    const enum nest_status found = nest_library_find(&world.arena, &world.library);
    nest_topology_install(&world.library);
    return found == NEST_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < world->errors.count; i++) {
        struct nest_strbuf text = NEST_STRBUF_INIT(4096);
        nest_error_format(&world->errors.item[i], &text);
        print_error("%s", nest_strbuf_text(&text));
        nest_strbuf_free(&text);
    }
    nest_arena_free(&world->arena);
    return 0;
}

static void shipped_devices_load(void **state)
{
    struct world *world = *state;
    const char **name = nest_library_list(&world->library, "topologies/devices", &world->arena);
    assert_non_null(name[0]);
    for (; *name; name++) {
        struct nest_device_spec device;
        assert_int_equal(
            nest_load_device(&world->library, *name, &world->arena, &device, &world->errors),
            NEST_OK);
        assert_true(strlen(device.source) > 10);
        assert_true(device.gemm.count >= 2);
    }
}

static void shipped_clusters_load(void **state)
{
    struct world *world = *state;
    const char **name = nest_library_list(&world->library, "topologies", &world->arena);
    assert_non_null(name[0]);
    for (; *name; name++) {
        struct nest_cluster_spec cluster;
        assert_int_equal(
            nest_load_cluster(&world->library, *name, &world->arena, &cluster, &world->errors),
            NEST_OK);
        assert_non_null(cluster.device);
        assert_true(cluster.levels >= 1);
    }
}

static void shipped_models_load(void **state)
{
    struct world *world = *state;
    const char **name = nest_library_list(&world->library, "models", &world->arena);
    assert_non_null(name[0]);
    for (; *name; name++) {
        struct nest_model_spec model;
        assert_int_equal(
            nest_load_model(&world->library, *name, &world->arena, &model, &world->errors),
            NEST_OK);
        assert_true(model.params_published > 1e6);
    }
}

static void the_default_scenario_loads(void **state)
{
    struct world *world = *state;
    struct nest_scenario_spec scenario;
    const char *sets[] = {"spine.oversubscription=8:1", "memory=76GiB", "seq=4096"};
    const char *pins[] = {"tp=8,zero=1", "pp=2..8,recompute=none|full"};
    const struct nest_scenario_request request = {.sets = 3, .set = sets, .pins = 2, .pin = pins};
    assert_int_equal(
        nest_load_scenario(&world->library, &request, &world->arena, &scenario, &world->errors),
        NEST_OK);
    assert_string_equal(scenario.model.id, "llama3-70b");
    assert_string_equal(scenario.cluster.id, "h100-spine-leaf");
    assert_ptr_equal(scenario.cluster.device, &scenario.device);
    assert_string_equal(scenario.device.id, "h100-sxm-80gb");
    assert_true(scenario.cluster.level[2].oversubscription == 8);
    assert_true(scenario.cluster.level[1].bandwidth == 50e9);
    assert_true(scenario.limits.memory == 76.0 * 1073741824.0);
    assert_int_equal(scenario.model.seq, 4096);
    assert_int_equal(scenario.pins.pin[NEST_PIN_TP].range[0].low, 8);
    assert_int_equal(scenario.pins.pin[NEST_PIN_PP].range[0].high, 8);
    assert_int_equal(scenario.pins.pin[NEST_PIN_RECOMPUTE].count, 2);
}

/* The text as editors of other systems save it: with a byte-order mark, with carriage returns,
 * without the last newline. */
static const char *saved_elsewhere(struct nest_arena *arena, const char *text, bool mark,
                                   bool returns, bool ends)
{
    struct nest_strbuf out = NEST_STRBUF_INIT(1 << 20);
    nest_strbuf_add(&out, mark ? "\xEF\xBB\xBF" : "");
    for (; *text; text++) {
        const bool newline = *text == '\n';
        if (!newline || text[1] || ends) {
            nest_strbuf_add(&out, newline && returns ? "\r" : "");
            nest_strbuf_add_bytes(&out, text, 1);
        }
    }
    const char *kept = nest_arena_strdup(arena, nest_strbuf_text(&out));
    nest_strbuf_free(&out);
    return kept;
}

static void files_load_however_they_were_saved(void **state)
{
    struct world *world = *state;
    const char *text = NULL;
    size_t length = 0;
    const char *path =
        nest_arena_printf(&world->arena, "%s/models/llama3-70b.yaml", world->library.root);
    assert_int_equal(nest_file_read(path, &world->arena, &text, &length, &world->errors), NEST_OK);
    for (int how = 0; how < 8; how++) {
        struct nest_model_spec model;
        const char *file = command_file(
            "saved.yaml", saved_elsewhere(&world->arena, text, how & 1, how & 2, how & 4));
        assert_int_equal(
            nest_load_model(&world->library, file, &world->arena, &model, &world->errors), NEST_OK);
        assert_string_equal(model.name, "Llama 3 70B");
        assert_int_equal(model.seq, 8192);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shipped_devices_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shipped_clusters_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shipped_models_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_default_scenario_loads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_load_however_they_were_saved, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
