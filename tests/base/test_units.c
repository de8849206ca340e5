/* Units: what people type, what is refused, and that printing and parsing agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/suggest.h"
#include "base/units.h"
#include "support/seed.h"

static const char *parse(const char *text, enum nest_unit unit, double *out)
{
    static char scratch[96];
    const char *hint = NULL;
    return nest_unit_parse(text, unit, out, &hint, scratch, sizeof scratch);
}

static void units_people_type(void **state)
{
    static const struct {
        const char *text;
        enum nest_unit unit;
        double value;
    } cases[] = {
        {"400Gb/s", NEST_UNIT_BANDWIDTH, 50e9},
        {"400 Gb/s", NEST_UNIT_BANDWIDTH, 50e9},
        {"400Gbps", NEST_UNIT_BANDWIDTH, 50e9},
        {"400Gbit/s", NEST_UNIT_BANDWIDTH, 50e9},
        {"50GB/s", NEST_UNIT_BANDWIDTH, 50e9},
        {"3.35TB/s", NEST_UNIT_BANDWIDTH, 3.35e12},
        {"1GiB/s", NEST_UNIT_BANDWIDTH, 1073741824.0},
        {"5e10", NEST_UNIT_BANDWIDTH, 5e10},
        {"80GiB", NEST_UNIT_BYTES, 85899345920.0},
        {"80GB", NEST_UNIT_BYTES, 80e9},
        {"512MB", NEST_UNIT_BYTES, 512e6},
        {"1EB", NEST_UNIT_BYTES, 1e18},
        {"1.5e3MiB", NEST_UNIT_BYTES, 1500.0 * 1048576},
        {"7B", NEST_UNIT_BYTES, 7},
        {"1.2us", NEST_UNIT_SECONDS, 1.2e-6},
        {"1.2\xc2\xb5s", NEST_UNIT_SECONDS, 1.2e-6},
        {"3ms", NEST_UNIT_SECONDS, 3e-3},
        {"400ns", NEST_UNIT_SECONDS, 400e-9},
        {"2", NEST_UNIT_SECONDS, 2},
        {"989TFLOP/s", NEST_UNIT_FLOPS, 989e12},
        {"989TFLOPS", NEST_UNIT_FLOPS, 989e12},
        {"2.25PFLOP/s", NEST_UNIT_FLOPS, 2.25e15},
        {"4:1", NEST_UNIT_RATIO, 4},
        {"7:2", NEST_UNIT_RATIO, 3.5},
        {"4", NEST_UNIT_RATIO, 4},
        {"1e9", NEST_UNIT_NONE, 1e9},
        {".5", NEST_UNIT_NONE, 0.5},
        {"+3", NEST_UNIT_NONE, 3},
        {"-3e-2", NEST_UNIT_NONE, -0.03},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = 0;
        const char *fault = parse(cases[i].text, cases[i].unit, &value);
        if (fault || value != cases[i].value) {
            fail_msg("%s: %s, %.17g", cases[i].text, fault ? fault : "read", value);
        }
    }
}

static void units_refused(void **state)
{
    static const struct {
        const char *text;
        enum nest_unit unit;
        const char *message;
    } cases[] = {
        {"", NEST_UNIT_BYTES, "not a number"},
        {"GiB", NEST_UNIT_BYTES, "not a number"},
        {"nan", NEST_UNIT_NONE, "not a number"},
        {"inf", NEST_UNIT_NONE, "not a number"},
        {"0x10", NEST_UNIT_NONE, "text 'x10' after the number"},
        {"1,5", NEST_UNIT_NONE, "text ',5' after the number"},
        {"1.2.3", NEST_UNIT_NONE, "text '.3' after the number"},
        {".", NEST_UNIT_NONE, "not a number"},
        {"-", NEST_UNIT_NONE, "not a number"},
        {"1e400", NEST_UNIT_NONE, "number is too large"},
        {"1e300EB", NEST_UNIT_BYTES, "number is too large"},
        {"80Gb", NEST_UNIT_BYTES, "unknown unit 'Gb'"},
        {"80gib", NEST_UNIT_BYTES, "unknown unit 'gib'"},
        {"400Gbs", NEST_UNIT_BANDWIDTH, "unknown unit 'Gbs'"},
        {"400GB", NEST_UNIT_BANDWIDTH, "unknown unit 'GB'"},
        {"400Gib/s", NEST_UNIT_BANDWIDTH, "unknown unit 'Gib/s'"},
        {"1uss", NEST_UNIT_SECONDS, "unknown unit 'uss'"},
        {"1S", NEST_UNIT_SECONDS, "unknown unit 'S'"},
        {"4:0", NEST_UNIT_RATIO, "a ratio needs a divisor above 0"},
        {"4:", NEST_UNIT_RATIO, "not a number"},
        {"4/1", NEST_UNIT_RATIO, "not a ratio"},
        {"4:1x", NEST_UNIT_RATIO, "not a ratio"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = 77;
        const char *fault = parse(cases[i].text, cases[i].unit, &value);
        assert_non_null(fault);
        assert_string_equal(fault, cases[i].message);
        assert_true(value == 77);
    }
}

static void units_shown(void **state)
{
    static const struct {
        double value;
        enum nest_unit unit;
        const char *text;
    } cases[] = {
        {50e9, NEST_UNIT_BANDWIDTH, "50 GB/s"},
        {56.25e9, NEST_UNIT_BANDWIDTH, "56.25 GB/s"},
        {3.35e12, NEST_UNIT_BANDWIDTH, "3350 GB/s"},
        {76.0 * 1073741824.0, NEST_UNIT_BYTES, "76.0 GiB"},
        {629145600, NEST_UNIT_BYTES, "0.6 GiB"},
        {0, NEST_UNIT_BYTES, "0 B"},
        {7.7, NEST_UNIT_SECONDS, "7.70 s"},
        {0.0032, NEST_UNIT_SECONDS, "3.20 ms"},
        {1.2e-6, NEST_UNIT_SECONDS, "1.2 us"},
        {4e-6, NEST_UNIT_SECONDS, "4 us"},
        {123.4, NEST_UNIT_SECONDS, "123 s"},
        {4, NEST_UNIT_RATIO, "4:1"},
        {989e12, NEST_UNIT_FLOPS, "989 TFLOP/s"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        assert_string_equal(nest_unit_format(cases[i].value, cases[i].unit, text, sizeof text),
                            cases[i].text);
    }
    char tiny[4];
    assert_string_equal(nest_unit_format(50e9, NEST_UNIT_BANDWIDTH, tiny, sizeof tiny), "50 ");
}

static void counts_shown(void **state)
{
    char text[32];
    (void)state;
    assert_string_equal(nest_count_format(7, text, sizeof text), "7");
    assert_string_equal(nest_count_format(-7, text, sizeof text), "-7");
    assert_string_equal(nest_count_format(4310, text, sizeof text), "4,310");
    assert_string_equal(nest_count_format(131072, text, sizeof text), "131,072");
    assert_string_equal(nest_count_format(1234567, text, sizeof text), "1.23 M");
    assert_string_equal(nest_count_format(70553706496, text, sizeof text), "70.6 B");
    assert_string_equal(nest_count_format(1026408232448, text, sizeof text), "1.03 T");
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Values as they arise (whole multiples of units) and any finite double at all. */
static double random_value(uint64_t *seed)
{
    static const double scales[] = {1, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12, 1073741824.0, 0.125};
    if (next_random(seed) % 2) {
        return (double)(next_random(seed) % 100000) * scales[next_random(seed) % 10];
    }
    const double fraction = (double)(next_random(seed) >> 11) * 0x1p-53;
    return ldexp(fraction, (int)(next_random(seed) % 120) - 60);
}

static void exact_text_reads_back(void **state)
{
    uint64_t seed = test_seed() * 0x9e3779b97f4a7c15U;
    (void)state;
    const int instances = test_instances(20000);
    print_message("seed %llu\n", (unsigned long long)test_seed());
    for (int i = 0; i < instances; i++) {
        const enum nest_unit unit = (enum nest_unit)(next_random(&seed) % 6);
        const double value = random_value(&seed);
        char text[64];
        double back = -1;
        const char *fault =
            parse(nest_unit_format_exact(value, unit, text, sizeof text), unit, &back);
        if (fault || back != value) {
            fail_msg("%.17g as '%s': %s, %.17g", value, text, fault ? fault : "read", back);
        }
    }
}

static void exact_text_is_short(void **state)
{
    char text[64];
    (void)state;
    assert_string_equal(nest_unit_format_exact(50e9, NEST_UNIT_BANDWIDTH, text, sizeof text),
                        "50GB/s");
    assert_string_equal(
        nest_unit_format_exact(76.0 * 1073741824.0, NEST_UNIT_BYTES, text, sizeof text), "76GiB");
    assert_string_equal(nest_unit_format_exact(1.2e-6, NEST_UNIT_SECONDS, text, sizeof text),
                        "1.2us");
    assert_string_equal(nest_unit_format_exact(4, NEST_UNIT_RATIO, text, sizeof text), "4");
    assert_string_equal(nest_unit_format_exact(989e12, NEST_UNIT_FLOPS, text, sizeof text),
                        "989TFLOP/s");
}

static const char *suggested(const char *typed)
{
    static const char *const known[] = {"tp", "llama3-8b", "llama2-7b", "mixtral-8x7b",
                                        "oversubscription"};
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, typed);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        nest_suggest_offer(&suggest, known[i]);
    }
    return suggest.best;
}

static void what_was_meant_is_found(void **state)
{
    (void)state;
    assert_string_equal(suggested("llama3-7b"), "llama3-8b");
    assert_string_equal(suggested("Mixtral"), "mixtral-8x7b");
    assert_string_equal(suggested("subscription"), "oversubscription");
    assert_string_equal(suggested("lama2"), "llama2-7b");
    assert_string_equal(suggested("oversubscripton"), "oversubscription");
    assert_null(suggested("xt"));
    assert_null(suggested("bandwidth"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_people_type),
        cmocka_unit_test(units_refused),
        cmocka_unit_test(units_shown),
        cmocka_unit_test(counts_shown),
        cmocka_unit_test(exact_text_reads_back),
        cmocka_unit_test(exact_text_is_short),
        cmocka_unit_test(what_was_meant_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
