/* Random plans in every format of `nest export`: what can be read back says what was written. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/export.h"
#include "export/json.h"
#include "input/doc.h"
#include "input/load.h"
#include "plan/problem.h"
#include "session/report.h"
#include "support/cluster.h"
#include "support/command.h"
#include "support/folder.h"
#include "support/seed.h"

enum { INSTANCES = 400, PINS = 512, TEXT_MAX = 1 << 24 };

struct world {
    struct nest_arena arena;
    struct nest_scenario_spec scenario;
    struct nest_problem problem;
    struct nest_plan plan;
    struct nest_prediction prediction;
    struct nest_errors errors;
};

static const char *pick(struct test_random *random, const char *const *words, int count)
{
    return words[test_random_below(random, count)];
}

#define PICK(random, ...)                                                                          \
    pick(random, (const char *const[]){__VA_ARGS__},                                               \
         (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

/* A plan that `nest eval` accepts, of small and large models, dense and with experts, with a graph
 * that branches, on one and several levels. False: what was drawn is not legal. */
static bool draw(struct world *w, struct test_random *random)
{
    char pins[PINS];
    struct nest_library library;
    const char **assumed = NULL;
    const char *pin = pins;
    *w = (struct world){.arena = NEST_ARENA_INIT};
    nest_errors_init(&w->errors, &w->arena);
    const char *model =
        PICK(random, "llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "gpt2", "t5-11b");
    const char *cluster = PICK(random, "hgx-h100-8", "h100-spine-leaf", "three-sites");
    const char *devices =
        nest_arena_printf(&w->arena, "limits.devices=%s", PICK(random, "8", "16", "32", "64"));
    const char *sets[] = {"global_batch=64", devices};
    (void)snprintf(pins, sizeof pins,
                   "tp=%s,pp=%s,cp=%s,ep=%s,zero=%s,micro_batch=%s,virtual_stages=%s,recompute=%s,"
                   "order=%s",
                   PICK(random, "1", "2", "4", "8"), PICK(random, "1", "2", "4"),
                   PICK(random, "1", "1", "2"), PICK(random, "1", "1", "2", "4"),
                   PICK(random, "0", "1", "2", "3"), PICK(random, "1", "2"),
                   PICK(random, "1", "1", "2"), PICK(random, "none", "selective", "full"),
                   PICK(random, "tp-cp-dp-pp", "tp-cp-pp-dp"));
    const struct nest_scenario_request request = {
        .model = model, .cluster = cluster, .sets = 2, .set = sets, .pins = 1, .pin = &pin};
    assert_int_equal(nest_library_find(&w->arena, &library), NEST_OK);
    if (nest_load_scenario(&library, &request, &w->arena, &w->scenario, &w->errors) != NEST_OK ||
        nest_problem_build(&w->scenario, &w->arena, &w->problem, &w->errors) != NEST_OK ||
        nest_plan_from_pins(&w->problem, &w->arena, &w->plan, &assumed, &w->errors) != NEST_OK) {
        return false;
    }
    nest_plan_settle(&w->problem, &w->plan);
    assert_true(nest_plan_evaluate(&w->problem, &w->plan, &w->arena, &w->prediction));
    return true;
}

/* ---- Formats with a reader of ours ---- */

static void read_json(struct world *w)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    struct nest_json json;
    nest_json_start(&json, &text);
    nest_json_object(&json, NULL);
    nest_json_plan(&json, &w->problem, &w->plan, &w->prediction);
    nest_json_end(&json);
    const struct nest_node *root = NULL;
    struct nest_plan_spec spec;
    struct nest_plan again;
    struct nest_prediction prediction;
    assert_int_equal(
        nest_doc_parse("plan", nest_strbuf_text(&text), text.length, &w->arena, &root, &w->errors),
        NEST_OK);
    assert_int_equal(nest_plan_from_tree(root, &w->arena, &spec, &w->errors), NEST_OK);
    assert_int_equal(spec.microbatches, w->plan.microbatches);
    assert_int_equal(nest_plan_from_spec(&w->problem, &spec, &w->arena, &again, &w->errors),
                     NEST_OK);
    assert_int_equal(nest_plan_compare(&w->plan, 0, &again, 0), 0);
    assert_int_equal(w->plan.devices_used, again.devices_used);
    assert_true(nest_plan_evaluate(&w->problem, &again, &w->arena, &prediction));
    assert_int_equal(prediction.step, w->prediction.step);
    for (int i = 0; i < prediction.stages; i++) {
        assert_int_equal(prediction.stage[i].memory.total, w->prediction.stage[i].memory.total);
    }
    nest_strbuf_free(&text);
}

static int64_t number_at(const struct nest_node *root, const char *key)
{
    const struct nest_node *node = nest_node_get(root, key);
    assert_non_null(node);
    return strtoll(node->text, NULL, 10);
}

static void read_deepspeed(struct world *w, const struct nest_strbuf *text)
{
    const struct nest_node *root = NULL;
    assert_int_equal(nest_doc_parse("deepspeed", nest_strbuf_text(text), text->length, &w->arena,
                                    &root, &w->errors),
                     NEST_OK);
    const int64_t batch = number_at(root, "train_batch_size");
    const int64_t once = number_at(root, "train_micro_batch_size_per_gpu") *
                         number_at(root, "gradient_accumulation_steps");
    assert_int_equal(batch, w->scenario.train.global_batch);
    assert_int_equal(batch % once, 0);
}

/* ---- Formats that a line at a time can be read of ---- */

/* rank, device, a group for every outer level, place in the node, stage, replica, tp and cp rank.
 */
static void read_rankmap(const struct world *w, const char *text)
{
    int64_t ranks = 0;
    char *seen = calloc((size_t)w->problem.cluster->devices, 1);
    assert_non_null(seen);
    for (const char *line = strchr(text, '\n') + 1; *line; ranks++) {
        int64_t value[NEST_MAX_LEVELS + 8];
        int values = 0;
        for (; *line != '\n'; line += *line == '\t') {
            assert_true(values < NEST_MAX_LEVELS + 8);
            char *end = NULL;
            value[values++] = strtoll(line, &end, 10);
            line = end;
        }
        line++;
        assert_int_equal(values, 6 + w->problem.cluster->levels);
        const int64_t device = value[1];
        const int64_t *last = &value[values - 4];
        assert_int_equal(value[0], ranks);
        assert_true(device >= 0 && device < w->problem.cluster->devices && !seen[device]);
        seen[device] = 1;
        const struct nest_seat seat = nest_seat_of(w->problem.cluster, &w->plan, device);
        assert_int_equal(seat.stage, last[0]);
        assert_int_equal(seat.replica, last[1]);
        assert_int_equal(seat.rank, last[2] + last[3] * w->plan.stage[seat.stage].tp);
    }
    assert_int_equal(ranks, w->plan.devices_used);
    free(seen);
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

static void read_dot(const struct world *w, const char *text)
{
    assert_int_equal(count(text, "[label=\"stage "), w->plan.stages);
    assert_true(count(text, " -> ") >= w->plan.stages - 1);
    assert_int_equal(count(text, "{"), count(text, "}"));
    assert_int_equal(count(text, "\"") % 2, 0);
}

/* ---- Formats that other programs read ---- */

/* Checks every file of the folder that it knows by its end. The world of a launch is the product of
 * its degrees. */
static const char judge[] =
    "import ast, glob, re, sys, subprocess\n"
    "def product(*n):\n"
    "    p = 1\n"
    "    for i in n: p *= int(i)\n"
    "    return p\n"
    "def used(text): return int(re.search(r': (\\d+) of \\d+ devices', text)[1])\n"
    "for f in glob.glob(sys.argv[1] + '/*.py'):\n"
    "    ast.parse(open(f).read())\n"
    "try:\n"
    "    import tomllib\n"
    "except ImportError:\n"
    "    tomllib = None\n"
    "for f in glob.glob(sys.argv[1] + '/*.toml') if tomllib else []:\n"
    "    text = open(f).read()\n"
    "    p = tomllib.loads(text)['parallelism']\n"
    "    assert used(text) == product(*[p[k + '_degree'] for k in ('data_parallel_replicate',\n"
    "        'data_parallel_shard', 'tensor_parallel', 'pipeline_parallel', 'context_parallel')]), "
    "f\n"
    "for f in glob.glob(sys.argv[1] + '/*.sh'):\n"
    "    subprocess.run(['sh', '-n', f], check=True)\n"
    "    text = open(f).read()\n"
    "    def flag(name, default=1):\n"
    "        m = re.search(r'--' + name + r' (\\d+)', text)\n"
    "        return int(m[1]) if m else default\n"
    "    world = flag('nproc-per-node') * flag('nnodes')\n"
    "    inner = product(flag('tensor-model-parallel-size'), "
    "flag('pipeline-model-parallel-size'),\n"
    "        flag('context-parallel-size'))\n"
    "    assert world == used(text) and world % inner == 0, f\n"
    "    assert flag('global-batch-size') % (world // inner * flag('micro-batch-size')) == 0, f\n";

static const char *end_of(const char *format)
{
    static const struct {
        const char *format, *end;
    } ends[] = {{"megatron", "sh"},    {"nemo", "py"},
                {"torchtitan", "py"},  {"torchtitan-toml", "toml"},
                {"deepspeed", "json"}, {"rankmap", "tsv"},
                {"dot", "dot"}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(ends[i].format, format) == 0) {
            return ends[i].end;
        }
    }
    fail_msg("what reads the format %s?", format);
    return NULL;
}

/* Writes one format; false where the framework has nothing near. */
static bool export(struct world *w, const struct nest_export_format *format,
                   struct test_folder *folder, int instance)
{
    struct nest_notes notes = {.arena = &w->arena};
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    const struct nest_export in = {&w->scenario, &w->problem, &w->plan, &w->prediction, &w->arena};
    nest_errors_init(&w->errors, &w->arena);
    const enum nest_status status = format->write(&in, &text, &notes, &w->errors);
    if (status == NEST_OK) {
        assert_true(text.length > 0 && !text.failed);
        assert_int_equal(nest_strbuf_text(&text)[text.length - 1], '\n');
        char name[64];
        (void)snprintf(name, sizeof name, "%s-%d.%s", format->name, instance, end_of(format->name));
        test_folder_write(folder, name, nest_strbuf_text(&text));
        if (strcmp(format->name, "deepspeed") == 0) {
            read_deepspeed(w, &text);
        } else if (strcmp(format->name, "rankmap") == 0) {
            read_rankmap(w, nest_strbuf_text(&text));
        } else if (strcmp(format->name, "dot") == 0) {
            read_dot(w, nest_strbuf_text(&text));
        }
    } else {
        assert_int_equal(status, NEST_NO);
        assert_true(w->errors.count > 0);
    }
    nest_strbuf_free(&text);
    return status == NEST_OK;
}

static void judge_files(struct test_folder *folder)
{
    test_folder_write(folder, "judge", judge);
    struct command_result there = shell_run("--version; command -v python3");
    if (there.status == 0) {
        struct command_result ran =
            shell_run("--version; python3 %s %s", test_folder_path(folder, "judge"), folder->path);
        assert_string_equal(ran.err, "");
        assert_status(&ran, 0);
        command_free(&ran);
    }
    command_free(&there);
}

static void random_plans_come_back(void **state)
{
    (void)state;
    struct test_random random = {test_seed()};
    struct test_folder folder;
    int legal = 0;
    int written[16] = {0};
    const int instances = test_instances(INSTANCES);
    print_message("seed %" PRIu64 "\n", test_seed());
    test_folder_open(&folder);
    for (int i = 0; i < instances; i++) {
        struct world w;
        if (draw(&w, &random)) {
            legal++;
            read_json(&w);
            for (int f = 0; nest_export_formats[f].name; f++) {
                written[f] += export(&w, &nest_export_formats[f], &folder, i);
            }
        }
        nest_arena_free(&w.arena);
    }
    judge_files(&folder);
    test_folder_close(&folder);
    assert_true(legal >= instances / 8);
    for (int f = 0; nest_export_formats[f].name; f++) {
        print_message("%s: %d of %d\n", nest_export_formats[f].name, written[f], legal);
        assert_true(written[f] > 0 || instances < INSTANCES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
