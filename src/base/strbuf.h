/* A growing text buffer that is given its largest size at birth.
 *
 * The buffer owns its bytes, which always end in a zero. Once an append would pass the maximum, or
 * memory is out, the buffer is marked failed and further appends do nothing. */
#ifndef NEST_BASE_STRBUF_H
#define NEST_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct nest_strbuf {
    char *text; /* NULL until the first append; see nest_strbuf_text */
    size_t length;
    size_t capacity;
    size_t maximum;
    bool failed;
};

#define NEST_STRBUF_INIT(max)                                                                      \
    {                                                                                              \
        NULL, 0, 0, (max), false                                                                   \
    }

/* Appends a zero-terminated string. */
void nest_strbuf_add(struct nest_strbuf *buffer, const char *text);

/* Appends length bytes. */
void nest_strbuf_add_bytes(struct nest_strbuf *buffer, const char *bytes, size_t length);

/* Appends a formatted string. */
void nest_strbuf_printf(struct nest_strbuf *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text so far, never NULL; owned by the buffer, valid until the next append. */
const char *nest_strbuf_text(const struct nest_strbuf *buffer);

/* Drops what lies beyond length. */
void nest_strbuf_shorten(struct nest_strbuf *buffer, size_t length);

/* Empties the buffer, keeping its memory and clearing the failed mark. */
void nest_strbuf_clear(struct nest_strbuf *buffer);

/* Frees the bytes; the buffer is empty again. */
void nest_strbuf_free(struct nest_strbuf *buffer);

#endif
