#include "input/import/import.h"

#include <string.h>

#include "input/import/job.h"

enum { NOTES_MAX = 1 << 18 };

static const struct entry {
    struct nest_import_format format;
    nest_importer *import;
} entries[] = {
    {{"hf", "a Hugging Face config.json → a model", 1}, nest_import_hf},
    {{"slurm", "Slurm topology.conf or topology.yaml (and slurm.conf)", 2}, nest_import_slurm},
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

/* Bytes of the UTF-8 character at p, 0 if there is none. */
static size_t character(const unsigned char *p, size_t left)
{
    const size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n == 0 || n > left || p[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    const bool beyond = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return overlong || beyond ? 0 : n;
}

/* Names go into our YAML as they are, so the file must be text: UTF-8 without zero bytes. */
static bool check_text(struct nest_job *job, const struct nest_import_file *file)
{
    const unsigned char *text = (const unsigned char *)file->text;
    struct nest_mark mark = {file->name, 1, 1};
    if (file->length > NEST_DOC_BYTES) {
        nest_errors_add(job->errors, (struct nest_mark){file->name, 0, 0}, NULL, NULL,
                        "larger than 16 MiB");
        return false;
    }
    for (size_t at = 0; at < file->length;) {
        const size_t n = character(text + at, file->length - at);
        if (n == 0 || text[at] == 0) {
            nest_errors_add(job->errors, mark, NULL, "save the file as UTF-8", "%s",
                            n == 0 ? "this is not UTF-8 text" : "a zero byte: this is no text");
            return false;
        }
        mark.column = text[at] == '\n' ? 1 : mark.column + 1;
        mark.line += text[at] == '\n';
        at += n;
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
    enum nest_status status = NEST_OK;
    for (int i = 0; i < files && status == NEST_OK; i++) {
        status = check_text(&job, &file[i]) ? NEST_OK : NEST_BAD_INPUT;
    }
    if (status == NEST_OK) {
        status = entry->import(&job);
    }
    nest_strbuf_free(&job.notes);
    if (status == NEST_OK && out->failed) {
        status = nest_job_no_memory(&job);
    }
    return status;
}
