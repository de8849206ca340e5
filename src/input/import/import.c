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
