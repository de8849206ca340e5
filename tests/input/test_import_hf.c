#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "support/importing.h"

static struct nest_model expand(struct importing *in, struct nest_model_spec *spec)
{
    struct nest_model model;
    importing_model(in, spec);
    assert_int_equal(nest_model_expand(spec, &in->arena, &model, &in->errors), NEST_OK);
    return model;
}

static bool within(int64_t count, double expected)
{
    return fabs((double)count - expected) < 0.01 * expected;
}

/* Every reference configuration: total and active parameters within 1% of what the file says. */
static void reference_configs_have_the_stated_parameters(void **state)
{
    (void)state;
    struct importing in;
    importing_begin(&in);
    const char *table = importing_shared(&in, "hf_configs/params.tsv");
    if (!table) {
        importing_end(&in);
        skip();
    }
    size_t length;
    char *text = importing_read(&in, table, &length);
    int rows = 0, wrong = 0;
    char *outer = NULL;
    strtok_r(text, "\n", &outer);
    for (char *line = strtok_r(NULL, "\n", &outer); line; line = strtok_r(NULL, "\n", &outer)) {
        const char *cell[7] = {0};
        char *inner = NULL;
        cell[0] = strtok_r(line, "\t", &inner);
        for (int i = 1; i < 7; i++) {
            cell[i] = strtok_r(NULL, "\t", &inner);
        }
        struct nest_model_spec spec;
        importing_files(
            &in, "hf",
            importing_shared(&in, nest_arena_printf(&in.arena, "hf_configs/%s.json", cell[0])),
            NULL);
        const struct nest_model model = expand(&in, &spec);
        if (!within(model.params, atof(cell[5])) || !within(model.active_params, atof(cell[6]))) {
            print_error("%s: %lld of which %lld active, expected %s and %s\n", cell[0],
                        (long long)model.params, (long long)model.active_params, cell[5], cell[6]);
            wrong++;
        }
        rows++;
    }
    assert_int_equal(wrong, 0);
    assert_true(rows >= 40);
    importing_end(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_configs_have_the_stated_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
