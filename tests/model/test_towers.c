/* Encoder-decoders, Mamba hybrids, windows in some layers and image towers, counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"

static struct nest_model_spec small(void)
{
    return (struct nest_model_spec){.layers = 4,
                                    .hidden = 8,
                                    .ffn = 32,
                                    .heads = 2,
                                    .kv_heads = 2,
                                    .head_dim = 4,
                                    .vocab = 100,
                                    .seq = 16,
                                    .mlp = NEST_MLP_RELU,
                                    .tied = true,
                                    .causal = true};
}

static struct nest_model expand(const struct nest_model_spec *spec, struct nest_arena *arena)
{
    struct nest_errors errors;
    struct nest_model model;
    nest_errors_init(&errors, arena);
    assert_int_equal(nest_model_expand(spec, arena, &model, &errors), NEST_OK);
    return model;
}

/* Weights of a block: two norms, four projections, two matrices of the MLP. */
enum { BLOCK = 2 * 8 + 4 * 8 * 8 + 2 * 8 * 32, ENDS = 100 * 8 + 8 };

static void a_decoder_attends_twice(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = small();
    spec.encoder_layers = 3;
    const struct nest_model model = expand(&spec, &arena);
    const int64_t cross = 8 + 4 * 8 * 8;
    assert_int_equal(model.params, ENDS + 4 * BLOCK + cross);
    assert_int_equal(model.runs, 4);
    assert_int_equal(model.run[1].count, 3);
    assert_string_equal(model.kind[model.kind_of[1]].name, "encoder block");
    assert_string_equal(model.kind[model.kind_of[4]].name, "decoder block");
    nest_arena_free(&arena);
}

/* What crosses a boundary between decoder blocks is the last one's output and the encoder's. */
static void a_decoder_carries_the_encoder_along(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = small();
    spec.encoder_layers = 2;
    const struct nest_model model = expand(&spec, &arena);
    /* Embedding, two encoder blocks, two decoder blocks, head: behind each of them. */
    static const int tensors[6] = {1, 1, 1, 2, 1, 0};
    assert_null(model.cuts); /* every cut is still the first few layers */
    for (int i = 0; i < 6; i++) {
        const int *from = model.crossing->from;
        assert_int_equal(from[i + 2] - from[i + 1], tensors[i]);
    }
    assert_int_equal(model.crossing->layer[model.crossing->from[4]], 2);
    nest_arena_free(&arena);
}

static void mamba_stands_in_for_attention(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = small();
    spec.mamba = (struct nest_mamba_spec){
        .state = 3, .conv = 4, .inner = 16, .rank = 2, .attention_every = 4, .attention_first = 2};
    const struct nest_model model = expand(&spec, &arena);
    /* In, convolution with bias, selection, step with bias, A and D, out. */
    const int64_t mixer = 2 * 16 * 8 + 16 * 5 + 16 * (2 + 2 * 3) + 16 * 3 + 16 * 4 + 16 * 8;
    const int64_t block = BLOCK - 4 * 8 * 8 + mixer;
    assert_int_equal(model.params, ENDS + 3 * block + BLOCK);
    assert_int_equal(model.kind_of[1], model.kind_of[4]);
    assert_string_equal(model.kind[model.kind_of[3]].name, "block");
    assert_string_equal(model.kind[model.kind_of[4]].name, "Mamba block");
    nest_arena_free(&arena);
}

static void an_image_tower_is_a_branch_beside_the_embedding(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = small();
    const struct nest_model plain = expand(&spec, &arena);
    spec.vision = (struct nest_vision_spec){
        .layers = 2, .hidden = 4, .ffn = 6, .heads = 2, .tokens = 8, .patch = 2, .projection = 2};
    const struct nest_model model = expand(&spec, &arena);
    const int64_t patches = 4 * (3 * 2 * 2 + 8);
    const int64_t layer = 4 * 4 + 4 * 4 * (3 + 1) + 4 * (3 + 1) + 2 * 4 * 6 + 6 + 4;
    const int64_t projection = 8 * (4 + 1) + 8 * (8 + 1);
    /* Biases: one per output column, of each projection and of both matrices. */
    assert_int_equal(model.params - plain.params, patches + 2 * layer + projection);
    assert_int_equal(model.kind[0].dense_params, plain.kind[0].dense_params);
    assert_int_equal(model.lead, 1 + 4);
    assert_int_equal(model.layers, plain.layers + 4);
    assert_string_equal(model.kind[model.kind_of[1]].name, "image patches");
    assert_string_equal(model.kind[model.kind_of[4]].name, "image projection");
    /* The embedding has run or not, with 0 to 4 layers of the tower; then four blocks and a head.
     */
    assert_int_equal(model.cuts->count, 2 * 5 + 5);
    assert_null(plain.cuts);
    assert_null(plain.crossing);
    assert_true(model.flops_per_sequence > plain.flops_per_sequence);
    nest_arena_free(&arena);
}

/* Half the image tokens per sequence is half the work of the tower. */
static void an_image_tower_works_on_its_own_tokens(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = small();
    const double plain = expand(&spec, &arena).flops_per_sequence;
    spec.vision = (struct nest_vision_spec){
        .layers = 2, .hidden = 4, .ffn = 6, .heads = 2, .tokens = 8, .patch = 2, .projection = 1};
    const double work = expand(&spec, &arena).flops_per_sequence - plain;
    /* Forward and backward: patches, four matrices, two MLP matrices, scores, projection. */
    const double token = 12 * 4 + 2 * (4 * 16 + 2 * 24 + 8 * 2 * 4) + 4 * 8;
    assert_true(work == 3 * 2 * 8 * token);
    nest_arena_free(&arena);
}

/* One block in two sees all 16 tokens, the others 4 of them: 2 * 2 * 4 columns * keys a token. */
static void windows_hold_in_some_layers(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = small();
    const struct nest_model plain = expand(&spec, &arena);
    spec.attention = NEST_ATTENTION_WINDOW;
    spec.window = 4;
    const struct nest_model all = expand(&spec, &arena);
    spec.full_every = 2;
    spec.full_first = 1;
    const struct nest_model some = expand(&spec, &arena);
    const double block = 2.0 * 2 * (4 + 4) * (16 - 4);
    assert_true(plain.flops_per_sequence - all.flops_per_sequence == 3 * 16 * 4 * block);
    assert_true(plain.flops_per_sequence - some.flops_per_sequence == 3 * 16 * 2 * block);
    assert_int_equal(some.params, plain.params);
    assert_string_equal(some.kind[some.kind_of[1]].name, "window block");
    assert_string_equal(some.kind[some.kind_of[2]].name, "block");
    nest_arena_free(&arena);
}

static void a_narrow_table_is_projected(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = small();
    spec.embed_dim = 3;
    assert_int_equal(expand(&spec, &arena).params, 100 * 3 + 8 + 2 * 8 * 3 + 4 * BLOCK);
    spec.tied = false;
    assert_int_equal(expand(&spec, &arena).params, 2 * 100 * 3 + 8 + 2 * 8 * 3 + 4 * BLOCK);
    nest_arena_free(&arena);
}

/* Two projections of four merged tokens through a width of 5, each with its biases. */
static void merged_tokens_are_projected_together(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_model_spec spec = small();
    spec.vision = (struct nest_vision_spec){
        .layers = 2, .hidden = 4, .ffn = 6, .heads = 2, .tokens = 8, .patch = 2, .projection = 2};
    const int64_t plain = expand(&spec, &arena).params - 8 * (4 + 1) - 8 * (8 + 1);
    spec.vision.projection_hidden = 5;
    spec.vision.projectors = 2;
    spec.vision.merge = 4;
    assert_int_equal(expand(&spec, &arena).params - plain, 2 * (5 * (16 + 1) + 8 * (5 + 1)));
    nest_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decoder_attends_twice),
        cmocka_unit_test(a_decoder_carries_the_encoder_along),
        cmocka_unit_test(mamba_stands_in_for_attention),
        cmocka_unit_test(an_image_tower_is_a_branch_beside_the_embedding),
        cmocka_unit_test(an_image_tower_works_on_its_own_tokens),
        cmocka_unit_test(windows_hold_in_some_layers),
        cmocka_unit_test(a_narrow_table_is_projected),
        cmocka_unit_test(merged_tokens_are_projected_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
