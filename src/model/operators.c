#include "model/operators.h"

/* Bytes of a saved activation: all of them are kept in 16 bits, dropout masks in 8. */
static const double SAVED = 2.0;
static const double MASK = 1.0;

int64_t nest_query_columns(const struct nest_model_spec *spec)
{
    const bool mla = spec->attention == NEST_ATTENTION_MLA;
    return spec->heads * (mla ? spec->qk_nope_dim + spec->qk_rope_dim : spec->head_dim);
}

int64_t nest_kv_columns(const struct nest_model_spec *spec)
{
    if (spec->attention == NEST_ATTENTION_MLA) {
        return nest_query_columns(spec) + spec->heads * spec->v_head_dim;
    }
    return 2 * spec->kv_heads * spec->head_dim;
}

int64_t nest_model_shared_width(const struct nest_model_spec *spec)
{
    return spec->shared_ffn > 0 ? spec->shared_ffn : spec->shared_experts * spec->moe_ffn;
}

int64_t nest_embed_columns(const struct nest_model_spec *spec)
{
    return spec->embed_dim > 0 ? spec->embed_dim : spec->hidden;
}

bool nest_gated(const struct nest_model_spec *spec)
{
    return spec->mlp == NEST_MLP_SWIGLU || spec->mlp == NEST_MLP_GEGLU;
}

bool nest_has_dropout(const struct nest_model_spec *spec)
{
    return spec->norm == NEST_NORM_LAYER && spec->bias && !nest_gated(spec);
}

static void add(struct nest_op_list *list, struct nest_op op)
{
    op.rows = op.rows > 0.0 ? op.rows : 1.0;
    list->op[list->count++] = op;
}

static int64_t norm_weights(const struct nest_model_spec *spec, int64_t width)
{
    return spec->norm == NEST_NORM_LAYER ? 2 * width : width;
}

/* Reads and writes each element once; keeps its input and its output (the next GEMM's input). */
static void add_norm(struct nest_op_list *list, const char *name, enum nest_split split,
                     int64_t width)
{
    add(list, (struct nest_op){.name = name,
                               .kind = NEST_OP_ELEMENTWISE,
                               .split = split,
                               .weights = norm_weights(list->spec, width),
                               .traffic = 2.0 * (double)width,
                               .saved = 2.0 * (double)width,
                               .saved_bytes = SAVED,
                               .saved_fp8 = -(double)width});
}

/* Residual addition, with the row-parallel GEMM's bias (never divided) and dropout if any. */
static void add_residual(struct nest_op_list *list, const char *name)
{
    const struct nest_model_spec *spec = list->spec;
    const double h = (double)spec->hidden;
    add(list, (struct nest_op){.name = name,
                               .kind = NEST_OP_ELEMENTWISE,
                               .split = NEST_SPLIT_SEQUENCE,
                               .weights = spec->bias ? spec->hidden : 0,
                               .traffic = 3.0 * h,
                               .saved = nest_has_dropout(spec) ? h : 0.0,
                               .saved_bytes = MASK});
}

static void add_gemm(struct nest_op_list *list, const char *name, enum nest_split split, int64_t n,
                     int64_t k, double saved)
{
    add(list, (struct nest_op){.name = name,
                               .kind = NEST_OP_GEMM,
                               .split = split,
                               .n = n,
                               .k = k,
                               .weights = n * k,
                               .saved = saved,
                               .saved_bytes = SAVED});
}

static void add_mla_projections(struct nest_op_list *list)
{
    const struct nest_model_spec *s = list->spec;
    const int64_t query = nest_query_columns(s);
    const int64_t up = s->heads * (s->qk_nope_dim + s->v_head_dim);
    if (s->q_lora_rank > 0) {
        add_gemm(list, "query down", NEST_SPLIT_ROWS, s->q_lora_rank, s->hidden, 0.0);
        add_norm(list, "query norm", NEST_SPLIT_ROWS, s->q_lora_rank);
        add_gemm(list, "query up", NEST_SPLIT_TP_N, query, s->q_lora_rank, (double)query);
    } else {
        add_gemm(list, "query", NEST_SPLIT_TP_N, query, s->hidden, (double)query);
    }
    add_gemm(list, "kv down", NEST_SPLIT_ROWS, s->kv_lora_rank + s->qk_rope_dim, s->hidden, 0.0);
    add_norm(list, "kv norm", NEST_SPLIT_ROWS, s->kv_lora_rank);
    add_gemm(list, "kv up", NEST_SPLIT_TP_N, up, s->kv_lora_rank, (double)nest_kv_columns(s));
}

static void add_full_projections(struct nest_op_list *list)
{
    const struct nest_model_spec *s = list->spec;
    const int64_t kv = nest_kv_columns(s);
    const int64_t n = nest_query_columns(s) + kv;
    add_gemm(list, "query, key, value", NEST_SPLIT_TP_N, n, s->hidden, (double)n);
    struct nest_op *op = &list->op[list->count - 1];
    op->kv_n = kv;
    op->weights += s->bias || s->qkv_bias ? n : 0;
}

void nest_ops_attention(struct nest_op_list *list, bool whole, int64_t window)
{
    const struct nest_model_spec *s = list->spec;
    const bool mla = s->attention == NEST_ATTENTION_MLA;
    const int64_t value = mla ? s->v_head_dim : s->head_dim;
    add_norm(list, "attention norm", NEST_SPLIT_SEQUENCE, s->hidden);
    if (mla) {
        add_mla_projections(list);
    } else {
        add_full_projections(list);
    }
    if (s->qk_norm) {
        add(list,
            (struct nest_op){.name = "query and key norm",
                             .kind = NEST_OP_ELEMENTWISE,
                             .split = NEST_SPLIT_TP_HEADS,
                             .weights = 2 * s->head_dim,
                             .traffic = 2.0 * (double)((s->heads + s->kv_heads) * s->head_dim),
                             .saved = (double)((s->heads + s->kv_heads) * s->head_dim),
                             .saved_bytes = SAVED});
    }
    if (s->position == NEST_POSITION_ROPE) {
        const int64_t rotated =
            mla ? (s->heads + 1) * s->qk_rope_dim : (s->heads + s->kv_heads) * s->head_dim;
        add(list, (struct nest_op){.name = "rotary",
                                   .kind = NEST_OP_ELEMENTWISE,
                                   .split = NEST_SPLIT_TP_HEADS,
                                   .traffic = 2.0 * (double)rotated});
    }
    add(list, (struct nest_op){.name = "attention",
                               .kind = NEST_OP_ATTENTION,
                               .split = NEST_SPLIT_TP_N,
                               .n = s->heads,
                               .k = mla ? s->qk_nope_dim + s->qk_rope_dim : s->head_dim,
                               .v_dim = value,
                               .context = window > 0 && window < s->seq ? window : s->seq,
                               .whole = whole});
    add_gemm(list, "attention out", NEST_SPLIT_TP_K, s->hidden, s->heads * value,
             (double)(s->heads * value));
    /* Attention keeps its output as it is. */
    list->op[list->count - 1].saved_fp8 = (double)(s->heads * value);
    add_residual(list, "attention residual");
}

/* Queries from the decoder, keys and values from the encoder's output, of equal length. */
void nest_ops_cross_attention(struct nest_op_list *list)
{
    const struct nest_model_spec *s = list->spec;
    const int64_t query = nest_query_columns(s);
    const int64_t kv = nest_kv_columns(s);
    add_norm(list, "cross norm", NEST_SPLIT_SEQUENCE, s->hidden);
    add_gemm(list, "cross query, key, value", NEST_SPLIT_TP_N, query + kv, s->hidden,
             (double)(query + kv));
    struct nest_op *op = &list->op[list->count - 1];
    op->kv_n = kv;
    op->weights += s->bias || s->qkv_bias ? query + kv : 0;
    add(list, (struct nest_op){.name = "cross attention",
                               .kind = NEST_OP_ATTENTION,
                               .split = NEST_SPLIT_TP_N,
                               .n = s->heads,
                               .k = s->head_dim,
                               .v_dim = s->head_dim,
                               .context = s->seq,
                               .whole = true});
    add_gemm(list, "cross out", NEST_SPLIT_TP_K, s->hidden, query, (double)query);
    add_residual(list, "cross residual");
}

/* Two GEMMs with the activation between them. The first keeps its output, the second its input. */
static void add_mlp(struct nest_op_list *list, const char *const name[3], struct nest_op shape,
                    int64_t width)
{
    const struct nest_model_spec *s = list->spec;
    const bool expert = shape.split == NEST_SPLIT_EXPERT_N;
    const int64_t copies = expert ? s->experts : 1;
    const int64_t columns = nest_gated(s) ? 2 * width : width;
    struct nest_op up = shape;
    up.name = name[0];
    up.kind = NEST_OP_GEMM;
    up.n = columns;
    up.k = s->hidden;
    up.weights = copies * (columns * s->hidden + (s->bias ? columns : 0));
    up.saved = (double)columns;
    up.saved_bytes = SAVED;
    add(list, up);
    struct nest_op activation = shape;
    activation.name = name[1];
    activation.kind = NEST_OP_ELEMENTWISE;
    activation.traffic = (double)(columns + width);
    activation.saved_unfused = nest_gated(s) ? (double)width : 0.0;
    add(list, activation);
    struct nest_op down = shape;
    down.name = name[2];
    down.kind = NEST_OP_GEMM;
    down.split = expert ? NEST_SPLIT_EXPERT_K : NEST_SPLIT_TP_K;
    down.n = s->hidden;
    down.k = width;
    down.weights = copies * (width * s->hidden + (expert && s->bias ? s->hidden : 0));
    down.saved = (double)width;
    down.saved_bytes = SAVED;
    down.saved_fp8 = -(double)width;
    add(list, down);
}

void nest_ops_mlp(struct nest_op_list *list)
{
    static const char *const name[3] = {"MLP up", "activation", "MLP down"};
    add_norm(list, "MLP norm", NEST_SPLIT_SEQUENCE, list->spec->hidden);
    add_mlp(list, name, (struct nest_op){.split = NEST_SPLIT_TP_N}, list->spec->ffn);
    add_residual(list, "MLP residual");
}

/* Moves rows between the order of the sequence and the order of the experts. */
static void add_permutation(struct nest_op_list *list, const char *name)
{
    const struct nest_model_spec *s = list->spec;
    add(list, (struct nest_op){.name = name,
                               .kind = NEST_OP_ELEMENTWISE,
                               .split = NEST_SPLIT_ROWS,
                               .rows = (double)s->top_k,
                               .traffic = 2.0 * (double)s->hidden,
                               .saved = (double)s->hidden,
                               .saved_bytes = SAVED});
}

void nest_ops_experts(struct nest_op_list *list)
{
    static const char *const routed[3] = {"expert up", "expert activation", "expert down"};
    static const char *const shared[3] = {"shared up", "shared activation", "shared down"};
    const struct nest_model_spec *s = list->spec;
    add_norm(list, "MLP norm", NEST_SPLIT_SEQUENCE, s->hidden);
    list->op[list->count - 1].saved_fp8 = 0.0; /* the router reads it in 16 bits */
    add_gemm(list, "router", NEST_SPLIT_ROWS, s->experts, s->hidden, (double)s->experts);
    list->op[list->count - 1].saved_bytes = 2.0 * SAVED;
    list->op[list->count - 1].wide = true;
    list->op[list->count - 1].weights += s->router_bias ? s->experts : 0;
    add_permutation(list, "dispatch permutation");
    list->op[list->count - 1].saved_fp8 = -(double)s->hidden;
    add_mlp(list, routed, (struct nest_op){.split = NEST_SPLIT_EXPERT_N, .rows = (double)s->top_k},
            s->moe_ffn);
    add_permutation(list, "combine permutation");
    if (nest_model_shared_width(s) > 0) {
        add_mlp(list, shared, (struct nest_op){.split = NEST_SPLIT_TP_N, .shared_expert = true},
                nest_model_shared_width(s));
    }
    add_residual(list, "MLP residual");
}

/* Encoders in the manner of BERT: segment rows in the embedding and a dense transform before the
 * vocabulary (the pooler of a model without a task head has the same shape). */
static bool is_encoder(const struct nest_model_spec *spec)
{
    return !spec->causal && spec->position == NEST_POSITION_LEARNED;
}

static void add_lookup(struct nest_op_list *list, const char *name, enum nest_split split,
                       int64_t rows, int64_t columns)
{
    add(list, (struct nest_op){.name = name,
                               .kind = NEST_OP_LOOKUP,
                               .split = split,
                               .n = rows,
                               .k = columns,
                               .weights = rows * columns,
                               .traffic = 2.0 * (double)columns});
}

/* Rows of the learned positions: an encoder and a decoder have a table each. */
static int64_t places_of(const struct nest_model_spec *spec)
{
    return spec->encoder_layers > 0 ? 2 * spec->seq : spec->seq;
}

void nest_ops_embedding(struct nest_op_list *list)
{
    const struct nest_model_spec *s = list->spec;
    const int64_t table = nest_embed_columns(s);
    const int64_t places = is_encoder(s) ? table : s->hidden;
    add_lookup(list, "embedding", NEST_SPLIT_TP_N, s->vocab, table);
    list->op[0].vocabulary = true;
    list->op[0].saved = nest_has_dropout(s) ? (double)s->hidden : 0.0;
    list->op[0].saved_bytes = MASK;
    if (s->position == NEST_POSITION_LEARNED) {
        add_lookup(list, "positions", NEST_SPLIT_NONE, places_of(s), places);
    }
    if (is_encoder(s)) {
        add_lookup(list, "segments", NEST_SPLIT_NONE, 2, places);
    }
    if (table != s->hidden) {
        add_gemm(list, "embedding projection", NEST_SPLIT_SEQUENCE, s->hidden, table,
                 (double)table);
    }
}

void nest_ops_head(struct nest_op_list *list)
{
    const struct nest_model_spec *s = list->spec;
    add_norm(list, "final norm", NEST_SPLIT_SEQUENCE, s->hidden);
    list->op[list->count - 1].saved_fp8 = 0.0; /* the vocabulary stays in 16 bits */
    if (is_encoder(s)) {
        add_gemm(list, "transform", NEST_SPLIT_SEQUENCE, s->hidden, s->hidden, (double)s->hidden);
        list->op[list->count - 1].weights += s->hidden;
    }
    const int64_t table = nest_embed_columns(s);
    if (table != s->hidden) {
        add_gemm(list, "head projection", NEST_SPLIT_SEQUENCE, table, s->hidden, (double)s->hidden);
    }
    add_gemm(list, "vocabulary", NEST_SPLIT_TP_N, s->vocab, table, 0.0);
    list->op[list->count - 1].vocabulary = true;
    if (s->tied) {
        list->op[list->count - 1].weights = 0;
    }
    add(list, (struct nest_op){.name = "loss",
                               .kind = NEST_OP_ELEMENTWISE,
                               .split = NEST_SPLIT_TP_N,
                               .vocabulary = true,
                               .n = s->vocab});
}
