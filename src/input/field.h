/* Key tables: what a mapping of our files may hold, as data.
 *
 * A table of fields describes one kind of mapping. Reading a node by a table puts each value into
 * its place in a record and reports, in this one place, unknown keys (with the nearest known one),
 * wrong types, bad units, values out of range and missing keys. Command-line and explorer edits
 * go through the same tables, so a value has one meaning everywhere. */
#ifndef NEST_INPUT_FIELD_H
#define NEST_INPUT_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/units.h"
#include "input/doc.h"
#include "input/spec.h"

enum nest_field_type {
    NEST_FIELD_TEXT,   /* const char *, not empty */
    NEST_FIELD_COUNT,  /* int64_t, a whole number */
    NEST_FIELD_NUMBER, /* double in the field's unit */
    NEST_FIELD_FLAG,   /* bool: true/false, yes/no, on/off, 1/0 */
    NEST_FIELD_CHOICE, /* an enum, one of the field's words */
    NEST_FIELD_CURVE,  /* struct nest_curve: a list of points [FLOP, fraction] */
    NEST_FIELD_TABLE,  /* a nested mapping whose fields lie in the same record */
    NEST_FIELD_CUSTOM, /* read by a function */
    NEST_FIELD_IGNORED /* known, and of no consequence */
};

struct nest_choice {
    const char *word;
    int value;
};

struct nest_field_reader;

struct nest_field {
    const char *key;
    enum nest_field_type type;
    enum nest_unit unit;
    size_t offset;
    double low, high; /* inclusive; both 0 = no limits */
    bool required;
    const struct nest_choice *choice; /* ends with a NULL word */
    const struct nest_field *table;   /* NEST_FIELD_TABLE, ends with a NULL key */
    void (*read)(struct nest_field_reader *reader, const struct nest_node *node, void *record);
};

#define NEST_FIELD_END                                                                             \
    {                                                                                              \
        .key = NULL                                                                                \
    }

struct nest_field_reader {
    struct nest_arena *arena;
    struct nest_errors *errors;
    void *context; /* for custom readers */
};

/* Adds a fault at a node's value, with its path. */
void nest_node_fault(struct nest_field_reader *reader, const struct nest_node *node,
                     const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Reads a mapping into record by the table. what names the thing for messages ("a device"). Every
 * fault is added; the record then holds what could be read. */
void nest_fields_read(struct nest_field_reader *reader, const struct nest_node *node,
                      const struct nest_field *table, const char *what, void *record);

/* Reads one value by one field. Returns false after adding a fault. */
bool nest_field_read(struct nest_field_reader *reader, const struct nest_node *node,
                     const struct nest_field *field, void *record);

/* The field of a key, or NULL. "peak.bf16" reaches into nested tables. */
const struct nest_field *nest_field_find(const struct nest_field *table, const char *key);

/* Appends a field's value as text that reads back to the same value. Nothing for tables and custom
 * fields. */
void nest_field_write(const struct nest_field *field, const void *record, struct nest_strbuf *out);

/* Whether a mapping has the key, or an unknown key that was meant to be it. */
bool nest_fields_mean(const struct nest_node *node, const struct nest_field *table,
                      const char *key);

/* How many of a mapping's keys the table knows. */
int nest_fields_known(const struct nest_node *mapping, const struct nest_field *table);

/* Converts one scalar; each adds a fault and returns false when it cannot. */
bool nest_node_number(struct nest_field_reader *reader, const struct nest_node *node,
                      enum nest_unit unit, double *out);
bool nest_node_count(struct nest_field_reader *reader, const struct nest_node *node, int64_t *out);
bool nest_node_flag(struct nest_field_reader *reader, const struct nest_node *node, bool *out);
bool nest_node_text(struct nest_field_reader *reader, const struct nest_node *node,
                    const char **out);

/* The points of a curve, read and written as [[x, y], …]; x ascends, y is in (0, 1]. */
void nest_curve_read(struct nest_field_reader *reader, const struct nest_node *node,
                     struct nest_curve *out);
void nest_curve_write(const struct nest_curve *curve, struct nest_strbuf *out);

#endif
