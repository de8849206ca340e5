#include "input/doc_fault.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Where libyaml's complaint is best shown: at the problem itself, or where the list, mapping or
 * quoted text began that was never closed. */
struct translation {
    const char *problem; /* as libyaml words it */
    const char *context; /* a part of its context, or NULL for any */
    bool at_context;
    const char *message;
    const char *hint;
};

static const struct translation translations[] = {
    {"found a tab character that violates indentation", NULL, false,
     "a tab character is used for indentation", "use spaces"},
    {"did not find expected ',' or ']'", NULL, true, "this list is not closed",
     "expected ',' between its entries and ']' at its end"},
    {"did not find expected ',' or '}'", NULL, true, "this mapping is not closed",
     "expected ',' between its entries and '}' at its end"},
    {"did not find expected key", NULL, false, "a key is expected here",
     "check the indentation: keys of one mapping begin in the same column"},
    {"did not find expected '-' indicator", NULL, false, "a list entry is expected here",
     "check the indentation: entries of one list begin in the same column with '- '"},
    {"could not find expected ':'", NULL, true, "this key has no value",
     "expected ':' and a space after the key"},
    {"mapping values are not allowed in this context", NULL, false, "':' is not expected here",
     "check the indentation, and quote a text that contains ': '"},
    {"block sequence entries are not allowed in this context", NULL, false,
     "a list entry is not expected here", "put '- ' on a line of its own"},
    {"block mapping keys are not allowed in this context", NULL, false,
     "a key is not expected here", "check the indentation"},
    {"found unexpected end of stream", "quoted scalar", true, "this quoted text is not closed",
     "expected the same quotation mark at its end"},
    {"found unexpected document indicator", NULL, true, "this quoted text is not closed",
     "expected the same quotation mark at its end"},
    {"found unknown escape character", NULL, false, "unknown escape after '\\'",
     "use '...' quotes to keep a backslash"},
    {"found undefined tag handle", NULL, false, "tags (!name) are not supported",
     "types follow from the key"},
    {"did not find expected <document start>", NULL, false, "a value ends before this place",
     "check the indentation and the quotation marks"},
    {"did not find expected node content", NULL, false, "a value is expected here",
     "remove the extra ',' or bracket"},
};

static const struct translation cut_short = {NULL, NULL, false,
                                             "the file ends before its last value is complete",
                                             "expected the rest of a list or mapping"};

static const struct translation *translate(const yaml_parser_t *parser)
{
    const char *problem = parser->problem ? parser->problem : "";
    const char *context = parser->context ? parser->context : "";
    for (size_t i = 0; i < sizeof translations / sizeof translations[0]; i++) {
        const struct translation *t = &translations[i];
        if (strcmp(t->problem, problem) == 0 && (!t->context || strstr(context, t->context))) {
            return t;
        }
    }
    return NULL;
}

/* Invalid UTF-8 is found before any event, with an offset and no mark. Columns count characters. */
static struct nest_mark mark_at_offset(const char *file, const char *text, size_t offset)
{
    struct nest_mark mark = {file, 1, 1};
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 1;
        } else if (((unsigned char)text[i] & 0xC0U) != 0x80U) {
            mark.column++;
        }
    }
    return mark;
}

static void add_reader_fault(const yaml_parser_t *parser, const char *file, const char *text,
                             size_t length, struct nest_errors *errors)
{
    const size_t offset = parser->problem_offset < length ? parser->problem_offset : length;
    const bool control = parser->problem && strstr(parser->problem, "control characters");
    nest_errors_add(errors, mark_at_offset(file, text, offset), NULL,
                    control ? "remove it" : "save the file as UTF-8",
                    control ? "a control character is not allowed" : "this is not UTF-8 text");
}

/* The byte at a mark; libyaml counts characters. */
static size_t offset_of(const char *text, size_t length, yaml_mark_t mark)
{
    size_t offset = 0;
    for (size_t left = mark.index; left > 0 && offset < length; left--) {
        offset++;
        while (offset < length && ((unsigned char)text[offset] & 0xC0U) == 0x80U) {
            offset++;
        }
    }
    return offset;
}

/* "found character that cannot start any token": name the character. */
static void add_character_fault(const char *file, char c, yaml_mark_t mark,
                                struct nest_errors *errors)
{
    const struct nest_mark place = {file, (int)mark.line + 1, (int)mark.column + 1};
    if (c == '\t') {
        nest_errors_add(errors, place, NULL, "use spaces",
                        "a tab character is used for indentation");
    } else {
        nest_errors_add(errors, place, NULL, "quote the text", "a value cannot begin with '%c'", c);
    }
}

static bool is_end(const char *text, size_t length, size_t offset)
{
    while (offset < length && strchr(" \t\r\n", text[offset])) {
        offset++;
    }
    return offset >= length;
}

void nest_doc_check_marks(const char *file, const char *text, size_t length,
                          struct nest_errors *errors)
{
    for (size_t i = 1; i + 2 < length; i++) {
        if (memcmp(text + i, "\xEF\xBB\xBF", 3) == 0) {
            nest_errors_add(errors, mark_at_offset(file, text, i), NULL, "remove it",
                            "a byte-order mark inside the file");
            return;
        }
    }
}

void nest_doc_syntax_fault(const yaml_parser_t *parser, const char *file, const char *text,
                           size_t length, struct nest_errors *errors)
{
    const yaml_mark_t problem = parser->problem_mark;
    if (parser->error == YAML_READER_ERROR) {
        add_reader_fault(parser, file, text, length, errors);
        return;
    }
    const size_t offset = offset_of(text, length, problem);
    if (parser->problem &&
        strcmp(parser->problem, "found character that cannot start any token") == 0) {
        add_character_fault(file, offset < length ? text[offset] : ' ', problem, errors);
        return;
    }
    const struct translation *t = translate(parser);
    if (parser->error == YAML_PARSER_ERROR && (!t || !t->at_context) &&
        is_end(text, length, offset)) {
        t = &cut_short;
    }
    const yaml_mark_t at = t && t->at_context ? parser->context_mark : problem;
    const struct nest_mark place = {file, (int)at.line + 1, (int)at.column + 1};
    char hint[160];
    if (t && t->at_context && problem.line != at.line) {
        (void)snprintf(hint, sizeof hint, "%s; noticed in line %zu", t->hint, problem.line + 1);
    } else {
        (void)snprintf(hint, sizeof hint, "%s", t ? t->hint : "check the YAML syntax");
    }
    nest_errors_add(errors, place, NULL, hint, "%s",
                    t                 ? t->message
                    : parser->problem ? parser->problem
                                      : "this is not YAML");
}
