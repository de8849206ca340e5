#include "input/import/csv_table.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { CELL_MAX = 512 };

/* Cuts the next cell; quotes protect separators, "" is a quote. */
static const char *cut_cell(struct nest_csv *t, struct nest_piece *rest, bool *more)
{
    char cell[CELL_MAX];
    size_t n = 0, i = 0;
    bool quoted = false;
    for (; i < rest->length; i++) {
        const char c = rest->text[i];
        if (c == '"' && quoted && i + 1 < rest->length && rest->text[i + 1] == '"') {
            i++;
        } else if (c == '"') {
            quoted = !quoted;
            continue;
        } else if (c == t->separator && !quoted) {
            break;
        }
        if (n + 1 < sizeof cell) {
            cell[n++] = c;
        }
    }
    *more = i < rest->length;
    const size_t used = *more ? i + 1 : i;
    rest->text += used;
    rest->length -= used;
    rest->column += (int)used;
    const struct nest_piece trimmed = nest_piece_trim((struct nest_piece){cell, n, 1});
    return nest_piece_copy(trimmed, t->job->arena);
}

/* Reads the next line that is not empty or a comment into cells; 0 at the end, -1 after a fault. */
static int next_row(struct nest_csv *t, const char **cell)
{
    struct nest_piece line;
    t->job->file = t->file; /* where faults are */
    while (nest_lines_next(&t->lines, &line)) {
        const struct nest_piece trimmed = nest_piece_trim(line);
        if (trimmed.length == 0 || trimmed.text[0] == '#') {
            continue;
        }
        t->line = t->lines.number;
        int count = 0;
        bool more = true;
        while (more) {
            if (count == NEST_CSV_COLUMNS) {
                nest_job_fault(t->job, t->line, line.column, NULL, "more than %d columns",
                               (int)NEST_CSV_COLUMNS);
                return -1;
            }
            t->at[count] = line.column;
            cell[count] = cut_cell(t, &line, &more);
            if (!cell[count++]) {
                (void)nest_job_no_memory(t->job);
                return -1;
            }
        }
        return count;
    }
    return 0;
}

/* The separator that the first line has most of. */
static char find_separator(const struct nest_import_file *file)
{
    struct nest_lines lines;
    struct nest_piece line;
    int count[3] = {0};
    static const char separators[] = ",;\t";
    nest_lines_begin(&lines, file);
    while (nest_lines_next(&lines, &line)) {
        const struct nest_piece trimmed = nest_piece_trim(line);
        if (trimmed.length == 0 || trimmed.text[0] == '#') {
            continue;
        }
        for (size_t i = 0; i < line.length; i++) {
            const char *found = line.text[i] ? strchr(separators, line.text[i]) : NULL;
            if (found) {
                count[found - separators]++;
            }
        }
        break;
    }
    const int best =
        count[1] > count[0] ? (count[2] > count[1] ? 2 : 1) : (count[2] > count[0] ? 2 : 0);
    return separators[best];
}

enum nest_status nest_csv_begin(struct nest_csv *t, struct nest_job *job,
                                const struct nest_import_file *file)
{
    *t = (struct nest_csv){.job = job, .file = file, .separator = find_separator(file)};
    nest_lines_begin(&t->lines, file);
    const int count = next_row(t, t->head);
    if (count < 0) {
        return NEST_BAD_INPUT;
    }
    if (count < 2) {
        return nest_job_fault(job, t->line, 1, "a line of column names, then one line per row",
                              "not a table");
    }
    t->columns = count;
    return NEST_OK;
}

/* The next row with as many cells as the head; 0 at the end, -1 after a fault. */
int nest_csv_row(struct nest_csv *t)
{
    const int count = next_row(t, t->cell);
    if (count > 0 && count != t->columns) {
        nest_job_fault(t->job, t->line, 1, NULL, "%d cells under %d columns", count, t->columns);
        return -1;
    }
    return count;
}

/* Whether a head holds a word, in any case and with any punctuation around it. */
bool nest_csv_has_word(const char *head, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = head; *p; p++) {
        const bool start = p == head || !isalnum((unsigned char)p[-1]);
        if (start && strncasecmp(p, word, n) == 0 && !isalnum((unsigned char)p[n])) {
            return true;
        }
    }
    return false;
}

/* The column whose head holds one of the words (separated by spaces), or -1. */
int nest_csv_column(const struct nest_csv *t, const char *words)
{
    while (*words) {
        char word[32];
        const size_t n = strcspn(words, " ");
        memcpy(word, words, n);
        word[n] = 0;
        for (int i = 0; i < t->columns; i++) {
            if (nest_csv_has_word(t->head[i], word)) {
                return i;
            }
        }
        words += n + (words[n] == ' ');
    }
    return -1;
}

/* "400G", "100Gbps", "200GbE", "1T": bits, as networks are sold. */
static bool network_speed(const char *text, double *out)
{
    static const struct {
        const char *suffix;
        double scale;
    } suffixes[] = {{"G", 1.25e8},      {"Gbps", 1.25e8},  {"GbE", 1.25e8},
                    {"Gbit/s", 1.25e8}, {"M", 1.25e5},     {"Mbps", 1.25e5},
                    {"T", 1.25e11},     {"Tbps", 1.25e11}, {"Kbps", 125}};
    const size_t n = strspn(text, "0123456789.");
    const struct nest_piece number = {text, n, 1};
    const char *rest = text + n + strspn(text + n, " ");
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strcmp(rest, suffixes[i].suffix) == 0 && nest_piece_number(number, out)) {
            *out *= suffixes[i].scale;
            return true;
        }
    }
    return false;
}

/* A quantity with its unit in the cell, or a number in the unit that the head names. */
enum nest_status nest_csv_quantity(struct nest_csv *t, int at, enum nest_unit unit, double scale,
                                   double *out)
{
    char scratch[160];
    const char *hint = NULL;
    if (nest_text_number(t->cell[at], out)) {
        *out *= scale;
        return NEST_OK;
    }
    if (unit == NEST_UNIT_BANDWIDTH && network_speed(t->cell[at], out)) {
        return NEST_OK;
    }
    const char *message = nest_unit_parse(t->cell[at], unit, out, &hint, scratch, sizeof scratch);
    return message
               ? nest_job_fault(t->job, t->line, t->at[at], hint, "%s: %s", t->head[at], message)
               : NEST_OK;
}

double nest_csv_bandwidth_scale(const char *head)
{
    static const struct {
        const char *unit;
        double scale;
    } units[] = {{"GBps", 1e9},    {"GBs", 1e9},     {"GB/s", 1e9},     {"gbs", 1e9},
                 {"MBps", 1e6},    {"TBps", 1e12},   {"GiBps", 0x1p30}, {"Gbps", 1.25e8},
                 {"Gb/s", 1.25e8}, {"Gbit", 1.25e8}, {"gbit", 1.25e8},  {"gbps", 1.25e8},
                 {"mbps", 1.25e5}, {"Mbps", 1.25e5}, {"Kbps", 125},     {"kbps", 125}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strstr(head, units[i].unit)) {
            return units[i].scale;
        }
    }
    return 1;
}

double nest_csv_time_scale(const char *head)
{
    return nest_csv_has_word(head, "ns") || strstr(head, "_ns")   ? 1e-9
           : nest_csv_has_word(head, "us") || strstr(head, "_us") ? 1e-6
           : nest_csv_has_word(head, "ms") || strstr(head, "_ms") ? 1e-3
                                                                  : 1;
}

/* The column whose head begins with one of the words. */
int nest_csv_column_begins(const struct nest_csv *t, const char *words)
{
    while (*words) {
        const size_t n = strcspn(words, " ");
        for (int i = 0; i < t->columns; i++) {
            if (strncasecmp(t->head[i], words, n) == 0) {
                return i;
            }
        }
        words += n + (words[n] == ' ');
    }
    return -1;
}
