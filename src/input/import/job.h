/* What every importer is given, and the small tools they share. Private to this folder. */
#ifndef NEST_INPUT_IMPORT_JOB_H
#define NEST_INPUT_IMPORT_JOB_H

#include "input/doc.h"
#include "input/import/import.h"

/* One import. Faults go to errors through nest_job_fault; assumptions to notes. */
struct nest_job {
    int files;
    const struct nest_import_file *file;
    const struct nest_import_options *options;
    struct nest_arena *arena;
    struct nest_errors *errors;
    struct nest_strbuf *out;
    struct nest_strbuf notes; /* comment lines of the head of the result */
};

/* One importer: NEST_OK and text in job->out, or NEST_BAD_INPUT and faults. */
typedef enum nest_status nest_importer(struct nest_job *job);

nest_importer nest_import_astra;
nest_importer nest_import_aws;
nest_importer nest_import_calculon;
nest_importer nest_import_csv;
nest_importer nest_import_hf;
nest_importer nest_import_hwloc;
nest_importer nest_import_ibnetdiscover;
nest_importer nest_import_k8s;
nest_importer nest_import_nccl;
nest_importer nest_import_nest;
nest_importer nest_import_nest_args;
nest_importer nest_import_nvidia_smi;
nest_importer nest_import_simai;
nest_importer nest_import_slurm;
nest_importer nest_import_topograph;
nest_importer nest_import_tpu;

/* Adds a comment line: an assumption, or something the file could not say. */
void nest_job_note(struct nest_job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a fault and returns NEST_BAD_INPUT. hint may be NULL. line 0 = the file as a whole. */
enum nest_status nest_job_fault(struct nest_job *job, int line, int column, const char *hint,
                                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same, at a node of a document, with its path. */
enum nest_status nest_job_fault_at(struct nest_job *job, const struct nest_node *node,
                                   const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Memory ran out: adds the fault, returns NEST_NO_MEMORY. */
enum nest_status nest_job_no_memory(struct nest_job *job);

/* Reads the first file as YAML, or as JSON where it begins with a brace or bracket. */
enum nest_status nest_job_document(struct nest_job *job, const struct nest_node **root);

/* ---- Lines ------------------------------------------------------------------------------ */

/* A piece of a line; not zero-terminated. Column is 1-based. */
struct nest_piece {
    const char *text;
    size_t length;
    int column;
};

/* Walks the lines of a text; CR, LF or CRLF end one, a byte-order mark is skipped. */
struct nest_lines {
    const char *at, *end;
    int number; /* of the line handed out last */
};

void nest_lines_begin(struct nest_lines *lines, const struct nest_import_file *file);
bool nest_lines_next(struct nest_lines *lines, struct nest_piece *line);

/* Cuts the next word (no spaces or tabs) off rest. */
bool nest_piece_word(struct nest_piece *rest, struct nest_piece *word);

/* Cuts off what stands before the next separator; false at the end. Trims spaces. */
bool nest_piece_field(struct nest_piece *rest, char separator, struct nest_piece *field);

/* Without spaces and tabs at both ends. */
struct nest_piece nest_piece_trim(struct nest_piece piece);

bool nest_piece_is(struct nest_piece piece, const char *text);       /* equal, any case */
bool nest_piece_begins(struct nest_piece piece, const char *prefix); /* any case */
const char *nest_piece_find(struct nest_piece piece, const char *text);
char *nest_piece_copy(struct nest_piece piece, struct nest_arena *arena);

/* Whole numbers >= 0 and decimals; false for trailing text, overflow, NaN or infinity. */
bool nest_piece_int(struct nest_piece piece, int64_t *out);
bool nest_piece_number(struct nest_piece piece, double *out);
bool nest_text_int(const char *text, int64_t *out);
bool nest_text_number(const char *text, double *out);

#endif
