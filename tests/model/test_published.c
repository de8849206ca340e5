/* Every shipped model counts as many parameters as its publisher states, within 1 %. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "input/load.h"
#include "model/model.h"

static void assert_within_percent(const char *what, const char *id, double counted,
                                  double published)
{
    const double error = counted / published - 1;
    if (error > 0.01 || error < -0.01) {
        fail_msg("%s of %s: counted %.6g, published %.6g (%+.2f%%)", what, id, counted, published,
                 100 * error);
    }
}

/* Publishers differ on whether active parameters count both embeddings (DeepSeek leaves about one
 * out, Mistral counts both), so one vocabulary table more is allowed there. */
static void assert_active(const struct nest_model_spec *spec, double counted)
{
    const double table = (double)(spec->vocab * spec->hidden);
    const double published = spec->params_active_published;
    if (counted < 0.99 * published || counted > 1.01 * published + table) {
        fail_msg("active parameters of %s: counted %.6g, published %.6g", spec->id, counted,
                 published);
    }
}

static void shipped_models_count_right(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_library library;
    assert_int_equal(nest_library_find(&arena, &library), NEST_OK);
    const char **id = nest_library_list(&library, "models", &arena);
    for (; *id; id++) {
        struct nest_errors errors;
        struct nest_model_spec spec;
        struct nest_model model;
        nest_errors_init(&errors, &arena);
        assert_int_equal(nest_load_model(&library, *id, &arena, &spec, &errors), NEST_OK);
        assert_int_equal(nest_model_expand(&spec, &arena, &model, &errors), NEST_OK);
        assert_within_percent("parameters", *id, (double)model.params, spec.params_published);
        if (spec.params_active_published > 0) {
            assert_active(&spec, (double)model.active_params);
        }
    }
    nest_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_models_count_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
