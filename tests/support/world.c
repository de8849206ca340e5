#include "tests/support/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_MAX = 2048 };

const char *cluster_of(const char *name, const char *device, int per_node, int nodes)
{
    const bool ampere = strncmp(device, "a100", 4) == 0;
    char text[TEXT_MAX];
    int used = snprintf(text, sizeof text,
                        "name: %s\ndevice: %s\nlevels:\n"
                        "  - {name: node, fanout: %d, bandwidth: %s, latency: 1us}\n",
                        name, device, per_node, ampere ? "300GB/s" : "450GB/s");
    if (nodes > 1) {
        (void)snprintf(text + used, sizeof text - (size_t)used,
                       "  - {name: fabric, fanout: %d, bandwidth: %s, latency: 5us}\n", nodes,
                       ampere ? "200Gb/s" : "400Gb/s");
    }
    char file[128];
    (void)snprintf(file, sizeof file, "%s-%dx%d.yaml", device, per_node, nodes);
    return command_file(file, text);
}

static const char *nodes_of_eight(const char *device, int devices)
{
    return devices <= 8 ? cluster_of("one node", device, devices, 1)
                        : cluster_of("nodes of eight", device, 8, devices / 8);
}

const char *h100(int devices)
{
    return nodes_of_eight("h100-sxm", devices);
}

const char *a100(int devices)
{
    return nodes_of_eight("a100-80", devices);
}

const char *llama_shape(int layers, int heads, int kv_heads)
{
    char text[TEXT_MAX];
    char file[128];
    (void)snprintf(text, sizeof text,
                   "name: Llama shape\nlayers: %d\nhidden: %d\nffn: %d\nheads: %d\nkv_heads: %d\n"
                   "vocab: 128256\nseq: 8192\nmlp: swiglu\n",
                   layers, heads * 128, heads * 448, heads, kv_heads);
    (void)snprintf(file, sizeof file, "llama-%d-%d-%d.yaml", layers, heads, kv_heads);
    return command_file(file, text);
}

const char *equal_layers(int layers)
{
    char text[TEXT_MAX];
    char file[128];
    (void)snprintf(text, sizeof text,
                   "name: Equal layers\nlayers: %d\nhidden: 4096\nffn: 16384\nheads: 32\n"
                   "vocab: 1024\nseq: 2048\nmlp: gelu\n",
                   layers);
    (void)snprintf(file, sizeof file, "equal-%d.yaml", layers);
    return command_file(file, text);
}

const char *mixture(int layers, int experts, int top_k)
{
    char text[TEXT_MAX];
    char file[128];
    (void)snprintf(text, sizeof text,
                   "name: Mixture\nlayers: %d\nhidden: 2048\nffn: 4096\nheads: 16\nkv_heads: 8\n"
                   "vocab: 32000\nseq: 4096\nmlp: swiglu\nexperts: %d\ntop_k: %d\nmoe_ffn: 1024\n",
                   layers, experts, top_k);
    (void)snprintf(file, sizeof file, "mixture-%d-%d-%d.yaml", layers, experts, top_k);
    return command_file(file, text);
}

static struct command_result run(const char *command, const char *model, const char *cluster,
                                 const char *pins, const char *more)
{
    char line[TEXT_MAX];
    (void)snprintf(line, sizeof line, "%s --model %s --cluster %s --pin %s %s", command, model,
                   cluster, pins, more);
    return command_run(line);
}

struct command_result eval_run(const char *model, const char *cluster, const char *pins,
                               const char *more)
{
    return run("eval --json", model, cluster, pins, more);
}

struct json_object *eval_feasible(const char *model, const char *cluster, const char *pins,
                                  const char *more)
{
    struct command_result result = eval_run(model, cluster, pins, more);
    if (result.status != 0) {
        fail_msg("eval of %s: status %d\n%s", pins, result.status, result.err);
    }
    struct json_object *root = command_json(&result);
    assert_true(json_object_get_boolean(json_at(root, "feasible")));
    command_free(&result);
    return root;
}

struct command_result export_to(const char *target, const char *model, const char *cluster,
                                const char *pins, const char *more)
{
    char command[64];
    (void)snprintf(command, sizeof command, "export --to %s", target);
    return run(command, model, cluster, pins, more);
}
