/* What the exporters write, lower and refuse, by the frameworks' own rules (the rule's letter in
 * each test). Plans are built by hand, so that no search decides what is tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/export.h"
#include "input/load.h"
#include "plan/problem.h"
#include "support/command.h"

struct world {
    struct nest_arena arena;
    struct nest_scenario_spec scenario;
    struct nest_problem problem;
    struct nest_plan plan;
    struct nest_prediction prediction;
    struct nest_notes notes;
    struct nest_errors errors;
    struct nest_strbuf out;
    enum nest_status status;
};

/* Loads and builds the plan of the pins; sets: at most two edits, or NULL. */
static void start(struct world *w, const char *model, const char *cluster, const char *pins,
                  const char *set_a, const char *set_b)
{
    *w = (struct world){.arena = NEST_ARENA_INIT, .out = NEST_STRBUF_INIT(1 << 24)};
    w->notes.arena = &w->arena;
    nest_errors_init(&w->errors, &w->arena);
    const char *set[] = {set_a, set_b};
    struct nest_scenario_request request = {
        .model = model,
        .cluster = cluster,
        .sets = (set_a != NULL) + (set_b != NULL),
        .set = set,
        .pins = 1,
        .pin = &pins,
    };
    struct nest_library library;
    const char **assumed = NULL;
    assert_int_equal(nest_library_find(&w->arena, &library), NEST_OK);
    const bool built =
        nest_load_scenario(&library, &request, &w->arena, &w->scenario, &w->errors) == NEST_OK &&
        nest_problem_build(&w->scenario, &w->arena, &w->problem, &w->errors) == NEST_OK &&
        nest_plan_from_pins(&w->problem, &w->arena, &w->plan, &assumed, &w->errors) == NEST_OK;
    if (!built) {
        fail_msg("%s: %s", pins, w->errors.count > 0 ? w->errors.item[0].message : "no memory");
    }
}

static void finish(struct world *w)
{
    nest_strbuf_free(&w->out);
    nest_arena_free(&w->arena);
}

static void write_as(struct world *w, const char *format)
{
    const struct nest_export_format *f = nest_export_formats;
    while (f->name != NULL && strcmp(f->name, format) != 0) {
        f++;
    }
    assert_non_null(f->name);
    nest_plan_settle(&w->problem, &w->plan);
    assert_true(nest_plan_evaluate(&w->problem, &w->plan, &w->arena, &w->prediction));
    const struct nest_export in = {&w->scenario, &w->problem, &w->plan, &w->prediction, &w->arena};
    nest_strbuf_clear(&w->out);
    w->notes.count = 0;
    nest_errors_init(&w->errors, &w->arena);
    w->status = f->write(&in, &w->out, &w->notes, &w->errors);
}

static const char *text(const struct world *w)
{
    return nest_strbuf_text(&w->out);
}

static void assert_note(const struct world *w, const char *part)
{
    for (int i = 0; i < w->notes.count; i++) {
        if (strstr(w->notes.text[i], part) != NULL) {
            return;
        }
    }
    fail_msg("no note says '%s' (%d notes, first: %s)", part, w->notes.count,
             w->notes.count > 0 ? w->notes.text[0] : "-");
}

static void assert_refused(const struct world *w, const char *part)
{
    assert_int_equal(w->status, NEST_NO);
    assert_true(w->errors.count > 0);
    assert_contains(w->errors.item[0].message, part);
}

/* Llama 3 70B on 256 devices: tp 8, pp 4, five chunks of four blocks, ZeRO 1. */
static void test_megatron_dense(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "torchrun --nproc-per-node 8 --nnodes 32 pretrain_gpt.py",
        "--tensor-model-parallel-size 8",
        "--sequence-parallel",
        "--pipeline-model-parallel-size 4",
        "--num-layers-per-virtual-pipeline-stage 4",
        "--context-parallel-size 1",
        "--micro-batch-size 1",
        "--global-batch-size 512",
        "--seq-length 8192",
        "--num-layers 80",
        "--hidden-size 8192",
        "--ffn-hidden-size 28672",
        "--num-attention-heads 64",
        "--group-query-attention --num-query-groups 8",
        "--swiglu",
        "--normalization RMSNorm",
        "--disable-bias-linear",
        "--position-embedding-type rope",
        "--untie-embeddings-and-output-weights",
        "--bf16",
        "--use-distributed-optimizer",
        "CUDA_DEVICE_MAX_CONNECTIONS=1",
    };
    struct world w;
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=8,pp=4,virtual_stages=5,zero=1", "devices=256",
          "global_batch=512");
    write_as(&w, "megatron");
    assert_int_equal(w.status, NEST_OK);
    char flat[16384];
    size_t n = 0;
    for (const char *c = text(&w); *c != '\0' && n + 1 < sizeof flat; c++) {
        if (*c == '\\' || *c == '\n' || (*c == ' ' && n > 0 && flat[n - 1] == ' ')) {
            continue;
        }
        flat[n++] = *c;
    }
    flat[n] = '\0';
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_contains(flat, expected[i]);
    }
    assert_null(strstr(flat, "--use-tp-pp-dp-mapping"));
    assert_null(strstr(flat, "pipeline-model-parallel-layout"));
    assert_null(strstr(flat, "--data-parallel-size"));
    finish(&w);
}

/* M3: etp is always written, because its default is tp. */
static void test_megatron_experts(void **state)
{
    (void)state;
    struct world w;
    start(&w, "mixtral-8x7b", "h100-spine-leaf", "tp=2,pp=4,ep=8,etp=1,zero=1", "devices=64",
          "global_batch=512");
    write_as(&w, "megatron");
    assert_int_equal(w.status, NEST_OK);
    assert_contains(text(&w), "--expert-model-parallel-size 8");
    assert_contains(text(&w), "--expert-tensor-parallel-size 1");
    assert_contains(text(&w), "--num-experts 8");
    assert_contains(text(&w), "--moe-router-topk 2");
    assert_contains(text(&w), "--moe-token-dispatcher-type alltoall");
    finish(&w);
}

static void set_blocks(struct world *w, const int64_t *last)
{
    int64_t next = 0;
    for (int i = 0; i < w->plan.stages; i++) {
        w->plan.stage[i].layers[0] = (struct nest_range){next, last[i]};
        next = last[i] + 1;
    }
}

/* The layout string: 19, 21, 21, 19 blocks; and a first stage that is only the embedding. */
static void test_megatron_layout(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=8,pp=4,zero=1", "devices=256", NULL);
    set_blocks(&w, (const int64_t[]){19, 40, 61, 81});
    write_as(&w, "megatron");
    assert_int_equal(w.status, NEST_OK);
    assert_contains(text(&w), "--pipeline-model-parallel-layout 'Et*19|t*21|t*21|t*19L'");
    assert_note(&w, "0.13");
    set_blocks(&w, (const int64_t[]){0, 27, 54, 81});
    write_as(&w, "megatron");
    assert_contains(text(&w), "'E|t*27|t*27|t*26L'");
    finish(&w);
}

/* DeepSeek's first three blocks are dense. */
static void test_megatron_moe_layers(void **state)
{
    (void)state;
    struct world w;
    start(&w, "deepseek-v3", "h100-spine-leaf", "tp=8,pp=8,ep=8,zero=1", NULL, NULL);
    write_as(&w, "megatron");
    assert_contains(text(&w), "--moe-layer-freq '([0]*3+[1]*58)'");
    assert_contains(text(&w), "--multi-latent-attention");
    assert_null(strstr(text(&w), "--group-query-attention"));
    finish(&w);
}

/* One recompute setting for all stages: the heaviest, said aloud, with the cost again. */
static void test_megatron_recompute(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=8,pp=4,zero=1", NULL, NULL);
    w.plan.stage[0].recompute = NEST_RECOMPUTE_FULL;
    write_as(&w, "megatron");
    assert_int_equal(w.status, NEST_OK);
    assert_note(&w, "3 of 4 stages use a lighter mode");
    assert_note(&w, "as exported: step");
    assert_contains(text(&w), "--recompute-granularity full --recompute-method uniform "
                              "--recompute-num-layers 1");
    assert_contains(text(&w), "# note: recompute:");
    finish(&w);
}

/* C8: ZeRO 2 and 3 with a pipeline become 1; without one they are Megatron-FSDP. */
static void test_megatron_zero(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-8b", "h100-spine-leaf", "tp=8,pp=4,zero=3", "devices=64", NULL);
    write_as(&w, "megatron");
    assert_int_equal(w.status, NEST_OK);
    assert_note(&w, "zero: 3 becomes 1");
    assert_contains(text(&w), "--use-distributed-optimizer");
    assert_null(strstr(text(&w), "fsdp"));
    finish(&w);
    start(&w, "llama3-8b", "h100-spine-leaf", "tp=8,pp=1,zero=3", "devices=64", NULL);
    write_as(&w, "megatron");
    assert_contains(text(&w),
                    "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params");
    assert_contains(text(&w), "unset CUDA_DEVICE_MAX_CONNECTIONS");
    finish(&w);
}

/* What was lowered must still fit. */
static void test_megatron_too_large(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=2,pp=2,zero=3,recompute=full", "devices=256",
          NULL);
    write_as(&w, "megatron");
    assert_refused(&w, "the nearest plan that Megatron-LM can express needs");
    finish(&w);
}

/* Rank orders: the default, the flag, and a split that has no flag. */
static void test_megatron_order(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=8,pp=4,zero=1,order=tp-cp-pp-dp", NULL, NULL);
    write_as(&w, "megatron");
    assert_contains(text(&w), "--use-tp-pp-dp-mapping");
    finish(&w);
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=8,pp=4,zero=1,order=tp-cp-dp:4-pp-dp:8", NULL,
          NULL);
    write_as(&w, "megatron");
    assert_note(&w, "order: tp-cp-dp:4-pp-dp:8 becomes tp-cp-");
    assert_note(&w, "as exported");
    finish(&w);
    /* dp is 1024/(2*4) = 128, expert dp 1024/(8*4) = 32 */
    start(&w, "mixtral-8x7b", "h100-spine-leaf", "tp=2,pp=4,ep=8,order=tp-cp-pp-dp,zero=1", NULL,
          NULL);
    write_as(&w, "megatron");
    assert_note(&w, "only where expert dp equals dp");
    assert_null(strstr(text(&w), "--use-tp-pp-dp-mapping"));
    finish(&w);
}

/* M7: more tensor ranks than key/value heads. */
static void test_megatron_version(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=16,pp=4,zero=1", NULL, NULL);
    write_as(&w, "megatron");
    assert_note(&w, "0.16");
    finish(&w);
}

static void test_nemo(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=4,pp=4,virtual_stages=5,cp=2,zero=1",
          "global_batch=512", NULL);
    write_as(&w, "nemo");
    assert_int_equal(w.status, NEST_OK);
    assert_contains(text(&w), "Megatron Bridge");
    assert_contains(text(&w), "cfg.model.tensor_model_parallel_size = 4");
    assert_contains(text(&w), "cfg.model.pipeline_dtype = torch.bfloat16");
    assert_contains(text(&w), "cfg.model.virtual_pipeline_model_parallel_size = 5");
    assert_contains(text(&w), "cfg.model.context_parallel_size = 2");
    assert_contains(text(&w), "cfg.train.global_batch_size, cfg.train.micro_batch_size = 512, 1");
    assert_contains(text(&w), "cfg.ddp.use_distributed_optimizer = True");
    finish(&w);
}

/* D1: the three batch sizes multiply; D2: no ZeRO 2 or 3 with a pipeline. */
static void test_deepspeed(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-8b", "h100-spine-leaf", "tp=1,pp=1,zero=3,micro_batch=2", "devices=64", NULL);
    write_as(&w, "deepspeed");
    assert_int_equal(w.status, NEST_OK);
    json_object *root = json_tokener_parse(text(&w));
    assert_non_null(root);
    assert_int_equal(json_number(root, "train_batch_size"), 1024);
    assert_int_equal(json_number(root, "train_micro_batch_size_per_gpu"), 2);
    assert_int_equal(json_number(root, "gradient_accumulation_steps"), 8);
    assert_int_equal(json_number(root, "zero_optimization.stage"), 3);
    json_object_put(root);
    finish(&w);
    start(&w, "llama3-8b", "h100-spine-leaf", "tp=2,pp=4,zero=3", "devices=64", NULL);
    write_as(&w, "deepspeed");
    assert_int_equal(w.status, NEST_OK);
    assert_note(&w, "zero: 3 becomes 1");
    assert_note(&w, "no JSON keys");
    finish(&w);
    start(&w, "llama3-8b", "h100-spine-leaf", "tp=2,pp=4,zero=1,virtual_stages=2", "devices=64",
          NULL);
    write_as(&w, "deepspeed");
    assert_note(&w, "no interleaving");
    finish(&w);
}

/* 64 devices, tp 8, pp 4, dp_shard 2, 16 microbatches: the run that torchtitan's rules give. */
static void test_torchtitan(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=8,pp=4,zero=2,recompute=full", "devices=64",
          "global_batch=32");
    write_as(&w, "torchtitan");
    assert_int_equal(w.status, NEST_OK);
    static const char *const expected[] = {
        "def llama3_70b_64gpu() -> Trainer.Config:",
        "config.training.num_tokens_per_train_step = 32 * 8192",
        "config.training.disable_cuda_graphs = True",
        "config.parallelism.data_parallel_shard_degree = 2",
        "config.parallelism.fsdp_reshard_after_forward = \"never\"",
        "config.parallelism.tensor_parallel_degree = 8",
        "config.parallelism.pipeline_parallel_degree = 4",
        "config.parallelism.pipeline_parallel_schedule = \"1F1B\"",
        "config.parallelism.num_pp_microbatches = 16",
        "config.activation_checkpoint = FullAC.Config()",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_contains(text(&w), expected[i]);
    }
    write_as(&w, "torchtitan-toml");
    assert_contains(text(&w), "local_batch_size = 16\nglobal_batch_size = 32\nseq_len = 8192\n");
    assert_contains(text(&w), "pipeline_parallel_microbatch_size = 1");
    assert_contains(text(&w), "mode = \"full\"");
    finish(&w);
}

/* The automatic split (32 blocks over 4: 8, 9, 8, 7) needs no module names, any other does. */
static void test_torchtitan_split(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-8b", "h100-spine-leaf", "tp=2,pp=4,zero=2", "devices=64", NULL);
    set_blocks(&w, (const int64_t[]){8, 17, 25, 33});
    write_as(&w, "torchtitan");
    assert_int_equal(w.status, NEST_OK);
    assert_null(strstr(text(&w), "module_fqns_per_model_part"));
    set_blocks(&w, (const int64_t[]){7, 16, 25, 33});
    write_as(&w, "torchtitan");
    assert_contains(text(&w), "module_fqns_per_model_part");
    assert_contains(text(&w), "[\"tok_embeddings\", \"layers.0\", ");
    assert_contains(text(&w), "\"layers.31\", \"norm\", \"lm_head\"]");
    finish(&w);
}

/* T10: fewer microbatches than stages; there is no ZeRO 1; sequence parallelism follows tp. */
static void test_torchtitan_rules(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-8b", "h100-spine-leaf", "tp=2,pp=4,zero=2", "devices=64", "global_batch=16");
    write_as(&w, "torchtitan");
    assert_refused(&w, "fewer microbatches than stages");
    finish(&w);
    start(&w, "llama3-8b", "h100-spine-leaf", "tp=2,pp=2,zero=1,sp=false", "devices=64", NULL);
    write_as(&w, "torchtitan");
    assert_int_equal(w.status, NEST_OK);
    assert_note(&w, "has no ZeRO 1");
    assert_note(&w, "sp: switched on");
    finish(&w);
}

/* Every rank once, on the device that the rank order of the framework gives (W=8, t=2, d=2, p=2).
 */
static void test_rankmap(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-8b", "hgx-h100-8", "tp=2,pp=2", "global_batch=8", NULL);
    write_as(&w, "rankmap");
    assert_string_equal(text(&w), "rank\tdevice\tlocal\tstage\treplica\ttp_rank\tcp_rank\n"
                                  "0\t0\t0\t0\t0\t0\t0\n"
                                  "1\t1\t1\t0\t0\t1\t0\n"
                                  "2\t2\t2\t0\t1\t0\t0\n"
                                  "3\t3\t3\t0\t1\t1\t0\n"
                                  "4\t4\t4\t1\t0\t0\t0\n"
                                  "5\t5\t5\t1\t0\t1\t0\n"
                                  "6\t6\t6\t1\t1\t0\t0\n"
                                  "7\t7\t7\t1\t1\t1\t0\n");
    finish(&w);
    start(&w, "llama3-8b", "hgx-h100-8", "tp=2,pp=2,order=tp-cp-pp-dp", "global_batch=8", NULL);
    write_as(&w, "rankmap");
    assert_contains(text(&w), "\n2\t2\t2\t1\t0\t0\t0\n");
    assert_contains(text(&w), "\n4\t4\t4\t0\t1\t0\t0\n");
    finish(&w);
}

static void test_dot(void **state)
{
    (void)state;
    struct world w;
    start(&w, "llama3-70b", "h100-spine-leaf", "tp=8,pp=4,zero=1", NULL, NULL);
    write_as(&w, "dot");
    assert_contains(text(&w), "digraph plan {");
    assert_contains(text(&w), "s2 -> s3");
    finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_megatron_dense),
        cmocka_unit_test(test_megatron_experts),
        cmocka_unit_test(test_megatron_layout),
        cmocka_unit_test(test_megatron_moe_layers),
        cmocka_unit_test(test_megatron_recompute),
        cmocka_unit_test(test_megatron_zero),
        cmocka_unit_test(test_megatron_too_large),
        cmocka_unit_test(test_megatron_order),
        cmocka_unit_test(test_megatron_version),
        cmocka_unit_test(test_nemo),
        cmocka_unit_test(test_deepspeed),
        cmocka_unit_test(test_torchtitan),
        cmocka_unit_test(test_torchtitan_split),
        cmocka_unit_test(test_torchtitan_rules),
        cmocka_unit_test(test_rankmap),
        cmocka_unit_test(test_dot),
    };
    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
