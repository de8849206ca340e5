#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "support/importing.h"

/* Our own small example of every format, with its right answer; and broken inputs with the message
 * that each must give. */

static bool numbers_fit(const struct nest_cluster_spec *cluster, const char *fanouts,
                        const char *rates)
{
    for (int l = 0; l < cluster->levels; l++) {
        char *end;
        const struct nest_level_spec *level = &cluster->level[l];
        if (strtoll(fanouts, &end, 10) != level->fanout) {
            return false;
        }
        fanouts = *end == ',' ? end + 1 : end;
        if (*rates == '-') {
            continue;
        }
        const double expected = strtod(rates, &end) * 1e9;
        const double found = level->bandwidth / level->oversubscription;
        if (fabs(found - expected) > 1e-9 * expected) {
            return false;
        }
        rates = *end == ',' ? end + 1 : end;
    }
    return *fanouts == 0;
}

static void examples_have_their_levels(void **state)
{
    (void)state;
    struct importing in;
    size_t length;
    int rows = 0;
    importing_begin(&in);
    char *table = importing_read(&in, importing_example(&in, "expected.tsv"), &length);
    assert_non_null(table);
    char *outer = NULL;
    strtok_r(table, "\n", &outer);
    for (char *line = strtok_r(NULL, "\n", &outer); line; line = strtok_r(NULL, "\n", &outer)) {
        char file[64], format[64], fanouts[64], rates[64];
        int gpus;
        struct nest_cluster_spec cluster;
        assert_int_equal(
            sscanf(line, "%63s %63s %d %63s %63s", file, format, &gpus, fanouts, rates), 5);
        in.options.gpus_per_node = gpus;
        importing_files(&in, format, importing_example(&in, file), NULL);
        importing_cluster(&in, &cluster);
        if (!numbers_fit(&cluster, fanouts, rates)) {
            fail_msg("%s: expected %s and %s\n%s", file, fanouts, rates, in.yaml);
        }
        rows++;
    }
    assert_true(rows >= 20);
    importing_end(&in);
}

static void a_choice_of_topology_is_obeyed(void **state)
{
    (void)state;
    struct importing in;
    struct nest_cluster_spec cluster;
    importing_begin(&in);
    in.options.gpus_per_node = 1;
    in.options.root = "box";
    importing_files(&in, "slurm", importing_example(&in, "topology.yaml"), NULL);
    importing_cluster(&in, &cluster);
    assert_int_equal(cluster.levels, 3);
    assert_int_equal(cluster.level[1].fanout, 3);
    assert_int_equal(cluster.level[0].kind, NEST_LEVEL_RING);
    in.options.root = "l2";
    importing_files(&in, "slurm", importing_example(&in, "tree.conf"), NULL);
    importing_cluster(&in, &cluster);
    assert_int_equal(cluster.levels, 1);
    assert_int_equal(cluster.level[0].fanout, 2);
    importing_end(&in);
}

static void a_node_file_becomes_the_inside_of_hosts(void **state)
{
    (void)state;
    struct importing in;
    struct nest_cluster_spec node, cluster;
    importing_begin(&in);
    assert_int_equal(nest_load_cluster(&in.library, "hgx-h100-8", &in.arena, &node, &in.errors),
                     NEST_OK);
    in.options.node = &node;
    importing_files(&in, "slurm", importing_example(&in, "tree.conf"), NULL);
    importing_cluster(&in, &cluster);
    assert_int_equal(cluster.levels, node.levels + 2);
    assert_int_equal(cluster.level[0].fanout, node.level[0].fanout);
    assert_true(cluster.level[0].bandwidth == node.level[0].bandwidth);
    assert_string_equal(cluster.device->id, "h100-sxm-80gb");
    importing_end(&in);
}

static void slurm_takes_what_is_included_and_the_devices_of_its_nodes(void **state)
{
    (void)state;
    struct importing in;
    struct nest_cluster_spec cluster;
    importing_begin(&in);
    importing_files(&in, "slurm", importing_example(&in, "include.conf"),
                    importing_example(&in, "leaves.conf"));
    importing_cluster(&in, &cluster);
    assert_int_equal(cluster.levels, 3);
    assert_int_equal(cluster.level[1].fanout, 4);
    assert_int_equal(cluster.level[2].fanout, 2);
    importing_files(&in, "slurm", importing_example(&in, "tree.conf"),
                    importing_example(&in, "slurm.conf"));
    importing_cluster(&in, &cluster);
    assert_int_equal(cluster.level[0].fanout, 4);
    assert_string_equal(cluster.device->id, "a100-sxm-80gb");
    in.options.gpus_per_node = 2;
    importing_files(&in, "slurm", importing_example(&in, "tree.conf"),
                    importing_example(&in, "slurm.conf"));
    importing_cluster(&in, &cluster);
    assert_int_equal(cluster.level[0].fanout, 2);
    importing_end(&in);
}

static void kueue_needs_its_nodes(void **state)
{
    (void)state;
    struct importing in;
    struct nest_cluster_spec cluster;
    importing_begin(&in);
    importing_files(&in, "k8s", importing_example(&in, "kueue.yaml"), NULL);
    assert_int_equal(in.status, NEST_BAD_INPUT);
    assert_non_null(strstr(importing_faults(&in), "hostname, rack, block"));
    importing_files(&in, "k8s", importing_example(&in, "kueue.yaml"),
                    importing_example(&in, "nodes.yaml"));
    importing_cluster(&in, &cluster);
    assert_int_equal(cluster.levels, 4);
    importing_end(&in);
}

static void solver_input_becomes_a_scenario(void **state)
{
    (void)state;
    struct importing in;
    struct nest_scenario_spec scenario;
    importing_begin(&in);
    importing_files(&in, "nest", importing_example(&in, "solver.json"), NULL);
    importing_scenario(&in, &scenario);
    const struct nest_model_spec *model = &scenario.model;
    assert_int_equal(model->profile_layers, 2);
    assert_int_equal(model->profile[1].times, 2);
    assert_true(model->profile[1].entry[0].fw == 2e-3);
    assert_true(model->profile[0].entry[0].boundary_bytes == 256);
    assert_true(model->profile_collectives_included);
    assert_int_equal(scenario.train.global_batch, 16);
    assert_true(scenario.device.memory == 8589934592.0);
    assert_int_equal(scenario.cluster.levels, 2);
    assert_true(scenario.cluster.level[1].bandwidth == 25e9);
    in.options.as_written = true;
    importing_files(&in, "nest", importing_example(&in, "solver.json"), NULL);
    importing_scenario(&in, &scenario);
    assert_true(scenario.model.profile[1].entry[0].fw == 2.0);
    importing_end(&in);
}

static void a_configuration_counts_by_hand(void **state)
{
    (void)state;
    struct importing in;
    struct nest_model_spec spec;
    struct nest_model model;
    importing_begin(&in);
    importing_files(&in, "hf", importing_example(&in, "config.json"), NULL);
    importing_model(&in, &spec);
    assert_int_equal(nest_model_expand(&spec, &in.arena, &model, &in.errors), NEST_OK);
    /* 2 tables; per layer 2 norms, q, k, v, o, a router and 4 experts of 3 matrices; last norm. */
    const int64_t layer = 2 * 64 + 64 * (64 + 16 + 16 + 64) + 4 * 64 + 4 * 3 * 64 * 128;
    assert_int_equal(model.params, 2 * 1000 * 64 + 3 * layer + 64);
    importing_end(&in);
}

/* ---- Broken inputs --------------------------------------------------------------------------- */

static const struct {
    const char *format, *text, *message;
} broken[] = {
    {"slurm", "SwitchName=a Nodes=n[3-1]\n",
     "f:1:22: the range 3-1 runs backwards; the smaller number first"},
    {"slurm", "SwitchName=a Nodes=n[1-2\n", "f:1:21: '[' without its ']'; such as node[01-16]"},
    {"slurm", "SwitchName=a Nodes=n1,,n2\n",
     "f:1:23: an empty name in a host list; names separated by single commas"},
    {"slurm", "SwitchName=a Nodes=n[1-9999999]\n", "f:1:20: more than 1048576 names"},
    {"slurm", "SwitchName=a\n",
     "f:1:12: switch 'a' has neither Nodes nor Switches; a switch joins either Nodes or Switches"},
    {"slurm", "SwitchName=a Nodes=n1 Speed=3\n",
     "f:1:23: unknown key 'Speed'; one of SwitchName, Switches, Nodes, LinkSpeed, BlockName, "
     "BlockSizes, RingName"},
    {"slurm", "SwitchName=a Switches=b\n",
     "f:1:1: switch 'b' is a child here but is defined nowhere; add a line for it, with its Nodes "
     "or Switches"},
    {"slurm", "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n",
     "f:2:12: switch 'a' is defined twice"},
    {"slurm", "SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a\n",
     "f:1:1: 'a' is above and below itself"},
    {"slurm", "BlockName=a Nodes=n[1-4]\nBlockSizes=4,12\n",
     "f:2:14: block size 12 does not fit the base size 4; each size is a power of two times the "
     "first"},
    {"slurm", "BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=n[4-6]\n",
     "f:2:19: block 'b' shares hosts with an earlier block; a host belongs to one block"},
    {"slurm", "SwitchName=x Nodes=a\nSwitchName=y Nodes=b\n",
     "f: 2 separate fabrics, and a job cannot span them: x (1 hosts), y (1 hosts); choose one with "
     "--root NAME"},
    {"slurm", "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[4-7]\nSwitchName=s Switches=a,b\n",
     "f:2:1: switches 'a' and 'b' share some hosts but not all; a host is under one leaf, or under "
     "all parallel ones"},
    {"slurm", "RingName=r Nodes=n[1-17]\n", "f: ring 'r' has 17 hosts; at most 16"},
    {"slurm", "# na\xefve\n", "f:1:5: this is not UTF-8 text; save the file as UTF-8"},
    {"slurm", "include more.conf\nSwitchName=a Nodes=n1\n",
     "f:1:9: 'more.conf' is included here, and is not read; give it as a second FILE, or put its "
     "lines in place"},
    {"slurm", "BlockName=a Nodes=n1\nSwitchName=b Nodes=n2\n",
     "f:2:1: a switch beside blocks; a file holds a tree, blocks or rings; leave out the others"},
    {"slurm", "SwitchName=a Nodes=ALL\n",
     "f:1:20: ALL does not say which hosts there are; such as node[01-16]"},
    {"slurm", "", "f: no switches, blocks or rings; SwitchName, BlockName or RingName lines"},
    {"nvidia-smi", "nothing here\n",
     "f: no matrix of GPUs found; the output of nvidia-smi topo -m"},
    {"nvidia-smi", "\tGPU0\tGPU1\nGPU0\tX\tNV2\n", "f:1:1: 2 GPU columns but only 1 GPU rows"},
    {"nvidia-smi", "\tGPU0\tGPU1\nGPU0\tX\tFAR\nGPU1\tFAR\tX\n",
     "f:2:8: 'FAR' is no connection; X, NVn, PIX, PXB, PHB, NODE or SYS"},
    {"nvidia-smi", "\tGPU0\tGPU1\nGPU0\tX\tNV2\nGPU1\tNV1\tX\n",
     "f:1:1: GPU0 and GPU1 disagree on their NVLinks"},
    {"astra-sim", "topology: [Ring]\nnpus_count: [4, 2]\nbandwidth: [1]\nlatency: [1]\n",
     "f:2:13: npus_count: 2 entries, but topology has 1; one entry per dimension in every list"},
    {"astra-sim", "topology: [Star]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [1]\n",
     "f:1:12: topology[0]: unknown topology 'Star'; Ring, Switch or FullyConnected"},
    {"astra-sim", "{\"units-count\": [4, 2], \"topologies-per-dim\": [\"Ring\"]}",
     "f:1:17: units-count: the lists of dimensions do not fit each other; topologies-per-dim and "
     "units-count, equally long"},
    {"astra-sim",
     "{\"units-count\": [4], \"topologies-per-dim\": [\"Ring\"], \"link-bandwidth\": [0], "
     "\"link-latency\": [1]}",
     "f:1:73: link-bandwidth[0]: a link-bandwidth of nothing; 1 or more"},
    {"csv", "Device,Name,Speed\nhost1,a,1\nhost2,a,1\nleaf1,a,1\n",
     "f:1:1: interfaces have speeds but do not say what they are connected to; give the cables as "
     "well: nest import --from csv CABLES INTERFACES"},
    {"hf", "{\"model_type\": \"llama\", \"hidden_size\": -1}", "f:1:40: hidden_size"},
    {"hf", "{\"model_type\": \"mamba\"}",
     "f:1:16: model_type: model type 'mamba' cannot be imported: layers without attention and MLP "
     "cannot be described by a transformer's shape"},
    {"hf", "{\"model_type\": \"novel\"}",
     "f:1:16: model_type: model type 'novel' is not known; describe it in our own keys, see an "
     "example in models/"},
    {"hf", "{\"hidden_size\": 1}",
     "f:1:1: the configuration has no 'model_type'; a config.json as transformers writes it"},
    {"hf", "{\"model_type\": \"llama\",\n \"hidden_size\": }", "f:2:17: not JSON"},
    {"hf", "{\"model_type\": ", "f:1:16: the file ends in the middle of a JSON value"},
    {"nest", "{\"nodes\": {}}", "f:1:11: nodes: not an input of NEST's solver: no 'nodes'"},
    {"nest-args", "--devices_per_level 8 4 --bandwidths_per_level 1\n",
     "f: 2 levels, but 1 bandwidths and 0 latencies; as many as --devices_per_level"},
    {"nest-args", "--devices_per_level 8 x --bandwidths_per_level 1 2\n",
     "f:1:23: 'x' is no value of --devices_per_level; a number"},
    {"tpu", "v4-6\n", "f:1:1: there is no v4 slice of 6 TensorCores"},
    {"tpu", "v9-8\n", "f:1:1: 'v9-8' is no TPU slice; such as 4x4x8, v4-128, v5p-32"},
    {"csv", "name,fan_out\nnode,eight\n", "f:2:6: 'eight' is no fan-out; a whole number from 1"},
    {"csv", "name,fan_out\nnode\n", "f:2:1: 1 cells under 2 columns"},
    {"csv", "name,fan_out,bandwidth\nnode,8,5 furlongs\n", "f:2:8: bandwidth"},
    {"ibnetdiscover", "Switch 1 \"S-a\"\n[1] nothing\n",
     "f:2:1: a port line without the peer's id"},
    {"k8s", "kind: List\nitems:\n- kind: Pod\n",
     "f:3:9: items[0].kind: not a Node object; objects of kind Node"},
    {"aws", "{\"Instances\": [{\"InstanceId\": \"i\"}]}",
     "f:1:16: Instances[0]: an instance without NetworkNodes; the nodes above it, top first"},
    {"topograph", "blocks:\n- nodes: [a, b]\n- nodes: [c]\n",
     "f: 2 separate fabrics, and a job cannot span them: block 1 (2 hosts), block 2 (1 hosts); "
     "choose one with --root NAME"},
    {"topograph", "switches:\n- switches: [a]\nblocks:\n- switch: a\n  nodes: [b]\n",
     "f:2:3: switches[0]: a switch without a name; name: NAME"},
    {"calculon",
     "{\"networks\": [{\"size\": 8, \"bandwidth\": 1}, {\"size\": 12, "
     "\"bandwidth\": 1}]}",
     "f:1:53: networks[1].size: 12 processors do not divide into groups of 8; a multiple of the "
     "network below it"},
    {"nccl", "<system><cpu></system>", "f:1:23: not XML: Opening and ending tag mismatch"},
    {"nccl", "<topology/>", "f:1:1: the root element is <topology>; <system> as NCCL writes it"},
    {"nccl", "<!DOCTYPE s [<!ENTITY a \"b\">]><system>&a;</system>",
     "f: XML entities are not read from topology files"},
    {"hwloc", "<topology/>", "f:1:1: no GPUs found; PCIDev objects of class 03xx"},
    {"simai", "4 2 0 1 1\n3\n0 9 1Gbps 1ms 0\n", "f:1:1: 4 nodes less 1 switches do not make"},
    {"simai", "3 2 0 1 1 H100\n2\n0 9 1Gbps 1ms 0\n", "f:3:3: '9' is no node; 0 to 2"},
    {"cobol", "", "--from: unknown format 'cobol'; one of hf, slurm"},
};

static void broken_inputs_say_what_is_wrong(void **state)
{
    (void)state;
    struct importing in;
    int wrong = 0;
    importing_begin(&in);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        importing_text(&in, broken[i].format, "f", broken[i].text, strlen(broken[i].text));
        const char *said = importing_faults(&in);
        if (in.status != NEST_BAD_INPUT || !strstr(said, broken[i].message)) {
            print_error("%s: %s\n expected: %s\n said:     %s", broken[i].format, broken[i].text,
                        broken[i].message, said);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    importing_end(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_have_their_levels),
        cmocka_unit_test(a_choice_of_topology_is_obeyed),
        cmocka_unit_test(a_node_file_becomes_the_inside_of_hosts),
        cmocka_unit_test(slurm_takes_what_is_included_and_the_devices_of_its_nodes),
        cmocka_unit_test(kueue_needs_its_nodes),
        cmocka_unit_test(solver_input_becomes_a_scenario),
        cmocka_unit_test(a_configuration_counts_by_hand),
        cmocka_unit_test(broken_inputs_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
