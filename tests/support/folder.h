/* A folder of a test's own, with files in it, gone at its end. */
#ifndef TESTS_SUPPORT_FOLDER_H
#define TESTS_SUPPORT_FOLDER_H

#include "base/arena.h"

struct test_folder {
    struct nest_arena arena;
    char path[64];
};

void test_folder_open(struct test_folder *folder);

/* Removes it with everything in it; links are not followed. */
void test_folder_close(struct test_folder *folder);

/* The path of a name in it; lives as long as the folder. */
const char *test_folder_path(struct test_folder *folder, const char *name);

/* Writes a file in place, or lets a new one take its place, as many editors do. */
void test_folder_write(struct test_folder *folder, const char *name, const char *text);
void test_folder_replace(struct test_folder *folder, const char *name, const char *text);

#endif
