#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/importing.h"

/* Every importer on seeded mutations of its example: whatever comes, it ends, keeps inside its
 * memory (under sanitizers), and gives YAML that our loaders take, or a fault. NEST_FUZZ_ROUNDS and
 * NEST_FUZZ_SEED change the run. */

static const struct {
    const char *format, *file;
} seeds[] = {{"slurm", "tree.conf"},
             {"slurm", "blocks.conf"},
             {"slurm", "topology.yaml"},
             {"nvidia-smi", "matrix.txt"},
             {"astra-sim", "astra.yml"},
             {"astra-sim", "htsim.topo"},
             {"astra-sim", "astra.json"},
             {"nest", "solver.json"},
             {"nest-args", "args.txt"},
             {"csv", "levels.csv"},
             {"csv", "cables.csv"},
             {"ibnetdiscover", "ib.txt"},
             {"ibnetdiscover", "ib_ports.txt"},
             {"k8s", "nodes.yaml"},
             {"aws", "aws.json"},
             {"topograph", "topograph.yaml"},
             {"calculon", "calculon.json"},
             {"nccl", "nccl.xml"},
             {"hwloc", "hwloc.xml"},
             {"simai", "simai.txt"},
             {"tpu", "slice.txt"},
             {"hf", "config.json"}};

static uint64_t state_of_random;

static uint64_t draw(uint64_t below)
{
    state_of_random += 0x9e3779b97f4a7c15u;
    uint64_t z = state_of_random;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

/* One change: a byte, a deletion, a repetition, a number made huge, or the end cut off. */
static size_t mutate(char *text, size_t length, size_t room)
{
    static const char *const pieces[] = {"9999999999999999999",
                                         "-1",
                                         "0",
                                         "[",
                                         "]",
                                         "{",
                                         "\"",
                                         "<",
                                         ",,",
                                         "\n",
                                         "nan",
                                         "1e308",
                                         "x",
                                         ":",
                                         "\t",
                                         "\xff",
                                         "[1-9]"};
    const size_t at = length ? (size_t)draw(length) : 0;
    const size_t span = 1 + (size_t)draw(8);
    switch (draw(5)) {
    case 0:
        if (length > 0) {
            text[at] = (char)(1 + draw(255));
        }
        return length;
    case 1: {
        const size_t cut = span < length - at ? span : length - at;
        memmove(text + at, text + at + cut, length - at - cut);
        return length - cut;
    }
    case 2: {
        const size_t copy = span * 4 < length - at ? span * 4 : length - at;
        if (length + copy < room) {
            memmove(text + at + copy, text + at, length - at);
            return length + copy;
        }
        return length;
    }
    case 3: {
        const char *piece = pieces[draw(sizeof pieces / sizeof pieces[0])];
        const size_t n = strlen(piece);
        if (length + n < room) {
            memmove(text + at + n, text + at, length - at);
            memcpy(text + at, piece, n);
            return length + n;
        }
        return length;
    }
    default:
        return draw(6) == 0 ? at : length;
    }
}

static void try_one(struct importing *in, const char *format, const char *text, size_t length)
{
    importing_text(in, format, "fuzz", text, length);
    if (in->status == NEST_OK && strcmp(format, "hf") == 0) {
        struct nest_model_spec model;
        importing_model(in, &model);
    } else if (in->status == NEST_OK && strcmp(format, "nest") == 0) {
        struct nest_scenario_spec scenario;
        importing_scenario(in, &scenario);
    } else if (in->status == NEST_OK) {
        struct nest_cluster_spec cluster;
        importing_cluster(in, &cluster);
    } else {
        assert_true(in->errors.count > 0);
    }
}

static long setting(const char *name, long fallback)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : fallback;
}

static void mutated_inputs_end_well(void **state)
{
    (void)state;
    const long rounds = setting("NEST_FUZZ_ROUNDS", 150);
    const long seed = setting("NEST_FUZZ_SEED", 20260401);
    print_message("seed %ld\n", seed);
    state_of_random = (uint64_t)seed;
    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
        for (long round = 0; round < rounds; round++) {
            struct importing in;
            size_t length;
            importing_begin(&in);
            const char *text = importing_read(&in, importing_example(&in, seeds[s].file), &length);
            assert_non_null(text);
            const size_t room = length * 2 + 1024;
            char *copy = nest_arena_alloc(&in.arena, room, 1);
            memcpy(copy, text, length);
            for (uint64_t i = 0, n = 1 + draw(6); i < n; i++) {
                length = mutate(copy, length, room);
            }
            try_one(&in, seeds[s].format, copy, length);
            importing_end(&in);
        }
    }
}

/* Any format on any other's file. */
static void foreign_files_are_refused_or_read(void **state)
{
    (void)state;
    for (size_t a = 0; a < sizeof seeds / sizeof seeds[0]; a++) {
        for (size_t b = 0; b < sizeof seeds / sizeof seeds[0]; b++) {
            struct importing in;
            size_t length;
            importing_begin(&in);
            const char *text = importing_read(&in, importing_example(&in, seeds[b].file), &length);
            try_one(&in, seeds[a].format, text, length);
            importing_end(&in);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutated_inputs_end_well),
        cmocka_unit_test(foreign_files_are_refused_or_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
