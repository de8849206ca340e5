/* scripts/extract_fx.py on small modules, read back by nest. Skipped where there is no PyTorch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

/* A Python with PyTorch: the first on PATH, or Debian's own. NULL: none. */
static const char *find_python(void)
{
    static const char *const python[] = {"python3", "/usr/bin/python3"};
    for (size_t i = 0; i < sizeof python / sizeof python[0]; i++) {
        struct command_result result =
            shell_run("--version >/dev/null && %s -c 'import torch.fx'", python[i]);
        const bool found = result.status == 0;
        command_free(&result);
        if (found) {
            return python[i];
        }
    }
    return NULL;
}

/* $DIR/NAME.yaml from a module of tests/data/fx, then `nest LINE`. */
static struct command_result extract(const char *module, const char *inputs, const char *line)
{
    const char *python = find_python();
    if (python == NULL) {
        skip();
    }
    return shell_run("--version >/dev/null && %s scripts/extract_fx.py "
                     "tests/data/fx/models.py:%s %s --runs 1 >$DIR/%s.yaml && $NEST %s",
                     python, module, inputs, module, line);
}

static void a_chain_has_its_layers_and_parameters(void **state)
{
    (void)state;
    struct command_result result =
        extract("Chain", "--input 2x32:100", "show $DIR/Chain.yaml --json");
    assert_status(&result, 0);
    struct json_object *root = command_json(&result);
    /* A table of 100 x 16 that the head shares, four blocks of two matrices, a norm. */
    const int block = 16 * 64 + 64 + 64 * 16 + 16;
    assert_true(json_number(root, "params") == 1600 + 4 * block + 32);
    assert_true(json_number(root, "layers") == 7);
    json_object_put(root);
    command_free(&result);
    result = shell_run("check $DIR/Chain.yaml && cat $DIR/Chain.yaml");
    assert_contains(result.out, "name: blocks, times: 4");
    assert_contains(result.out, "edges: [[embedding, blocks], [blocks, norm], [norm, head]]");
    /* One sequence of 32 tokens of width 16, two bytes each. */
    assert_contains(result.out, "boundary: 1024B");
    command_free(&result);
}

/* Two towers join in the trunk's first block, and its first output skips the second. */
static void branches_become_edges(void **state)
{
    (void)state;
    struct command_result result = extract("Towers", "--input 2x5x12 --input 2x7:100 --seq 12",
                                           "show $DIR/Towers.yaml --json");
    assert_status(&result, 0);
    struct json_object *root = command_json(&result);
    const int block = 16 * 64 + 64 + 64 * 16 + 16;
    assert_true(json_number(root, "params") == 12 * 16 + 16 + 1600 + 6 * block + 16 + 16 * 10 + 10);
    assert_true(json_number(root, "layers") == 9);
    json_object_put(root);
    command_free(&result);
    result = shell_run("version >/dev/null; cat $DIR/Towers.yaml");
    assert_contains(result.out,
                    "edges: [[image_0, image], [text_0, text_1], [image, trunk_0], [text_1, "
                    "trunk_0], [trunk_0, trunk_1], [trunk_0, trunk_2], [trunk_1, trunk_2], "
                    "[trunk_2, head]]");
    command_free(&result);
    result = shell_run("solve --model $DIR/Towers.yaml --cluster hgx-h100-8 --set global_batch=8 "
                       "--json");
    assert_status(&result, 0);
    command_free(&result);
}

static void what_cannot_be_traced_is_said(void **state)
{
    (void)state;
    struct command_result result = extract("loops", "--input 1x8", "--version");
    assert_int_not_equal(result.status, 0);
    assert_contains(result.err, "torch.fx cannot follow what the module does between its layers");
    command_free(&result);
    result = extract("Nothing", "--input 1x8", "--version");
    assert_contains(result.err, "tests/data/fx/models.py has no 'Nothing'");
    command_free(&result);
    result = extract("Chain", "--input 1xtwo", "--version");
    assert_contains(result.err, "'1xtwo' is no shape, such as 1x512x1024 or 1x512:30000");
    command_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_has_its_layers_and_parameters),
        cmocka_unit_test(branches_become_edges),
        cmocka_unit_test(what_cannot_be_traced_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
