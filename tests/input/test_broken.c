/* Broken files: every file of tests/input/broken says exactly what NAME.expected says.
 *
 * With NEST_UPDATE set the expectations are written anew, to be reviewed in the diff. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "input/load.h"

enum { FILES_MAX = 400 };

static struct nest_arena arena = NEST_ARENA_INIT;
static struct nest_library library;
static const char *names[FILES_MAX];
static size_t count;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int find_files(void **state)
{
    (void)state;
    if (nest_library_find(&arena, &library) != NEST_OK) {
        return -1;
    }
    const char *folder = nest_arena_printf(&arena, "%s/tests/input/broken", library.root);
    DIR *directory = chdir(folder) == 0 ? opendir(".") : NULL;
    const struct dirent *entry = NULL;
    while (directory && count < FILES_MAX && (entry = readdir(directory))) {
        const size_t length = strlen(entry->d_name);
        if (entry->d_name[0] != '.' &&
            (length < 9 || strcmp(entry->d_name + length - 9, ".expected") != 0)) {
            names[count++] = nest_arena_strdup(&arena, entry->d_name);
        }
    }
    if (directory) {
        (void)closedir(directory);
    }
    qsort(names, count, sizeof *names, compare_names);
    return 0;
}

static int release(void **state)
{
    (void)state;
    nest_arena_free(&arena);
    return 0;
}

static char *read_text(const char *path, struct nest_arena *into)
{
    char *text = nest_arena_alloc(into, 65536, 1);
    FILE *stream = fopen(path, "rb");
    if (stream) {
        text[fread(text, 1, 65535, stream)] = '\0';
        (void)fclose(stream);
    }
    return text;
}

static void check_one(const char *name)
{
    struct nest_arena local = NEST_ARENA_INIT;
    struct nest_errors errors;
    struct nest_strbuf said = NEST_STRBUF_INIT(1 << 20);
    enum nest_file_kind kind = NEST_FILE_DEVICE;
    nest_errors_init(&errors, &local);
    const enum nest_status status = nest_check_file(&library, name, &local, &kind, &errors);
    for (size_t i = 0; i < errors.count; i++) {
        nest_error_format(&errors.item[i], &said);
    }
    const char *stem = nest_arena_strndup(&local, name, strlen(name) - 5);
    const char *path = nest_arena_printf(&local, "%s.expected", stem);
    if (getenv("NEST_UPDATE")) {
        FILE *stream = fopen(path, "wb");
        assert_non_null(stream);
        (void)fputs(nest_strbuf_text(&said), stream);
        (void)fclose(stream);
    }
    const char *wanted = read_text(path, &local);
    if (status != NEST_BAD_INPUT || strcmp(wanted, nest_strbuf_text(&said)) != 0) {
        fail_msg("%s: status %d\n--- expected\n%s--- said\n%s", name, (int)status, wanted,
                 nest_strbuf_text(&said));
    }
    nest_strbuf_free(&said);
    nest_arena_free(&local);
}

static void broken_files_say_what_is_wrong(void **state)
{
    (void)state;
    assert_true(count >= 60);
    for (size_t i = 0; i < count; i++) {
        check_one(names[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_files_say_what_is_wrong)};
    return cmocka_run_group_tests(tests, find_files, release);
}
