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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_topologies_have_the_stated_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
