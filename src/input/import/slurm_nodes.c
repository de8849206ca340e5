/* slurm.conf beside a topology: how many devices its nodes have, by their Gres. */
#include <string.h>

#include "input/import/cluster_text.h"
#include "input/import/slurm.h"

struct nodes {
    struct nest_job *job;
    int64_t devices;  /* of a node that has any; 0 = none so far */
    int line;         /* where it was said first */
    int64_t usual;    /* of NodeName=DEFAULT */
    int without;      /* NodeName lines without devices */
    const char *type; /* "h100" of gpu:h100:8, or NULL */
};

/* "gpu", "gpu:8", "gpu:h100", "gpu:h100:8(S:0-1)"; other resources add nothing. */
static int64_t devices_of(struct nodes *n, struct nest_piece resource)
{
    const char *bracket = memchr(resource.text, '(', resource.length);
    struct nest_piece rest = {resource.text,
                              bracket ? (size_t)(bracket - resource.text) : resource.length, 1};
    struct nest_piece part, last = {NULL, 0, 1};
    int64_t count = 1;
    if (!nest_piece_field(&rest, ':', &part) || !nest_piece_is(part, "gpu")) {
        return 0;
    }
    while (nest_piece_field(&rest, ':', &part)) {
        if (!nest_piece_int(part, &count)) {
            last = part;
        }
    }
    if (last.text && !n->type) {
        n->type = nest_piece_copy(last, n->job->arena);
    }
    return count;
}

static enum nest_status read_node(struct nodes *n, struct nest_piece line, int number)
{
    struct nest_piece word, resource;
    bool usual = false;
    int64_t devices = -1;
    while (nest_piece_word(&line, &word)) {
        if (nest_piece_is(word, "NodeName=DEFAULT")) {
            usual = true;
        } else if (nest_piece_begins(word, "Gres=")) {
            struct nest_piece list = {word.text + 5, word.length - 5, word.column + 5};
            devices = 0;
            while (nest_piece_field(&list, ',', &resource)) {
                devices += devices_of(n, resource);
            }
        }
    }
    if (usual) {
        n->usual = devices < 0 ? n->usual : devices;
        return NEST_OK;
    }
    devices = devices < 0 ? n->usual : devices;
    if (devices == 0) {
        n->without++;
        return NEST_OK;
    }
    if (n->devices > 0 && devices != n->devices) {
        return nest_job_fault(n->job, number, 1, "take those of one number, with --gpus-per-node N",
                              "these nodes have %lld devices, those of line %d %lld",
                              (long long)devices, n->line, (long long)n->devices);
    }
    n->line = n->devices > 0 ? n->line : number;
    n->devices = devices;
    return NEST_OK;
}

bool nest_slurm_has_nodes(const struct nest_import_file *file)
{
    struct nest_lines lines;
    struct nest_piece line;
    nest_lines_begin(&lines, file);
    while (nest_lines_next(&lines, &line)) {
        if (nest_piece_begins(nest_piece_trim(line), "NodeName=")) {
            return true;
        }
    }
    return false;
}

enum nest_status nest_slurm_read_nodes(struct nest_job *job, const struct nest_import_file *file,
                                       struct nest_import_options *options)
{
    struct nest_job second = *job;
    struct nodes n = {.job = &second};
    struct nest_lines lines;
    struct nest_piece line;
    enum nest_status status = NEST_OK;
    second.file = file;
    nest_lines_begin(&lines, file);
    while (status == NEST_OK && nest_lines_next(&lines, &line)) {
        const char *comment = line.length ? memchr(line.text, '#', line.length) : NULL;
        line.length = comment ? (size_t)(comment - line.text) : line.length;
        if (nest_piece_begins(nest_piece_trim(line), "NodeName=")) {
            status = read_node(&n, line, lines.number);
        }
    }
    if (status != NEST_OK) {
        return status;
    }
    if (n.devices > 0) {
        options->gpus_per_node = n.devices;
        nest_job_note(job, "%lld devices per host, by Gres in %s", (long long)n.devices,
                      file->name);
    }
    if (n.type && !options->device && nest_found_device(job, n.type)) {
        options->device = n.type;
    }
    if (n.devices > 0 && n.without > 0) {
        nest_job_note(job,
                      "%d NodeName lines have no devices; hosts of the topology count all the "
                      "same",
                      n.without);
    }
    return NEST_OK;
}
