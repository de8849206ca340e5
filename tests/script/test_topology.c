/* Clusters in Lua: the shipped ones, equality with YAML, knobs, faults, size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "input/load.h"
#include "input/set.h"
#include "script/topology.h"

struct fixture {
    struct nest_arena arena;
    struct nest_library library;
    struct nest_errors errors;
    char path[64]; /* a temporary file */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    nest_errors_init(&f->errors, &f->arena);
    if (nest_library_find(&f->arena, &f->library) != NEST_OK) {
        f->library.root = ".";
    }
    nest_topology_install(&f->library);
    snprintf(f->path, sizeof(f->path), "/tmp/nest-topology-XXXXXX.lua");
    const int file = mkstemps(f->path, 4);
    close(file);
    *state = f;
    return file < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    unlink(f->path);
    nest_arena_free(&f->arena);
    free(f);
    return 0;
}

static void write_script(struct fixture *f, const char *text)
{
    FILE *file = fopen(f->path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void print_faults(const struct nest_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        struct nest_strbuf line = NEST_STRBUF_INIT(1 << 14);
        nest_error_format(&errors->item[i], &line);
        print_error("%s", nest_strbuf_text(&line));
        nest_strbuf_free(&line);
    }
}

static struct nest_cluster_spec load(struct fixture *f, const char *name)
{
    struct nest_cluster_spec spec = {0};
    const enum nest_status status =
        nest_load_cluster(&f->library, name, &f->arena, &spec, &f->errors);
    print_faults(&f->errors);
    assert_int_equal(status, NEST_OK);
    return spec;
}

static struct nest_cluster build(struct fixture *f, const struct nest_cluster_spec *spec)
{
    struct nest_cluster cluster;
    assert_int_equal(nest_cluster_build(spec, 0, &f->arena, &cluster, &f->errors), NEST_OK);
    return cluster;
}

static struct nest_scenario_spec scenario_of(struct fixture *f, const char *cluster, int sets,
                                             const char *const *set, enum nest_status expected)
{
    struct nest_scenario_spec spec = {0};
    const struct nest_scenario_request request = {
        .model = "llama3-8b", .cluster = cluster, .sets = sets, .set = set};
    const enum nest_status status =
        nest_load_scenario(&f->library, &request, &f->arena, &spec, &f->errors);
    if (status != expected) {
        print_faults(&f->errors);
    }
    assert_int_equal(status, expected);
    return spec;
}

static void test_shipped_scripts_load(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *name;
        int64_t devices;
        int levels;
    } shipped[] = {
        {"fat-tree", 1024, 3},        {"dragonfly", 2304, 4}, {"rail-pod", 1024, 3},
        {"two-datacenters", 4096, 4}, {"tpuv4-ocs", 1024, 3}, {"failures", 0, 3},
        {"twin-planes", 128, 2},
    };
    for (size_t i = 0; i < sizeof(shipped) / sizeof(shipped[0]); i++) {
        const struct nest_cluster_spec spec = load(f, shipped[i].name);
        const struct nest_cluster cluster = build(f, &spec);
        assert_string_equal(spec.ref, shipped[i].name);
        assert_int_equal(cluster.levels, shipped[i].levels);
        if (shipped[i].devices) {
            assert_int_equal(cluster.devices, shipped[i].devices);
        } else {
            assert_true(cluster.devices > 900 && cluster.devices < 1024);
            assert_false(cluster.uniform);
        }
    }
}

static void assert_same_levels(const struct nest_cluster_spec *lua,
                               const struct nest_cluster_spec *yaml)
{
    assert_string_equal(lua->name, yaml->name);
    assert_string_equal(lua->device->id, yaml->device->id);
    assert_int_equal(lua->levels, yaml->levels);
    for (int i = 0; i < yaml->levels; i++) {
        const struct nest_level_spec *a = &lua->level[i], *b = &yaml->level[i];
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->fanout, b->fanout);
        assert_int_equal(a->kind, b->kind);
        assert_memory_equal(&a->bandwidth, &b->bandwidth, sizeof(double));
        assert_memory_equal(&a->latency, &b->latency, sizeof(double));
        assert_memory_equal(&a->oversubscription, &b->oversubscription, sizeof(double));
    }
}

static void test_lua_equals_yaml(void **state)
{
    struct fixture *f = *state;
    const struct nest_cluster_spec lua = load(f, "fat-tree");
    const struct nest_cluster_spec yaml = load(f, "tpuv4-fat-tree");
    assert_same_levels(&lua, &yaml);
}

/* twin-halls.yaml, said by a program: the same levels and the same notes on what is lost. */
static void test_a_graph_is_that_of_yaml(void **state)
{
    struct fixture *f = *state;
    write_script(
        f,
        "local g = graph {names = {'node', 'hall', 'line'}}\n"
        "local halls = {east = {}, west = {}}\n"
        "local order = {'east', 'west'}\n"
        "for h, hall in ipairs(order) do\n"
        "  for n = 1, 4 do\n"
        "    local gpus = g:device(hall .. n .. 'gpu', 8)\n"
        "    g:link(gpus, g:switch('nv' .. h .. n), {bandwidth = '450GB/s', latency = '0.4us'})\n"
        "    for _, gpu in ipairs(gpus) do table.insert(halls[hall], gpu) end\n"
        "  end\n"
        "end\n"
        "for _, hall in ipairs(order) do\n"
        "  g:link(halls[hall], g:switch(hall), {bandwidth = '400Gb/s', latency = '2us'})\n"
        "end\n"
        "g:link('east', 'west', {bandwidth = '100Gb/s', latency = '200us', times = 8})\n"
        "return cluster {name = 'Twin halls', device = 'h100-sxm', graph = g}\n");
    const struct nest_cluster_spec lua = load(f, f->path);
    const struct nest_cluster_spec yaml = load(f, "twin-halls");
    assert_same_levels(&lua, &yaml);
    assert_int_equal(lua.notes, yaml.notes);
    for (int i = 0; i < yaml.notes; i++) {
        assert_string_equal(lua.note[i], yaml.note[i]);
    }
}

static void test_knobs_are_settable(void **state)
{
    struct fixture *f = *state;
    const char *const sets[] = {"oversubscription=8", "cluster.edges=4", "edge.latency=7us",
                                "edge_bandwidth=200Gb/s"};
    const struct nest_scenario_spec s = scenario_of(f, "fat-tree", 4, sets, NEST_OK);
    assert_int_equal(s.cluster.level[2].fanout, 4);
    assert_true(s.cluster.level[2].oversubscription == 8);
    assert_true(s.cluster.level[1].bandwidth == 25e9);
    assert_true(s.cluster.level[1].latency == 7e-6);
    assert_string_equal(nest_get(&s, "cluster.edge_bandwidth", &f->arena), "25GB/s");

    struct nest_strbuf yaml = NEST_STRBUF_INIT(1 << 16);
    nest_scenario_write(&s, &yaml);
    FILE *file = fopen(f->path, "w");
    fputs(nest_strbuf_text(&yaml), file);
    fclose(file);
    nest_strbuf_free(&yaml);
    struct nest_scenario_spec again = {0};
    const struct nest_scenario_request request = {.scenario = f->path};
    assert_int_equal(nest_load_scenario(&f->library, &request, &f->arena, &again, &f->errors),
                     NEST_OK);
    assert_true(again.cluster.level[1].latency == 7e-6);
    assert_int_equal(again.cluster.level[2].fanout, 4);
}

static void test_knobs_out_of_range_are_refused(void **state)
{
    struct fixture *f = *state;
    const char *const high[] = {"oversubscription=64"};
    scenario_of(f, "fat-tree", 1, high, NEST_BAD_INPUT);
    nest_errors_init(&f->errors, &f->arena);
    const char *const broken[] = {"edges=2.5"};
    scenario_of(f, "fat-tree", 1, broken, NEST_BAD_INPUT);
    assert_non_null(strstr(f->errors.item[0].message, "not a whole number"));
    nest_errors_init(&f->errors, &f->arena);

    struct nest_scenario_spec s = scenario_of(f, "dragonfly", 0, NULL, NEST_OK);
    const struct nest_mark mark = {0};
    assert_int_equal(nest_set(&s, "groups", "40", mark, &f->arena, &f->errors), NEST_BAD_INPUT);
    assert_string_equal(f->errors.item[0].message,
                        "40 groups need more than the 32 global links of a group");
    assert_string_equal(nest_get(&s, "cluster.groups", &f->arena), "9");
    assert_int_equal(s.cluster.level[3].fanout, 9);
}

static void test_same_seed_same_failures(void **state)
{
    struct fixture *f = *state;
    const char *const one[] = {"seed=7"}, *const other[] = {"seed=8"}, *const none[] = {"seed=0"};
    const struct nest_scenario_spec a = scenario_of(f, "failures", 1, one, NEST_OK);
    const struct nest_scenario_spec b = scenario_of(f, "failures", 1, one, NEST_OK);
    const struct nest_scenario_spec c = scenario_of(f, "failures", 1, other, NEST_OK);
    const struct nest_scenario_spec d = scenario_of(f, "failures", 1, none, NEST_OK);
    assert_int_equal(a.cluster.level[0].groups, b.cluster.level[0].groups);
    assert_memory_equal(a.cluster.level[0].group, b.cluster.level[0].group,
                        (size_t)a.cluster.level[0].groups * sizeof(struct nest_group_run));
    assert_true(a.cluster.level[0].groups != c.cluster.level[0].groups ||
                memcmp(a.cluster.level[0].group, c.cluster.level[0].group,
                       (size_t)a.cluster.level[0].groups * sizeof(struct nest_group_run)) != 0);
    assert_int_equal(build(f, &d.cluster).devices, 1024);
    assert_true(build(f, &d.cluster).uniform);
}

static void assert_fault(struct fixture *f, const char *text, int line, const char *message)
{
    struct nest_cluster_spec spec = {0};
    nest_errors_init(&f->errors, &f->arena);
    write_script(f, text);
    assert_int_equal(nest_load_cluster(&f->library, f->path, &f->arena, &spec, &f->errors),
                     NEST_BAD_INPUT);
    assert_true(f->errors.count >= 1);
    if (!strstr(f->errors.item[0].message, message) || f->errors.item[0].mark.line != line) {
        print_error("expected %d: %s\n", line, message);
        print_faults(&f->errors);
        fail();
    }
    assert_string_equal(f->errors.item[0].mark.file, f->path);
}

static void test_faults_show_the_line(void **state)
{
    struct fixture *f = *state;
    assert_fault(f, "return 5\n", 0, "this topology returns no cluster");
    assert_fault(f, "\nreturn cluster {device = 'h100-sxm', level {name = 'x'}}\n", 2,
                 "an innermost group needs fanout");
    assert_fault(f,
                 "local n = node {fanout = 8, bandwidth = '450GB/s', latency = '1us'}\n"
                 "local m = node {fanout = 8, bandwidth = '900GB/s', latency = '1us'}\n"
                 "return cluster {device = 'h100-sxm',\n"
                 " level {name = 'x', bandwidth = 1e9, latency = 0, n, m}}\n",
                 2, "bandwidth of this group differs from the others of level node");
    assert_fault(f,
                 "local n = node {fanout = 8, bandwidth = '450GB/s', latency = '1us'}\n"
                 "local r = level {name = 'r', bandwidth = 1e9, latency = 0, n}\n"
                 "return cluster {device = 'h100-sxm',\n"
                 " level {name = 'x', bandwidth = 1e9, latency = 0, n, r}}\n",
                 4, "the groups inside this one have 1 and 2 levels");
    assert_fault(f,
                 "return cluster {device = 'h100-sxm',\n"
                 " node {fanout = 8, bandwidth = '450GBs', latency = '1us'}}\n",
                 2, "450GBs");
    assert_fault(f,
                 "return cluster {device = 'h100-sxm',\n"
                 " node {fanout = 8, bandwith = '450GB/s', latency = '1us'}}\n",
                 2, "bandwith");
    assert_fault(f,
                 "return cluster {device = 'h1000',\n"
                 " node {fanout = 8, bandwidth = '450GB/s', latency = '1us'}}\n",
                 1, "there is no device 'h1000'");
    assert_fault(f, "while true do end\n", 1, "the script ran longer than its");
    assert_fault(f,
                 "local g = node {fanout = 8, bandwidth = 1, latency = 0}\n"
                 "for i = 1, 20 do g = level {name = 'l' .. i, g:times(2)} end\n"
                 "return cluster {g}\n",
                 2, "at most 12 levels");
    assert_fault(f, "local g = level {name = 'a'}\ng[1] = g\nreturn cluster {g}\n", 1,
                 "at most 12 levels");
    assert_fault(f, "param('x', 1, 2, 3)\n", 1, "the knob 'x' is 1.0, outside of 2.0 to 3.0");
    assert_fault(f, "param('x', 1, 0, 3)\nparam('x', 1, 0, 3)\n", 2, "declared twice");
}

/* What is lost is said of the levels as they are called. */
static void test_notes_use_the_names_of_levels(void **state)
{
    struct fixture *f = *state;
    const struct nest_cluster_spec planes = load(f, "twin-planes");
    assert_int_equal(planes.notes, 1);
    assert_non_null(strstr(planes.note[0], "below fabric, "));
#define PLANES                                                                                     \
    "local g = graph(%s)\n"                                                                        \
    "local a, b = g:device('a', 4), g:device('b', 4)\n"                                            \
    "g:link(a, g:switch('x'), {bandwidth = '450GB/s', latency = '1us'})\n"                         \
    "g:link(b, g:switch('y'), {bandwidth = '450GB/s', latency = '1us'})\n"                         \
    "for p = 1, 2 do\n"                                                                            \
    "  local s = g:switch('s' .. p)\n"                                                             \
    "  g:link(a, s, {bandwidth = '25GB/s', latency = '2us'})\n"                                    \
    "  g:link(b, s, {bandwidth = '25GB/s', latency = '2us'})\n"                                    \
    "end\n"                                                                                        \
    "return cluster {name = 'x', device = 'h100-sxm', graph = g}\n"
    static const char *const names[][2] = {{"{names = {'box', 'hall'}}", "below hall, "},
                                           {"", "below level1, "}};
    for (int i = 0; i < 2; i++) {
        write_script(f, nest_arena_printf(&f->arena, PLANES, names[i][0]));
        const struct nest_cluster_spec spec = load(f, f->path);
        assert_int_equal(spec.notes, 1);
        assert_non_null(strstr(spec.note[0], names[i][1]));
    }
}

/* Groups of other devices, or with slower links outwards, as the file's own words have them. */
static void test_groups_have_devices_of_their_own(void **state)
{
    struct fixture *f = *state;
    static const char levels[] =
        "return cluster {name = 'Mixed', device = 'h100-sxm', levels = {\n"
        "  {name = 'node', bandwidth = '450GB/s', latency = '1us', groups = {\n"
        "    {fanout = 8, times = 2}, {fanout = 8, uplink = '100Gb/s'},\n"
        "    {fanout = 4, device = 'a100-sxm-80gb', times = 2}, {fanout = 8, times = 3}}},\n"
        "  {name = 'rack', fanout = 4, bandwidth = '50GB/s', latency = '4us'},\n"
        "  {name = 'hall', fanout = 2, bandwidth = '50GB/s', latency = '6us'}}}\n";
    static const char builder[] =
        "local function box(own)\n"
        "  own.fanout = own.fanout or 8\n"
        "  own.bandwidth, own.latency = '450GB/s', '1us'\n"
        "  return node(own)\n"
        "end\n"
        "local function rack(groups)\n"
        "  groups.name, groups.bandwidth, groups.latency = 'rack', '50GB/s', '4us'\n"
        "  return level(groups)\n"
        "end\n"
        "local old = box {fanout = 4, device = 'a100-sxm-80gb'}\n"
        "return cluster {name = 'Mixed', device = 'h100-sxm',\n"
        "  level {name = 'hall', bandwidth = '50GB/s', latency = '6us',\n"
        "    rack {box {}:times(2), box {uplink = '100Gb/s'}, old},\n"
        "    rack {old, box {}:times(3)}}}\n";
    write_script(f, levels);
    const struct nest_cluster_spec plain = load(f, f->path);
    write_script(f, builder);
    const struct nest_cluster_spec built = load(f, f->path);
    assert_same_levels(&built, &plain);
    assert_int_equal(built.level[0].groups, 4);
    for (int i = 0; i < 4; i++) {
        const struct nest_group_run *a = &built.level[0].group[i], *b = &plain.level[0].group[i];
        assert_int_equal(a->fanout, b->fanout);
        assert_int_equal(a->times, b->times);
        assert_memory_equal(&a->uplink, &b->uplink, sizeof a->uplink);
        assert_int_equal(a->device != NULL, b->device != NULL);
        assert_true(!a->device || strcmp(a->device->id, b->device->id) == 0);
    }
    assert_fault(f,
                 "local n = node {fanout = 8, device = {}, bandwidth = 1e9, latency = 0}\n"
                 "return cluster {name = 'x', device = 'h100-sxm', n}\n",
                 1, "device of a group is text");
    assert_fault(f,
                 "local t = torus {shape = '2x2', device = 'h100-sxm', bandwidth = 1e9,\n"
                 "  latency = 0}\n"
                 "return cluster {name = 'x', device = 'h100-sxm', t}\n",
                 1, "devices of one kind");
}

static void test_faults_of_graphs_show_the_line(void **state)
{
    struct fixture *f = *state;
#define GRAPH "local g = graph()\nlocal a = g:device('a', 2)\n"
#define END   "return cluster {name = 'x', device = 'h100-sxm', graph = g}\n"
    assert_fault(f, GRAPH "g:link(a, 'nowhere', {bandwidth = 1e9, latency = 0})\n" END, 3,
                 "there is no 'nowhere'");
    assert_fault(f, GRAPH "g:link(a, g:switch('s'), {bandwith = 1e9, latency = 0})\n" END, 3,
                 "bandwith");
    assert_fault(f, GRAPH "g:link(a, g:switch('s', 3), {pairwise = true})\n" END, 3,
                 "as many nodes on both sides");
    assert_fault(f, GRAPH "g:link(a[1], g:switch('s'), {bandwidth = 1e9, latency = 0})\n" END, 1,
                 "no links lead from");
    assert_fault(f, GRAPH "g.link({}, a, a, {})\n", 3, "belongs to a graph");
}

static void test_check_accepts_scripts(void **state)
{
    struct fixture *f = *state;
    enum nest_file_kind kind = NEST_FILE_PLAN;
    const char *path = nest_arena_printf(&f->arena, "%s/topologies/dragonfly.lua", f->library.root);
    assert_int_equal(nest_check_file(&f->library, path, &f->arena, &kind, &f->errors), NEST_OK);
    assert_int_equal(kind, NEST_FILE_CLUSTER);
}

static void test_a_large_cluster_builds(void **state)
{
    struct fixture *f = *state;
    write_script(f, "math.randomseed(3)\n"
                    "local n8 = node {fanout = 8, bandwidth = '450GB/s', latency = '1us'}\n"
                    "local racks = {}\n"
                    "for r = 1, 4096 do\n"
                    "  local rack = {name = 'rack', bandwidth = '50GB/s', latency = '4us'}\n"
                    "  for i = 1, 4 do rack[i] = n8 end\n"
                    "  racks[r] = level(rack)\n"
                    "end\n"
                    "racks.name = 'spine' racks.bandwidth = '50GB/s' racks.latency = '6us'\n"
                    "return cluster {device = 'h100-sxm', level(racks)}\n");
    const struct nest_cluster_spec spec = load(f, f->path);
    const struct nest_cluster cluster = build(f, &spec);
    assert_int_equal(cluster.devices, 131072);
    assert_true(cluster.uniform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shipped_scripts_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lua_equals_yaml, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_groups_have_devices_of_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_graph_is_that_of_yaml, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_notes_use_the_names_of_levels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_faults_of_graphs_show_the_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_knobs_are_settable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_knobs_out_of_range_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_seed_same_failures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_faults_show_the_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_check_accepts_scripts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_large_cluster_builds, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
