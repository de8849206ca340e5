#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/importing.h"

/* Every row of the reference table of topology files: devices, levels, fan-outs, bandwidths and
 * kinds as stated. Files that know hosts only are read with one device per host. */

enum { CELLS = 7 };

struct row {
    const char *path, *format, *devices, *nodes, *fanouts, *bandwidths, *kind;
};

static const char *importer_of(const char *format)
{
    static const struct {
        const char *format, *from;
    } map[] = {{"slurm-tree", "slurm"},
               {"slurm-block", "slurm"},
               {"slurm-yaml", "slurm"},
               {"nvidia-smi-topo", "nvidia-smi"},
               {"astra-sim", "astra-sim"},
               {"astra-sim-logical", "astra-sim"},
               {"htsim", "astra-sim"},
               {"nccl-topo-xml", "nccl"},
               {"ibnetdiscover", "ibnetdiscover"},
               {"k8s-nodes", "k8s"},
               {"aws-instance-topology", "aws"},
               {"hwloc-xml", "hwloc"},
               {"simai", "simai"},
               {"netbox-cables-csv", "csv"},
               {"levels-csv", "csv"},
               {"topograph-model", "topograph"},
               {"nest-args", "nest-args"},
               {"calculon-system", "calculon"}};
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++) {
        if (strcmp(map[i].format, format) == 0) {
            return map[i].from;
        }
    }
    return NULL;
}

/* Rows whose interpretation is more than one list of numbers have their own tests below. */
static bool is_special(const struct row *row)
{
    static const char *const special[] = {
        "disconnected.conf", "irregular.conf", "kueue_topology.yaml", "slices.tsv",
        "netbox_interfaces", "a100_80g.json",  "tree_block_flat",     "torus3d.yaml"};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (strstr(row->path, special[i])) {
            return true;
        }
    }
    return false;
}

static const char *spell_fanouts(struct importing *in, const struct nest_cluster_spec *cluster)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(4096);
    for (int l = 0; l < cluster->levels; l++) {
        nest_strbuf_printf(&text, "%s%lld", l ? "," : "", (long long)cluster->level[l].fanout);
    }
    const char *copy = nest_arena_strdup(&in->arena, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    return copy;
}

/* The list of a cell, "8 (two quads of 4)" without its remark. */
static const char *plain(struct importing *in, const char *cell)
{
    return nest_arena_strndup(&in->arena, cell, strcspn(cell, " "));
}

static bool bandwidths_fit(const struct row *row, const struct nest_cluster_spec *cluster)
{
    const char *at = row->bandwidths;
    /* The artifact of NEST counts in 1024^3 bytes. */
    const double unit = strcmp(row->format, "nest-args") == 0 ? 0x1p30 : 1e9;
    for (int l = 0; l < cluster->levels && *at; l++) {
        char *end;
        const double expected = strtod(at, &end);
        if (end == at) {
            return true; /* null: not in the file */
        }
        const struct nest_level_spec *level = &cluster->level[l];
        const double found = level->bandwidth / level->oversubscription / unit;
        if (fabs(found - expected) > 1e-6 * expected) {
            return false;
        }
        at = *end == ',' ? end + 1 : "";
    }
    return true;
}

static bool kinds_fit(const struct row *row, const struct nest_cluster_spec *cluster)
{
    static const char *const word[] = {"switch",          "ring", "torus", "mesh",
                                       "fully-connected", "rail"};
    const char *at = row->kind;
    for (int l = 0; l < cluster->levels && strcmp(row->kind, "null") != 0; l++) {
        const size_t n = strcspn(at, ", ");
        const char *found = word[cluster->level[l].kind];
        if (strlen(found) != n || strncmp(found, at, n) != 0) {
            return false;
        }
        at += at[n] == ',' ? n + 1 : 0;
    }
    return true;
}

static bool check_row(struct importing *in, const struct row *row)
{
    struct nest_cluster_spec cluster;
    const char *path = nest_arena_printf(&in->arena, "topology_files/%s", row->path);
    in->options.gpus_per_node = strcmp(row->devices, "null") == 0 ? 1 : 0;
    importing_files(in, importer_of(row->format), importing_shared(in, path), NULL);
    importing_cluster(in, &cluster);
    const char *fanouts = spell_fanouts(in, &cluster);
    const bool good = strcmp(fanouts, plain(in, row->fanouts)) == 0 &&
                      bandwidths_fit(row, &cluster) && kinds_fit(row, &cluster);
    if (!good) {
        print_error("%s: found %s, expected %s, %s GB/s, %s\n%s", row->path, fanouts, row->fanouts,
                    row->bandwidths, row->kind, in->yaml);
    }
    return good;
}

static void reference_topologies_have_the_stated_levels(void **state)
{
    (void)state;
    struct importing in;
    importing_begin(&in);
    const char *table = importing_shared(&in, "topology_files/expected.tsv");
    if (!table) {
        importing_end(&in);
        skip();
    }
    size_t length;
    char *text = importing_read(&in, table, &length);
    char *outer = NULL;
    int rows = 0, wrong = 0;
    strtok_r(text, "\n", &outer);
    for (char *line = strtok_r(NULL, "\n", &outer); line; line = strtok_r(NULL, "\n", &outer)) {
        const char *cell[CELLS];
        char *inner = NULL;
        cell[0] = strtok_r(line, "\t", &inner);
        for (int i = 1; i < CELLS; i++) {
            cell[i] = strtok_r(NULL, "\t", &inner);
        }
        const struct row row = {cell[0], cell[1], cell[2], cell[3], cell[4], cell[5], cell[6]};
        if (is_special(&row)) {
            continue;
        }
        wrong += !check_row(&in, &row);
        rows++;
    }
    assert_int_equal(wrong, 0);
    assert_true(rows >= 35);
    importing_end(&in);
}

/* ---- Rows of more than one list of numbers ----------------------------------------------------
 */

static void import_shared(struct importing *in, const char *format, const char *path,
                          const char *root)
{
    in->options.gpus_per_node = 1;
    in->options.root = root;
    importing_files(in, format,
                    importing_shared(in, nest_arena_printf(&in->arena, "topology_files/%s", path)),
                    NULL);
}

static void expect(struct importing *in, const char *format, const char *path, const char *root,
                   const char *fanouts)
{
    struct nest_cluster_spec cluster;
    import_shared(in, format, path, root);
    importing_cluster(in, &cluster);
    assert_string_equal(spell_fanouts(in, &cluster), fanouts);
}

static void separate_fabrics_need_a_choice(void **state)
{
    (void)state;
    struct importing in;
    importing_begin(&in);
    if (!importing_shared(&in, "topology_files/expected.tsv")) {
        importing_end(&in);
        skip();
    }
    import_shared(&in, "slurm", "slurm_conf/disconnected.conf", NULL);
    assert_int_equal(in.status, NEST_BAD_INPUT);
    const char *said = importing_faults(&in);
    assert_non_null(strstr(said, "3 separate fabrics"));
    assert_non_null(strstr(said, "hallA (16 hosts), hallB (16 hosts), leafC (8 hosts)"));
    expect(&in, "slurm", "slurm_conf/disconnected.conf", "hallB", "8,2");
    expect(&in, "slurm", "slurm_conf/disconnected.conf", "leafC", "8");
    expect(&in, "slurm", "slurm_yaml/tree_block_flat.yaml", NULL, "16,4");
    expect(&in, "slurm", "slurm_yaml/tree_block_flat.yaml", "racks", "16,2,2");
    expect(&in, "slurm", "slurm_yaml/tree_block_flat.yaml", "plain", "64");
    expect(&in, "slurm", "slurm_yaml/torus3d.yaml", NULL, "4,4,2");
    importing_end(&in);
}

static void an_irregular_tree_stays_irregular(void **state)
{
    (void)state;
    struct importing in;
    struct nest_cluster_spec cluster;
    importing_begin(&in);
    if (!importing_shared(&in, "topology_files/expected.tsv")) {
        importing_end(&in);
        skip();
    }
    import_shared(&in, "slurm", "slurm_conf/irregular.conf", NULL);
    importing_cluster(&in, &cluster);
    assert_non_null(strstr(in.yaml, "groups of unequal size"));
    assert_non_null(strstr(in.yaml, "branches of unequal depth"));
    int64_t hosts = 0;
    for (int i = 0; i < cluster.level[0].groups; i++) {
        hosts += cluster.level[0].group[i].fanout * cluster.level[0].group[i].times;
    }
    assert_int_equal(hosts, 114);
    importing_end(&in);
}

/* Every slice of the table, alone as text: its sides, and whether they wrap around. */
static void tpu_slices_have_their_shape(void **state)
{
    (void)state;
    struct importing in;
    size_t length;
    importing_begin(&in);
    const char *path = importing_shared(&in, "topology_files/tpu/slices.tsv");
    if (!path) {
        importing_end(&in);
        skip();
    }
    char *outer = NULL;
    strtok_r(importing_read(&in, path, &length), "\n", &outer);
    for (char *line = strtok_r(NULL, "\n", &outer); line; line = strtok_r(NULL, "\n", &outer)) {
        const char *cell[6];
        char *inner = NULL;
        struct nest_cluster_spec cluster;
        cell[0] = strtok_r(line, "\t", &inner);
        for (int i = 1; i < 6; i++) {
            cell[i] = strtok_r(NULL, "\t", &inner);
        }
        const char *text = nest_arena_printf(&in.arena, "%s\t%s", cell[0], cell[1]);
        importing_text(&in, "tpu", "slice", text, strlen(text));
        importing_cluster(&in, &cluster);
        const bool torus = strcmp(cell[5], "torus") == 0;
        /* The order of sides is free: an accelerator type does not say which is which. */
        int64_t chips = 1;
        for (int l = 0; l < cluster.levels; l++) {
            chips *= cluster.level[l].fanout;
            assert_int_equal(cluster.level[l].kind, torus ? NEST_LEVEL_RING : NEST_LEVEL_MESH);
        }
        assert_int_equal(chips, atoll(cell[2]));
        if (cell[0][0] != 'v') {
            assert_string_equal(spell_fanouts(&in, &cluster), cell[3]);
        }
    }
    importing_end(&in);
}

static void netbox_interfaces_give_the_speeds(void **state)
{
    (void)state;
    struct importing in;
    struct nest_cluster_spec cluster;
    importing_begin(&in);
    const char *cables = importing_shared(&in, "topology_files/csv/netbox_cables.csv");
    if (!cables) {
        importing_end(&in);
        skip();
    }
    in.options.gpus_per_node = 1;
    const char *interfaces = importing_shared(&in, "topology_files/csv/netbox_interfaces.csv");
    /* In either order, and the interfaces alone, whose ports fit one even fabric only. */
    for (int order = 0; order < 3; order++) {
        importing_files(&in, "csv", order ? interfaces : cables,
                        order == 0   ? interfaces
                        : order == 1 ? cables
                                     : NULL);
        importing_cluster(&in, &cluster);
        assert_string_equal(spell_fanouts(&in, &cluster), "4,4");
        assert_true(cluster.level[0].bandwidth == 50e9 && cluster.level[1].bandwidth == 50e9);
        assert_true(cluster.level[1].oversubscription == 1);
    }
    importing_end(&in);
}

static void calculon_sizes_are_spans(void **state)
{
    (void)state;
    struct importing in;
    importing_begin(&in);
    if (!importing_shared(&in, "topology_files/calculon/a100_80g.json")) {
        importing_end(&in);
        skip();
    }
    expect(&in, "calculon", "calculon/a100_80g.json", NULL, "8,8192");
    importing_end(&in);
}

/* The ten solver inputs of the reference become scenarios that our loader takes. */
static void reference_solver_inputs_load(void **state)
{
    (void)state;
    static const char *const names[] = {"bert-large", "llama2-7b", "llama3-70b", "gpt3-175b",
                                        "mixtral-8x7b"};
    static const int64_t blocks[] = {24, 32, 80, 96, 32};
    static const char *const setups[] = {"h100_spineLeaf", "tpuv4_fatTree"};
    struct importing in;
    importing_begin(&in);
    for (int i = 0; i < 10; i++) {
        struct nest_scenario_spec scenario;
        const char *path =
            importing_shared(&in, nest_arena_printf(&in.arena, "nest/inputs/%s_%s.json",
                                                    names[i / 2], setups[i % 2]));
        if (!path) {
            importing_end(&in);
            skip();
        }
        importing_files(&in, "nest", path, NULL);
        importing_scenario(&in, &scenario);
        assert_int_equal(scenario.model.profile_layers, 2);
        assert_int_equal(scenario.model.profile[1].times, blocks[i / 2]);
        assert_int_equal(scenario.train.global_batch, 4096);
        assert_int_equal(scenario.cluster.levels, 3);
    }
    importing_end(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_topologies_have_the_stated_levels),
        cmocka_unit_test(separate_fabrics_need_a_choice),
        cmocka_unit_test(an_irregular_tree_stays_irregular),
        cmocka_unit_test(tpu_slices_have_their_shape),
        cmocka_unit_test(netbox_interfaces_give_the_speeds),
        cmocka_unit_test(calculon_sizes_are_spans),
        cmocka_unit_test(reference_solver_inputs_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
