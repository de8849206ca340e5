#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

struct nest_arena_block {
    struct nest_arena_block *next;
    size_t size;
    size_t used;
    max_align_t data[];
};

static size_t round_up(size_t size)
{
    const size_t align = sizeof(max_align_t);
    return (size + align - 1) / align * align;
}

/* Blocks double up to LARGEST_STEP, so that a small document stays small and a large one needs few
 * calls of malloc. */
static struct nest_arena_block *add_block(struct nest_arena *arena, size_t size)
{
    size_t next = arena->head ? arena->head->size * 2 : (size_t)FIRST_BLOCK;
    if (next > (size_t)LARGEST_STEP) {
        next = (size_t)LARGEST_STEP;
    }
    if (next < size) {
        next = size;
    }
    struct nest_arena_block *block = malloc(sizeof *block + next);
    if (!block) {
        return NULL;
    }
    block->next = arena->head;
    block->size = next;
    block->used = 0;
    arena->head = block;
    return block;
}

void *nest_arena_alloc(struct nest_arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX / 4) / size) {
        arena->failed = true;
        return NULL;
    }
    const size_t bytes = round_up(count == 0 || size == 0 ? 1 : count * size);
    struct nest_arena_block *block = arena->head;
    if (arena->limit > 0 && (bytes > arena->limit || arena->used > arena->limit - bytes)) {
        block = NULL;
    } else if (!block || block->size - block->used < bytes) {
        block = add_block(arena, bytes);
    }
    if (!block) {
        arena->failed = true;
        return NULL;
    }
    void *result = (char *)block->data + block->used;
    block->used += bytes;
    arena->used += bytes;
    return memset(result, 0, bytes);
}

char *nest_arena_strndup(struct nest_arena *arena, const char *text, size_t length)
{
    char *copy = nest_arena_alloc(arena, length + 1, 1);
    if (copy) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *nest_arena_strdup(struct nest_arena *arena, const char *text)
{
    return nest_arena_strndup(arena, text, strlen(text));
}

char *nest_arena_vprintf(struct nest_arena *arena, const char *format, va_list args)
{
    va_list measure;
    va_copy(measure, args);
    const int length = vsnprintf(NULL, 0, format, measure);
    va_end(measure);
    if (length < 0) {
        return NULL;
    }
    char *text = nest_arena_alloc(arena, (size_t)length + 1, 1);
    if (text) {
        (void)vsnprintf(text, (size_t)length + 1, format, args);
    }
    return text;
}

char *nest_arena_printf(struct nest_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = nest_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

void nest_arena_reset(struct nest_arena *arena)
{
    struct nest_arena_block *keep = arena->head;
    if (!keep) {
        return;
    }
    for (struct nest_arena_block *block = keep->next; block;) {
        struct nest_arena_block *next = block->next;
        free(block);
        block = next;
    }
    keep->next = NULL;
    keep->used = 0;
    arena->used = 0;
    arena->failed = false;
}

void nest_arena_free(struct nest_arena *arena)
{
    for (struct nest_arena_block *block = arena->head; block;) {
        struct nest_arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->head = NULL;
    arena->used = 0;
    arena->failed = false;
}

void nest_arena_retain(size_t bytes)
{
#ifdef __GLIBC__
    (void)mallopt(M_TRIM_THRESHOLD, (int)bytes);
    (void)mallopt(M_MMAP_THRESHOLD, (int)bytes);
#else
    (void)bytes;
#endif
}
