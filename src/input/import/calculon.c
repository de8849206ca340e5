/* Calculon systems: memory, compute, and a list of networks that span so many processors each. */
#include <math.h>

#include "input/import/cluster_text.h"

static double number_at(const struct nest_node *node, const char *first, const char *second)
{
    double value = 0;
    const struct nest_node *inner = nest_node_get(nest_node_get(node, first), second);
    return inner && nest_text_number(inner->text, &value) ? value : 0;
}

/* The known device whose 16-bit peak and memory these are; NULL if none. */
static const char *device_of(const struct nest_node *root)
{
    static const struct {
        double tflops, gib;
        const char *id;
    } known[] = {{312, 80, "a100-sxm-80gb"},  {312, 40, "a100-sxm-40gb"},
                 {989, 80, "h100-sxm-80gb"},  {1000, 80, "h100-sxm-80gb"},
                 {990, 80, "h100-sxm-80gb"},  {989, 141, "h200-sxm-141gb"},
                 {125, 32, "v100-sxm2-32gb"}, {275, 32, "tpu-v4"}};
    const struct nest_node *matrix = nest_node_get(root, "matrix");
    const double tflops = number_at(matrix, "float16", "tflops") > 0
                              ? number_at(matrix, "float16", "tflops")
                              : number_at(matrix, "bfloat16", "tflops");
    const double gib = number_at(root, "mem1", "GiB");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (fabs(known[i].tflops - tflops) < 1 && fabs(known[i].gib - gib) < 1) {
            return known[i].id;
        }
    }
    return NULL;
}

static enum nest_status read_network(struct nest_job *job, const struct nest_node *item,
                                     int64_t *below, struct nest_found_cluster *found)
{
    const struct nest_node *size = nest_node_get(item, "size");
    const struct nest_node *rate = nest_node_get(item, "bandwidth");
    const struct nest_node *delay = nest_node_get(item, "latency");
    int64_t span = 0;
    double bandwidth = 0, latency = 0;
    if (!size || !nest_text_int(size->text, &span) || span < 1 || span > (int64_t)1 << 32) {
        return nest_job_fault_at(job, size ? size : item, "processors that the network spans",
                                 "a network without a size");
    }
    if (!rate || !nest_text_number(rate->text, &bandwidth) || bandwidth <= 0 || bandwidth > 1e6) {
        return nest_job_fault_at(job, rate ? rate : item, "GB/s", "a network without a bandwidth");
    }
    if (delay && (!nest_text_number(delay->text, &latency) || latency < 0 || latency > 10)) {
        return nest_job_fault_at(job, delay, "seconds", "no latency");
    }
    if (span % *below != 0) {
        return nest_job_fault_at(job, size, "a multiple of the network below it",
                                 "%lld processors do not divide into groups of %lld",
                                 (long long)span, (long long)*below);
    }
    struct nest_found_level *level = nest_found_level_add(
        found, nest_arena_printf(job->arena, "network%d", found->levels + 1), span / *below);
    if (!level) {
        return nest_job_fault_at(job, item, NULL, "more than %d networks", (int)NEST_MAX_LEVELS);
    }
    level->bandwidth = bandwidth * 1e9;
    level->latency = latency;
    level->oversubscription = 1;
    level->note = nest_arena_printf(job->arena, "spans %lld processors", (long long)span);
    *below = span;
    return NEST_OK;
}

enum nest_status nest_import_calculon(struct nest_job *job)
{
    const struct nest_node *root;
    enum nest_status status = nest_job_document(job, &root);
    if (status != NEST_OK) {
        return status;
    }
    const struct nest_node *list = nest_node_get(root, "networks");
    if (!list || list->kind != NEST_NODE_SEQUENCE || list->count == 0) {
        return nest_job_fault_at(job, list ? list : root, "a Calculon system, with its networks",
                                 "no list 'networks'");
    }
    struct nest_found_cluster found = {.name = "Calculon system", .device = device_of(root)};
    int64_t below = 1;
    for (const struct nest_node *item = list->first; item && status == NEST_OK; item = item->next) {
        status = read_network(job, item, &below, &found);
    }
    if (status != NEST_OK) {
        return status;
    }
    nest_job_note(job,
                  "a network's size is the number of processors that it spans: fan-outs are the "
                  "ratios, and the last size is the largest system that the file allows");
    nest_job_note(job,
                  "efficiencies and processor usage of the networks are left out: ours belong to "
                  "the device");
    if (found.device) {
        nest_job_note(job, "peak and memory are those of %s", found.device);
    }
    return nest_found_cluster_write(job, &found);
}
