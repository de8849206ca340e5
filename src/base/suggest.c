#include "base/suggest.h"

#include <string.h>

enum { WORD_MAX = 64 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t nest_edit_distance(const char *a, const char *b)
{
    const size_t n = strlen(a);
    const size_t m = strlen(b);
    if (n >= WORD_MAX || m >= WORD_MAX) {
        return WORD_MAX;
    }
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t differs = lower(a[i - 1]) != lower(b[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + differs);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1])) {
                row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
            }
        }
    }
    return rows[n % 3][m];
}

/* Where known holds all of typed: what is missing in front and behind counts little. A word of two
 * letters says nothing. */
static size_t held_distance(const char *typed, const char *known)
{
    enum { SHORTEST = 3, BEGINS = 1, HOLDS = 2 };
    const size_t length = strlen(typed);
    if (length < SHORTEST) {
        return WORD_MAX;
    }
    return strncasecmp(known, typed, length) == 0 ? BEGINS
           : strcasestr(known, typed) != NULL     ? HOLDS
                                                  : WORD_MAX;
}

void nest_suggest_start(struct nest_suggest *suggest, const char *typed)
{
    *suggest = (struct nest_suggest){typed, NULL, strlen(typed) / 3 + 2};
}

void nest_suggest_offer(struct nest_suggest *suggest, const char *known)
{
    const size_t distance =
        least(nest_edit_distance(suggest->typed, known), held_distance(suggest->typed, known));
    if (distance < suggest->distance && distance < strlen(known)) {
        suggest->best = known;
        suggest->distance = distance;
    }
}
