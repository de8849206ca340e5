/* Files of other programs → our YAML.
 *
 * One importer per format: the bytes of one file (some formats take more) and options in, YAML text
 * out, with a comment for everything that had to be assumed. What a file contradicts, or what our
 * keys cannot express, is a located error; nothing is silently wrong. */
#ifndef NEST_INPUT_IMPORT_IMPORT_H
#define NEST_INPUT_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "input/load.h"

/* A file in memory; name is used in error messages. */
struct nest_import_file {
    const char *name;
    const char *text; /* not necessarily zero-terminated */
    size_t length;
};

struct nest_import_options {
    const struct nest_library *library;   /* devices are looked up here; NULL = none are known */
    int64_t gpus_per_node;                /* 0 = not said */
    const struct nest_cluster_spec *node; /* inner levels of every host, or NULL */
    const char *device;                   /* name of a device, or NULL: the node's, else assumed */
    const char *root; /* which fabric, topology, model part or slice of the file, or NULL */
    bool as_written;  /* NEST's solver input: keep its milliseconds as if they were seconds */
};

struct nest_import_format {
    const char *name;  /* after --from */
    const char *title; /* one line for --help */
    int files;         /* how many files it takes at most */
};

/* The formats in the order of the help text, by index from 0; NULL past the last. */
const struct nest_import_format *nest_import_format(int index);

/* Imports one or more files of a format (a name of nest_import_formats). Appends YAML to out only
 * on NEST_OK. NEST_BAD_INPUT adds located faults. Scratch memory comes from arena. */
enum nest_status nest_import(const char *format, int files, const struct nest_import_file *file,
                             const struct nest_import_options *options, struct nest_arena *arena,
                             struct nest_strbuf *out, struct nest_errors *errors);

#endif
