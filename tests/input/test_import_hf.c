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

/* Asserts one line of hf_published.tsv: name, total, active or "-", configuration. */
static bool counts_as_published(struct importing *in, char *line)
{
    char *rest = NULL;
    const char *name = strtok_r(line, "\t", &rest);
    const char *total = strtok_r(NULL, "\t", &rest);
    const char *active = strtok_r(NULL, "\t", &rest);
    const char *config = strtok_r(NULL, "\t", &rest);
    struct nest_model_spec spec;
    assert_non_null(config);
    importing_text(in, "hf", name, config, strlen(config));
    if (in->status != NEST_OK) {
        print_error("%s: %s", name, importing_faults(in));
        return false;
    }
    const struct nest_model model = expand(in, &spec);
    const bool all = strcmp(active, "-") == 0;
    if (within(model.params, atof(total)) &&
        within(model.active_params, all ? atof(total) : atof(active))) {
        return true;
    }
    print_error("%s: %lld of which %lld active, expected %s and %s\n", name,
                (long long)model.params, (long long)model.active_params, total, active);
    return false;
}

static void families_count_as_published(void **state)
{
    (void)state;
    struct importing in;
    importing_begin(&in);
    size_t length;
    char *text = importing_read(&in, importing_example(&in, "hf_published.tsv"), &length);
    int rows = 0, wrong = 0;
    char *outer = NULL;
    for (char *line = strtok_r(text, "\n", &outer); line; line = strtok_r(NULL, "\n", &outer)) {
        if (line[0] != '#') {
            wrong += !counts_as_published(&in, line);
            rows++;
        }
    }
    assert_int_equal(wrong, 0);
    assert_true(rows >= 170);
    importing_end(&in);
}

/* What a list of layers, a pattern or the class alone says about windows. */
static void windows_in_some_layers_keep_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        int64_t window, every, first;
    } cases[] = {
        {"\"model_type\": \"gemma3_text\", \"sliding_window\": 512", 512, 6, 5},
        {"\"model_type\": \"gemma3_text\", \"sliding_window\": 512, \"sliding_window_pattern\": 3",
         512, 3, 2},
        {"\"model_type\": \"gpt_oss\", \"sliding_window\": 128, \"layer_types\": "
         "[\"sliding_attention\", \"full_attention\", \"sliding_attention\", "
         "\"full_attention\"]",
         128, 2, 1},
        {"\"model_type\": \"gpt_oss\", \"sliding_window\": 128, \"layer_types\": "
         "[\"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\"]",
         0, 0, 0},
        {"\"model_type\": \"gpt_oss\", \"sliding_window\": 128, \"layer_types\": "
         "[\"sliding_attention\", \"sliding_attention\", \"full_attention\", "
         "\"sliding_attention\"]",
         128, 3, 2},
        {"\"model_type\": \"exaone4\", \"sliding_window\": 64, \"sliding_window_pattern\": "
         "\"LLLG\"",
         64, 4, 3},
        {"\"model_type\": \"gpt_neo\", \"num_heads\": 4", 256, 2, 0},
        {"\"model_type\": \"mistral\", \"sliding_window\": 4096", 4096, 0, 0},
        {"\"model_type\": \"mistral\", \"sliding_window\": null", 0, 0, 0},
        {"\"model_type\": \"qwen2\", \"sliding_window\": 99, \"use_sliding_window\": false", 0, 0,
         0},
        {"\"model_type\": \"qwen2\", \"sliding_window\": 99, \"use_sliding_window\": true, "
         "\"max_window_layers\": 0",
         99, 0, 0},
    };
    struct importing in;
    importing_begin(&in);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nest_model_spec spec;
        const char *config = nest_arena_printf(
            &in.arena,
            "{%s, \"hidden_size\": 64, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, "
            "\"num_key_value_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 100}",
            cases[i].keys);
        importing_text(&in, "hf", "config.json", config, strlen(config));
        importing_model(&in, &spec);
        assert_int_equal(spec.attention == NEST_ATTENTION_WINDOW, cases[i].window > 0);
        assert_int_equal(spec.window, cases[i].window);
        assert_int_equal(spec.full_every, cases[i].every);
        assert_int_equal(spec.full_first, cases[i].first);
    }
    importing_end(&in);
}

static void assert_fault(struct importing *in, const char *config, const char *expected)
{
    importing_text(in, "hf", "config.json", config, strlen(config));
    assert_int_equal(in->status, NEST_BAD_INPUT);
    assert_string_equal(importing_faults(in), expected);
}

static void what_cannot_be_described_is_said_with_its_place(void **state)
{
    (void)state;
    struct importing in;
    importing_begin(&in);
    assert_fault(&in, "{\"model_type\": \"frobnicator\"}",
                 "config.json:1:16: model_type: model type 'frobnicator' is not known; describe it "
                 "in our own keys, see an example in models/\n");
    assert_fault(&in, "{\"model_type\": \"openelm\"}",
                 "config.json:1:16: model_type: model type 'openelm' cannot be imported: layers of "
                 "different widths cannot be described\n");
    assert_fault(
        &in,
        "{\"model_type\": \"hunyuan_v1_moe\", \"hidden_size\": 64, \"num_hidden_layers\": "
        "2,\n\"num_attention_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 100, "
        "\"num_experts\": 4, \"moe_topk\": [1, 2]}",
        "config.json:2:106: moe_topk[1]: a size that differs from layer to layer cannot be "
        "described; one value for all layers\n");
    assert_fault(&in,
                 "{\"model_type\": \"gpt_oss\", \"hidden_size\": 64, \"num_hidden_layers\": 1,\n"
                 "\"num_attention_heads\": 8, \"sliding_window\": 8, \"layer_types\": [\"conv\"]}",
                 "config.json:2:64: layer_types[0]: layers of type 'conv' cannot be described; "
                 "full_attention, sliding_attention or chunked_attention\n");
    importing_end(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_count_as_published),
        cmocka_unit_test(windows_in_some_layers_keep_their_place),
        cmocka_unit_test(what_cannot_be_described_is_said_with_its_place),
        cmocka_unit_test(reference_configs_have_the_stated_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
