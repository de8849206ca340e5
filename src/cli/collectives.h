/* The part of `nest validate` about measured collectives. */
#ifndef NEST_CLI_COLLECTIVES_H
#define NEST_CLI_COLLECTIVES_H

#include <stdio.h>

#include "base/json.h"
#include "plan/timing.h"

struct nest_collectives_entry {
    const struct nest_timing *timing;
    double predicted; /* seconds */
};

struct nest_collectives {
    struct nest_arena *arena;
    int entries;
    struct nest_collectives_entry *entry;
};

/* Makes room for a table's timings. False when memory is out. */
bool nest_collectives_reserve(struct nest_collectives *report, int count);

/* Adds one prediction; there is room. */
void nest_collectives_record(struct nest_collectives *report, const struct nest_timing *timing,
                             double predicted);

/* Every row, then the errors by span, collective and size; nothing where there are none. */
void nest_collectives_print(const struct nest_collectives *report, FILE *out);

/* Rows as members of the open array. */
void nest_collectives_json_rows(const struct nest_collectives *report, struct nest_json *json);

/* "collectives": all, and by span, collective and size. */
void nest_collectives_json_summary(const struct nest_collectives *report, struct nest_json *json);

#endif
