/* A stranger's file ends cleanly: within its budgets, with its own error, and the state goes on. */
#include <dirent.h>
#include <lauxlib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "script/pattern.h"
#include "script/sandbox.h"

static const struct nest_sandbox_limits LIMITS = {
    .memory = (size_t)16 << 20, .instructions = 20000000, .seconds = 1.0, .output = 65536};

struct printed {
    char text[4096];
    size_t length;
};

static void keep(void *context, const char *text, size_t length)
{
    struct printed *printed = context;
    if (printed->length + length < sizeof(printed->text)) {
        memcpy(printed->text + printed->length, text, length);
        printed->length += length;
        printed->text[printed->length] = '\0';
    }
}

struct program {
    const char *path;
    const char *text; /* NULL: read path */
};

static int run_program(lua_State *L)
{
    const struct program *program = lua_touserdata(L, 1);
    if (program->text) {
        nest_sandbox_load(L, program->path, program->text, strlen(program->text));
    } else {
        nest_sandbox_load_file(L, program->path);
    }
    lua_call(L, 0, 0);
    return 0;
}

static struct nest_sandbox *open_sandbox(struct nest_sandbox_options options)
{
    struct nest_sandbox *sandbox = NULL;
    assert_int_equal(nest_sandbox_open(&options, &sandbox), NEST_OK);
    return sandbox;
}

static enum nest_status run_text(struct nest_sandbox *sandbox, const char *text,
                                 struct nest_errors *errors)
{
    struct program program = {"test.lua", text};
    return nest_sandbox_run(sandbox, run_program, &program, errors);
}

/* Runs text in a fresh state and compares what it prints. */
static void assert_prints(const char *text, const char *expected)
{
    struct printed printed = {.length = 0};
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    struct nest_sandbox *sandbox = open_sandbox((struct nest_sandbox_options){
        .limits = LIMITS, .seed = 1, .print = keep, .print_context = &printed});
    const enum nest_status status = run_text(sandbox, text, &errors);
    if (status != NEST_OK) {
        print_error("%s\n", errors.count ? errors.item[0].message : "no message");
    }
    assert_int_equal(status, NEST_OK);
    assert_string_equal(printed.text, expected);
    nest_sandbox_close(sandbox);
    nest_arena_free(&arena);
}

/* Only a script that must run into the clock has a short one: a busy machine decides nothing. */
static struct nest_sandbox_limits limits_for(const char *expected)
{
    struct nest_sandbox_limits limits = LIMITS;
    if (!strstr(expected, "seconds")) {
        limits.seconds = 60.0;
    }
    return limits;
}

static void read_expectation(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(out, (int)size, file));
    fclose(file);
    assert_int_equal(strncmp(out, "-- expect: ", 11), 0);
    memmove(out, out + 11, strlen(out + 11) + 1);
    out[strcspn(out, "\n")] = '\0';
}

/* False, with the reason printed, when the file does not end as it should. */
static bool check_hostile(const char *path)
{
    char expected[256];
    read_expectation(path, expected, sizeof(expected));
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    struct nest_sandbox *sandbox =
        open_sandbox((struct nest_sandbox_options){.limits = limits_for(expected), .seed = 1});
    struct program program = {path, NULL};
    const enum nest_status status = nest_sandbox_run(sandbox, run_program, &program, &errors);
    const char *message = errors.count ? errors.item[0].message : "ok";
    const bool as_expected =
        strcmp(expected, "ok") == 0 ? status == NEST_OK : strstr(message, expected) != NULL;
    if (!as_expected) {
        print_error("%s: expected '%s', got '%s'\n", path, expected, message);
    }
    if (status != NEST_OK && !strstr(message, " MiB") && !strstr(message, " no list")) {
        assert_string_equal(errors.item[0].mark.file, path);
        assert_true(errors.item[0].mark.line > 1);
        assert_non_null(strstr(nest_sandbox_traceback(sandbox), path));
    }
    assert_true(errors.count <= 1);
    assert_int_equal(run_text(sandbox, "local t = {} for i = 1, 1000 do t[i] = i end", &errors),
                     NEST_OK);
    nest_sandbox_close(sandbox);
    nest_arena_free(&arena);
    return as_expected;
}

static int only_lua(const struct dirent *entry)
{
    return strstr(entry->d_name, ".lua") != NULL;
}

static void test_hostile_scripts_end_cleanly(void **state)
{
    (void)state;
    struct dirent **entry;
    const int count = scandir("tests/script/hostile", &entry, only_lua, alphasort);
    assert_true(count >= 100);
    int failed = 0;
    for (int i = 0; i < count; i++) {
        char path[512];
        snprintf(path, sizeof(path), "tests/script/hostile/%s", entry[i]->d_name);
        alarm(60); /* a script that is not stopped kills the test */
        failed += !check_hostile(path);
        alarm(0);
        free(entry[i]);
    }
    free(entry);
    assert_int_equal(failed, 0);
}

/* A string may be as large as the budget allows, whatever its size; a table's keys may not. */
static void test_strings_of_all_sizes(void **state)
{
    (void)state;
    static const char *const make[] = {
        "('x'):rep(n)",
        "('ab'):rep(n // 2) .. ('c'):rep(n % 2)",
        "big:sub(1, n):upper()",
        "big:sub(1, n):reverse()",
        "big:sub(1, n):lower()",
        "table.concat({big:sub(1, n)})",
        "('%s'):format(big:sub(1, n))",
        "('^' .. big:sub(2, n)):gsub('^%^', 'x')",
    };
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    for (size_t i = 0; i < sizeof make / sizeof make[0]; i++) {
        struct nest_sandbox *sandbox =
            open_sandbox((struct nest_sandbox_options){.limits = {.memory = (size_t)128 << 20,
                                                                  .instructions = 100000000,
                                                                  .seconds = 60.0,
                                                                  .output = 65536}});
        char program[1024];
        snprintf(program, sizeof program,
                 "local big = ('x'):rep(13 << 20)\n"
                 "for _, unit in ipairs {1, 3, 24, 3 << 10} do\n"
                 "  for k = 0, 23 do\n"
                 "    for d = -1, 1 do\n"
                 "      local n = (unit << k) + d\n"
                 "      if n > 1 << 19 and n <= #big then assert(#(%s) == n, n) end\n"
                 "    end\n"
                 "  end\n"
                 "end\n",
                 make[i]);
        const enum nest_status status = run_text(sandbox, program, &errors);
        if (status != NEST_OK) {
            fail_msg("%s: %s", make[i], errors.item[0].message);
        }
        nest_sandbox_close(sandbox);
    }
    nest_arena_free(&arena);
}

/* Lists are no keys, in whatever way they are walked. */
static void test_lists_of_all_sizes(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    struct nest_sandbox *sandbox =
        open_sandbox((struct nest_sandbox_options){.limits = NEST_SANDBOX_BUILDER});
    const enum nest_status status =
        run_text(sandbox,
                 "for _, n in ipairs {65536, 65537, 98304, 131072, 196608, 196609} do\n"
                 "  local t = {} for i = 1, n do t[i] = i end\n"
                 "  local last for k, v in pairs(t) do last = k end\n"
                 "  assert(last == n)\n"
                 "end",
                 &errors);
    assert_string_equal(errors.count ? errors.item[0].message : "", "");
    assert_int_equal(status, NEST_OK);
    nest_sandbox_close(sandbox);
    nest_arena_free(&arena);
}

/* With any number of arguments, and what the compiler says of a program that it cannot take. */
static void test_load_takes_what_it_is_given(void **state)
{
    (void)state;
    assert_prints(
        "x = 1\n"
        "print(load('return x')(), load('return x', 'n')(), load('return x', 'n', 't')())\n"
        "print(load('return x', 'n', 't', {x = 2})(), load('return x', nil, nil, {})())\n"
        "print(load('x = = 1', 'n'))\n"
        "print(load(('do '):rep(9999) .. ('end '):rep(9999)))\n",
        "1\t1\t1\n2\tnil\nnil\tn:1: unexpected symbol near '='\n"
        "nil\tC stack overflow\n");
}

static void test_faults_show_the_line(void **state)
{
    (void)state;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    struct nest_sandbox *sandbox = open_sandbox((struct nest_sandbox_options){.limits = LIMITS});
    const struct {
        const char *text;
        int line;
        const char *message;
    } cases[] = {
        {"local x = {}\nlocal y = x.z.w\n", 2, "attempt to index a nil value (field 'z')"},
        {"local x = \n\n= 3\n", 3, "unexpected symbol near '='"},
        {"local function f()\n error('no')\nend\n\nf()\n", 2, "no"},
        {"string.rep()\n", 1, "bad argument #1 to 'string.rep' (string expected, got no value)"},
        {"setmetatable(1)\n", 1, "bad argument #1 to 'setmetatable' (table expected, got number)"},
        {"table.insert(1)\n", 1, "bad argument #1 to 'table.insert' (table expected, got number)"},
        {"xpcall(1, 2)\n", 1, "bad argument #2 to 'xpcall' (function expected, got number)"},
        {"('x'):find()\n", 1, "bad argument #2 to 'string.find' (string expected, got no value)"},
        {"\n\nerror('plain', 0)\n", 3, "plain"},
        {"table.concat({1, {}, 3})\n", 1, "invalid value (table) at index 2 in table for 'concat'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        nest_errors_init(&errors, &arena);
        assert_int_equal(run_text(sandbox, cases[i].text, &errors), NEST_BAD_INPUT);
        assert_int_equal(errors.count, 1);
        assert_string_equal(errors.item[0].mark.file, "test.lua");
        assert_int_equal(errors.item[0].mark.line, cases[i].line);
        assert_string_equal(errors.item[0].message, cases[i].message);
    }
    assert_int_equal(run_text(sandbox,
                              "local function inner() error('x') end\nlocal function outer()\n"
                              " inner()\nend\nouter()\n",
                              &errors),
                     NEST_BAD_INPUT);
    assert_string_equal(nest_sandbox_traceback(sandbox),
                        "test.lua:1: in upvalue 'inner'\ntest.lua:3: in local 'outer'\n"
                        "test.lua:5: in main chunk\n");
    nest_sandbox_close(sandbox);
    nest_arena_free(&arena);
}

static void test_cancel_stops_without_a_fault(void **state)
{
    (void)state;
    atomic_bool cancel = true;
    struct nest_arena arena = NEST_ARENA_INIT;
    struct nest_errors errors;
    nest_errors_init(&errors, &arena);
    struct nest_sandbox *sandbox;
    struct nest_sandbox_options options = {.limits = LIMITS, .cancel = &cancel};
    atomic_store(&cancel, false);
    sandbox = open_sandbox(options);
    atomic_store(&cancel, true);
    assert_int_equal(run_text(sandbox, "while true do pcall(error) end", &errors), NEST_CANCELLED);
    assert_int_equal(errors.count, 0);
    atomic_store(&cancel, false);
    assert_int_equal(run_text(sandbox, "local x = 1", &errors), NEST_OK);
    nest_sandbox_close(sandbox);
    nest_arena_free(&arena);
}

static void test_same_input_same_output(void **state)
{
    (void)state;
    assert_prints("local t = {zeta = 1, alpha = 2, [3] = 3, [1] = 1, [2.5] = 0, [true] = 4}\n"
                  "for k, v in pairs(t) do print(k, v) end\n",
                  "1\t1\n2.5\t0\n3\t3\nalpha\t2\nzeta\t1\ntrue\t4\n");
    assert_prints("local t = {a = 1, b = 2, c = 3}\n"
                  "for k in pairs(t) do t[k] = nil t.b = nil print(k) end\n",
                  "a\nc\n");
    assert_prints("print(math.random(1000000) == (function() math.randomseed(1) "
                  "return math.random(1000000) end)())\n",
                  "true\n");
}

static void test_ordinary_lua_works(void **state)
{
    (void)state;
    assert_prints("local C = {} C.__index = C function C:get() return self.x end\n"
                  "local o = setmetatable({x = 5}, C) print(o:get(), getmetatable(o) == C)\n",
                  "5\ttrue\n");
    assert_prints("local co = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) "
                  "pcall(function() coroutine.yield(b * 2) end) return 'end' end)\n"
                  "print(co(1), co(10), co())\n",
                  "2\t20\tend\n");
    assert_prints("print(pcall(error, {code = 3}))\nprint(select(2, pcall(error, 'm', 0)))\n",
                  "false\ttable\nm\n");
    assert_prints("for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do print(k, v) end\n"
                  "print(('  trim me '):match('^%s*(.-)%s*$') .. '|')\n"
                  "print(table.concat({'x', 'y'}, '-'), ('%5.2f'):format(3.14159))\n",
                  "a\t1\nb\t2\ntrim me|\nx-y\t 3.14\n");
    assert_prints("local env = {print = print} local f = load('x = 1 print(x)', 'c', 't', env) "
                  "f() print(x, env.x)\n",
                  "1\nnil\t1\n");
    assert_prints("local t = {3, 1, 2} table.sort(t) print(table.unpack(t))\n"
                  "table.sort(t, function(a, b) return a > b end) print(table.unpack(t))\n",
                  "1\t2\t3\n3\t2\t1\n");
    assert_prints("local s = setmetatable({}, {__tostring = function() return 'S' end, "
                  "__len = function() return 7 end, __add = function() return 'sum' end})\n"
                  "print(s, #s, s + 1)\n",
                  "S\t7\tsum\n");
}

static void test_pattern_steps_bound_the_matcher(void **state)
{
    (void)state;
    assert_true(nest_pattern_steps("abc", 3, 1000000, false) < NEST_PATTERN_STEPS_MAX);
    assert_true(nest_pattern_steps("^%s*(.-)%s*$", 12, 200, false) < NEST_PATTERN_STEPS_MAX);
    assert_true(nest_pattern_steps("(%w+)=(%w+)", 11, 500, false) < NEST_PATTERN_STEPS_MAX);
    assert_true(nest_pattern_steps(".-.-.-.-b", 9, 20000, false) > NEST_PATTERN_STEPS_MAX);
    assert_true(nest_pattern_steps("%1", 2, 1000, false) >= 1000000);
    assert_true(nest_pattern_steps("[", 1, 10, false) > 0);
    assert_true(nest_pattern_steps("%", 1, 10, false) > 0);
    assert_true(nest_pattern_steps("%b", 2, 10, false) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_scripts_end_cleanly),
        cmocka_unit_test(test_load_takes_what_it_is_given),
        cmocka_unit_test(test_strings_of_all_sizes),
        cmocka_unit_test(test_lists_of_all_sizes),
        cmocka_unit_test(test_faults_show_the_line),
        cmocka_unit_test(test_cancel_stops_without_a_fault),
        cmocka_unit_test(test_same_input_same_output),
        cmocka_unit_test(test_ordinary_lua_works),
        cmocka_unit_test(test_pattern_steps_bound_the_matcher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
