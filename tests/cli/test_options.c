/* The option parser: what is accepted, and the one message for each fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/context.h"

static int never_run(struct nest_cli *cli)
{
    (void)cli;
    return 0;
}

static const struct nest_option options[] = {
    {NEST_OPT_TOP, "top", 'k', "K", "How many plans", NULL},
    {NEST_OPT_JSON, "json", 'j', NULL, "JSON", NULL},
    NEST_OPTIONS_END,
};

static const struct nest_command command = {
    .name = "solve",
    .operands = "[FILE]",
    .summary = "For the test",
    .options = options,
    .scenario = true,
    .most = 1,
    .run = never_run,
};

struct parsed {
    struct nest_arena arena;
    struct nest_args args;
    struct nest_errors errors;
    enum nest_status status;
};

/* Parses the words of line, split at spaces. */
static void parse(struct parsed *p, const char *line)
{
    *p = (struct parsed){.arena = NEST_ARENA_INIT};
    nest_errors_init(&p->errors, &p->arena);
    char *words[16];
    int count = 0;
    char *save = NULL;
    for (char *word = strtok_r(nest_arena_strdup(&p->arena, line), " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        words[count++] = word;
    }
    p->status = nest_args_parse(&command, count, words, &p->arena, &p->args, &p->errors);
}

static void assert_message(const char *line, const char *expected)
{
    struct parsed p;
    parse(&p, line);
    assert_int_equal(p.status, NEST_BAD_INPUT);
    assert_int_equal(p.errors.count, 1);
    struct nest_strbuf text = NEST_STRBUF_INIT(4096);
    nest_error_format(&p.errors.item[0], &text);
    assert_string_equal(nest_strbuf_text(&text), expected);
    nest_strbuf_free(&text);
    nest_arena_free(&p.arena);
}

static void test_forms(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, "--top=3 -jk 4 --set a=1 --set=b=2 file -m x -p tp=8 -k5");
    assert_int_equal(p.status, NEST_OK);
    assert_string_equal(nest_args_value(&p.args, NEST_OPT_TOP), "5");
    assert_true(nest_args_has(&p.args, NEST_OPT_JSON));
    int sets = 0;
    const char **set = nest_args_values(&p.args, NEST_OPT_SET, &p.arena, &sets);
    assert_int_equal(sets, 2);
    assert_string_equal(set[0], "a=1");
    assert_string_equal(set[1], "b=2");
    assert_int_equal(p.args.operand_count, 1);
    assert_string_equal(p.args.operand[0], "file");
    assert_string_equal(nest_args_value(&p.args, NEST_OPT_PIN), "tp=8");
    nest_arena_free(&p.arena);
}

static void test_dashes(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, "--json -");
    assert_string_equal(p.args.operand[0], "-");
    nest_arena_free(&p.arena);
    parse(&p, "--json -- --top");
    assert_int_equal(p.status, NEST_OK);
    assert_string_equal(p.args.operand[0], "--top");
    assert_false(nest_args_has(&p.args, NEST_OPT_TOP));
    nest_arena_free(&p.arena);
}

static void test_messages(void **state)
{
    (void)state;
    assert_message("--jsno", "unknown option '--jsno'; did you mean --json?\n");
    assert_message("--modle=x", "unknown option '--modle'; did you mean --model?\n");
    assert_message("--xyzzyplugh", "unknown option '--xyzzyplugh'\n");
    assert_message("-z", "unknown option '-z'\n");
    assert_message("--top", "option --top needs K\n");
    assert_message("--json=1", "option --json takes no value\n");
    assert_message("a b", "unexpected argument 'b'\n");
}

static void test_help_wins(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, "--help a b c");
    assert_int_equal(p.status, NEST_OK);
    nest_arena_free(&p.arena);
}

static void test_integers(void **state)
{
    (void)state;
    static const char *const bad[] = {"--top=0", "--top=x", "--top=3x", "--top=1e3",
                                      "--top=99999999999999999999"};
    struct parsed p;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        parse(&p, bad[i]);
        assert_int_equal(nest_args_integer(&p.args, NEST_OPT_TOP, "top", 1, 100, 7, &p.errors), 7);
        assert_int_equal(p.errors.count, 1);
        nest_arena_free(&p.arena);
    }
    parse(&p, "--top 12");
    assert_int_equal(nest_args_integer(&p.args, NEST_OPT_TOP, "top", 1, 100, 7, &p.errors), 12);
    nest_arena_free(&p.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),    cmocka_unit_test(test_dashes),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_help_wins),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
