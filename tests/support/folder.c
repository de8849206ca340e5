#include "tests/support/folder.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { HANDLES = 16 };

void test_folder_open(struct test_folder *folder)
{
    *folder = (struct test_folder){.path = "/tmp/nest-test-XXXXXX"};
    assert_non_null(mkdtemp(folder->path));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

void test_folder_close(struct test_folder *folder)
{
    assert_int_equal(nftw(folder->path, remove_one, HANDLES, FTW_DEPTH | FTW_PHYS), 0);
    nest_arena_free(&folder->arena);
}

const char *test_folder_path(struct test_folder *folder, const char *name)
{
    const char *path = nest_arena_printf(&folder->arena, "%s/%s", folder->path, name);
    assert_non_null(path);
    return path;
}

void test_folder_write(struct test_folder *folder, const char *name, const char *text)
{
    FILE *file = fopen(test_folder_path(folder, name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void test_folder_replace(struct test_folder *folder, const char *name, const char *text)
{
    const char *other = nest_arena_printf(&folder->arena, "%s~", name);
    assert_non_null(other);
    test_folder_write(folder, other, text);
    assert_int_equal(rename(test_folder_path(folder, other), test_folder_path(folder, name)), 0);
}
