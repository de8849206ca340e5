#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct nest_strbuf *buffer, size_t more)
{
    if (buffer->failed || more > buffer->maximum || buffer->length > buffer->maximum - more) {
        buffer->failed = true;
        return false;
    }
    const size_t need = buffer->length + more + 1;
    if (need <= buffer->capacity) {
        return true;
    }
    size_t capacity = buffer->capacity ? buffer->capacity : 128;
    while (capacity < need) {
        capacity *= 2;
    }
    char *text = realloc(buffer->text, capacity);
    if (!text) {
        buffer->failed = true;
        return false;
    }
    buffer->text = text;
    buffer->capacity = capacity;
    return true;
}

void nest_strbuf_add_bytes(struct nest_strbuf *buffer, const char *bytes, size_t length)
{
    if (!reserve(buffer, length)) {
        return;
    }
    memcpy(buffer->text + buffer->length, bytes, length);
    buffer->length += length;
    buffer->text[buffer->length] = '\0';
}

void nest_strbuf_add(struct nest_strbuf *buffer, const char *text)
{
    nest_strbuf_add_bytes(buffer, text, strlen(text));
}

void nest_strbuf_printf(struct nest_strbuf *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list measure;
    va_copy(measure, args);
    const int length = vsnprintf(NULL, 0, format, measure);
    va_end(measure);
    if (length < 0) {
        buffer->failed = true;
    } else if (reserve(buffer, (size_t)length)) {
        (void)vsnprintf(buffer->text + buffer->length, (size_t)length + 1, format, args);
        buffer->length += (size_t)length;
    }
    va_end(args);
}

const char *nest_strbuf_text(const struct nest_strbuf *buffer)
{
    return buffer->text ? buffer->text : "";
}

void nest_strbuf_shorten(struct nest_strbuf *buffer, size_t length)
{
    if (length < buffer->length) {
        buffer->length = length;
        buffer->text[length] = '\0';
    }
}

void nest_strbuf_clear(struct nest_strbuf *buffer)
{
    buffer->length = 0;
    buffer->failed = false;
    if (buffer->text) {
        buffer->text[0] = '\0';
    }
}

void nest_strbuf_free(struct nest_strbuf *buffer)
{
    free(buffer->text);
    const size_t maximum = buffer->maximum;
    *buffer = (struct nest_strbuf)NEST_STRBUF_INIT(maximum);
}
