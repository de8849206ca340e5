#include "script/pattern.h"

#include <string.h>

struct pattern_shape {
    int repetitions; /* *, + and - : each may end anywhere */
    int options;     /* ? : two ways each */
    int scans;       /* %b and back references: walk the subject once per try */
    bool anchored;
    bool special;
};

/* Index after the set that starts at `at` (behind its bracket). */
static size_t skip_set(const char *pattern, size_t length, size_t at)
{
    if (at < length && pattern[at] == '^') {
        at++;
    }
    bool first = true;
    while (at < length && (first || pattern[at] != ']')) {
        at += pattern[at] == '%' ? 2 : 1;
        first = false;
    }
    return at < length ? at + 1 : length;
}

/* Index after the item at `at`, counting scans. */
static size_t skip_item(const char *pattern, size_t length, size_t at, struct pattern_shape *shape)
{
    const char c = pattern[at];
    if (c == '[') {
        shape->special = true;
        return skip_set(pattern, length, at + 1);
    }
    if (c != '%' || at + 1 >= length) {
        shape->special = shape->special || c == '.' || c == '(' || c == '%' || c == '$';
        return at + 1;
    }
    shape->special = true;
    const char kind = pattern[at + 1];
    if (kind == 'b') {
        shape->scans++;
        return at + 4;
    }
    if (kind >= '0' && kind <= '9') {
        shape->scans++;
    }
    return at + 2;
}

static struct pattern_shape shape_of(const char *pattern, size_t length)
{
    struct pattern_shape shape = {.anchored = length > 0 && pattern[0] == '^'};
    size_t at = shape.anchored ? 1 : 0;
    shape.special = shape.anchored;
    while (at < length) {
        at = skip_item(pattern, length, at, &shape);
        if (at < length && strchr("*+-", pattern[at]) && pattern[at] != '\0') {
            shape.repetitions++;
            shape.special = true;
            at++;
        } else if (at < length && pattern[at] == '?') {
            shape.options++;
            shape.special = true;
            at++;
        }
    }
    return shape;
}

double nest_pattern_steps(const char *pattern, size_t pattern_length, size_t length, bool plain)
{
    const struct pattern_shape shape = shape_of(pattern, pattern_length);
    const double n = (double)length + 1;
    if (plain || !shape.special) {
        /* memchr and memcmp take many bytes a step. */
        return n * (double)(pattern_length + 16) / 16;
    }
    const int places = shape.repetitions + (shape.anchored ? 0 : 1);
    double ways = 1;
    for (int i = 1; i <= places && ways < 1e30; i++) {
        ways *= (n + i - 1) / i;
    }
    for (int i = 0; i < shape.options && ways < 1e30; i++) {
        ways *= 2;
    }
    for (int i = 0; i < shape.scans && ways < 1e30; i++) {
        ways *= n;
    }
    return ways * (double)(pattern_length + 1);
}
