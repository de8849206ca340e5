/* Comma-, semicolon- or tab-separated tables with a line of column names; empty lines and lines
 * that begin with # are skipped. Private to the input room. */
#ifndef NEST_INPUT_IMPORT_CSV_TABLE_H
#define NEST_INPUT_IMPORT_CSV_TABLE_H

#include "base/units.h"
#include "input/import/job.h"

enum { NEST_CSV_COLUMNS = 64 };

struct nest_csv {
    struct nest_job *job;
    const struct nest_import_file *file;
    struct nest_lines lines;
    char separator;
    int columns, line;
    const char *head[NEST_CSV_COLUMNS]; /* as written */
    const char *cell[NEST_CSV_COLUMNS];
    int at[NEST_CSV_COLUMNS]; /* column of the cell in its line */
};

/* Reads the column names of a file. Faults go to job's errors. */
enum nest_status nest_csv_begin(struct nest_csv *t, struct nest_job *job,
                                const struct nest_import_file *file);

/* The next row with as many cells as the head; 0 at the end, -1 after a fault. */
int nest_csv_row(struct nest_csv *t);

/* Whether a head holds a word, in any case and with any punctuation around it. */
bool nest_csv_has_word(const char *head, const char *word);

/* The column whose head holds one of the words (separated by spaces), or begins with one; or -1. */
int nest_csv_column(const struct nest_csv *t, const char *words);
int nest_csv_column_begins(const struct nest_csv *t, const char *words);

/* The quantity of a cell: with its unit, or a number times scale, the unit that the head names. */
enum nest_status nest_csv_quantity(struct nest_csv *t, int at, enum nest_unit unit, double scale,
                                   double *out);

/* What one of the unit named in a head is worth, in bytes/s or seconds; 1 where none is named. */
double nest_csv_bandwidth_scale(const char *head);
double nest_csv_time_scale(const char *head);

#endif
