#include "input/import/import.h"

#include <string.h>

#include "input/import/job.h"

enum { NOTES_MAX = 1 << 18 };

static const struct entry {
    struct nest_import_format format;
    nest_importer *import;
} entries[] = {
    {{"hf", "a Hugging Face config.json → a model", 1}, nest_import_hf},
    {{"slurm", "Slurm topology.conf or topology.yaml", 1}, nest_import_slurm},
    {{"nvidia-smi", "the output of nvidia-smi topo -m", 1}, nest_import_nvidia_smi},
    {{"astra-sim", "ASTRA-sim network: analytical YAML, logical JSON or htsim .topo", 1},
     nest_import_astra},
    {{"nest", "NEST's solver input → a scenario", 1}, nest_import_nest},
    {{"nest-args", "command-line arguments of the NEST artifact", 1}, nest_import_nest_args},
    {{"tpu", "a TPU slice, such as v5p-128 or 4x4x8", 1}, nest_import_tpu},
    {{"csv", "a table of levels, or NetBox cables (and interfaces)", 2}, nest_import_csv},
    {{"ibnetdiscover", "the output of ibnetdiscover, with or without -p", 1},
     nest_import_ibnetdiscover},
    {{"k8s", "Kubernetes nodes with topology labels (Kueue, GKE, EKS, topograph)", 2},
     nest_import_k8s},
    {{"aws", "EC2 DescribeInstanceTopology JSON", 1}, nest_import_aws},
    {{"topograph", "a topograph model", 1}, nest_import_topograph},
    {{"calculon", "a Calculon system JSON", 1}, nest_import_calculon},
    {{"nccl", "NCCL topology XML", 1}, nest_import_nccl},
    {{"hwloc", "hwloc (lstopo) XML", 1}, nest_import_hwloc},
    {{"simai", "a SimAI topology", 1}, nest_import_simai},
};

enum { ENTRIES = sizeof entries / sizeof entries[0] };

const struct nest_import_format *nest_import_format(int index)
{
    return index >= 0 && index < ENTRIES ? &entries[index].format : NULL;
}

static const struct entry *find(const char *format)
{
    for (int i = 0; i < ENTRIES; i++) {
        if (strcmp(entries[i].format.name, format) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

static enum nest_status unknown_format(const char *format, struct nest_errors *errors)
{
    struct nest_strbuf names = NEST_STRBUF_INIT(4096);
    for (int i = 0; i < ENTRIES; i++) {
        nest_strbuf_printf(&names, "%s%s", i ? ", " : "one of ", entries[i].format.name);
    }
    nest_errors_add(errors, (struct nest_mark){"--from", 0, 0}, NULL, nest_strbuf_text(&names),
                    "unknown format '%s'", format);
    nest_strbuf_free(&names);
    return NEST_BAD_INPUT;
}

/* Binary files have no place in any importer, and zero bytes would cut texts short. */
static bool check_text(struct nest_job *job)
{
    for (int i = 0; i < job->files; i++) {
        const struct nest_import_file *file = &job->file[i];
        const char *fault = file->length > NEST_DOC_BYTES ? "larger than 16 MiB"
                            : memchr(file->text, 0, file->length)
                                ? "contains a zero byte, so it is no text"
                                : NULL;
        if (fault) {
            nest_errors_add(job->errors, (struct nest_mark){file->name, 0, 0}, NULL, NULL, "%s",
                            fault);
            return false;
        }
    }
    return true;
}

enum nest_status nest_import(const char *format, int files, const struct nest_import_file *file,
                             const struct nest_import_options *options, struct nest_arena *arena,
                             struct nest_strbuf *out, struct nest_errors *errors)
{
    const struct entry *entry = find(format);
    if (!entry) {
        return unknown_format(format, errors);
    }
    if (files < 1 || files > entry->format.files) {
        nest_errors_add(errors, (struct nest_mark){"--from", 0, 0}, NULL, NULL,
                        "format %s takes %s, not %d", format,
                        entry->format.files > 1 ? "one or two files" : "one file", files);
        return NEST_BAD_INPUT;
    }
    struct nest_job job = {.files = files,
                           .file = file,
                           .options = options,
                           .arena = arena,
                           .errors = errors,
                           .out = out,
                           .notes = NEST_STRBUF_INIT(NOTES_MAX)};
    nest_job_note(&job, "imported from %s (%s)", file[0].name, format);
    enum nest_status status = check_text(&job) ? entry->import(&job) : NEST_BAD_INPUT;
    nest_strbuf_free(&job.notes);
    if (status == NEST_OK && out->failed) {
        status = nest_job_no_memory(&job);
    }
    return status;
}
