/* Quantities as people type them: 400Gb/s, 50GB/s, 80GiB, 1.2us, 4:1, 989TFLOP/s, 1e9.
 *
 * Gb is bits, GB bytes, GiB 2^30. Parsers accept a plain number as SI base units where a unit is
 * optional, take the longest match, and reject trailing text. */
#ifndef NEST_BASE_UNITS_H
#define NEST_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nest_unit {
    NEST_UNIT_NONE,      /* a plain number */
    NEST_UNIT_BYTES,     /* 80GiB, 512MB */
    NEST_UNIT_BANDWIDTH, /* 400Gb/s, 50GB/s → bytes/s */
    NEST_UNIT_SECONDS,   /* 1.2us, 3ms, 2s */
    NEST_UNIT_FLOPS,     /* 989TFLOP/s → FLOP/s */
    NEST_UNIT_RATIO      /* 4:1 or 4 */
};

/* Parses text as a quantity of the unit into SI. Returns NULL and sets *out on success, else a
 * message ("unknown unit 'Gbs'") and in *hint what is expected; both are constants or lie in
 * scratch[size]. Locale-independent. Refuses NaN and infinity. */
const char *nest_unit_parse(const char *text, enum nest_unit unit, double *out, const char **hint,
                            char *scratch, size_t size);

/* What to write for a quantity of this unit: "expected bytes, such as 80GiB or 512MB". */
const char *nest_unit_expected(enum nest_unit unit);

/* Prints value with a readable unit, e.g. "50 GB/s", "76.0 GiB", "4:1", "7.70 s", "3.20 ms", "1.2
 * us". Never more than size bytes with the zero. Returns out. */
char *nest_unit_format(double value, enum nest_unit unit, char *out, size_t size);

/* The same, exactly: parsing it gives the same double back. */
char *nest_unit_format_exact(double value, enum nest_unit unit, char *out, size_t size);

/* 1234567 → "1.23 M", "4,310" and so on. */
char *nest_count_format(int64_t value, char *out, size_t size);

#endif
