/* Cost overrides from files: what each hook changes, that the search stays exact with them, and
 * what becomes of mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

#define SMALL "--model llama3-8b --cluster hgx-h100-8 --json "

/* A script in a file of its own; the caller removes it. */
static void write_script(char path[32], const char *text)
{
    strcpy(path, "/tmp/nest-hook-XXXXXX");
    const int file = mkstemp(path);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* Runs "nest WHAT --script FILE" with the text as the file. */
static struct command_result run_with(const char *what, const char *text)
{
    char path[32], line[1024];
    write_script(path, text);
    snprintf(line, sizeof line, "%s --script %s", what, path);
    struct command_result result = command_run(line);
    remove(path);
    return result;
}

/* The text from `"step_time_s"` up to what overrides changed, or the search, which tells times. */
static char *answer_of(const struct command_result *result)
{
    const char *from = strstr(result->out, "\"step_time_s\"");
    const char *to = strstr(result->out, "\"overrides\"");
    to = to ? to : strstr(result->out, "\"search\"");
    assert_non_null(from);
    return strndup(from, to ? (size_t)(to - from) : strlen(from));
}

static double number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtod(at + strlen(key) + strspn(at + strlen(key), "\": "), NULL);
}

#define IDENTITY(hook) #hook " = function(asked, default) return default() end,\n"

static void an_identity_changes_no_bit(void **state)
{
    (void)state;
    static const char *const script[] = {
        "return {" IDENTITY(compute) "}",
        "return {" IDENTITY(collective) "}",
        "return {" IDENTITY(transfer) "}",
        "return {" IDENTITY(memory) "}",
        "return {" IDENTITY(reserve) "}",
        "return {" IDENTITY(load) "}",
        "return {" IDENTITY(step) "}",
        "return {" IDENTITY(compute) IDENTITY(collective) IDENTITY(transfer) IDENTITY(memory)
            IDENTITY(reserve) IDENTITY(load) IDENTITY(step) "}",
    };
    struct command_result plain = command_run("solve " SMALL);
    char *expected = answer_of(&plain);
    for (size_t i = 0; i < sizeof script / sizeof script[0]; i++) {
        struct command_result result = run_with("solve " SMALL, script[i]);
        char *found = answer_of(&result);
        assert_string_equal(found, expected);
        free(found);
        command_free(&result);
    }
    free(expected);
    command_free(&plain);
}

/* The bounds that a search rests on hold under any overrides. */
static void the_search_is_exact(void **state)
{
    (void)state;
    static const char *const script[] = {
        "return {compute = function(l, d) local f, b = d()\n"
        "  return f * (l.tp > 2 and 3 or 1), b / (l.micro_batch + 1) end}",
        "return {collective = function(m, d) return m.level == 0 and 3 * d() or d() / 10 end}",
        "return {collective = function(m, d) return 1e-12 * m.bytes end}",
        "return {transfer = function(m, d) return m.direction == 'forward' and 50 * d() or 0 end}",
        "return {memory = function(l, d) local t = d()\n"
        "  t.optimizer = l.zero == 1 and 0 or t.optimizer\n"
        "  t.waiting, t.activations = t.activations, 0\n"
        "  t.entering, t.resident = 1e8, 1e7 return t end}",
        "return {reserve = function(s, d) return {base = s.tp * 4e9, buffers = 1e9} end}",
        "return {load = function(s, d) return {forward = 1, backward = 1, recompute = 0.1} end}",
        "return {load = function(s, d) return {{forward = 3}, {backward = 2, out = 1}} end}",
        "return {step = function(p, d) return p.stages ~= 2 and\n"
        "  {bottleneck = p.microbatches + p.stages - 1, fill = 0, tail = 0.5, constant = 0.1} end}",
        "return {step = function(p, d) return {tails = 'first', sync = 2, update = 0} end}",
    };
    for (size_t i = 0; i < sizeof script / sizeof script[0]; i++) {
        struct command_result fast =
            run_with("solve --set global_batch=64 --set seq=2048 " SMALL, script[i]);
        struct command_result slow =
            run_with("solve --exhaustive --set global_batch=64 --set seq=2048 " SMALL, script[i]);
        char *found = answer_of(&fast);
        char *expected = answer_of(&slow);
        if (strcmp(found, expected) != 0) {
            fail_msg("%s\n%s\nexhaustive:\n%s", script[i], found, expected);
        }
        free(found);
        free(expected);
        command_free(&fast);
        command_free(&slow);
    }
}

static void weights_compose_as_they_say(void **state)
{
    (void)state;
    const char *const eval = "eval --pin tp=2,pp=4,zero=0,recompute=none " SMALL;
    struct command_result plain = command_run(eval);
    struct command_result gpipe = run_with(
        eval, "return {step = function(p)\n"
              "  return {bottleneck = p.microbatches + p.stages - 1, fill = 0, tail = 0}\nend}");
    double most = 0;
    for (const char *at = plain.out; (at = strstr(at, "\"load_s\"")) != NULL; at++) {
        const double load = number_after(at, "\"load_s\"");
        most = load > most ? load : most;
    }
    const double m = number_after(plain.out, "\"microbatches\"");
    const double expected = (m + 3) * most;
    const double found = number_after(gpipe.out, "\"step_time_s\"");
    assert_true(found > expected * (1 - 1e-9) && found < expected * (1 + 1e-9));
    command_free(&plain);
    command_free(&gpipe);
}

static void a_later_script_builds_on_an_earlier_one(void **state)
{
    (void)state;
    char one[32], two[32], line[512];
    write_script(one, "return {reserve = function() return {base = 1e9, pipeline = 0} end}");
    write_script(two, "return {reserve = function(s, default)\n"
                      "  return {base = default().base + 5e8}\nend}");
    snprintf(line, sizeof line, "eval --pin tp=8 " SMALL "--script %s --script %s", one, two);
    struct command_result result = command_run(line);
    assert_true(number_after(result.out, "\"reserve\"") == 1.5e9);
    command_free(&result);
    remove(one);
    remove(two);
}

static void mistakes_are_located(void **state)
{
    (void)state;
    static const struct {
        const char *script, *place, *message;
    } cases[] = {
        {"return {compute = 1}", ":1: ", "the override compute must be a function"},
        {"return {kompute = print}", ":1: ", "there is no override 'kompute'"},
        {"local x = 1\nreturn x", ":1: ", "it returns no table"},
        {"return {\n\n  compute = }", ":3: ", "unexpected symbol"},
        {"return {compute = function()\n  error('no idea')\nend}", ":2: ", "no idea"},
        {"local a\nreturn {compute = function() return 1, -1 end}",
         ":2: ", "the override compute must return seconds, finite and at least 0; got -1"},
        {"return {collective = function() return 0 / 0 end}", ":1: ", "finite and at least 0"},
        {"return {collective = function() return 1e9 end}", ":1: ", "which is too much"},
        {"return {transfer = function() return 'long' end}", ":1: ", "got long"},
        {"return {memory = function() return {weight = 1} end}", ":1: ", "knows no 'weight'"},
        {"return {memory = function() return 7 end}", ":1: ", "a table of bytes; got a number"},
        {"return {load = function() return {1} end}", ":1: ", "a list of them"},
        {"return {load = function() return {{}, {}, {}, {}, {}} end}", ":1: ", "4 rows"},
        {"return {step = function() return {fill = -1} end}", ":1: ", "got fill = -1"},
        {"return {step = function() return {tails = 3} end}", ":1: ", "\"all\" or \"first\""},
        {"return {step = function() while true do end end}", ":1: ", "ran longer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct command_result result =
            run_with("eval --pin tp=2,pp=4,zero=1 " SMALL, cases[i].script);
        const char *place = strstr(result.err, cases[i].place);
        if (result.status != 2 || *result.out || !place || !strstr(place, cases[i].message)) {
            fail_msg("%s\nstatus %d: %s", cases[i].script, result.status, result.err);
        }
        command_free(&result);
    }
}

/* Bounds rest on it. */
static void a_collective_must_grow_with_its_default(void **state)
{
    (void)state;
    struct command_result result =
        run_with("solve --model llama3-8b --pin tp=8..16",
                 "return {collective = function(m, default)\n  return 1 / (1 + default()) end}");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, ":1: the override collective may not return less"));
    command_free(&result);
}

static void scenarios_name_their_scripts(void **state)
{
    (void)state;
    char folder[] = "/tmp/nest-scenario-XXXXXX", path[128], line[256];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/slow.lua", folder);
    FILE *script = fopen(path, "w");
    assert_non_null(script);
    fputs("return {compute = function(l, default)\n  local f, b = default()\n"
          "  return 2 * f, 2 * b\nend}\n",
          script);
    fclose(script);
    snprintf(path, sizeof path, "%s/s.yaml", folder);
    FILE *scenario = fopen(path, "w");
    assert_non_null(scenario);
    fputs("model: llama3-8b\ncluster: hgx-h100-8\nscripts: [slow.lua]\n", scenario);
    fclose(scenario);

    snprintf(line, sizeof line, "check %s", path);
    struct command_result checked = command_run(line);
    assert_int_equal(checked.status, 0);
    command_free(&checked);
    snprintf(line, sizeof line, "eval --pin tp=8 --json -s %s", path);
    struct command_result slow = command_run(line);
    struct command_result plain = command_run("eval --pin tp=8 " SMALL);
    assert_true(number_after(slow.out, "\"step_time_s\"") >
                1.5 * number_after(plain.out, "\"step_time_s\""));
    command_free(&slow);
    command_free(&plain);

    snprintf(line, sizeof line, "%s/slow.lua", folder);
    script = fopen(line, "w");
    assert_non_null(script);
    fputs("return {\n  compute = 5}\n", script);
    fclose(script);
    snprintf(line, sizeof line, "check %s", path);
    checked = command_run(line);
    assert_int_equal(checked.status, 2);
    assert_non_null(strstr(checked.err, "slow.lua:1: the override compute must be a function"));
    command_free(&checked);
    snprintf(line, sizeof line, "rm -r %s", folder);
    assert_int_equal(system(line), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_identity_changes_no_bit),
        cmocka_unit_test(the_search_is_exact),
        cmocka_unit_test(weights_compose_as_they_say),
        cmocka_unit_test(a_later_script_builds_on_an_earlier_one),
        cmocka_unit_test(mistakes_are_located),
        cmocka_unit_test(a_collective_must_grow_with_its_default),
        cmocka_unit_test(scenarios_name_their_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
