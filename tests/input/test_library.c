#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "input/doc.h"
#include "input/set.h"
#include "model/model.h"
#include "support/importing.h"

/* The library of clusters against the reference facts: fan-outs, and bandwidth after
 * oversubscription, of every cluster that is shipped under its id. */

static bool has_cluster(struct importing *in, const char *id)
{
    const char **name = nest_library_list(&in->library, "topologies", &in->arena);
    while (*name && strcmp(*name, id) != 0) {
        name++;
    }
    return *name != NULL;
}

static double number(const struct nest_node *node)
{
    double value = 0;
    return node && sscanf(node->text, "%lf", &value) == 1 ? value : 0;
}

static void assert_level(const char *id, const struct nest_level_spec *level,
                         const struct nest_node *fact)
{
    const double after = level->bandwidth / level->oversubscription / 1e9;
    const double expected = number(nest_node_get(fact, "bandwidth_gbs"));
    if ((double)level->fanout != number(nest_node_get(fact, "fan_out")) ||
        fabs(after - expected) > 1e-3 * expected) {
        fail_msg("%s, level %s: %lld x %.6g GB/s, the source says %s x %.6g", id, level->name,
                 (long long)level->fanout, after, nest_node_get(fact, "fan_out")->text, expected);
    }
}

static void shipped_clusters_agree_with_their_sources(void **state)
{
    (void)state;
    struct importing in;
    const struct nest_node *root;
    size_t length;
    int checked = 0;
    importing_begin(&in);
    const char *path = importing_shared(&in, "clusters.yaml");
    if (!path) {
        importing_end(&in);
        skip();
    }
    const char *text = importing_read(&in, path, &length);
    assert_int_equal(nest_doc_parse(path, text, length, &in.arena, &root, &in.errors), NEST_OK);
    for (const struct nest_node *fact = nest_node_get(root, "clusters")->first; fact;
         fact = fact->next) {
        struct nest_cluster_spec cluster;
        const char *id = nest_node_get(fact, "id")->text;
        if (!has_cluster(&in, id) || nest_node_get(fact, "flat_dims")) {
            continue;
        }
        assert_int_equal(nest_load_cluster(&in.library, id, &in.arena, &cluster, &in.errors),
                         NEST_OK);
        const struct nest_node *level = nest_node_get(fact, "levels")->first;
        for (int l = 0; l < cluster.levels; l++, level = level->next) {
            assert_non_null(level);
            assert_level(id, &cluster.level[l], level);
        }
        checked++;
    }
    assert_true(checked >= 20);
    importing_end(&in);
}

static int64_t devices_of(struct importing *in, const char *id)
{
    struct nest_cluster_spec cluster;
    int64_t devices = 1;
    assert_int_equal(nest_load_cluster(&in->library, id, &in->arena, &cluster, &in->errors),
                     NEST_OK);
    for (int l = 0; l < cluster.levels; l++) {
        devices *= cluster.level[l].fanout;
    }
    return devices;
}

static void pods_have_their_size(void **state)
{
    (void)state;
    struct importing in;
    importing_begin(&in);
    assert_int_equal(devices_of(&in, "tpu-v4-pod"), 4096);
    assert_int_equal(devices_of(&in, "tpu-v5p-pod"), 8960);
    assert_int_equal(devices_of(&in, "tpu-v5e-pod"), 256);
    assert_int_equal(devices_of(&in, "gb200-nvl72-su"), 576);
    assert_int_equal(devices_of(&in, "dgx-b200-superpod-16su"), 4096);
    assert_int_equal(devices_of(&in, "alibaba-hpn7"), 122880);
    importing_end(&in);
}

static int64_t params_of(struct importing *in, const struct nest_model_spec *spec)
{
    struct nest_model model;
    assert_int_equal(nest_model_expand(spec, &in->arena, &model, &in->errors), NEST_OK);
    return model.params;
}

/* A model written into a scenario in its own keys reads back as the same model. */
static void shipped_models_survive_writing(void **state)
{
    (void)state;
    struct importing in;
    importing_begin(&in);
    for (const char **name = nest_library_list(&in.library, "models", &in.arena); *name; name++) {
        struct nest_scenario_spec before, after;
        struct nest_strbuf text = NEST_STRBUF_INIT(1 << 20);
        const struct nest_scenario_request request = {.model = *name};
        assert_int_equal(nest_load_scenario(&in.library, &request, &in.arena, &before, &in.errors),
                         NEST_OK);
        before.model.ref = NULL;
        nest_scenario_write(&before, &text);
        in.status = NEST_OK;
        in.yaml = nest_arena_strdup(&in.arena, nest_strbuf_text(&text));
        nest_strbuf_free(&text);
        importing_scenario(&in, &after);
        assert_int_equal(params_of(&in, &after.model), params_of(&in, &before.model));
    }
    importing_end(&in);
}

static void the_library_is_large_enough(void **state)
{
    (void)state;
    struct importing in;
    int models = 0;
    importing_begin(&in);
    for (const char **name = nest_library_list(&in.library, "models", &in.arena); *name; name++) {
        models++;
    }
    assert_true(models >= 30);
    importing_end(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_clusters_agree_with_their_sources),
        cmocka_unit_test(pods_have_their_size),
        cmocka_unit_test(shipped_models_survive_writing),
        cmocka_unit_test(the_library_is_large_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
