/* What hooks are asked: a table like any other, that tells what was looked at; and answers kept by
 * just that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "script/memo.h"
#include "support/command.h"
#include "support/seed.h"

#define SMALL "--model llama3-8b --cluster hgx-h100-8 --json "

static void runs(const char *program)
{
    char line[512];
    snprintf(line, sizeof line, "lua %s", command_file("asked.lua", program));
    struct command_result result = command_run(line);
    if (result.status != 0) {
        fail_msg("%s\n%s", program, result.err);
    }
    command_free(&result);
}

/* ---- A table like any other ---- */

/* Each is the body of a hook that is asked for a block's memory. */
static void it_is_a_table_like_any_other(void **state)
{
    (void)state;
    static const char *const body[] = {
        "assert(type(a) == 'table' and #a == 0 and getmetatable(a) == nil)",
        "assert(a.tp == 2 and a.name == 'block' and a.moe == false and a.nonsense == nil)",
        "assert(a[1] == nil and a[a] == nil and a[1.5] == nil)",
        "local n = 0 for k, v in pairs(a) do n = n + 1 assert(a[k] == v) end assert(n == 13)",
        "local n = 0 for k, v in next, a do n = n + 1 assert(a[k] == v) end assert(n == 13)",
        "local last = '' for k in pairs(a) do assert(last < k) last = k end assert(last == 'zero')",
        "assert(rawget(a, 'tp') == 2 and rawget(a, 'none') == nil and rawlen(a) == 0)",
        "a.tp = 7 assert(a.tp == 7 and a.name == 'block') a.tp = nil assert(a.tp == nil)",
        "assert(a.tp == 2) a.tp = nil assert(a.tp == nil and rawget(a, 'tp') == nil)",
        "a.fresh = 1 local n = 0 for k in pairs(a) do n = n + 1 end assert(n == 14)",
        "rawset(a, 'tp', nil) assert(a.tp == nil and a.name == 'block')",
        "table.insert(a, 'x') assert(a[1] == 'x' and #a == 1 and a.tp == 2)",
        "setmetatable(a, {__index = function() return 5 end}) assert(a.tp == 2 and a.other == 5)",
        "local b = setmetatable({}, {__index = a}) assert(b.tp == 2 and b.role == 'block')",
        "a.recompute = 'none' assert(nest.format(a.micro_batch, 'none') == '1')",
        "nest.table({a}, {'tp', 'role', 'recompute'})",
        "print(a)",
    };
    for (size_t i = 0; i < sizeof body / sizeof body[0]; i++) {
        char program[2048];
        snprintf(program, sizeof program,
                 "local s = nest.scenario {model = 'llama3-8b', cluster = 'hgx-h100-8'}\n"
                 "local asked = 0\n"
                 "s:override {memory = function(a, default)\n"
                 "  if a.role == 'block' then asked = asked + 1\n%s\nend\n"
                 "  return default()\n"
                 "end}\n"
                 "s:eval {tp = 2, micro_batch = 1} assert(asked > 0)",
                 body[i]);
        runs(program);
        /* The same where nothing was looked at before. */
        snprintf(program, sizeof program,
                 "local s = nest.scenario {model = 'llama3-8b', cluster = 'hgx-h100-8'}\n"
                 "local asked = 0\n"
                 "s:override {memory = function(a, default)\n"
                 "  local m = default()\n"
                 "  if m.logits == 0 and m.activations > 2^27 then asked = asked + 1\n%s\nend\n"
                 "  return m\n"
                 "end}\n"
                 "s:eval {tp = 2, micro_batch = 1} assert(asked > 0)",
                 body[i]);
        runs(program);
    }
}

/* Names may outlive what they are names of. */
static void it_may_be_kept(void **state)
{
    (void)state;
    runs("local kept = {}\n"
         "do\n"
         "  local s = nest.scenario {model = 'llama3-8b', cluster = 'hgx-h100-8'}\n"
         "  s:override {\n"
         "    memory = function(a, d) kept[#kept + 1] = a return d() end,\n"
         "    transfer = function(a, d) kept[#kept + 1] = a return d() end,\n"
         "    collective = function(a, d) kept[#kept + 1] = a return d() end,\n"
         "    step = function(a, d) kept[#kept + 1] = a return d() end}\n"
         "  s:eval {tp = 2, pp = 2}\n"
         "  s:override {}\n"
         "end\n"
         "local junk = {} for i = 1, 50000 do junk[i] = {i} end junk = nil\n"
         "local names = {}\n"
         "for i, a in ipairs(kept) do\n"
         "  names[tostring(a.name or a.level_name or a.stages)] = true\n"
         "  names[tostring(a.before)] = true\n"
         "  for k, v in pairs(a) do assert(a[k] == v) end\n"
         "end\n"
         "assert(names.block and names.embedding and names.head and names.node and names['2'])");
}

static void unsafe_scripts_see_it_as_well(void **state)
{
    (void)state;
    const char *program = command_file(
        "unsafe.lua", "local s = nest.scenario {model = 'llama3-8b', cluster = 'hgx-h100-8'}\n"
                      "s:override {memory = function(a, default)\n"
                      "  local mt = debug.getmetatable(a)\n"
                      "  if mt then\n"
                      "    assert(mt.__index(5, 'tp') == nil and mt.__index({}, 'tp') == nil)\n"
                      "    pcall(mt.__newindex, 5, 'tp', 1) pcall(mt.__pairs, nil)\n"
                      "  end\n"
                      "  assert(a.tp == 2 and rawget(a, 'zero') and next(a))\n"
                      "  local n = 0 for k in pairs(a) do n = n + 1 end assert(n == 13)\n"
                      "  return default()\n"
                      "end}\n"
                      "s:eval {tp = 2, micro_batch = 1}");
    char line[512];
    snprintf(line, sizeof line, "lua --unsafe-lua %s", program);
    struct command_result result = command_run(line);
    assert_string_equal(result.err, "");
    assert_int_equal(result.status, 0);
    command_free(&result);
}

/* Hooks that mean no good end with their place, and the program with them. */
static void hostile_hooks_end_cleanly(void **state)
{
    (void)state;
    static const struct {
        const char *hook, *message;
    } cases[] = {
        {"memory = function(a, d) return setmetatable({}, {__index = function() error('no') end}) "
         "end",
         "no"},
        {"memory = function(a, d) local t = {} for i = 1, 1e9 do t[i] = i end return t end", "MiB"},
        {"memory = function(a, d) return a end", "knows no"},
        {"memory = function(a, d) return d end", "must return a table"},
        {"memory = function(a, d) local m = d() m[1] = 5 return m end", "knows no"},
        {"memory = function(a, d) local m = d() m.weights = '5' return m end", "must return bytes"},
        {"memory = function(a, d) return {weights = -0.6} end", "must return bytes"},
        {"memory = function(a, d) while true do d() end end", "ran longer"},
        {"memory = function(a, d) while true do pcall(error) a.tp = a.tp end end", "ran longer"},
        {"memory = function(a, d) coroutine.yield() end", "outside a coroutine"},
        {"memory = function(a, d) return memory(a, d) end", "global 'memory'"},
        {"memory = function(a, d) setmetatable(a, {__gc = print}) end", "finalizers"},
        {"compute = function(a, d) return 0/0, 1 end", "must return seconds"},
        {"compute = function(a, d) return 1 end", "must return seconds"},
        {"compute = function(a, d) return math.huge, 1 end", "must return seconds"},
        {"compute = function(a, d) error(setmetatable({}, {__tostring = error})) end", "raised a"},
        {"compute = coroutine.wrap(function() while true do coroutine.yield(1, 1) end end)", NULL},
        {"load = function(a, d) return {d(), d(), d(), d(), d()} end", "4 rows"},
        {"load = function(a, d) return {1, 2} end", "table of weights"},
        {"step = function(a, d) local s = d() s.tails = 'none' return s end", "tails"},
        {"step = function(a, d) return true end", "must return a table"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char script[512], line[512];
        snprintf(script, sizeof script, "return {\n%s}\n", cases[i].hook);
        snprintf(line, sizeof line, "eval --pin tp=2 --script %s " SMALL,
                 command_file("hostile.lua", script));
        struct command_result result = command_run(line);
        const bool good = cases[i].message
                              ? result.status == 2 && strstr(result.err, "hostile.lua:2: ") &&
                                    strstr(result.err, cases[i].message)
                              : result.status < 2;
        if (!good &&
            !(cases[i].message && strstr(cases[i].message, "MiB") && strstr(result.err, "MiB"))) {
            fail_msg("%s\nstatus %d: %s", cases[i].hook, result.status, result.err);
        }
        command_free(&result);
    }
}

/* ---- Kept by what was looked at ---- */

static char *solved_with(const char *script)
{
    char line[512];
    snprintf(line, sizeof line, "solve --pin tp=1..2 --script %s " SMALL,
             command_file("hook.lua", script));
    struct command_result result = command_run(line);
    if (result.status != 0) {
        fail_msg("%s\n%s", script, result.err);
    }
    char *answer = strdup(strstr(result.out, "\"step_time_s\""));
    char *end = strstr(answer, "\"search\"");
    *(end ? end : answer) = '\0';
    command_free(&result);
    return answer;
}

/* However a field is read, answers to unlike questions stay apart. */
static void an_answer_follows_all_it_looked_at(void **state)
{
    (void)state;
    static const char *const way[] = {
        "a.dp, a.zero",
        "rawget(a, 'dp'), rawget(a, 'zero')",
        "(function() local t = {} for k, v in pairs(a) do t[k] = v end return t.dp, t.zero end)()",
        "(function() local t = {} for k, v in next, a do t[k] = v end return t.dp, t.zero end)()",
        "(function() a.x = 1 return a.dp, rawget(a, 'zero') end)()",
        "(function() local b = setmetatable({}, {__index = a}) return b.dp, b.zero end)()",
        "(function() setmetatable(a, {}) return a.dp, a.zero end)()",
        "(function() last = last or a return a.dp, a.zero end)()",
        "coroutine.wrap(function() return a.dp, a.zero end)()",
        "select(2, pcall(function() return a.dp end)), select(2, pcall(rawget, a, 'zero'))",
    };
    char *expected = NULL;
    for (size_t i = 0; i < sizeof way / sizeof way[0]; i++) {
        char script[1024];
        snprintf(script, sizeof script,
                 "return {memory = function(a, default)\n"
                 "  local dp, zero = %s\n"
                 "  return {activations = 1e9 * dp / (1 + zero), weights = 1e8 * (5 - zero)}\n"
                 "end}\n",
                 way[i]);
        char *found = solved_with(script);
        if (expected == NULL) {
            expected = found;
        } else {
            assert_string_equal(found, expected);
            free(found);
        }
    }
    free(expected);
}

/* What a table leaves out is as by default, whether that was asked for or not. */
static void what_is_left_out_stays_apart(void **state)
{
    (void)state;
    char *plain = solved_with("return {memory = function(a, default)\n"
                              "  local m = default() m.logits = 3e9 return m\nend}");
    char *terse = solved_with("return {memory = function() return {logits = 3e9} end}");
    assert_string_equal(terse, plain);
    free(terse);
    free(plain);
    plain = solved_with("return {step = function(a, default)\n"
                        "  local s = default() s.constant = 1 return s\nend}");
    terse = solved_with("return {step = function() return {constant = 1} end}");
    assert_string_equal(terse, plain);
    free(terse);
    free(plain);
}

/* A later script without the hook must not answer for another question. */
static void scripts_without_the_hook_pass_on(void **state)
{
    (void)state;
    char one[256], two[256], line[1024];
    snprintf(one, sizeof one, "%s",
             command_file("one.lua", "return {memory = function(a, d)\n"
                                     "  local m = d() m.activations = 2 * m.activations return m\n"
                                     "end}"));
    snprintf(two, sizeof two, "%s",
             command_file("two.lua", "return {compute = function(a, d) return d() end}"));
    char *out[2];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "eval --pin tp=2 --script %s %s%s " SMALL, one,
                 i ? "--script " : "", i ? two : "");
        struct command_result result = command_run(line);
        assert_int_equal(result.status, 0);
        out[i] = strdup(strstr(result.out, "\"step_time_s\""));
        *strstr(out[i], "\"overrides\"") = '\0';
        command_free(&result);
    }
    assert_string_equal(out[0], out[1]);
    free(out[0]);
    free(out[1]);
}

/* Looking at less is asked less. */
static void questions_that_look_alike_are_asked_once(void **state)
{
    (void)state;
    runs("local function calls(hook)\n"
         "  local n = 0\n"
         "  local s = nest.scenario {model = 'llama3-8b', cluster = 'hgx-h100-8'}\n"
         "  s:override {memory = function(a, d) n = n + 1 return hook(a, d) end}\n"
         "  s:solve()\n"
         "  return n\n"
         "end\n"
         "local all = calls(function(a, d) for k in pairs(a) do end return d() end)\n"
         "local none = calls(function(a, d) return d() end)\n"
         "local some = calls(function(a, d) return a.zero == 3 and a.dp > 2 and d() or d() end)\n"
         "assert(none < some and 2 * some < all, none .. ' ' .. some .. ' ' .. all)");
}

/* ---- The memory itself ---- */

static uint64_t next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void look(const struct nest_question *q, int field, struct nest_reads *reads,
                 uint64_t *digest)
{
    if (!(reads->set & (UINT32_C(1) << field))) {
        reads->set |= UINT32_C(1) << field;
        reads->order[reads->count++] = (uint8_t)field;
    }
    double value = field == NEST_ASKED_DEFAULT ? q->given.value[0] : (double)q->field[field].count;
    *digest = *digest * 31 + (uint64_t)value + (uint64_t)field;
}

/* A function that chooses what to look at next by what it saw; steps may differ from call to call
 * without the answer depending on it. */
static double function_of(const struct nest_question *q, uint64_t character, int idle,
                          struct nest_reads *reads)
{
    uint64_t digest = character;
    *reads = (struct nest_reads){.set = 0};
    const uint32_t fields = nest_asked_fields(NEST_HOOK_MEMORY);
    for (uint64_t step = 0; step < 1 + character % 5; step++) {
        int field = (int)(digest % (NEST_ASKED_FIELDS + 1));
        while (!(fields & (UINT32_C(1) << field))) {
            field = (field + 1) % (NEST_ASKED_FIELDS + 1);
        }
        look(q, field, reads, &digest);
    }
    uint64_t unused = 0;
    for (int i = 0; i < idle; i++) {
        look(q, NEST_ASKED_TP + i, reads, &unused);
    }
    return (double)(digest % 1000003);
}

static void memory_answers_as_the_function_would(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    printf("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < test_instances(60); round++) {
        struct nest_arena arena = NEST_ARENA_INIT;
        struct nest_memo *memo = NEST_NEW(&arena, struct nest_memo, 1);
        nest_memo_init(memo, &arena);
        const uint64_t character = next_random(&seed);
        const bool fickle = round % 3 == 0;
        int found = 0;
        for (int i = 0; i < 2000; i++) {
            struct nest_question q = {.hook = NEST_HOOK_MEMORY,
                                      .source = (int)(next_random(&seed) % 2)};
            for (int f = 0; f < NEST_ASKED_FIELDS; f++) {
                q.field[f].count = (int64_t)(next_random(&seed) % 3);
            }
            q.given.count = 1;
            q.given.value[0] = (double)(next_random(&seed) % 3);
            struct nest_reads reads;
            const int idle = fickle ? (int)(next_random(&seed) % 4) : 0;
            const double value = function_of(&q, character + (uint64_t)q.source, idle, &reads);
            const struct nest_hook_answer *known = nest_memo_find(memo, &q);
            if (known) {
                assert_int_equal(known->count, 1);
                assert_true(known->value[0] == value);
                found++;
            } else {
                const struct nest_hook_answer answer = {.count = 1, .value = {value}};
                const struct nest_hook_answer *kept = nest_memo_keep(memo, &q, &reads, &answer);
                assert_true(!kept || kept->value[0] == value);
                known = nest_memo_find(memo, &q);
                assert_true(known != NULL && known->value[0] == value);
            }
        }
        assert_true(found > 0);
        nest_arena_free(&arena);
    }
}

static void without_memory_nothing_is_kept(void **state)
{
    (void)state;
    for (size_t limit = sizeof(struct nest_memo); limit < 20000; limit += 499) {
        struct nest_arena arena = NEST_ARENA_INIT;
        struct nest_memo *memo = NEST_NEW(&arena, struct nest_memo, 1);
        nest_memo_init(memo, &arena);
        arena.limit = limit;
        for (int i = 0; i < 200; i++) {
            struct nest_question q = {.hook = NEST_HOOK_MEMORY};
            q.field[NEST_ASKED_TP].count = i;
            const struct nest_reads reads = {
                .set = UINT32_C(1) << NEST_ASKED_TP, .count = 1, .order = {NEST_ASKED_TP}};
            const struct nest_hook_answer answer = {.count = 1, .value = {i}};
            (void)nest_memo_keep(memo, &q, &reads, &answer);
            const struct nest_hook_answer *known = nest_memo_find(memo, &q);
            assert_true(!known || known->value[0] == (double)i);
        }
        nest_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_table_like_any_other),
        cmocka_unit_test(it_may_be_kept),
        cmocka_unit_test(unsafe_scripts_see_it_as_well),
        cmocka_unit_test(hostile_hooks_end_cleanly),
        cmocka_unit_test(an_answer_follows_all_it_looked_at),
        cmocka_unit_test(what_is_left_out_stays_apart),
        cmocka_unit_test(scripts_without_the_hook_pass_on),
        cmocka_unit_test(questions_that_look_alike_are_asked_once),
        cmocka_unit_test(memory_answers_as_the_function_would),
        cmocka_unit_test(without_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
