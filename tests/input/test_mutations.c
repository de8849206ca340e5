/* Corpus replay: every shipped and broken file, changed at random, is read without a crash, a hang
 * or a leak, and what loads is written and loads again. Meant for the sanitizers and valgrind; a
 * file named in NEST_FUZZ is replayed alone. */
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

#include "input/doc.h"
#include "support/cluster.h"
#include "support/input.h"
#include "support/seed.h"

enum { TEXT_MAX = 1 << 14, FILES_MAX = 512 };

struct corpus {
    const char *path[FILES_MAX];
    int count;
};

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_folder(struct test_input *input, const char *folder, struct corpus *corpus)
{
    const char *path = nest_arena_printf(&input->arena, "%s/%s", input->library.root, folder);
    DIR *directory = opendir(path);
    const struct dirent *entry = NULL;
    assert_non_null(directory);
    while (corpus->count < FILES_MAX && (entry = readdir(directory))) {
        const size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0) {
            corpus->path[corpus->count++] =
                nest_arena_printf(&input->arena, "%s/%s", path, entry->d_name);
        }
    }
    (void)closedir(directory);
    qsort(corpus->path, (size_t)corpus->count, sizeof corpus->path[0], compare_paths);
}

static size_t read_file(const char *path, char *out)
{
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    const size_t length = fread(out, 1, TEXT_MAX / 2, stream);
    (void)fclose(stream);
    return length;
}

static size_t replace(char *text, size_t length, size_t at, size_t drop, const char *put,
                      size_t put_length)
{
    drop = drop < length - at ? drop : length - at;
    if (length - drop + put_length > TEXT_MAX) {
        return length;
    }
    memmove(text + at + put_length, text + at + drop, length - at - drop);
    memcpy(text + at, put, put_length);
    return length - drop + put_length;
}

/* What has hurt parsers before. */
static const char *const words[] = {
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    ",",
    "\n",
    "\t",
    "- ",
    "&a ",
    "*a",
    "!!x ",
    "---\n",
    "\"",
    "'",
    "#",
    "|\n",
    "? ",
    "null",
    "~",
    "-1",
    "0",
    "1e308",
    "1e-308",
    "nan",
    "GiB",
    "\xff",
    "\xef\xbb\xbf",
    "%",
    "@",
    "999999999999999999999",
};

/* One change: a byte, a cut, a piece doubled, or a word. */
static size_t mutate(struct test_random *random, char *text, size_t length)
{
    const size_t at = (size_t)test_random_below(random, (int64_t)length + 1);
    const size_t span = (size_t)test_random_below(random, 40);
    char byte = (char)test_random_below(random, 256);
    switch (test_random_below(random, 5)) {
    case 0:
        return replace(text, length, at, 1, &byte, 1);
    case 1:
        return replace(text, length, at, span, "", 0);
    case 2: {
        char piece[64];
        const size_t from = (size_t)test_random_below(random, (int64_t)length + 1);
        const size_t take = span < length - from ? span : length - from;
        memcpy(piece, text + from, take);
        return replace(text, length, at, 0, piece, take);
    }
    default: {
        const char *word =
            words[test_random_below(random, (int64_t)(sizeof words / sizeof words[0]))];
        return replace(text, length, at, span % 4, word, strlen(word));
    }
    }
}

/* Reads text as whatever it is; a good scenario must also survive being written. */
static bool replay(const struct nest_library *library, const char *path, const char *text,
                   size_t length)
{
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    enum nest_file_kind kind = NEST_FILE_DEVICE;
    nest_errors_init(&errors, &arena);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(text, 1, length, stream), length);
    (void)fclose(stream);
    const enum nest_status status = nest_check_file(library, path, &arena, &kind, &errors);
    assert_true(status == NEST_OK ? errors.count == 0 : errors.count > 0);
    if (status == NEST_OK && kind == NEST_FILE_SCENARIO) {
        struct nest_scenario_spec scenario;
        struct nest_strbuf written = NEST_STRBUF_INIT(1 << 20);
        const struct nest_scenario_request request = {.scenario = path};
        assert_int_equal(nest_load_scenario(library, &request, &arena, &scenario, &errors),
                         NEST_OK);
        nest_scenario_write(&scenario, &written);
        stream = fopen(path, "wb");
        assert_non_null(stream);
        (void)fwrite(nest_strbuf_text(&written), 1, written.length, stream);
        (void)fclose(stream);
        if (nest_load_scenario(library, &request, &arena, &scenario, &errors) != NEST_OK) {
            fail_msg("from:\n%.*s\nwritten:\n%s\n%s", (int)length, text, nest_strbuf_text(&written),
                     errors.item[0].message);
        }
        nest_strbuf_free(&written);
    }
    nest_arena_free(&arena);
    return status == NEST_OK;
}

static void changed_files_are_survived(void **state)
{
    struct test_input input;
    struct test_random random = {test_seed()};
    struct corpus corpus = {.count = 0};
    char path[] = "/tmp/nest-mutation-XXXXXX";
    static char text[TEXT_MAX];
    const int rounds = test_instances(3);
    int good = 0;
    (void)state;
    print_message("seed %llu\n", (unsigned long long)random.state);
    test_input_begin(&input);
    add_folder(&input, "models", &corpus);
    add_folder(&input, "topologies", &corpus);
    add_folder(&input, "topologies/devices", &corpus);
    add_folder(&input, "tests/input/broken", &corpus);
    (void)close(mkstemp(path));
    for (int i = 0; i < corpus.count; i++) {
        const size_t length = read_file(corpus.path[i], text);
        for (int round = 0; round < rounds; round++) {
            static char changed[TEXT_MAX];
            size_t size = length;
            memcpy(changed, text, length);
            for (int64_t left = test_random_below(&random, 4); left > 0; left--) {
                size = mutate(&random, changed, size);
            }
            good += replay(&input.library, path, changed, size);
        }
    }
    (void)unlink(path);
    print_message("%d files, %d variants loaded\n", corpus.count, good);
    assert_true(good > 5 * rounds);
    test_input_end(&input);
}

static void one_file_is_replayed(void **state)
{
    const char *path = getenv("NEST_FUZZ");
    static char text[TEXT_MAX];
    struct test_input input;
    (void)state;
    if (!path) {
        skip();
    }
    char copy[] = "/tmp/nest-replay-XXXXXX";
    test_input_begin(&input);
    (void)close(mkstemp(copy));
    (void)replay(&input.library, copy, text, read_file(path, text));
    (void)unlink(copy);
    test_input_end(&input);
}

/* Set and pin take whatever is typed. */
static void typed_text_is_survived(void **state)
{
    struct test_input input;
    struct test_random random = {test_seed()};
    struct nest_scenario_spec scenario;
    (void)state;
    test_input_begin(&input);
    const struct nest_scenario_request request = {0};
    assert_int_equal(
        nest_load_scenario(&input.library, &request, &input.arena, &scenario, &input.errors),
        NEST_OK);
    const char **paths = nest_paths(&scenario, &input.arena);
    const struct nest_mark mark = {":", 1, 1};
    for (int i = 0; i < 3000; i++) {
        static char typed[TEXT_MAX];
        const char *path = paths[i % 60];
        const char *value = nest_get(&scenario, path, &input.arena);
        size_t length = strlen(value ? value : "");
        memcpy(typed, value ? value : "", length);
        for (int change = 0; change < 3; change++) {
            length = mutate(&random, typed, length);
        }
        typed[length] = '\0';
        (void)nest_set(&scenario, i % 7 ? path : typed, typed, mark, &input.arena, &input.errors);
        (void)nest_pin_set(&scenario.pins, nest_pin_key_word((enum nest_pin_key)(i % NEST_PINS)),
                           typed, mark, &input.errors);
        (void)nest_pin_set(&scenario.pins, "order", typed, mark, &input.errors);
        test_input_clear(&input);
    }
    test_input_end(&input);
}

/* What takes long in a careless reader must end soon here; the hang guard is alarm(2). */
static void hostile_files_end_soon(void **state)
{
    struct test_input input;
    (void)state;
    test_input_begin(&input);
    char path[] = "/tmp/nest-hostile-XXXXXX";
    (void)close(mkstemp(path));
    (void)alarm(60);
    for (int kind = 0; kind < 5; kind++) {
        FILE *stream = fopen(path, "wb");
        assert_non_null(stream);
        for (int i = 0; i < 200000; i++) {
            (void)(kind == 0   ? fputs("[", stream)
                   : kind == 1 ? fprintf(stream, "key%d: 1\n", i)
                   : kind == 2 ? fputs("- ", stream)
                   : kind == 3 ? fputs(i ? "a" : "name: \"", stream)
                               : fputs(i ? ", {fanout: 2}" : "levels: [1", stream));
        }
        (void)fclose(stream);
        enum nest_file_kind found = NEST_FILE_DEVICE;
        test_input_clear(&input);
        assert_int_equal(nest_check_file(&input.library, path, &input.arena, &found, &input.errors),
                         NEST_BAD_INPUT);
    }
    (void)alarm(0);
    (void)unlink(path);
    test_input_end(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_files_are_survived),
        cmocka_unit_test(one_file_is_replayed),
        cmocka_unit_test(typed_text_is_survived),
        cmocka_unit_test(hostile_files_end_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
