/* Writes one JSON document into a text buffer.
 *
 * Keys keep the order in which they are written. Numbers are the shortest decimal that reads back
 * as the same double; a number that JSON cannot hold (NaN, infinity) becomes null. Invalid UTF-8 is
 * replaced. The members of the outermost object, and objects inside arrays, start a new line. */
#ifndef NEST_BASE_JSON_H
#define NEST_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum { NEST_JSON_DEPTH = 16 };

struct nest_json {
    struct nest_strbuf *out; /* borrowed */
    int depth;
    bool array[NEST_JSON_DEPTH]; /* what each open container is */
    bool filled[NEST_JSON_DEPTH];
};

void nest_json_start(struct nest_json *json, struct nest_strbuf *out);

/* key: NULL inside an array and for the document itself. Depth is limited to NEST_JSON_DEPTH. */
void nest_json_object(struct nest_json *json, const char *key);
void nest_json_array(struct nest_json *json, const char *key);

/* Closes the innermost object or array; a newline follows the document's end. */
void nest_json_end(struct nest_json *json);

void nest_json_text(struct nest_json *json, const char *key, const char *text); /* NULL: null */
void nest_json_integer(struct nest_json *json, const char *key, int64_t value);
void nest_json_number(struct nest_json *json, const char *key, double value);
void nest_json_bool(struct nest_json *json, const char *key, bool value);
void nest_json_null(struct nest_json *json, const char *key);

/* The shortest decimal that reads back as value, with a point in every locale. Returns out, which
 * has room for at least 32 bytes. */
char *nest_number_format(double value, char *out, size_t size);

#endif
