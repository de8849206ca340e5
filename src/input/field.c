#include "input/field.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"

/* Whole numbers above 2^53 cannot pass through a double unharmed. */
#define LARGEST_COUNT 9007199254740992.0

void nest_node_fault(struct nest_field_reader *reader, const struct nest_node *node,
                     const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = nest_arena_vprintf(reader->arena, format, args);
    va_end(args);
    nest_errors_add(reader->errors, node->mark, nest_node_path(node, reader->arena), hint, "%s",
                    message ? message : "out of memory");
}

/* ---- Scalars ---- */

static bool is_scalar(struct nest_field_reader *reader, const struct nest_node *node,
                      const char *expected)
{
    if (node->broken) {
        return false;
    }
    if (node->kind == NEST_NODE_SCALAR && !nest_node_is_null(node)) {
        return true;
    }
    nest_node_fault(reader, node, expected, "%s is not a value",
                    nest_node_describe(node, reader->arena));
    return false;
}

bool nest_node_number(struct nest_field_reader *reader, const struct nest_node *node,
                      enum nest_unit unit, double *out)
{
    if (!is_scalar(reader, node, nest_unit_expected(unit))) {
        return false;
    }
    char scratch[96];
    const char *hint = NULL;
    const char *fault = nest_unit_parse(node->text, unit, out, &hint, scratch, sizeof scratch);
    if (!fault) {
        return true;
    }
    const char *shown = nest_node_describe(node, reader->arena);
    if (strncmp(fault, "not a ", 6) == 0) {
        nest_node_fault(reader, node, hint, "%s is %s", shown, fault);
    } else {
        nest_node_fault(reader, node, hint, "%s in %s", fault, shown);
    }
    return false;
}

bool nest_node_count(struct nest_field_reader *reader, const struct nest_node *node, int64_t *out)
{
    double value = 0;
    if (!is_scalar(reader, node, "expected a whole number") ||
        !nest_node_number(reader, node, NEST_UNIT_NONE, &value)) {
        return false;
    }
    if (fabs(value) > LARGEST_COUNT) {
        nest_node_fault(reader, node,
                        value > 0 ? "expected at most 9007199254740992" : "expected a whole number",
                        "%s is too %s", nest_node_describe(node, reader->arena),
                        value > 0 ? "large" : "small");
        return false;
    }
    if (value != floor(value)) {
        nest_node_fault(reader, node, "expected a whole number", "%s is not a whole number",
                        nest_node_describe(node, reader->arena));
        return false;
    }
    *out = (int64_t)value;
    return true;
}

static const struct nest_choice flag_words[] = {
    {"true", 1}, {"false", 0}, {"yes", 1}, {"no", 0}, {"on", 1},
    {"off", 0},  {"1", 1},     {"0", 0},   {NULL, 0},
};

bool nest_node_flag(struct nest_field_reader *reader, const struct nest_node *node, bool *out)
{
    if (!is_scalar(reader, node, "expected true or false")) {
        return false;
    }
    for (const struct nest_choice *word = flag_words; word->word; word++) {
        if (strcmp(word->word, node->text) == 0) {
            *out = word->value != 0;
            return true;
        }
    }
    nest_node_fault(reader, node, "expected true or false", "%s is neither true nor false",
                    nest_node_describe(node, reader->arena));
    return false;
}

bool nest_node_text(struct nest_field_reader *reader, const struct nest_node *node,
                    const char **out)
{
    if (!is_scalar(reader, node, "expected text")) {
        return false;
    }
    if (!node->text[0]) {
        nest_node_fault(reader, node, "expected text", "the text is empty");
        return false;
    }
    *out = node->text;
    return true;
}

static const char *choice_hint(struct nest_field_reader *reader, const struct nest_choice *choice,
                               const char *typed)
{
    struct nest_strbuf hint = NEST_STRBUF_INIT(1024);
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, typed);
    for (const struct nest_choice *word = choice; word->word; word++) {
        const bool last = !word[1].word;
        nest_strbuf_printf(&hint, "%s%s",
                           word == choice ? "expected "
                           : last         ? " or "
                                          : ", ",
                           word->word);
        nest_suggest_offer(&suggest, word->word);
    }
    if (suggest.best) {
        nest_strbuf_printf(&hint, "; did you mean '%s'?", suggest.best);
    }
    const char *result = nest_arena_strdup(reader->arena, nest_strbuf_text(&hint));
    nest_strbuf_free(&hint);
    return result;
}

static bool read_choice(struct nest_field_reader *reader, const struct nest_node *node,
                        const struct nest_field *field, int *out)
{
    if (!is_scalar(reader, node, choice_hint(reader, field->choice, ""))) {
        return false;
    }
    for (const struct nest_choice *word = field->choice; word->word; word++) {
        if (strcmp(word->word, node->text) == 0) {
            *out = word->value;
            return true;
        }
    }
    nest_node_fault(reader, node, choice_hint(reader, field->choice, node->text),
                    "unknown %s '%.40s'", field->key, node->text);
    return false;
}

/* ---- Ranges ---- */

static void limit_text(const struct nest_field *field, double limit, char *out, size_t size)
{
    if (field->type == NEST_FIELD_COUNT) {
        (void)snprintf(out, size, "%" PRId64, (int64_t)limit);
    } else {
        (void)nest_unit_format_exact(limit, field->unit, out, size);
    }
}

static bool in_range(struct nest_field_reader *reader, const struct nest_node *node,
                     const struct nest_field *field, double value)
{
    if ((field->low == 0 && field->high == 0) || (value >= field->low && value <= field->high)) {
        return true;
    }
    char low[64];
    char high[64];
    limit_text(field, field->low, low, sizeof low);
    limit_text(field, field->high, high, sizeof high);
    const char *hint = nest_arena_printf(reader->arena, "expected %s to %s", low, high);
    if (field->unit == NEST_UNIT_RATIO && value > 0 && 1 / value <= field->high) {
        char turned[64];
        hint =
            nest_arena_printf(reader->arena, "%s; did you mean %s?", hint ? hint : "",
                              nest_unit_format(1 / value, NEST_UNIT_RATIO, turned, sizeof turned));
    }
    static const char *const plain[] = {[NEST_UNIT_BYTES] = "bytes",
                                        [NEST_UNIT_BANDWIDTH] = "bytes/s",
                                        [NEST_UNIT_SECONDS] = "seconds",
                                        [NEST_UNIT_FLOPS] = "FLOP/s",
                                        [NEST_UNIT_RATIO] = NULL};
    const size_t length = strlen(node->text);
    const bool bare = length > 0 && node->text[length - 1] >= '0' && node->text[length - 1] <= '9';
    if (plain[field->unit] && bare) {
        hint = nest_arena_printf(reader->arena, "%s; a plain number is in %s", hint ? hint : "",
                                 plain[field->unit]);
    }
    nest_node_fault(reader, node, hint, "%s is too %s", nest_node_describe(node, reader->arena),
                    value < field->low ? "small" : "large");
    return false;
}

/* ---- Fields ---- */

bool nest_field_read(struct nest_field_reader *reader, const struct nest_node *node,
                     const struct nest_field *field, void *record)
{
    void *place = (char *)record + field->offset;
    const size_t faults = reader->errors->count + reader->errors->dropped;
    double number = 0;
    int64_t count = 0;
    switch (field->type) {
    case NEST_FIELD_TEXT:
        return nest_node_text(reader, node, place);
    case NEST_FIELD_FLAG:
        return nest_node_flag(reader, node, place);
    case NEST_FIELD_CHOICE:
        return read_choice(reader, node, field, place);
    case NEST_FIELD_COUNT:
        if (!nest_node_count(reader, node, &count) ||
            !in_range(reader, node, field, (double)count)) {
            return false;
        }
        *(int64_t *)place = count;
        return true;
    case NEST_FIELD_NUMBER:
        if (!nest_node_number(reader, node, field->unit, &number) ||
            !in_range(reader, node, field, number)) {
            return false;
        }
        *(double *)place = number;
        return true;
    case NEST_FIELD_CURVE:
        nest_curve_read(reader, node, place);
        break;
    case NEST_FIELD_TABLE:
        nest_fields_read(reader, node, field->table, field->key, record);
        break;
    case NEST_FIELD_CUSTOM:
        field->read(reader, node, record);
        break;
    case NEST_FIELD_IGNORED:
        break;
    }
    return reader->errors->count + reader->errors->dropped == faults;
}

static const struct nest_field *find_here(const struct nest_field *table, const char *key,
                                          size_t length)
{
    for (; table->key; table++) {
        if (strlen(table->key) == length && memcmp(table->key, key, length) == 0) {
            return table;
        }
    }
    return NULL;
}

const struct nest_field *nest_field_find(const struct nest_field *table, const char *key)
{
    const char *dot = strchr(key, '.');
    const struct nest_field *field = find_here(table, key, dot ? (size_t)(dot - key) : strlen(key));
    if (!dot || !field) {
        return field;
    }
    return field->type == NEST_FIELD_TABLE ? nest_field_find(field->table, dot + 1) : NULL;
}

static const char *nearest_key(const struct nest_field *table, const char *typed)
{
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, typed);
    for (const struct nest_field *field = table; field->key; field++) {
        nest_suggest_offer(&suggest, field->key);
    }
    return suggest.best;
}

static const char *all_keys(struct nest_arena *arena, const struct nest_field *table,
                            const char *what)
{
    struct nest_strbuf all = NEST_STRBUF_INIT(2048);
    nest_strbuf_printf(&all, "%s has: ", what);
    for (const struct nest_field *field = table; field->key; field++) {
        if (field->type != NEST_FIELD_IGNORED) {
            nest_strbuf_printf(&all, "%s%s", field == table ? "" : ", ", field->key);
        }
    }
    const char *text = nest_arena_strdup(arena, nest_strbuf_text(&all));
    nest_strbuf_free(&all);
    return text;
}

static void report_unknown(struct nest_field_reader *reader, const struct nest_node *child,
                           const struct nest_field *table, const char *what)
{
    const char *nearest = nearest_key(table, child->key);
    const char *hint = nearest ? nest_arena_printf(reader->arena, "did you mean '%s'?", nearest)
                               : all_keys(reader->arena, table, what);
    nest_errors_add(reader->errors, child->key_mark, nest_node_path(child->parent, reader->arena),
                    hint, "unknown key '%.60s'", child->key);
}

/* A mistyped required key is one fault, not two: what it was meant to be is not missing. */
bool nest_fields_mean(const struct nest_node *node, const struct nest_field *table, const char *key)
{
    const struct nest_node *child = node && node->kind == NEST_NODE_MAPPING ? node->first : NULL;
    for (; child; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            return true;
        }
        if (!find_here(table, child->key, strlen(child->key))) {
            const char *nearest = nearest_key(table, child->key);
            if (nearest && strcmp(nearest, key) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void report_missing(struct nest_field_reader *reader, const struct nest_node *node,
                           const struct nest_field *field, const char *what)
{
    const char *hint = field->type == NEST_FIELD_NUMBER ? nest_unit_expected(field->unit) : NULL;
    nest_errors_add(reader->errors, node->mark, nest_node_path(node, reader->arena), hint,
                    "%s has no '%s'", what, field->key);
}

void nest_fields_read(struct nest_field_reader *reader, const struct nest_node *node,
                      const struct nest_field *table, const char *what, void *record)
{
    if (node->broken) {
        return;
    }
    if (node->kind != NEST_NODE_MAPPING) {
        nest_node_fault(reader, node, "expected a mapping of keys and values", "%s is not %s",
                        nest_node_describe(node, reader->arena), what);
        return;
    }
    for (const struct nest_node *child = node->first; child; child = child->next) {
        const struct nest_field *field = find_here(table, child->key, strlen(child->key));
        if (!field) {
            report_unknown(reader, child, table, what);
        } else {
            (void)nest_field_read(reader, child, field, record);
        }
    }
    for (const struct nest_field *field = table; field->key; field++) {
        if (field->required && !nest_fields_mean(node, table, field->key)) {
            report_missing(reader, node, field, what);
        }
    }
}

int nest_fields_known(const struct nest_node *mapping, const struct nest_field *table)
{
    int known = 0;
    for (const struct nest_node *child = mapping->first; child; child = child->next) {
        known += find_here(table, child->key, strlen(child->key)) != NULL;
    }
    return known;
}

void nest_field_write(const struct nest_field *field, const void *record, struct nest_strbuf *out)
{
    const void *place = (const char *)record + field->offset;
    char number[96];
    switch (field->type) {
    case NEST_FIELD_TEXT:
        nest_strbuf_add(out, *(const char *const *)place);
        break;
    case NEST_FIELD_COUNT:
        nest_strbuf_printf(out, "%" PRId64, *(const int64_t *)place);
        break;
    case NEST_FIELD_NUMBER:
        nest_strbuf_add(out, nest_unit_format_exact(*(const double *)place, field->unit, number,
                                                    sizeof number));
        break;
    case NEST_FIELD_FLAG:
        nest_strbuf_add(out, *(const bool *)place ? "true" : "false");
        break;
    case NEST_FIELD_CHOICE:
        for (const struct nest_choice *word = field->choice; word->word; word++) {
            if (word->value == *(const int *)place) {
                nest_strbuf_add(out, word->word);
                break;
            }
        }
        break;
    case NEST_FIELD_CURVE:
        nest_curve_write(place, out);
        break;
    case NEST_FIELD_TABLE:
    case NEST_FIELD_CUSTOM:
    case NEST_FIELD_IGNORED:
        break;
    }
}
