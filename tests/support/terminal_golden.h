/* Screens as text files: rows of characters, then rows of letters for the attributes. */
#ifndef TESTS_SUPPORT_TERMINAL_GOLDEN_H
#define TESTS_SUPPORT_TERMINAL_GOLDEN_H

#include <stdbool.h>
#include <stdint.h>

struct terminal_cell {
    uint32_t code; /* 0: right half of a wide character */
    bool bold, underline, reverse;
    int foreground, background; /* palette index; -1 default, -2 a direct colour */
};

/* Rows of text, each ended by a newline. The caller frees it. */
char *terminal_cells_text(const struct terminal_cell *cells, int width, int height);

/* Replaces what depends on the clock or on the search's luck, "solved 3.2 ms (12 of 96 σ)", by
 * "solved" alone; the line before it grows. */
void terminal_mask(struct terminal_cell *cells, int width, int height);

/* Text rows, attribute rows and what the letters mean. The caller frees it. */
char *terminal_cells_golden(const struct terminal_cell *cells, int width, int height);

/* Whether seen is what the golden file says; if it is not and why is not NULL, fails the test with
 * that reason, the lines that differ and the whole screen. */
bool terminal_is_golden(const char *name, const char *seen, const char *why);
void terminal_write_golden(const char *name, const char *seen);

#endif
