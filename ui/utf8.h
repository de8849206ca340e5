/* UTF-8, whatever the locale says. */
#ifndef NEST_UI_UTF8_H
#define NEST_UI_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { NEST_UTF8_MAX = 4 };

/* Decodes the first character of a non-empty text; a broken byte counts as U+FFFD. Returns the
 * bytes used, at least 1. */
size_t nest_utf8_decode(const char *text, uint32_t *code);

/* Writes code and a zero to out[NEST_UTF8_MAX + 1]; returns out. */
char *nest_utf8_encode(uint32_t code, char *out);

#endif
