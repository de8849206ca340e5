#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nest_json_start(struct nest_json *json, struct nest_strbuf *out)
{
    *json = (struct nest_json){.out = out};
}

/* Bytes of the valid UTF-8 character at text, or 0. */
static size_t character_length(const unsigned char *text)
{
    static const struct {
        unsigned char low, high, first, last; /* lead bytes, and what may follow directly */
        size_t length;
    } form[] = {
        {0x00, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t i = 0; i < sizeof form / sizeof form[0]; i++) {
        if (text[0] < form[i].low || text[0] > form[i].high) {
            continue;
        }
        for (size_t k = 1; k < form[i].length; k++) {
            const unsigned char low = k == 1 ? form[i].first : 0x80;
            const unsigned char high = k == 1 ? form[i].last : 0xBF;
            if (text[k] < low || text[k] > high) {
                return 0;
            }
        }
        return form[i].length;
    }
    return 0;
}

static void write_string(struct nest_strbuf *out, const char *text)
{
    nest_strbuf_add(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
        const size_t length = character_length(c);
        if (length == 0) {
            nest_strbuf_add(out, "\xEF\xBF\xBD");
            c++;
        } else if (*c == '"' || *c == '\\') {
            nest_strbuf_printf(out, "\\%c", *c++);
        } else if (*c == '\n') {
            nest_strbuf_add(out, "\\n");
            c++;
        } else if (*c < 0x20 || *c == 0x7F) {
            nest_strbuf_printf(out, "\\u%04x", *c++);
        } else {
            nest_strbuf_add_bytes(out, (const char *)c, length);
            c += length;
        }
    }
    nest_strbuf_add(out, "\"");
}

/* Separator, line break and key of the next value; opens: it is a container. */
static void lead(struct nest_json *json, const char *key, bool opens)
{
    if (json->depth > 0) {
        const int top = json->depth - 1;
        const bool line = json->depth == 1 || (opens && json->array[top] && json->depth <= 4);
        if (json->filled[top]) {
            nest_strbuf_add(json->out, line ? "," : ", ");
        }
        if (line) {
            nest_strbuf_printf(json->out, "\n%*s", json->depth, "");
        }
        json->filled[top] = true;
    }
    if (key != NULL) {
        write_string(json->out, key);
        nest_strbuf_add(json->out, ": ");
    }
}

static void open_container(struct nest_json *json, const char *key, bool array)
{
    lead(json, key, !array);
    nest_strbuf_add(json->out, array ? "[" : "{");
    if (json->depth < NEST_JSON_DEPTH) {
        json->array[json->depth] = array;
        json->filled[json->depth] = false;
        json->depth++;
    } else {
        json->out->failed = true;
    }
}

void nest_json_object(struct nest_json *json, const char *key)
{
    open_container(json, key, false);
}

void nest_json_array(struct nest_json *json, const char *key)
{
    open_container(json, key, true);
}

void nest_json_end(struct nest_json *json)
{
    if (json->depth == 0) {
        return;
    }
    json->depth--;
    const bool last = json->depth == 0;
    if (last && json->filled[0]) {
        nest_strbuf_add(json->out, "\n");
    }
    nest_strbuf_add(json->out, json->array[json->depth] ? "]" : "}");
    if (last) {
        nest_strbuf_add(json->out, "\n");
    }
}

void nest_json_text(struct nest_json *json, const char *key, const char *text)
{
    if (text == NULL) {
        nest_json_null(json, key);
        return;
    }
    lead(json, key, false);
    write_string(json->out, text);
}

void nest_json_integer(struct nest_json *json, const char *key, int64_t value)
{
    lead(json, key, false);
    nest_strbuf_printf(json->out, "%" PRId64, value);
}

void nest_json_number(struct nest_json *json, const char *key, double value)
{
    char text[40];
    lead(json, key, false);
    nest_strbuf_add(json->out,
                    isfinite(value) ? nest_number_format(value, text, sizeof text) : "null");
}

void nest_json_bool(struct nest_json *json, const char *key, bool value)
{
    lead(json, key, false);
    nest_strbuf_add(json->out, value ? "true" : "false");
}

void nest_json_null(struct nest_json *json, const char *key)
{
    lead(json, key, false);
    nest_strbuf_add(json->out, "null");
}

char *nest_number_format(double value, char *out, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, size, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
    for (char *c = out; *c != '\0'; c++) {
        if (*c == ',') {
            *c = '.';
        }
    }
    return out;
}
