/* The scripting API: every function is documented, every example runs, answers are those of the
 * commands, mistakes show their line. */
#include <lauxlib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "input/doc.h"
#include "script/api.h"
#include "script/reference.h"
#include "script/topology.h"
#include "support/command.h"

struct fixture {
    struct nest_arena arena;
    struct nest_library library;
    struct nest_errors errors;
    char printed[1 << 16];
    size_t length;
};

static void keep(void *context, const char *text, size_t length)
{
    struct fixture *f = context;
    assert_true(f->length + length < sizeof(f->printed));
    memcpy(f->printed + f->length, text, length);
    f->length += length;
    f->printed[f->length] = '\0';
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    nest_errors_init(&f->errors, &f->arena);
    assert_int_equal(nest_library_find(&f->arena, &f->library), NEST_OK);
    nest_topology_install(&f->library);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    nest_arena_free(&f->arena);
    free(f);
    return 0;
}

static enum nest_status run(struct fixture *f, const char *text)
{
    const struct nest_script script = {
        .library = &f->library,
        .path = command_file("program.lua", text),
        .threads = 1,
        .seed = 1,
        .print = keep,
        .context = f,
    };
    f->length = 0;
    f->printed[0] = '\0';
    nest_errors_init(&f->errors, &f->arena);
    return nest_script_run(&script, &f->arena, NULL, &f->errors);
}

static void assert_runs(struct fixture *f, const char *text)
{
    if (run(f, text) != NEST_OK) {
        fail_msg("%d: %s\n%s", f->errors.item[0].mark.line, f->errors.item[0].message, text);
    }
}

static void test_every_example_runs(void **state)
{
    for (const struct nest_reference *entry = nest_references; entry->name; entry++) {
        assert_true(strlen(entry->text) > 10);
        assert_runs(*state, entry->example);
    }
}

/* man nest-lua has every entry with its example, and formats without complaint where groff is. */
static void test_the_manual_page_has_every_entry(void **state)
{
    (void)state;
    struct command_result page = command_run("man lua");
    assert_int_equal(page.status, 0);
    int entries = 0, examples = 0;
    for (const struct nest_reference *entry = nest_references; entry->name; entry++) {
        entries++;
    }
    for (const char *at = page.out; (at = strstr(at, "\n.SS \"")) != NULL; at++) {
        examples++;
    }
    assert_int_equal(examples, entries);
    if (system("command -v groff >/dev/null 2>&1") == 0) {
        char path[] = "/tmp/nest-page-XXXXXX", line[128];
        const int file = mkstemp(path);
        FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
        assert_non_null(out);
        fputs(page.out, out);
        fclose(out);
        snprintf(line, sizeof line, "test -z \"$(groff -man -ww -Kutf8 -Tutf8 -z %s 2>&1)\"", path);
        assert_int_equal(system(line), 0);
        remove(path);
    }
    command_free(&page);
}

static bool is_documented(const char *name)
{
    for (const struct nest_reference *entry = nest_references; entry->name; entry++) {
        if (strcmp(entry->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void test_every_function_is_documented(void **state)
{
    struct fixture *f = *state;
    assert_runs(f, "for name in pairs(nest) do print('nest.' .. name) end\n"
                   "for name, value in pairs(_G) do\n"
                   "  if type(value) == 'function' then print(name) end\n"
                   "end\n");
    static const char *const lua[] = {
        "assert", "collectgarbage", "error",    "getmetatable", "ipairs", "load",   "next",
        "pairs",  "pcall",          "print",    "rawequal",     "rawget", "rawlen", "rawset",
        "select", "setmetatable",   "tonumber", "tostring",     "type",   "xpcall"};
    for (char *name = strtok(f->printed, "\n"); name; name = strtok(NULL, "\n")) {
        bool known = is_documented(name);
        for (size_t i = 0; i < sizeof(lua) / sizeof(lua[0]); i++) {
            known |= strcmp(lua[i], name) == 0;
        }
        if (!known) {
            fail_msg("%s is not documented", name);
        }
    }
}

static void test_answers_are_those_of_the_command(void **state)
{
    struct fixture *f = *state;
    assert_runs(f, "local s = nest.scenario {model = 'llama3-8b', cluster = 'dragonfly',\n"
                   "  edits = {{groups = 3}}, train = {global_batch = 768}}\n"
                   "local a = s:solve()\n"
                   "print(('%.17g'):format(a.step_time_s), a.plan.tp, a.plan.pp, a.plan.dp)\n");
    struct command_result result =
        command_run("solve --json --model llama3-8b --cluster dragonfly --set groups=3 "
                    "--set global_batch=768");
    struct json_object *json = command_json(&result);
    char expected[128];
    snprintf(expected, sizeof(expected), "%.17g\t%.0f\t%.0f\t%.0f\n",
             json_number(json, "step_time_s"), json_number(json, "plan.tp"),
             json_number(json, "plan.pp"), json_number(json, "plan.dp"));
    assert_string_equal(f->printed, expected);
    json_object_put(json);
    command_free(&result);
}

static void test_lua_and_yaml_clusters_give_one_plan(void **state)
{
    (void)state;
    struct command_result yaml =
        command_run("solve --json --model llama3-8b --cluster tpuv4-fat-tree");
    struct command_result lua = command_run("solve --json --model llama3-8b --cluster fat-tree");
    struct json_object *a = command_json(&yaml), *b = command_json(&lua);
    assert_string_equal(json_object_to_json_string(json_at(a, "plan")),
                        json_object_to_json_string(json_at(b, "plan")));
    assert_true(json_number(a, "step_time_s") == json_number(b, "step_time_s"));
    json_object_put(a);
    json_object_put(b);
    command_free(&yaml);
    command_free(&lua);
}

static void test_mistakes_show_their_line(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text;
        int line;
        const char *message;
    } cases[] = {
        {"local s = nest.scenario {\n model = 'llama9'}\n", 1, "there is no model 'llama9'"},
        {"\nnest.scenario {train = {global_batsh = 4}}\n", 2, "global_batsh"},
        {"local s = nest.scenario {}\ns:set('spin.latency', 1)\n", 2, "there is no 'spin.latency'"},
        {"local s = nest.scenario {}\n\ns:pin{tpp = 8}\n", 3, "tpp"},
        {"local s = nest.scenario {}\ns:solve {top = 0}\n", 2, "top is 1 to 1000"},
        {"local s = nest.scenario {}\ns:set('seq', {})\n", 2, "seq cannot be set to a table"},
        {"nest.parse('4parsec', 'seconds')\n", 1, "parsec"},
        {"nest.table({}, {})\n", 1, "a table has 1 to 32 columns"},
        {"nest.scenario {model = print}\n", 1, "a function cannot be used here"},
        {"local t = {} t.a = t\nnest.scenario(t)\n", 2, "nested too deeply"},
        {"local s = nest.scenario {}\ns:override {compute = function()\n  return -1, 0\nend}\n"
         "s:eval()\n",
         2, "the override compute must return seconds, finite and at least 0; got -1"},
        {"local s = nest.scenario {}\ns:override {transfer = function()\n  error('no')\nend}\n"
         "s:eval {pp = 2}\n",
         3, "no"},
        {"nest.scenario {}:override {transfers = print}\n", 1, "there is no override 'transfers'"},
        {"nest.curve {{2, 1}, {1, 1}}\n", 1, "point 2 does not"},
        {"nest.schedule({1}, {1, 2}, 4)\n", 1, "a schedule has 1 to 256 stages"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(run(f, cases[i].text), NEST_BAD_INPUT);
        if (f->errors.item[0].mark.line != cases[i].line ||
            !strstr(f->errors.item[0].message, cases[i].message)) {
            fail_msg("expected %d: %s\ngot %d: %s", cases[i].line, cases[i].message,
                     f->errors.item[0].mark.line, f->errors.item[0].message);
        }
    }
}

static void test_charts_are_text(void **state)
{
    struct fixture *f = *state;
    assert_runs(f,
                "nest.table({{n = 'a', v = 1.25}, {n = 'long', v = 10}}, {'n', {'v', 'value'}})\n"
                "nest.bars({'x', 'yy'}, {4, 2}, 4)\n"
                "nest.schedule({1, 1}, {2, 2}, 2, 18)\n");
    assert_string_equal(f->printed, "   n  value\n"
                                    "   a   1.25\n"
                                    "long     10\n"
                                    "x   ####  4\n"
                                    "yy  ##    2\n"
                                    "stage  0 |0011....aaaa..bbbb|\n"
                                    "stage  1 |..00aaaa11bbbb....|\n");
}

/* An identity changes nothing; what a hook says holds in solve and eval alike. */
static void test_overrides_replace_costs(void **state)
{
    struct fixture *f = *state;
    assert_runs(f, "local s = nest.scenario {model = 'llama3-8b', cluster = 'hgx-h100-8',\n"
                   "  train = {global_batch = 64}, pin = {zero = 1, micro_batch = '1|2'}}\n"
                   "local plain = s:solve()\n"
                   "local function same(_, default) return default() end\n"
                   "s:override {compute = same, collective = same, transfer = same}\n"
                   "local a = s:solve()\n"
                   "assert(a.step_time_s == plain.step_time_s and a.plan.tp == plain.plan.tp)\n"
                   "local asked, repeated = {}, 0\n"
                   "s:override {collective = function(m, default)\n"
                   "  local key = m.kind .. m.bytes .. '/' .. m.members .. '/' .. m.level .. '/' "
                   ".. default()\n"
                   "  repeated = repeated + (asked[key] and 1 or 0)\n"
                   "  asked[key] = true\n"
                   "  return m.kind == 'all_reduce' and 1 or default() end}\n"
                   "local slow = s:solve()\n"
                   "assert(repeated == 0 and next(asked))\n"
                   "assert(s:eval(slow).step_time_s == slow.step_time_s)\n"
                   "assert(s:eval(plain).step_time_s >= slow.step_time_s)\n"
                   "s:override {transfer = function() return 3 end}\n"
                   "assert(s:eval{pp = 2, micro_batch = 1}.breakdown_s.pp > 3)\n"
                   "assert(s:copy():eval{pp = 2, micro_batch = 1}.breakdown_s.pp > 3)\n");
}

/* Bounds stay admissible whatever a hook says about compute: dear and cheap widths at random. */
static void test_search_is_exact_under_compute_overrides(void **state)
{
    struct fixture *f = *state;
    assert_runs(
        f, "local function same(_, default) return default() end\n"
           "for seed = 1, 6 do\n"
           "  local s = nest.scenario {model = 'gpt2', cluster = 'hgx-h100-8',\n"
           "    train = {global_batch = 32}, pin = {recompute = 'none', micro_batch = '1|2|4'}}\n"
           "  local function uneven(layer, default)\n"
           "    math.randomseed(seed * 1000 + layer.tp * 100 + layer.micro_batch * 10 + layer.cp)\n"
           "    local times = math.random() * 4\n"
           "    local forward, backward = default()\n"
           "    return forward * times, backward * times\n"
           "  end\n"
           "  local bounded = s:override {compute = uneven}:solve()\n"
           "  local all = s:override {compute = uneven, collective = same}:solve()\n"
           "  assert(bounded.step_time_s == all.step_time_s, seed)\n"
           "  assert(bounded.plan.tp == all.plan.tp and bounded.plan.dp == all.plan.dp, seed)\n"
           "end\n");
}

static char *read_file(struct fixture *f, const char *path)
{
    const char *text = NULL;
    size_t length = 0;
    assert_int_equal(nest_file_read(path, &f->arena, &text, &length, &f->errors), NEST_OK);
    return nest_arena_strndup(&f->arena, text, length);
}

/* The learner's edits are the record's own solution. */
static void test_lessons_can_be_learned(void **state)
{
    struct fixture *f = *state;
    const char **name = nest_library_list(&f->library, "scripts/lessons", &f->arena);
    int count = 0;
    for (; name && *name; name++, count++) {
        const char *text = read_file(
            f, nest_arena_printf(&f->arena, "%s/scripts/lessons/%s.lua", f->library.root, *name));
        assert_runs(f, text);
        assert_non_null(strstr(f->printed, "\nTry: "));
        assert_non_null(strstr(f->printed, "\nQuestion: "));
        assert_null(strstr(f->printed, "Done. "));
        assert_runs(f, nest_arena_printf(&f->arena,
                                         "local run = nest.lesson function nest.lesson(record) "
                                         "arg = record.solution assert(run(record)) end %s",
                                         text));
        assert_non_null(strstr(f->printed, "\nDone. "));
    }
    assert_true(count >= 6);
}

static void test_a_lesson_runs_without_a_terminal(void **state)
{
    (void)state;
    struct command_result result = command_run("--lesson 2");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "stage  7 |"));
    assert_null(strstr(result.out, "Not yet."));
    command_free(&result);
    result = command_run("--lesson 6 --pin ep=8,etp=2");
    assert_non_null(strstr(result.out, "Not yet. ep 8 times etp 2 leaves the node"));
    command_free(&result);
    result = command_run("--lesson 77");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "there is no lesson 77"));
    command_free(&result);
}

static void test_the_command_runs_scripts(void **state)
{
    (void)state;
    const char *path = command_file("args.lua", "print(arg[1], arg[2], #arg)\n");
    char line[512];
    snprintf(line, sizeof(line), "lua %s one two", path);
    struct command_result result = command_run(line);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "one\ttwo\t2\n");
    command_free(&result);
    result = command_run_with_input("lua -", "print(1)\nerror('no')\n");
    assert_int_equal(result.status, 2);
    assert_string_equal(result.out, "1\n");
    assert_non_null(strstr(result.err, "standard input:2: no"));
    command_free(&result);
    result = command_run("lua /nonexistent.lua");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "/nonexistent.lua: cannot be opened"));
    command_free(&result);
    result = command_run_with_input("lua -", "print(io, os)\n");
    assert_string_equal(result.out, "nil\tnil\n");
    command_free(&result);
    result = command_run_with_input("lua --unsafe-lua -", "print(type(io.open))\n");
    assert_string_equal(result.out, "function\n");
    command_free(&result);
    result = command_run("lua --reference");
    assert_non_null(strstr(result.out, "s:sweep(PATH, {VALUES})"));
    command_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_example_runs, set_up, tear_down),
        cmocka_unit_test(test_the_manual_page_has_every_entry),
        cmocka_unit_test_setup_teardown(test_every_function_is_documented, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_answers_are_those_of_the_command, set_up, tear_down),
        cmocka_unit_test(test_lua_and_yaml_clusters_give_one_plan),
        cmocka_unit_test_setup_teardown(test_mistakes_show_their_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_charts_are_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overrides_replace_costs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_search_is_exact_under_compute_overrides, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_lessons_can_be_learned, set_up, tear_down),
        cmocka_unit_test(test_a_lesson_runs_without_a_terminal),
        cmocka_unit_test(test_the_command_runs_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
