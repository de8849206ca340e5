#include "tests/support/terminal_golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "ui/utf8.h"

enum { GOLDEN_MAX = 1 << 22, LOOKS_MAX = 52, PATH_TEXT = 512 };

static void add_row(struct nest_strbuf *out, const struct terminal_cell *row, int width)
{
    char text[NEST_UTF8_MAX + 1];
    int end = width;
    while (end > 0 && row[end - 1].code == ' ') {
        end--;
    }
    for (int x = 0; x < end; x++) {
        if (row[x].code != 0) {
            nest_strbuf_add(out, nest_utf8_encode(row[x].code, text));
        }
    }
    nest_strbuf_add(out, "\n");
}

char *terminal_cells_text(const struct terminal_cell *cells, int width, int height)
{
    struct nest_strbuf out = NEST_STRBUF_INIT(GOLDEN_MAX);
    for (int y = 0; y < height; y++) {
        add_row(&out, cells + y * width, width);
    }
    assert_false(out.failed);
    return out.text;
}

/* ---- Masking ---- */

static int find_word(const struct terminal_cell *row, int width, const char *word)
{
    const int length = (int)strlen(word);
    for (int x = 0; x + length <= width; x++) {
        int same = 0;
        while (same < length && row[x + same].code == (unsigned char)word[same]) {
            same++;
        }
        if (same == length) {
            return x;
        }
    }
    return -1;
}

void terminal_mask(struct terminal_cell *cells, int width, int height)
{
    static const char word[] = " solved ";
    const int kept = (int)sizeof word - 1;
    for (int y = 0; y < height; y++) {
        struct terminal_cell *row = cells + y * width;
        const int at = find_word(row, width, word);
        const uint32_t last = row[width - 1].code;
        if (at < 1 || (last != 0x2524 && last != '+')) {
            continue;
        }
        /* " solved 3.2 ms (12 of 96 σ) " at the end of the line becomes the line and " solved ". */
        const int gone = width - 1 - at - kept;
        struct terminal_cell masked[8];
        memcpy(masked, row + at, sizeof masked);
        for (int x = at; x < at + gone; x++) {
            row[x] = row[at - 1];
        }
        memcpy(row + at + gone, masked, sizeof masked);
    }
}

/* ---- Goldens ---- */

static bool same_look(const struct terminal_cell *a, const struct terminal_cell *b)
{
    return a->bold == b->bold && a->underline == b->underline && a->reverse == b->reverse &&
           a->foreground == b->foreground && a->background == b->background;
}

static bool is_plain(const struct terminal_cell *cell)
{
    static const struct terminal_cell plain = {.foreground = -1, .background = -1};
    return same_look(cell, &plain);
}

static char letter_of(struct terminal_cell *looks, int *count, const struct terminal_cell *cell)
{
    if (is_plain(cell)) {
        return '.';
    }
    int i = 0;
    while (i < *count && !same_look(&looks[i], cell)) {
        i++;
    }
    assert_true(i < LOOKS_MAX);
    if (i == *count) {
        looks[(*count)++] = *cell;
    }
    return (char)(i < 26 ? 'a' + i : 'A' + i - 26);
}

static void add_looks(struct nest_strbuf *out, const struct terminal_cell *looks, int count)
{
    for (int i = 0; i < count; i++) {
        nest_strbuf_printf(out, "%c", i < 26 ? 'a' + i : 'A' + i - 26);
        if (looks[i].foreground != -1) {
            nest_strbuf_printf(out, " foreground %d", looks[i].foreground);
        }
        if (looks[i].background != -1) {
            nest_strbuf_printf(out, " background %d", looks[i].background);
        }
        nest_strbuf_printf(out, "%s%s%s\n", looks[i].bold ? " bold" : "",
                           looks[i].underline ? " underline" : "",
                           looks[i].reverse ? " reverse" : "");
    }
}

char *terminal_cells_golden(const struct terminal_cell *cells, int width, int height)
{
    struct nest_strbuf out = NEST_STRBUF_INIT(GOLDEN_MAX);
    struct terminal_cell looks[LOOKS_MAX];
    int count = 0;
    for (int y = 0; y < height; y++) {
        add_row(&out, cells + y * width, width);
    }
    nest_strbuf_add(&out, "---\n");
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            const char letter = letter_of(looks, &count, &cells[y * width + x]);
            nest_strbuf_add_bytes(&out, &letter, 1);
        }
        nest_strbuf_add(&out, "\n");
    }
    nest_strbuf_add(&out, "---\n");
    add_looks(&out, looks, count);
    assert_false(out.failed);
    return out.text;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        return NULL;
    }
    char *text = calloc(1, GOLDEN_MAX);
    assert_non_null(text);
    (void)!fread(text, 1, GOLDEN_MAX - 1, file);
    (void)fclose(file);
    return text;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The lines that differ, the golden one before what is there, with their numbers. */
static void print_differences(const char *golden, const char *seen)
{
    for (int line = 1; *golden || *seen; line++) {
        const int a = (int)strcspn(golden, "\n");
        const int b = (int)strcspn(seen, "\n");
        if (a != b || memcmp(golden, seen, (size_t)a) != 0) {
            (void)fprintf(stderr, "%3d - %.*s\n%3d + %.*s\n", line, a, golden, line, b, seen);
        }
        golden += a + (golden[a] == '\n');
        seen += b + (seen[b] == '\n');
    }
}

static void path_of(const char *name, char path[PATH_TEXT])
{
    (void)snprintf(path, PATH_TEXT, "tests/ui/golden/%s.txt", name);
}

void terminal_write_golden(const char *name, const char *seen)
{
    char path[PATH_TEXT];
    path_of(name, path);
    write_file(path, seen);
}

bool terminal_is_golden(const char *name, const char *seen, const char *why)
{
    char path[PATH_TEXT];
    path_of(name, path);
    char *golden = read_file(path);
    if (!golden) {
        fail_msg("%s is missing; make test UPDATE_GOLDEN=1 writes it. The screen is\n%s", path,
                 seen);
    }
    const bool same = strcmp(golden, seen) == 0;
    if (!same && why) {
        /* cmocka cuts messages of this length. */
        (void)fprintf(stderr, "the screen is\n%s", seen);
        print_differences(golden, seen);
    }
    free(golden);
    if (!same && why) {
        fail_msg("%s differs (%s)", path, why);
    }
    return same;
}
