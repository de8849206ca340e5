/* Parts beside the plain transformer block: state-space layers and image towers. */
#include "model/operators.h"

/* Bytes of a saved activation. */
static const double SAVED = 2.0;

static void put(struct nest_op_list *list, struct nest_op op)
{
    op.rows = op.rows > 0.0 ? op.rows : 1.0;
    op.saved_bytes = SAVED;
    list->op[list->count++] = op;
}

/* One Mamba layer (Gu and Dao 2023, section 3.4): projection in, short convolution, the step's
 * low-rank projection, the selective scan (fused, so it moves its inputs and outputs once), and
 * projection out. */
void nest_ops_mamba(struct nest_op_list *list)
{
    const struct nest_model_spec *s = list->spec;
    const int64_t h = s->hidden;
    const int64_t inner = s->mamba.inner;
    const int64_t state = s->mamba.state;
    const int64_t rank = s->mamba.rank;
    const int64_t select = rank + 2 * state;
    put(list, (struct nest_op){.name = "Mamba norm",
                               .kind = NEST_OP_ELEMENTWISE,
                               .split = NEST_SPLIT_SEQUENCE,
                               .weights = s->norm == NEST_NORM_LAYER ? 2 * h : h,
                               .traffic = 2.0 * (double)h,
                               .saved = 2.0 * (double)h});
    put(list, (struct nest_op){.name = "Mamba in",
                               .kind = NEST_OP_GEMM,
                               .split = NEST_SPLIT_TP_N,
                               .n = 2 * inner,
                               .k = h,
                               .weights = 2 * inner * h,
                               .saved = 2.0 * (double)inner});
    put(list, (struct nest_op){.name = "convolution",
                               .kind = NEST_OP_ELEMENTWISE,
                               .split = NEST_SPLIT_TP_N,
                               .weights = inner * (s->mamba.conv + 1),
                               .traffic = 2.0 * (double)inner,
                               .saved = (double)inner});
    put(list, (struct nest_op){.name = "selection",
                               .kind = NEST_OP_GEMM,
                               .split = NEST_SPLIT_TP_K,
                               .n = select,
                               .k = inner,
                               .weights = select * inner,
                               .saved = (double)select});
    put(list, (struct nest_op){.name = "step",
                               .kind = NEST_OP_GEMM,
                               .split = NEST_SPLIT_TP_N,
                               .n = inner,
                               .k = rank,
                               .weights = inner * (rank + 1),
                               .saved = (double)inner});
    put(list, (struct nest_op){.name = "scan",
                               .kind = NEST_OP_ELEMENTWISE,
                               .split = NEST_SPLIT_TP_N,
                               .weights = inner * (state + 1),
                               .traffic = (double)(4 * inner + 2 * state),
                               .saved = (double)inner});
    put(list, (struct nest_op){.name = "Mamba out",
                               .kind = NEST_OP_GEMM,
                               .split = NEST_SPLIT_TP_K,
                               .n = h,
                               .k = inner,
                               .weights = inner * h,
                               .saved = (double)inner});
    put(list, (struct nest_op){.name = "Mamba residual",
                               .kind = NEST_OP_ELEMENTWISE,
                               .split = NEST_SPLIT_SEQUENCE,
                               .traffic = 3.0 * (double)h});
}

/* Images have layers of their own beside the trunk's: rows are their tokens per token of the trunk.
 */
double nest_image_rows(const struct nest_model_spec *spec)
{
    return (double)spec->vision.tokens / (double)spec->seq;
}

static int64_t merged(const struct nest_model_spec *spec)
{
    return spec->vision.merge > 0 ? spec->vision.merge : 1;
}

double nest_merged_rows(const struct nest_model_spec *spec)
{
    return nest_image_rows(spec) / (double)merged(spec);
}

static void put_image_gemm(struct nest_op_list *list, const char *name, enum nest_split split,
                           int64_t n, int64_t k)
{
    put(list, (struct nest_op){.name = name,
                               .kind = NEST_OP_GEMM,
                               .split = split,
                               .n = n,
                               .k = k,
                               .rows = nest_image_rows(list->spec),
                               .weights = n * (k + 1),
                               .saved = (double)(split == NEST_SPLIT_TP_N ? n : k)});
}

/* From `merge` tokens of the tower side by side to one of the trunk, through one matrix or two. */
static void put_projection(struct nest_op_list *list)
{
    const struct nest_vision_spec *v = &list->spec->vision;
    const int64_t trunk = list->spec->hidden;
    int64_t from = v->hidden * merged(list->spec);
    for (int64_t i = 0; i < v->projection; i++) {
        const bool last = i + 1 == v->projection;
        const int64_t to = last || v->projection_hidden == 0 ? trunk : v->projection_hidden;
        put(list, (struct nest_op){.name = "image projection",
                                   .kind = NEST_OP_GEMM,
                                   .split = NEST_SPLIT_NONE,
                                   .n = to,
                                   .k = from,
                                   .rows = nest_merged_rows(list->spec),
                                   .weights = to * (from + 1),
                                   .saved = (double)to});
        from = to;
    }
}

void nest_ops_image_projection(struct nest_op_list *list)
{
    const int64_t projectors = list->spec->vision.projectors;
    const int64_t resampler = list->spec->vision.resampler;
    const int64_t hidden = list->spec->hidden;
    if (resampler > 0) {
        put(list, (struct nest_op){.name = "image resampler",
                                   .kind = NEST_OP_GEMM,
                                   .split = NEST_SPLIT_NONE,
                                   .n = hidden,
                                   .k = (resampler + hidden - 1) / hidden,
                                   .rows = nest_merged_rows(list->spec),
                                   .weights = resampler,
                                   .saved = (double)hidden});
    }
    for (int64_t i = 0; i < (projectors > 0 ? projectors : 1); i++) {
        put_projection(list);
    }
}

void nest_ops_patches(struct nest_op_list *list)
{
    const struct nest_vision_spec *v = &list->spec->vision;
    const int64_t pixels = 3 * v->patch * v->patch;
    put(list, (struct nest_op){.name = "patches",
                               .kind = NEST_OP_GEMM,
                               .split = NEST_SPLIT_NONE,
                               .n = v->hidden,
                               .k = pixels,
                               .rows = nest_image_rows(list->spec),
                               .weights = v->hidden * (pixels + v->tokens)});
}

void nest_ops_image_block(struct nest_op_list *list)
{
    const struct nest_vision_spec *v = &list->spec->vision;
    const double rows = nest_image_rows(list->spec);
    put(list, (struct nest_op){.name = "image norms",
                               .kind = NEST_OP_ELEMENTWISE,
                               .split = NEST_SPLIT_SEQUENCE,
                               .rows = rows,
                               .weights = 4 * v->hidden,
                               .traffic = 10.0 * (double)v->hidden,
                               .saved = 4.0 * (double)v->hidden});
    put_image_gemm(list, "image query, key, value", NEST_SPLIT_TP_N, 3 * v->hidden, v->hidden);
    put(list, (struct nest_op){.name = "image attention",
                               .kind = NEST_OP_ATTENTION,
                               .split = NEST_SPLIT_TP_N,
                               .n = v->heads,
                               .k = v->hidden / v->heads,
                               .v_dim = v->hidden / v->heads,
                               .context = v->tokens,
                               .rows = rows,
                               .whole = true});
    put_image_gemm(list, "image attention out", NEST_SPLIT_TP_K, v->hidden, v->hidden);
    put_image_gemm(list, "image MLP up", NEST_SPLIT_TP_N, v->gated ? 2 * v->ffn : v->ffn,
                   v->hidden);
    put_image_gemm(list, "image MLP down", NEST_SPLIT_TP_K, v->hidden, v->ffn);
}
