#include "base/units.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

enum { NUMBER_MAX = 64, TEXT_MAX = 80 };

struct scale {
    const char *name;
    double factor;
};

/* Prefixes of bytes, bits and FLOP. The binary ones are for bytes alone. */
static const struct scale decimal_prefix[] = {
    {"", 1.0},  {"k", 1e3},  {"K", 1e3},  {"M", 1e6},
    {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18},
};
static const struct scale binary_prefix[] = {
    {"Ki", 1024.0},          {"Mi", 1048576.0},          {"Gi", 1073741824.0},
    {"Ti", 1099511627776.0}, {"Pi", 1125899906842624.0},
};
/* Parts of a second as divisors: 400 / 1e9 is the double nearest to 400 ns, 400 * 1e-9 is not. */
static const struct scale time_unit[] = {
    {"s", 1.0},
    {"sec", 1.0},
    {"min", 60.0},
    {"h", 3600.0},
};
static const struct scale time_part[] = {
    {"ms", 1e3}, {"us", 1e6}, {"\xc2\xb5s", 1e6}, {"\xce\xbcs", 1e6}, {"ns", 1e9}, {"ps", 1e12},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool find_scale(const struct scale *table, size_t count, const char *name, size_t length,
                       double *out)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0) {
            *out = table[i].factor;
            return true;
        }
    }
    return false;
}

/* Finds one of the endings at the end of name[0..length) and returns the length before it, or
 * SIZE_MAX. Longer endings come first in each list. */
static size_t before_ending(const char *name, size_t length, const char *const *endings)
{
    for (; *endings; endings++) {
        const size_t tail = strlen(*endings);
        if (tail <= length && memcmp(name + length - tail, *endings, tail) == 0) {
            return length - tail;
        }
    }
    return SIZE_MAX;
}

static bool bytes_scale(const char *name, size_t length, double *out)
{
    static const char *const endings[] = {"bytes", "byte", "B", NULL};
    const size_t prefix = before_ending(name, length, endings);
    return prefix != SIZE_MAX &&
           (find_scale(decimal_prefix, COUNT_OF(decimal_prefix), name, prefix, out) ||
            find_scale(binary_prefix, COUNT_OF(binary_prefix), name, prefix, out));
}

static bool bandwidth_scale(const char *name, size_t length, double *out)
{
    static const char *const per_second[] = {"/s", "/sec", "ps", NULL};
    static const char *const bit_endings[] = {"bits", "bit", "b", NULL};
    const size_t data = before_ending(name, length, per_second);
    if (data == SIZE_MAX) {
        return false;
    }
    if (bytes_scale(name, data, out)) {
        return true;
    }
    const size_t prefix = before_ending(name, data, bit_endings);
    if (prefix == SIZE_MAX ||
        !find_scale(decimal_prefix, COUNT_OF(decimal_prefix), name, prefix, out)) {
        return false;
    }
    *out /= 8.0;
    return true;
}

static bool flops_scale(const char *name, size_t length, double *out)
{
    static const char *const endings[] = {"FLOP/s", "FLOPS", "FLOPs", "FLOP",
                                          "flop/s", "flops", NULL};
    const size_t prefix = before_ending(name, length, endings);
    return prefix != SIZE_MAX &&
           find_scale(decimal_prefix, COUNT_OF(decimal_prefix), name, prefix, out);
}

/* A named unit is worth factor / divisor. */
static bool unit_scale(enum nest_unit unit, const char *name, size_t length, double *out,
                       double *divisor)
{
    *divisor = 1;
    switch (unit) {
    case NEST_UNIT_BYTES:
        return bytes_scale(name, length, out);
    case NEST_UNIT_BANDWIDTH:
        return bandwidth_scale(name, length, out);
    case NEST_UNIT_SECONDS:
        if (find_scale(time_part, COUNT_OF(time_part), name, length, divisor)) {
            *out = 1;
            return true;
        }
        return find_scale(time_unit, COUNT_OF(time_unit), name, length, out);
    case NEST_UNIT_FLOPS:
        return flops_scale(name, length, out);
    case NEST_UNIT_NONE:
    case NEST_UNIT_RATIO:
        break;
    }
    return false;
}

const char *nest_unit_expected(enum nest_unit unit)
{
    switch (unit) {
    case NEST_UNIT_BYTES:
        return "expected bytes, such as 80GiB or 512MB";
    case NEST_UNIT_BANDWIDTH:
        return "expected a bandwidth, such as 400Gb/s (bits) or 50GB/s (bytes)";
    case NEST_UNIT_SECONDS:
        return "expected a time, such as 1.2us or 3ms";
    case NEST_UNIT_FLOPS:
        return "expected a rate, such as 989TFLOP/s";
    case NEST_UNIT_RATIO:
        return "expected a ratio, such as 4:1 or 4";
    case NEST_UNIT_NONE:
        break;
    }
    return "expected a number";
}

/* The length of a decimal number at the start of text: [+-] digits [.digits] [e[+-]digits]. An "E"
 * that no digit follows belongs to the unit (EB). */
static size_t number_length(const char *text)
{
    const char *p = text + (*text == '+' || *text == '-');
    const size_t whole = strspn(p, "0123456789");
    p += whole;
    if (*p == '.') {
        const size_t fraction = strspn(p + 1, "0123456789");
        if (whole + fraction == 0) {
            return 0;
        }
        p += 1 + fraction;
    } else if (whole == 0) {
        return 0;
    }
    if (*p == 'e' || *p == 'E') {
        const char *power = p + 1 + (p[1] == '+' || p[1] == '-');
        const size_t digits = strspn(power, "0123456789");
        p = digits > 0 ? power + digits : p;
    }
    return (size_t)(p - text);
}

/* strtod in the C locale whatever the program's locale is. */
static double parse_double(const char *text)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) {
        return strtod(text, NULL);
    }
    const double value = strtod_l(text, NULL, c);
    freelocale(c);
    return value;
}

static const char *parse_number(const char *text, size_t length, double *out)
{
    char digits[NUMBER_MAX];
    if (length == 0) {
        return "not a number";
    }
    if (length >= sizeof digits) {
        return "number is too long";
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    *out = parse_double(digits);
    return isfinite(*out) ? NULL : "number is too large";
}

static const char *parse_ratio(const char *text, double *out)
{
    const size_t first = number_length(text);
    const char *fault = parse_number(text, first, out);
    const char *rest = text + first + strspn(text + first, " ");
    if (fault || *rest == '\0') {
        return fault;
    }
    if (*rest != ':') {
        return "not a ratio";
    }
    rest += 1 + strspn(rest + 1, " ");
    const size_t second = number_length(rest);
    double divisor = 0;
    fault = parse_number(rest, second, &divisor);
    if (fault) {
        return fault;
    }
    if (rest[second] != '\0') {
        return "not a ratio";
    }
    if (divisor <= 0) {
        return "a ratio needs a divisor above 0";
    }
    *out /= divisor;
    return isfinite(*out) ? NULL : "number is too large";
}

const char *nest_unit_parse(const char *text, enum nest_unit unit, double *out, const char **hint,
                            char *scratch, size_t size)
{
    double value = 0;
    *hint = nest_unit_expected(unit);
    text += strspn(text, " ");
    if (unit == NEST_UNIT_RATIO) {
        const char *fault = parse_ratio(text, &value);
        if (!fault) {
            *out = value;
        }
        return fault;
    }
    const size_t number = number_length(text);
    const char *fault = parse_number(text, number, &value);
    if (fault) {
        return fault;
    }
    const char *name = text + number + strspn(text + number, " ");
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] == ' ') {
        length--;
    }
    double factor = 1;
    double divisor = 1;
    if (length > 0 && !unit_scale(unit, name, length, &factor, &divisor)) {
        (void)snprintf(scratch, size,
                       unit == NEST_UNIT_NONE ? "text '%.*s' after the number"
                                              : "unknown unit '%.*s'",
                       (int)(length < 24 ? length : 24), name);
        return scratch;
    }
    if (!isfinite(value * factor)) {
        return "number is too large";
    }
    *out = value * factor / divisor;
    return NULL;
}

/* snprintf of one double in the C locale. */
static int print_double(char *out, size_t size, const char *format, int precision, double value)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = c ? uselocale(c) : (locale_t)0;
    const int length = snprintf(out, size, format, precision, value);
    if (c) {
        (void)uselocale(before);
        freelocale(c);
    }
    return length;
}

struct shown {
    double least; /* used from this value on */
    double factor;
    const char *name;
};

static const struct shown *choose(const struct shown *table, double value)
{
    while (fabs(value) < table->least) {
        table++;
    }
    return table;
}

static const struct shown shown_bytes[] = {{1099511627776.0 * 10, 1099511627776.0, " TiB"},
                                           {1073741824.0 / 10, 1073741824.0, " GiB"},
                                           {1048576.0 / 10, 1048576.0, " MiB"},
                                           {1024.0, 1024.0, " KiB"},
                                           {0, 1, " B"}};
static const struct shown shown_bandwidth[] = {{1e13, 1e12, " TB/s"},
                                               {1e8, 1e9, " GB/s"},
                                               {1e6, 1e6, " MB/s"},
                                               {1e3, 1e3, " kB/s"},
                                               {0, 1, " B/s"}};
static const struct shown shown_flops[] = {{1e16, 1e15, " PFLOP/s"},
                                           {1e11, 1e12, " TFLOP/s"},
                                           {1e8, 1e9, " GFLOP/s"},
                                           {1e5, 1e6, " MFLOP/s"},
                                           {0, 1, " FLOP/s"}};
static const struct shown shown_seconds[] = {
    {0.9995, 1, " s"}, {0.9995e-3, 1e-3, " ms"}, {0.9995e-6, 1e-6, " us"}, {0, 1e-9, " ns"}};

/* Three significant digits with their zeroes below 1000, so that a column of times lines up. */
static int fixed_digits(double value)
{
    const double size = fabs(value);
    return size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
}

static void format_scaled(const struct shown *table, double value, char *out, size_t size,
                          enum nest_unit unit)
{
    const struct shown *shown = choose(table, value);
    const double scaled = value / shown->factor;
    char number[TEXT_MAX];
    if (unit == NEST_UNIT_BYTES && shown->factor > 1) {
        (void)print_double(number, sizeof number, "%.*f", 1, scaled);
    } else if (unit == NEST_UNIT_SECONDS && shown->factor >= 1e-3) {
        (void)print_double(number, sizeof number, "%.*f", fixed_digits(scaled), scaled);
    } else {
        (void)print_double(number, sizeof number, "%.*g", unit == NEST_UNIT_SECONDS ? 3 : 4,
                           scaled);
    }
    (void)snprintf(out, size, "%s%s", number, shown->name);
}

char *nest_unit_format(double value, enum nest_unit unit, char *out, size_t size)
{
    char number[TEXT_MAX];
    switch (unit) {
    case NEST_UNIT_BYTES:
        format_scaled(shown_bytes, value, out, size, unit);
        return out;
    case NEST_UNIT_BANDWIDTH:
        format_scaled(shown_bandwidth, value, out, size, unit);
        return out;
    case NEST_UNIT_FLOPS:
        format_scaled(shown_flops, value, out, size, unit);
        return out;
    case NEST_UNIT_SECONDS:
        format_scaled(shown_seconds, value, out, size, unit);
        return out;
    case NEST_UNIT_RATIO:
        (void)print_double(number, sizeof number, "%.*g", 4, value);
        (void)snprintf(out, size, "%s:1", number);
        return out;
    case NEST_UNIT_NONE:
        break;
    }
    (void)print_double(number, sizeof number, "%.*g", 6, value);
    (void)snprintf(out, size, "%s", number);
    return out;
}

/* Names to try, largest first, when printing exactly; the empty last one is the plain number. */
static const char *const *exact_names(enum nest_unit unit)
{
    static const char *const bytes[] = {"TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "B", NULL};
    static const char *const bandwidth[] = {"TB/s", "GB/s", "Gb/s", "MB/s", "B/s", NULL};
    static const char *const seconds[] = {"s", "ms", "us", "ns", NULL};
    static const char *const flops[] = {"PFLOP/s", "TFLOP/s", "GFLOP/s", "FLOP/s", NULL};
    static const char *const ratio[] = {":1", "", NULL};
    static const char *const none[] = {"", NULL};
    switch (unit) {
    case NEST_UNIT_BYTES:
        return bytes;
    case NEST_UNIT_BANDWIDTH:
        return bandwidth;
    case NEST_UNIT_SECONDS:
        return seconds;
    case NEST_UNIT_FLOPS:
        return flops;
    case NEST_UNIT_RATIO:
        return ratio;
    case NEST_UNIT_NONE:
        break;
    }
    return none;
}

static double unit_size(enum nest_unit unit, const char *name)
{
    double factor = 1;
    double divisor = 1;
    (void)unit_scale(unit, name, strlen(name), &factor, &divisor);
    return factor / divisor;
}

/* "1e+09" → "1e9" */
static void shorten_exponent(char *number)
{
    char *e = strchr(number, 'e');
    char *digits = e ? e + 1 + strspn(e + 1, "+-") : NULL;
    if (!digits) {
        return;
    }
    char *to = e[1] == '-' ? e + 2 : e + 1;
    const char *from = digits + strspn(digits, "0");
    memmove(to, from, strlen(from) + 1);
}

/* The shortest decimal of value in the named unit that parses back to value; false if none does. */
static bool exact_in(double value, enum nest_unit unit, const char *name, char *out, size_t size)
{
    double factor = 1;
    double divisor = 1;
    (void)unit_scale(unit, name, strlen(name), &factor, &divisor);
    const double scaled = value / factor * divisor;
    const bool whole = scaled == floor(scaled) && fabs(scaled) < 1e7;
    for (int precision = 1; precision <= 17; precision++) {
        char scratch[TEXT_MAX];
        const char *hint = NULL;
        double back = 0;
        const int length = whole ? print_double(out, size, "%.*f", 0, scaled)
                                 : print_double(out, size, "%.*g", precision, scaled);
        if (length < 0 || (size_t)length + strlen(name) + 1 > size) {
            return false;
        }
        shorten_exponent(out);
        memcpy(out + strlen(out), name, strlen(name) + 1);
        if (!nest_unit_parse(out, unit, &back, &hint, scratch, sizeof scratch) && back == value) {
            return true;
        }
    }
    return false;
}

/* Short is good, but 1000TB reads better than 1e9MB. */
static size_t reading_cost(const char *text, enum nest_unit unit)
{
    return strlen(text) + (unit != NEST_UNIT_NONE && strchr(text, 'e') ? 8 : 0);
}

char *nest_unit_format_exact(double value, enum nest_unit unit, char *out, size_t size)
{
    char best[TEXT_MAX] = "";
    for (const char *const *name = exact_names(unit); *name; name++) {
        char text[TEXT_MAX];
        if (name[1] && value != 0 && fabs(value) < unit_size(unit, *name)) {
            continue;
        }
        if (exact_in(value, unit, *name, text, sizeof text) &&
            (!best[0] || reading_cost(text, unit) < reading_cost(best, unit))) {
            memcpy(best, text, sizeof best);
        }
    }
    if (!best[0]) {
        (void)print_double(best, sizeof best, "%.*g", 17, value);
    }
    (void)snprintf(out, size, "%s", best);
    return out;
}

char *nest_count_format(int64_t value, char *out, size_t size)
{
    static const struct shown shown[] = {
        {999.5e9, 1e12, " T"}, {999.5e6, 1e9, " B"}, {0, 1e6, " M"}};
    if (value >= 1000000 || value <= -1000000) {
        const struct shown *s = choose(shown, (double)value);
        const double scaled = (double)value / s->factor;
        char number[TEXT_MAX];
        (void)print_double(number, sizeof number, "%.*f", fixed_digits(scaled), scaled);
        (void)snprintf(out, size, "%s%s", number, s->name);
    } else if (value >= 1000 || value <= -1000) {
        (void)snprintf(out, size, "%lld,%03lld", (long long)(value / 1000),
                       (long long)(value < 0 ? -value : value) % 1000);
    } else {
        (void)snprintf(out, size, "%lld", (long long)value);
    }
    return out;
}
