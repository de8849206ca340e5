/* A region of memory that is freed as a whole.
 *
 * Everything that lives as long as one document, one scenario or one solve is taken from an arena;
 * nothing in it is freed alone. The arena owns its blocks. All memory is zeroed and aligned for any
 * type. An allocation that fails returns NULL, leaves the arena usable and is remembered in failed:
 * who fills a record from many small allocations asks once at its end. */
#ifndef NEST_BASE_ARENA_H
#define NEST_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct nest_arena_block;

struct nest_arena {
    struct nest_arena_block *head; /* the block being filled; older and larger ones behind it */
    size_t used;                   /* bytes handed out, for the reports of memory use */
    size_t limit;                  /* hand out no more than this; 0 = as much as there is */
    bool failed;                   /* an allocation returned NULL since the last reset */
};

/* An empty arena is all zeroes. */
#define NEST_ARENA_INIT                                                                            \
    {                                                                                              \
        NULL, 0, 0, false                                                                          \
    }

/* Returns count * size zeroed bytes, or NULL when memory is out or the product overflows. */
void *nest_arena_alloc(struct nest_arena *arena, size_t count, size_t size);

/* Copies length bytes of text and adds a terminating zero. */
char *nest_arena_strndup(struct nest_arena *arena, const char *text, size_t length);

/* Copies a zero-terminated string. */
char *nest_arena_strdup(struct nest_arena *arena, const char *text);

/* printf into the arena. */
char *nest_arena_printf(struct nest_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* vprintf into the arena. */
char *nest_arena_vprintf(struct nest_arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Forgets everything that was handed out, and failures, but keeps the newest block for reuse. */
void nest_arena_reset(struct nest_arena *arena);

/* Frees every block; the arena is empty again. */
void nest_arena_free(struct nest_arena *arena);

/* Asks the C library to keep freed memory for what is allocated next, up to so many bytes in all,
 * where it would hand every page back and fault it in again. For programs that solve repeatedly. */
void nest_arena_retain(size_t bytes);

/* An array of count objects of the given type. */
#define NEST_NEW(arena, type, count)                                                               \
    ((type *)nest_arena_alloc((arena), (size_t)(count), sizeof(type)))

#endif
