/* Importing in tests: a file or text through an importer, and the result through our loaders. */
#ifndef NEST_TESTS_SUPPORT_IMPORTING_H
#define NEST_TESTS_SUPPORT_IMPORTING_H

#include "input/import/import.h"
#include "input/load.h"

struct importing {
    struct nest_arena arena;
    struct nest_errors errors;
    struct nest_library library;
    struct nest_import_options options;
    enum nest_status status;
    const char *yaml; /* of the last import; "" unless status is NEST_OK */
};

void importing_begin(struct importing *in);
void importing_end(struct importing *in);

/* Imports a text that is called name in messages; keeps status and yaml. */
void importing_text(struct importing *in, const char *format, const char *name, const char *text,
                    size_t length);

/* Imports one or two files. A missing file fails the test. */
void importing_files(struct importing *in, const char *format, const char *first,
                     const char *second);

/* What the last import gave, read by our own loaders; failure prints the YAML and the faults. */
void importing_model(struct importing *in, struct nest_model_spec *out);
void importing_cluster(struct importing *in, struct nest_cluster_spec *out);
void importing_scenario(struct importing *in, struct nest_scenario_spec *out);

/* The errors as printed, one line each; forgets them. */
const char *importing_faults(struct importing *in);

/* A file of the reference folders (NEST_SHARED, ../shared, ../../shared), or NULL if not there. */
const char *importing_shared(struct importing *in, const char *path);

/* A file of tests/data/import. */
const char *importing_example(struct importing *in, const char *name);

/* Whole files as text; NULL when it cannot be read. */
char *importing_read(struct importing *in, const char *path, size_t *length);

#endif
